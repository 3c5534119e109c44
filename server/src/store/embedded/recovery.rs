//! How the store comes back after an error of its file: the file is opened again, its last commit is looked
//! at, and a commit is tried. Until one succeeds, reads go on over the file as it is, to which nothing is
//! written, and commands are refused.
//!
//! Where the file can be read, but no commit be made since what redb notes of its pages is damaged, the store
//! is written anew: its rows are all that counts.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use redb::{Database, ReadableDatabase as _, ReadableTable as _};

use super::{
    check::check_row,
    compact::{self, Conversion},
    damage,
    open::{self, META_LAST_ID, OpenError},
    shared::Shared,
    tables::{self, Definition},
    writer::begin,
};
use crate::store::{Health, StoreError};

/// Pause before the second try; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How often commands that wait are refused meanwhile.
const REFUSED_EVERY: Duration = Duration::from_millis(10);

/// Memory for the cache of a store that is written anew, in bytes, beside the one that is read.
const RENEWAL_CACHE_BYTES: usize = 32 * 1024 * 1024;

/// Brings the store back, however long it takes; ends without it when the store is closed. `refuse` answers
/// the commands that wait.
pub(super) fn recover(shared: &Shared, refuse: impl Fn()) {
    let mut pause = FIRST_PAUSE;
    let mut may_renew = true;
    let mut tried = heal(shared);
    while let Err(error) = tried {
        tracing::error!(store = shared.medium.name(), cause = %error, "the store takes no writes");
        read_meanwhile(shared);
        // Once: where rows are damaged as well, it fails each time.
        if error.is_damage() && std::mem::take(&mut may_renew) && renew(shared, &refuse) {
            tried = heal(shared);
            continue;
        }
        loop {
            if wait(shared, pause, &refuse) {
                return;
            }
            pause = (pause * 2).min(MAX_PAUSE);
            if shared.medium.try_to_write().is_ok() {
                break;
            }
        }
        tried = heal(shared);
    }
    shared.set_health(Health::Ok);
    tracing::info!(store = shared.medium.name(), "the store is well again");
}

fn heal(shared: &Shared) -> Result<(), OpenError> {
    let database = shared.reopen(open::open)?;
    match damage::contained(|| look_at_last_commit(&database)) {
        // It will be the error of those who ask for it, and keeps nobody else from writing.
        Err(StoreError::Corrupted { cause, .. }) => {
            tracing::error!(store = shared.medium.name(), cause, "stored data is damaged");
        }
        looked => looked?,
    }
    Ok(damage::contained(|| try_commit(&database))?)
}

/// Writes the store anew from what can be read of it; says whether it did.
fn renew(shared: &Shared, refuse: &dyn Fn()) -> bool {
    let renewed = shared.database().map_err(OpenError::from).and_then(|old| {
        let mut rows = Renewal { shared, refuse, refused: Instant::now() };
        compact::replace(&*shared.medium, &old, RENEWAL_CACHE_BYTES, &mut rows)
    });
    match renewed {
        Ok(()) => tracing::warn!(store = shared.medium.name(), "the store was written anew"),
        Err(error) => {
            let store = shared.medium.name();
            tracing::error!(store, cause = %error, "the store cannot be written anew: restore a backup");
            return false;
        }
    }
    true
}

/// Rows stay as they are; commands are refused beside, and the copy ends when the store is closed.
struct Renewal<'r> {
    shared: &'r Shared,
    refuse: &'r dyn Fn(),
    refused: Instant,
}

impl Conversion for Renewal<'_> {
    fn value(
        &mut self,
        table: &Definition,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if self.refused.elapsed() >= REFUSED_EVERY {
            (self.refuse)();
            self.refused = Instant::now();
            if self.shared.queues.is_closed() {
                return Err(StoreError::Unavailable("the store is closed".to_owned()));
            }
        }
        check_row(table, key, value)?;
        Ok(None)
    }
}

/// Reads the end of every table, where the last commit has written most, and all that leads there.
fn look_at_last_commit(database: &Database) -> Result<(), StoreError> {
    let snapshot = database.begin_read()?;
    for table in tables::ALL {
        snapshot.open_table(table)?.last()?;
    }
    Ok(())
}

/// Commits what is there already.
fn try_commit(database: &Arc<Database>) -> Result<(), StoreError> {
    let transaction = begin(database)?;
    {
        let mut meta = transaction.open_table(tables::META)?;
        let last_id = meta.get(META_LAST_ID)?.map(|id| id.value().to_vec());
        if let Some(last_id) = last_id {
            meta.insert(META_LAST_ID, last_id.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}

/// Lets reads go on where writes cannot.
fn read_meanwhile(shared: &Shared) {
    match shared.reopen(open::open_to_read) {
        Ok(_) => shared.set_health(Health::ReadOnly),
        Err(error) => {
            tracing::error!(store = shared.medium.name(), cause = %error, "the store stays closed");
        }
    }
}

/// Waits; says whether the store is closed meanwhile.
fn wait(shared: &Shared, pause: Duration, refuse: &impl Fn()) -> bool {
    let until = Instant::now() + pause;
    while Instant::now() < until {
        refuse();
        if shared.queues.is_closed() {
            return true;
        }
        thread::sleep(REFUSED_EVERY);
    }
    false
}
