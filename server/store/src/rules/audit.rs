//! Audit log (`audit`, `audit_records`): a command of a caller that has changed data leaves an entry in the same
//! transaction, under the number of its first change in the change log, and with each record that it changed, the
//! changed properties.
//!
//! Invariant: the changes of a command follow each other in the change log, so that a change belongs to the last entry
//! whose number is not greater than its own.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use svctrack_core::{
    audit::{
        AuditEntry, AuditOutcome, ChangedProperties, ENTRY_VERSION, HASH_BYTES, RecordCounts,
        Target, ValueTrace, changed,
    },
    plan::RenewalDecision,
    resources::{
        self,
        license::LICENSE,
        settings::{self, SETTINGS},
    },
    value::{Document, ObjectId, TenantId, Timestamp},
};

use super::{
    apply::{LoggedChange, log_change},
    closings,
    open_tables::{Tables, Transaction},
    pending::Pending,
    tenant_view::TenantView,
    tokens,
};
use crate::{
    Actor, AuditNote, Command, Reply, StoreError, Tenant, Upserts,
    rows::{
        AppendRows as _, ReadRow as _, keys,
        stored_value::{self, ChangeKind},
    },
};

/// Code in the change log of audited actions that change no record; no resource has it.
pub(crate) const NO_RECORD: u8 = u8::MAX - 1;
/// Number in the log of a tenant under which the salt of its hashes is stored; changes begin with 1.
const SALT_AT: u64 = 0;
const SALT_BYTES: usize = 16;
/// Longest value that is stored, in bytes; a longer one is stored as a hash, so that the log does not become a second
/// place for descriptions of tickets.
const MAX_VALUE_BYTES: usize = 1_024;

/// Changes of the running command so far, where it is audited.
pub(crate) struct AuditTrail {
    tenant: TenantId,
    noun: &'static str,
    verb: &'static str,
    /// Number of the first change.
    first: Option<u64>,
    records: RecordCounts,
    /// Record that was updated last.
    updated: Option<ObjectId>,
    /// Whether the states of records before and after are compared.
    compares: bool,
}

/// Storage of a tenant's values: as hashes or as text.
#[derive(Clone, Copy)]
pub(crate) struct AuditValuePolicy {
    salt: [u8; SALT_BYTES],
    /// Whether values are stored, and no hashes.
    keeps_values: bool,
}

impl AuditValuePolicy {
    fn trace(&self, name: &str, json: &str) -> ValueTrace {
        if self.keeps_values && json.len() <= MAX_VALUE_BYTES {
            return ValueTrace::Value(json.to_owned());
        }
        let mut hasher = Sha256::new();
        for part in [&self.salt, name.as_bytes(), &[0], json.as_bytes()] {
            hasher.update(part);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        ValueTrace::Hash(digest.first_chunk().copied().unwrap_or([0; HASH_BYTES]))
    }
}

/// Begins to follow the changes of a command, if it is audited.
pub(crate) fn begin(
    actor: &Actor,
    command: &Command,
    tables: &Tables<impl Transaction>,
    pending: &mut Pending,
) -> Result<(), StoreError> {
    let Some((noun, verb)) = action_of(command, tables)? else { return Ok(()) };
    let tenant = match command {
        Command::AddTenant { token, .. } => token.tenant,
        _ => actor.tenant.id(),
    };
    let compares = !matches!(command, Command::Erase { .. } | Command::ContinueErasure(_));
    pending.trail = Some(AuditTrail {
        tenant,
        noun,
        verb,
        first: None,
        records: RecordCounts::default(),
        updated: None,
        compares,
    });
    Ok(())
}

/// The noun and the verb of a command's action, if it is audited. Changes by events are in the log of activities, and
/// changes by the service itself only in the change log, but for licenses that it renews.
fn action_of(
    command: &Command,
    tables: &Tables<impl Transaction>,
) -> Result<Option<(&'static str, &'static str)>, StoreError> {
    Ok(Some(match command {
        Command::Create { def, .. } => (def.name, "create"),
        Command::Update { def, .. } => (def.name, "update"),
        Command::Delete { def, .. } => (def.name, "delete"),
        Command::DecideRenewal { decision: RenewalDecision::Lose, .. } => (LICENSE.name, "lose"),
        Command::DecideRenewal { .. } | Command::AutoRenew(_) => (LICENSE.name, "renew"),
        Command::Upsert { def, .. } => (def.name, "upsert"),
        Command::Import(Upserts { def, .. }) => (def.name, "import"),
        Command::CloseMonth(_) => ("month", "close"),
        Command::ReopenMonth { .. } => ("month", "reopen"),
        Command::AddTenant { .. } => ("tenant", "create"),
        Command::ChangeTenant { .. } => ("tenant", "update"),
        Command::DeleteTenant { .. } => ("tenant", "delete"),
        Command::AddToken { token, .. } if token.is_session() => ("session", "open"),
        Command::AddToken { .. } => ("token", "create"),
        Command::RotateToken { .. } => ("token", "rotate"),
        Command::RevokeToken { id, .. } => match tokens::token(&tables.tokens, id)? {
            Some(token) if token.is_session() => ("session", "close"),
            _ => ("token", "revoke"),
        },
        Command::ReplayEntry(_) => ("integrationissue", "replay"),
        Command::DeleteEntry(_) => ("integrationissue", "delete"),
        Command::Erase { .. } | Command::ContinueErasure(_) => ("enduser", "erase"),
        Command::Unsuppress(_) => ("enduser", "unsuppress"),
        Command::Track(_)
        | Command::Replay
        | Command::Sweep
        | Command::ContinueDeletion
        | Command::Audit(_)
        | Command::Idempotent { .. } => return Ok(None),
    }))
}

/// Properties that a change changes of a record, where its command is audited; `before` is the record until then,
/// unless it is new, and `after` the record then, unless it is deleted.
pub(crate) fn compared(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    before: Option<&Document>,
    after: Option<&Document>,
) -> Result<ChangedProperties, StoreError> {
    let trail = pending.trail.as_ref().filter(|trail| trail.tenant == tenant);
    if !trail.is_some_and(|trail| trail.compares) {
        return Ok(ChangedProperties::default());
    }
    let traces = traces_of(tables, pending, tenant)?;
    // For a new record, a hash would tell no more than its first change does.
    if before.is_none() && !traces.keeps_values {
        return Ok(ChangedProperties::default());
    }
    let absent = Document::default();
    let (before, after) = (before.unwrap_or(&absent), after.unwrap_or(&absent));
    Ok(changed(before, after, |name, json| traces.trace(name, json)))
}

/// Storage of a tenant's values.
fn traces_of(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
) -> Result<AuditValuePolicy, StoreError> {
    if let Some(known) = pending.traces.get(&tenant) {
        return Ok(*known);
    }
    let key = keys::change(tenant, SALT_AT);
    let stored =
        tables.audit.read(&key, |bytes| stored_value::unseal_exact(&key, bytes))?.transpose()?;
    let salt = match stored {
        Some(salt) => salt,
        None => {
            let mut salt = [0; SALT_BYTES];
            getrandom::fill(&mut salt).map_err(|error| StoreError::Internal(error.to_string()))?;
            let value = stored_value::seal(&key, &salt);
            tables.audit.add(key, value)?;
            salt
        }
    };
    let settings = settings::of_tenant(&TenantView::in_transaction(tenant, tables))?;
    let traces = AuditValuePolicy { salt, keeps_values: settings::audit_values(&settings) };
    pending.traces.insert(tenant, traces);
    Ok(traces)
}

/// Notes a change of a record that is in the change log now, if its command is audited.
pub(crate) fn note(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    (sequence, logged): (u64, &LoggedChange),
    changed: ChangedProperties,
) -> Result<(), StoreError> {
    let trail = pending.trail.as_mut().filter(|trail| trail.tenant == tenant);
    let Some(trail) = trail else { return Ok(()) };
    trail.first.get_or_insert(sequence);
    if logged.resource == NO_RECORD {
        return Ok(());
    }
    if logged.resource != closings::CODE {
        let RecordCounts { created, updated, deleted } = &mut trail.records;
        *match logged.kind {
            ChangeKind::Created => created,
            ChangeKind::Updated => updated,
            ChangeKind::Deleted => deleted,
        } += 1;
    }
    if logged.kind == ChangeKind::Updated {
        trail.updated = Some(logged.id);
    }
    let key = keys::change_of_record(tenant, logged.resource, logged.id, sequence);
    let value = stored_value::seal_row(&key, &changed)?;
    tables.audit_records.add(key, value)
}

/// Writes the entry of a command that was carried out, if it is audited and has changed something.
pub(crate) fn finish(
    actor: &Actor,
    command: &Command,
    reply: Option<&Reply>,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<(), StoreError> {
    // An inner command has left its own entry.
    if matches!(command, Command::Idempotent { .. }) {
        return Ok(());
    }
    let Some(trail) = pending.trail.take() else { return Ok(()) };
    let Some(reply) = reply.filter(|reply| has_done(command, reply, &trail)) else {
        return Ok(());
    };
    let target = target_of(command, reply, &trail);
    let own = actor.in_tenant(Tenant::assume_authorized(trail.tenant));
    let action = Action { noun: trail.noun, verb: trail.verb };
    write(&own, action, (&trail, target.clone()), tables, pending, now)?;
    // A tenant and its operator each see the operator's actions on it.
    let other = match command {
        Command::AddTenant { .. } if actor.tenant.id() != trail.tenant => actor.tenant,
        Command::ChangeTenant { id, .. } => Tenant::assume_authorized(*id),
        _ => return Ok(()),
    };
    let alone = AuditTrail { first: None, records: RecordCounts::default(), ..trail };
    write(&actor.in_tenant(other), action, (&alone, target), tables, pending, now)
}

#[derive(Clone, Copy)]
struct Action {
    noun: &'static str,
    verb: &'static str,
}

/// Writes the entry of a command.
fn write(
    actor: &Actor,
    Action { noun, verb }: Action,
    (trail, target): (&AuditTrail, Option<Target>),
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let origin = actor.origin.as_deref();
    let entry = AuditEntry {
        version: ENTRY_VERSION,
        at: now,
        action: format!("{noun}.{verb}"),
        outcome: AuditOutcome::Done,
        actor: actor.who(),
        target,
        records: trail.records,
        address: origin.and_then(|origin| origin.address),
        request_id: origin.and_then(|origin| origin.request_id.clone()),
    };
    put(actor, trail.first, entry, tables, pending)
}

/// Writes entries of actions that no other command logs.
pub(crate) fn write_notes(
    actor: &Actor,
    notes: &[AuditNote],
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let origin = actor.origin.as_deref();
    for note in notes {
        let (who, address) = match &note.by {
            Some((who, address)) => (who.clone(), *address),
            None => (actor.who(), origin.and_then(|origin| origin.address)),
        };
        let entry = AuditEntry {
            version: ENTRY_VERSION,
            at: now,
            action: note.action.to_owned(),
            outcome: note.outcome.clone(),
            actor: who,
            target: note.target.clone(),
            records: RecordCounts::default(),
            address,
            request_id: origin.and_then(|origin| origin.request_id.clone()),
        };
        put(actor, None, entry, tables, pending)?;
    }
    Ok(())
}

/// Writes an entry under the number of its first change; an entry without a change of a record has a row of its own in
/// the change log.
fn put(
    actor: &Actor,
    first: Option<u64>,
    mut entry: AuditEntry,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
) -> Result<(), StoreError> {
    debug_assert!(entry.is_listed(), "no filter finds {:?} {:?}", entry.action, entry.target);
    let tenant = actor.tenant.id();
    let sequence = match first {
        Some(first) => first,
        None => {
            let what = LoggedChange {
                resource: NO_RECORD,
                id: ObjectId::MIN,
                kind: ChangeKind::Updated,
                version: 0,
            };
            let nothing = ChangedProperties::default;
            let sequence = log_change(tables, pending, actor, entry.at, what, None, nothing())?;
            // So that the entries of its record are found together.
            if let Some((def, id)) = entry.target.as_ref().and_then(Target::record) {
                let key = keys::change_of_record(tenant, def.code, id, sequence);
                let value = stored_value::seal_row(&key, &nothing())?;
                tables.audit_records.add(key, value)?;
            }
            sequence
        }
    };
    entry.at = pending.sequences.get(&tenant).map_or(entry.at, |(_, at)| *at);
    let key = keys::change(tenant, sequence);
    let value = stored_value::seal_row(&key, &entry)?;
    tables.audit.add(key, value)
}

/// Whether a command has changed something.
fn has_done(command: &Command, reply: &Reply, trail: &AuditTrail) -> bool {
    match reply {
        Reply::Tenant(_) | Reply::TokenAdded(_) | Reply::Replayed(_) => true,
        Reply::TokensRevoked(count) | Reply::Unsuppressed(count) => *count > 0,
        Reply::EntryDeleted(was_there) => *was_there,
        // The record of the person may have been deleted before.
        Reply::Erasing(Some(_)) => matches!(command, Command::Erase { .. }),
        _ => trail.first.is_some(),
    }
}

/// Target of a command, where there is one; else its resource alone.
fn target_of(command: &Command, reply: &Reply, trail: &AuditTrail) -> Option<Target> {
    let target =
        |resource: &str, id: Option<String>| Some(Target { resource: resource.to_owned(), id });
    let record_id = || match reply {
        Reply::Record(record) => Some(record.id.to_string()),
        Reply::Deleted(Some(record)) => Some(record.id.to_string()),
        _ => None,
    };
    match (command, reply) {
        (Command::AddTenant { token, .. }, _) => target("tenants", Some(token.tenant.to_string())),
        (_, Reply::TokenAdded(token)) => match command {
            // The old token, which the new one succeeds.
            Command::RotateToken { id, .. } => target("tokens", Some(id.clone())),
            _ => target("tokens", Some(token.id.clone())),
        },
        (Command::RevokeToken { id, .. }, _) => target("tokens", Some(id.clone())),
        (Command::ChangeTenant { id, .. } | Command::DeleteTenant { id, .. }, _) => {
            target("tenants", Some(id.to_string()))
        }
        (Command::ReplayEntry(id) | Command::DeleteEntry(id), _) => {
            target("integrationissues", Some(id.to_string()))
        }
        (Command::CloseMonth(new), _) => target("closings", Some(new.closing.month.clone())),
        (Command::ReopenMonth { month, .. }, _) => target("closings", Some(month.clone())),
        (Command::ContinueErasure(id), _) | (_, Reply::Erasing(Some(id))) => {
            target("endusers", Some(id.to_string()))
        }
        (Command::Unsuppress(_), _) => target("endusers", None),
        (Command::DecideRenewal { .. } | Command::AutoRenew(_), _) => target(
            LICENSE.path,
            trail.updated.filter(|_| trail.records.updated == 1).map(|id| id.to_string()),
        ),
        (Command::Upsert { def, .. } | Command::Import(Upserts { def, .. }), _) => {
            target(def.path, None)
        }
        (
            Command::Create { def, .. } | Command::Update { def, .. } | Command::Delete { def, .. },
            _,
        ) => target(def.path, record_id()),
        _ => None,
    }
}

/// Name in paths of the resource with this byte in keys.
pub(crate) fn path_of(code: u8) -> Cow<'static, str> {
    match resources::by_code(code) {
        Some(def) => def.path.into(),
        None if code == SETTINGS.code => SETTINGS.path.into(),
        None if code == closings::CODE => "closings".into(),
        None => "".into(),
    }
}
