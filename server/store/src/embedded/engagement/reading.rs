//! Engagement in a snapshot: its table and its log.

use std::{
    collections::HashMap,
    ops::{ControlFlow, RangeInclusive},
    sync::{Arc, OnceLock},
};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use redb::ReadTransaction;
use svctrack_core::value::{ObjectId, TenantId};

use super::log::EngagementLog;
use crate::{
    StoreError,
    embedded::tables::{redb_table::ReadTable, snapshot::RedbSnapshot},
    rows::{
        ENGAGEMENT, Rows as _, Snapshot as _,
        engagement::{EngagementOwner, EngagementRow, ReadEngagement, ReadRows, load},
        keys, stored_value,
    },
};

/// Rows of a log, each with the number of its entry.
type LoggedRows = HashMap<EngagementOwner, (u64, Arc<EngagementRow>), RandomState>;

/// Cache of the log of a database, up to its newest entry: a reader of a later snapshot reads only newer entries.
#[derive(Debug, Default)]
pub(crate) struct LogRead(Mutex<CachedLog>);

#[derive(Debug, Default)]
struct CachedLog {
    /// First entry of the log at that time, and the first that was not read.
    first: u64,
    end: u64,
    rows: Arc<LoggedRows>,
}

/// Entries of a snapshot that the cache has.
enum CachedEntries {
    All(Arc<LoggedRows>),
    /// The entries before this one.
    UpTo(u64),
    /// Only entries of a later snapshot.
    Later,
}

impl CachedLog {
    fn known(&self, first: u64, end: u64) -> CachedEntries {
        if self.end > end || self.first > first {
            return CachedEntries::Later;
        }
        match (self.first, self.end) == (first, end) {
            true => CachedEntries::All(self.rows.clone()),
            false => CachedEntries::UpTo(first.max(self.end)),
        }
    }

    /// Adds rows that were read after the cached ones.
    fn add(&mut self, first: u64, end: u64, rows: LoggedRows) {
        let known = Arc::make_mut(&mut self.rows);
        if self.first != first {
            known.retain(|_, (number, _)| *number >= first);
        }
        known.extend(rows);
        (self.first, self.end) = (first, end);
    }
}

impl LogRead {
    fn at(&self, log: &EngagementLog<ReadTable>) -> Result<Arc<LoggedRows>, StoreError> {
        let numbers = match log.numbers() {
            // The writer reports the corruption, and rewrites the log.
            Err(StoreError::Corrupted { .. }) => None,
            numbers => numbers?,
        };
        let Some(numbers) = numbers else { return Ok(Arc::default()) };
        let (first, end) = (*numbers.start(), *numbers.end() + 1);
        loop {
            let known = match self.read_to().known(first, end) {
                CachedEntries::All(rows) => return Ok(rows),
                CachedEntries::Later => first,
                CachedEntries::UpTo(known) => known,
            };
            // Not under the lock: the disk may hang.
            let mut rows = LoggedRows::default();
            add(log, known..=end - 1, &mut rows)?;
            let mut read = self.read_to();
            match read.known(first, end) {
                CachedEntries::UpTo(now) if now == known => read.add(first, end, rows),
                // These are all rows.
                CachedEntries::Later if known == first => return Ok(Arc::new(rows)),
                // Another reader has advanced the cache.
                _ => {}
            }
        }
    }

    fn read_to(&self) -> MutexGuard<'_, CachedLog> {
        self.0.lock()
    }
}

fn add(
    log: &EngagementLog<ReadTable>,
    numbers: RangeInclusive<u64>,
    rows: &mut LoggedRows,
) -> Result<(), StoreError> {
    log.read(numbers, |number, owner, row| drop(rows.insert(owner, (number, Arc::new(row)))))
}

/// The log in a snapshot, which is read when it is first requested.
pub(crate) struct SnapshotLog {
    log: Option<EngagementLog<ReadTable>>,
    log_read: Arc<LogRead>,
    logged: OnceLock<Arc<LoggedRows>>,
}

impl SnapshotLog {
    /// The log in a snapshot of the database that `log_read` was read from.
    pub(crate) fn open(
        snapshot: &ReadTransaction,
        log_read: Arc<LogRead>,
    ) -> Result<Self, StoreError> {
        Ok(Self { log: EngagementLog::in_snapshot(snapshot)?, log_read, logged: OnceLock::new() })
    }

    pub(crate) fn read(&self) -> Result<(), StoreError> {
        self.logged().map(drop)
    }

    fn logged(&self) -> Result<&LoggedRows, StoreError> {
        if let Some(logged) = self.logged.get() {
            return Ok(logged);
        }
        let logged = self.log.as_ref().map(|log| self.log_read.at(log)).transpose()?;
        Ok(self.logged.get_or_init(|| logged.unwrap_or_default()))
    }
}

pub(crate) struct SnapshotEngagement {
    table: ReadTable,
    log: Arc<SnapshotLog>,
}

impl SnapshotEngagement {
    pub(crate) fn open(snapshot: &RedbSnapshot) -> Result<Self, StoreError> {
        Ok(Self { table: snapshot.open(ENGAGEMENT)?, log: snapshot.log()? })
    }

    /// Owners whose only row is in the log.
    pub(crate) fn logged_alone(&self) -> Result<Vec<EngagementOwner>, StoreError> {
        let mut alone = Vec::new();
        for owner in self.log.logged()?.keys() {
            if load(&self.table, *owner)?.is_none() {
                alone.push(*owner);
            }
        }
        Ok(alone)
    }
}

impl ReadEngagement for SnapshotEngagement {
    fn each(
        &self,
        (tenant, resource): (TenantId, u8),
        mut visit: impl FnMut(ObjectId, &EngagementRow) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let logged = self.log.logged()?;
        let key = |id| keys::record(tenant, resource, id);
        let (first, last) = (key(ObjectId::MIN), key(ObjectId::MAX));
        for entry in self.table.range(first.as_slice()..=last.as_slice())? {
            let (key, value) = entry?;
            let Some(id) = keys::id_at_end(key.value()) else { continue };
            // The log has a later row.
            if logged.contains_key(&(tenant, resource, id)) {
                continue;
            }
            let (row, _) = stored_value::unseal_row_with_more::<EngagementRow, u64>(
                key.value(),
                value.value(),
            )?;
            if visit(id, &row).is_break() {
                return Ok(());
            }
        }
        for owner in logged.keys().filter(|owner| (owner.0, owner.1) == (tenant, resource)) {
            let visited = self.read(*owner, |row| visit(owner.2, row))?;
            if visited.is_some_and(|flow| flow.is_break()) {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl ReadRows for SnapshotEngagement {
    fn read<R>(
        &self,
        owner: EngagementOwner,
        read: impl FnOnce(&EngagementRow) -> R,
    ) -> Result<Option<R>, StoreError> {
        let logged = self.log.logged()?.get(&owner).map(|(_, row)| &**row);
        let stored = load(&self.table, owner)?;
        Ok(EngagementRow::later(logged, stored.as_ref()).map(read))
    }
}
