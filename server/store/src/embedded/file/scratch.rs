//! A table of a dry run, in a file without a name: what a dry run would write may be as much as an import writes, so it
//! is on disk, and little of it in memory. It is one transaction that is never committed.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use redb::{Database, StorageBackend, TableDefinition, WriteTransaction, backends::FileBackend};
use svctrack_core::value::Issue;
use tokio::runtime::Handle;

use super::{corruption, storage::StoreFile};
use crate::{StoreError, disk_full::of_io, embedded::tables::redb_table::WriteTable};

/// How much of a table is in memory, in bytes: enough for the rows of a batch and the pages that lead to them.
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Largest file of a dry run, in bytes: some million rows, measured with small companies. Two of them leave most of a small
/// disk to the store.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
const TABLE: TableDefinition<'_, &'static [u8], &'static [u8]> = TableDefinition::new("planned");

/// The table, and the file that it is in.
pub(crate) struct Scratch {
    /// None while it is dropped. The transaction ends before its database.
    opened: Option<(WriteTransaction, Database)>,
    faults: Arc<Faults>,
}

impl Scratch {
    /// An empty table, in a file next to the store's.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) fn create(store_file: &dyn StoreFile) -> Result<Self, StoreError> {
        let file = store_file.unnamed_file().map_err(|error| of_io(&error))?;
        Self::in_file(file, MAX_BYTES)
    }

    fn in_file(file: File, max_bytes: u64) -> Result<Self, StoreError> {
        let faults = Arc::<Faults>::default();
        let under = FileBackend::new(file).map_err(redb::Error::from)?;
        let storage = ScratchFile { under, max_bytes, faults: faults.clone() };
        let database = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(storage);
        let database = database.map_err(redb::Error::from)?;
        let transaction = database.begin_write()?;
        Ok(Self { opened: Some((transaction, database)), faults })
    }

    /// Has `work` read and write the table.
    ///
    /// # Errors
    /// Those of `work`, [`StoreError::Invalid`] where the file is as large as it may be, and [`StoreError::Full`].
    pub(crate) fn with_rows<T>(
        &mut self,
        work: impl FnOnce(&mut WriteTable<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Internal("the dry run is over".to_owned());
        let (transaction, _) = self.opened.as_ref().ok_or_else(ended)?;
        let done = work(&mut WriteTable::in_table(transaction.open_table(TABLE)?));
        // What cannot be written stays in memory, so nothing more may be added.
        self.faults.first().and(done)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let opened = self.opened.take();
        let end = || corruption::drop_quietly(opened);
        // The system takes some time to give back the room of a large file.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(end)),
            Err(_) => end(),
        }
    }
}

/// Why the file takes no more. redb keeps in memory what it cannot write before a commit, and says nothing of it.
#[derive(Debug, Default)]
struct Faults {
    is_too_large: AtomicBool,
    failed: Mutex<Option<io::Error>>,
}

impl Faults {
    fn first(&self) -> Result<(), StoreError> {
        if self.is_too_large.load(Ordering::Relaxed) {
            let message = format!(
                "a dry run writes what it would store into a file of at most {} MiB: try the rows that were not judged apart",
                MAX_BYTES / (1024 * 1024)
            );
            return Err(StoreError::Invalid(vec![Issue::of_body("dry_run_too_large", message)]));
        }
        self.failed.lock().as_ref().map_or(Ok(()), |error| Err(of_io(error)))
    }
}

/// The bytes of the table. None of them is to outlive the dry run, so nothing is brought to disk.
#[derive(Debug)]
struct ScratchFile {
    under: FileBackend,
    max_bytes: u64,
    faults: Arc<Faults>,
}

impl StorageBackend for ScratchFile {
    fn len(&self) -> io::Result<u64> {
        self.under.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.under.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.under.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset.saturating_add(data.len() as u64) > self.max_bytes {
            self.faults.is_too_large.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.under.write(offset, data);
        if let Err(error) = &written {
            self.faults.failed.lock().get_or_insert_with(|| error.kind().into());
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::{
        plan::{Ctx, create, delete, memory::Memory, update},
        resources::company::COMPANY,
        schema::Lookup as _,
        value::{Document, IdSequence, ObjectId, Timestamp},
    };

    use super::*;
    use crate::{
        reads::planned_rows::{Over, plan},
        rows::{Rows as _, WriteRows as _},
    };

    fn scratch(max_bytes: u64) -> Scratch {
        Scratch::in_file(tempfile::tempfile().unwrap(), max_bytes).unwrap()
    }

    fn patch(text: &str) -> Document {
        Document::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_is_planned_over_planned_rows_sees_what_was_planned_before_and_changes_nothing_below() {
        let now = Timestamp::parse("2026-11-20").unwrap();
        let mut ctx = Ctx::new(now, IdSequence::new([0; 5]), None);
        let mut below = Memory::default();
        let stored =
            create(&COMPANY, patch(r#"{"name":"A","externalId":"a"}"#), &below, &mut ctx).unwrap();
        below.apply(&stored.changes);
        let mut scratch = scratch(MAX_BYTES);
        // Each step in a table that is opened again, as each batch of rows has.
        let id = |scratch: &mut Scratch, key: &str| -> Option<ObjectId> {
            let find = |planned: &mut WriteTable<'_>| {
                Ok(Over { planned, below: &below }.find(&COMPANY, "externalId", key).unwrap())
            };
            scratch.with_rows(find).unwrap()
        };
        assert_eq!(id(&mut scratch, "a"), Some(stored.id));

        let rename = |planned: &mut WriteTable<'_>| {
            let over = Over { planned: &*planned, below: &below };
            let renamed = patch(r#"{"externalId":"b"}"#);
            let renamed = update(&COMPANY, stored.id, renamed, &over, &mut ctx).unwrap();
            plan(planned, &renamed.changes)
        };
        scratch.with_rows(rename).unwrap();
        assert_eq!((id(&mut scratch, "a"), id(&mut scratch, "b")), (None, Some(stored.id)));

        let make = |planned: &mut WriteTable<'_>| {
            let over = Over { planned: &*planned, below: &below };
            let mut make = |key: &str| {
                let body = format!(r#"{{"name":"B","externalId":"{key}"}}"#);
                create(&COMPANY, patch(&body), &over, &mut ctx)
            };
            assert!(make("b").is_err());
            let made = make("a").unwrap();
            plan(planned, &made.changes)?;
            Ok(made.id)
        };
        let made = scratch.with_rows(make).unwrap();
        assert_eq!(id(&mut scratch, "a"), Some(made));

        let remove = |planned: &mut WriteTable<'_>| {
            let over = Over { planned: &*planned, below: &below };
            let deleted = delete(&COMPANY, stored.id, &over).unwrap();
            plan(planned, &deleted)?;
            Ok(Over { planned, below: &below }.record(&COMPANY, stored.id).unwrap())
        };
        assert!(scratch.with_rows(remove).unwrap().is_none());
        assert_eq!(id(&mut scratch, "b"), None);
        assert!(below.record(&COMPANY, stored.id).unwrap().is_some());
    }

    fn add(scratch: &mut Scratch, rows: std::ops::Range<u32>) -> Result<u64, StoreError> {
        scratch.with_rows(|table| {
            for row in rows {
                table.insert(&row.to_be_bytes(), &[0; 500])?;
            }
            table.len()
        })
    }

    #[test]
    fn rows_beyond_the_memory_of_a_table_are_there_until_its_file_is_as_large_as_it_may_be() {
        let mut scratch = scratch(16 * CACHE_BYTES as u64);
        let rows = 5 * CACHE_BYTES as u32 / 500;
        assert_eq!(add(&mut scratch, 0..rows).unwrap(), u64::from(rows));
        let first = scratch.with_rows(|table| Ok(table.get(&[0; 4])?.is_some()));
        assert!(first.unwrap());
        let error = add(&mut scratch, rows..4 * rows).unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
        assert!(add(&mut scratch, 0..0).is_err());
    }
}
