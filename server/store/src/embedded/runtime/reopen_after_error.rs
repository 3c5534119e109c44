//! Recovery after an error of the store's file. The file is reopened read-only, and reads continue on it. Meanwhile it
//! is reopened for writing, its last commit is checked, and a commit is tried. If this succeeds, reads and writes
//! continue on the new database; until then, commands are rejected.
//!
//! Invariant: no other database writes what a database reads. The failed database is shut off from the file before
//! another one is opened for writing, and that one holds a snapshot of the last commit, and so all its pages, until the
//! read-only one is shut off too.
//!
//! If the file can be read, but no commit is possible because redb's record of its pages is corrupted, the store is
//! rewritten from its rows.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::shared::SharedState;
use crate::{
    Health, StoreError,
    embedded::{
        file::{
            blocks::OpenAt, corruption, database_handle::DatabaseHandle, open::OpenError,
            storage::EVERYTHING,
        },
        maintenance::compact,
        tables::redb_table::WriteTable,
    },
    reads::row_check::check_row,
    rows::{self, Rows as _, Snapshot, Table, WriteRows as _, meta::META_LAST_ID},
};

/// Pause before the second try; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Interval in which waiting commands are rejected during the recovery.
const REJECTED_EVERY: Duration = Duration::from_millis(10);

/// Memory for the cache of a database that is read during the recovery, and of a store that is rewritten, in bytes,
/// besides the cache of the failed or tried one.
const CACHE_BYTES_BESIDE: usize = 32 * 1024 * 1024;

/// Recovers the store, however long it takes; ends without success when the store is closed. `reject` rejects the
/// queued commands with the error of the store.
pub(crate) fn recover(shared: &SharedState, reject: impl Fn(&StoreError)) {
    shared.set_health(Health::Recovering);
    let mut pause = FIRST_PAUSE;
    let mut may_renew = true;
    let attempt = || {
        let _step = shared.progress.begin();
        try_to_recover(shared)
    };
    while let Err(error) = attempt() {
        tracing::error!(store = shared.store_file.name(), cause = %error, "store is read-only");
        shared.set_health(Health::ReadOnly);
        // Only once: where rows are corrupted as well, it fails each time.
        let renews = error.is_corruption() && std::mem::take(&mut may_renew);
        let cause = error.into_cause();
        let reject = || reject(&cause);
        if renews && renew(shared, &reject) {
            continue;
        }
        if wait(shared, pause, &reject) {
            return;
        }
        pause = (pause * 2).min(MAX_PAUSE);
    }
    shared.set_health(Health::Ok);
    tracing::info!(store = shared.store_file.name(), "store recovered");
}

/// Tries to recover the store. Reads continue over a separate database: as long as the disk does not work, over the
/// last commit whose blocks are known to be on disk, which may be one that failed at its very end, and then over the
/// last one that the file has.
fn try_to_recover(shared: &SharedState) -> Result<(), OpenError> {
    let (store_file, progress) = (&*shared.store_file, &shared.progress);
    let read_apart = |at| DatabaseHandle::to_read(store_file, progress, at, CACHE_BYTES_BESIDE);
    if !shared.opened().can_be_read_apart() {
        shared.go_on_over(read_apart(OpenAt::LastOnDisk)?);
    }
    store_file.try_to_write()?;
    store_file.forget_cached(&[EVERYTHING])?;
    // From here on both are of the commit that is on disk.
    shared.go_on_over(read_apart(OpenAt::LastWhole)?);
    let (opened, held) =
        DatabaseHandle::for_second_writer(store_file, progress, shared.cache_bytes)?;
    // A failed database must not write any more, not even when it is dropped.
    try_to_write(shared, &opened)
        .inspect_err(|_| opened.close_gate())
        .map_err(|e| opened.cause(e))?;
    shared.go_on_over(opened);
    drop(held);
    Ok(())
}

fn try_to_write(shared: &SharedState, opened: &DatabaseHandle) -> Result<(), StoreError> {
    match corruption::contained(|| look_at_last_commit(opened)) {
        // Corrupted data is an error for callers that request it, and does not prevent writes.
        Err(StoreError::Corrupted { cause, .. }) => {
            tracing::error!(store = shared.store_file.name(), cause, "stored data corrupted");
        }
        looked => looked?,
    }
    corruption::contained(|| try_commit(opened))
}

/// Rewrites the store from the rows that can be read; returns whether it did. Meanwhile commands are rejected. The copy
/// ends when the store is closed.
fn renew(shared: &SharedState, reject: &dyn Fn()) -> bool {
    let mut rejected = Instant::now();
    let mut look = |table: &Table, key: &[u8], value: &[u8]| {
        if rejected.elapsed() >= REJECTED_EVERY {
            reject();
            rejected = Instant::now();
            if shared.queues.is_closed() {
                return Err(StoreError::Unavailable("the store is closed".to_owned()));
            }
        }
        check_row(table, key, value)
    };
    let renewed =
        shared.opened().database().map_err(OpenError::from).and_then(|old| {
            compact::replace(&*shared.store_file, old, CACHE_BYTES_BESIDE, &mut look)
        });
    match renewed {
        Ok(()) => tracing::warn!(store = shared.store_file.name(), "store rewritten"),
        Err(error) => {
            let store = shared.store_file.name();
            tracing::error!(store, cause = %error, "store rewrite failed: restore a backup");
            return false;
        }
    }
    true
}

/// Reads the end of every table, where the last commit has written most, and the pages that lead there.
fn look_at_last_commit(opened: &DatabaseHandle) -> Result<(), StoreError> {
    let snapshot = opened.snapshot()?;
    for table in rows::ALL {
        snapshot.open(table)?.iter()?.next_back().transpose()?;
    }
    Ok(())
}

/// Commits without a change.
fn try_commit(opened: &DatabaseHandle) -> Result<(), StoreError> {
    let transaction = opened.begin()?;
    {
        let mut meta = WriteTable::open(&transaction, rows::META)?;
        let last_id = meta.get(META_LAST_ID)?.map(|id| id.value().to_vec());
        if let Some(last_id) = last_id {
            meta.insert(META_LAST_ID, last_id.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}

/// Waits for a pause; returns whether the store was closed meanwhile.
fn wait(shared: &SharedState, pause: Duration, reject: &impl Fn()) -> bool {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        reject();
        if shared.queues.is_closed() {
            return true;
        }
        thread::sleep(REJECTED_EVERY);
    }
    false
}
