//! The writer thread: it plans and applies all queued commands in one transaction, commits once, and only then replies
//! to each.
//!
//! Commands are held until the commit. If planning or applying one of them panics, the transaction is dropped, that
//! command gets the error, and the others are planned again.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use redb::WriteTransaction;
use svctrack_core::value::TenantId;

use super::{reopen_after_error, shared::SharedState};
use crate::{
    Health, StoreError, Tenant,
    embedded::{engagement, file::corruption, tables::transaction::WriteTables},
    queueing::{
        commit_batch::{Batch, BatchSize, BulkThrottle},
        commit_scope::scope_of,
        parked_replays::ReplayQueue,
        queue::{CommandResult, WriterTask},
        sequence::Sequence,
    },
    rules::{lookup_cache::LookupCache, meta, pending::Pending, tokens},
};

/// Cause for which a transaction was not completed.
enum TransactionFailure {
    /// The command that was being carried out broke down.
    Command(StoreError),
    /// The changes that the commands have gathered together could not be written.
    Together(StoreError),
    /// The store failed: its file must be opened again.
    Store(StoreError),
}

/// The writer's own state.
pub(crate) struct Writer {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) sequence: Sequence,
    /// Tenants with parked events to replay.
    pub(crate) replays: ReplayQueue,
    pub(crate) kept: WriterState,
    pub(crate) pace: BulkThrottle,
}

/// State that committed transactions leave to the next one.
#[derive(Default)]
pub(crate) struct WriterState {
    known: LookupCache,
    /// Read from the store when there is none.
    engagement: Option<engagement::EngagementCache>,
}

impl WriterState {
    /// Takes over the state that a committed transaction leaves.
    fn commit(&mut self, known: LookupCache, engagement: engagement::UncommittedChanges) {
        self.known = known;
        if let Some(rows) = &mut self.engagement {
            rows.commit(engagement);
        }
    }

    /// Checks whether the log of engagement is the reason for which the gathered changes could not be written.
    fn look_at_log(&mut self, shared: &SharedState) {
        let rows = self.engagement.as_mut();
        let looked =
            rows.map(|rows| corruption::contained(|| rows.look_at_log(&*shared.snapshot()?)));
        if let Some(Err(error)) = looked {
            tracing::error!(cause = %error, "engagement log unreadable");
        }
    }
}

/// Results of a batch before it is committed.
struct BatchResult {
    outcomes: Vec<CommandResult>,
    to_replay: BTreeMap<TenantId, Tenant>,
    known: LookupCache,
    engagement: engagement::UncommittedChanges,
    found: BTreeMap<&'static str, u64>,
    rows: usize,
}

/// Replies to all waiting commands when the writer ends, however it ends.
struct WriterGuard(Arc<SharedState>);

impl Drop for WriterGuard {
    fn drop(&mut self) {
        self.0.queues.close();
        let ended = StoreError::Unavailable("the writer has ended".to_owned());
        while let Some(job) = self.0.queues.next() {
            job.reply(Err(ended.unavailable()));
        }
        self.0.set_health(Health::Stopped);
    }
}

impl Writer {
    /// Serves commands until the queues are closed and empty.
    pub(crate) fn run(mut self) {
        let _closing = WriterGuard(self.shared.clone());
        self.replays.queue(&self.shared.queues);
        while let Some(work) = self.shared.queues.work(self.replays.next_try()) {
            match work {
                WriterTask::Serve(first) => self.serve(Batch::open(first)),
                // The file may have been reopened since the request.
                WriterTask::Reopen if !self.shared.is(Health::Recovering) => {}
                WriterTask::Reopen => self.recover(),
                WriterTask::TryAgain => {
                    self.replays.try_again();
                    self.replays.queue(&self.shared.queues);
                }
            }
            self.replays.look();
        }
    }

    fn serve(&mut self, mut batch: Batch) {
        while !batch.jobs.is_empty() {
            let progress = self.shared.progress.clone();
            let step = progress.begin();
            let tried = catch_unwind(AssertUnwindSafe(|| self.transact(&mut batch)));
            drop(step);
            batch.is_open = false;
            let failed = match tried {
                Ok(Ok(outcomes)) => {
                    // Before the responses: a caller that learns of the record that releases events, and writes again,
                    // is served after these.
                    self.replays.queue(&self.shared.queues);
                    batch.reply_all(outcomes);
                    continue;
                }
                Ok(Err(failed)) => failed,
                Err(thrown) => TransactionFailure::Store(corruption::error_of(&*thrown)),
            };
            match failed {
                TransactionFailure::Command(error) => batch.reject_current(error),
                TransactionFailure::Together(error) => {
                    self.kept.look_at_log(&self.shared);
                    return self.serve_in_halves(batch, error);
                }
                TransactionFailure::Store(error) => {
                    // The commit may be on disk, or not.
                    self.kept.engagement = None;
                    let error = self.shared.opened().cause(error);
                    tracing::error!(cause = %error, commands = batch.jobs.len(), "commit failed");
                    self.shared.set_health(Health::Recovering);
                    batch.reject_all(&error);
                    self.recover();
                }
            }
        }
    }

    /// Serves the halves of a batch, so that in the end only the command that causes an error gets it.
    fn serve_in_halves(&mut self, mut batch: Batch, error: StoreError) {
        if batch.jobs.len() > 1 {
            let rest = batch.jobs.split_off(batch.jobs.len() / 2);
            [batch.jobs, rest].into_iter().for_each(|half| self.serve(Batch::closed(half)));
        } else if !batch.is_careful {
            batch.is_careful = true;
            self.serve(batch);
        } else if let Some(only) = batch.jobs.pop() {
            only.reply(Err(error));
        }
    }

    /// Recovers the store after an error; meanwhile every command is rejected with the cause.
    fn recover(&mut self) {
        reopen_after_error::recover(&self.shared, |cause| {
            while let Some(job) = self.shared.queues.next() {
                job.reply(Err(cause.unavailable()));
            }
        });
        // A commit that failed at its very end may be on disk with its marks.
        if let Ok(due) = self.shared.tenants_due() {
            self.replays.mark(due);
            self.replays.queue(&self.shared.queues);
        }
    }

    /// Carries out the batch, and further commands while the batch is open; returns the outcome of each command once
    /// all of it is on disk.
    fn transact(&mut self, batch: &mut Batch) -> Result<Vec<CommandResult>, TransactionFailure> {
        let mut engagement = self.engagement().map_err(TransactionFailure::Store)?;
        let transaction = self.shared.begin().map_err(TransactionFailure::Store)?;
        let carried_out = self.carry_out_all(&transaction, &mut engagement, batch);
        self.kept.engagement = Some(engagement);
        match carried_out {
            Ok(BatchResult { outcomes, to_replay, known, engagement, found, rows }) => {
                let began = Instant::now();
                transaction.commit().map_err(|error| TransactionFailure::Store(error.into()))?;
                self.count_commit(began.elapsed(), batch.jobs.len(), rows, found);
                self.replays.mark(to_replay);
                self.shared.show_latest(&scope_of(&batch.jobs));
                self.shared.held.let_go_of_old(self.shared.progress.written_bytes());
                self.kept.commit(known, engagement);
                self.shared.listeners.wake(&batch.jobs);
                Ok(outcomes)
            }
            Err(failed) => {
                // Dropping the transaction while unwinding would leave the file in need of a repair.
                transaction.abort().map_err(|error| TransactionFailure::Store(error.into()))?;
                Err(failed)
            }
        }
    }

    fn count_commit(
        &self,
        took: Duration,
        commands: usize,
        rows: usize,
        found: BTreeMap<&'static str, u64>,
    ) {
        let measures = &self.shared.measures;
        measures.commits.record_time(took);
        measures.batch_commands.record(commands as u64);
        measures.batch_rows.record(rows as u64);
        measures.count_issues(found);
    }

    fn carry_out_all(
        &mut self,
        transaction: &WriteTransaction,
        engagement: &mut engagement::EngagementCache,
        batch: &mut Batch,
    ) -> Result<BatchResult, TransactionFailure> {
        let of_store = |error: StoreError| TransactionFailure::Store(error);
        let of_all = |error: StoreError| match error.is_of_the_file() {
            true => TransactionFailure::Store(error),
            false => TransactionFailure::Together(error),
        };
        // Stored again only once the transaction is committed.
        let known = std::mem::take(&mut self.kept.known);
        let tables = WriteTables::begin(transaction, known, engagement);
        let mut tables = tables.map_err(|error| of_store(error.into()))?;
        if batch.is_careful {
            tables.avoid_runs();
        }
        let mut pending = Pending::default();
        let mut outcomes = Vec::with_capacity(batch.jobs.len());
        let mut load = BatchSize::default();
        batch.at = 0;
        while let Some(job) = batch.jobs.get_mut(batch.at) {
            load.add(job);
            let settle = |now| self.shared.settle(now);
            let done = AssertUnwindSafe(|| {
                let clock = (&*self.shared.clock, settle);
                self.sequence.carry_out(job, clock, &mut tables, &mut pending)
            });
            match catch_unwind(done) {
                Ok(Ok(outcome)) => outcomes.push(outcome),
                Ok(Err(error)) => return Err(classify_failure(error, &mut tables)),
                Err(thrown) => {
                    return Err(classify_failure(corruption::error_of(&*thrown), &mut tables));
                }
            }
            batch.at += 1;
            if batch.is_open && batch.at == batch.jobs.len() {
                batch.jobs.extend(self.pace.next(&load, &self.shared.queues));
            }
        }
        tokens::mark_used(&mut tables, self.shared.uses.take()).map_err(of_store)?;
        let now = self.sequence.now(&*self.shared.clock);
        let found = pending.found();
        let flushed =
            corruption::contained(|| pending.flush(&mut tables, &mut self.sequence.ids, now));
        let to_replay = flushed.map_err(of_all)?;
        self.sequence.stored = now;
        self.store_times(&mut tables).map_err(of_store)?;
        meta::store_ids(&mut tables.meta, &self.sequence.ids).map_err(of_store)?;
        let finished = corruption::contained(|| match load.is_bulk() {
            true => tables.finish_bulk(),
            false => tables.finish(),
        });
        let (known, engagement) = finished.map_err(of_all)?;
        Ok(BatchResult { outcomes, to_replay, known, engagement, found, rows: load.rows() })
    }

    /// Notes the times of the store, from which a start continues.
    fn store_times(&self, tables: &mut WriteTables<'_>) -> Result<(), StoreError> {
        let times = {
            let mut times = self.shared.times();
            times.store(self.sequence.stored);
            *times
        };
        // Not under the lock: while the disk hangs, `/health` needs it.
        meta::store_times(&mut tables.meta, &times)
    }

    /// State of the engagement rows; the end of the transaction puts it back.
    fn engagement(&mut self) -> Result<engagement::EngagementCache, StoreError> {
        let known = self.kept.engagement.take();
        let read =
            || engagement::EngagementCache::read(&*self.shared.snapshot()?, self.shared.log_limits);
        known.map_or_else(|| corruption::contained(read), Ok)
    }
}

/// Classifies an error of a command as a failure of the command, the batch or the store.
fn classify_failure(error: StoreError, tables: &mut WriteTables<'_>) -> TransactionFailure {
    match error {
        error if error.is_of_the_file() => TransactionFailure::Store(error),
        error if tables.has_failed() => TransactionFailure::Together(error),
        error => TransactionFailure::Command(error),
    }
}
