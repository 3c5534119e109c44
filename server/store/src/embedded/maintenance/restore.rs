//! Restores a backup into an empty directory.
//!
//! Invariant: no file has the store's name until every row is written, checked against the backup's manifest and
//! against the other tables, and on disk.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use redb::WriteTransaction;

use super::{compact::rewrite, verify::verify_file};
use crate::{
    Manifest, StoreError,
    embedded::{
        FILE_NAME,
        file::{
            corruption,
            disk_file::DiskFile,
            open::{self, OpenError, remove_if_there},
        },
        tables::redb_table::WriteTable,
    },
    rows::{
        self, WriteRows as _,
        backup_archive::{ArchiveError, ArchivePart, ArchiveReader},
    },
    support::{private_folder, regular_file},
};

/// Bytes of a backup that are read at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// Error of a restoration. Nothing of the backup is in the folder then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The folder is not empty.
    #[error("`{0}` is not empty: name an empty directory, or one that does not exist")]
    NotEmpty(PathBuf),
    /// The backup cannot be opened.
    #[error("the backup `{0}` cannot be opened: {1}")]
    Unopened(PathBuf, io::Error),
    /// The backup cannot be used.
    #[error("the backup cannot be restored: {0}")]
    Archive(#[from] ArchiveError),
    /// The restored store has problems.
    #[error("the restored store fails verification: {0}")]
    Unsound(String),
    /// The new store cannot be written.
    #[error("the store cannot be written: {0}")]
    Store(#[from] OpenError),
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Restores a backup into an empty folder, which is created when it is missing.
///
/// # Errors
/// [`RestoreError`]; then the folder is as it was.
pub fn restore(backup: &Path, folder: &Path, cache_bytes: usize) -> Result<Manifest, RestoreError> {
    let file = regular_file::check(backup).and_then(|()| File::open(backup));
    let file = file.map_err(|cause| RestoreError::Unopened(backup.to_owned(), cause))?;
    let archive = ArchiveReader::begin(BufReader::with_capacity(BUFFER_BYTES, file))?;
    let path = folder.join(FILE_NAME);
    let unfinished = path.with_extension("restore");
    let is_new = !folder.try_exists()?;
    private_folder::create(folder)?;
    reject_filled(folder, &unfinished)?;
    remove_if_there(&unfinished)?;
    let done = make(archive, &unfinished, cache_bytes).and_then(|manifest| {
        open::name_for_good(&unfinished, &path)?;
        Ok(manifest)
    });
    if done.is_err() {
        remove_if_there(&unfinished)?;
        if is_new {
            fs::remove_dir(folder)?;
        }
    }
    done
}

/// Folder that a new file system has at its root.
const OF_FILE_SYSTEM: &str = "lost+found";

/// Rejects a folder that is not empty; the rest of an interrupted restoration does not count, nor what a new file system
/// has.
fn reject_filled(folder: &Path, unfinished: &Path) -> Result<(), RestoreError> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path() != unfinished && entry.file_name() != OF_FILE_SYSTEM {
            return Err(RestoreError::NotEmpty(folder.to_owned()));
        }
    }
    Ok(())
}

fn make(
    archive: ArchiveReader<BufReader<File>>,
    path: &Path,
    cache_bytes: usize,
) -> Result<Manifest, RestoreError> {
    let store_file = DiskFile::at(path);
    let storage = store_file.new_file(path)?;
    let write = || rewrite(storage, cache_bytes, |transaction| fill(archive, transaction));
    let manifest = corruption::contained_open(|| Ok(write()))??;
    File::open(path)?.sync_all()?;
    let verified = verify_file(&store_file, cache_bytes)?;
    match verified.problems.first() {
        None => Ok(manifest),
        Some(problem) => Err(RestoreError::Unsound(format!("{}: {}", problem.table, problem.what))),
    }
}

/// Writes the rows of every table.
fn fill(
    mut archive: ArchiveReader<BufReader<File>>,
    transaction: &WriteTransaction,
) -> Result<Manifest, RestoreError> {
    let mut tables = rows::ALL.into_iter();
    let mut table = None;
    loop {
        match archive.next()? {
            ArchivePart::Table(name) => {
                drop(table.take());
                // A backup may be older than some of the tables.
                let known = tables.find(|known| known.name() == name);
                let known = known
                    .ok_or_else(|| not_as_expected(format!("it has an unknown table {name:?}")))?;
                table = Some(WriteTable::open(transaction, known).map_err(StoreError::from)?);
            }
            ArchivePart::Row(key, value) => {
                if let Some(table) = &mut table {
                    table.insert(key, value)?;
                }
            }
            ArchivePart::End(manifest) => return Ok(manifest),
        }
    }
}

fn not_as_expected(what: String) -> RestoreError {
    ArchiveError::Corrupted(what).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, chown};

    use svctrack_core::value::Timestamp;

    use super::*;
    use crate::{
        BackupHead, StoreId, embedded::maintenance::compact::compact,
        rows::backup_archive::ArchiveWriter,
    };

    #[test]
    fn the_error_of_a_corrupted_backup_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let (backup, to) = (folder.path().join("backup"), folder.path().join("to"));
        let file = File::create(&backup).unwrap();
        let mut writer = ArchiveWriter::begin(
            file,
            BackupHead::new(Timestamp::MIN, StoreId::from_bytes([1; 5]), None),
        )
        .unwrap();
        writer.table("a\n\u{1b}[2J").unwrap();
        writer.finish().unwrap();
        let said = restore(&backup, &to, 1024 * 1024).unwrap_err().to_string();
        assert!(
            !said.contains(char::is_control) && said.contains("it has an unknown table"),
            "{said:?}"
        );
        assert!(!to.exists());
    }

    #[test]
    fn a_store_that_is_restored_or_compacted_belongs_to_the_user_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        // The user nobody; only root may do this.
        let _ = chown(folder.path(), Some(65_534), Some(65_534));
        let backup = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/backup-1.gz");
        restore(Path::new(backup), folder.path(), 1024 * 1024).unwrap();
        let owner = |path: &Path| fs::metadata(path).map(|of| (of.uid(), of.gid())).unwrap();
        let file = folder.path().join(FILE_NAME);
        assert_eq!(owner(&file), owner(folder.path()));
        compact(folder.path(), 1024 * 1024).unwrap();
        assert_eq!(owner(&file), owner(folder.path()));
    }
}
