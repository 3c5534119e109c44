//! The figures of a report that each day counts for.

use std::ops::Range;

use super::{
    action_names::index,
    active_users::{NO_PERIOD, period_of_days},
    calendar::Calendar,
};

/// Quarters of an hour of a day on which no clock changes.
const QUARTERS_OF_DAY: u32 = 24 * 4;

/// Days that a report reads, by their places in its calendar.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// Days of each period, each period after the one before.
    pub periods: Vec<Range<usize>>,
    /// Latest days, in which actions are compared with those before.
    pub recent: Range<usize>,
    /// Equally many days before the recent ones.
    pub before: Range<usize>,
    /// Days in which the activities of each user are counted, and the action that counts; none for all actions.
    pub cell: Option<(Range<usize>, Option<String>)>,
}

/// A day with the figures that it counts for; or the time before the first day, or after the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportDay {
    /// Quarter of an hour with which the day ends.
    pub(super) end: u32,
    /// Place of the day in the calendar.
    pub(super) place: Option<usize>,
    /// Number of the day's class.
    pub(super) class: usize,
    /// Whether the day is in one of the periods.
    pub(super) is_in_period: bool,
    /// Whether the activities of each user are counted for the cell on this day.
    pub(super) is_in_cell: bool,
}

/// Properties of a day by which it counts: days of one class count for the same figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DayClass {
    pub(super) period: Option<usize>,
    pub(super) is_recent: bool,
    pub(super) is_before: bool,
}

/// The days of a report, which are found by quarters of an hour.
#[derive(Clone, Debug)]
pub(super) struct ReportDays {
    days: Vec<ReportDay>,
    /// The first quarter of an hour of the first day.
    begin: u32,
    /// Place of the day of each 96th quarter of an hour from `begin` on: the quarters between are on the same day, or,
    /// after clocks have changed, soon after it.
    near: Vec<usize>,
    classes: Vec<DayClass>,
}

impl ReportDays {
    pub(super) fn new(calendar: &Calendar, windows: &Windows) -> Self {
        let period_of = period_of_days(&windows.periods);
        let mut classes: Vec<DayClass> = Vec::new();
        let report_day = |(at, end): (usize, u32)| {
            let day = at.checked_sub(1).filter(|day| *day < calendar.len());
            let is_in = |days: &Range<usize>| day.is_some_and(|day| days.contains(&day));
            let period = day.and_then(|day| period_of.get(day));
            let period = period.filter(|period| **period != NO_PERIOD).map(|period| index(*period));
            let is_recent = is_in(&windows.recent);
            let is_before = is_in(&windows.before) && !is_recent;
            let class = DayClass { period, is_recent, is_before };
            // Days of a class are close together.
            let known = classes.iter().rposition(|known| *known == class);
            let class = known.unwrap_or_else(|| {
                classes.push(class);
                classes.len() - 1
            });
            let is_in_cell = windows.cell.as_ref().is_some_and(|(days, _)| is_in(days));
            ReportDay { end, place: day, class, is_in_period: period.is_some(), is_in_cell }
        };
        let begins = calendar.day_starts();
        let days: Vec<ReportDay> =
            begins.iter().copied().chain([u32::MAX]).enumerate().map(report_day).collect();
        let begin = begins.first().copied().unwrap_or_default();
        let end = begins.last().copied().unwrap_or_default();
        let quarters = (begin..end).step_by(index(QUARTERS_OF_DAY));
        let near = quarters.map(|quarter| place_of(&days, quarter)).collect();
        Self { days, begin, near, classes }
    }

    pub(super) fn classes(&self) -> &[DayClass] {
        &self.classes
    }

    /// The day of a quarter of an hour.
    pub(super) fn at(&self, quarter: u32) -> Option<&ReportDay> {
        let Some(since) = quarter.checked_sub(self.begin) else { return self.days.first() };
        let near = self.near.get(index(since / QUARTERS_OF_DAY));
        let Some(near) = near else { return self.days.last() };
        self.days.get(*near..)?.iter().find(|day| quarter < day.end)
    }
}

fn place_of(days: &[ReportDay], quarter: u32) -> usize {
    days.partition_point(|day| day.end <= quarter)
}
