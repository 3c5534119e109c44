//! A table to which transactions add rows in bulk, most of them after all stored rows of their kind. The rows
//! of a transaction are gathered and written together, in the order of their keys, so that one search serves many rows
//! and pages are filled.
//!
//! Invariant: gathered rows are written before the transaction is committed
//! ([`super::transaction::WriteTables::finish`]), and before the table itself is read.

use std::{collections::BTreeMap, iter::Peekable, ops::Bound};

use redb::CursorError;

use super::redb_table::WriteTable;
use crate::{
    StoreError,
    rows::{AppendRows, ReadRow, Rows as _, WriteRows as _},
};

/// Maximum size of the rows that a table gathers, in bytes: those of a batch, and far less than a long replay adds.
const MAX_GATHERED_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of consecutive single rows, such as under invented ids, before all further ones are written singly: a
/// run costs a search of its own.
const MAX_ALONE: usize = 8;

pub(crate) struct AppendTable<'t> {
    table: WriteTable<'t>,
    gathered: BTreeMap<Vec<u8>, Vec<u8>>,
    gathered_bytes: usize,
    /// Whether gathered rows are being written: the command that meets an error then need not have added them.
    is_writing: bool,
    in_runs: bool,
}

impl<'t> From<WriteTable<'t>> for AppendTable<'t> {
    fn from(table: WriteTable<'t>) -> Self {
        Self {
            table,
            gathered: BTreeMap::new(),
            gathered_bytes: 0,
            is_writing: false,
            in_runs: true,
        }
    }
}

impl<'t> AppendTable<'t> {
    /// Writes rows one by one from now on: a run also reads adjacent rows, which may be corrupted.
    pub(crate) fn avoid_runs(&mut self) {
        self.in_runs = false;
    }

    /// Whether writing gathered rows has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.is_writing
    }

    /// Writes the rows after one up to the next stored row; returns their number.
    fn write_run(
        &mut self,
        behind: &[u8],
        rows: &mut Peekable<impl Iterator<Item = (Vec<u8>, Vec<u8>)>>,
    ) -> Result<usize, StoreError> {
        let mut cursor = self.table.cursor_after(behind)?;
        let mut written = 0;
        while let Some((key, value)) = rows.peek() {
            match cursor.insert_before(key.as_slice(), value.as_slice()) {
                Ok(()) => drop(rows.next()),
                // The next row replaces a stored one: the insertion that follows meets it.
                Err(CursorError::UnorderedKey) => break,
                Err(error) => return Err(error.into()),
            }
            written += 1;
        }
        cursor.close()?;
        Ok(written)
    }
}

impl ReadRow for AppendTable<'_> {
    fn read<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        if let Some(value) = self.gathered.get(key) {
            return Ok(Some(read(value)));
        }
        Ok(self.table.get(key)?.map(|value| read(value.value())))
    }
}

impl<'t> AppendRows for AppendTable<'t> {
    type Table = WriteTable<'t>;

    fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.gathered_bytes += key.len() + value.len();
        if self.gathered.insert(key, value).is_some() {
            return Err(StoreError::key_taken());
        }
        if self.gathered_bytes > MAX_GATHERED_BYTES {
            self.written()?;
        }
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        if let Some(before) = self.gathered.get_mut(key) {
            self.gathered_bytes += value.len();
            *before = value;
            return Ok(());
        }
        self.table.insert(key, value.as_slice())?;
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.gathered.remove(key).is_some() | self.table.remove(key)?.is_some())
    }

    fn last<R>(
        &self,
        first: &[u8],
        end: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let bounds = (Bound::Included(first), Bound::Excluded(end));
        let gathered = self.gathered.range::<[u8], _>(bounds).next_back();
        let written = self.table.range(first..end)?.next_back().transpose()?;
        let is_behind = |key: &[u8]| gathered.is_none_or(|(gathered, _)| key > gathered.as_slice());
        Ok(match written.filter(|(key, _)| is_behind(key.value())) {
            Some((key, value)) => Some(read(key.value(), value.value())),
            None => gathered.map(|(key, value)| read(key, value)),
        })
    }

    fn written(&mut self) -> Result<&mut WriteTable<'t>, StoreError> {
        self.is_writing = true;
        let mut rows = std::mem::take(&mut self.gathered).into_iter().peekable();
        self.gathered_bytes = 0;
        let mut alone = 0;
        while let Some((key, value)) = rows.next() {
            if self.table.insert(key.as_slice(), value.as_slice())?.is_some() {
                return Err(StoreError::key_taken());
            }
            if self.in_runs && alone < MAX_ALONE && rows.peek().is_some() {
                let is_alone = self.write_run(&key, &mut rows)? == 0;
                alone = if is_alone { alone + 1 } else { 0 };
            }
        }
        self.is_writing = false;
        Ok(&mut self.table)
    }
}

#[cfg(test)]
mod tests {
    use redb::{Database, backends::InMemoryBackend};

    use super::*;
    use crate::{embedded::file::transaction::begin, rows::MESSAGES};

    #[test]
    fn rows_are_read_changed_and_removed_before_and_after_they_are_written() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let transaction = begin(&database).unwrap();
        let mut table = AppendTable::from(WriteTable::open(&transaction, MESSAGES).unwrap());
        for key in ["a2", "a9", "b5"] {
            table.table.insert(key.as_bytes(), b"old".as_slice()).unwrap();
        }
        let added = ["a1", "a3", "a4", "b1", "b6", "b7"];
        for key in added {
            table.add(key.as_bytes().to_vec(), key.as_bytes().to_vec()).unwrap();
        }
        let last = |table: &AppendTable<'_>, first: &[u8], end: &[u8]| {
            table.last(first, end, |key, value| (key.to_vec(), value.to_vec())).unwrap()
        };
        let row = |key: &[u8], value: &[u8]| Some((key.to_vec(), value.to_vec()));
        for _ in 0..2 {
            for key in added {
                let value = table.read(key.as_bytes(), <[u8]>::to_vec).unwrap();
                assert_eq!(value.as_deref(), Some(key.as_bytes()), "{key}");
            }
            assert_eq!(table.read(b"a9", <[u8]>::to_vec).unwrap().unwrap(), b"old");
            assert_eq!(table.read(b"a5", <[u8]>::to_vec).unwrap(), None);
            assert_eq!(last(&table, b"a", b"b"), row(b"a9", b"old"));
            assert_eq!(last(&table, b"a", b"a9"), row(b"a4", b"a4"));
            assert_eq!(last(&table, b"a", b"a3"), row(b"a2", b"old"));
            assert_eq!(last(&table, b"c", b"d"), None);
            table.written().unwrap();
        }
        table.add(b"b8".to_vec(), b"new".to_vec()).unwrap();
        for key in ["a1", "b8"] {
            table.put(key.as_bytes(), b"changed".to_vec()).unwrap();
            assert_eq!(table.read(key.as_bytes(), <[u8]>::to_vec).unwrap().unwrap(), b"changed");
        }
        for (key, was_there) in [("a2", true), ("b8", true), ("b8", false)] {
            assert_eq!(table.remove(key.as_bytes()).unwrap(), was_there, "{key}");
            assert_eq!(table.read(key.as_bytes(), <[u8]>::to_vec).unwrap(), None);
        }
        table.written().unwrap();
        let keys = table.table.range(..).unwrap();
        let keys: Vec<_> = keys.map(|row| row.unwrap().0.value().to_vec()).collect();
        let all = ["a1", "a3", "a4", "a9", "b1", "b5", "b6", "b7"];
        assert_eq!(keys, all.map(|key| key.as_bytes().to_vec()));
    }

    #[test]
    fn a_row_that_is_added_replaces_none() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let transaction = begin(&database).unwrap();
        for existing in ["a1", "a2", "a3"] {
            let mut table = AppendTable::from(WriteTable::open(&transaction, MESSAGES).unwrap());
            table.table.insert(existing.as_bytes(), b"old".as_slice()).unwrap();
            let added = ["a1", "a2", "a3"].map(|key| table.add(key.into(), b"new".to_vec()));
            assert!(added.iter().all(Result::is_ok), "what is there is not searched for each row");
            assert!(table.written().is_err(), "{existing}");
            table.table.remove_range(b"a".as_slice()..).unwrap();
        }
        let mut table = AppendTable::from(WriteTable::open(&transaction, MESSAGES).unwrap());
        table.add(b"b1".to_vec(), b"first".to_vec()).unwrap();
        assert!(table.add(b"b1".to_vec(), b"second".to_vec()).is_err());
    }
}
