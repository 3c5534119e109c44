//! Data that a commit may have changed, by its commands.

use svctrack_core::value::TenantId;

use super::queue::QueuedCommand;
use crate::{Command, reads::versions::CommitScope};

/// Data that these commands may have changed.
pub(crate) fn scope_of<'j>(jobs: impl IntoIterator<Item = &'j QueuedCommand>) -> CommitScope {
    let mut tenants = Vec::new();
    let mut scope = CommitScope { tenants: None, is_events: true };
    let mut is_of_some = true;
    for job in jobs {
        scope.is_events &= job.command.is_events();
        match changed_tenant(&job.command, job.actor.tenant.id()) {
            Some(tenant) if tenants.last() == Some(&tenant) => {}
            Some(tenant) => tenants.push(tenant),
            None => is_of_some = false,
        }
    }
    scope.tenants = is_of_some.then_some(tenants);
    scope
}

/// The only tenant that a command changes; none where others may be affected as well.
fn changed_tenant(command: &Command, actor: TenantId) -> Option<TenantId> {
    match command {
        Command::Idempotent { command, .. } => changed_tenant(command, actor),
        Command::Create { .. }
        | Command::Update { .. }
        | Command::DecideRenewal { .. }
        | Command::Delete { .. }
        | Command::CloseMonth(_)
        | Command::ReopenMonth { .. }
        | Command::Upsert { .. }
        | Command::Import(_)
        | Command::Track(_)
        | Command::Replay
        | Command::ReplayEntry(_)
        | Command::DeleteEntry(_)
        | Command::Erase { .. }
        | Command::Audit(_)
        | Command::Unsuppress(_) => Some(actor),
        Command::AddTenant { .. }
        | Command::ChangeTenant { .. }
        | Command::DeleteTenant { .. }
        | Command::ContinueDeletion
        | Command::AddToken { .. }
        | Command::RotateToken { .. }
        | Command::RevokeToken { .. }
        | Command::ContinueErasure(_)
        | Command::Sweep
        | Command::AutoRenew(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::samples::{ONE, OTHER, job, tracked};

    #[test]
    fn a_commit_is_of_the_tenants_of_its_commands_or_of_any() {
        let check = |jobs: &[QueuedCommand], tenants: Option<&[TenantId]>, is_events: bool| {
            let tenants = tenants.map(<[TenantId]>::to_vec);
            assert_eq!(scope_of(jobs), CommitScope { tenants, is_events });
        };
        let removed = || job(ONE, Command::Unsuppress(Vec::new()));
        check(&[tracked(ONE), tracked(ONE), tracked(OTHER)], Some(&[ONE, OTHER]), true);
        check(&[tracked(ONE), removed()], Some(&[ONE]), false);
        check(&[tracked(ONE), job(OTHER, Command::Sweep)], None, false);
    }
}
