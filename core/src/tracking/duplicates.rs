//! Duplicates of events: an event whose id was received before is dropped (R39). A store has the ids.

use super::event_lookup::{EventLookup, ReceivedEvent};
use crate::{plan::Ctx, schema::LookupError, value::time::DAY_MS};

/// How long the id of an event is stored, in milliseconds: 7 days (R39).
pub const MESSAGE_ID_MS: i64 = 7 * DAY_MS;

/// Whether an event with the same id was received within the last 7 days (R39).
pub(super) fn is_repeated(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &Ctx,
) -> Result<bool, LookupError> {
    let Some(id) = &sent.event.message_id else { return Ok(false) };
    let before = lookup.last_received(id, ctx)?;
    Ok(before.is_some_and(|at| ctx.settled.as_ms() - at.as_ms() < MESSAGE_ID_MS))
}
