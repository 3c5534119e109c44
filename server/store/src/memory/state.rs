//! All tables at a point in time, and the transactions that change them.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::ControlFlow,
};

use svctrack_core::value::{ObjectId, TenantId};

use super::{faults::Faults, table::MemoryTable};
use crate::{
    StoreError,
    rows::{
        ALL, ENGAGEMENT, Rows as _, Snapshot, Table, WriteRows as _,
        engagement::{
            EngagementOwner, EngagementRow, ReadEngagement, ReadRows, WriteEngagement, key_of,
            load, seal,
        },
        keys, stored_value,
    },
    rules::{
        lookup_cache::LookupCache,
        open_tables::{Tables, Transaction},
    },
};

/// State of the store at a point in time.
#[derive(Clone)]
pub(super) struct MemoryState(BTreeMap<&'static str, MemoryTable>);

/// Transaction over maps in memory, which a command writes to.
pub(super) struct InMemory;

impl Transaction for InMemory {
    type Table = MemoryTable;
    type Appended = MemoryTable;
    type Engagement = MemoryEngagement;
}

impl MemoryState {
    /// A state without data.
    pub(super) fn empty(faults: &Faults) -> Self {
        Self(ALL.iter().map(|table| (table.name(), MemoryTable::with(faults.clone()))).collect())
    }

    /// A transaction that begins with this state.
    pub(super) fn begin(&self, known: LookupCache) -> Result<Tables<InMemory>, StoreError> {
        Tables::open_all(known, self.engagement()?, |table| self.open(table))
    }

    /// The state after a transaction.
    pub(super) fn after(
        &self,
        mut tables: Tables<InMemory>,
    ) -> Result<(Self, LookupCache), StoreError> {
        tables.engagement.write()?;
        let mut state = self.clone();
        state.0.extend(tables.all()?.map(|(table, rows)| (table.name(), rows.clone())));
        Ok((state, tables.known))
    }
}

impl Snapshot for MemoryState {
    type Table = MemoryTable;
    type Engagement = MemoryEngagement;

    fn open(&self, table: Table) -> Result<MemoryTable, StoreError> {
        let missing = || StoreError::Internal(format!("there is no table {}", table.name()));
        self.0.get(table.name()).cloned().ok_or_else(missing)
    }

    fn engagement(&self) -> Result<MemoryEngagement, StoreError> {
        Ok(MemoryEngagement { table: self.open(ENGAGEMENT)?, touched: BTreeMap::new() })
    }
}

/// Engagement: its table, and the rows that a transaction has touched until it ends.
pub(super) struct MemoryEngagement {
    table: MemoryTable,
    touched: BTreeMap<EngagementOwner, EngagementRow>,
}

impl MemoryEngagement {
    /// Writes the rows that were touched.
    fn write(&mut self) -> Result<(), StoreError> {
        for (owner, row) in std::mem::take(&mut self.touched) {
            let key = key_of(owner);
            self.table.insert(&key, &seal(&key, &row)?)?;
        }
        Ok(())
    }
}

impl ReadRows for MemoryEngagement {
    fn read<R>(
        &self,
        owner: EngagementOwner,
        read: impl FnOnce(&EngagementRow) -> R,
    ) -> Result<Option<R>, StoreError> {
        match self.touched.get(&owner) {
            Some(row) => Ok(Some(read(row))),
            None => Ok(load(&self.table, owner)?.as_ref().map(read)),
        }
    }
}

impl ReadEngagement for MemoryEngagement {
    fn each(
        &self,
        (tenant, resource): (TenantId, u8),
        mut visit: impl FnMut(ObjectId, &EngagementRow) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let key = |id| keys::record(tenant, resource, id);
        let (first, last) = (key(ObjectId::MIN), key(ObjectId::MAX));
        for entry in self.table.range(first.as_slice()..=last.as_slice())? {
            let (key, value) = entry?;
            let Some(id) = keys::id_at_end(&key) else { continue };
            let (row, _) = stored_value::unseal_row_with_more::<EngagementRow, u64>(&key, &value)?;
            if visit(id, &row).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl WriteEngagement for MemoryEngagement {
    type Table = MemoryTable;

    fn row(&mut self, owner: EngagementOwner) -> Result<&mut EngagementRow, StoreError> {
        Ok(match self.touched.entry(owner) {
            Entry::Occupied(touched) => touched.into_mut(),
            Entry::Vacant(new) => new.insert(load(&self.table, owner)?.unwrap_or_default()),
        })
    }

    fn remove(&mut self, owner: EngagementOwner) -> Result<(), StoreError> {
        self.touched.remove(&owner);
        self.table.remove(&key_of(owner)).map(drop)
    }

    fn forget_tenant(&mut self, tenant: TenantId) {
        self.touched.retain(|(of, _, _), _| *of != tenant);
    }

    fn table(&mut self) -> &mut MemoryTable {
        &mut self.table
    }
}
