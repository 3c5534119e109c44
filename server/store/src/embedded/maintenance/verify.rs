//! `svctrack verify`: reads all data of a stopped store, and checks it against its checksums and the references between
//! tables. Nothing is written.

use std::{path::Path, sync::Arc};

use redb::{Database, ReadTransaction, ReadableDatabase as _, TableHandle as _};
use svctrack_core::value::ObjectId;

use super::links::LinkedTables;
use crate::{
    StoreError,
    embedded::{
        FILE_NAME,
        engagement::is_aside,
        file::{
            blocks::OpenAt,
            corruption,
            disk_file::DiskFile,
            open::{self, OpenError},
            storage::{EVERYTHING, StoreFile},
        },
        tables::{redb_table, snapshot::RedbSnapshot},
    },
    reads::row_check::check_row,
    rows::{self, Rows as _, Table},
    support::panics,
};

/// Maximum number of problems that are reported separately; further ones are counted.
const MAX_REPORTED: usize = 100;

/// The result of a verification.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Number of rows that could be read.
    pub rows: u64,
    /// Total number of problems.
    pub problem_count: u64,
    /// First problems, up to the limit.
    pub problems: Vec<Corruption>,
}

/// A corruption that `verify` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    pub table: String,
    /// Id of the record or activity, where it is known.
    pub id: Option<ObjectId>,
    pub what: String,
}

impl VerifyReport {
    /// Whether there are no problems.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0
    }

    pub(crate) fn add(&mut self, table: &str, id: Option<ObjectId>, what: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < MAX_REPORTED {
            self.problems.push(Corruption { table: table.to_owned(), id, what: what.into() });
        }
    }

    /// Records corruption as a problem; any other error ends the verification.
    pub(crate) fn take(
        &mut self,
        table: &str,
        done: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match done {
            Err(StoreError::Corrupted { id, cause }) => {
                self.add(table, id, cause);
                Ok(())
            }
            done => done,
        }
    }
}

/// Verifies the store in a data folder. The server must be stopped.
///
/// # Errors
/// [`OpenError`] when the store cannot be read at all.
pub fn verify(folder: &Path, cache_bytes: usize) -> Result<VerifyReport, OpenError> {
    // redb may panic on a corrupted file; that is reported as a problem.
    panics::log_panics();
    let path = folder.join(FILE_NAME);
    verify_file(&DiskFile::to_read(&path), cache_bytes)
}

/// Verifies the store on a medium.
///
/// # Errors
/// As [`verify`].
pub fn verify_file(
    store_file: &dyn StoreFile,
    cache_bytes: usize,
) -> Result<VerifyReport, OpenError> {
    let mut verified = VerifyReport::default();
    // A store on a disk that takes no writes is verified too, so an error is ignored.
    let _ = store_file.forget_cached(&[EVERYTHING]);
    let database = open::open_to_read(store_file.open()?, OpenAt::LastWhole, cache_bytes)?;
    let done = corruption::contained(|| check_rows(&database, &mut verified));
    corruption::drop_quietly(database);
    verified.take("pages", done)?;
    if verified.is_sound() {
        check_pages(
            open::open_to_read(store_file.open()?, OpenAt::LastWhole, cache_bytes)?,
            &mut verified,
        );
    }
    Ok(verified)
}

/// Reads every row, and checks the references between tables.
fn check_rows(database: &Database, verified: &mut VerifyReport) -> Result<(), StoreError> {
    let snapshot = RedbSnapshot::new(database.begin_read()?, Arc::default());
    for table in rows::ALL {
        let done = corruption::contained(|| check_table(&snapshot, table, verified));
        let done = done.map_err(|error| match error {
            StoreError::Corrupted { id, cause } => {
                let cause = format!("{cause}; no row after it was checked");
                StoreError::Corrupted { id, cause }
            }
            other => other,
        });
        verified.take(table.name(), done)?;
    }
    if snapshot.list_tables()?.any(|table| is_aside(table.name())) {
        let what = "the engagement log was corrupted and has been started again: `svctrack compact` removes the old one";
        verified.add("pages", None, what);
    }
    match corruption::contained(|| LinkedTables::read_from(&snapshot)) {
        Err(StoreError::Corrupted { .. }) => {
            verified.add("pages", None, "references between tables were not checked");
            Ok(())
        }
        links => links?.check(verified),
    }
}

/// Runs redb's own check, for problems that no row shows. It stops at the first one.
fn check_pages(mut database: Database, verified: &mut VerifyReport) {
    let checked = corruption::contained_open(|| Ok(database.check_integrity()?));
    match &checked {
        Ok(_) => corruption::drop_quietly(database),
        // redb has dropped data that its drop needs: that would end the process.
        Err(_) => std::mem::forget(database),
    }
    match checked {
        Ok(true) => {}
        Ok(false) => verified.add("pages", None, "the list of free pages is corrupted"),
        Err(error) => verified.add("pages", None, error.to_string()),
    }
}

fn check_table(
    snapshot: &ReadTransaction,
    definition: Table,
    verified: &mut VerifyReport,
) -> Result<(), StoreError> {
    let Some(table) = redb_table::open_if_there(snapshot, definition)? else {
        return Ok(());
    };
    for row in table.iter()? {
        let (key, value) = row?;
        verified.rows += 1;
        let done = check_row(&definition, key.value(), value.value());
        verified.take(definition.name(), done)?;
    }
    Ok(())
}
