//! A table to which transactions add rows by the thousand, most of them behind all that is there: those of a
//! transaction are gathered and written together, in the order of their keys, so that one search serves many.
//!
//! Invariant: what was gathered is written before the transaction is committed
//! ([`super::tables::WriteTables::finish`]), and before anybody is given the table itself.

use std::{collections::BTreeMap, iter::Peekable, ops::Bound};

use redb::{CursorError, ReadableTable as _};

use super::tables::WriteTable;
use crate::store::StoreError;

/// Most bytes of rows that are gathered: those of a batch, and far less than a long replay adds.
const MAX_GATHERED_BYTES: usize = 4 * 1024 * 1024;

pub(super) struct LogTable<'t> {
    table: WriteTable<'t>,
    gathered: BTreeMap<Vec<u8>, Vec<u8>>,
    gathered_bytes: usize,
}

impl<'t> LogTable<'t> {
    pub(super) fn of(table: WriteTable<'t>) -> Self {
        Self { table, gathered: BTreeMap::new(), gathered_bytes: 0 }
    }

    /// Adds a row.
    pub(super) fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        self.gathered_bytes += key.len() + value.len();
        self.gathered.insert(key, value);
        if self.gathered_bytes > MAX_GATHERED_BYTES {
            self.written()?;
        }
        Ok(())
    }

    /// What `read` makes of the row under a key, if there is one.
    pub(super) fn read<R>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        if let Some(value) = self.gathered.get(key) {
            return Ok(Some(read(value)));
        }
        Ok(self.table.get(key)?.map(|value| read(value.value())))
    }

    /// The last key from one on and before another.
    pub(super) fn last_key(&self, first: &[u8], end: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let bounds = (Bound::Included(first), Bound::Excluded(end));
        let gathered = self.gathered.range::<[u8], _>(bounds).next_back();
        let gathered = gathered.map(|(key, _)| key.clone());
        let written = self.table.range(first..end)?.next_back().transpose()?;
        Ok(gathered.max(written.map(|(key, _)| key.value().to_vec())))
    }

    /// The table, with all rows in it.
    pub(super) fn written(&mut self) -> Result<&mut WriteTable<'t>, StoreError> {
        let mut rows = std::mem::take(&mut self.gathered).into_iter().peekable();
        self.gathered_bytes = 0;
        let mut are_in_runs = true;
        while let Some((key, value)) = rows.next() {
            self.table.insert(key.as_slice(), value.as_slice())?;
            // Where one row was by itself, such as under a made-up id, others are likely to be: a run costs a
            // search of its own.
            are_in_runs = are_in_runs && self.write_run(&key, &mut rows)? > 0;
        }
        Ok(&mut self.table)
    }

    /// Writes the rows behind one as far as no other stands between them; returns how many these were.
    fn write_run(
        &mut self,
        behind: &[u8],
        rows: &mut Peekable<impl Iterator<Item = (Vec<u8>, Vec<u8>)>>,
    ) -> Result<usize, StoreError> {
        let mut cursor = self.table.lower_bound_mut(Bound::Excluded(behind))?;
        let mut written = 0;
        while let Some((key, value)) = rows.peek() {
            match cursor.insert_before(key.as_slice(), value.as_slice()) {
                Ok(()) => drop(rows.next()),
                Err(CursorError::UnorderedKey) => break,
                Err(error) => return Err(error.into()),
            }
            written += 1;
        }
        cursor.close()?;
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use redb::{Database, backends::InMemoryBackend};

    use super::{
        super::{tables::MESSAGES, writer::begin},
        *,
    };

    #[test]
    fn rows_are_read_before_and_after_they_are_written_wherever_they_belong() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let transaction = begin(&database).unwrap();
        let mut table = LogTable::of(transaction.open_table(MESSAGES).unwrap());
        for key in ["a2", "a9", "b5"] {
            table.table.insert(key.as_bytes(), b"old".as_slice()).unwrap();
        }
        let added = ["a1", "a2", "a3", "a4", "b1", "b6", "b7"];
        for key in added {
            table.add(key.as_bytes().to_vec(), key.as_bytes().to_vec()).unwrap();
        }
        let last =
            |table: &LogTable<'_>, first: &[u8], end: &[u8]| table.last_key(first, end).unwrap();
        for _ in 0..2 {
            for key in added {
                let value = table.read(key.as_bytes(), <[u8]>::to_vec).unwrap();
                assert_eq!(value.as_deref(), Some(key.as_bytes()), "{key}");
            }
            assert_eq!(table.read(b"a9", <[u8]>::to_vec).unwrap().unwrap(), b"old");
            assert_eq!(table.read(b"a5", <[u8]>::to_vec).unwrap(), None);
            assert_eq!(last(&table, b"a", b"b").unwrap(), b"a9");
            assert_eq!(last(&table, b"a", b"a9").unwrap(), b"a4");
            assert_eq!(last(&table, b"c", b"d"), None);
            table.written().unwrap();
        }
        let keys = table.table.range::<&[u8]>(..).unwrap();
        let keys: Vec<_> = keys.map(|row| row.unwrap().0.value().to_vec()).collect();
        let all = ["a1", "a2", "a3", "a4", "a9", "b1", "b5", "b6", "b7"];
        assert_eq!(keys, all.map(|key| key.as_bytes().to_vec()));
    }
}
