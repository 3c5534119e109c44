//! The engagement log: the rows that a commit has changed, packed into as few pages as possible.
//!
//! Users are active in no order, so in the table nearly every row of a commit is on a different page, and writing these
//! pages took a seventh of the work of an event. A commit therefore writes its rows here, and from time to time
//! gathered rows are written to the table in the order of its keys, many per page ([`super::rows`]). A row has the
//! number of its writes, and of two states the later one counts, so it does not matter whether it is in the log or the
//! table.
//!
//! A page of the log holds the newest state of many rows, so there are two copies of the log, in separate tables. When
//! one is corrupted, both are discarded, and the log is rewritten from the known state. Rows that both copies have lost
//! are logged, and [`crate::embedded::maintenance::verify`] finds the users and companies that lost history.

use std::ops::{Range, RangeInclusive};

use redb::{ReadTransaction, TableDefinition, TableError, TableHandle as _, WriteTransaction};
use svctrack_core::value::{ObjectId, TenantId};

use crate::{
    StoreError,
    embedded::{
        file::corruption,
        tables::redb_table::{ReadTable, WriteTable, definition, open_if_there},
    },
    rows::{
        Bytes as _, ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN, Rows, Table, WriteRows as _,
        engagement::{EngagementOwner, EngagementRow},
        stored_value,
    },
};

/// Size after which an entry takes no more rows, so that it fills a page, in bytes.
const ENTRY_BYTES: usize = 3_500;

const COPIES: [Table; 2] = [ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN];
/// Prefix of the names of copies that were put aside.
const ASIDE: &str = "aside_";

/// Whether a table is a copy of the log that was put aside.
pub(crate) fn is_aside(table: &str) -> bool {
    table.starts_with(ASIDE)
}

/// Both copies of the log; none in place of a copy that cannot be opened since it is corrupted.
pub(crate) struct EngagementLog<T>([Option<T>; 2]);

impl<'t> EngagementLog<WriteTable<'t>> {
    pub(crate) fn on_first_use(transaction: &'t WriteTransaction) -> Self {
        Self(COPIES.map(|copy| Some(WriteTable::on_first_use(transaction, copy))))
    }

    /// Puts both copies aside, and begins new ones. The old ones cannot be removed: for that, redb reads all of their
    /// pages.
    pub(crate) fn recreate(transaction: &'t WriteTransaction) -> Result<Self, TableError> {
        // Only a rewrite of the store removes such tables, and then all of them: so the new name is unique.
        let number = transaction.list_tables()?.filter(|table| is_aside(table.name())).count();
        for copy in COPIES {
            let name = format!("{ASIDE}{}_{number}", copy.name());
            let aside: TableDefinition<'_, &'static [u8], &'static [u8]> =
                TableDefinition::new(&name);
            transaction.rename_table(definition(copy), aside)?;
        }
        let [copy, twin] = COPIES.map(|copy| WriteTable::open(transaction, copy).map(Some));
        Ok(Self([copy?, twin?]))
    }

    pub(crate) fn begin(&mut self, number: u64) -> Entries<'_, 't> {
        Entries { log: self, number, rows: Vec::with_capacity(2 * ENTRY_BYTES) }
    }

    fn put(&mut self, number: u64, rows: &[u8]) -> Result<(), StoreError> {
        let key = number.to_be_bytes();
        let value = stored_value::seal(&key, rows);
        for copy in self.0.iter_mut().flatten() {
            copy.insert(key.as_slice(), value.as_slice())?;
        }
        Ok(())
    }

    pub(crate) fn remove(&mut self, numbers: Range<u64>) -> Result<(), StoreError> {
        for number in numbers {
            for copy in self.0.iter_mut().flatten() {
                copy.remove(number.to_be_bytes().as_slice())?;
            }
        }
        Ok(())
    }
}

/// Entries that are being written.
pub(crate) struct Entries<'l, 't> {
    log: &'l mut EngagementLog<WriteTable<'t>>,
    number: u64,
    rows: Vec<u8>,
}

impl Entries<'_, '_> {
    /// Adds a row; returns the number of its entry.
    pub(crate) fn add(
        &mut self,
        owner: EngagementOwner,
        row: &EngagementRow,
    ) -> Result<u64, StoreError> {
        if self.rows.len() >= ENTRY_BYTES {
            self.log.put(self.number, &self.rows)?;
            self.number += 1;
            self.rows.clear();
        }
        let (tenant, resource, id) = owner;
        self.rows.extend_from_slice(tenant.as_bytes());
        self.rows.push(resource);
        self.rows.extend_from_slice(id.as_bytes());
        self.rows = postcard::to_extend(&(row, row.changes), std::mem::take(&mut self.rows))
            .map_err(|error| StoreError::Internal(error.to_string()))?;
        Ok(self.number)
    }

    /// Writes the last entry, if there is one; returns the number after it.
    pub(crate) fn end(self) -> Result<u64, StoreError> {
        if self.rows.is_empty() {
            return Ok(self.number);
        }
        self.log.put(self.number, &self.rows)?;
        Ok(self.number + 1)
    }
}

impl EngagementLog<ReadTable> {
    /// The log in a snapshot; none in a store that was last written before there was a log.
    pub(crate) fn in_snapshot(snapshot: &ReadTransaction) -> Result<Option<Self>, StoreError> {
        let open = |table| -> Result<_, StoreError> {
            match corruption::contained(|| Ok(open_if_there(snapshot, table)?)) {
                Err(StoreError::Corrupted { .. }) => Ok(Some(None)),
                opened => Ok(opened?.map(Some)),
            }
        };
        let [copy, twin] = COPIES.map(open);
        Ok(copy?.zip(twin?).map(|(copy, twin)| Self([copy, twin])))
    }

    /// Whether each entry can be read from both copies.
    pub(crate) fn is_whole(&self, numbers: Range<u64>) -> bool {
        let can_be_read = |copy: &Option<ReadTable>| {
            let read = |copy: &ReadTable| {
                numbers.clone().try_for_each(|number| entry(copy, number).map(drop))
            };
            copy.as_ref().is_some_and(|copy| corruption::contained(|| read(copy)).is_ok())
        };
        self.0.iter().all(can_be_read)
    }
}

impl<T: Rows> EngagementLog<T> {
    /// Numbers of the entries, if there are any.
    pub(crate) fn numbers(&self) -> Result<Option<RangeInclusive<u64>>, StoreError> {
        let first = self.read_either_copy(|copy| {
            copy.iter()?.next().map(|row| number(row?.0.value())).transpose()
        })?;
        let last = self.read_either_copy(|copy| {
            copy.iter()?.next_back().map(|row| number(row?.0.value())).transpose()
        })?;
        Ok(first.zip(last).map(|(first, last)| first..=last))
    }

    /// Passes the rows of each entry to `take`, in their order, with the number of the entry. Entries that are
    /// corrupted in both copies are logged and skipped.
    pub(crate) fn read(
        &self,
        numbers: RangeInclusive<u64>,
        mut take: impl FnMut(u64, EngagementOwner, EngagementRow),
    ) -> Result<(), StoreError> {
        for number in numbers {
            match self.read_either_copy(|copy| entry(copy, number)) {
                Ok(rows) => rows.into_iter().for_each(|(owner, row)| take(number, owner, row)),
                Err(StoreError::Corrupted { cause, .. }) => {
                    tracing::error!(number, cause, "engagement log entry corrupted");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads from the first copy of the log, or from the other one where the first is corrupted.
    fn read_either_copy<R>(
        &self,
        read: impl Fn(&T) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let mut done = Err(StoreError::corrupted("both copies are corrupted at their beginning"));
        for copy in self.0.iter().flatten() {
            done = corruption::contained(|| read(copy));
            if !matches!(done, Err(StoreError::Corrupted { .. })) {
                break;
            }
        }
        done
    }
}

fn number(key: &[u8]) -> Result<u64, StoreError> {
    let number = key.try_into().map(u64::from_be_bytes);
    number.map_err(|_| StoreError::corrupted("malformed number"))
}

fn entry(
    copy: &impl Rows,
    number: u64,
) -> Result<Vec<(EngagementOwner, EngagementRow)>, StoreError> {
    let key = number.to_be_bytes();
    let Some(value) = copy.get(key.as_slice())? else { return Ok(Vec::new()) };
    let mut rest = stored_value::unseal(&key, value.value())?;
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let (owner, behind) = owner_of(rest).ok_or_else(no_owner)?;
        let ((row, changes), behind) = postcard::take_from_bytes::<(EngagementRow, _)>(behind)
            .map_err(StoreError::corrupted)?;
        rows.push((owner, EngagementRow { changes, ..row }));
        rest = behind;
    }
    Ok(rows)
}

/// Owner of the first row, and the bytes after it.
fn owner_of(bytes: &[u8]) -> Option<(EngagementOwner, &[u8])> {
    let (tenant, rest) = bytes.split_first_chunk()?;
    let (resource, rest) = rest.split_first()?;
    let (id, rest) = rest.split_first_chunk()?;
    Some(((TenantId::from_bytes(*tenant), *resource, ObjectId::from_bytes(*id)), rest))
}

fn no_owner() -> StoreError {
    StoreError::corrupted("row without an owner")
}
