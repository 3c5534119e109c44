//! What the writer and the readers share: the open database, how it is, and snapshots of it.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use redb::{Database, ReadTransaction, ReadableDatabase as _};
use svctrack_core::value::TenantId;
use tokio::sync::watch;

use super::{
    archive::Manifest,
    backup::{self, BackupError},
    damage,
    moment::{Latest, Moment},
    open::OpenError,
    parked,
    queue::Queues,
    rate_limits::KnownLimits,
    storage::Medium,
    token_uses::TokenUses,
};
use crate::{
    app::Clock,
    auth::{Tenant, tenant_by_operator},
    store::{Checked, Health, StoreError},
};

/// How long the writer waits for those who are just taking a snapshot, before it opens the file again.
const SNAPSHOTS_TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// What the writer and the readers share.
pub(super) struct Shared {
    pub(super) medium: Box<dyn Medium>,
    pub(super) cache_bytes: usize,
    /// None while the file is being opened again.
    pub(super) database: RwLock<Option<Arc<Database>>>,
    pub(super) latest: Latest,
    pub(super) queues: Queues,
    pub(super) health: AtomicU8,
    /// How often something that is stored was found damaged.
    pub(super) damaged: AtomicU64,
    /// The last look at all of it.
    pub(super) checked: Mutex<Option<Checked>>,
    pub(super) uses: TokenUses,
    pub(super) limits: KnownLimits,
    pub(super) commits: watch::Sender<u64>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Shared {
    /// The database, unless it is being opened again.
    pub(super) fn database(&self) -> Result<Arc<Database>, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner).clone();
        database.ok_or_else(|| StoreError::Unavailable("the file is being opened again".to_owned()))
    }

    pub(super) fn snapshot(&self) -> Result<ReadTransaction, StoreError> {
        Ok(self.database()?.begin_read()?)
    }

    /// Reads from a snapshot of its own.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.watched(damage::contained(|| read(&self.snapshot()?)))
    }

    /// Reads what ends at once from the moment that is shared.
    pub(super) fn read_point<T>(
        &self,
        read: impl FnOnce(&Moment) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = || read(&*self.latest.moment(|| self.snapshot())?);
        self.watched(damage::contained(read))
    }

    /// Writes all that is stored now into a file, and brings that to disk.
    pub(super) fn back_up(&self, file: &File) -> Result<Manifest, StoreError> {
        let goes_on = || self.health.load(Ordering::Relaxed) != Health::Stopped as u8;
        let at = self.clock.now();
        // A file that cannot be written is no fault of the store's own, and must not look like one.
        let made = self.read(|snapshot| match backup::write(snapshot, at, file, goes_on) {
            Err(BackupError::Store(error)) => Err(error),
            made => Ok(made),
        });
        Ok(made??)
    }

    /// What came of a read. When the file fails, the writer is asked to open it again.
    pub(super) fn watched<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let done = self.counted(done);
        let failed = done.as_ref().is_err_and(StoreError::is_of_the_file);
        if failed && self.change_health(Health::Ok, Health::Recovering) {
            self.queues.ask_to_reopen();
        }
        done
    }

    /// The tenants of which parked events are marked on disk. Where the marks are damaged, they wait.
    pub(super) fn tenants_due(&self) -> Result<BTreeMap<TenantId, Tenant>, StoreError> {
        match self.read(parked::tenants_due) {
            Ok(due) => Ok(due.into_iter().map(|id| (id, tenant_by_operator(id))).collect()),
            Err(StoreError::Corrupted { cause, .. }) => {
                tracing::error!(cause, "parked events wait, since their marks are damaged");
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Counts what is damaged.
    pub(super) fn counted<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Corrupted { .. }) = &done {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Drops the database and puts another one in its place: after an error redb takes no write until then.
    pub(super) fn reopen(
        &self,
        open: impl FnOnce(&dyn Medium, usize) -> Result<Database, OpenError>,
    ) -> Result<Arc<Database>, OpenError> {
        self.set_health(Health::Recovering);
        let old = self.slot().take();
        self.latest.forget();
        self.limits.forget();
        if let Some(old) = old {
            wait_for_snapshots(&old);
            damage::drop_quietly(old);
        }
        let database = Arc::new(open(&*self.medium, self.cache_bytes)?);
        *self.slot() = Some(database.clone());
        Ok(database)
    }

    pub(super) fn checked(&self) -> MutexGuard<'_, Option<Checked>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn slot(&self) -> RwLockWriteGuard<'_, Option<Arc<Database>>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how the store is, if it is as given.
    pub(super) fn change_health(&self, from: Health, to: Health) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.health.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(super) fn set_health(&self, health: Health) {
        self.health.store(health as u8, Ordering::Relaxed);
    }
}

/// Waits until nobody but the caller holds the database. Reads that are under way do not: theirs end
/// with an error when it is dropped.
fn wait_for_snapshots(database: &Arc<Database>) {
    let deadline = Instant::now() + SNAPSHOTS_TAKEN_WITHIN;
    while Arc::strong_count(database) > 1 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        damage::drop_quietly(self.slot().take());
    }
}
