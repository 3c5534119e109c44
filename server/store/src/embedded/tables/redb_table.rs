//! A table in redb, opened for writing or for reading.

use std::{
    cell::OnceCell,
    ops::{Bound, RangeBounds},
};

use redb::{
    AccessGuard, CursorMut, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition,
    TableError, WriteTransaction,
};

use crate::{
    StoreError,
    rows::{ALL, Bytes, ReadRow, RowResult, Rows, Table, WriteRows},
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

/// A table in a transaction that writes. It is opened when it is first used: a commit of events uses ten of thirty
/// tables, and opening and closing the others took a tenth of its work.
pub(crate) struct WriteTable<'t> {
    transaction: &'t WriteTransaction,
    table: Table,
    opened: OnceCell<RedbTable<'t>>,
}

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
                Ok(ReadableTable::get(self.opened()?, key)?)
            }

            fn range<'k>(
                &self,
                keys: impl RangeBounds<&'k [u8]> + 'k,
            ) -> Result<Self::Range<'_>, StoreError> {
                Ok(Range(ReadableTable::range(self.opened()?, keys)?))
            }

            fn len(&self) -> Result<u64, StoreError> {
                Ok(ReadableTableMetadata::len(self.opened()?)?)
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
        Ok(self.opened_mut()?.insert(key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
        Ok(self.opened_mut()?.remove(key)?)
    }

    fn remove_range<'k>(
        &mut self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<(), StoreError> {
        Ok(self.opened_mut()?.retain_in(keys, |_, _| false)?)
    }
}

impl<'t> WriteTable<'t> {
    /// Opens a table, and creates it where it is missing.
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        table: Table,
    ) -> Result<Self, TableError> {
        let opened = transaction.open_table(definition(table))?;
        Ok(Self { transaction, table, opened: opened.into() })
    }

    /// A table that is opened, and created where it is missing, when it is first used.
    pub(crate) fn on_first_use(transaction: &'t WriteTransaction, table: Table) -> Self {
        Self { transaction, table, opened: OnceCell::new() }
    }

    fn opened(&self) -> Result<&RedbTable<'t>, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = self.transaction.open_table(definition(self.table))?;
        Ok(self.opened.get_or_init(|| opened))
    }

    fn opened_mut(&mut self) -> Result<&mut RedbTable<'t>, StoreError> {
        self.opened()?;
        self.opened.get_mut().ok_or_else(|| StoreError::Internal("table not opened".to_owned()))
    }

    /// Cursor after this key.
    pub(crate) fn cursor_after(
        &mut self,
        key: &[u8],
    ) -> Result<CursorMut<'_, &'static [u8], &'static [u8]>, StoreError> {
        Ok(self.opened_mut()?.lower_bound_mut(Bound::Excluded(key))?)
    }
}

impl ReadTable {
    /// As of a [`WriteTable`], for the functions that both have.
    fn opened(&self) -> Result<&InnerRead, StoreError> {
        Ok(&self.0)
    }

    pub(crate) fn open(snapshot: &ReadTransaction, table: Table) -> Result<Self, TableError> {
        Ok(Self(snapshot.open_table(definition(table))?))
    }
}

/// Creates the tables that are missing.
pub(crate) fn create_missing(transaction: &WriteTransaction) -> Result<(), TableError> {
    ALL.into_iter().try_for_each(|table| WriteTable::open(transaction, table).map(drop))
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
