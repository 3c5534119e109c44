//! Listeners to the activities of a tenant: a commit wakes those of the tenants that it is about, and no others.

use std::collections::HashMap;

use parking_lot::Mutex;
use svctrack_core::value::TenantId;
use tokio::sync::watch;

use super::queue::QueuedCommand;
use crate::Command;

/// Commits of each tenant with listeners, counted.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<TenantId, watch::Sender<u64>>>);

impl Listeners {
    /// Counter of the commits of a tenant.
    pub(crate) fn subscribe(&self, tenant: TenantId) -> watch::Receiver<u64> {
        let mut commits = self.0.lock();
        commits.retain(|_, commits| commits.receiver_count() > 0);
        commits.entry(tenant).or_default().subscribe()
    }

    /// Wakes the listeners that have to check for activities after a commit.
    pub(crate) fn wake<'j>(&self, jobs: impl IntoIterator<Item = &'j QueuedCommand>) {
        let commits = self.0.lock();
        if commits.is_empty() {
            return;
        }
        let mut woken: Vec<_> = jobs.into_iter().filter_map(changed_tenant).collect();
        woken.sort_unstable();
        woken.dedup();
        for tenant in woken {
            if let Some(commits) = commits.get(&tenant) {
                commits.send_modify(|commits| *commits += 1);
            }
        }
    }
}

/// Tenant whose listeners have to check: there may be new activities, or they may no longer listen.
fn changed_tenant(job: &QueuedCommand) -> Option<TenantId> {
    changed(&job.command, job.actor.tenant.id())
}

fn changed(command: &Command, actor: TenantId) -> Option<TenantId> {
    match command {
        Command::Idempotent { command, .. } => changed(command, actor),
        Command::Track(_) | Command::Replay | Command::ReplayEntry(_) => Some(actor),
        Command::ChangeTenant { id, .. } | Command::DeleteTenant { id, .. } => Some(*id),
        Command::RevokeToken { .. } | Command::RotateToken { .. } => Some(actor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Precondition,
        queueing::samples::{ONE, OTHER, job, tracked},
    };

    #[test]
    fn those_of_the_tenant_that_changed_are_woken_and_no_others() {
        let listeners = Listeners::default();
        let (mut one, mut other) = (listeners.subscribe(ONE), listeners.subscribe(OTHER));
        let mut woken = |job: QueuedCommand| {
            listeners.wake([&job]);
            [&mut one, &mut other].map(|commits| {
                let is_woken = commits.has_changed().unwrap();
                commits.mark_unchanged();
                is_woken
            })
        };
        assert_eq!(woken(tracked(ONE)), [true, false]);
        assert_eq!(woken(tracked(OTHER)), [false, true]);
        assert_eq!(woken(job(ONE, Command::Sweep)), [false, false]);
        // An operator belongs to no tenant.
        let delete = Command::DeleteTenant { id: OTHER, precondition: Precondition::Anything };
        assert_eq!(woken(job(ONE, delete)), [false, true]);
    }

    #[test]
    fn a_tenant_that_nobody_listens_to_is_forgotten() {
        let listeners = Listeners::default();
        drop(listeners.subscribe(ONE));
        let _other = listeners.subscribe(OTHER);
        assert_eq!(listeners.0.lock().len(), 1);
    }
}
