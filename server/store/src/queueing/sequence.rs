//! Ids and times of commands, each after those of the one before.

use svctrack_core::{
    plan::Ctx,
    value::{TenantId, Timestamp},
};

use super::queue::{CommandResult, QueuedCommand};
use crate::{
    Clock, Command, StoreError,
    clock::is_too_late,
    rules::{
        command,
        ids::Ids,
        open_tables::{Tables, Transaction},
        pending::Pending,
    },
    times::ReferenceTimes,
};

/// State from which ids and times continue.
pub(crate) struct Sequence {
    pub(crate) ids: Ids,
    /// Newest stored time, before which nothing is stored.
    pub(crate) stored: Timestamp,
}

impl Sequence {
    /// Carries out one command; a rejection by a rule is an outcome, an error ends the transaction. `settle` returns
    /// the time by which ages are judged for a time of the clock.
    pub(crate) fn carry_out(
        &mut self,
        job: &mut QueuedCommand,
        (clock, settle): (&dyn Clock, impl FnOnce(Timestamp) -> ReferenceTimes),
        tables: &mut Tables<impl Transaction>,
        pending: &mut Pending,
    ) -> Result<CommandResult, StoreError> {
        let now = clock.now();
        if is_too_late(now) {
            return Ok(Err(StoreError::Clock));
        }
        let is_first = pending.settled.is_none();
        let settled = *pending.settled.get_or_insert_with(|| settle(now));
        if now < self.stored {
            // Each commit has a time of its own: a reader that has read up to the one before asks for later data.
            let ms = self.stored.as_ms() + i64::from(is_first);
            self.stored = Timestamp::from_ms_clamped(ms);
            job.command.not_before(self.stored);
        }
        self.stored = self.stored.max(now);
        let owner = owner_of(job);
        let mut ctx = Ctx::new(self.stored, self.ids.sequence(owner), job.actor.user);
        ctx.settled = settled.time;
        let done = command::carry_out(&job.actor, &job.command, tables, pending, &mut ctx);
        self.ids.went_on(owner, ctx.ids);
        done
    }

    /// Time of data that is stored now.
    pub(crate) fn now(&self, clock: &dyn Clock) -> Timestamp {
        let now = clock.now();
        if is_too_late(now) { self.stored } else { now.max(self.stored) }
    }
}

/// Tenant of the records that a command creates.
fn owner_of(job: &QueuedCommand) -> TenantId {
    match &job.command {
        Command::AddTenant { tenant, .. } => tenant.id,
        Command::AddToken { token, .. } => token.tenant,
        _ => job.actor.tenant.id(),
    }
}
