//! The stored form, byte for byte: ordered tables of keys and values, whichever engine holds them.
//!
//! An engine has tables ([`Rows`], [`WriteRows`]) and opens them; the list of tables, the form of their keys and the
//! sealing of values are written here, once for all engines.

pub(crate) mod backup_archive;
pub(crate) mod engagement;
pub(crate) mod keys;
pub(crate) mod meta;
pub(crate) mod revenue_version;
pub(crate) mod stored_value;
mod table_names;

use std::ops::RangeBounds;

use serde::{Serialize, de::DeserializeOwned};

use self::engagement::ReadEngagement;
pub(crate) use self::table_names::*;
use super::StoreError;

/// The bytes of a key or of a value, for as long as the engine is asked to keep them.
pub(crate) trait Bytes {
    fn value(&self) -> &[u8];
}

/// A key and its value, or the error of reading them.
pub(crate) type RowResult<B> = Result<(B, B), StoreError>;

/// An ordered table that is read.
pub(crate) trait Rows {
    /// Bytes in the table.
    type Bytes<'r>: Bytes
    where
        Self: 'r;
    /// Rows in the order of their keys.
    type Range<'r>: DoubleEndedIterator<Item = RowResult<Self::Bytes<'r>>>
    where
        Self: 'r;

    /// Value under a key, if there is one.
    fn get(&self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError>;

    /// The rows between two keys.
    fn range<'k>(
        &self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<Self::Range<'_>, StoreError>;

    /// Number of the table's rows.
    fn len(&self) -> Result<u64, StoreError>;

    fn iter(&self) -> Result<Self::Range<'_>, StoreError> {
        self.range(..)
    }
}

/// Reads the row under a key in place, without a copy.
pub(crate) trait ReadRow {
    /// Result of `read` for the row under a key, if there is one.
    fn read<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError>;
}

/// State of the store at a point in time.
pub(crate) trait Snapshot: Sized + Sync {
    type Table: Rows + ReadRow + Sync;
    type Engagement: ReadEngagement + Sync;

    /// Opens a table of the snapshot.
    fn open(&self, table: Table) -> Result<Self::Table, StoreError>;

    fn engagement(&self) -> Result<Self::Engagement, StoreError>;
}

/// An ordered table that is written.
pub(crate) trait WriteRows: Rows {
    /// Inserts a value under a key; returns the one before.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError>;

    /// Removes the row under a key; returns its value.
    fn remove(&mut self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError>;

    /// Removes the rows between two keys.
    fn remove_range<'k>(&mut self, keys: impl RangeBounds<&'k [u8]> + 'k)
    -> Result<(), StoreError>;
}

/// A table to which transactions add rows in bulk, most of them after all of their kind. An engine may gather
/// the rows of a transaction, so that only these methods see them.
pub(crate) trait AppendRows: ReadRow {
    /// The table, with all rows in it.
    type Table: WriteRows;

    /// Adds a row under a new key: an existing row stays as it is, and the transaction fails, at the latest when it is
    /// finished.
    fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError>;

    /// Inserts a row under a key that may have one.
    fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), StoreError>;

    /// Removes the row under a key; returns whether there was one.
    fn remove(&mut self, key: &[u8]) -> Result<bool, StoreError>;

    /// Result of `read` for key and value of the last row from one key on and before another, if there is one.
    fn last<R>(
        &self,
        first: &[u8],
        end: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, StoreError>;

    /// The table, with all rows in it.
    fn written(&mut self) -> Result<&mut Self::Table, StoreError>;
}

/// The row under a key, if there is one.
pub(crate) fn get_row<T: DeserializeOwned>(
    table: &impl Rows,
    key: &[u8],
) -> Result<Option<T>, StoreError> {
    let row = table.get(key)?;
    row.map(|row| stored_value::unseal_row(key, row.value())).transpose()
}

/// First row from one key to another, if there is one.
pub(crate) fn first_row<T: DeserializeOwned>(
    table: &impl Rows,
    (first, last): (Vec<u8>, Vec<u8>),
) -> Result<Option<T>, StoreError> {
    let row = table.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
    row.map(|(key, value)| stored_value::unseal_row(key.value(), value.value())).transpose()
}

/// Puts a row under a key.
pub(crate) fn put_row<T: Serialize>(
    table: &mut impl WriteRows,
    key: &[u8],
    row: &T,
) -> Result<(), StoreError> {
    let value = stored_value::seal_row(key, row)?;
    table.insert(key, value.as_slice())?;
    Ok(())
}
