//! A table in redb, opened for writing or for reading.

use std::ops::{Bound, RangeBounds};

use redb::{
    AccessGuard, CursorMut, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition,
    TableError, WriteTransaction,
};

use crate::{
    StoreError,
    rows::{Bytes, ReadRow, RowResult, Rows, Table, WriteRows},
};

type RedbTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;
type InnerRead = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

pub(crate) const fn definition(
    table: Table,
) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

impl Bytes for AccessGuard<'_, &'static [u8]> {
    fn value(&self) -> &[u8] {
        AccessGuard::value(self)
    }
}

/// Rows in the order of their keys.
pub(crate) struct Range<'r>(redb::Range<'r, &'static [u8], &'static [u8]>);

impl<'r> Iterator for Range<'r> {
    type Item = RowResult<AccessGuard<'r, &'static [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(StoreError::from))
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some(self.0.next_back()?.map_err(StoreError::from))
    }
}

/// A table in a snapshot.
pub(crate) struct ReadTable(InnerRead);

/// A table in a transaction that writes.
pub(crate) struct WriteTable<'t>(RedbTable<'t>);

macro_rules! rows_of {
    ($table:ty) => {
        impl Rows for $table {
            type Bytes<'r>
                = AccessGuard<'r, &'static [u8]>
            where
                Self: 'r;
            type Range<'r>
                = Range<'r>
            where
                Self: 'r;

            fn get(&self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
                Ok(ReadableTable::get(&self.0, key)?)
            }

            fn range<'k>(
                &self,
                keys: impl RangeBounds<&'k [u8]> + 'k,
            ) -> Result<Self::Range<'_>, StoreError> {
                Ok(Range(ReadableTable::range(&self.0, keys)?))
            }

            fn len(&self) -> Result<u64, StoreError> {
                Ok(ReadableTableMetadata::len(&self.0)?)
            }
        }
    };
}

impl ReadRow for ReadTable {
    fn read<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        Ok(self.get(key)?.map(|value| read(value.value())))
    }
}

rows_of!(ReadTable);
rows_of!(WriteTable<'_>);

impl WriteRows for WriteTable<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
        Ok(self.0.insert(key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
        Ok(self.0.remove(key)?)
    }

    fn remove_range<'k>(
        &mut self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<(), StoreError> {
        Ok(self.0.retain_in(keys, |_, _| false)?)
    }
}

impl<'t> WriteTable<'t> {
    /// Opens a table, and creates it where it is missing.
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        table: Table,
    ) -> Result<Self, TableError> {
        Ok(Self(transaction.open_table(definition(table))?))
    }

    /// Cursor after this key.
    pub(crate) fn cursor_after(
        &mut self,
        key: &[u8],
    ) -> Result<CursorMut<'_, &'static [u8], &'static [u8]>, StoreError> {
        Ok(self.0.lower_bound_mut(Bound::Excluded(key))?)
    }
}

impl ReadTable {
    pub(crate) fn open(snapshot: &ReadTransaction, table: Table) -> Result<Self, TableError> {
        Ok(Self(snapshot.open_table(definition(table))?))
    }
}

/// A table in a snapshot; none in a store that was last written before that table existed.
pub(crate) fn open_if_there(
    snapshot: &ReadTransaction,
    table: Table,
) -> Result<Option<ReadTable>, TableError> {
    match ReadTable::open(snapshot, table) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => opened.map(Some),
    }
}
