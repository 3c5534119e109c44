//! A backup: all rows of a point in time, read from a snapshot and written as an [`archive`](rows::backup_archive).

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
};

use super::row_check::check_row;
use crate::{
    BackupHead, Manifest, StoreError, disk_full,
    rows::{self, Bytes as _, Rows as _, Snapshot, Table, backup_archive::ArchiveWriter},
};

/// Bytes that are written to the file at a time.
const BUFFER_BYTES: usize = 256 * 1024;
/// Rows after which a backup checks whether to continue: some milliseconds' work.
const ROWS_BETWEEN_ASKS: u64 = 1_000;

/// Why a backup failed.
#[derive(Debug)]
pub(crate) enum BackupError {
    /// The store cannot be read.
    Store(StoreError),
    /// The file cannot be written. The store may be on another disk, and may be healthy.
    Write(io::Error),
    /// The backup was aborted, since the server stops.
    Stopped,
}

impl From<StoreError> for BackupError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BackupError> for StoreError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(error) => error,
            BackupError::Write(error) if disk_full::is_full(&error) => Self::Full,
            BackupError::Write(error) => Self::Unavailable(format!("a backup: {error}")),
            BackupError::Stopped => Self::Unavailable("the server stops".to_owned()),
        }
    }
}

/// Writes a snapshot of the store into a file, and syncs that. A corrupted row ends the backup: it never copies
/// corrupted data.
pub(crate) fn write(
    snapshot: &impl Snapshot,
    head: BackupHead,
    file: &File,
    goes_on: impl Fn() -> bool,
) -> Result<Manifest, BackupError> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, file);
    let mut archive = ArchiveWriter::begin(out, head).map_err(BackupError::Write)?;
    for table in rows::ALL {
        write_table(snapshot, table, &mut archive, &goes_on)?;
    }
    let finish = || {
        let (mut out, manifest) = archive.finish()?;
        out.flush()?;
        file.sync_all()?;
        Ok(manifest)
    };
    finish().map_err(BackupError::Write)
}

fn write_table(
    snapshot: &impl Snapshot,
    definition: Table,
    archive: &mut ArchiveWriter<impl io::Write>,
    goes_on: &impl Fn() -> bool,
) -> Result<(), BackupError> {
    let table = snapshot.open(definition)?;
    archive.table(definition.name()).map_err(BackupError::Write)?;
    for (row, number) in table.iter()?.zip(0_u64..) {
        if number % ROWS_BETWEEN_ASKS == 0 && !goes_on() {
            return Err(BackupError::Stopped);
        }
        let (key, value) = row?;
        let (key, value) = (key.value(), value.value());
        check_row(&definition, key, value)?;
        archive.row(key, value).map_err(BackupError::Write)?;
    }
    Ok(())
}
