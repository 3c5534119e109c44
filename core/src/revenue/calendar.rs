//! Days and periods of a report, which begin at midnight of the report's time zone.

use chrono::{Datelike as _, Days, Months, NaiveDate};

use super::error::ReportError;
use crate::value::Zone;
#[doc(inline)]
pub use crate::value::{Day, Unit};

/// Maximum number of intervals in a report.
pub const MAX_INTERVALS: usize = 1_000;
/// Months of a trailing year.
const YEAR: Months = Months::new(12);

impl Day {
    /// Days since a fixed day.
    pub(super) fn number(self) -> i64 {
        self.0.num_days_from_ce().into()
    }

    pub(super) fn after(self) -> Self {
        Self(self.0.succ_opt().unwrap_or(self.0))
    }

    /// First day of the month that is `after` months later than the month of this day.
    pub(super) fn first_of_month(self, after: i32) -> Self {
        let first = Interval::Month.start_of(self).0;
        let months = Months::new(after.unsigned_abs());
        let found = if after < 0 {
            first.checked_sub_months(months)
        } else {
            first.checked_add_months(months)
        };
        Self(found.unwrap_or(first))
    }

    /// Last day of an interval that ends before this day.
    pub fn before(self) -> Self {
        Self(self.0.pred_opt().unwrap_or(self.0))
    }

    /// Same day of the month a year after, or the last day of that month if it is shorter.
    pub(super) fn a_year_after(self) -> Self {
        Self(self.0.checked_add_months(YEAR).unwrap_or(self.0))
    }

    /// Same day of the month a year before, or the last day of that month if it is shorter.
    pub(super) fn a_year_before(self) -> Self {
        Self(self.0.checked_sub_months(YEAR).unwrap_or(self.0))
    }
}

/// Length of the intervals of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Interval {
    /// Calendar days of the tenant's time zone.
    Day,
    /// Weeks, from Monday on (ISO 8601).
    Week,
    /// Calendar months of the tenant's time zone.
    Month,
    /// Quarters of a year.
    Quarter,
    /// Calendar years, from January on.
    Year,
}

impl Interval {
    /// Values of the parameter `interval`, from the shortest to the longest.
    pub const NAMES: [&'static str; 5] = ["day", "week", "month", "quarter", "year"];
    const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// The interval with this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownInterval`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        let known = Self::NAMES.iter().zip(Self::ALL).find(|(known, _)| **known == name);
        known.map(|(_, interval)| interval).ok_or_else(|| ReportError::UnknownInterval(name.into()))
    }

    /// The first day of the interval that a day is in.
    fn first_day(self, day: NaiveDate) -> Option<NaiveDate> {
        match self {
            Self::Day => Some(day),
            Self::Week => {
                day.checked_sub_days(Days::new(day.weekday().num_days_from_monday().into()))
            }
            Self::Month => day.with_day(1),
            Self::Quarter => day.with_day(1)?.with_month0(day.month0() / 3 * 3),
            Self::Year => NaiveDate::from_ymd_opt(day.year(), 1, 1),
        }
    }

    /// First day of the interval after the interval of `day`.
    fn next(self, day: NaiveDate) -> Option<NaiveDate> {
        let first = self.first_day(day)?;
        match self {
            Self::Day => first.succ_opt(),
            Self::Week => first.checked_add_days(Days::new(7)),
            Self::Month => first.checked_add_months(Months::new(1)),
            Self::Quarter => first.checked_add_months(Months::new(3)),
            Self::Year => first.checked_add_months(YEAR),
        }
    }

    /// The first day of the interval that a day is in.
    pub(super) fn start_of(self, Day(day): Day) -> Day {
        Day(self.first_day(day).unwrap_or(day))
    }

    /// The name of the interval that a day is in: `2024-02-29`, `2024-W09`, `2024-02`, `2024-Q1`, `2024`.
    pub(super) fn name(self, Day(day): Day) -> String {
        match self {
            Self::Day => day.to_string(),
            Self::Week => day.format("%G-W%V").to_string(),
            Self::Month => day.format("%Y-%m").to_string(),
            Self::Quarter => format!("{}-Q{}", day.year(), day.month0() / 3 + 1),
            Self::Year => day.year().to_string(),
        }
    }
}

/// The bounds of a report's intervals: one more than intervals.
#[derive(Clone, Debug)]
pub(super) struct IntervalBounds {
    days: Vec<Day>,
    times: Vec<i64>,
    interval: Interval,
}

impl IntervalBounds {
    /// Bounds from `from` to the exclusive `to`. The first and the last interval are cut where these are no bounds of
    /// the calendar.
    pub(super) fn between(
        from: Day,
        to: Day,
        interval: Interval,
        zone: Zone,
    ) -> Result<Self, ReportError> {
        if to <= from {
            return Err(ReportError::FromAfterTo);
        }
        let mut days = vec![from];
        let mut last = from.0;
        while last < to.0 {
            if days.len() > MAX_INTERVALS {
                return Err(ReportError::TooManyIntervals);
            }
            last = interval.next(last).ok_or(ReportError::TooManyIntervals)?.min(to.0);
            days.push(Day(last));
        }
        let times = times_of(&days, zone)?;
        Ok(Self { days, times, interval })
    }

    /// The bounds of a single interval.
    pub(super) fn around(
        from: Day,
        to: Day,
        interval: Interval,
        zone: Zone,
    ) -> Result<Self, ReportError> {
        if to <= from {
            return Err(ReportError::FromAfterTo);
        }
        let days = vec![from, to];
        let times = times_of(&days, zone)?;
        Ok(Self { days, times, interval })
    }

    pub(super) fn len(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// When the intervals begin.
    pub(super) fn starts(&self) -> &[i64] {
        self.times.split_last().map_or(&[], |(_, starts)| starts)
    }

    pub(super) fn ends(&self) -> &[i64] {
        self.times.split_first().map_or(&[], |(_, ends)| ends)
    }

    pub(super) fn a_year_before_ends(
        &self,
        zone: Zone,
    ) -> Result<(Vec<Day>, Vec<i64>), ReportError> {
        let ends = self.days.iter().skip(1);
        let days: Vec<Day> =
            ends.map(|day| day.a_year_before().max(Day(NaiveDate::default()))).collect();
        let times = times_of(&days, zone)?;
        Ok((days, times))
    }

    /// Last day of each interval, after the day before the first interval.
    pub(super) fn last_days(&self) -> impl Iterator<Item = Day> + '_ {
        self.days.iter().map(|day| day.before())
    }

    /// The intervals: name, first day, and first day after the interval.
    pub(super) fn periods(&self) -> Vec<ReportPeriod> {
        let pairs = self.days.iter().zip(self.days.iter().skip(1));
        let period = |(from, to): (&Day, &Day)| ReportPeriod {
            period: self.interval.name(*from),
            from: *from,
            to: *to,
        };
        pairs.map(period).collect()
    }
}

fn times_of(days: &[Day], zone: Zone) -> Result<Vec<i64>, ReportError> {
    let times = days.iter().map(|day| Some(day.begin(zone)?.as_ms()));
    times.collect::<Option<_>>().ok_or(ReportError::TooManyIntervals)
}

/// An interval of a report.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ReportPeriod {
    /// Name of the period: `2024-02-29`, `2024-W09`, `2024-02`, `2024-Q1` or `2024`.
    pub period: String,
    /// First day of the interval.
    pub from: Day,
    /// First day after the interval.
    pub to: Day,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Timestamp;

    fn day(text: &str) -> Day {
        Day::parse(text).unwrap()
    }

    fn names(from: &str, to: &str, interval: &str) -> Vec<String> {
        let interval = Interval::parse(interval).unwrap();
        let bounds = IntervalBounds::between(day(from), day(to), interval, Zone::UTC).unwrap();
        bounds
            .periods()
            .into_iter()
            .map(|period| format!("{} {}", period.period, period.from))
            .collect()
    }

    #[test]
    fn intervals_are_those_of_the_calendar_and_cut_at_both_ends() {
        assert_eq!(
            names("2024-01-15", "2024-03-01", "month"),
            ["2024-01 2024-01-15", "2024-02 2024-02-01"]
        );
        assert_eq!(names("2024-02-28", "2024-03-02", "day").len(), 3);
        assert_eq!(
            names("2023-12-30", "2024-01-03", "week"),
            ["2023-W52 2023-12-30", "2024-W01 2024-01-01"]
        );
        assert_eq!(
            names("2023-11-30", "2024-05-01", "quarter"),
            ["2023-Q4 2023-11-30", "2024-Q1 2024-01-01", "2024-Q2 2024-04-01"]
        );
        assert_eq!(
            names("2023-11-30", "2025-01-01", "year"),
            ["2023 2023-11-30", "2024 2024-01-01"]
        );
    }

    #[test]
    fn intervals_are_limited() {
        let count = |from: &str, to: &str| {
            let bounds = IntervalBounds::between(day(from), day(to), Interval::Day, Zone::UTC);
            bounds.map(|bounds| bounds.len())
        };
        assert_eq!(count("2024-01-01", "2026-09-27"), Ok(1_000));
        assert_eq!(count("2024-01-01", "2026-09-28"), Err(ReportError::TooManyIntervals));
        assert_eq!(count("2024-01-01", "2024-01-01"), Err(ReportError::FromAfterTo));
        assert_eq!(count("1969-12-01", "1970-01-05"), Err(ReportError::TooManyIntervals));
        assert!(Interval::parse("fortnight").is_err());
    }

    #[test]
    fn a_border_is_midnight_of_the_zone() {
        let zone = Zone::parse("Asia/Tokyo").unwrap();
        let bounds =
            IntervalBounds::between(day("2024-06-01"), day("2024-07-01"), Interval::Month, zone);
        let expect = Timestamp::parse("2024-05-31T15:00:00Z").unwrap().as_ms();
        assert_eq!(bounds.unwrap().starts(), [expect]);
    }
}
