//! From a command to its changes and its reply, in the middle of the writer's transaction.

use svctrack_core::{
    plan::{
        self, AppendedRow, Change, Ctx, ParkedEvent, Planned, RenewalDecision,
        upsert::{self, Item, UpsertAccess, UpsertOutcome, UpsertSummary},
        version_of,
    },
    resources::license::{self, LICENSE},
    schema::{BodyOrigin, CheckedBody, Lookup, ReadCtx, ResourceDef, UnknownMemberPolicy},
    tracking::{
        group,
        intake::{self, ReceivedEvent},
        integration_issues::{parked_rejected, rejected_ticket},
    },
    value::{Document, ObjectId, RecordRef},
};

use super::{
    activity_retention,
    apply::apply,
    audit, audit_retention, auto_renewal, closings, erasure, idempotency, integration_issues,
    message_ids,
    open_tables::{Tables, Transaction},
    parked,
    pending::Pending,
    suppressed_keys, tenant_deletion,
    tenant_view::TenantView,
    tenants, tokens, usage,
};
use crate::{
    Actor, AutoRenewal, Command, Precondition, RecordResponse, Reply, ResponseMemory, StoreError,
    Tenant, TrackedEvents, Tracking, Upserted, Upserts,
};

/// Maximum number of rows of a kind that one command removes after their retention period: others wait a few
/// milliseconds for it.
pub(crate) const MAX_SWEPT: usize = 250;

struct Plan {
    changes: Vec<Change>,
    after: ReplyPlan,
}

/// Reply of a command, once its changes are applied.
enum ReplyPlan {
    Record(&'static ResourceDef, ObjectId, Document, Vec<String>),
    Deleted(&'static ResourceDef, Option<(ObjectId, Document)>),
}

/// Plans a command that applies its changes all at once.
fn plan(command: &Command, lookup: &dyn Lookup, ctx: &mut Ctx) -> Result<Plan, StoreError> {
    match command {
        Command::Create { def, body } => {
            Ok(record(def, plan::create(def, body.clone(), lookup, ctx)?))
        }
        Command::Update { def, reference, body, precondition } => {
            let id = lookup.locate(def, reference)?.ok_or(StoreError::NotFound)?;
            check_precondition(def, id, precondition, lookup)?;
            Ok(record(def, plan::update(def, id, body.clone(), lookup, ctx)?))
        }
        Command::DecideRenewal { decision, reference, body, precondition, dry_run } => {
            let id = lookup.locate(&LICENSE, reference)?.ok_or(StoreError::NotFound)?;
            check_precondition(&LICENSE, id, precondition, lookup)?;
            decide_renewal(*decision, id, body, *dry_run, lookup, ctx)
        }
        Command::Delete { def, reference, precondition } => {
            delete(def, reference, precondition, lookup)
        }
        _ => Err(StoreError::Internal("this command is not planned all at once".to_owned())),
    }
}

/// Carries out a command in the writer's transaction. A failure before any change is its outcome; an error means that
/// the transaction must be dropped.
pub(crate) fn carry_out(
    actor: &Actor,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    if let Some(outcome) = without_tenant(actor, command, tables)? {
        return Ok(outcome);
    }
    audit::begin(actor, command, tables, pending)?;
    let done = dispatch(actor, command, tables, pending, ctx)?;
    audit::finish(actor, command, done.as_ref().ok(), tables, pending, ctx.now)?;
    Ok(done)
}

/// Carries out a command of an existing tenant.
fn dispatch(
    actor: &Actor,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    match command {
        Command::Create { .. }
        | Command::Update { .. }
        | Command::DecideRenewal { .. }
        | Command::Delete { .. } => change_record(actor, command, tables, pending, ctx),
        Command::Upsert { .. } | Command::Import(_) => {
            upsert_all(actor, command, tables, pending, ctx).map(Ok)
        }
        Command::Idempotent { key, command } => {
            idempotency::carry_out(actor, key, command, tables, pending, ctx)
        }
        Command::Track(tracking) => track(actor, tracking, tables, pending, ctx),
        Command::Replay => {
            let replayed = parked::replay(tables, pending, actor, ctx)?;
            Ok(Ok(Reply::Replayed(replayed)))
        }
        Command::ReplayEntry(id) => replay_entry(actor, *id, tables, pending, ctx),
        Command::DeleteEntry(id) => {
            let there = integration_issues::remove(tables, pending, actor.tenant.id(), *id)?;
            Ok(Ok(Reply::EntryDeleted(there)))
        }
        Command::Erase { reference, precondition } => {
            erasure::begin(actor, reference, precondition, tables, pending, ctx)
        }
        Command::ContinueErasure(id) => {
            let more = erasure::go_on(actor, *id, tables, pending, ctx)?;
            Ok(Ok(Reply::ErasureStep(more)))
        }
        Command::Unsuppress(keys) => {
            let mut let_in = 0;
            for (row, key) in keys {
                let_in +=
                    usize::from(suppressed_keys::let_in(tables, actor.tenant.id(), row, key)?);
            }
            Ok(Ok(Reply::Unsuppressed(let_in)))
        }
        Command::Audit(notes) => {
            audit::write_notes(actor, notes, tables, pending, ctx.now)?;
            Ok(Ok(Reply::Audited))
        }
        Command::CloseMonth(new) => closings::close(actor, new, tables, pending, ctx.now),
        Command::ReopenMonth { month, reason, precondition } => {
            closings::reopen(actor, (month, reason, precondition), tables, pending, ctx.now)
        }
        Command::Sweep => sweep(actor, tables, pending, ctx).map(Ok),
        Command::AutoRenew(round) => {
            let round = auto_renewal::go_on(actor, round, tables, pending, ctx)?;
            Ok(Ok(Reply::AutoRenewed(round)))
        }
        _ => administer(actor, command, tables, pending, ctx),
    }
}

/// Carries out a command about tenants and their tokens.
fn administer(
    actor: &Actor,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    match command {
        Command::AddTenant { tenant, token } => {
            tenants::add_tenant(actor, tenant, token, tables, pending, ctx)
        }
        Command::ChangeTenant { id, change, precondition } => {
            tenants::change(tables, *id, change, precondition)
        }
        Command::DeleteTenant { id, precondition } => {
            let marked = tenant_deletion::begin(tables, *id, precondition)?;
            Ok(marked.map(|tenant| Reply::Tenant(Box::new(tenant))))
        }
        Command::ContinueDeletion => {
            let more = tenant_deletion::go_on(tables, actor.tenant.id())?;
            Ok(Ok(Reply::DeletionContinued(more)))
        }
        Command::AddToken { token, user } => {
            tokens::add_token(actor, token, user.as_ref(), tables, pending, ctx)
        }
        Command::RotateToken { id, successor, old_until } => {
            tokens::rotate_token(actor, tables, id, successor, *old_until, ctx.settled)
        }
        Command::RevokeToken { id, with } => {
            tokens::revoke_token(tables, actor.tenant.id(), id, *with, ctx.now)
        }
        _ => Err(StoreError::Internal("this command is not about tenants".to_owned())),
    }
}

/// Creates, updates or deletes one record: planned at once, then applied.
fn change_record(
    actor: &Actor,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let lookup = TenantView::in_transaction(actor.tenant.id(), tables);
    let planned = plan(command, &lookup, ctx).and_then(|plan| {
        let reply = reply(plan.after, &ReadCtx::new(ctx.now, &lookup))?;
        Ok((plan.changes, reply.with_room(&actor.room)?))
    });
    match planned {
        Ok((changes, reply)) => {
            apply(tables, pending, actor, ctx.now, &changes)?;
            Ok(Ok(reply))
        }
        Err(error) if error.is_of_the_file() => Err(error),
        Err(error) => Ok(Err(error)),
    }
}

/// Carries out a bulk upsert or an import of a resource.
fn upsert_all(
    actor: &Actor,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Reply, StoreError> {
    match command {
        Command::Upsert { def, items, access, handling } => {
            let bulk = Bulk { def, items, access: *access, handling: *handling };
            let mut summary = UpsertSummary::default();
            upsert(actor, &bulk, tables, pending, ctx, |outcome, ignored| {
                summary.add(outcome);
                summary.ignore(ignored);
            })?;
            Ok(Reply::Upserted(Upserted {
                errors: summary.errors(),
                ignored: summary.ignored().to_vec(),
                text: summary.into_response(def),
            }))
        }
        Command::Import(Upserts { def, items, access }) => {
            let bulk = Bulk { def, items, access: *access, handling: UnknownMemberPolicy::Lenient };
            ctx.origin = BodyOrigin::Row;
            let mut outcomes = Vec::with_capacity(items.len());
            upsert(actor, &bulk, tables, pending, ctx, |outcome, _| outcomes.push(outcome))?;
            Ok(Reply::Imported(outcomes))
        }
        _ => Err(StoreError::Internal("this command is not about many bodies".to_owned())),
    }
}

/// Outcome of a command of a tenant that was deleted since: nothing may be added to it.
fn without_tenant(
    actor: &Actor,
    command: &Command,
    tables: &Tables<impl Transaction>,
) -> Result<Option<Result<Reply, StoreError>>, StoreError> {
    let id = actor.tenant.id();
    let served = || tenants::is_served(&tables.tenants, id);
    if actor.tenant == Tenant::OPERATOR || tables.known.is_served(id, served)? {
        return Ok(None);
    }
    Ok(match command {
        Command::ContinueDeletion => None,
        Command::Replay => Some(Ok(Reply::Replayed(0))),
        Command::Sweep => Some(Ok(Reply::Swept(false))),
        Command::AutoRenew(round) => {
            Some(Ok(Reply::AutoRenewed(AutoRenewal { is_over: true, ..round.clone() })))
        }
        _ => Some(Err(StoreError::TenantNotFound)),
    })
}

/// Many bodies of a resource.
struct Bulk<'c> {
    def: &'static ResourceDef,
    items: &'c [Item],
    access: UpsertAccess,
    handling: UnknownMemberPolicy,
}

/// Upserts items; each sees the changes of the ones before it (R17). Passes the outcome of each and the names of its
/// properties that are not stored to `note`.
fn upsert(
    actor: &Actor,
    bulk: &Bulk<'_>,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
    mut note: impl FnMut(UpsertOutcome, Vec<String>),
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    let &Bulk { def, items, access, handling } = bulk;
    for (index, item) in items.iter().enumerate() {
        let lookup = TenantView::in_transaction(tenant, tables);
        let upserted = upsert::upsert(def, index, item, access, handling, &lookup, ctx)?;
        apply(tables, pending, actor, ctx.now, &upserted.changes)?;
        if let (true, UpsertOutcome::Failed(_, element)) =
            (def.bulk_returns_counts_only, &upserted.outcome)
        {
            pending.find(tenant, rejected_ticket(element, ctx.now));
        }
        note(upserted.outcome, upserted.ignored);
    }
    Ok(())
}

/// Ingests events; each sees the changes of the ones before it. A single event that cannot be parked is rejected; for a
/// part of a body the reply lists the rejected ones.
fn track(
    actor: &Actor,
    tracking: &Tracking,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let tenant = actor.tenant.id();
    let settings = TenantView::in_transaction(tenant, tables).tracking_settings()?;
    let Tracking { events, findings, received_at, route, sender, .. } = tracking;
    let mut tracked = TrackedEvents::default();
    for (index, event) in events.iter().enumerate() {
        let incoming = ReceivedEvent { event, received_at: *received_at, route: *route, settings };
        let company = group::plan(&incoming, &TenantView::in_transaction(tenant, tables), ctx)?;
        apply(tables, pending, actor, ctx.now, &company)?;
        group::ignored(&company).for_each(|name| note(name, &mut tracked.ignored));
        let lookup = TenantView::in_transaction(tenant, tables);
        let mut changes = intake::plan(&incoming, &lookup, ctx)?;
        if let Some(event) = parked_in(&changes) {
            if parked::take_room(tables, pending, tenant, sender.as_ref(), event)? {
                note(&event.code, &mut tracked.parked);
            } else {
                changes.retain(|change| matches!(change, Change::Append(AppendedRow::Finding(_))));
                pending.find(tenant, parked_rejected(*route, *received_at));
                tracked.rejected.push(index);
            }
        }
        apply(tables, pending, actor, ctx.now, &changes)?;
    }
    findings.iter().for_each(|finding| pending.find(tenant, finding.clone()));
    if !tracking.is_part && !tracked.rejected.is_empty() {
        return Ok(Err(StoreError::ParkedFull));
    }
    Ok(Ok(Reply::Tracked(tracked)))
}

/// Event to park among the changes, if there is one.
fn parked_in(changes: &[Change]) -> Option<&ParkedEvent> {
    changes.iter().find_map(|change| match change {
        Change::Append(AppendedRow::Parked(event)) => Some(&**event),
        _ => None,
    })
}

/// Adds a name, once.
fn note(name: &str, names: &mut Vec<String>) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Replays parked events of a report entry; those beyond the limit of one command are replayed after it.
fn replay_entry(
    actor: &Actor,
    id: ObjectId,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let Some(entry) = integration_issues::load(tables, actor.tenant.id(), id)? else {
        return Ok(Err(StoreError::NotFound));
    };
    parked::mark(tables, pending, actor, &parked::wait_of(&entry))?;
    let gone_on = parked::replay(tables, pending, actor, ctx)?;
    Ok(Ok(Reply::Replayed(gone_on)))
}

/// Removes data after its retention period, a limited number of rows.
fn sweep(
    actor: &Actor,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Reply, StoreError> {
    let tenant = actor.tenant.id();
    if actor.tenant == Tenant::OPERATOR {
        // An operator has no data but its audit log.
        return Ok(Reply::Swept(audit_retention::sweep(tables, tenant, ctx.settled)?));
    }
    let more_messages = message_ids::sweep(tables, pending, tenant)?;
    let more_keys = idempotency::sweep(tables, pending, tenant, ctx)?;
    let more_parked = parked::sweep(tables, pending, tenant, ctx)?;
    let more_to_erase = erasure::sweep(actor, tables, pending, ctx)?;
    let more_old = activity_retention::sweep(tables, tenant, ctx.settled)?;
    // A store of an earlier version has activities that are not tallied.
    let more_to_tally = usage::go_on(tables, tenant)?;
    let more_audited = audit_retention::sweep(tables, tenant, ctx.settled)?;
    let more =
        more_audited || more_messages || more_keys || more_parked || more_to_erase || more_old;
    let more = more || more_to_tally;
    if !more {
        // The report is scanned as a whole, so only in the last of many commands.
        integration_issues::sweep(tables, pending, tenant, ctx.settled)?;
        tokens::mark_users(actor, tables, pending, ctx)?;
    }
    Ok(Reply::Swept(more))
}

fn record(def: &'static ResourceDef, planned: Planned) -> Plan {
    let Planned { changes, id, document, ignored } = planned;
    Plan { changes, after: ReplyPlan::Record(def, id, document, ignored) }
}

/// Rejects a write for another version (R16).
pub(crate) fn check_precondition(
    def: &ResourceDef,
    id: ObjectId,
    precondition: &Precondition,
    lookup: &dyn Lookup,
) -> Result<(), StoreError> {
    if *precondition == Precondition::Anything {
        return Ok(());
    }
    let stored = lookup.record(def, id)?.ok_or(StoreError::NotFound)?;
    if precondition.allows(id, version_of(&stored)) { Ok(()) } else { Err(StoreError::Changed) }
}

/// Renews or loses a license; a dry run changes nothing, and its successor has no `_id`.
fn decide_renewal(
    decision: RenewalDecision,
    id: ObjectId,
    body: &CheckedBody,
    dry_run: bool,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Plan, StoreError> {
    let mut planned = decision.plan(id, body.clone(), lookup, ctx)?;
    if dry_run {
        planned.changes.clear();
        if decision == RenewalDecision::Renew {
            planned.document.remove(license::ID.name);
        }
    }
    Ok(record(&LICENSE, planned))
}

/// Plans a delete; that of a record that does not exist is no error (R15).
fn delete(
    def: &'static ResourceDef,
    reference: &RecordRef,
    precondition: &Precondition,
    lookup: &dyn Lookup,
) -> Result<Plan, StoreError> {
    let nothing = Plan { changes: Vec::new(), after: ReplyPlan::Deleted(def, None) };
    let Some(id) = lookup.locate(def, reference)? else {
        return Ok(nothing);
    };
    let Some(stored) = lookup.record(def, id)? else {
        return Ok(nothing);
    };
    check_precondition(def, id, precondition, lookup)?;
    let changes = plan::delete(def, id, lookup)?;
    Ok(Plan { changes, after: ReplyPlan::Deleted(def, Some((id, stored))) })
}

/// The reply; it has the record as it will be, and other records as they are.
fn reply(after: ReplyPlan, ctx: &ReadCtx<'_>) -> Result<Reply, StoreError> {
    Ok(match after {
        ReplyPlan::Record(def, id, document, ignored) => {
            Reply::Record(RecordResponse { ignored, ..record_response(def, id, &document, ctx)? })
        }
        ReplyPlan::Deleted(def, stored) => Reply::Deleted(match stored {
            Some((id, stored)) => Some(record_response(def, id, &stored, ctx)?),
            None => None,
        }),
    })
}

/// A stored record for a response.
pub(crate) fn record_response(
    def: &ResourceDef,
    id: ObjectId,
    stored: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<RecordResponse, StoreError> {
    let response = plan::to_response(def, stored, ctx)?;
    let mut computed = None;
    for row in def.fields.iter().filter(|row| row.computed_at_read().is_some()) {
        let value = response.get(row.name).map(|value| value.text()).unwrap_or_default();
        let hasher: &mut crc32fast::Hasher = computed.get_or_insert_default();
        hasher.update(value.as_bytes());
        hasher.update(&[0]);
    }
    let computed = computed.map(crc32fast::Hasher::finalize);
    let (version, text) = (version_of(stored), response.to_text());
    Ok(RecordResponse {
        id,
        version,
        computed,
        text,
        ignored: Vec::new(),
        room: ResponseMemory::default(),
    })
}
