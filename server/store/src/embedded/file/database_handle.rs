//! An open database, and the fence between it and its file.
//!
//! During recovery ([`crate::embedded::runtime::reopen_after_error`]), two databases are open over one file, and
//! neither sees the writes of the other. A database whose fence is shut can no longer read or write, whatever it still
//! tries.

use std::{fmt, io, sync::Arc, time::Instant};

use parking_lot::{Mutex, MutexGuard, RwLock};
use redb::{Database, ReadableDatabase as _, StorageBackend, WriteTransaction};

use super::{
    blocks::OpenAt,
    corruption, nonblocking_read,
    open::{self, OpenError},
    progress::DiskProgress,
    storage::{Storage, StoreFile},
    transaction::begin,
};
use crate::{
    StoreError, disk_full,
    embedded::{engagement::LogRead, tables::snapshot::RedbSnapshot},
};

/// An open database; a panic of its drop is not reported.
pub(crate) struct DatabaseHandle {
    /// None while the database is dropped.
    database: Option<Database>,
    gate: StorageGate,
    is_to_read: bool,
    log_read: Arc<LogRead>,
}

impl DatabaseHandle {
    /// A database to write, of a file that was opened to read just before.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn to_write(
        store_file: &dyn StoreFile,
        progress: &Arc<DiskProgress>,
        cache_bytes: usize,
    ) -> Result<Self, OpenError> {
        let (gate, storage) = StorageGate::in_front_of(store_file.open()?, progress);
        let database = Some(open::open_to_write(storage, cache_bytes)?);
        Ok(Self { database, gate, is_to_read: false, log_read: Arc::default() })
    }

    /// A database to write next to one that is read. The data of the latter does not change while the snapshot is held.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn for_second_writer(
        store_file: &dyn StoreFile,
        progress: &Arc<DiskProgress>,
        cache_bytes: usize,
    ) -> Result<(Self, RedbSnapshot), OpenError> {
        let opened = Self::to_write(store_file, progress, cache_bytes)?;
        let held = opened.snapshot().inspect_err(|_| opened.close_gate())?;
        Ok((opened, held))
    }

    /// A database to read alone: nothing is written to the medium.
    ///
    /// # Errors
    /// [`OpenError`].
    pub(crate) fn to_read(
        store_file: &dyn StoreFile,
        progress: &Arc<DiskProgress>,
        at: OpenAt,
        cache_bytes: usize,
    ) -> Result<Self, OpenError> {
        let (gate, storage) = StorageGate::in_front_of(store_file.open()?, progress);
        let database = Some(open::open_to_read(storage, at, cache_bytes)?);
        Ok(Self { database, gate, is_to_read: true, log_read: Arc::default() })
    }

    /// Whether the database was opened to read alone, and its file has not failed since: redb would begin no
    /// transaction then.
    pub(crate) fn can_be_read_apart(&self) -> bool {
        self.is_to_read && corruption::contained(|| Ok(begin(self.database()?)?.abort()?)).is_ok()
    }

    pub(crate) fn database(&self) -> Result<&Database, StoreError> {
        let closed = || StoreError::Unavailable("the file is closed".to_owned());
        self.database.as_ref().ok_or_else(closed)
    }

    pub(crate) fn snapshot(&self) -> Result<RedbSnapshot, StoreError> {
        Ok(RedbSnapshot::new(self.database()?.begin_read()?, self.log_read.clone()))
    }

    /// Reads data in advance that the first reads would wait for otherwise.
    pub(crate) fn read_ahead(&self) {
        // An unreadable log is reported to the callers that ask for it.
        let _ = corruption::contained(|| self.snapshot()?.log()?.read());
    }

    /// Begins a transaction, except in a database to read alone, which cannot write to disk.
    pub(crate) fn begin(&self) -> Result<WriteTransaction, StoreError> {
        if self.is_to_read {
            return Err(StoreError::Unavailable("the file is read-only".to_owned()));
        }
        let transaction = begin(self.database()?)?;
        // redb has recovered from earlier failures.
        *self.gate.failed() = None;
        Ok(transaction)
    }

    /// Cause of a failure of the file: redb reports it to the first caller only, and to later ones that there was one.
    pub(crate) fn cause(&self, error: StoreError) -> StoreError {
        let failed = self.gate.failed();
        let failed = failed.as_ref().filter(|_| error.is_of_the_file());
        failed.map_or(error, disk_full::of_io)
    }

    /// Shuts the database off from its file: running reads and writes end first, and no others follow.
    pub(crate) fn close_gate(&self) {
        self.gate.close_gate();
    }
}

impl Drop for DatabaseHandle {
    fn drop(&mut self) {
        corruption::drop_quietly(self.database.take());
    }
}

/// A gate before the storage, which can be shut; clones are the same gate.
#[derive(Clone, Debug, Default)]
struct StorageGate {
    is_shut: Arc<RwLock<bool>>,
    /// First failure of the storage since the transaction began.
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl StorageGate {
    /// A gate before storage, whose disk is watched.
    fn in_front_of(under: Storage, progress: &Arc<DiskProgress>) -> (Self, Storage) {
        let (gate, progress) = (Self::default(), progress.clone());
        (gate.clone(), Storage::new(GatedStorage { under, gate, progress }))
    }

    fn close_gate(&self) {
        *self.is_shut.write() = true;
    }

    fn failed(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.failed.lock()
    }
}

/// Storage that a gate can shut off.
struct GatedStorage {
    under: Storage,
    gate: StorageGate,
    progress: Arc<DiskProgress>,
}

impl fmt::Debug for GatedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.under.fmt(f)
    }
}

impl GatedStorage {
    /// Runs an operation, and keeps the gate open until it ends.
    fn run_at_gate<T>(&self, operate: impl FnOnce(&Storage) -> io::Result<T>) -> io::Result<T> {
        let is_shut = nonblocking_read::lock_shared(&self.gate.is_shut);
        if *is_shut {
            return Err(io::Error::other("the file was opened again"));
        }
        operate(&self.under).inspect_err(|error| {
            let failed = || io::Error::new(error.kind(), error.to_string());
            self.gate.failed().get_or_insert_with(failed);
        })
    }
}

impl StorageBackend for GatedStorage {
    fn len(&self) -> io::Result<u64> {
        self.run_at_gate(Storage::len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let _step = nonblocking_read::may_wait().then(|| self.progress.begin());
        self.run_at_gate(|under| under.read(offset, out))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.run_at_gate(|under| under.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let began = Instant::now();
        let synced = self.run_at_gate(Storage::sync_data);
        self.progress.syncs.record_time(began.elapsed());
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.progress.count_written(data.len());
        self.run_at_gate(|under| under.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.under.close()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use super::*;
    use crate::{
        embedded::{file::disk_file::DiskFile, tables::redb_table::WriteTable},
        rows::{META, Rows as _, Snapshot as _, WriteRows as _},
    };

    fn store(folder: &Path) -> (PathBuf, DiskFile) {
        let path = folder.join("store");
        let store_file = DiskFile::at(&path);
        open::create(&store_file, [1; 5]).unwrap();
        (path, store_file)
    }

    fn reads(snapshot: &RedbSnapshot) -> bool {
        let read = || Ok(snapshot.open(META)?.iter()?.next().transpose()?.is_some());
        corruption::contained(read).is_ok_and(|is_there| is_there)
    }

    #[test]
    fn what_is_read_stays_as_it_is_while_another_database_writes() {
        let folder = tempfile::tempdir().unwrap();
        let (_, store_file) = store(folder.path());
        let read =
            DatabaseHandle::to_read(&store_file, &Arc::default(), OpenAt::LastWhole, 0).unwrap();
        let (written, held) =
            DatabaseHandle::for_second_writer(&store_file, &Arc::default(), 0).unwrap();
        for number in 0..20_u8 {
            let transaction = written.begin().unwrap();
            let (key, value) = ([number], [number; 5_000]);
            let mut table = WriteTable::open(&transaction, META).unwrap();
            table.insert(key.as_slice(), value.as_slice()).unwrap();
            drop(table);
            transaction.commit().unwrap();
            assert!(reads(&read.snapshot().unwrap()) && read.can_be_read_apart(), "{number}");
        }
        drop(held);
    }

    #[test]
    fn a_database_to_read_alone_takes_no_writes_and_knows_that_its_file_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let (_, store_file) = store(folder.path());
        let read =
            DatabaseHandle::to_read(&store_file, &Arc::default(), OpenAt::LastWhole, 0).unwrap();
        assert!(read.can_be_read_apart() && read.begin().is_err());
        let snapshot = read.snapshot().unwrap();
        read.close_gate();
        assert!(!reads(&snapshot) && !read.can_be_read_apart());
    }

    #[test]
    fn what_failed_before_a_transaction_began_is_not_why_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let (_, store_file) = store(folder.path());
        let opened = DatabaseHandle::to_write(&store_file, &Arc::default(), 0).unwrap();
        let cause = || opened.cause(StoreError::Unavailable("an earlier one".to_owned()));
        let fail = || *opened.gate.failed() = Some(io::ErrorKind::StorageFull.into());
        fail();
        assert!(matches!(cause(), StoreError::Full));
        opened.begin().unwrap().abort().unwrap();
        assert!(matches!(cause(), StoreError::Unavailable(_)));
        fail();
        assert!(matches!(opened.cause(StoreError::NotFound), StoreError::NotFound));
    }

    #[test]
    fn a_database_that_is_shut_off_reads_nothing_more_and_another_does() {
        let folder = tempfile::tempdir().unwrap();
        let (_, store_file) = store(folder.path());
        let (shut, other) = (
            DatabaseHandle::to_read(&store_file, &Arc::default(), OpenAt::LastWhole, 0).unwrap(),
            DatabaseHandle::to_write(&store_file, &Arc::default(), 0).unwrap(),
        );
        let (of_shut, of_other) = (shut.snapshot().unwrap(), other.snapshot().unwrap());
        shut.close_gate();
        assert!(!reads(&of_shut) && reads(&of_other));
    }

    #[test]
    fn a_database_that_is_shut_off_writes_nothing_more_even_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store_file) = store(folder.path());
        let opened = DatabaseHandle::to_write(&store_file, &Arc::default(), 0).unwrap();
        let bytes = fs::read(&path).unwrap();
        opened.close_gate();
        drop(opened);
        assert!(fs::read(&path).unwrap() == bytes);
        let opened = DatabaseHandle::to_write(&store_file, &Arc::default(), 0).unwrap();
        opened.close_gate();
        assert!(opened.begin().and_then(|writing| Ok(writing.commit()?)).is_err());
        assert!(reads(
            &DatabaseHandle::to_write(&store_file, &Arc::default(), 0).unwrap().snapshot().unwrap()
        ));
    }
}
