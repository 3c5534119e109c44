//! Cohorts of users by the week of their first activity: how many come back in the weeks after it.

use std::ops::Range;

use super::{active_users::Periods, presence::Presence};

/// Users who were first active in one week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cohort {
    /// Number of the cohort's users who were active in that week, and in each of the weeks after it.
    pub kept: Vec<u64>,
}

/// Cohorts of weeks: the places of their days, each week after the one before.
pub fn cohorts<'p>(
    all: impl Iterator<Item = &'p Presence>,
    weeks: &[Range<usize>],
    first_day: impl Fn(u32) -> Option<usize>,
) -> Vec<Cohort> {
    let cohort = |at| Cohort { kept: vec![0; weeks.len() - at] };
    let mut found: Vec<Cohort> = (0..weeks.len()).map(cohort).collect();
    let weeks = Periods::new(weeks);
    for presence in all {
        let first = presence.first.and_then(&first_day).and_then(|day| weeks.at(day));
        let Some((first, cohort)) = first.and_then(|first| Some((first, found.get_mut(first)?)))
        else {
            continue;
        };
        for week in weeks.of_presence(presence) {
            if let Some(kept) = week.checked_sub(first).and_then(|later| cohort.kept.get_mut(later))
            {
                *kept += 1;
            }
        }
    }
    found
}
