//! The log of engagement: the rows that a commit has touched, side by side in as few pages as they take.
//!
//! Users are active in no order, so in their table nearly each row of a commit lies in a page of its own, and to write
//! these was a seventh of the work of an event. A commit writes its rows here instead, and now and then some that have
//! gathered go to the table in the order of its keys, many to a page ([`super::writing`]). A row says how often it was
//! changed, and of two states of it the later one counts: so it does not matter which of them lie here, and which there.
//!
//! A page of the log holds the newest state of many, so there are two copies of it, in tables of their own.

use std::ops::RangeInclusive;

use redb::{ReadableTable, TableError, WriteTransaction};
use svctrack_core::value::TenantId;

use super::{Owner, Row};
use crate::store::{
    StoreError,
    embedded::{
        codec, damage,
        snapshot::Snapshot,
        tables::{ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN, ReadTable, WriteTable, open_if_there},
    },
};

/// Bytes after which an entry takes no more rows, so that it fills a page.
const ENTRY_BYTES: usize = 3_500;

/// Both copies of the log; none of one that is damaged where it is opened.
pub(super) struct Log<T>([Option<T>; 2]);

impl<'t> Log<WriteTable<'t>> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, TableError> {
        Ok(Self([
            Some(transaction.open_table(ENGAGEMENT_LOG)?),
            Some(transaction.open_table(ENGAGEMENT_LOG_TWIN)?),
        ]))
    }

    /// Adds rows in entries from a number on; returns the number after them. Without rows it is one entry.
    pub(super) fn add<'r>(
        &mut self,
        mut number: u64,
        rows: impl Iterator<Item = (Owner, &'r Row)>,
    ) -> Result<u64, StoreError> {
        let mut entry = Vec::with_capacity(2 * ENTRY_BYTES);
        let mut rows = rows.peekable();
        loop {
            if let Some((owner, row)) = rows.next() {
                let (tenant, resource, id) = owner;
                let row = (tenant.as_bytes(), resource, id, row, row.changes);
                entry = postcard::to_extend(&row, entry)
                    .map_err(|error| StoreError::Internal(error.to_string()))?;
                if entry.len() < ENTRY_BYTES && rows.peek().is_some() {
                    continue;
                }
            }
            let key = number.to_be_bytes();
            let value = codec::seal(&key, &entry);
            for copy in self.0.iter_mut().flatten() {
                copy.insert(key.as_slice(), value.as_slice())?;
            }
            entry.clear();
            number += 1;
            if rows.peek().is_none() {
                return Ok(number);
            }
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, number: u64) -> Result<(), StoreError> {
        for copy in self.0.iter_mut().flatten() {
            copy.remove(number.to_be_bytes().as_slice())?;
        }
        Ok(())
    }
}

impl Log<ReadTable> {
    /// The log in a snapshot; none in a store that was last written before there was one.
    pub(super) fn of(snapshot: &Snapshot) -> Result<Option<Self>, StoreError> {
        let open = |table| -> Result<_, StoreError> {
            match damage::contained(|| Ok(open_if_there(snapshot, table)?)) {
                Err(StoreError::Corrupted { .. }) => Ok(Some(None)),
                opened => Ok(opened?.map(Some)),
            }
        };
        let copies = open(ENGAGEMENT_LOG)?.zip(open(ENGAGEMENT_LOG_TWIN)?);
        Ok(copies.map(|(copy, twin)| Self([copy, twin])))
    }
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> Log<T> {
    /// The numbers of its entries, if there are any.
    pub(super) fn numbers(&self) -> Result<Option<RangeInclusive<u64>>, StoreError> {
        let first =
            self.either(|copy| copy.first()?.map(|(key, _)| number(key.value())).transpose())?;
        let last =
            self.either(|copy| copy.last()?.map(|(key, _)| number(key.value())).transpose())?;
        Ok(first.zip(last).map(|(first, last)| first..=last))
    }

    /// Calls `take` with the rows of each entry, in their order, and its number. What is damaged in both copies is
    /// logged and passed over.
    pub(super) fn read(
        &self,
        numbers: RangeInclusive<u64>,
        mut take: impl FnMut(u64, Owner, Row),
    ) -> Result<(), StoreError> {
        for number in numbers {
            match self.either(|copy| entry(copy, number)) {
                Ok(rows) => rows.into_iter().for_each(|(owner, row)| take(number, owner, row)),
                Err(StoreError::Corrupted { cause, .. }) => {
                    tracing::error!(number, cause, "an entry of the log of engagement is damaged");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether one copy or the other is damaged where an entry lies, or would.
    pub(super) fn is_damaged_at(&self, number: u64) -> bool {
        let read = |copy: &T| damage::contained(|| entry(copy, number).map(drop));
        self.0.iter().flatten().any(|copy| read(copy).is_err())
    }

    /// What is read from the first copy, or from the other one where that is damaged.
    fn either<R>(&self, read: impl Fn(&T) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let mut done = Err(StoreError::corrupted("both copies are damaged where they begin"));
        for copy in self.0.iter().flatten() {
            done = damage::contained(|| read(copy));
            if !matches!(done, Err(StoreError::Corrupted { .. })) {
                break;
            }
        }
        done
    }
}

fn number(key: &[u8]) -> Result<u64, StoreError> {
    let number = key.try_into().map(u64::from_be_bytes);
    number.map_err(|_| StoreError::corrupted("a number that is none"))
}

fn entry(
    copy: &impl ReadableTable<&'static [u8], &'static [u8]>,
    number: u64,
) -> Result<Vec<(Owner, Row)>, StoreError> {
    let key = number.to_be_bytes();
    let Some(value) = copy.get(key.as_slice())? else { return Ok(Vec::new()) };
    let mut rest = codec::unseal(&key, value.value())?;
    let mut rows = Vec::new();
    while !rest.is_empty() {
        let ((tenant, resource, id, row, changes), behind) =
            postcard::take_from_bytes::<([u8; _], _, _, Row, _)>(rest)
                .map_err(StoreError::corrupted)?;
        rows.push(((TenantId::from_bytes(tenant), resource, id), Row { changes, ..row }));
        rest = behind;
    }
    Ok(rows)
}
