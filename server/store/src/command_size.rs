//! The cost of a command for a store.

use svctrack_core::{tracking::Event, value::Document};

use super::{Command, Upserts};

impl Command {
    /// Number of records or events of the command.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Upsert { items, .. } | Self::Import(Upserts { items, .. }) => items.len(),
            Self::Idempotent { command, .. } => command.rows(),
            Self::Track(tracking) => (tracking.events.len() + tracking.findings.len()).max(1),
            _ => 1,
        }
    }

    /// Whether the command is bulk work: of several rows, of a part of a body, or of the service itself.
    pub(crate) fn is_bulk(&self) -> bool {
        match self {
            Self::Idempotent { command, .. } => command.is_bulk(),
            Self::Track(tracking) => tracking.is_part,
            Self::Sweep
            | Self::AutoRenew(_)
            | Self::ContinueErasure(_)
            | Self::ContinueDeletion => true,
            _ => self.rows() > 1,
        }
    }

    /// Whether the command stores events, which change no tenant and no settings.
    pub(crate) fn is_events(&self) -> bool {
        match self {
            Self::Idempotent { command, .. } => command.is_events(),
            Self::Track(_) => true,
            _ => false,
        }
    }

    /// Whether the command is a part of a body, and the next part is about to come.
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Self::Idempotent { command, .. } => command.has_more(),
            Self::Track(tracking) => tracking.has_more,
            _ => false,
        }
    }

    /// About how many bytes the command adds to a transaction.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Create { body, .. }
            | Self::Update { body, .. }
            | Self::DecideRenewal { body, .. } => {
                bytes_of_document(&body.patch) + bytes_of_document(&body.fixed)
            }
            Self::Upsert { items, .. } | Self::Import(Upserts { items, .. }) => {
                items.iter().flatten().map(bytes_of_document).sum()
            }
            Self::Idempotent { command, .. } => command.bytes(),
            Self::Track(tracking) => tracking.events.iter().map(bytes_of_event).sum(),
            _ => 0,
        }
    }
}

fn bytes_of_event(event: &Event) -> usize {
    let members = event.identity.members();
    let identity: usize = members.iter().filter_map(|(_, value)| *value).map(str::len).sum();
    let texts = [&event.action, &event.info, &event.message_id];
    identity + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

fn bytes_of_document(document: &Document) -> usize {
    document.iter().map(|(name, value)| name.len() + value.text().len()).sum()
}
