//! The bytes under the database: a file, or a test's replacement.
//!
//! All reads and writes of redb pass through [`Storage`], which alone opens the file; tests make the n-th one fail.

use std::{fmt, fs::File, io, ops::Range};

use redb::StorageBackend;

pub use super::nonblocking_read::before_waiting;
use super::open::OpenError;

/// Opens the bytes of a store: at the start, and again after an error, while the earlier ones are still open.
pub trait StoreFile: Send + Sync {
    /// Opens the existing file.
    ///
    /// # Errors
    /// [`OpenError::Locked`] when another process has the file, or [`OpenError::Io`].
    fn open(&self) -> Result<Storage, OpenError>;

    /// Writes the data to disk, and asks the system to drop its cache of parts of the file, so that reads see the disk,
    /// and the next writes reach it. After a write has failed, the memory has data that the disk does not have; and
    /// when that is written again, a sync of ext4 may report success though the data never reaches the disk. To forget
    /// [`EVERYTHING`] takes some 0.1 s for a cached gigabyte, so an ordinary start does not do it.
    ///
    /// # Errors
    /// As [`StoreFile::open`], or when earlier writes do not reach the disk; they are forgotten then too.
    fn forget_cached(&self, _parts: &[Range<u64>]) -> Result<(), OpenError> {
        Ok(())
    }

    /// Tests whether the folder of the store can be written.
    ///
    /// # Errors
    /// When it cannot be written.
    fn try_to_write(&self) -> io::Result<()>;

    /// A new file without a name in the same folder, or in the system's folder for temporary files.
    ///
    /// # Errors
    /// When the file cannot be created.
    fn unnamed_file(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    /// Lets `write` write another store next to this one, and replaces this one when the new one is complete on disk.
    ///
    /// # Errors
    /// When the new store cannot be written; then this one stays.
    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError>;

    /// Name of the file for a person.
    fn name(&self) -> String;

    /// Size of the file in bytes, where it is known.
    fn bytes(&self) -> u64 {
        0
    }
}

/// All bytes of a file.
pub const EVERYTHING: Range<u64> = 0..u64::MAX;

/// Writes a store into empty storage.
pub type WriteStore<'w> = &'w mut dyn FnMut(Storage) -> Result<(), OpenError>;

/// The bytes under the database.
pub struct Storage(Box<dyn StorageBackend>);

impl Storage {
    /// Storage over any backend, such as one of a test.
    pub fn new(backend: impl StorageBackend) -> Self {
        Self(Box::new(backend))
    }
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
}
