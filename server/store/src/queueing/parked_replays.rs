//! Commands that replay parked events: each tenant's is queued among other commands, and a failed one is retried after
//! a pause, a limited number of times.
//!
//! Events to replay are marked on disk, so that nothing is lost after the last retry: they are replayed with the
//! tenant's next mark, or the next start.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use svctrack_core::value::TenantId;
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

use super::queue::{CommandResult, QueuedCommand, Queues};
use crate::{Actor, Command, StoreError, Tenant};

/// Pause before the first retry; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of retries: the last pause is half a minute, and a fault that lasts longer does not pass without
/// help.
const MAX_TRIES: u32 = 6;

/// A queued command, and the channel of its reply.
struct QueuedReplay {
    tenant: Tenant,
    reply: Receiver<CommandResult>,
}

/// A tenant with a failed command.
struct FailedTenant {
    tenant: Tenant,
    tries: u32,
    /// Time of the next retry; none during one.
    again_at: Option<Instant>,
}

/// The tenants with parked events to replay.
#[derive(Default)]
pub(crate) struct ReplayQueue {
    due: BTreeMap<TenantId, Tenant>,
    under_way: Vec<QueuedReplay>,
    failed: BTreeMap<TenantId, FailedTenant>,
}

impl ReplayQueue {
    /// Parked events of these tenants are marked.
    pub(crate) fn mark(&mut self, tenants: BTreeMap<TenantId, Tenant>) {
        self.failed.retain(|tenant, _| !tenants.contains_key(tenant));
        self.due.extend(tenants);
    }

    /// Queues the commands that are due.
    pub(crate) fn queue(&mut self, queues: &Queues) {
        for (_, tenant) in std::mem::take(&mut self.due) {
            let actor = Actor::service(tenant);
            let (job, reply) = QueuedCommand::new(actor, Command::Replay);
            match queues.push(job) {
                Ok(()) => self.under_way.push(QueuedReplay { tenant, reply }),
                Err(error) => self.fail(tenant, &error),
            }
        }
    }

    /// Reads the outcomes of the queued commands.
    pub(crate) fn look(&mut self) {
        for mut one in std::mem::take(&mut self.under_way) {
            match one.reply.try_recv() {
                Ok(Ok(_)) => drop(self.failed.remove(&one.tenant.id())),
                Ok(Err(error)) => self.fail(one.tenant, &error),
                Err(TryRecvError::Empty) => self.under_way.push(one),
                Err(TryRecvError::Closed) => {
                    let dropped = StoreError::Internal("the command was dropped".to_owned());
                    self.fail(one.tenant, &dropped);
                }
            }
        }
    }

    fn fail(&mut self, tenant: Tenant, error: &StoreError) {
        let tries = self.failed.get(&tenant.id()).map_or(0, |failed| failed.tries);
        if tries >= MAX_TRIES {
            tracing::error!(cause = %error, tries, "replay of parked events failed");
            self.failed.remove(&tenant.id());
            return;
        }
        tracing::warn!(cause = %error, tries, "replay of parked events failed, retrying");
        let again_at = Some(Instant::now() + FIRST_PAUSE * 2_u32.pow(tries));
        self.failed.insert(tenant.id(), FailedTenant { tenant, tries: tries + 1, again_at });
    }

    /// Time of the next retry.
    pub(crate) fn next_try(&self) -> Option<Instant> {
        self.failed.values().filter_map(|failed| failed.again_at).min()
    }

    /// Marks tenants as due at the end of their pause.
    pub(crate) fn try_again(&mut self) {
        let now = Instant::now();
        for (id, failed) in &mut self.failed {
            if failed.again_at.take_if(|at| *at <= now).is_some() {
                self.due.insert(*id, failed.tenant);
            }
        }
    }
}
