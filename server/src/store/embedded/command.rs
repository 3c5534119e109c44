//! From a command to its changes and its reply, in the middle of the writer's transaction.

use svctrack_core::{
    plan::{self, Change, Ctx, Planned, Refusal, version_of},
    schema::{Lookup, ReadCtx, ResourceDef},
    tracking::identity,
    value::{Document, ObjectId, RecordRef},
};

use crate::store::{Answer, Command, Reply, StoreError};

/// What a command will do.
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) after: After,
}

/// What its reply is, once the changes are made.
pub(super) enum After {
    Record(&'static ResourceDef, ObjectId, Document),
    Deleted(bool),
    Tracked,
}

/// Plans a command.
pub(super) fn plan(
    command: &Command,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Plan, StoreError> {
    match command {
        Command::Create { def, patch } => {
            Ok(record(def, plan::create(def, patch.clone(), lookup, ctx)?))
        }
        Command::Update {
            def,
            reference,
            patch,
        } => {
            let id = plan::locate(def, reference, lookup)?.ok_or(StoreError::NotFound)?;
            Ok(record(
                def,
                plan::update(def, id, patch.clone(), lookup, ctx)?,
            ))
        }
        Command::Delete { def, reference } => delete(def, reference, lookup),
        Command::Track {
            event,
            received_at,
            route,
        } => {
            let changes = identity::plan(event, *received_at, *route, lookup, ctx)?;
            Ok(Plan {
                changes,
                after: After::Tracked,
            })
        }
    }
}

fn record(def: &'static ResourceDef, planned: Planned) -> Plan {
    Plan {
        changes: planned.changes,
        after: After::Record(def, planned.id, planned.document),
    }
}

/// Deleting what is not there is no error (R15).
fn delete(
    def: &'static ResourceDef,
    reference: &RecordRef,
    lookup: &dyn Lookup,
) -> Result<Plan, StoreError> {
    let nothing = Plan {
        changes: Vec::new(),
        after: After::Deleted(false),
    };
    let Some(id) = plan::locate(def, reference, lookup)? else {
        return Ok(nothing);
    };
    match plan::delete(def, id, lookup) {
        Ok(changes) => Ok(Plan {
            changes,
            after: After::Deleted(true),
        }),
        Err(Refusal::NotFound) => Ok(nothing),
        Err(refusal) => Err(refusal.into()),
    }
}

/// The reply, read after the changes were made.
pub(super) fn reply(after: After, ctx: &ReadCtx<'_>) -> Result<Reply, StoreError> {
    Ok(match after {
        After::Record(def, id, document) => Reply::Record(answer(def, id, &document, ctx)?),
        After::Deleted(there) => Reply::Deleted(there),
        After::Tracked => Reply::Tracked,
    })
}

/// A stored record as an answer shows it.
pub(super) fn answer(
    def: &ResourceDef,
    id: ObjectId,
    stored: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Answer, StoreError> {
    let text = plan::answer(def, stored, ctx)?.to_text();
    Ok(Answer {
        id,
        version: version_of(stored),
        text,
    })
}
