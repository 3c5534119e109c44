//! Rewrites a store: every row, in the order of keys, is written to a new file, which then replaces the old one. Bytes
//! of deleted data, in free pages of the old file, are removed with it.
//!
//! Invariant: at any time the store's name is that of the complete old file or of the complete new one.

use std::{fs, io, path::Path};

use redb::{Database, ReadTransaction, ReadableDatabase as _, TableHandle as _, WriteTransaction};

use crate::{
    StoreError,
    embedded::{
        FILE_NAME,
        engagement::is_aside,
        file::{
            blocks::Blocks,
            corruption,
            disk_file::DiskFile,
            open::{self, OpenError, remove_if_there},
            storage::{Storage, StoreFile},
            transaction::begin,
        },
        tables::redb_table::{ReadTable, WriteTable},
    },
    rows::{self, Rows as _, Table, WriteRows as _},
};

/// The result for a store's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionResult {
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Rewrites the store in a data folder. The server must be stopped, and the disk must have room for a second store.
///
/// # Errors
/// [`OpenError`]; then the store is as it was.
pub fn compact(folder: &Path, cache_bytes: usize) -> Result<CompactionResult, OpenError> {
    let path = folder.join(FILE_NAME);
    let store_file = DiskFile::at(&path);
    // Held until the end, so that no server can open the file.
    let old = open::open(&store_file, cache_bytes)?;
    let bytes_before = fs::metadata(&path)?.len();
    let replaced = replace(&store_file, &old, cache_bytes, &mut |_, _, _| Ok(()));
    corruption::drop_quietly(old);
    replaced.map_err(OpenError::inside)?;
    let bytes_after = fs::metadata(&path)?.len();
    Ok(CompactionResult { bytes_before, bytes_after })
}

/// Checks a row, by its table, key and value, before it is copied; an error ends the copy.
pub(crate) type RowVisitor<'l> = &'l mut dyn FnMut(&Table, &[u8], &[u8]) -> Result<(), StoreError>;

/// Rewrites a store, which must be held open, and replaces it with the new file.
pub(crate) fn replace(
    store_file: &dyn StoreFile,
    old: &Database,
    cache_bytes: usize,
    look: RowVisitor<'_>,
) -> Result<(), OpenError> {
    store_file
        .replace(&mut |new| corruption::contained_open(|| copy(old, new, cache_bytes, &mut *look)))
}

/// Removes the file of an interrupted copy. The store must be open, so that no copy is running.
pub(crate) fn remove_unfinished(store_file: &DiskFile) -> io::Result<()> {
    remove_if_there(&store_file.unfinished())
}

fn copy(
    old: &Database,
    new: Storage,
    cache_bytes: usize,
    look: RowVisitor<'_>,
) -> Result<(), OpenError> {
    let snapshot = old.begin_read().map_err(StoreError::from)?;
    let known: Vec<String> = snapshot
        .list_tables()
        .map_err(StoreError::from)?
        .map(|table| table.name().to_owned())
        .collect();
    let is_known = |name: &str| rows::ALL.iter().any(|table| table.name() == name);
    if let Some(unknown) = known.iter().find(|name| !is_known(name) && !is_aside(name)) {
        return Err(OpenError::Foreign(format!("it has an unknown table `{unknown}`")));
    }
    rewrite(new, cache_bytes, |transaction| {
        for table in rows::ALL {
            if known.iter().any(|name| *name == table.name()) {
                copy_table(&snapshot, transaction, table, look)?;
            }
        }
        Ok(())
    })
}

/// Creates a store with the rows that `fill` writes; they are on disk when this returns.
pub(crate) fn rewrite<T, E: From<OpenError>>(
    storage: Storage,
    cache_bytes: usize,
    fill: impl FnOnce(&WriteTransaction) -> Result<T, E>,
) -> Result<T, E> {
    let mut builder = redb::Builder::new();
    let created = builder.set_cache_size(cache_bytes).create_with_backend(Blocks::create(storage));
    let new = created.map_err(OpenError::from)?;
    let transaction = begin(&new).map_err(OpenError::from)?;
    let filled = fill(&transaction)?;
    finish(new, transaction)?;
    Ok(filled)
}

fn finish(mut new: Database, transaction: WriteTransaction) -> Result<(), OpenError> {
    transaction.commit().map_err(StoreError::from)?;
    // The file has grown beyond its data; this frees the rest.
    new.compact().map_err(|error| StoreError::from(redb::Error::from(error)))?;
    Ok(())
}

/// Copies a table; rows that come in the order of keys fill their pages.
fn copy_table(
    snapshot: &ReadTransaction,
    transaction: &WriteTransaction,
    definition: Table,
    look: RowVisitor<'_>,
) -> Result<(), StoreError> {
    let from = ReadTable::open(snapshot, definition)?;
    let mut to = WriteTable::open(transaction, definition)?;
    for row in from.iter()? {
        let (key, value) = row?;
        let (key, value) = (key.value(), value.value());
        look(&definition, key, value)?;
        to.insert(key, value)?;
    }
    if to.len()? != from.len()? {
        return Err(StoreError::corrupted(format!(
            "`{}`: found {} rows; expected {}",
            definition.name(),
            to.len()?,
            from.len()?
        )));
    }
    Ok(())
}
