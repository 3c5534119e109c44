//! The embedded store: redb behind one writer thread, and reads from snapshots.

mod apply;
mod archive;
mod backup;
mod batch;
mod blocks;
mod by_date;
mod check;
mod codec;
mod command;
mod compact;
mod damage;
mod engagement;
mod erasure;
mod failure;
mod history;
mod keys;
mod known;
mod links;
mod list;
mod messages;
mod migrate;
mod moment;
mod new_users;
mod once;
mod open;
mod parked;
mod pending;
mod person;
mod queue;
mod rate_limits;
mod read;
mod recovery;
mod replays;
mod report;
mod restore;
mod retention;
mod scrub;
pub mod storage;
mod suppressed;
mod tables;
mod tenants;
mod token_uses;
mod verify;
mod view;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use futures_util::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use redb::{Database, ReadTransaction, ReadableDatabase as _};
use svctrack_core::{
    plan::Person,
    schema::{ListQuery, ResourceDef},
    tracking::{activity::ActivityQuery, report::ReportQuery},
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};
use tokio::sync::{Semaphore, oneshot, watch};

pub use self::{
    archive::{ArchiveError, Manifest, check_archive},
    compact::{Compacted, compact},
    open::{OpenError, initialise},
    restore::{RestoreError, restore},
    verify::{Problem, Verified, verify, verify_medium},
};
use self::{
    backup::BackupError,
    batch::Pace,
    moment::{Latest, Moment},
    queue::{Job, Queues},
    rate_limits::KnownLimits,
    replays::Replays,
    storage::{FileMedium, Medium},
    tables::RecordTables,
    token_uses::TokenUses,
    writer::{Kept, Writer},
};
use super::{
    Actor, Answer, BackupFile, Checked, Command, Condition, Health, Page, Part, Reply, Scrub,
    Since, Store, StoreError,
};
use crate::{
    app::Clock,
    auth::{Tenant, TenantRecord, TokenRecord, tenant_by_operator},
    rate_limit::RateLimits,
};

/// Name of the store's file in the data folder.
const FILE_NAME: &str = "svctrack.redb";
/// How many lists are read at once: as many as there are cores to spare, so that scans leave the
/// others to short requests.
const MAX_SCANS: usize = 2;
/// How long the writer waits for those who are just taking a snapshot, before it opens the file again.
const SNAPSHOTS_TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// What the writer and the readers share.
struct Shared {
    medium: Box<dyn Medium>,
    cache_bytes: usize,
    /// None while the file is being opened again.
    database: RwLock<Option<Arc<Database>>>,
    latest: Latest,
    queues: Queues,
    health: AtomicU8,
    /// How often something that is stored was found damaged.
    damaged: AtomicU64,
    /// The last look at all of it.
    checked: Mutex<Option<Checked>>,
    uses: TokenUses,
    limits: KnownLimits,
    commits: watch::Sender<u64>,
    clock: Arc<dyn Clock>,
}

/// The embedded store.
pub struct Embedded {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    scans: Arc<Semaphore>,
    /// One backup is made at a time: each reads all that is stored.
    backups: Arc<Semaphore>,
}

impl Embedded {
    /// Whether there is a store in a data folder.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE_NAME).exists()
    }

    /// Opens the store in a data folder, making both when they are not there.
    ///
    /// # Errors
    /// [`OpenError`]; a file that is not a sound store of ours is left as it is.
    pub fn open(
        folder: &Path,
        cache_bytes: usize,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE_NAME);
        if !path.try_exists()? {
            let mut store_bytes = [0; 5];
            getrandom::fill(&mut store_bytes).map_err(std::io::Error::from)?;
            open::create(&path, store_bytes)?;
        }
        migrate::bring_up_to_date(&path, cache_bytes)?;
        let medium = FileMedium(path);
        let store = Self::open_medium(Box::new(medium.clone()), cache_bytes, clock)?;
        compact::remove_unfinished(&medium)?;
        Ok(store)
    }

    /// Opens a store on any medium, which must have been initialised.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_medium(
        medium: Box<dyn Medium>,
        cache_bytes: usize,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        let database = open::open(&*medium, cache_bytes)?;
        let ids = damage::contained_open(|| Ok(open::load_ids(&database)?))?;
        let shared = Arc::new(Shared {
            medium,
            cache_bytes,
            database: RwLock::new(Some(Arc::new(database))),
            latest: Latest::default(),
            queues: Queues::default(),
            health: AtomicU8::new(Health::Ok as u8),
            damaged: AtomicU64::new(0),
            checked: Mutex::default(),
            uses: TokenUses::default(),
            limits: KnownLimits::default(),
            commits: watch::Sender::new(0),
            clock,
        });
        let mut replays = Replays::default();
        replays.mark(shared.tenants_due()?);
        let (kept, pace) = (Kept::default(), Pace::default());
        let writer = Writer { shared: shared.clone(), ids, replays, kept, pace };
        let thread = thread::Builder::new().name("writer".to_owned()).spawn(|| writer.run())?;
        Ok(Self {
            shared,
            writer: Mutex::new(Some(thread)),
            scans: Arc::new(Semaphore::new(MAX_SCANS)),
            backups: Arc::new(Semaphore::new(1)),
        })
    }

    /// Runs a read that may take long where it holds up no other request.
    async fn scan<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.apart(&self.scans, move |shared| shared.read(read)).await
    }

    /// Does what may take long where it holds up no other request, when it is its turn.
    async fn apart<T: Send + 'static>(
        &self,
        turns: &Arc<Semaphore>,
        work: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let stopped = |error: &dyn std::error::Error| StoreError::Internal(error.to_string());
        let turn = turns.clone().acquire_owned().await.map_err(|error| stopped(&error))?;
        let shared = self.shared.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&shared);
            drop(turn);
            done
        });
        done.await.map_err(|error| stopped(&error))?
    }
}

impl Shared {
    /// The database, unless it is being opened again.
    fn database(&self) -> Result<Arc<Database>, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner).clone();
        database.ok_or_else(|| StoreError::Unavailable("the file is being opened again".to_owned()))
    }

    fn snapshot(&self) -> Result<ReadTransaction, StoreError> {
        Ok(self.database()?.begin_read()?)
    }

    /// Reads from a snapshot of its own.
    fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.watched(damage::contained(|| read(&self.snapshot()?)))
    }

    /// Reads what ends at once from the moment that is shared.
    fn read_point<T>(
        &self,
        read: impl FnOnce(&Moment) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = || read(&*self.latest.moment(|| self.snapshot())?);
        self.watched(damage::contained(read))
    }

    /// Writes all that is stored now into a file, and brings that to disk.
    fn back_up(&self, file: &File) -> Result<Manifest, StoreError> {
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
    fn watched<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let done = self.counted(done);
        let failed = done.as_ref().is_err_and(StoreError::is_of_the_file);
        if failed && self.change_health(Health::Ok, Health::Recovering) {
            self.queues.ask_to_reopen();
        }
        done
    }

    /// The tenants of which parked events are marked on disk. Where the marks are damaged, they wait.
    fn tenants_due(&self) -> Result<BTreeMap<TenantId, Tenant>, StoreError> {
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
    fn counted<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Corrupted { .. }) = &done {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Drops the database and puts another one in its place: after an error redb takes no write until then.
    fn reopen(
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

    fn checked(&self) -> MutexGuard<'_, Option<Checked>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self) -> RwLockWriteGuard<'_, Option<Arc<Database>>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how the store is, if it is as given.
    fn change_health(&self, from: Health, to: Health) -> bool {
        let (from, to) = (from as u8, to as u8);
        self.health.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn set_health(&self, health: Health) {
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

/// What is damaged is the record that was asked for, where nothing else is known.
fn about(error: StoreError, reference: &RecordRef) -> StoreError {
    match reference {
        RecordRef::Id(id) => error.about(*id),
        _ => error,
    }
}

impl Store for Embedded {
    fn write(&self, actor: Actor, command: Command) -> BoxFuture<'_, Result<Reply, StoreError>> {
        let (answer, answered) = oneshot::channel();
        let pushed = self.shared.queues.push(Job { actor, command, answer });
        async move {
            pushed?;
            let lost = |_| StoreError::Internal("the writer gave no answer".to_owned());
            self.shared.counted(answered.await.map_err(lost)?)
        }
        .boxed()
    }

    fn record(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        reference: &RecordRef,
    ) -> BoxFuture<'_, Result<Option<Answer>, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        if def.looks_at_many {
            let (reference, asked) = (reference.clone(), reference.clone());
            let read = move |snapshot: &_| {
                let tables = RecordTables::open(snapshot)?;
                read::record(&tables, tenant, def, &reference, now)
            };
            return self.scan(read).map_err(move |error| about(error, &asked)).boxed();
        }
        let read = |moment: &Moment| read::record(&moment.tables, tenant, def, reference, now);
        let found = self.shared.read_point(read).map_err(|error| about(error, reference));
        std::future::ready(found).boxed()
    }

    fn list(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        query: ListQuery,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        self.scan(move |snapshot| list::list(snapshot, tenant, def, query, now)).boxed()
    }

    fn activities(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let tenant = tenant.id();
        self.scan(move |snapshot| read::activities(snapshot, tenant, &query)).boxed()
    }

    fn activities_since(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<Since, StoreError>> {
        let tenant = tenant.id();
        self.scan(move |snapshot| read::activities_since(snapshot, tenant, &query)).boxed()
    }

    fn commits(&self) -> watch::Receiver<u64> {
        self.shared.commits.subscribe()
    }

    fn report(
        &self,
        tenant: &Tenant,
        query: ReportQuery,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let tenant = tenant.id();
        self.scan(move |snapshot| report::list(snapshot, tenant, &query)).boxed()
    }

    fn about(
        &self,
        tenant: &Tenant,
        person: Person,
        part: Part,
        after: Option<ObjectId>,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        self.scan(move |snapshot| person::about(snapshot, tenant, &person, part, after, now))
            .boxed()
    }

    fn has_tenant(&self, tenant: TenantId) -> Result<bool, StoreError> {
        self.shared.read_point(|moment| moment.has_tenant(tenant))
    }

    fn tenants(&self, limit: usize) -> Result<Vec<TenantRecord>, StoreError> {
        self.shared.read(|snapshot| tenants::list(snapshot, limit))
    }

    fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        self.shared.read_point(|moment| moment.token(id))
    }

    fn tokens(&self, tenant: &Tenant) -> Result<Vec<TokenRecord>, StoreError> {
        let mut tokens = self.shared.read(|snapshot| tenants::tokens(snapshot, tenant.id()))?;
        self.shared.uses.show(&mut tokens);
        Ok(tokens)
    }

    fn token_used(&self, token: &TokenRecord, now: Timestamp) {
        self.shared.uses.note(token, now);
    }

    fn rate_limits(&self, tenant: &Tenant) -> Result<RateLimits, StoreError> {
        let read = |moment: &Moment| read::rate_limits(&moment.tables, tenant.id());
        self.shared.limits.of(tenant.id(), || self.shared.read_point(read))
    }

    fn condition(&self) -> Condition {
        let health = self.shared.health.load(Ordering::Relaxed);
        let health = [Health::Ok, Health::ReadOnly, Health::Recovering]
            .into_iter()
            .find(|known| *known as u8 == health)
            .unwrap_or(Health::Stopped);
        let damaged = self.shared.damaged.load(Ordering::Relaxed);
        Condition { health, damaged, checked: *self.shared.checked() }
    }

    fn scrub(&self, from: Scrub) -> BoxFuture<'_, Result<Scrub, StoreError>> {
        async move {
            let scrub = self.scan(|snapshot| scrub::step(snapshot, from)).await?;
            if scrub.is_over {
                let Scrub { rows, damaged, .. } = scrub;
                let at = self.shared.clock.now();
                *self.shared.checked() = Some(Checked { at, rows, damaged });
            }
            Ok(scrub)
        }
        .boxed()
    }

    fn back_up(&self, to: BackupFile) -> BoxFuture<'_, Result<(File, Manifest), StoreError>> {
        let work = move |shared: &Shared| {
            let file = match to {
                BackupFile::Given(file) => file,
                BackupFile::Unnamed => shared.medium.unnamed_file().map_err(redb::Error::Io)?,
            };
            let manifest = shared.back_up(&file)?;
            Ok((file, manifest))
        };
        self.apart(&self.backups, work).boxed()
    }

    fn close(&self) {
        self.shared.queues.close();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer ended in a panic");
        }
        self.shared.latest.forget();
        self.shared.set_health(Health::Stopped);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        damage::drop_quietly(self.slot().take());
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}
