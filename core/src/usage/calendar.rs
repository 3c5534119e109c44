//! Days of a zone as quarters of an hour, one after the other.

use super::tally::quarter_of;
use crate::value::{Day, Timestamp, Zone};

/// Days of a zone, from a first one on. A day that clocks skip is empty.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// The quarter of an hour with which each day begins, and at the end that after the last day.
    begins: Vec<u32>,
}

impl Calendar {
    /// A number of days from a first one on.
    pub fn new(first: Day, days: usize, zone: Zone) -> Self {
        let mut begins = Vec::with_capacity(days + 1);
        let mut day = Some(first);
        for _ in 0..=days {
            let begin = day.and_then(|day| day.begin(zone)).map(quarter_of);
            // A day before 1970 begins with 1970; one after 9999 never begins.
            let is_early = day.is_some_and(|day| day < Day::at(Timestamp::MIN, Zone::UTC));
            begins.push(begin.unwrap_or(if is_early { 0 } else { u32::MAX }));
            day = day.and_then(|day| day.0.succ_opt()).map(Day);
        }
        Self { begins }
    }

    /// Number of the calendar's days.
    pub fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Whether the calendar has no day.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Day of a quarter of an hour, by its place; none before the first day and after the last.
    pub fn day_of(&self, quarter: u32) -> Option<usize> {
        let behind = self.begins.partition_point(|begin| *begin <= quarter);
        behind.checked_sub(1).filter(|day| *day < self.len())
    }

    /// The quarter of an hour with which each day begins, and that after the last day.
    pub(super) fn day_starts(&self) -> &[u32] {
        &self.begins
    }
}
