//! Ids of events that were received (R39), each stored for at least 7 days.
//!
//! The ids are in windows of 7 days by the settled time, so that an id is looked up in two of them, those that ascend
//! with time are appended at the end of theirs, and a window that is past is removed from its beginning. Where the
//! clock was set, an id is looked up in all windows in which it may have been stored within the last 7 days.

use svctrack_core::{
    plan::{Ctx, Route},
    tracking::{intake::MESSAGE_ID_MS, integration_issues},
    value::{TenantId, Timestamp},
};

use super::{
    command::MAX_SWEPT,
    counters::Counter,
    lookup_cache::LookupCache,
    open_tables::{Tables, Transaction},
    pending::Pending,
};
use crate::{
    StoreError,
    rows::{AppendRows, Bytes as _, ReadRow as _, Rows as _, WriteRows as _, keys, stored_value},
};

/// Maximum number of ids of a tenant that are remembered in a window: some 600 MB.
pub(crate) const MAX_MESSAGES_PER_WINDOW: u64 = 10_000_000;

pub(crate) fn window_of(time: Timestamp) -> u16 {
    u16::try_from(time.as_ms() / MESSAGE_ID_MS).unwrap_or(u16::MAX)
}

/// Windows in which an id that counts may be: by a clock that shows `now` or, where it was set, may have shown the
/// later time, and by the settled time, which may have been set back meanwhile.
fn windows(now: Timestamp, settled: Timestamp) -> impl Iterator<Item = u16> {
    let (newest, settled) = (window_of(now), window_of(settled));
    let near = settled.saturating_sub(1)..=settled.saturating_add(1).min(newest);
    let others = newest.saturating_sub(1)..=newest;
    near.clone().rev().chain(others.rev().filter(move |window| !near.contains(window)))
}

/// Time at which an event with this id was last stored, by the settled time.
pub(crate) fn last_received(
    table: &impl AppendRows,
    known: &LookupCache,
    tenant: TenantId,
    id: &str,
    ctx: &Ctx,
) -> Result<Option<Timestamp>, StoreError> {
    // The id is parsed once; only the window in the key changes.
    let mut key = keys::message(tenant, window_of(ctx.settled), id);
    for window in windows(ctx.now, ctx.settled) {
        key = keys::message_in(key, window);
        // An id that ascends with time comes after all of the window, which need not be read.
        if known.is_behind_messages(tenant, window, &key, || last_key(table, tenant, window))? {
            continue;
        }
        let received = table.read(&key, |row| stored_value::unseal_exact(&key, row))?;
        if let Some(ms) = received.transpose()? {
            return Ok(Some(Timestamp::from_ms_clamped(i64::from_be_bytes(ms))));
        }
    }
    Ok(None)
}

/// The last key in a window.
fn last_key(
    table: &impl AppendRows,
    tenant: TenantId,
    window: u16,
) -> Result<Option<Vec<u8>>, StoreError> {
    let first = keys::messages_from(tenant, window);
    let end = keys::messages_from(tenant, window.saturating_add(1));
    table.last(&first, &end, |key, _| key.to_vec())
}

/// Stores an id; when there are too many it is reported instead.
pub(crate) fn remember(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    id: &str,
    at: Timestamp,
    route: Route,
) -> Result<(), StoreError> {
    let window = window_of(at);
    if pending.add(tables, tenant, Counter::Messages(window), 1)? > MAX_MESSAGES_PER_WINDOW {
        pending.add(tables, tenant, Counter::Messages(window), -1)?;
        pending.find(tenant, integration_issues::messages_full(route, at));
        return Ok(());
    }
    let key = keys::message(tenant, window, id);
    let value = stored_value::seal(&key, &at.as_ms().to_be_bytes());
    tables.known.add_message(tenant, window, &key);
    tables.messages.add(key, value)
}

/// Forgets the id of an event that is removed.
pub(crate) fn forget(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    id: &str,
    received_at: Timestamp,
) -> Result<(), StoreError> {
    let mut key = keys::message(tenant, window_of(received_at), id);
    for window in windows(received_at, pending.settled()) {
        key = keys::message_in(key, window);
        let known = tables.messages.remove(&key)?;
        tables.known.forget_messages(tenant, window);
        if known {
            pending.add(tables, tenant, Counter::Messages(window), -1)?;
        }
    }
    Ok(())
}

/// Removes ids of past windows, and sets those with times of a wrong clock to the settled time; returns whether there
/// may be more.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
) -> Result<bool, StoreError> {
    let settled = pending.settled();
    let is_more_past = match window_of(settled).checked_sub(1) {
        Some(kept) => !take_out(tables, pending, tenant, (0, kept))?.is_empty(),
        None => false,
    };
    let Some(ahead) = window_of(pending.latest()).checked_add(1) else { return Ok(is_more_past) };
    let taken = take_out(tables, pending, tenant, (ahead, u16::MAX))?;
    let is_more_ahead = !taken.is_empty();
    for key in taken {
        stamp(tables, pending, tenant, key, settled)?;
    }
    Ok(is_more_past || is_more_ahead)
}

/// Stores an id with the settled time, unless it was sent again and stored since.
fn stamp(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    key: Vec<u8>,
    settled: Timestamp,
) -> Result<(), StoreError> {
    let window = window_of(settled);
    let key = keys::message_in(key, window);
    if tables.messages.read(&key, |_| ())?.is_none() {
        tables.known.forget_messages(tenant, window);
        pending.add(tables, tenant, Counter::Messages(window), 1)?;
        let value = stored_value::seal(&key, &settled.as_ms().to_be_bytes());
        tables.messages.put(&key, value)?;
    }
    Ok(())
}

/// Removes ids from one window on and before another, a limited number; returns their keys.
fn take_out(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    (first, end): (u16, u16),
) -> Result<Vec<Vec<u8>>, StoreError> {
    let (first, end) = (keys::messages_from(tenant, first), keys::messages_from(tenant, end));
    let mut taken: Vec<Vec<u8>> = Vec::new();
    let messages = tables.messages.written()?;
    for row in messages.range(first.as_slice()..end.as_slice())?.take(MAX_SWEPT) {
        taken.push(row?.0.value().to_vec());
    }
    if let Some(last) = taken.last() {
        messages.remove_range(first.as_slice()..=last.as_slice())?;
    }
    for window in taken.iter().filter_map(|key| keys::window_of(key)) {
        pending.add(tables, tenant, Counter::Messages(window), -1)?;
    }
    Ok(taken)
}
