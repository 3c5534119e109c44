//! From a command to its changes and its reply, in the middle of the writer's transaction.

use svctrack_core::{
    plan::{
        self, Change, Ctx, Planned,
        upsert::{self, Access, Item, Summary},
        version_of,
    },
    schema::{Lookup, ReadCtx, ResourceDef},
    tracking::identity,
    value::{Document, ObjectId, RecordRef},
};

use super::{
    apply::{Sequences, apply},
    once,
    tables::WriteTables,
    tenants,
    view::View,
};
use crate::store::{Actor, Answer, Command, Expected, Reply, StoreError};

/// What a command will do.
struct Plan {
    changes: Vec<Change>,
    after: After,
}

/// What its reply is, once the changes are made.
enum After {
    Record(&'static ResourceDef, ObjectId, Document),
    Deleted(&'static ResourceDef, Option<(ObjectId, Document)>),
    Tracked,
}

/// Plans a command that makes its changes all at once.
fn plan(command: &Command, lookup: &dyn Lookup, ctx: &mut Ctx) -> Result<Plan, StoreError> {
    match command {
        Command::Create { def, patch } => {
            Ok(record(def, plan::create(def, patch.clone(), lookup, ctx)?))
        }
        Command::Update { def, reference, patch, expected } => {
            let id = lookup.locate(def, reference)?.ok_or(StoreError::NotFound)?;
            check_expected(def, id, expected, lookup)?;
            Ok(record(def, plan::update(def, id, patch.clone(), lookup, ctx)?))
        }
        Command::Delete { def, reference, expected } => delete(def, reference, expected, lookup),
        Command::Track { event, received_at, route } => {
            let changes = identity::plan(event, *received_at, *route, lookup, ctx)?;
            Ok(Plan { changes, after: After::Tracked })
        }
        Command::Upsert { .. }
        | Command::AddTenant { .. }
        | Command::AddToken(_)
        | Command::RevokeToken(_)
        | Command::Once { .. } => {
            Err(StoreError::Internal("this command is not planned all at once".to_owned()))
        }
    }
}

/// Carries out a command in the middle of the writer's transaction. What goes wrong before anything is
/// changed is its outcome; an error means that the transaction cannot stand.
pub(super) fn carry_out(
    actor: &Actor,
    command: &Command,
    tables: &mut WriteTables<'_>,
    sequences: &mut Sequences,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    match command {
        Command::Upsert { def, items, access } => {
            return upsert(actor, def, items, *access, tables, sequences, ctx).map(Ok);
        }
        Command::Once { key, command } => {
            return once::carry_out(actor, key, command, tables, sequences, ctx);
        }
        Command::AddTenant { tenant, token } => {
            return tenants::add_tenant(actor, tenant, token, tables, sequences, ctx);
        }
        Command::AddToken(token) => {
            return tenants::add_token(actor, token, tables, sequences, ctx);
        }
        Command::RevokeToken(id) => {
            let there = tenants::revoke_token(tables, actor.tenant.id(), id)?;
            return Ok(Ok(Reply::TokenRevoked(there)));
        }
        _ => {}
    }
    let lookup = View::in_transaction(actor.tenant.id(), tables);
    let planned = plan(command, &lookup, ctx).and_then(|plan| {
        let reply = reply(plan.after, &ReadCtx { now: ctx.now, lookup: &lookup })?;
        Ok((plan.changes, reply))
    });
    match planned {
        Ok((changes, reply)) => {
            apply(tables, sequences, actor, ctx.now, &changes)?;
            Ok(Ok(reply))
        }
        Err(error) if error.is_of_the_file() => Err(error),
        Err(error) => Ok(Err(error)),
    }
}

/// Each item sees what the ones before it did (R17).
fn upsert(
    actor: &Actor,
    def: &'static ResourceDef,
    items: &[Item],
    access: Access,
    tables: &mut WriteTables<'_>,
    sequences: &mut Sequences,
    ctx: &mut Ctx,
) -> Result<Reply, StoreError> {
    let tenant = actor.tenant.id();
    let mut summary = Summary::default();
    for (index, item) in items.iter().enumerate() {
        let lookup = View::in_transaction(tenant, tables);
        let upserted = upsert::upsert(def, index, item, access, &lookup, ctx)?;
        apply(tables, sequences, actor, ctx.now, &upserted.changes)?;
        summary.add(upserted.outcome);
    }
    Ok(Reply::Upserted { text: summary.answer(def).to_text(), errors: summary.errors() })
}

fn record(def: &'static ResourceDef, planned: Planned) -> Plan {
    Plan { changes: planned.changes, after: After::Record(def, planned.id, planned.document) }
}

/// Refuses a write that is meant for another version (R16).
fn check_expected(
    def: &ResourceDef,
    id: ObjectId,
    expected: &Expected,
    lookup: &dyn Lookup,
) -> Result<(), StoreError> {
    let Expected::OneOf(versions) = expected else { return Ok(()) };
    let stored = lookup.record(def, id)?.ok_or(StoreError::NotFound)?;
    if versions.contains(&(id, version_of(&stored))) { Ok(()) } else { Err(StoreError::Changed) }
}

/// Deleting what is not there is no error (R15).
fn delete(
    def: &'static ResourceDef,
    reference: &RecordRef,
    expected: &Expected,
    lookup: &dyn Lookup,
) -> Result<Plan, StoreError> {
    let nothing = Plan { changes: Vec::new(), after: After::Deleted(def, None) };
    let Some(id) = lookup.locate(def, reference)? else {
        return Ok(nothing);
    };
    let Some(stored) = lookup.record(def, id)? else {
        return Ok(nothing);
    };
    check_expected(def, id, expected, lookup)?;
    let changes = plan::delete(def, id, lookup)?;
    Ok(Plan { changes, after: After::Deleted(def, Some((id, stored))) })
}

/// The reply; it shows the record as it will be, and other records as they are.
fn reply(after: After, ctx: &ReadCtx<'_>) -> Result<Reply, StoreError> {
    Ok(match after {
        After::Record(def, id, document) => Reply::Record(answer(def, id, &document, ctx)?),
        After::Deleted(def, stored) => Reply::Deleted(match stored {
            Some((id, stored)) => Some(answer(def, id, &stored, ctx)?),
            None => None,
        }),
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
    let answer = plan::answer(def, stored, ctx)?;
    let mut computed = None;
    for row in def.rows.iter().filter(|row| !row.is_stored()) {
        let value = answer.get(row.name).map(|value| value.text()).unwrap_or_default();
        let hasher: &mut crc32fast::Hasher = computed.get_or_insert_default();
        hasher.update(value.as_bytes());
        hasher.update(&[0]);
    }
    let computed = computed.map(crc32fast::Hasher::finalize);
    Ok(Answer { id, version: version_of(stored), computed, text: answer.to_text() })
}
