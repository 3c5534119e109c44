//! Erasure of a person. The first command deletes their record, suppresses their keys and leaves a mark, all in its own
//! transaction; the others remove their other data, a limited number of rows each, and the last of them removes the
//! mark.
//!
//! The caller continues until then, and so does each sweep. The first one follows a start, so no data is left after a
//! crash. The suppressed keys reject new data meanwhile.

use serde::{Deserialize, Serialize};
use svctrack_core::{
    plan::{self, Ctx, KnownPerson},
    resources::{end_user::END_USER, ticket::TICKET},
    schema::Lookup as _,
    value::{ObjectId, RecordRef, TenantId},
};

use super::{
    activity_history,
    apply::apply,
    audit_erasure,
    command::check_precondition,
    idempotency, integration_issues,
    open_tables::{Tables, Transaction},
    parked,
    pending::Pending,
    person_data::{rest_of, tickets_after, tickets_of},
    suppressed_keys,
    tenant_view::TenantView,
};
use crate::{
    Actor, Precondition, Reply, StoreError,
    rows::{
        AppendRows as _, Bytes as _, Rows as _, WriteRows as _, engagement::ReadRows, get_row,
        keys, put_row,
    },
};

/// Maximum number of activities that one command removes: others wait no longer than for a bulk call.
const MAX_ACTIVITIES_PER_COMMAND: usize = 1_000;
/// Maximum number of parked events that one command removes.
const MAX_PARKED_PER_COMMAND: usize = 500;

/// Mark on a person who is being erased.
#[derive(Debug, Serialize, Deserialize)]
struct Erasure {
    person: KnownPerson,
    step: ErasureStage,
}

/// Next data to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ErasureStage {
    Activities,
    /// Tickets after this one.
    Tickets(ObjectId),
    Parked,
    Report,
    /// Stored replies after this one.
    StoredResponses(ObjectId),
    /// Values of the person in the audit log, from this number on.
    Audited(u64),
    /// Values of tickets in the audit log, after this ticket.
    AuditedTickets(ObjectId),
}

/// Deletes the record, suppresses the person and leaves the mark. If the record was deleted before, the remaining data
/// is erased.
pub(crate) fn begin(
    actor: &Actor,
    reference: &RecordRef,
    precondition: &Precondition,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let tenant = actor.tenant.id();
    let view = TenantView::in_transaction(tenant, tables);
    let id = match reference {
        RecordRef::Id(id) => Some(*id),
        key => view.locate(&END_USER, key)?,
    };
    let Some(id) = id else { return Ok(Ok(Reply::Erasing(None))) };
    let Some(stored) = view.record(&END_USER, id)? else {
        return begin_without_record(tables, tenant, id).map(Ok);
    };
    let planned = check_precondition(&END_USER, id, precondition, &view)
        .and_then(|()| Ok(plan::delete(&END_USER, id, &view)?));
    let changes = match planned {
        Ok(changes) => changes,
        Err(error) if error.is_of_the_file() => return Err(error),
        Err(error) => return Ok(Err(error)),
    };
    let person = KnownPerson::from_record(id, &stored);
    for (row, key) in &person.keys {
        suppressed_keys::keep_out(tables, tenant, row, key, ctx.now)?;
    }
    put(tables, tenant, &Erasure { person, step: ErasureStage::Activities })?;
    apply(tables, pending, actor, ctx.now, &changes)?;
    Ok(Ok(Reply::Erasing(Some(id))))
}

fn begin_without_record(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Reply, StoreError> {
    if load(tables, tenant, id)?.is_some() {
        return Ok(Reply::Erasing(Some(id)));
    }
    if tables.engagement.read((tenant, END_USER.code, id), |_| ())?.is_none() {
        return Ok(Reply::Erasing(None));
    }
    let person = KnownPerson { id, keys: Vec::new() };
    put(tables, tenant, &Erasure { person, step: ErasureStage::Activities })?;
    Ok(Reply::Erasing(Some(id)))
}

fn put(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    mark: &Erasure,
) -> Result<(), StoreError> {
    put_row(&mut tables.erasures, &keys::log(tenant, mark.person.id), mark)
}

fn load(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<Erasure>, StoreError> {
    get_row(&tables.erasures, &keys::log(tenant, id))
}

/// Removes further data of a person; returns whether there is more.
pub(crate) fn go_on(
    actor: &Actor,
    id: ObjectId,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<bool, StoreError> {
    let tenant = actor.tenant.id();
    let Some(mut mark) = load(tables, tenant, id)? else {
        return Ok(false);
    };
    let person = &mark.person;
    let next = match mark.step {
        ErasureStage::Activities
            if activity_history::erase(
                tables,
                pending,
                tenant,
                id,
                MAX_ACTIVITIES_PER_COMMAND,
            )? =>
        {
            Some(ErasureStage::Tickets(ObjectId::MIN))
        }
        ErasureStage::Activities => Some(ErasureStage::Activities),
        ErasureStage::Tickets(after) => {
            let read_to = clear_tickets(actor, person, after, tables, pending, ctx)?;
            Some(read_to.map_or(ErasureStage::Parked, ErasureStage::Tickets))
        }
        ErasureStage::Parked if remove_parked(tables, pending, tenant, person)? => {
            Some(ErasureStage::Report)
        }
        ErasureStage::Parked => Some(ErasureStage::Parked),
        ErasureStage::Report => {
            integration_issues::erase(tables, pending, tenant, person)?;
            Some(ErasureStage::StoredResponses(ObjectId::MIN))
        }
        ErasureStage::StoredResponses(after) => {
            let read_to = idempotency::erase(tables, pending, tenant, person, after)?;
            Some(read_to.map_or(ErasureStage::Audited(0), ErasureStage::StoredResponses))
        }
        ErasureStage::Audited(from) => {
            let next = audit_erasure::clear(tables, (tenant, END_USER.code, id), from)?;
            Some(next.map_or(ErasureStage::AuditedTickets(ObjectId::MIN), ErasureStage::Audited))
        }
        ErasureStage::AuditedTickets(after) => {
            let read_to = audit_erasure::clear_tickets(tables, tenant, person, after)?;
            read_to.map(ErasureStage::AuditedTickets)
        }
    };
    match next {
        Some(step) => {
            mark.step = step;
            put(tables, tenant, &mark)?;
        }
        None => drop(tables.erasures.remove(keys::log(tenant, id).as_slice())?),
    }
    Ok(next.is_some())
}

/// Continues erasures that no caller waits for any more; returns whether any has more.
pub(crate) fn sweep(
    actor: &Actor,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<bool, StoreError> {
    let Some(id) = first(tables, actor.tenant.id())? else {
        return Ok(false);
    };
    go_on(actor, id, tables, pending, ctx)?;
    Ok(first(tables, actor.tenant.id())?.is_some())
}

fn first(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<ObjectId>, StoreError> {
    let (first, last) = keys::log_range(tenant);
    let row = tables.erasures.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
    Ok(row.and_then(|(key, _)| keys::id_at_end(key.value())))
}

/// Clears the tickets of a person, among a limited number after one; returns the last that was read, none when there
/// are no more.
fn clear_tickets(
    actor: &Actor,
    person: &KnownPerson,
    after: ObjectId,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &Ctx,
) -> Result<Option<ObjectId>, StoreError> {
    let tenant = actor.tenant.id();
    let ends = tickets_after(tenant, after);
    let rows = tables.records.written()?.range(rest_of(&ends))?;
    let (tickets, read_to) = tickets_of(person, rows)?;
    for (id, ticket) in tickets {
        let view = TenantView::in_transaction(tenant, tables);
        let changes = plan::clear_ticket(id, &ticket, &view, ctx)?;
        apply(tables, pending, actor, ctx.now, &changes)?;
        let mut from = Some(0);
        while let Some(number) = from {
            from = audit_erasure::clear(tables, (tenant, TICKET.code, id), number)?;
        }
    }
    Ok(read_to)
}

/// Removes events that wait for a person; returns whether these were the last.
fn remove_parked(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    person: &KnownPerson,
) -> Result<bool, StoreError> {
    for wait in person.waits() {
        if !parked::erase(tables, pending, tenant, &wait, MAX_PARKED_PER_COMMAND)? {
            return Ok(false);
        }
    }
    Ok(true)
}
