//! Commands that are carried out once for all calls with the same key (R16). The outcome of a command is stored in its
//! own transaction, for a day. New outcomes replace no stored ones: beyond the limits new keys are rejected. Events,
//! which need no token, have limits apart from those of calls.

use std::{cmp::Ordering, time::Duration};

use serde::{Deserialize, Serialize};
use svctrack_core::{
    plan::{Ctx, KnownPerson},
    value::{ObjectId, TenantId, Timestamp},
};

use super::{
    command::{self, MAX_SWEPT},
    counters::Counter,
    open_tables::{Tables, Transaction},
    pending::Pending,
    person_data::{look_through, rest_of},
};
use crate::{
    Actor, Command, IdempotencyKey, RecordResponse, Reply, ResponseMemory, StoreError,
    TrackedEvents, Upserted,
    rows::{Bytes as _, Rows as _, WriteRows as _, get_row, keys, stored_value},
};

/// How long an outcome is stored, in milliseconds: a day.
const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;
/// Maximum number of stored outcomes of calls of a tenant: twelve a second, all day.
const MAX_KEPT_OF_CALLS: u64 = 1_000_000;
/// Maximum number of stored outcomes of events of a tenant, some 30 MB of rows. A bulk call of events counts once, and
/// a single event has a `messageId`.
const MAX_KEPT_OF_EVENTS: u64 = 100_000;
/// Maximum size of the stored outcomes of a tenant: 512 MiB.
const MAX_KEPT_BYTES: u64 = 512 * 1024 * 1024;
/// Longest text of a stored outcome, in bytes: as long as the largest record, or 800 bytes for each item of a bulk
/// upsert. Of a longer one only the fact is stored that the call was carried out.
const MAX_KEPT_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Expired outcomes that each new one removes: more than are added, so that none stays.
const DROPPED_AT_ONCE: usize = 4;

/// Stored outcome of a command.
#[derive(Debug, Serialize, Deserialize)]
struct StoredOutcome {
    /// Position among the outcomes, which begins with the time.
    place: ObjectId,
    at: Timestamp,
    /// SHA-256 of the body of the call.
    body: [u8; 32],
    outcome: StoredReply,
}

/// Replies that can be repeated.
#[derive(Debug, Serialize, Deserialize)]
enum StoredReply {
    Record(RecordResponse),
    Upserted {
        text: String,
        errors: usize,
    },
    Tracked,
    /// The number of parts that have been carried out.
    Parts(u32),
    /// A `Record` or `Upserted`, with names of members that were sent and are not stored.
    Ignoring(Box<StoredReply>, Vec<String>),
    /// A `Record` or `Upserted` that is too long to be stored.
    TooLong,
}

impl StoredReply {
    fn from_reply(reply: &Reply, part: Option<u32>) -> Option<Self> {
        match reply {
            Reply::Tracked(_) if part.is_some() => part?.checked_add(1).map(Self::Parts),
            Reply::Record(RecordResponse { text, .. }) | Reply::Upserted(Upserted { text, .. })
                if text.len() > MAX_KEPT_TEXT_BYTES =>
            {
                Some(Self::TooLong)
            }
            Reply::Record(response) => {
                let &RecordResponse { id, version, computed, .. } = response;
                let (text, ignored) = (response.text.clone(), Vec::new());
                let room = ResponseMemory::default();
                let stored = RecordResponse { id, version, computed, text, ignored, room };
                Some(Self::Record(stored).ignoring(&response.ignored))
            }
            Reply::Upserted(Upserted { text, errors, ignored }) => {
                let outcome = Self::Upserted { text: text.clone(), errors: *errors };
                Some(outcome.ignoring(ignored))
            }
            Reply::Tracked(_) => Some(Self::Tracked),
            _ => None,
        }
    }

    fn ignoring(self, names: &[String]) -> Self {
        if names.is_empty() { self } else { Self::Ignoring(Box::new(self), names.to_vec()) }
    }

    /// Whether the outcome is that of events.
    fn is_of_events(&self) -> bool {
        matches!(self, Self::Tracked | Self::Parts(_))
    }

    /// Number of parts of the call that have been carried out.
    fn parts(&self) -> u32 {
        match self {
            Self::Parts(done) => *done,
            _ => u32::MAX,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Record(response) => &response.text,
            Self::Upserted { text, .. } => text,
            Self::Ignoring(outcome, _) => outcome.text(),
            Self::Tracked | Self::Parts(_) | Self::TooLong => "",
        }
    }

    fn into_reply(self) -> Result<Reply, StoreError> {
        Ok(match self {
            Self::Record(response) => Reply::Record(response),
            Self::Upserted { text, errors } => {
                Reply::Upserted(Upserted { text, errors, ignored: Vec::new() })
            }
            Self::Ignoring(outcome, names) => match outcome.into_reply()? {
                Reply::Record(response) => {
                    Reply::Record(RecordResponse { ignored: names, ..response })
                }
                Reply::Upserted(upserted) => {
                    Reply::Upserted(Upserted { ignored: names, ..upserted })
                }
                reply => reply,
            },
            Self::Tracked | Self::Parts(_) => stored_before(),
            Self::TooLong => return Err(StoreError::ReplyNotStored),
        })
    }
}

/// Reply to events that were stored before; parked ones may have been processed since.
fn stored_before() -> Reply {
    Reply::Tracked(TrackedEvents::default())
}

/// Carries out a command, unless one with its key has been: then that one's reply is repeated. Parts of a call are
/// carried out in their order; their progress is stored as one outcome.
pub(crate) fn carry_out(
    actor: &Actor,
    once: &IdempotencyKey,
    command: &Command,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let tenant = actor.tenant.id();
    let key = keys::once(tenant, &once.key);
    let mut known: Option<StoredOutcome> = get_row(&tables.once, &key)?;
    if let Some(over) = known.take_if(|known| is_over(known.at, ctx.settled)) {
        drop_kept(tables, pending, tenant, over.place)?;
    }
    if known.as_ref().is_some_and(|known| known.body != once.body) {
        return Ok(Err(StoreError::KeyReused));
    }
    let done = known.as_ref().map_or(0, |known| known.outcome.parts());
    match once.part.unwrap_or(0).cmp(&done) {
        Ordering::Equal => {}
        Ordering::Less => {
            let reply =
                known.map_or_else(|| Ok(stored_before()), |known| known.outcome.into_reply());
            let reply = reply.and_then(|reply| reply.with_room(&actor.room));
            return Ok(reply.map(|reply| Reply::Repeated(Box::new(reply))));
        }
        Ordering::Greater => {
            let cause = "the part of the body before this one was not stored".to_owned();
            return Ok(Err(StoreError::Unavailable(cause)));
        }
    }
    if known.is_none() {
        let is_of_events = matches!(command, Command::Track(_));
        if let Some(wait) = wait_for_room(tables, pending, tenant, is_of_events, ctx.settled)? {
            return Ok(Err(StoreError::KeysFull(wait)));
        }
    }
    let reply = command::carry_out(actor, command, tables, pending, ctx)?;
    if let Some(outcome) =
        reply.as_ref().ok().and_then(|reply| StoredReply::from_reply(reply, once.part))
    {
        let (place, at) = match known {
            Some(known) => (known.place, known.at),
            None => (next_place(ctx)?, ctx.settled),
        };
        keep(
            tables,
            pending,
            tenant,
            &key,
            &StoredOutcome { place, at, body: once.body, outcome },
        )?;
    }
    Ok(reply)
}

/// A new position, which begins with the settled time.
fn next_place(ctx: &mut Ctx) -> Result<ObjectId, StoreError> {
    let [s0, s1, s2, s3, .., c0, c1, c2] = *ctx.ids.next(ctx.now)?.as_bytes();
    let [t0, t1, t2, t3, ..] = *ObjectId::first_at(ctx.settled).as_bytes();
    // No other id of the tenant has the same second and counter.
    Ok(ObjectId::from_bytes([t0, t1, t2, t3, s0, s1, s2, s3, 0, c0, c1, c2]))
}

/// Sets outcomes with times of a wrong clock to the settled time, so that they are stored for a day from now on;
/// returns whether there may be more.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    ctx: &mut Ctx,
) -> Result<bool, StoreError> {
    for _ in 0..MAX_SWEPT {
        let is_ahead = |place: &ObjectId| place.created_at() > pending.latest();
        let Some(place) = newest(tables, tenant)?.filter(is_ahead) else { return Ok(false) };
        let place = keys::log(tenant, place);
        let key = match tables.once_places.remove(place.as_slice())? {
            Some(key) => stored_value::unseal(&place, key.value())?.to_vec(),
            None => return Ok(false),
        };
        if let Some(kept) = get_row::<StoredOutcome>(&tables.once, &key)? {
            let kept = StoredOutcome { place: next_place(ctx)?, at: ctx.settled, ..kept };
            keep(tables, pending, tenant, &key, &kept)?;
        }
    }
    Ok(true)
}

/// Whether the day of an outcome is over.
fn is_over(at: Timestamp, settled: Timestamp) -> bool {
    settled.as_ms() - at.as_ms() >= KEPT_MS
}

/// Removes some expired outcomes. If there is no room for another key, returns the time until there is.
fn wait_for_room(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    is_of_events: bool,
    settled: Timestamp,
) -> Result<Option<Duration>, StoreError> {
    let mut first = oldest(tables, tenant)?;
    for _ in 0..DROPPED_AT_ONCE {
        let Some(over) = first.filter(|place| is_over(place.created_at(), settled)) else { break };
        drop_kept(tables, pending, tenant, over)?;
        first = oldest(tables, tenant)?;
    }
    let of_events = pending.count(tables, tenant, Counter::OnceEvents)?;
    let of_calls = pending.count(tables, tenant, Counter::Once)?.saturating_sub(of_events);
    let is_full = match is_of_events {
        true => of_events >= MAX_KEPT_OF_EVENTS,
        false => {
            let bytes = pending.count(tables, tenant, Counter::OnceBytes)?;
            of_calls >= MAX_KEPT_OF_CALLS || bytes >= MAX_KEPT_BYTES
        }
    };
    let until = first.map_or(settled.as_ms(), |first| first.created_at().as_ms() + KEPT_MS);
    let wait = u64::try_from(until - settled.as_ms()).unwrap_or(0);
    Ok(is_full.then_some(Duration::from_millis(wait)))
}

fn keep(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    key: &[u8],
    kept: &StoredOutcome,
) -> Result<(), StoreError> {
    let value = stored_value::seal_row(key, kept)?;
    let before = tables.once.insert(key, value.as_slice())?.map(|before| bytes_of(before.value()));
    let place = keys::log(tenant, kept.place);
    tables.once_places.insert(place.as_slice(), stored_value::seal(&place, key).as_slice())?;
    let is_new = i64::from(before.is_none());
    pending.add(tables, tenant, Counter::Once, is_new)?;
    if kept.outcome.is_of_events() {
        pending.add(tables, tenant, Counter::OnceEvents, is_new)?;
    }
    let more = bytes_of(&value) - before.unwrap_or_default();
    pending.add(tables, tenant, Counter::OnceBytes, more)?;
    Ok(())
}

fn oldest(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<ObjectId>, StoreError> {
    let (first, last) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, ObjectId::MAX));
    let oldest = tables.once_places.range(first.as_slice()..=last.as_slice())?.next();
    Ok(oldest.transpose()?.and_then(|(key, _)| keys::id_at_end(key.value())))
}

fn newest(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<ObjectId>, StoreError> {
    let (first, last) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, ObjectId::MAX));
    let newest = tables.once_places.range(first.as_slice()..=last.as_slice())?.next_back();
    Ok(newest.transpose()?.and_then(|(key, _)| keys::id_at_end(key.value())))
}

/// Drops the outcome at a position.
fn drop_kept(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    place: ObjectId,
) -> Result<(), StoreError> {
    let place = keys::log(tenant, place);
    let key = match tables.once_places.remove(place.as_slice())? {
        Some(key) => stored_value::unseal(&place, key.value())?.to_vec(),
        None => return Ok(()),
    };
    let Some((bytes, is_of_events)) = removed(tables, &key)? else { return Ok(()) };
    pending.add(tables, tenant, Counter::Once, -1)?;
    pending.add(tables, tenant, Counter::OnceEvents, -i64::from(is_of_events))?;
    pending.add(tables, tenant, Counter::OnceBytes, -bytes)?;
    Ok(())
}

/// Removes an outcome; returns its bytes, and whether it is that of events.
fn removed(
    tables: &mut Tables<impl Transaction>,
    key: &[u8],
) -> Result<Option<(i64, bool)>, StoreError> {
    let value = tables.once.remove(key)?;
    Ok(value.map(|value| {
        let kept = stored_value::unseal_row::<StoredOutcome>(key, value.value());
        (bytes_of(value.value()), kept.is_ok_and(|kept| kept.outcome.is_of_events()))
    }))
}

/// Drops the outcomes that name a person, among a limited number after one; returns the last that was read, none when
/// there are no more.
pub(crate) fn erase(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    person: &KnownPerson,
    after: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let ends = (keys::log(tenant, after), keys::log(tenant, ObjectId::MAX));
    let mut theirs = Vec::new();
    let places = tables.once_places.range(rest_of(&ends))?;
    let read_to = look_through(places, |place, key| {
        let key = stored_value::unseal(place, key)?;
        let Some(value) = tables.once.get(key)? else { return Ok(0) };
        let kept: StoredOutcome = stored_value::unseal_row(key, value.value())?;
        theirs.extend(person.is_in_response(kept.outcome.text()).then_some(kept.place));
        Ok(value.value().len())
    })?;
    for place in theirs {
        drop_kept(tables, pending, tenant, place)?;
    }
    Ok(read_to)
}

fn bytes_of(value: &[u8]) -> i64 {
    i64::try_from(value.len()).unwrap_or(i64::MAX)
}
