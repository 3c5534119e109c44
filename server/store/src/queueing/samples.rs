//! Jobs that tests of queueing have in common.

use svctrack_core::{
    plan::Route,
    value::{TenantId, Timestamp},
};

use super::queue::QueuedCommand;
use crate::{Actor, Command, Tenant, Tracking};

pub(super) const ONE: TenantId = TenantId::from_bytes([1; 16]);
pub(super) const OTHER: TenantId = TenantId::from_bytes([2; 16]);

pub(super) fn job(tenant: TenantId, command: Command) -> QueuedCommand {
    let tenant = Tenant::assume_authorized(tenant);
    QueuedCommand::new(Actor::service(tenant), command).0
}

/// A command of a tenant to track events: none, as they are not processed here.
pub(super) fn tracked(tenant: TenantId) -> QueuedCommand {
    job(
        tenant,
        Command::Track(Tracking::without_findings(Vec::new(), Timestamp::MIN, Route::Realtime)),
    )
}
