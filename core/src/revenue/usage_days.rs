//! The days that a report of usage reads: its periods, the days before them that trailing figures and comparisons need,
//! and the weeks of its cohorts.

use std::ops::Range;

use super::{
    calendar::{Day, Interval, IntervalBounds, ReportPeriod},
    error::ReportError,
    options::ReportOptions,
    query::{Explain, ExplainedLine, ReportQuery, SPAN},
    usage_line::UsageLine,
};
use crate::{
    usage::{Calendar, UsageCounting, Windows},
    value::{Timestamp, Unit},
};

/// Days of the trailing figures of a week and of a month: four whole weeks, so that the weekday of the last day does
/// not matter.
pub(super) const WEEK: usize = 7;
pub(super) const MONTH: usize = 28;
/// The longest report, in days: ten years.
const MAX_DAYS: u32 = 3_660;
/// Maximum number of weeks with cohorts: those of the latest year.
const MAX_WEEKS: u32 = 53;

/// The days of a report.
#[derive(Clone, Debug)]
pub struct UsageDays {
    pub(super) options: ReportOptions,
    /// The day of `now`.
    pub(super) today: Day,
    /// First day that is read.
    start: Day,
    pub(super) periods: Vec<ReportPeriod>,
    /// The whole interval before that of the first period.
    before: Range<Day>,
    /// The weeks of the cohorts.
    pub(super) weeks: Vec<ReportPeriod>,
    pub(super) cell: Option<UsageCell>,
}

/// A figure whose users are requested.
#[derive(Clone, Debug)]
pub(super) struct UsageCell {
    pub(super) line: UsageLine,
    /// The days of the figure.
    pub(super) from: Day,
    pub(super) to: Day,
    /// Whether a day of the figure has begun.
    pub(super) has_begun: bool,
    /// Days of the period that the figure is compared with.
    pub(super) before: Range<Day>,
    /// Only users with this action.
    pub(super) action: Option<String>,
    /// Only users who were first active in these days.
    pub(super) cohort: Option<(Day, Day)>,
    /// Whether companies count, each as all of its users together, instead of users.
    pub(super) is_of_companies: bool,
}

impl UsageDays {
    /// The days of the report that a query asks for.
    ///
    /// # Errors
    /// When its days, or the figure to explain, are invalid.
    pub fn from_query(query: &ReportQuery, options: &ReportOptions) -> Result<Self, ReportError> {
        let &ReportOptions { from, to, interval, zone, now, .. } = options;
        let periods = IntervalBounds::between(from, to, interval, zone)?.periods();
        if to.number() - from.number() > i64::from(MAX_DAYS) {
            return Err(ReportError::TooLong(MAX_DAYS));
        }
        let today = Day::at(now, zone);
        let end = to.min(today.after()).max(from);
        let first_cohort = end.back(MAX_WEEKS - 1, Unit::Week).unwrap_or(from).max(from);
        let weeks_from = Interval::Week.start_of(first_cohort);
        let weeks = if end > from {
            IntervalBounds::between(weeks_from, end, Interval::Week, zone)?.periods()
        } else {
            Vec::new()
        };
        let back = |day: Day, days: usize| {
            day.back(u32::try_from(days).unwrap_or(u32::MAX), Unit::Day).unwrap_or(day)
        };
        let first = interval.start_of(from);
        let before = interval.start_of(first.before())..first;
        let start = before.start.min(weeks_from).min(back(from, MONTH)).min(back(end, 2 * MONTH));
        let plan =
            Self { options: options.clone(), today, start, periods, before, weeks, cell: None };
        let cell = query.explain.as_ref().map(|asked| plan.cell_of(asked)).transpose()?;
        Ok(Self { cell: cell.flatten(), ..plan })
    }

    /// An empty count of what the report needs.
    pub fn counting(&self) -> UsageCounting {
        let days = self.place(self.options.to);
        let calendar = Calendar::new(self.start, days, self.options.zone);
        let end = self.place(self.end());
        let cell = self.cell.as_ref().map(|cell| {
            let days = match cell.line {
                UsageLine::Dormant => cell.before.clone(),
                _ => cell.from..cell.to,
            };
            (self.places(days), cell.action.clone())
        });
        let windows = Windows {
            periods: self.periods.iter().map(|period| self.of_period(period)).collect(),
            recent: end.saturating_sub(MONTH)..end,
            before: end.saturating_sub(2 * MONTH)..end.saturating_sub(MONTH),
            cell,
        };
        UsageCounting::new(calendar, windows)
    }

    /// End of the day of `now`: until then the same activities result in the same report.
    pub fn until(&self) -> Timestamp {
        self.today.after().begin(self.options.zone).unwrap_or(Timestamp::MAX)
    }

    /// First day after the report's days that have begun.
    pub(super) fn end(&self) -> Day {
        self.options.to.min(self.today.after()).max(self.options.from)
    }

    /// Place of a day among those that are read.
    pub(super) fn place(&self, day: Day) -> usize {
        usize::try_from(day.number() - self.start.number()).unwrap_or_default()
    }

    pub(super) fn places(&self, days: Range<Day>) -> Range<usize> {
        self.place(days.start)..self.place(days.end)
    }

    pub(super) fn of_period(&self, period: &ReportPeriod) -> Range<usize> {
        self.places(period.from..period.to)
    }

    /// Places of the interval before the first period, and of all periods.
    pub(super) fn with_before(&self) -> Vec<Range<usize>> {
        std::iter::once(self.places(self.before.clone()))
            .chain(self.periods.iter().map(|period| self.of_period(period)))
            .collect()
    }

    /// Last day of a period that has begun, if one has.
    pub(super) fn last_day(&self, period: &ReportPeriod) -> Option<Day> {
        (period.from <= self.today).then(|| period.to.min(self.today.after()).before())
    }

    /// Whether the days of a period have ended.
    pub(super) fn is_over(&self, period: &ReportPeriod) -> bool {
        period.to <= self.today
    }
}

impl UsageDays {
    fn cell_of(&self, asked: &Explain) -> Result<Option<UsageCell>, ReportError> {
        let ExplainedLine::Usage(line) = asked.line else { return Ok(None) };
        let named = |periods: &[ReportPeriod], name: &str, option| {
            let found = periods.iter().find(|period| period.period == name);
            found.cloned().ok_or(ReportError::UnknownCell(option))
        };
        let cohort = asked.cohort.as_ref().map(|name| named(&self.weeks, name, "cohort"));
        let cohort = cohort.transpose()?.map(|week| (week.from, week.to));
        let (from, to, before) = if line == UsageLine::Kept {
            let week = named(&self.weeks, &asked.period, "period")?;
            (week.from, week.to, week.from..week.from)
        } else if asked.period == SPAN {
            (self.options.from, self.options.to, self.before.clone())
        } else {
            let place = self.periods.iter().position(|period| period.period == asked.period);
            let place = place.ok_or(ReportError::UnknownCell("period"))?;
            let period = self.periods.get(place).ok_or(ReportError::UnknownCell("period"))?;
            let before = place.checked_sub(1).and_then(|place| self.periods.get(place));
            let before = before.map(|before| before.from..before.to);
            (period.from, period.to, before.unwrap_or_else(|| self.before.clone()))
        };
        let has_begun = from <= self.today;
        let (from, to) = match line.trailing_days() {
            Some(days) if has_begun => {
                let last = to.min(self.today.after()).before();
                let days = u32::try_from(days - 1).unwrap_or_default();
                (last.back(days, Unit::Day).unwrap_or(last), last.after())
            }
            _ => (from, to),
        };
        let (action, is_of_companies) = (asked.action.clone(), asked.is_of_companies);
        Ok(Some(UsageCell { line, from, to, has_begun, before, action, cohort, is_of_companies }))
    }
}
