//! Commands that wait for the writer: bounded queues, one a tenant for single commands and one for bulk, served in
//! turn, so that no tenant waits for all of another's commands, and no single event or record for a body of thousands.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use svctrack_core::value::TenantId;
use tokio::{runtime::Handle, sync::oneshot};

use crate::{Actor, Command, Reply, StoreError};

/// The outcome of a command.
pub(crate) type CommandResult = Result<Reply, StoreError>;

/// Maximum number of commands in a queue: each connection waits for one command, or for up to 32 parts of a body.
const MAX_WAITING: usize = 32 * 4_096;
/// About how many bytes may wait in the queues of a size: those of all bodies that are held, and no more than that from
/// clients that have disconnected meanwhile.
const MAX_WAITING_BYTES: usize = 64 * 1024 * 1024;

/// Longest sleep of the writer without a time of a retry; it is woken before.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);

/// A queued command, with the channel of its reply.
pub(crate) struct QueuedCommand {
    pub(crate) actor: Actor,
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<CommandResult>,
    /// Runtime of the caller; none for a command of the writer itself.
    pub(crate) runtime: Option<Handle>,
    /// About how many bytes the command adds to a transaction.
    pub(crate) bytes: usize,
}

/// Size of a command for the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandSize {
    /// A record or an event.
    Single,
    /// Many records or events; a batch takes a few of them next to single ones.
    Bulk,
}

impl QueuedCommand {
    /// A command, and the channel of its reply.
    pub(crate) fn new(actor: Actor, command: Command) -> (Self, oneshot::Receiver<CommandResult>) {
        let (reply, replied) = oneshot::channel();
        let bytes = command.bytes();
        let runtime = Handle::try_current().ok();
        (Self { actor, command, reply, runtime, bytes }, replied)
    }

    /// Sends the outcome. The caller may wait no longer; written data stays written.
    pub(crate) fn reply(self, outcome: CommandResult) {
        let _ = self.reply.send(outcome);
    }

    pub(crate) fn size(&self) -> CommandSize {
        if self.command.is_bulk() { CommandSize::Bulk } else { CommandSize::Single }
    }
}

/// Queues of commands of one size, by tenant.
#[derive(Default)]
struct TenantQueues {
    of_tenant: BTreeMap<TenantId, VecDeque<QueuedCommand>>,
    turns: VecDeque<TenantId>,
    /// About how many bytes wait, of all tenants.
    bytes: usize,
}

#[derive(Default)]
struct QueueState {
    single: TenantQueues,
    bulk: TenantQueues,
    closed: bool,
    writer_sleeps: bool,
    reopen: bool,
}

/// Next task of the writer.
#[expect(clippy::large_enum_variant, reason = "a box would be one allocation more for each event")]
pub(crate) enum WriterTask {
    /// Carry out a command, and further ones that wait.
    Serve(QueuedCommand),
    /// Reopen the file, since a read found it failing.
    Reopen,
    /// Retry what is due.
    TryAgain,
}

/// The queues of all tenants.
#[derive(Default)]
pub(crate) struct Queues {
    waiting: Mutex<QueueState>,
    wake: Condvar,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.waiting.lock()
    }

    /// Adds a command at the end of its tenant's queue.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when the queue is full, [`StoreError::Unavailable`] when it is closed.
    pub(crate) fn push(&self, job: QueuedCommand) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        match job.size() {
            CommandSize::Single => waiting.single.push(job)?,
            CommandSize::Bulk => waiting.bulk.push(job)?,
        }
        if waiting.writer_sleeps {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Next command in turn, if one waits: single ones first.
    pub(crate) fn next(&self) -> Option<QueuedCommand> {
        self.lock().next()
    }

    /// Next single command in turn, if one waits.
    pub(crate) fn next_single(&self) -> Option<QueuedCommand> {
        self.lock().single.next()
    }

    /// Next bulk command in turn, if one waits, or comes in time, and has at most this many rows.
    pub(crate) fn next_bulk(&self, max_rows: usize, within: Duration) -> Option<QueuedCommand> {
        let mut waiting = self.lock();
        if waiting.is_empty() && !within.is_zero() {
            self.sleep(&mut waiting, within);
        }
        let fits = waiting.bulk.first().is_some_and(|job| job.command.rows() <= max_rows);
        fits.then(|| waiting.bulk.next()).flatten()
    }

    /// Unlocks the queues until something is added, or for a time.
    fn sleep(&self, waiting: &mut MutexGuard<'_, QueueState>, within: Duration) {
        waiting.writer_sleeps = true;
        self.wake.wait_for(waiting, within);
        waiting.writer_sleeps = false;
    }

    /// Next task; waits for one, or for the time of a retry, and ends when the queues are closed and empty.
    pub(crate) fn work(&self, next_try: Option<Instant>) -> Option<WriterTask> {
        let mut waiting = self.lock();
        loop {
            if std::mem::take(&mut waiting.reopen) {
                return Some(WriterTask::Reopen);
            }
            let pause = next_try.map(|at| at.saturating_duration_since(Instant::now()));
            if pause.is_some_and(|pause| pause.is_zero()) && !waiting.closed {
                return Some(WriterTask::TryAgain);
            }
            if let Some(job) = waiting.next() {
                return Some(WriterTask::Serve(job));
            }
            if waiting.closed {
                return None;
            }
            self.sleep(&mut waiting, pause.unwrap_or(LONGEST_SLEEP));
        }
    }

    /// Number of commands that wait, single ones and bulk, and about how many bytes they hold.
    pub(crate) fn depth(&self) -> (usize, usize, usize) {
        let waiting = self.lock();
        let (single, bulk) = (&waiting.single, &waiting.bulk);
        (single.len(), bulk.len(), single.bytes + bulk.bytes)
    }

    /// Asks the writer to open the file again.
    pub(crate) fn ask_to_reopen(&self) {
        self.lock().reopen = true;
        self.wake.notify_one();
    }

    /// Whether further commands are rejected.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Rejects further commands; those that wait are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }
}

impl QueueState {
    fn is_empty(&self) -> bool {
        self.single.turns.is_empty() && self.bulk.turns.is_empty()
    }

    fn next(&mut self) -> Option<QueuedCommand> {
        self.single.next().or_else(|| self.bulk.next())
    }
}

impl TenantQueues {
    fn len(&self) -> usize {
        self.of_tenant.values().map(VecDeque::len).sum()
    }

    fn push(&mut self, job: QueuedCommand) -> Result<(), StoreError> {
        let tenant = job.actor.tenant.id();
        let queue = self.of_tenant.entry(tenant).or_default();
        let bytes = self.bytes + job.bytes;
        if queue.len() >= MAX_WAITING || (self.bytes > 0 && bytes > MAX_WAITING_BYTES) {
            return Err(StoreError::Busy);
        }
        self.bytes = bytes;
        if queue.is_empty() {
            self.turns.push_back(tenant);
        }
        queue.push_back(job);
        Ok(())
    }

    fn first(&self) -> Option<&QueuedCommand> {
        self.of_tenant.get(self.turns.front()?)?.front()
    }

    fn next(&mut self) -> Option<QueuedCommand> {
        let tenant = self.turns.pop_front()?;
        let queue = self.of_tenant.get_mut(&tenant)?;
        let job = queue.pop_front();
        self.bytes -= job.as_ref().map_or(0, |job| job.bytes);
        if queue.is_empty() {
            self.of_tenant.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::{
        plan::Route,
        resources::company::COMPANY,
        tracking::Event,
        value::{RecordRef, Timestamp},
    };

    use super::*;
    use crate::{Precondition, Tenant, Tracking};

    fn job(tenant: u8) -> QueuedCommand {
        let tenant = Tenant::assume_authorized(TenantId::from_bytes([tenant; 16]));
        let reference = RecordRef::External("x".to_owned());
        let command =
            Command::Delete { def: &COMPANY, reference, precondition: Precondition::Anything };
        QueuedCommand::new(Actor::service(tenant), command).0
    }

    #[test]
    fn tenants_are_served_in_turn() {
        let queues = Queues::default();
        for tenant in [1, 1, 1, 2, 3, 2] {
            queues.push(job(tenant)).unwrap();
        }
        let order: Vec<_> = std::iter::from_fn(|| queues.next())
            .map(|job| job.actor.tenant.id().as_bytes()[0])
            .collect();
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
    }

    fn bulk(tenant: u8) -> QueuedCommand {
        QueuedCommand::new(job(tenant).actor, Command::Sweep).0
    }

    #[test]
    fn single_commands_pass_bulk() {
        let queues = Queues::default();
        for job in [bulk(1), bulk(1), job(1), bulk(2), job(2)] {
            queues.push(job).unwrap();
        }
        let order: Vec<_> = std::iter::from_fn(|| queues.next())
            .map(|job| (job.size() == CommandSize::Bulk, job.actor.tenant.id().as_bytes()[0]))
            .collect();
        assert_eq!(order, [(false, 1), (false, 2), (true, 1), (true, 2), (true, 1)]);
    }

    #[test]
    fn a_full_queue_rejects_its_own_tenant_only() {
        let queues = Queues::default();
        for _ in 0..MAX_WAITING {
            queues.push(job(1)).unwrap();
        }
        assert!(matches!(queues.push(job(1)), Err(StoreError::Busy)));
        assert!(queues.push(job(2)).is_ok());
    }

    #[test]
    fn queues_hold_a_limited_number_of_bytes_and_take_more_as_they_are_served() {
        let large = || {
            let info = Some("x".repeat(MAX_WAITING_BYTES / 2 + 1));
            let events = vec![Event { info, ..Event::default() }];
            let tracking = Tracking::without_findings(events, Timestamp::MIN, Route::Realtime);
            QueuedCommand::new(job(1).actor, Command::Track(tracking)).0
        };
        let queues = Queues::default();
        queues.push(large()).unwrap();
        assert!(matches!(queues.push(large()), Err(StoreError::Busy)));
        assert!(queues.push(job(2)).is_ok());
        assert!(queues.next().is_some());
        assert!(queues.push(large()).is_ok());
    }

    #[test]
    fn closed_queues_are_emptied_and_take_nothing_more() {
        let queues = Queues::default();
        queues.push(job(1)).unwrap();
        queues.close();
        assert!(matches!(queues.push(job(1)), Err(StoreError::Unavailable(_))));
        assert!(matches!(queues.work(None), Some(WriterTask::Serve(_))));
        assert!(queues.work(None).is_none());
    }
}
