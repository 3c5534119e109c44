//! Opening and making the store's file. What is not a sound store of ours is refused and left as it is.

use std::{fs, io, path::Path};

use redb::{Database, ReadOnlyDatabase, ReadableDatabase};
use svctrack_core::value::{IdSequence, ObjectId, Timestamp};

use super::{
    keys::ID_BYTES,
    storage::{Medium, Storage, create_file},
    tables::{META, WriteTables},
};
use crate::store::StoreError;

/// Version of the stored format; a store of another version is refused.
const STORE_FORMAT: &[u8] = b"1";
/// Names in the table `meta`.
const META_FORMAT: &[u8] = b"format";
pub(super) const META_LAST_ID: &[u8] = b"last_id";

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is there but holds nothing.
    #[error("the file is empty; if nothing was ever stored in it, remove it")]
    Empty,
    /// Another process has the file.
    #[error("another process has it open")]
    Locked,
    /// The file is not one of ours.
    #[error("it is not a svctrack store: {0}")]
    Foreign(String),
    /// The file is shorter or other than it was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The store was written by another version of the program.
    #[error("it has format {found}, this program knows format {known}")]
    Format {
        /// What the file says.
        found: String,
        /// What is known.
        known: String,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<redb::DatabaseError> for OpenError {
    fn from(error: redb::DatabaseError) -> Self {
        use redb::{DatabaseError, StorageError};
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::Locked,
            DatabaseError::Storage(StorageError::Corrupted(what)) => Self::Damaged(what),
            DatabaseError::Storage(StorageError::Io(error)) => match error.kind() {
                io::ErrorKind::InvalidData => Self::Foreign(error.to_string()),
                io::ErrorKind::UnexpectedEof => Self::Damaged("it is cut off".to_owned()),
                _ => Self::Io(error),
            },
            DatabaseError::UpgradeRequired(version) => {
                Self::Foreign(format!("its file format is {version}"))
            }
            other => Self::Store(redb::Error::from(other).into()),
        }
    }
}

/// Makes a new store at `path`: under another name first, so that half a store never stands there.
///
/// # Errors
/// [`OpenError::Io`] when the folder cannot be written.
pub(super) fn create(path: &Path, store_bytes: [u8; 5]) -> Result<(), OpenError> {
    let unfinished = path.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    initialise(Storage::of_file(create_file(&unfinished)?)?, store_bytes)?;
    fs::rename(&unfinished, path)?;
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Writes what every store holds from the start.
///
/// # Errors
/// [`OpenError::Io`] when the medium cannot be written.
pub fn initialise(storage: Storage, store_bytes: [u8; 5]) -> Result<(), OpenError> {
    let database = redb::Builder::new().create_with_backend(storage)?;
    let mut transaction = database.begin_write().map_err(StoreError::from)?;
    transaction.set_quick_repair(true);
    {
        let mut tables = WriteTables::open(&transaction).map_err(StoreError::from)?;
        let first = IdSequence::new(store_bytes).next(Timestamp::MIN);
        tables
            .meta
            .insert(META_FORMAT, STORE_FORMAT)
            .map_err(StoreError::from)?;
        tables
            .meta
            .insert(META_LAST_ID, first.as_bytes().as_slice())
            .map_err(StoreError::from)?;
    }
    transaction.commit().map_err(StoreError::from)?;
    Ok(())
}

/// Opens the store's database. A file that was closed in good order is looked at first without
/// writing to it, so that somebody else's database stays as it is.
///
/// # Errors
/// [`OpenError`], each cause with its own words.
pub(super) fn open(medium: &dyn Medium, cache_bytes: usize) -> Result<Database, OpenError> {
    let storage = medium.open()?;
    if redb::StorageBackend::len(&storage)? == 0 {
        return Err(OpenError::Empty);
    }
    match redb::Builder::new().open_read_only_with_backend(storage) {
        Ok(database) => check_format(&database)?,
        // It was not closed in good order; only opening it for writing can tell more.
        Err(redb::DatabaseError::RepairAborted) => {}
        Err(error) => return Err(error.into()),
    }
    let database = redb::Builder::new()
        .set_cache_size(cache_bytes)
        .create_with_backend(medium.open()?)?;
    check_format(&database)?;
    Ok(database)
}

fn check_format(database: &dyn Readable) -> Result<(), OpenError> {
    let foreign = || OpenError::Foreign("it has no svctrack format".to_owned());
    let transaction = database.read().map_err(StoreError::from)?;
    let table = transaction.open_table(META).map_err(|_| foreign())?;
    let found = table
        .get(META_FORMAT)
        .map_err(StoreError::from)?
        .ok_or_else(foreign)?;
    if found.value() == STORE_FORMAT {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(OpenError::Format {
        found: text(found.value()),
        known: text(STORE_FORMAT),
    })
}

/// A database opened either way.
trait Readable {
    fn read(&self) -> Result<redb::ReadTransaction, redb::TransactionError>;
}

impl Readable for Database {
    fn read(&self) -> Result<redb::ReadTransaction, redb::TransactionError> {
        self.begin_read()
    }
}

impl Readable for ReadOnlyDatabase {
    fn read(&self) -> Result<redb::ReadTransaction, redb::TransactionError> {
        self.begin_read()
    }
}

/// The sequence of ids, to go on with.
pub(super) fn load_ids(database: &Database) -> Result<IdSequence, StoreError> {
    let table = database.begin_read()?.open_table(META)?;
    let last = table.get(META_LAST_ID)?;
    let bytes = last
        .as_ref()
        .and_then(|last| last.value().first_chunk::<ID_BYTES>());
    match bytes {
        Some(bytes) => Ok(IdSequence::after(ObjectId::from_bytes(*bytes))),
        None => Err(StoreError::Corrupted("the latest id is missing".to_owned())),
    }
}
