//! Commands that share a transaction, and their number: enough to amortize a commit, and few enough bulk commands not
//! to delay others.

use std::time::{Duration, Instant};

use svctrack_core::tracking::bulk::MAX_ROWS_PER_COMMIT;
use tokio::runtime::Handle;

use super::queue::{CommandResult, CommandSize, QueuedCommand, Queues};
use crate::StoreError;

/// Number of rows, records or events, from which on a batch takes no more: a commit is spread over enough of them by
/// then, and the first one does not wait for the last for long.
const MAX_ROWS: usize = MAX_ROWS_PER_COMMIT;
/// Size from which on a batch takes no more, in bytes, so that a transaction stays small.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Time of planning after which a batch takes no more; the first command waits for its response.
const MAX_TIME: Duration = Duration::from_millis(15);
/// Rows of bulk commands in a batch while others write single ones: a few milliseconds, for which these wait.
const MAX_BULK_ROWS_BESIDE: usize = 125;
/// How long after a single command further ones are expected.
const BESIDE_FOR: Duration = Duration::from_secs(2);

/// How long a batch waits for the next part of a body, which is just being read, when no other command waits for the
/// batch: without it, bodies of a thousand rows would take two commits each.
const NEXT_PART_WITHIN: Duration = Duration::from_millis(1);

/// Commands that share a transaction.
pub(crate) struct Batch {
    pub(crate) jobs: Vec<QueuedCommand>,
    /// Index of the command that is being carried out; the number of commands once all have been.
    pub(crate) at: usize,
    /// Whether commands that wait may still join.
    pub(crate) is_open: bool,
    /// Whether the batch avoids reads of adjacent rows, since it failed without that.
    pub(crate) is_careful: bool,
}

impl Batch {
    /// A batch with a command that others may join.
    pub(crate) fn open(first: QueuedCommand) -> Self {
        Self { is_open: true, ..Self::closed(vec![first]) }
    }

    /// A batch of commands that no others may join.
    pub(crate) fn closed(jobs: Vec<QueuedCommand>) -> Self {
        Self { jobs, at: 0, is_open: false, is_careful: false }
    }

    /// Sends the outcomes of all commands, to each runtime of callers at once: a runtime is woken once for all, and not
    /// before the last of its outcomes is there.
    pub(crate) fn reply_all(&mut self, outcomes: Vec<CommandResult>) {
        let mut of_runtimes: Vec<(Handle, Vec<(QueuedCommand, CommandResult)>)> = Vec::new();
        for (mut job, outcome) in self.jobs.drain(..).zip(outcomes) {
            let Some(runtime) = job.runtime.take() else {
                job.reply(outcome);
                continue;
            };
            let known = of_runtimes.iter_mut().find(|(known, _)| known.id() == runtime.id());
            match known {
                Some((_, replies)) => replies.push((job, outcome)),
                None => of_runtimes.push((runtime, vec![(job, outcome)])),
            }
        }
        for (runtime, replies) in of_runtimes {
            runtime.spawn(async move {
                replies.into_iter().for_each(|(job, outcome)| job.reply(outcome));
            });
        }
    }

    /// Rejects the command that was being carried out with the error, and drops it from the batch.
    pub(crate) fn reject_current(&mut self, error: StoreError) {
        if self.at < self.jobs.len() {
            self.jobs.remove(self.at).reply(Err(error));
        } else {
            self.reject_all(&error);
        }
    }

    /// Rejects every command with the error of the store.
    pub(crate) fn reject_all(&mut self, error: &StoreError) {
        self.jobs.drain(..).for_each(|job| job.reply(Err(error.unavailable())));
    }
}

/// Size of a batch so far.
pub(crate) struct BatchSize {
    rows: usize,
    bytes: usize,
    bulk_rows: usize,
    has_single: bool,
    /// Whether the next part of a body is about to come.
    has_more: bool,
    since: Instant,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self {
            rows: 0,
            bytes: 0,
            bulk_rows: 0,
            has_single: false,
            has_more: false,
            since: Instant::now(),
        }
    }
}

impl BatchSize {
    pub(crate) fn add(&mut self, job: &QueuedCommand) {
        let rows = job.command.rows();
        self.rows += rows;
        self.bytes += job.bytes;
        self.has_more = job.command.has_more();
        match job.size() {
            CommandSize::Single => self.has_single = true,
            CommandSize::Bulk => self.bulk_rows += rows,
        }
    }

    /// Number of rows in the batch.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the batch has bulk commands.
    pub(crate) fn is_bulk(&self) -> bool {
        self.bulk_rows > 0
    }

    fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS || self.bytes >= MAX_BYTES || self.since.elapsed() >= MAX_TIME
    }
}

/// Notes single commands, during which bulk commands run in small steps.
#[derive(Default)]
pub(crate) struct BulkThrottle {
    single_at: Option<Instant>,
}

impl BulkThrottle {
    /// Next command for a batch: single ones as long as there is room, then bulk. Every batch takes one bulk command,
    /// so that bulk continues however many single ones there are.
    pub(crate) fn next(&mut self, load: &BatchSize, queues: &Queues) -> Option<QueuedCommand> {
        if load.has_single {
            self.single_at = Some(Instant::now());
        }
        let single = if load.is_full() { None } else { queues.next_single() };
        if single.is_some() {
            return single;
        }
        let alone = load.has_more && !self.is_beside_single();
        let within = if alone && !load.is_full() { NEXT_PART_WITHIN } else { Duration::ZERO };
        queues.next_bulk(self.room_for_bulk(load), within)
    }

    fn is_beside_single(&self) -> bool {
        self.single_at.is_some_and(|at| at.elapsed() < BESIDE_FOR)
    }

    /// Number of rows of bulk that the batch may still take: any number where it has none yet.
    fn room_for_bulk(&self, load: &BatchSize) -> usize {
        match load.bulk_rows {
            0 => usize::MAX,
            _ if load.is_full() => 0,
            rows if self.is_beside_single() => MAX_BULK_ROWS_BESIDE.saturating_sub(rows),
            rows => MAX_ROWS.saturating_sub(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::{
        plan::Route,
        tracking::Event,
        value::{TenantId, Timestamp},
    };

    use super::*;
    use crate::{Actor, Command, Reply, Tenant, Tracking};

    fn track(events: usize) -> QueuedCommand {
        let tenant = Tenant::assume_authorized(TenantId::from_bytes([1; 16]));
        let events = vec![Event::default(); events];
        let tracking = Tracking {
            is_part: events.len() > 1,
            ..Tracking::without_findings(events, Timestamp::MIN, Route::Bulk)
        };
        QueuedCommand::new(Actor::service(tenant), Command::Track(tracking)).0
    }

    /// The rows of the commands that share a transaction with the first.
    fn batch(pace: &mut BulkThrottle, first: usize, waiting: &[usize]) -> Vec<usize> {
        let queues = Queues::default();
        waiting.iter().for_each(|rows| queues.push(track(*rows)).unwrap());
        // However long the test takes, the batch is not too old.
        let since = Instant::now() + Duration::from_secs(60);
        let mut load = BatchSize { since, ..BatchSize::default() };
        let (mut job, mut taken) = (Some(track(first)), Vec::new());
        while let Some(one) = job {
            load.add(&one);
            taken.push(one.command.rows());
            job = pace.next(&load, &queues);
        }
        taken
    }

    #[test]
    fn bulk_goes_in_small_steps_while_others_write_single_commands() {
        let mut pace = BulkThrottle::default();
        assert_eq!(batch(&mut pace, 125, &[125; 20]), [125; 16]);
        assert_eq!(batch(&mut pace, 125, &[125, 1, 125, 1]), [125, 1, 1]);
        assert_eq!(batch(&mut pace, 125, &[125; 20]), [125]);
        assert_eq!(batch(&mut pace, 1, &[125, 1, 125]), [1, 1, 125]);
        pace.single_at = Instant::now().checked_sub(BESIDE_FOR);
        assert_eq!(batch(&mut pace, 125, &[125; 20]), [125; 16]);
    }

    #[test]
    fn a_commit_takes_no_more_rows_of_bulk_than_it_may() {
        assert_eq!(batch(&mut BulkThrottle::default(), 1_500, &[1_500]), [1_500]);
        assert_eq!(batch(&mut BulkThrottle::default(), 120, &[120; 20]), [120; 16]);
    }

    #[test]
    fn a_commit_takes_no_more_once_it_has_its_bytes() {
        let mut load = BatchSize::default();
        for is_full in [false, true] {
            let info = Some("x".repeat(MAX_BYTES / 2));
            let tracking = Tracking::without_findings(
                vec![Event { info, ..Event::default() }],
                Timestamp::MIN,
                Route::Realtime,
            );
            load.add(&QueuedCommand::new(track(1).actor, Command::Track(tracking)).0);
            load.since = Instant::now() + Duration::from_secs(60);
            assert_eq!(load.is_full(), is_full);
        }
    }

    #[test]
    fn bulk_continues_next_to_any_number_of_single_commands() {
        let waiting = [vec![1; 3_000], vec![125; 2]].concat();
        let taken = batch(&mut BulkThrottle::default(), 1, &waiting);
        assert_eq!((taken.len(), taken.last()), (MAX_ROWS + 1, Some(&125)));
    }

    #[test]
    fn each_caller_gets_its_own_outcome_whichever_runtime_it_waits_on() {
        let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtimes = [Some(runtime().unwrap()), None, Some(runtime().unwrap())];
        let (mut batch, mut replies) = (Batch::closed(Vec::new()), Vec::new());
        for at in 0..30 {
            let entered = runtimes[at % 3].as_ref().map(tokio::runtime::Runtime::enter);
            let (job, reply) = QueuedCommand::new(track(1).actor, Command::Sweep);
            assert_eq!(job.runtime.is_some(), entered.is_some());
            batch.jobs.push(job);
            replies.push(reply);
        }
        batch.reply_all((0..30).map(|at| Ok(Reply::Replayed(at))).collect());
        for (at, reply) in replies.into_iter().enumerate() {
            let outcome = reply.blocking_recv().unwrap();
            assert!(matches!(outcome, Ok(Reply::Replayed(found)) if found == at), "{at}");
        }
    }
}
