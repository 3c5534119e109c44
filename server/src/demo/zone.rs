//! The tenant's time zone, in which its days begin.

use chrono::{DateTime, NaiveDate, Utc};
use svctrack_core::value::{Timestamp, Zone};

/// Name of the zone.
pub(super) const TIME_ZONE: &str = "Europe/Berlin";

pub(super) fn day_at(time: DateTime<Utc>) -> NaiveDate {
    let zone = Zone::parse(TIME_ZONE).unwrap_or(Zone::UTC);
    let days = zone.day(Timestamp::from_ms_clamped(time.timestamp_millis()));
    let day = i32::try_from(days).ok().and_then(NaiveDate::from_epoch_days);
    day.unwrap_or_else(|| time.date_naive())
}
