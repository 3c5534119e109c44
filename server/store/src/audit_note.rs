//! Audit entries of actions that change no data: exports and denied access.

use std::net::IpAddr;

use svctrack_core::audit::{AuditActor, AuditOutcome, Target};

/// An entry for the audit log about an action that changes no data: an export, or denied access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNote {
    /// Action, a noun and a verb, such as `enduser.export`.
    pub action: &'static str,
    /// Whether the action was done, or denied.
    pub outcome: AuditOutcome,
    /// Target of the action, if it is known.
    pub target: Option<Target>,
    /// Actor and address, where they are not those of the command.
    pub by: Option<(AuditActor, Option<IpAddr>)>,
}

impl AuditNote {
    /// An action of the command's actor on one record of a resource, or on the resource.
    pub fn done(action: &'static str, resource: &str, id: Option<String>) -> Self {
        let target = Some(Target { resource: resource.to_owned(), id });
        Self { action, outcome: AuditOutcome::Done, target, by: None }
    }
}
