//! The embedded store: one redb file in a directory, which one process opens ([`Embedded::open`]).
//!
//! One thread writes: it plans and applies all queued commands in one transaction, and replies once that is on disk.
//! Reads use snapshots, so reads and writes do not wait for each other. Verify, compact and restore need a store that
//! no server has open.

mod engagement;
mod file;
mod maintenance;
mod runtime;
mod tables;

#[cfg(test)]
mod tests;

use std::{
    fs::File,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use futures_util::{
    FutureExt as _, TryFutureExt as _,
    future::{self, BoxFuture, Either},
};
use parking_lot::{Mutex, RwLock};
use svctrack_core::{
    plan::{KnownPerson, upsert::UpsertOutcome},
    revenue::ListedMonth,
    schema::{ListQuery, ResourceDef},
    tracking::activity_query::ActivityQuery,
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};
use tokio::sync::watch;

pub use self::{
    engagement::LogLimits,
    file::{
        disk_file,
        open::{OpenError, initialise},
        storage,
    },
    maintenance::{
        compact::{CompactionResult, compact},
        restore::{RestoreError, restore},
        verify::{Corruption, VerifyReport, verify, verify_file},
    },
};
use self::{
    file::{
        corruption,
        database_handle::DatabaseHandle,
        disk_file::DiskFile,
        open,
        storage::{EVERYTHING, StoreFile},
    },
    maintenance::upgrade::upgrade,
    runtime::{
        group_commit::{Writer, WriterState},
        held_snapshots::HeldSnapshots,
        shared::{Recovery, SharedState},
        streamed_page,
    },
    tables::snapshot::RedbSnapshot,
};
use super::{
    ActivityBatch, Actor, BackupFile, Clock, Command, DryRunState, Health, KnownTenant, KnownToken,
    LogQuery, Manifest, Page, PageOptions, PersonData, PointRead, RecordResponse, Reply, ReportJob,
    ScrubProgress, ScrubReport, Store, StoreError, StoreId, StoreMetrics, StoreStatus, Tenant,
    TenantRecord, TokenRecord, Upserts, WrittenReport,
    metrics::MetricsRecorder,
    queueing::{
        commit_batch::BulkThrottle,
        listeners::Listeners,
        parked_replays::ReplayQueue,
        queue::{QueuedCommand, Queues},
        sequence::Sequence,
        token_uses::TokenUses,
    },
    reads::{
        dry_run,
        ledgers::Ledgers,
        list::{self, ListRequest},
        logs, read,
        revenue::{self, ReportContext},
        scrub,
        shared_snapshot::{SharedSnapshot, SnapshotCache},
        versions::CommitScope,
    },
    rows::{META, Snapshot as _},
    rules::{closings, ids::Ids, meta, person_data, tenants, tokens},
    support::{private_folder, tenant_permits::TenantPermits},
    times::{ClockReading, Times},
};

/// Name of the store's file in the data folder.
const FILE_NAME: &str = "svctrack.redb";
/// Maximum number of threads that run one kind of reads at once: few, so that they leave the processor to requests that
/// end at once.
const MAX_READS: usize = 3;
/// Maximum number of reads of one tenant: less than all, so that another tenant never waits for them.
const MAX_READS_OF_TENANT: usize = 2;
/// Maximum number of point reads that wait for the disk at once, in all and of one tenant: as many as most disks serve
/// in parallel.
const MAX_POINT_READS: usize = 16;
const MAX_POINT_READS_OF_TENANT: usize = 12;

/// The embedded store: one file, one writer, any number of readers.
pub struct Embedded {
    shared: Arc<SharedState>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Permits of point reads of data that is not in memory.
    points: TenantPermits,
    /// Reads of a limited number of rows.
    short: Arc<TenantPermits>,
    /// Permits of reads that may scan all rows of a tenant; short reads do not wait for them.
    scans: Arc<TenantPermits>,
    ledgers: Arc<Ledgers>,
    /// Permit for a backup; one is created at a time, since each reads all that is stored.
    backups: TenantPermits,
}

impl Embedded {
    /// Whether a data folder has a store, or may not be looked into, as opening it shows.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE_NAME).try_exists().unwrap_or(true)
    }

    /// Opens the store in a data folder, and creates both when they are missing.
    ///
    /// # Errors
    /// [`OpenError`]; a file that is not a sound store is left as it is.
    pub fn open(
        folder: &Path,
        cache_bytes: usize,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        private_folder::create(folder)?;
        let path = folder.join(FILE_NAME);
        let store_file = DiskFile::at(&path);
        if !path.try_exists()? {
            let mut store_bytes = [0; 5];
            getrandom::fill(&mut store_bytes).map_err(std::io::Error::from)?;
            open::create(&store_file, store_bytes)?;
        }
        let limits = LogLimits::default();
        let store = Self::open_file(Box::new(store_file.clone()), cache_bytes, limits, clock)?;
        maintenance::compact::remove_unfinished(&store_file)?;
        Ok(store)
    }

    /// Opens a store on any medium, which must have been initialised.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_file(
        store_file: Box<dyn StoreFile>,
        cache_bytes: usize,
        log_limits: LogLimits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        open::try_out(&*store_file)?;
        let progress = Arc::default();
        let open = || {
            let opened = DatabaseHandle::to_write(&*store_file, &progress, cache_bytes)?;
            resume(opened, ClockReading::take(&*clock, clock.now()))
        };
        // After a failed write a start leaves data in memory that the next start would take for the state on disk.
        let (opened, ids, times) =
            open().inspect_err(|_: &OpenError| drop(store_file.forget_cached(&[EVERYTHING])))?;
        let stored = times.stored();
        let shared = Arc::new(SharedState {
            id: ids.store(),
            store_file,
            cache_bytes,
            log_limits,
            opened: RwLock::new(Arc::new(opened)),
            reopened: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            recovery: Recovery::default(),
            latest: SnapshotCache::default(),
            held: HeldSnapshots::default(),
            queues: Queues::default(),
            health: AtomicU8::new(Health::Ok as u8),
            damaged: AtomicU64::new(0),
            checked: Mutex::default(),
            uses: TokenUses::default(),
            listeners: Listeners::default(),
            progress,
            measures: MetricsRecorder::default(),
            clock,
            times: Mutex::new(times),
        });
        shared.show_latest(&CommitScope::ANYTHING);
        let mut replays = ReplayQueue::default();
        replays.mark(shared.tenants_due()?);
        let (kept, pace) = (WriterState::default(), BulkThrottle::default());
        let sequence = Sequence { ids, stored };
        let writer = Writer { shared: shared.clone(), sequence, replays, kept, pace };
        let thread = thread::Builder::new().name("writer".to_owned()).spawn(|| writer.run())?;
        Ok(Self {
            shared,
            writer: Mutex::new(Some(thread)),
            points: TenantPermits::new(MAX_POINT_READS, MAX_POINT_READS_OF_TENANT),
            short: Arc::new(TenantPermits::new(MAX_READS, MAX_READS_OF_TENANT)),
            scans: Arc::new(TenantPermits::new(MAX_READS, MAX_READS_OF_TENANT)),
            ledgers: Arc::default(),
            backups: TenantPermits::new(1, 1),
        })
    }

    /// Runs a read that may take some time on another thread, when it gets a permit.
    async fn read_with_permit<T: Send + 'static>(
        &self,
        turns: &TenantPermits,
        tenant: TenantId,
        read: impl Fn(&RedbSnapshot) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_with_permit(turns, tenant, move |shared| shared.read(|snapshot| read(snapshot)))
            .await
    }

    /// Runs a read that ends at once on this thread; where the disk is needed, on another one.
    fn read_point<T: Send + 'static>(
        &self,
        tenant: TenantId,
        read: impl Fn(&SharedSnapshot<RedbSnapshot>) -> Result<T, StoreError> + Send + 'static,
    ) -> PointRead<'_, T> {
        match self.shared.read_at_once(&read) {
            Some(done) => Either::Left(future::ready(done)),
            None => Either::Right(self.read_point_with_permit(tenant, read)),
        }
    }

    fn read_point_with_permit<T: Send + 'static>(
        &self,
        tenant: TenantId,
        read: impl Fn(&SharedSnapshot<RedbSnapshot>) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        self.run_with_permit(&self.points, tenant, move |shared| shared.read_point(read)).boxed()
    }

    /// Runs work that may take some time on another thread, when it gets a permit.
    async fn run_with_permit<T: Send + 'static>(
        &self,
        turns: &TenantPermits,
        tenant: TenantId,
        work: impl FnOnce(&SharedState) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        run_with_permit(self.shared.clone(), turns, tenant, work).await
    }

    /// Waits for the writer to end; returns whether it has, which it does not where the disk does not respond.
    fn wait_for(&self, writer: JoinHandle<()>) -> bool {
        if !self.shared.progress.wait_unless_stalled(|| writer.is_finished()) {
            tracing::error!("disk not responding: last write abandoned");
            return false;
        }
        if writer.join().is_err() {
            tracing::error!("writer panicked");
        }
        true
    }

    fn turns_of(&self, is_short: bool) -> &Arc<TenantPermits> {
        if is_short { &self.short } else { &self.scans }
    }
}

/// Resumes from the state in a database, and adds tables and derived rows that it lacks.
fn resume(
    opened: DatabaseHandle,
    reading: ClockReading,
) -> Result<(DatabaseHandle, Ids, Times), OpenError> {
    let load_ids = || Ok(meta::load_ids(&opened.snapshot()?.open(META)?)?);
    let ids = corruption::contained_open(load_ids)?;
    let load_times = || Ok(meta::load_times(&opened.snapshot()?.open(META)?, &ids, reading)?);
    let times = corruption::contained_open(load_times)?;
    corruption::contained_open(|| Ok(upgrade(opened.database()?)?))?;
    opened.read_ahead();
    Ok((opened, ids, times))
}

/// Runs work that may take some time on another thread, when it gets a permit. Where the disk does not respond, the
/// permit is held until it does.
async fn run_with_permit<T: Send + 'static>(
    shared: Arc<SharedState>,
    turns: &TenantPermits,
    tenant: TenantId,
    work: impl FnOnce(&SharedState) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let progress = shared.progress.clone();
    let done = async {
        let stopped = |error: &dyn std::error::Error| StoreError::Internal(error.to_string());
        let turn = turns.take(tenant).await.map_err(|error| stopped(&error))?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&shared);
            drop(turn);
            done
        });
        done.await.map_err(|error| stopped(&error))?
    };
    progress.unless_stalled(done).await.ok_or(StoreError::Stalled)?
}

/// Adds the requested record to an error of corrupted data, where nothing else is known.
fn about(error: StoreError, reference: &RecordRef) -> StoreError {
    match reference {
        RecordRef::Id(id) => error.about(*id),
        _ => error,
    }
}

impl Store for Embedded {
    fn write(&self, actor: Actor, command: Command) -> BoxFuture<'_, Result<Reply, StoreError>> {
        let (job, replied) = QueuedCommand::new(actor, command);
        let pushed = self.shared.push(job);
        async move {
            pushed?;
            let lost = |_| StoreError::Internal("the writer did not respond".to_owned());
            let replied = self.shared.progress.unless_stalled(replied).await;
            self.shared.counted(replied.ok_or(StoreError::Stalled)?.map_err(lost)?)
        }
        .boxed()
    }

    fn dry_run(
        &self,
        tenant: &Tenant,
        dry_run: DryRunState,
        upserts: Upserts,
    ) -> BoxFuture<'_, Result<(DryRunState, Vec<UpsertOutcome>), StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        let work = move |shared: &SharedState| {
            let mut dry_run = dry_run;
            let outcomes = shared.read_once(|snapshot| {
                dry_run::dry_run(snapshot, tenant, &mut dry_run, &upserts, now)
            });
            Ok((dry_run, outcomes?))
        };
        self.run_with_permit(&self.short, tenant, work).boxed()
    }

    fn record(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        reference: &RecordRef,
    ) -> PointRead<'_, Option<RecordResponse>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        // While the disk does not respond, reads that wait for it hold the permits.
        if !def.needs_scan || self.shared.progress.is_stalled() {
            let read = |moment: &SharedSnapshot<RedbSnapshot>| {
                read::record(&moment.tables, tenant, def, reference, now)
            };
            if let Some(found) = self.shared.read_at_once(read) {
                let found = found.map_err(|error| about(error, reference));
                return Either::Left(future::ready(found));
            }
        }
        let (reference, asked) = (reference.clone(), reference.clone());
        let read = move |moment: &SharedSnapshot<RedbSnapshot>| {
            read::record(&moment.tables, tenant, def, &reference, now)
        };
        let found = match def.needs_scan {
            true => {
                self.run_with_permit(&self.short, tenant, |shared| shared.read_point(read)).boxed()
            }
            false => self.read_point_with_permit(tenant, read),
        };
        Either::Right(found.map_err(move |error| about(error, &asked)).boxed())
    }

    fn list(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        query: ListQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        let turns = self.turns_of(list::is_short(def, &query));
        let spare = turns.spare();
        let asked = ListRequest { tenant, def, query, now, page_options };
        async move {
            let wanted = asked.clone();
            let read = move |shared: &SharedState| {
                shared.read(|moment| {
                    let (page, ids) = list::list(&**moment, &wanted, &spare)?;
                    Ok((page, ids, moment.clone()))
                })
            };
            let written = self.shared.progress.written_bytes();
            let (page, ids, moment) = self.run_with_permit(turns, tenant, read).await?;
            if ids.is_empty() {
                return Ok(page);
            }
            let held = self.shared.held.hold(moment, written);
            let with = (self.shared.clone(), self.short.clone());
            let unread = (ids, page.digest.longest);
            Ok(Page { later: Some(streamed_page::read(with, asked, held, unread)), ..page })
        }
        .boxed()
    }

    fn log(
        &self,
        tenant: &Tenant,
        query: LogQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let tenant = tenant.id();
        let turns = self.turns_of(logs::is_short(&query));
        let read =
            move |snapshot: &RedbSnapshot| logs::list(snapshot, tenant, &query, &page_options);
        self.read_with_permit(turns, tenant, read).boxed()
    }

    fn activities_since(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<ActivityBatch, StoreError>> {
        let tenant = tenant.id();
        let read = move |snapshot: &RedbSnapshot| read::activities_since(snapshot, tenant, &query);
        self.read_with_permit(&self.short, tenant, read).boxed()
    }

    fn commits(&self, tenant: &Tenant) -> watch::Receiver<u64> {
        self.shared.listeners.subscribe(tenant.id())
    }

    fn report(
        &self,
        tenant: &Tenant,
        job: ReportJob,
    ) -> BoxFuture<'_, Result<WrittenReport, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        let ledgers = self.ledgers.clone();
        let request = ReportContext { tenant, version: self.shared.latest.version(tenant), now };
        let read =
            move |snapshot: &RedbSnapshot| revenue::revenue(&ledgers, snapshot, request, &job);
        self.read_with_permit(&self.scans, tenant, read).boxed()
    }

    fn person_data(
        &self,
        tenant: &Tenant,
        person: KnownPerson,
        part: PersonData,
        after: Option<ObjectId>,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let (tenant, now) = (tenant.id(), self.shared.clock.now());
        let read = move |snapshot: &RedbSnapshot| {
            person_data::read_page(snapshot, tenant, &person, part, after, now)
        };
        self.read_with_permit(&self.short, tenant, read).boxed()
    }

    fn known_tenant(&self, tenant: TenantId) -> PointRead<'_, Option<KnownTenant>> {
        match self.shared.latest.known_tenant(tenant) {
            Some(known) => Either::Left(future::ready(Ok(Some(known)))),
            None => self.read_point(tenant, move |moment| moment.known_tenant(tenant)),
        }
    }

    fn tenant(&self, tenant: TenantId) -> PointRead<'_, Option<TenantRecord>> {
        self.read_point(tenant, move |moment| moment.tenant(tenant))
    }

    fn tenants(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TenantRecord>, StoreError>> {
        let read = move |snapshot: &RedbSnapshot| tenants::list(snapshot, limit);
        self.read_with_permit(&self.short, Tenant::OPERATOR.id(), read).boxed()
    }

    fn token(&self, id: &str) -> PointRead<'_, Option<Arc<KnownToken>>> {
        if let Some(found) = self.shared.read_at_once(|moment| moment.token(id)) {
            return Either::Left(future::ready(found));
        }
        let id = id.to_owned();
        let read =
            self.read_point_with_permit(Tenant::OPERATOR.id(), move |moment| moment.token(&id));
        Either::Right(read)
    }

    fn tokens(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<TokenRecord>, StoreError>> {
        let tenant = tenant.id();
        let read = move |snapshot: &RedbSnapshot| tokens::tokens(snapshot, tenant);
        let shown = |mut tokens: Vec<TokenRecord>| {
            self.shared.uses.show(&mut tokens);
            tokens
        };
        self.read_with_permit(&self.short, tenant, read).map_ok(shown).boxed()
    }

    fn closings(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<ListedMonth>, StoreError>> {
        let tenant = tenant.id();
        let read = move |snapshot: &RedbSnapshot| closings::listed(snapshot, tenant);
        self.read_with_permit(&self.short, tenant, read).boxed()
    }

    fn note_token_use(&self, token: &TokenRecord, now: Timestamp) {
        self.shared.uses.note(token, now);
    }

    fn id(&self) -> StoreId {
        self.shared.id
    }

    fn status(&self) -> StoreStatus {
        let health = self.shared.health.load(Ordering::Relaxed);
        let known = Health::ALL.into_iter().find(|known| *known as u8 == health);
        let health = match known.unwrap_or(Health::Stopped) {
            Health::Stopped => Health::Stopped,
            _ if self.shared.progress.is_stalled() => Health::Stalled,
            health => health,
        };
        let damaged = self.shared.damaged.load(Ordering::Relaxed);
        let clock = self.shared.clock_state();
        StoreStatus { health, damaged, checked: *self.shared.checked(), clock }
    }

    fn metrics(&self) -> StoreMetrics {
        self.shared.metrics()
    }

    fn table_rows(&self) -> BoxFuture<'_, Result<Vec<(&'static str, u64)>, StoreError>> {
        self.read_with_permit(&self.short, Tenant::OPERATOR.id(), read::table_rows).boxed()
    }

    fn scrub(&self, from: ScrubProgress) -> BoxFuture<'_, Result<ScrubProgress, StoreError>> {
        async move {
            let step = move |snapshot: &RedbSnapshot| scrub::step(snapshot, from.clone());
            let scrub = self.read_with_permit(&self.short, Tenant::OPERATOR.id(), step).await?;
            if scrub.is_over {
                let ScrubProgress { rows, damaged, .. } = scrub;
                let at = self.shared.clock.now();
                *self.shared.checked() = Some(ScrubReport { at, rows, damaged });
            }
            Ok(scrub)
        }
        .boxed()
    }

    fn back_up(&self, to: BackupFile) -> BoxFuture<'_, Result<(File, Manifest), StoreError>> {
        let work = move |shared: &SharedState| {
            let (file, sequence) = match to {
                BackupFile::Given { file, sequence } => (file, Some(sequence)),
                BackupFile::Unnamed => {
                    (shared.store_file.unnamed_file().map_err(redb::Error::Io)?, None)
                }
            };
            let manifest = shared.back_up(&file, sequence)?;
            Ok((file, manifest))
        };
        self.run_with_permit(&self.backups, Tenant::OPERATOR.id(), work).boxed()
    }

    fn close(&self) -> bool {
        self.shared.queues.close();
        let writer = self.writer.lock().take();
        let has_ended = writer.is_none_or(|writer| self.wait_for(writer));
        self.shared.latest.show(None, &CommitScope::ANYTHING);
        self.shared.set_health(Health::Stopped);
        has_ended
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}
