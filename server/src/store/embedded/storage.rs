//! The bytes under the database: a file, or whatever a test puts in its place.
//!
//! Everything that redb reads and writes passes through [`Storage`], so a test can make the n-th
//! operation fail, and no other code of ours opens the file.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    ops::Bound,
    path::{Path, PathBuf},
};

use redb::{BackendError, StorageBackend, backends::FileBackend};

/// Opens the bytes of a store, each time anew: at the start, and again after an error.
pub trait Medium: Send + Sync {
    /// Opens what is there.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open(&self) -> io::Result<Storage>;

    /// Its name for a person.
    fn name(&self) -> String;
}

/// A file on disk.
#[derive(Clone, Debug)]
pub struct FileMedium(pub PathBuf);

impl Medium for FileMedium {
    fn open(&self) -> io::Result<Storage> {
        let file = OpenOptions::new().read(true).write(true).open(&self.0)?;
        Storage::of_file(file)
    }

    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

/// The bytes under the database.
pub struct Storage(Box<dyn StorageBackend>);

impl Storage {
    /// Any backend; a test's, for one.
    pub fn new(backend: impl StorageBackend) -> Self {
        Self(Box::new(backend))
    }

    /// A file, which redb's own backend locks against other processes.
    pub(super) fn of_file(file: File) -> io::Result<Self> {
        FileBackend::new(file)
            .map(Self::new)
            .map_err(io::Error::other)
    }
}

/// Makes a new file that must not be there yet.
pub(super) fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}
