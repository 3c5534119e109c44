//! Snapshots held by readers of large pages. The engine cannot reuse pages of the file that a snapshot may still read,
//! so the file would grow for as long as the slowest reader takes.
//!
//! Invariant: the store writes at most [`MAX_WRITTEN_BYTES`] and one commit while such a snapshot is held.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::{StoreError, embedded::tables::snapshot::RedbSnapshot};

/// Maximum number of bytes that are written to the file while a snapshot is held: at the highest rate of writes more
/// than ten seconds, in which a reader reads the largest page at 6 MB a second.
pub(crate) const MAX_WRITTEN_BYTES: u64 = 1024 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct HeldSnapshots(Mutex<Vec<Weak<HeldSnapshot>>>);

/// A snapshot that is held until it is dropped, or is too old.
pub(crate) struct HeldSnapshot {
    /// None once the snapshot was too old.
    snapshot: Mutex<Option<Arc<RedbSnapshot>>>,
    /// Number of bytes that had been written to the file before.
    written: u64,
}

impl HeldSnapshots {
    /// Holds a snapshot, with the number of bytes that had been written before it.
    pub(crate) fn hold(&self, snapshot: Arc<RedbSnapshot>, written: u64) -> Arc<HeldSnapshot> {
        let held = Arc::new(HeldSnapshot { snapshot: Mutex::new(Some(snapshot)), written });
        let mut all = self.0.lock();
        all.retain(|held| held.strong_count() > 0);
        all.push(Arc::downgrade(&held));
        held
    }

    /// Lets go of the snapshots that are too old, given the number of bytes that have been written.
    pub(crate) fn let_go_of_old(&self, written: u64) {
        let oldest = written.saturating_sub(MAX_WRITTEN_BYTES);
        let mut too_old = Vec::new();
        self.0.lock().retain(|held| {
            let Some(held) = held.upgrade() else { return false };
            let stays = held.written >= oldest;
            if !stays {
                too_old.extend(held.snapshot.lock().take());
            }
            stays
        });
    }
}

impl HeldSnapshot {
    /// The snapshot.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] once the snapshot was too old.
    pub(crate) fn get(&self) -> Result<Arc<RedbSnapshot>, StoreError> {
        let too_old = || {
            let mb = MAX_WRITTEN_BYTES / (1024 * 1024);
            StoreError::Unavailable(format!("{mb} MiB were written while the page was read"))
        };
        self.snapshot.lock().clone().ok_or_else(too_old)
    }
}
