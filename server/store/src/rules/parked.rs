//! Events that wait for their user or company (R35): each is found by the entries that it waits for, so that a new
//! record replays only its own.
//!
//! A record that releases events leaves a mark in `due`, in its own transaction. After the commit, and after every
//! start, the marked events are planned again, a limited number in one command; the last command removes the mark. So
//! each is replayed once, also after a crash.

use svctrack_core::{
    plan::{Ctx, MAX_PARKED, MAX_PARKED_BYTES, PARKED_DAYS, ParkedEvent, ParkedWait, Route},
    schema::{IndexEntry, ResourceDef},
    tracking::{
        Event, group,
        intake::{self, ReceivedEvent, TrackingSettings, releases_parked_events},
        integration_issues,
    },
    value::{ObjectId, TenantId, Timestamp, time::DAY_MS},
};

use super::{
    apply::apply,
    command::MAX_SWEPT,
    counters::Counter,
    message_ids,
    open_tables::{Tables, Transaction},
    pending::Pending,
    tenant_view::TenantView,
};
use crate::{
    Actor, ParkedToday, StoreError,
    rows::{Bytes as _, DUE, Rows, Snapshot, WriteRows as _, first_row, get_row, keys, put_row},
};

/// Maximum number of events that are replayed in one command: others wait no longer than for a bulk call.
const MAX_REPLAYED_PER_COMMAND: usize = 1_000;

/// Whether an event may be parked. Parked events were acknowledged, so that a new one replaces none of them; and its
/// sender leaves to others at least as many places, and as many bytes, as its own events of today have taken. If the
/// event may be parked, it is counted for its sender.
pub(crate) fn take_room(
    tables: &Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    sender: Option<&ParkedToday>,
    event: &ParkedEvent,
) -> Result<bool, StoreError> {
    let size = event.event.len() as u64;
    let with_this = |sender: &ParkedToday| (sender.count(), sender.bytes().saturating_add(size));
    let (own, own_bytes) = sender.map_or((0, 0), with_this);
    let left = MAX_PARKED.saturating_sub(pending.count(tables, tenant, Counter::Parked)?);
    let bytes = pending.count(tables, tenant, Counter::ParkedBytes)?;
    let left_bytes = MAX_PARKED_BYTES.saturating_sub(bytes);
    let has_room = left > own && left_bytes >= own_bytes.saturating_add(size);
    if has_room && let Some(sender) = sender {
        sender.add(size);
    }
    Ok(has_room)
}

/// Stores a parked event.
pub(crate) fn park(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    event: &ParkedEvent,
) -> Result<(), StoreError> {
    put_row(&mut tables.parked, &keys::log(tenant, event.id), event)?;
    for wait in &event.waits {
        let key = keys::waiting(tenant, wait, event.id);
        tables.waiting.insert(key.as_slice(), [].as_slice())?;
    }
    pending.add(tables, tenant, Counter::Parked, 1)?;
    pending.add(tables, tenant, Counter::ParkedBytes, size(event))?;
    Ok(())
}

fn size(event: &ParkedEvent) -> i64 {
    i64::try_from(event.event.len()).unwrap_or(i64::MAX)
}

/// Drops an event that has waited in vain, and reports it; it can be sent again.
fn drop_one(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    event: &ParkedEvent,
    now: Timestamp,
) -> Result<(), StoreError> {
    forget(tables, pending, tenant, event)?;
    pending.find(tenant, integration_issues::parked_dropped(event.route, now));
    Ok(())
}

/// Removes an event as if it had never been sent.
fn forget(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    parked: &ParkedEvent,
) -> Result<(), StoreError> {
    let event: Event = serde_json::from_str(&parked.event).map_err(StoreError::corrupted)?;
    if let Some(id) = &event.message_id {
        message_ids::forget(tables, pending, tenant, id, parked.received_at)?;
    }
    remove(tables, pending, tenant, parked)
}

/// Removes an event with all its index entries.
fn remove(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    event: &ParkedEvent,
) -> Result<(), StoreError> {
    tables.parked.remove(keys::log(tenant, event.id).as_slice())?;
    for wait in &event.waits {
        tables.waiting.remove(keys::waiting(tenant, wait, event.id).as_slice())?;
    }
    pending.add(tables, tenant, Counter::Parked, -1)?;
    pending.add(tables, tenant, Counter::ParkedBytes, -size(event))?;
    Ok(())
}

/// Marks the events that wait for one of these index entries, which were added or removed.
pub(crate) fn wake(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    def: &ResourceDef,
    entries: &[IndexEntry],
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    if !releases_parked_events(def) || pending.count(tables, tenant, Counter::Parked)? == 0 {
        return Ok(());
    }
    for entry in entries {
        let wait =
            ParkedWait { resource: def.code, row: entry.row.to_owned(), key: entry.key.clone() };
        mark(tables, pending, actor, &wait)?;
    }
    Ok(())
}

/// Marks the events that wait for an index entry, if there are any.
pub(crate) fn mark(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    wait: &ParkedWait,
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    if waiting_for(tables, tenant, wait, ObjectId::MIN, 1)?.is_empty() {
        return Ok(());
    }
    let due = DueEvents { wait: wait.clone(), after: ObjectId::MIN };
    put_row(&mut tables.due, &keys::due(tenant, wait), &due)?;
    pending.to_replay.insert(tenant, actor.tenant);
    Ok(())
}

/// A mark: events that wait for `wait`, after the event `after`, are planned again.
#[derive(serde::Serialize, serde::Deserialize)]
struct DueEvents {
    wait: ParkedWait,
    after: ObjectId,
}

/// Events that wait for an index entry, oldest first.
fn waiting_for(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    wait: &ParkedWait,
    after: ObjectId,
    limit: usize,
) -> Result<Vec<ObjectId>, StoreError> {
    let bound = |id| keys::waiting(tenant, wait, id);
    let (first, last) = (bound(after), bound(ObjectId::MAX));
    let mut ids = Vec::new();
    for row in tables.waiting.range(first.as_slice()..=last.as_slice())? {
        ids.extend(keys::id_at_end(row?.0.value()).filter(|id| *id > after));
        if ids.len() == limit {
            break;
        }
    }
    Ok(ids)
}

/// Replays marked events, a limited number; returns how many were processed. When more are marked, the tenant has
/// another turn after the commit.
pub(crate) fn replay(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    ctx: &mut Ctx,
) -> Result<usize, StoreError> {
    let tenant = actor.tenant.id();
    let settings = TenantView::in_transaction(tenant, tables).tracking_settings()?;
    let (mut left, mut gone_on) = (MAX_REPLAYED_PER_COMMAND, 0);
    while left > 0 {
        let Some(mut due) = first_due(tables, tenant)? else {
            return Ok(gone_on);
        };
        let key = keys::due(tenant, &due.wait);
        let ids = waiting_for(tables, tenant, &due.wait, due.after, left)?;
        if ids.len() < left {
            tables.due.remove(key.as_slice())?;
        } else {
            due.after = ids.last().copied().unwrap_or(ObjectId::MAX);
            put_row(&mut tables.due, &key, &due)?;
        }
        left -= ids.len();
        for id in ids {
            gone_on += usize::from(replay_one(tables, pending, actor, id, settings, ctx)?);
        }
    }
    pending.to_replay.insert(tenant, actor.tenant);
    Ok(gone_on)
}

fn first_due(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<DueEvents>, StoreError> {
    first_row(&tables.due, keys::all_of(tenant))
}

/// Plans an event again; returns whether it was processed.
fn replay_one(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    id: ObjectId,
    settings: TrackingSettings,
    ctx: &mut Ctx,
) -> Result<bool, StoreError> {
    let tenant = actor.tenant.id();
    let Some(parked) = load(tables, tenant, id)? else { return Ok(false) };
    let event: Event = serde_json::from_str(&parked.event).map_err(StoreError::corrupted)?;
    let (received_at, route) = (parked.received_at, parked.route);
    let incoming = ReceivedEvent { event: &event, received_at, route, settings };
    let company = group::replay(&incoming, &TenantView::in_transaction(tenant, tables), ctx)?;
    apply(tables, pending, actor, ctx.now, &company)?;
    let planned = intake::replay(&incoming, &TenantView::in_transaction(tenant, tables), ctx)?;
    let Some(changes) = planned else {
        return Ok(false);
    };
    remove(tables, pending, tenant, &parked)?;
    apply(tables, pending, actor, ctx.now, &changes)?;
    Ok(true)
}

/// Removes events that wait for an index entry, up to a limit, with the mark on them; returns whether these were the
/// last.
pub(crate) fn erase(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    wait: &ParkedWait,
    limit: usize,
) -> Result<bool, StoreError> {
    let ids = waiting_for(tables, tenant, wait, ObjectId::MIN, limit)?;
    for id in &ids {
        let Some(parked) = load(tables, tenant, *id)? else { continue };
        forget(tables, pending, tenant, &parked)?;
    }
    tables.due.remove(keys::due(tenant, wait).as_slice())?;
    Ok(ids.len() < limit)
}

fn load(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<ParkedEvent>, StoreError> {
    get_row(&tables.parked, &keys::log(tenant, id))
}

/// Drops events that have waited too long; returns whether there may be more. Those with times of a wrong clock wait
/// from now on.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    ctx: &Ctx,
) -> Result<bool, StoreError> {
    let (mut first, last) = keys::log_range(tenant);
    for _ in 0..MAX_SWEPT {
        let next = first_row(&tables.parked, (first, last.clone()))?;
        let Some(mut event): Option<ParkedEvent> = next else { return Ok(false) };
        first = keys::log(tenant, event.id);
        if event.received_at > pending.latest() {
            event.received_at = ctx.settled;
            put_row(&mut tables.parked, &first, &event)?;
        } else if ctx.settled.as_ms() - event.received_at.as_ms() > PARKED_DAYS * DAY_MS {
            drop_one(tables, pending, tenant, &event, ctx.now)?;
        } else {
            return Ok(false);
        }
        // Lowest key after that one.
        first.push(0);
    }
    Ok(true)
}

/// The tenants that have marked events.
pub(crate) fn tenants_due(snapshot: &impl Snapshot) -> Result<Vec<TenantId>, StoreError> {
    let table = snapshot.open(DUE)?;
    let mut tenants = Vec::new();
    let mut next = TenantId::from_bytes([0; 16]);
    while let Some(row) = table.range(next.as_bytes().as_slice()..)?.next() {
        let (key, _) = row?;
        let Some(tenant) = keys::tenant_of(key.value()) else { break };
        tenants.push(tenant);
        let after = u128::from_be_bytes(*tenant.as_bytes()).checked_add(1);
        let Some(after) = after else { break };
        next = TenantId::from_bytes(after.to_be_bytes());
    }
    Ok(tenants)
}

/// How many events of a report entry are still parked. Each is parked for one entry, so no more rows are read for all
/// entries than events may be parked.
pub(crate) fn count(
    waiting: &impl Rows,
    tenant: TenantId,
    entry: &integration_issues::ReportEntry,
) -> Result<u64, StoreError> {
    if !entry.can_have_parked() {
        return Ok(0);
    }
    let wait = wait_of(entry);
    let bound = |id| keys::waiting(tenant, &wait, id);
    let (first, last) = (bound(ObjectId::MIN), bound(ObjectId::MAX));
    let mut rows = waiting.range(first.as_slice()..=last.as_slice())?;
    rows.try_fold(0, |count, row| row.map(|_| count + 1))
}

/// The mark that releases parked events of a report entry.
pub(crate) fn wait_of(entry: &integration_issues::ReportEntry) -> ParkedWait {
    let route: Route = entry.route;
    intake::wait_for_entry(route, &entry.code, &entry.cause)
}
