//! State that the writer and the readers share: the open database, its health, and snapshots.

use std::{
    collections::BTreeMap,
    fs::File,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use redb::WriteTransaction;
use svctrack_core::value::{TenantId, Timestamp};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::held_snapshots::HeldSnapshots;
use crate::{
    BackupHead, Clock, ClockState, Health, Manifest, ScrubReport, StoreError, StoreId, Tenant,
    embedded::{
        engagement::LogLimits,
        file::{
            corruption, database_handle::DatabaseHandle, nonblocking_read, progress::DiskProgress,
            storage::StoreFile,
        },
        tables::snapshot::RedbSnapshot,
    },
    metrics::{MetricsRecorder, StoreMetrics},
    queueing::{
        listeners::Listeners,
        queue::{QueuedCommand, Queues},
        token_uses::TokenUses,
    },
    reads::{
        backup_writer::{self, BackupError},
        shared_snapshot::{SharedSnapshot, SnapshotCache},
        versions::CommitScope,
    },
    rules::parked,
    times::{ClockReading, ReferenceTimes, Times},
};

/// How long a read waits for a file that is being reopened.
const OPENED_WITHIN: Duration = Duration::from_secs(1);
/// Maximum number of reads that wait for it. Each keeps a thread; further reads fail at once.
const MAX_WAITING_READS: usize = 64;
/// How long a failed read is retried. While commits fail repeatedly, the file is reopened for each, after pauses that
/// grow: a read of some seconds completes in one of them.
const BEGUN_ANEW_FOR: Duration = Duration::from_secs(10);

/// State that the writer and the readers share.
pub(crate) struct SharedState {
    pub(crate) id: StoreId,
    pub(crate) store_file: Box<dyn StoreFile>,
    pub(crate) cache_bytes: usize,
    pub(crate) log_limits: LogLimits,
    /// Database for reads, and for writes while the store is healthy.
    pub(crate) opened: RwLock<Arc<DatabaseHandle>>,
    /// Number of times that the database was replaced.
    pub(crate) reopened: AtomicU64,
    /// Number of reads that wait for another database.
    pub(crate) waiting: AtomicUsize,
    pub(crate) recovery: Recovery,
    pub(crate) latest: SnapshotCache<RedbSnapshot>,
    pub(crate) held: HeldSnapshots,
    pub(crate) queues: Queues,
    pub(crate) health: AtomicU8,
    /// Number of times that corrupted data was found.
    pub(crate) damaged: AtomicU64,
    /// Result of the last scrub; none before the first one ends.
    pub(crate) checked: Mutex<Option<ScrubReport>>,
    pub(crate) uses: TokenUses,
    pub(crate) listeners: Listeners,
    pub(crate) progress: Arc<DiskProgress>,
    pub(crate) measures: MetricsRecorder,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) times: Mutex<Times>,
}

impl SharedState {
    pub(crate) fn opened(&self) -> Arc<DatabaseHandle> {
        self.opened.read().clone()
    }

    /// Queues a command, unless the writer is stalled.
    pub(crate) fn push(&self, job: QueuedCommand) -> Result<(), StoreError> {
        if self.progress.is_stalled() {
            return Err(StoreError::Unavailable("the disk does not respond".to_owned()));
        }
        self.queues.push(job)
    }

    /// Snapshot of the last commit.
    pub(crate) fn snapshot(&self) -> Result<Arc<RedbSnapshot>, StoreError> {
        self.latest.snapshot(|| self.own_snapshot())
    }

    /// A snapshot that is not shared. It may have to wait for the writer.
    fn own_snapshot(&self) -> Result<RedbSnapshot, StoreError> {
        nonblocking_read::before_waiting();
        self.opened().snapshot()
    }

    /// Publishes the state after a write to reads.
    pub(crate) fn show_latest(&self, scope: &CommitScope) {
        self.latest.show(self.own_snapshot().ok(), scope);
    }

    pub(crate) fn begin(&self) -> Result<WriteTransaction, StoreError> {
        self.opened().begin()
    }

    /// Reads from the last snapshot, which may be held for later reads.
    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Arc<RedbSnapshot>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.try_to_read(|| read(&self.snapshot()?))
    }

    /// Reads a single row, such as a record.
    pub(crate) fn read_point<T>(
        &self,
        read: impl Fn(&SharedSnapshot<RedbSnapshot>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.try_to_read(|| read(&*self.latest.moment(|| self.own_snapshot())?))
    }

    /// Reads from the shared snapshot, where the read ends at once; none where it would have to wait for the disk.
    pub(crate) fn read_at_once<T>(
        &self,
        read: impl Fn(&SharedSnapshot<RedbSnapshot>) -> Result<T, StoreError>,
    ) -> Option<Result<T, StoreError>> {
        nonblocking_read::read(|| self.read_point(read))
    }

    /// Reads from the last snapshot, and fails where the file does: for reads that cannot be repeated, or must not wait
    /// for the writer.
    pub(crate) fn read_once<T>(
        &self,
        read: impl FnOnce(&RedbSnapshot) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.counted(corruption::contained(|| read(&*self.snapshot()?)))
    }

    /// Runs a read, and again where the file was reopened meanwhile. When the file fails, the writer is asked to reopen
    /// it.
    fn try_to_read<T>(&self, read: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut until = None;
        loop {
            let before = self.reopened.load(Ordering::Acquire);
            let done = self.counted(corruption::contained(&read));
            let failed = done.as_ref().is_err_and(StoreError::is_of_the_file);
            if !failed || !self.is_opened_since(before) {
                return done;
            }
            if Instant::now() > *until.get_or_insert_with(|| Instant::now() + BEGUN_ANEW_FOR) {
                return done;
            }
        }
    }

    /// Whether the file has been reopened since `before`; waits for a reopening that is running.
    fn is_opened_since(&self, before: u64) -> bool {
        let is_opened = || self.reopened.load(Ordering::Acquire) != before;
        if !is_opened() && self.change_health(Health::Ok, Health::Recovering) {
            self.queues.ask_to_reopen();
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING_READS {
            off_the_runtime(|| {
                let is_over = || is_opened() || !self.is(Health::Recovering);
                self.recovery.wait(is_over, Instant::now() + OPENED_WITHIN);
            });
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        is_opened()
    }

    /// Writes all that is stored now into a file, and syncs it.
    pub(crate) fn back_up(
        &self,
        file: &File,
        sequence: Option<u64>,
    ) -> Result<Manifest, StoreError> {
        let goes_on = || !self.is(Health::Stopped);
        let head = BackupHead::new(self.clock.now(), self.id, sequence);
        // A backup file that cannot be written is no fault of the store, and must not be reported as one.
        let made = self.read_once(|snapshot| {
            match backup_writer::write(snapshot, head.clone(), file, goes_on) {
                Err(BackupError::Store(error)) => Err(error),
                made => Ok(made),
            }
        });
        Ok(made??)
    }

    /// Tenants with parked events that are marked on disk. Where the marks are corrupted, the events wait.
    pub(crate) fn tenants_due(&self) -> Result<BTreeMap<TenantId, Tenant>, StoreError> {
        match self.read_once(parked::tenants_due) {
            Ok(due) => Ok(due.into_iter().map(|id| (id, Tenant::assume_authorized(id))).collect()),
            Err(StoreError::Corrupted { cause, .. }) => {
                tracing::error!(cause, "parked events not replayed: index corrupted");
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error),
        }
    }

    /// Counts an error of corrupted data.
    pub(crate) fn counted<T>(&self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Corrupted { .. }) = &done {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Replaces the database for reads, and closes the gate of the old one to its file: running reads continue over the
    /// new one.
    pub(crate) fn go_on_over(&self, new: DatabaseHandle) {
        new.read_ahead();
        let old = {
            let mut opened = self.opened.write();
            std::mem::replace(&mut *opened, Arc::new(new))
        };
        self.show_latest(&CommitScope::ANYTHING);
        self.reopened.fetch_add(1, Ordering::Release);
        self.recovery.wake();
        old.close_gate();
    }

    pub(crate) fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock()
    }

    /// Times by which ages are judged when the clock shows `now`.
    pub(crate) fn settle(&self, now: Timestamp) -> ReferenceTimes {
        let reading = ClockReading::take(&*self.clock, now);
        self.times().judge(reading)
    }

    /// Difference of the clock from the stored times, if there is one.
    pub(crate) fn clock_state(&self) -> Option<ClockState> {
        let reading = ClockReading::take(&*self.clock, self.clock.now());
        self.times().state(reading)
    }

    /// Metrics of the running store.
    pub(crate) fn metrics(&self) -> StoreMetrics {
        let (single, bulk, bytes) = self.queues.depth();
        let [queued_single, queued_bulk, queued_bytes] =
            [single, bulk, bytes].map(|count| count as u64);
        StoreMetrics {
            queued_single,
            queued_bulk,
            queued_bytes,
            batch_commands: self.measures.batch_commands.counts(),
            batch_rows: self.measures.batch_rows.counts(),
            commits: self.measures.commits.counts(),
            syncs: self.progress.syncs.counts(),
            file_bytes: self.store_file.bytes(),
            issues: self.measures.issues(),
        }
    }

    pub(crate) fn checked(&self) -> MutexGuard<'_, Option<ScrubReport>> {
        self.checked.lock()
    }

    /// Changes the health of the store, if it is `from`.
    pub(crate) fn change_health(&self, from: Health, to: Health) -> bool {
        let (from, to) = (from as u8, to as u8);
        let changed = self.health.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        self.recovery.wake();
        changed.is_ok()
    }

    pub(crate) fn set_health(&self, health: Health) {
        self.health.store(health as u8, Ordering::Relaxed);
        self.recovery.wake();
    }

    pub(crate) fn is(&self, health: Health) -> bool {
        self.health.load(Ordering::Relaxed) == health as u8
    }
}

/// Wakes reads that wait for the file to be opened again.
#[derive(Default)]
pub(crate) struct Recovery {
    waits: Mutex<()>,
    changed: Condvar,
}

impl Recovery {
    /// Waits until `is_over`, or until a deadline.
    fn wait(&self, is_over: impl Fn() -> bool, deadline: Instant) {
        let mut waits = self.waits.lock();
        self.changed.wait_while_until(&mut waits, |_| !is_over(), deadline);
    }

    /// Wakes the waiting threads, after a change that they wait for.
    fn wake(&self) {
        // A thread that has checked before waits by now, so that it is woken.
        drop(self.waits.lock());
        self.changed.notify_all();
    }
}

/// Runs a wait. Where this thread serves requests, another one serves them meanwhile.
fn off_the_runtime<T>(wait: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{atomic::AtomicBool, mpsc},
        thread,
    };

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_read_that_waits_is_woken() {
        const PATIENCE: Duration = Duration::from_secs(60);
        let (recovery, is_over) = (Recovery::default(), AtomicBool::default());
        let started = Instant::now();
        thread::scope(|scope| {
            let (looked, look) = mpsc::channel();
            let (recovery, is_over) = (&recovery, &is_over);
            scope.spawn(move || {
                let is_over = || {
                    let _ = looked.send(());
                    is_over.load(Ordering::Relaxed)
                };
                recovery.wait(is_over, started + PATIENCE);
            });
            look.recv().unwrap();
            is_over.store(true, Ordering::Relaxed);
            recovery.wake();
        });
        assert!(started.elapsed() < PATIENCE);
    }

    #[test]
    fn while_a_read_waits_others_are_served_by_its_thread() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (served, other) = mpsc::channel();
        let waits = runtime.spawn(async move {
            let is_served = || other.recv_timeout(Duration::from_secs(60)).is_ok();
            off_the_runtime(is_served)
        });
        runtime.spawn(async move { served.send(()) });
        assert!(runtime.block_on(waits).unwrap());
    }
}
