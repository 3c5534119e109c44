//! The length of a period in months, and its end (R23, R53).
//!
//! Months are calendar months, so the length depends on the time zone. All calculations use the local time of that
//! zone: a day is a day, also when clocks change.

use chrono::{Datelike as _, Months, NaiveDateTime, TimeDelta};
use rust_decimal::{Decimal, RoundingStrategy};

use super::{
    time::{DAY_MS, Timestamp},
    zone::Zone,
};

/// Decimals of a length that is not a whole number of months (R23).
const LENGTH_SCALE: u32 = 4;
/// Distances, in milliseconds, by which the end of a period may be given before its real end: its last day, second or
/// millisecond.
const LAST_MOMENTS_MS: [i64; 4] = [0, 1, 1_000, DAY_MS];

/// A period from one point in time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Length in months, as `length` has it.
    pub months: Decimal,
    /// End of the period, exclusive.
    pub end: Timestamp,
}

impl Period {
    /// The period from `from` to `to`. The period is n months long when `to` is n months after `from`, or the last day,
    /// second or millisecond before, in UTC or else in `zone`; then it ends n months after `from`. Otherwise its length
    /// is the whole months, plus the part of the month around its end that has passed, in that of the two zones in
    /// which both ends are nearest to midnight. `None` when `to` is not after `from`.
    ///
    /// ```
    /// use svctrack_core::value::{Timestamp, Zone, period::Period};
    /// let at = |text| Timestamp::parse(text).unwrap();
    /// let year = Period::between(at("2026-01-01"), at("2026-12-31"), Zone::UTC).unwrap();
    /// assert_eq!(year.months.to_string(), "12");
    /// assert_eq!(year.end, at("2027-01-01"));
    /// ```
    pub fn between(from: Timestamp, to: Timestamp, zone: Zone) -> Option<Self> {
        if to <= from {
            return None;
        }
        // Most tenants count in UTC.
        let other = Some(zone).filter(|zone| *zone != Zone::UTC);
        let clocks = [Some(Zone::UTC), other].map(|zone| {
            let zone = zone?;
            Some((zone, zone.clock(from), zone.clock(to)))
        });
        let mut ends = LAST_MOMENTS_MS.into_iter().flat_map(|earlier| {
            let earlier = TimeDelta::milliseconds(earlier);
            clocks.into_iter().flatten().map(move |clocks| (clocks, earlier))
        });
        ends.find_map(|(clocks, earlier)| whole(to, clocks, earlier)).or_else(|| {
            // Where clocks were set back in between, local times may end before they begin.
            partial(from, to, nearest_to_midnight(&[from, to], zone))
                .or_else(|| partial(from, to, Zone::UTC))
        })
    }
}

/// End of a period of a number of months: in UTC or in `zone`, whichever has the beginning nearer to midnight; the part
/// of a month counts as that fraction of the month that it falls in. `None` beyond the year 9999.
pub fn add_length(from: Timestamp, months: Decimal, zone: Zone) -> Option<Timestamp> {
    let zone = nearest_to_midnight(&[from], zone);
    let start = zone.clock(from);
    let whole = u32::try_from(months.trunc()).ok()?;
    let (before, after) = (add_months(start, whole)?, add_months(start, whole + 1)?);
    let month_ms = Decimal::from((after - before).num_milliseconds());
    let part_ms = i64::try_from(half_away(months.fract() * month_ms, 0)).ok()?;
    zone.at(before.checked_add_signed(TimeDelta::milliseconds(part_ms))?)
}

/// End of a period of a number of days, by the same calendar as [`add_length`]. `None` beyond the year 9999.
pub(crate) fn add_days(from: Timestamp, days: i64, zone: Zone) -> Option<Timestamp> {
    let zone = nearest_to_midnight(&[from], zone);
    zone.at(zone.clock(from).checked_add_signed(TimeDelta::try_days(days)?)?)
}

/// A period that ends `earlier` than whole months of the zone do.
fn whole(
    to: Timestamp,
    (zone, start, end): (Zone, NaiveDateTime, NaiveDateTime),
    earlier: TimeDelta,
) -> Option<Period> {
    let end = end.checked_add_signed(earlier)?;
    if end.time() != start.time() || end.day() > start.day() {
        // Months keep the time of day, and never raise the day: most ends are rejected without adding any.
        return None;
    }
    let months = whole_months(start, end).filter(|months| *months > 0)?;
    if add_months(start, months)? != end {
        return None;
    }
    let end = if earlier.is_zero() { to } else { zone.at(end)? };
    Some(Period { months: Decimal::from(months), end })
}

/// A period of any length, by the calendar of the zone.
fn partial(from: Timestamp, to: Timestamp, zone: Zone) -> Option<Period> {
    let (start, end) = (zone.clock(from), zone.clock(to));
    let whole = whole_months(start, end)?;
    let (before, after) = (add_months(start, whole)?, add_months(start, whole + 1)?);
    let part = Decimal::from((end - before).num_milliseconds())
        .checked_div(Decimal::from((after - before).num_milliseconds()))?;
    Some(Period { months: half_away(Decimal::from(whole) + part, LENGTH_SCALE), end: to })
}

/// `zone`, where its clocks are nearer to midnight than UTC, else UTC.
fn nearest_to_midnight(times: &[Timestamp], zone: Zone) -> Zone {
    let distance = |zone: Zone| times.iter().map(|time| zone.from_midnight_ms(*time)).sum::<i64>();
    if distance(zone) < distance(Zone::UTC) { zone } else { Zone::UTC }
}

fn half_away(length: Decimal, scale: u32) -> Decimal {
    length.round_dp_with_strategy(scale, RoundingStrategy::MidpointAwayFromZero)
}

/// The same day of the month, this many months later, or the last day of that month.
fn add_months(start: NaiveDateTime, months: u32) -> Option<NaiveDateTime> {
    start.checked_add_months(Months::new(months))
}

/// Number of whole months between two times; none where the second is not later.
fn whole_months(start: NaiveDateTime, end: NaiveDateTime) -> Option<u32> {
    if end <= start {
        return None;
    }
    let month = |time: NaiveDateTime| i64::from(time.year()) * 12 + i64::from(time.month0());
    let months = u32::try_from(month(end) - month(start)).ok()?;
    let is_over = add_months(start, months).is_none_or(|last| last > end);
    Some(if is_over { months.saturating_sub(1) } else { months })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZONES: [&str; 4] = ["UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin"];

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[track_caller]
    fn check(from: &str, to: &str, months: &str, end: &str) {
        check_in("UTC", from, to, months, end);
    }

    #[track_caller]
    fn check_in(zone: &str, from: &str, to: &str, months: &str, end: &str) {
        let period = Period::between(at(from), at(to), Zone::parse(zone).unwrap()).unwrap();
        assert_eq!(
            (period.months.normalize().to_string().as_str(), period.end),
            (months, at(end)),
            "{from} {to}"
        );
    }

    #[test]
    fn whole_months_are_counted_from_the_first_day() {
        check("2026-01-01", "2027-01-01", "12", "2027-01-01");
        check("2026-01-01", "2026-12-31", "12", "2027-01-01");
        check("2026-01-01", "2026-12-31T23:59:59Z", "12", "2027-01-01");
        check("2026-01-01", "2026-12-31T23:59:59.999Z", "12", "2027-01-01");
        check("2026-01-31", "2026-02-28", "1", "2026-02-28");
        check("2026-01-31", "2026-03-31", "2", "2026-03-31");
        check("2024-02-29", "2025-02-28", "12", "2025-02-28");
        check("2026-03-15", "2026-04-14", "1", "2026-04-15");
    }

    #[test]
    fn a_part_of_a_month_is_a_part_of_that_month() {
        check("2026-01-01", "2026-01-16", "0.4839", "2026-01-16");
        check("2026-01-01", "2026-02-15", "1.5", "2026-02-15");
        check("2026-01-01", "2026-01-01T00:00:01Z", "0", "2026-01-01T00:00:01Z");
    }

    #[test]
    fn a_period_that_ends_before_it_begins_is_none() {
        assert_eq!(Period::between(at("2026-01-01"), at("2026-01-01"), Zone::UTC), None);
        assert_eq!(Period::between(at("2026-01-02"), at("2026-01-01"), Zone::UTC), None);
    }

    #[test]
    fn months_are_those_of_the_zone_where_they_are_none_in_utc() {
        let march = ("2026-02-28T15:00:00Z", "2026-03-31T15:00:00Z");
        check_in("Asia/Tokyo", march.0, march.1, "1", march.1);
        check_in("Asia/Tokyo", march.0, "2026-03-30T15:00:00Z", "1", march.1);
        check("2026-02-28T15:00:00Z", "2026-03-31T15:00:00Z", "1.0968", march.1);
        // Summer time begins and ends in between.
        check_in(
            "America/New_York",
            "2026-01-01T05:00:00Z",
            "2026-07-01T04:00:00Z",
            "6",
            "2026-07-01T04:00:00Z",
        );
        check_in(
            "America/New_York",
            "2026-07-01T04:00:00Z",
            "2027-01-01T04:59:59Z",
            "6",
            "2027-01-01T05:00:00Z",
        );
        // A period that is whole in UTC stays so, wherever the tenant is.
        check_in("Asia/Tokyo", "2026-01-01", "2026-12-31", "12", "2027-01-01");
    }

    #[test]
    fn a_part_of_a_month_is_counted_where_midnight_is_nearest() {
        check_in(
            "Asia/Tokyo",
            "2026-02-28T15:00:00Z",
            "2026-03-15T15:00:00Z",
            "0.4839",
            "2026-03-15T15:00:00Z",
        );
        check_in("Asia/Tokyo", "2026-03-01", "2026-03-16", "0.4839", "2026-03-16");
    }

    #[test]
    fn a_length_is_added_where_midnight_is_nearest() {
        let tokyo = Zone::parse("Asia/Tokyo").unwrap();
        let end =
            |from: &str, months: i64| add_length(at(from), Decimal::new(months, 1), tokyo).unwrap();
        assert_eq!(end("2026-02-28T15:00:00Z", 10), at("2026-03-31T15:00:00Z"));
        assert_eq!(end("2026-02-28T15:00:00Z", 5), at("2026-03-16T03:00:00Z"));
        assert_eq!(end("2026-02-28", 10), at("2026-03-28"));
    }

    #[test]
    fn half_of_the_last_decimal_is_a_whole_one() {
        // 0.00005 of a month of 30 days is 129.6 seconds.
        check("2026-04-01", "2026-04-01T00:02:09.600Z", "0.0001", "2026-04-01T00:02:09.600Z");
    }

    proptest! {
        #[test]
        fn a_length_that_is_added_is_found_again(day in 0_i64..50_000, months in 1_u32..240, zone in 0..ZONES.len()) {
            let from = Timestamp::from_ms(day * DAY_MS).unwrap();
            let zone = Zone::parse(ZONES[zone]).unwrap();
            let end = add_length(from, Decimal::from(months), zone).unwrap();
            let period = Period::between(from, end, zone).unwrap();
            prop_assert_eq!(period, Period { months: Decimal::from(months), end });
        }

        #[test]
        fn no_two_moments_make_it_panic(from in 0..=Timestamp::MAX.as_ms(), to in 0..=Timestamp::MAX.as_ms()) {
            let (from, to) = (Timestamp::from_ms_clamped(from), Timestamp::from_ms_clamped(to));
            for zone in ZONES {
                let _ = Period::between(from, to, Zone::parse(zone).unwrap());
            }
        }
    }
}
