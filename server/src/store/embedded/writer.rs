//! The one thread that writes: it takes what waits, plans and applies all of it in one transaction,
//! commits once, and only then answers everyone.
//!
//! Commands are kept until the commit. When planning or applying one of them breaks down, the
//! transaction is dropped, that one is answered with the error, and the others are planned again.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use redb::WriteTransaction;
use svctrack_core::{plan::Ctx, schema::ReadCtx, value::IdSequence};

use super::{
    Shared,
    apply::{Sequences, apply},
    command,
    open::META_LAST_ID,
    queue::Job,
    tables::WriteTables,
    view::View,
};
use crate::store::{Command, Reply, StoreError};

/// A batch takes no more once it has this many commands: a commit is spread over enough of them by
/// then, and the first one does not wait for the last for long.
const MAX_BATCH_COMMANDS: usize = 2_000;
/// A batch takes no more once it holds this many bytes, so that a transaction stays small.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A batch takes no more once it has been planned for this long; the first one waits for its answer.
const MAX_BATCH_TIME: Duration = Duration::from_millis(15);

/// Pause between two tries to open the file again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);

type Outcome = Result<Reply, StoreError>;

/// The writer's own state.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) ids: IdSequence,
}

/// Commands that share a transaction.
struct Batch {
    jobs: Vec<Job>,
    /// Which of them is being planned; as many as there are once all have been.
    at: usize,
}

impl Batch {
    /// Answers the command that was being planned with the reason, and drops it from the batch.
    fn refuse_guilty(&mut self, error: StoreError) {
        if self.at < self.jobs.len() {
            answer(self.jobs.remove(self.at), Err(error));
        } else {
            self.refuse_all(&error.to_string());
        }
    }

    /// Answers every command that the store cannot take it now.
    fn refuse_all(&mut self, reason: &str) {
        for job in self.jobs.drain(..) {
            answer(job, Err(StoreError::Unavailable(reason.to_owned())));
        }
    }
}

fn answer(job: Job, outcome: Outcome) {
    // Whoever asked may have gone; what was written stays written.
    let _ = job.answer.send(outcome);
}

impl Writer {
    /// Serves commands until the queues are closed and empty.
    pub(super) fn run(mut self) {
        while let Some(first) = self.shared.queues.next_or_wait() {
            self.serve(Batch {
                jobs: vec![first],
                at: 0,
            });
        }
    }

    fn serve(&mut self, mut batch: Batch) {
        let mut taking = true;
        while !batch.jobs.is_empty() {
            let tried = catch_unwind(AssertUnwindSafe(|| self.transact(&mut batch, taking)));
            taking = false;
            match tried {
                Ok(Ok(outcomes)) => {
                    batch
                        .jobs
                        .drain(..)
                        .zip(outcomes)
                        .for_each(|(job, outcome)| answer(job, outcome));
                }
                Ok(Err(error)) if error.is_of_the_file() => {
                    tracing::error!(cause = %error, commands = batch.jobs.len(), "a commit failed");
                    self.refuse(&mut batch, error);
                    self.recover();
                }
                Ok(Err(error)) => {
                    tracing::error!(cause = %error, "a command failed");
                    batch.refuse_guilty(error);
                }
                Err(panic) => {
                    let cause = panic_message(&*panic);
                    tracing::error!(cause, "a command panicked");
                    batch.refuse_guilty(StoreError::Internal(cause.to_owned()));
                }
            }
        }
    }

    /// Opens the file again, as often as it takes; meanwhile every command is refused.
    fn recover(&self) {
        while !self.shared.reopen() && !self.shared.queues.is_closed() {
            thread::sleep(REOPEN_PAUSE);
            while let Some(job) = self.shared.queues.next() {
                answer(
                    job,
                    Err(StoreError::Unavailable(
                        "the file cannot be opened".to_owned(),
                    )),
                );
            }
        }
    }

    fn refuse(&self, batch: &mut Batch, error: StoreError) {
        match error {
            StoreError::Full => {
                batch
                    .jobs
                    .drain(..)
                    .for_each(|job| answer(job, Err(StoreError::Full)));
            }
            other => batch.refuse_all(&other.to_string()),
        }
    }

    /// Plans and applies the batch, and whatever else waits if `taking`; answers what each command
    /// came to once all of it is on disk.
    fn transact(&mut self, batch: &mut Batch, taking: bool) -> Result<Vec<Outcome>, StoreError> {
        let database = self.shared.database()?;
        let transaction = begin(&database)?;
        let mut outcomes = Vec::with_capacity(batch.jobs.len());
        {
            let mut tables = WriteTables::open(&transaction)?;
            let mut sequences = Sequences::new();
            let started = Instant::now();
            let mut bytes = 0;
            batch.at = 0;
            while let Some(job) = batch.jobs.get(batch.at) {
                bytes += size_of_command(&job.command);
                outcomes.push(self.carry_out(job, &mut tables, &mut sequences)?);
                batch.at += 1;
                let full = batch.jobs.len() >= MAX_BATCH_COMMANDS || bytes >= MAX_BATCH_BYTES;
                if taking
                    && !full
                    && batch.at == batch.jobs.len()
                    && started.elapsed() < MAX_BATCH_TIME
                {
                    batch.jobs.extend(self.shared.queues.next());
                }
            }
            if let Some(last) = self.ids.last() {
                tables
                    .meta
                    .insert(META_LAST_ID, last.as_bytes().as_slice())?;
            }
        }
        transaction.commit()?;
        Ok(outcomes)
    }

    /// One command; a rule's refusal is an outcome, anything else that goes wrong ends the transaction.
    fn carry_out(
        &mut self,
        job: &Job,
        tables: &mut WriteTables<'_>,
        sequences: &mut Sequences,
    ) -> Result<Outcome, StoreError> {
        let tenant = job.actor.tenant.id();
        let mut ctx = Ctx {
            now: self.shared.clock.now(),
            ids: self.ids.clone(),
        };
        let planned = command::plan(
            &job.command,
            &View::in_transaction(tenant, tables),
            &mut ctx,
        );
        self.ids = ctx.ids;
        let plan = match planned {
            Ok(plan) => plan,
            Err(error) if error.is_refusal() => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        apply(tables, sequences, &job.actor, &plan.changes)?;
        let lookup = View::in_transaction(tenant, tables);
        command::reply(
            plan.after,
            &ReadCtx {
                now: ctx.now,
                lookup: &lookup,
            },
        )
        .map(Ok)
    }
}

/// The one place where a write begins: every commit is durable, and leaves a file that opens at once
/// after a crash.
pub(super) fn begin(database: &redb::Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(redb::Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// About how many bytes a command adds to a transaction.
fn size_of_command(command: &Command) -> usize {
    match command {
        Command::Create { patch, .. } | Command::Update { patch, .. } => patch
            .iter()
            .map(|(name, value)| name.len() + value.text().len())
            .sum(),
        Command::Delete { .. } => 0,
        Command::Track { event, .. } => event.info.as_ref().map_or(0, String::len),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}
