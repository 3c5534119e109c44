//! A store in memory: its data does not outlive the program. It shares rules, reads and the order of commands with
//! every other engine, and has only ordered maps of its own.
//!
//! It is for programs that embed the rules, for trials, and for tests, which can make any of its reads and writes fail
//! ([`Memory::faults`]). A command is carried out on the thread of its caller, one at a time, and needs no runtime.

mod faults;
mod state;
mod table;
#[cfg(test)]
mod tests;

use std::{fs::File, sync::Arc};

use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{self, Either},
    stream,
};
use parking_lot::Mutex;
use svctrack_core::{
    plan::{KnownPerson, upsert::UpsertOutcome},
    revenue::ListedMonth,
    schema::{ListQuery, ResourceDef},
    tracking::activity_query::ActivityQuery,
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};
use tokio::sync::watch;

pub use self::faults::Faults;
use self::state::MemoryState;
use crate::*;
use crate::{
    corruption::contained,
    metrics::MetricsRecorder,
    queueing::{
        commit_scope::scope_of,
        listeners::Listeners,
        parked_replays::ReplayQueue,
        queue::{QueuedCommand, Queues},
        sequence::Sequence,
        token_uses::TokenUses,
    },
    reads::{
        backup_writer, dry_run,
        ledgers::Ledgers,
        list::{self, ListRequest},
        logs, read,
        revenue::{self, ReportContext},
        scrub,
        shared_snapshot::{SharedSnapshot, SnapshotCache},
        versions::CommitScope,
    },
    rows::{META, Snapshot as _},
    rules::{
        closings, lookup_cache::LookupCache, meta, pending::Pending, person_data, tenants, tokens,
    },
    support::tenant_permits::TenantPermits,
    times::{ClockReading, Times},
};

/// A store in memory.
pub struct Memory {
    id: StoreId,
    writer: Mutex<MemoryWriter>,
    queues: Queues,
    latest: SnapshotCache<MemoryState>,
    ledgers: Ledgers,
    uses: TokenUses,
    listeners: Listeners,
    clock: Arc<dyn Clock>,
    times: Mutex<Times>,
    scrubbed: Mutex<Option<ScrubReport>>,
    faults: Faults,
    measures: MetricsRecorder,
}

/// State that lasts from one transaction to the next.
struct MemoryWriter {
    sequence: Sequence,
    known: LookupCache,
    replays: ReplayQueue,
}

fn closed<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("the store is closed".to_owned()))
}

impl Memory {
    /// An empty store.
    ///
    /// # Errors
    /// [`StoreError::Internal`] where the system gives no random bytes for the ids.
    pub fn new(clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let mut store_bytes = [0; 5];
        getrandom::fill(&mut store_bytes)
            .map_err(|error| StoreError::Internal(error.to_string()))?;
        let faults = Faults::default();
        let empty = MemoryState::empty(&faults);
        let mut tables = empty.begin(LookupCache::default())?;
        meta::found(&mut tables.meta, store_bytes)?;
        let (state, known) = empty.after(tables)?;
        let ids = meta::load_ids(&state.open(META)?)?;
        let reading = ClockReading::take(&*clock, clock.now());
        let times = Times::resume(Timestamp::MIN, Timestamp::MIN, reading);
        let id = ids.store();
        let sequence = Sequence { ids, stored: Timestamp::MIN };
        let latest = SnapshotCache::default();
        latest.show(Some(state), &CommitScope::ANYTHING);
        Ok(Self {
            id,
            writer: Mutex::new(MemoryWriter { sequence, known, replays: ReplayQueue::default() }),
            queues: Queues::default(),
            latest,
            ledgers: Ledgers::default(),
            uses: TokenUses::default(),
            listeners: Listeners::default(),
            clock,
            times: Mutex::new(times),
            scrubbed: Mutex::default(),
            faults,
            measures: MetricsRecorder::default(),
        })
    }

    /// Switch that makes the store's reads and writes fail.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Carries out all that waits.
    fn serve(&self) {
        let mut writer = self.writer.lock();
        writer.replays.try_again();
        writer.replays.queue(&self.queues);
        while let Some(mut job) = self.queues.next() {
            let done = contained(|| self.transact(&mut writer, &mut job));
            writer.replays.queue(&self.queues);
            job.reply(done.flatten());
            writer.replays.look();
        }
    }

    /// Carries out a command in a transaction of its own; where that fails, nothing has changed.
    fn transact(
        &self,
        writer: &mut MemoryWriter,
        job: &mut QueuedCommand,
    ) -> Result<Result<Reply, StoreError>, StoreError> {
        let MemoryWriter { sequence, known, replays } = writer;
        let before = self.latest.snapshot(closed)?;
        let mut tables = before.begin(std::mem::take(known))?;
        let mut pending = Pending::default();
        let settle = |now| self.times.lock().judge(ClockReading::take(&*self.clock, now));
        let done = sequence.carry_out(job, (&*self.clock, settle), &mut tables, &mut pending)?;
        tokens::mark_used(&mut tables, self.uses.take())?;
        let now = sequence.now(&*self.clock);
        let found = pending.found();
        let to_replay = pending.flush(&mut tables, &mut sequence.ids, now)?;
        sequence.stored = now;
        let times = {
            let mut times = self.times.lock();
            times.store(now);
            *times
        };
        meta::store_times(&mut tables.meta, &times)?;
        meta::store_ids(&mut tables.meta, &sequence.ids)?;
        let (state, still_known) = before.after(tables)?;
        *known = still_known;
        self.latest.show(Some(state), &scope_of([&*job]));
        replays.mark(to_replay);
        self.measures.count_issues(found);
        self.listeners.wake([&*job]);
        Ok(done)
    }

    fn read<'s, T: Send + 's>(
        &'s self,
        read: impl FnOnce(&Arc<MemoryState>) -> Result<T, StoreError>,
    ) -> BoxFuture<'s, Result<T, StoreError>> {
        future::ready(contained(|| read(&self.latest.snapshot(closed)?))).boxed()
    }

    fn read_point<'s, T: Send + 's>(
        &'s self,
        read: impl FnOnce(&SharedSnapshot<MemoryState>) -> Result<T, StoreError>,
    ) -> PointRead<'s, T> {
        Either::Left(future::ready(contained(|| read(&*self.latest.moment(closed)?))))
    }
}

impl Store for Memory {
    fn write(&self, actor: Actor, command: Command) -> BoxFuture<'_, Result<Reply, StoreError>> {
        let (job, replied) = QueuedCommand::new(actor, command);
        let pushed = self.queues.push(job);
        self.serve();
        let lost = |_| StoreError::Internal("the command was dropped".to_owned());
        async move {
            pushed?;
            replied.await.map_err(lost)?
        }
        .boxed()
    }

    fn dry_run(
        &self,
        tenant: &Tenant,
        mut dry_run: DryRunState,
        upserts: Upserts,
    ) -> BoxFuture<'_, Result<(DryRunState, Vec<UpsertOutcome>), StoreError>> {
        let (tenant, now) = (tenant.id(), self.clock.now());
        self.read(|state| {
            let outcomes = dry_run::dry_run(&**state, tenant, &mut dry_run, &upserts, now)?;
            Ok((dry_run, outcomes))
        })
    }

    fn record(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        reference: &RecordRef,
    ) -> PointRead<'_, Option<RecordResponse>> {
        let (tenant, now) = (tenant.id(), self.clock.now());
        self.read_point(|shared| read::record(&shared.tables, tenant, def, reference, now))
    }

    fn list(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        query: ListQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let asked =
            ListRequest { tenant: tenant.id(), def, query, now: self.clock.now(), page_options };
        self.read(|state| {
            let (page, ids) = list::list(&**state, &asked, &TenantPermits::new(0, 0).spare())?;
            let rest = (state.clone(), asked, ids.into_iter(), page.digest.longest);
            let later = stream::try_unfold(rest, async |(state, asked, mut ids, longest)| {
                let piece = contained(|| list::read_on(&asked, &*state, &mut ids, longest))?;
                Ok((!piece.is_empty()).then_some((piece, (state, asked, ids, longest))))
            });
            Ok(Page { later: page.pieces.is_empty().then(|| later.boxed()), ..page })
        })
    }

    fn log(
        &self,
        tenant: &Tenant,
        query: LogQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        self.read(|state| logs::list(&**state, tenant.id(), &query, &page_options))
    }

    fn activities_since(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<ActivityBatch, StoreError>> {
        self.read(|state| read::activities_since(&**state, tenant.id(), &query))
    }

    fn commits(&self, tenant: &Tenant) -> watch::Receiver<u64> {
        self.listeners.subscribe(tenant.id())
    }

    fn report(
        &self,
        tenant: &Tenant,
        job: ReportJob,
    ) -> BoxFuture<'_, Result<WrittenReport, StoreError>> {
        let (tenant, now) = (tenant.id(), self.clock.now());
        let request = ReportContext { tenant, version: self.latest.version(tenant), now };
        self.read(|state| revenue::revenue(&self.ledgers, &**state, request, &job))
    }

    fn person_data(
        &self,
        tenant: &Tenant,
        person: KnownPerson,
        part: PersonData,
        after: Option<ObjectId>,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        let now = self.clock.now();
        self.read(|state| person_data::read_page(&**state, tenant.id(), &person, part, after, now))
    }

    fn known_tenant(&self, tenant: TenantId) -> PointRead<'_, Option<KnownTenant>> {
        self.read_point(|shared| shared.known_tenant(tenant))
    }

    fn tenant(&self, tenant: TenantId) -> PointRead<'_, Option<TenantRecord>> {
        self.read_point(|shared| shared.tenant(tenant))
    }

    fn tenants(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TenantRecord>, StoreError>> {
        self.read(|state| tenants::list(&**state, limit))
    }

    fn token(&self, id: &str) -> PointRead<'_, Option<Arc<KnownToken>>> {
        self.read_point(|shared| shared.token(id))
    }

    fn tokens(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<TokenRecord>, StoreError>> {
        self.read(|state| {
            let mut tokens = tokens::tokens(&**state, tenant.id())?;
            self.uses.show(&mut tokens);
            Ok(tokens)
        })
    }

    fn closings(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<ListedMonth>, StoreError>> {
        self.read(|state| closings::listed(&**state, tenant.id()))
    }

    fn note_token_use(&self, token: &TokenRecord, now: Timestamp) {
        self.uses.note(token, now);
    }

    fn id(&self) -> StoreId {
        self.id
    }

    fn status(&self) -> StoreStatus {
        let health = if self.queues.is_closed() { Health::Stopped } else { Health::Ok };
        let reading = ClockReading::take(&*self.clock, self.clock.now());
        let clock = self.times.lock().state(reading);
        StoreStatus { health, damaged: 0, checked: *self.scrubbed.lock(), clock }
    }

    fn metrics(&self) -> StoreMetrics {
        let (single, bulk, bytes) = self.queues.depth();
        StoreMetrics {
            queued_single: single as u64,
            queued_bulk: bulk as u64,
            queued_bytes: bytes as u64,
            batch_commands: self.measures.batch_commands.counts(),
            batch_rows: self.measures.batch_rows.counts(),
            commits: self.measures.commits.counts(),
            issues: self.measures.issues(),
            ..StoreMetrics::default()
        }
    }

    fn table_rows(&self) -> BoxFuture<'_, Result<Vec<(&'static str, u64)>, StoreError>> {
        self.read(|state| read::table_rows(&**state))
    }

    fn scrub(&self, from: ScrubProgress) -> BoxFuture<'_, Result<ScrubProgress, StoreError>> {
        self.read(|state| {
            let scrub = scrub::step(&**state, from)?;
            if let ScrubProgress { rows, damaged, is_over: true, .. } = scrub {
                *self.scrubbed.lock() = Some(ScrubReport { at: self.clock.now(), rows, damaged });
            }
            Ok(scrub)
        })
    }

    fn back_up(&self, to: BackupFile) -> BoxFuture<'_, Result<(File, Manifest), StoreError>> {
        self.read(|state| {
            let (file, sequence) = match to {
                BackupFile::Given { file, sequence } => (file, Some(sequence)),
                BackupFile::Unnamed => {
                    (tempfile::tempfile().map_err(|error| disk_full::of_io(&error))?, None)
                }
            };
            let head = BackupHead::new(self.clock.now(), self.id, sequence);
            let manifest = backup_writer::write(&**state, head, &file, || true)?;
            Ok((file, manifest))
        })
    }

    fn close(&self) -> bool {
        self.queues.close();
        self.serve();
        self.latest.show(None, &CommitScope::ANYTHING);
        true
    }
}
