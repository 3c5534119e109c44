//! How long a period is in months, and where it ends (R23, "Length").

use chrono::{DateTime, Months};
use rust_decimal::Decimal;

use super::{Timestamp, time::DAY_MS};

/// Decimals of a length that is not a whole number of months (R23).
const LENGTH_SCALE: u32 = 4;
/// How far before its end a period may be said to end: its last day, second or millisecond.
const LAST_MOMENTS_MS: [i64; 4] = [0, 1, 1_000, DAY_MS];

/// A period from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Length in months.
    pub months: Decimal,
    /// The moment at which it is over.
    pub end: Timestamp,
}

impl Period {
    /// The period from `from` to `to`. It is n months when `to` is n months after `from`, or the last
    /// day, second or millisecond before; then it ends n months after `from`. Otherwise it is the whole
    /// months, plus the part that is passed of the month around its end. `None` when `to` is not after
    /// `from`.
    ///
    /// ```
    /// use svctrack_core::value::{Timestamp, period::Period};
    /// let at = |text| Timestamp::parse(text).unwrap();
    /// let year = Period::between(at("2026-01-01"), at("2026-12-31")).unwrap();
    /// assert_eq!(year.months.to_string(), "12");
    /// assert_eq!(year.end, at("2027-01-01"));
    /// ```
    pub fn between(from: Timestamp, to: Timestamp) -> Option<Self> {
        if to <= from {
            return None;
        }
        for earlier in LAST_MOMENTS_MS {
            let end = Timestamp::from_ms_clamped(to.as_ms() + earlier);
            let months = whole_months(from, end);
            if months > 0 && add_months(from, months)? == end {
                return Some(Self { months: Decimal::from(months), end });
            }
        }
        let whole = whole_months(from, to);
        let (before, after) = (add_months(from, whole)?, add_months(from, whole + 1)?);
        let part = Decimal::from(to.as_ms() - before.as_ms())
            / Decimal::from(after.as_ms() - before.as_ms());
        let months = (Decimal::from(whole) + part).round_dp(LENGTH_SCALE);
        Some(Self { months, end: to })
    }
}

/// `from` plus so many months: on the same day of the month, or on the last one there is. `None` beyond
/// the year 9999.
pub fn add_months(from: Timestamp, months: u32) -> Option<Timestamp> {
    let date =
        DateTime::from_timestamp_millis(from.as_ms())?.checked_add_months(Months::new(months))?;
    Timestamp::from_ms(date.timestamp_millis())
}

/// `from` plus a length in months; the part of a month counts as so much of the month that it falls in.
pub fn add_length(from: Timestamp, months: Decimal) -> Option<Timestamp> {
    let whole = u32::try_from(months.trunc()).ok()?;
    let (before, after) = (add_months(from, whole)?, add_months(from, whole + 1)?);
    let month_ms = Decimal::from(after.as_ms() - before.as_ms());
    let part_ms = i64::try_from((months.fract() * month_ms).round()).ok()?;
    Timestamp::from_ms(before.as_ms() + part_ms)
}

/// The most months that fit between two moments.
fn whole_months(from: Timestamp, to: Timestamp) -> u32 {
    // A month has at most 31 days, so this is never too many.
    let mut months = u32::try_from((to.as_ms() - from.as_ms()) / (31 * DAY_MS)).unwrap_or(0);
    while add_months(from, months + 1).is_some_and(|next| next <= to) {
        months += 1;
    }
    months
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn check(from: &str, to: &str, months: &str, end: &str) {
        let period = Period::between(at(from), at(to)).unwrap();
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
        assert_eq!(Period::between(at("2026-01-01"), at("2026-01-01")), None);
        assert_eq!(Period::between(at("2026-01-02"), at("2026-01-01")), None);
    }

    proptest! {
        #[test]
        fn a_length_that_is_added_is_found_again(day in 0_i64..50_000, months in 1_u32..240) {
            let from = Timestamp::from_ms(day * DAY_MS).unwrap();
            let end = add_months(from, months).unwrap();
            let period = Period::between(from, end).unwrap();
            prop_assert_eq!(add_length(from, period.months), Some(end));
            prop_assert_eq!(period.end, end);
        }

        #[test]
        fn no_two_moments_make_it_panic(from in 0..=Timestamp::MAX.as_ms(), to in 0..=Timestamp::MAX.as_ms()) {
            let _ = Period::between(Timestamp::from_ms_clamped(from), Timestamp::from_ms_clamped(to));
        }
    }
}
