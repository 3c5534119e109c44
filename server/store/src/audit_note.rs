//! Audit entries of actions that change no data: exports and denied access.

use std::net::IpAddr;

use svctrack_core::audit::{Outcome, Target, Who};

/// An entry for the audit log about something that changes no data: an export, or access that was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNote {
    /// A noun and a verb, such as `enduser.export`.
    pub action: &'static str,
    /// Whether the action was done, or denied.
    pub outcome: Outcome,
    /// Target of the action, if it is known.
    pub target: Option<Target>,
    /// Who it was, and from which address, where that is not the actor of the command.
    pub by: Option<(Who, Option<IpAddr>)>,
}

impl AuditNote {
    /// Something that the actor of the command does to one thing of a resource.
    pub fn done(action: &'static str, resource: &str, id: Option<String>) -> Self {
        let target = Some(Target { resource: resource.to_owned(), id });
        Self { action, outcome: Outcome::Done, target, by: None }
    }
}
