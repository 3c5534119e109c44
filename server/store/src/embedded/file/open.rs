//! Opens and creates the store's file. A file that is not a sound store is rejected and left unchanged.
//!
//! Which commit counts after a crash is up to `commit_header` in [`blocks`](super::blocks).

use std::{fs, io, path::Path};

use redb::{Database, ReadableDatabase as _, StorageBackend as _};

use super::{
    blocks::{Blocks, OpenAt},
    corruption,
    disk_file::DiskFile,
    overlay::OverlayBackend,
    storage::{Storage, StoreFile},
    transaction::begin,
};
use crate::{
    StoreError, disk_full,
    embedded::tables::redb_table::{self, ReadTable, WriteTable},
    rows::{
        META, Rows as _,
        meta::{META_FORMAT, READABLE_ROWS},
    },
    rules::meta,
};

/// Version of the stored format, in the file's header. The next one is 6, since 2 to 5 are taken
/// ([`READABLE_FORMATS`]).
pub(crate) const STORE_FORMAT: u32 = 1;
/// Formats that are read; any other is rejected. Format 5 was the name of format 1 before the first release, and 2 to 4
/// were earlier ones.
pub(crate) const READABLE_FORMATS: [u32; 2] = [STORE_FORMAT, 5];

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file exists but is empty.
    #[error("the file is empty; if nothing was ever stored in it, remove it")]
    Empty,
    /// Another process has the file.
    #[error("another process has it open")]
    Locked,
    /// The file is not a store.
    #[error("it is not a svctrack store: {0}")]
    Foreign(String),
    /// The file is shorter or other than it was written.
    #[error("it is corrupted: {0}")]
    Corrupted(String),
    /// The store was written by another version of the program.
    #[error("it has format {found}, this program knows format {known}")]
    Format {
        /// The format that the file has.
        found: String,
        known: String,
    },
    /// The file can be opened, and something in it is corrupted.
    #[error("data in it is corrupted: {0}")]
    CorruptedInside(String),
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Whether stored data is not as it was written.
    pub(crate) fn is_corruption(&self) -> bool {
        matches!(self, Self::Corrupted(_) | Self::Store(StoreError::Corrupted { .. }))
    }

    /// Turns an error that was met in a store that could be opened into one of a part of it: the rest is sound.
    pub(crate) fn inside(self) -> Self {
        match self {
            Self::Corrupted(what) => Self::CorruptedInside(what),
            other if other.is_corruption() => Self::CorruptedInside(other.to_string()),
            other => other,
        }
    }

    /// Error of commands that are rejected because of this one.
    pub(crate) fn into_cause(self) -> StoreError {
        match self {
            Self::Io(error) => disk_full::of_io(&error),
            Self::Store(error) => error,
            other => StoreError::Unavailable(other.to_string()),
        }
    }

    /// Whether the file is beyond repair, so that only a backup is left.
    pub fn is_beyond_repair(&self) -> bool {
        self.is_corruption() || matches!(self, Self::Foreign(_))
    }

    /// The store has a format that this program does not know.
    pub(crate) fn format(found: &str) -> Self {
        Self::Format { found: found.to_owned(), known: STORE_FORMAT.to_string() }
    }
}

impl From<redb::DatabaseError> for OpenError {
    fn from(error: redb::DatabaseError) -> Self {
        use redb::{DatabaseError, StorageError};
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::Locked,
            DatabaseError::Storage(StorageError::Corrupted(what)) => Self::Corrupted(what),
            DatabaseError::Storage(StorageError::Io(error)) => match error.kind() {
                io::ErrorKind::InvalidData => Self::Foreign(error.to_string()),
                io::ErrorKind::UnexpectedEof => Self::Corrupted("it is truncated".to_owned()),
                _ => Self::Io(error),
            },
            DatabaseError::UpgradeRequired(version) => {
                Self::Foreign(format!("its file format is {version}"))
            }
            other => Self::Store(redb::Error::from(other).into()),
        }
    }
}

/// Creates a store: under another name first, so that the store's name is never that of an incomplete store.
///
/// # Errors
/// [`OpenError::Io`] when the folder cannot be written.
pub(crate) fn create(store_file: &DiskFile, store_bytes: [u8; 5]) -> Result<(), OpenError> {
    let unfinished = store_file.path().with_extension("new");
    remove_if_there(&unfinished)?;
    initialise(store_file.new_file(&unfinished)?, store_bytes)?;
    name_for_good(&unfinished, store_file.path())?;
    Ok(())
}

/// Gives a new store, which is complete on disk, its name.
///
/// # Errors
/// When a store with this name exists.
pub(crate) fn name_for_good(unfinished: &Path, path: &Path) -> io::Result<()> {
    // A link, unlike a renaming, never replaces a store that another start has created meanwhile.
    fs::hard_link(unfinished, path)?;
    remove_if_there(unfinished)?;
    sync_folder(path)
}

/// Makes the names in the folder of a file durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes the initial data of every store.
///
/// # Errors
/// [`OpenError::Io`] when the medium cannot be written.
pub fn initialise(storage: Storage, store_bytes: [u8; 5]) -> Result<(), OpenError> {
    let database = redb::Builder::new().create_with_backend(Blocks::create(storage))?;
    let transaction = begin(&database)?;
    redb_table::create_missing(&transaction).map_err(StoreError::from)?;
    meta::found(&mut WriteTable::on_first_use(&transaction, META), store_bytes)?;
    transaction.commit().map_err(StoreError::from)?;
    Ok(())
}

/// Opens the store's database. It is tried first without writing, so that a file that is not a store, or is corrupted,
/// stays as it is.
///
/// # Errors
/// [`OpenError`], each cause with its own message.
pub(crate) fn open(store_file: &dyn StoreFile, cache_bytes: usize) -> Result<Database, OpenError> {
    try_out(store_file)?;
    open_to_write(store_file.open()?, cache_bytes)
}

/// Tests whether the store's database can be opened, as it is on disk.
///
/// # Errors
/// As [`open`].
pub(crate) fn try_out(store_file: &dyn StoreFile) -> Result<(), OpenError> {
    let storage = store_file.open()?;
    if storage.len()? == 0 {
        return Err(OpenError::Empty);
    }
    // A program that was killed during a commit leaves it in the memory of the system, also if its sync has failed.
    let in_writing = Blocks::open(storage, OpenAt::LastWhole)?.places_in_writing();
    if !in_writing.is_empty() {
        store_file.forget_cached(&in_writing)?;
    }
    let found = open_to_read(store_file.open()?, OpenAt::LastWhole, TRIAL_CACHE_BYTES)?;
    corruption::drop_quietly(found);
    Ok(())
}

/// Opens the store's database at once, in storage that has been tried out.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_to_write(storage: Storage, cache_bytes: usize) -> Result<Database, OpenError> {
    let blocks = Blocks::open(storage, OpenAt::LastWhole)?;
    if blocks.is_older() {
        tracing::warn!("last commit incomplete: rolled back");
    }
    open_over(blocks, cache_bytes)
}

/// Opens the store's database to read alone: nothing is written to the storage.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_to_read(
    storage: Storage,
    at: OpenAt,
    cache_bytes: usize,
) -> Result<Database, OpenError> {
    let trial = OverlayBackend::over(Storage::new(Blocks::open(storage, at)?))?;
    open_over(trial, cache_bytes)
}

/// Memory for the cache of a trial, in bytes; a trial reads little.
const TRIAL_CACHE_BYTES: usize = 4 * 1024 * 1024;

/// Share of the cache's memory that holds pages, measured: a page of 4 KiB takes 5 KiB of the allocator, the cache
/// notes where it is, and freed memory is not returned at once.
const PAGES_IN_MEMORY: (usize, usize) = (7, 10);

/// Opens the database over storage; its rows must have a format that is read.
fn open_over(
    storage: impl redb::StorageBackend,
    cache_bytes: usize,
) -> Result<Database, OpenError> {
    let mut builder = redb::Builder::new();
    builder.set_cache_size(cache_bytes / PAGES_IN_MEMORY.1 * PAGES_IN_MEMORY.0);
    let opened = corruption::contained_open(|| Ok(builder.create_with_backend(storage)?))?;
    match corruption::contained_open(|| check_format(&opened)) {
        Ok(()) => Ok(opened),
        Err(error) => {
            corruption::drop_quietly(opened);
            Err(error)
        }
    }
}

fn check_format(database: &Database) -> Result<(), OpenError> {
    let foreign = || OpenError::Foreign("it has no svctrack format".to_owned());
    let transaction = database.begin_read().map_err(StoreError::from)?;
    let table = match ReadTable::open(&transaction, META) {
        Err(redb::TableError::Storage(error)) => return Err(StoreError::from(error).into()),
        table => table.map_err(|_| foreign())?,
    };
    let found = table.get(META_FORMAT)?.ok_or_else(foreign)?;
    let found = String::from_utf8_lossy(found.value());
    let is_readable = READABLE_ROWS.iter().any(|rows| found == rows.to_string());
    is_readable.then_some(()).ok_or_else(|| OpenError::format(&found))
}
