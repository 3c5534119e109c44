//! Dates of events from a sender whose clock is wrong.

use super::{event::name, reader::MemberReader};
use crate::value::Timestamp;

/// Largest error of a sender's clock, in milliseconds, for which its dates are not corrected; smaller differences come
/// from the network (R45).
const MAX_CLOCK_SKEW_MS: i64 = 5_000;

/// The event's date, moved by the difference of the sender's clock and ours (R45).
pub(super) fn corrected_date(
    reader: &mut MemberReader<'_>,
    received_at: Timestamp,
) -> Option<Timestamp> {
    let sent_at = reader.time(&[name::SENT_AT]).unwrap_or(received_at);
    let date = reader.date()?;
    let skew_ms = received_at.as_ms() - sent_at.as_ms();
    let off = skew_ms.abs() > MAX_CLOCK_SKEW_MS;
    Some(if off { Timestamp::from_ms_clamped(date.as_ms() + skew_ms) } else { date })
}
