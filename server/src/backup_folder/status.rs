//! The state of scheduled backups, as `/health` reports it.

use parking_lot::Mutex;
use serde::Serialize;
use svctrack_core::value::Timestamp;
use svctrack_store::as_text;

/// The state of scheduled backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct BackupStatus {
    /// Time of the newest backup in the folder.
    #[serde(serialize_with = "as_text")]
    pub(crate) at: Option<Timestamp>,
    /// Number of failures since.
    pub(crate) failed: u32,
    /// Number of backups with a name that is ahead of the clock.
    pub(crate) ahead: usize,
    /// Number of backups of another store.
    pub(crate) foreign: usize,
    /// Number of entries with the name of a backup that are not regular files.
    #[serde(skip)]
    pub(super) skipped: usize,
}

/// State of scheduled backups, where there is a schedule.
#[derive(Debug, Default)]
pub(crate) struct Backups(Mutex<Option<BackupStatus>>);

impl Backups {
    pub(crate) fn done(&self) -> Option<BackupStatus> {
        *self.0.lock()
    }

    pub(super) fn note(&self, done: BackupStatus) {
        *self.0.lock() = Some(done);
    }
}
