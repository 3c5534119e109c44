//! On which days somebody was active, and the figures that follow from that alone: they are the same for users and for
//! companies.

use std::ops::Range;

use super::names::index;

/// Bits of a word of a set.
const WORD: usize = 64;

/// The days on which somebody was active, by their places in a calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// The first quarter of an hour in which they were ever active.
    pub first: Option<u32>,
    words: Vec<u64>,
}

impl Presence {
    /// Adds a first quarter of an hour.
    pub(super) fn since(&mut self, first: u32) {
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
    }

    pub(super) fn add(&mut self, day: usize) {
        set(&mut self.words, day);
    }

    /// Adds the days of another.
    pub fn join(&mut self, other: &Self) {
        if let Some(first) = other.first {
            self.since(first);
        }
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, added) in self.words.iter_mut().zip(&other.words) {
            *word |= added;
        }
    }

    /// The days, in their order.
    pub fn days(&self) -> impl Iterator<Item = usize> + '_ {
        bits(&self.words)
    }

    /// Whether they were active on one of these days.
    pub fn is_in(&self, days: &Range<usize>) -> bool {
        self.days().any(|day| days.contains(&day))
    }
}

/// Puts a number into a set.
pub(super) fn set(words: &mut Vec<u64>, number: usize) {
    let at = number / WORD;
    if words.len() <= at {
        words.resize(at + 1, 0);
    }
    if let Some(word) = words.get_mut(at) {
        *word |= 1 << (number % WORD);
    }
}

/// The numbers in a set, in their order.
pub(super) fn bits(words: &[u64]) -> Bits<'_> {
    Bits { words, left: 0, base: 0 }
}

/// The numbers that are left of a set.
pub(super) struct Bits<'w> {
    words: &'w [u64],
    /// What is left of the word before these.
    left: u64,
    /// The number after all of that word.
    base: usize,
}

impl Iterator for Bits<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            let (word, rest) = self.words.split_first()?;
            (self.left, self.words) = (*word, rest);
            self.base += WORD;
        }
        let bit = usize::try_from(self.left.trailing_zeros()).unwrap_or_default();
        self.left &= self.left - 1;
        Some(self.base - WORD + bit)
    }
}

/// How many were active in the days that end with each day, for each of some widths.
pub fn trailing<'p, const N: usize>(
    all: impl Iterator<Item = &'p Presence>,
    widths: [usize; N],
    days: usize,
) -> [Vec<u64>; N] {
    let mut found = widths.map(|width| Trailing::new(width, days));
    for presence in all {
        for day in presence.days() {
            found.iter_mut().for_each(|trailing| trailing.add(day));
        }
        found.iter_mut().for_each(Trailing::end);
    }
    found.map(Trailing::counts)
}

/// What each day adds to the count of the day before, and what it takes away.
struct Trailing {
    width: usize,
    changes: Vec<i64>,
    /// The days in which the one whose days are added counts, as far as they are known.
    counted: Range<usize>,
}

impl Trailing {
    fn new(width: usize, days: usize) -> Self {
        Self { width, changes: vec![0; days], counted: 0..0 }
    }

    fn add(&mut self, day: usize) {
        if self.counted.is_empty() || day > self.counted.end {
            self.end();
            self.counted.start = day;
        }
        self.counted.end = day + self.width;
    }

    /// Counts somebody whose days have been added.
    fn end(&mut self) {
        let Range { start, end } = std::mem::take(&mut self.counted);
        if start == end {
            return;
        }
        if let Some(change) = self.changes.get_mut(start) {
            *change += 1;
        }
        if let Some(change) = self.changes.get_mut(end) {
            *change -= 1;
        }
    }

    fn counts(self) -> Vec<u64> {
        let mut count = 0;
        let counts = self.changes.iter().map(|change| {
            count += change;
            u64::try_from(count).unwrap_or_default()
        });
        counts.collect()
    }
}

/// How many were active in a period, and how that differs from the period before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// Active in the period.
    pub active: u64,
    /// Of these, for the first time ever.
    pub new: u64,
    /// Of these, active in the period before too.
    pub returning: u64,
    /// Of these, active earlier, but not in the period before.
    pub resurrecting: u64,
    /// Active in the period before, and not in this one.
    pub dormant: u64,
}

/// What a day of no period has as its period.
pub(super) const NO_PERIOD: u32 = u32::MAX;

/// The period of each day, by its number.
pub(super) fn period_of_days(periods: &[Range<usize>]) -> Vec<u32> {
    let days = periods.iter().map(|period| period.end).max().unwrap_or_default();
    let mut period_of = vec![NO_PERIOD; days];
    for (number, days) in (0..).zip(periods) {
        if let Some(days) = period_of.get_mut(days.clone()) {
            days.fill(number);
        }
    }
    period_of
}

/// The period of a day, if it is in one.
fn period_in(period_of: &[u32], day: usize) -> Option<usize> {
    period_of.get(day).filter(|period| **period != NO_PERIOD).map(|period| index(*period))
}

/// The lifecycles of periods. `periods` are the places of their days, each period after the one before; the first of
/// them is that before the first that is returned. `first_day` says on which day of the calendar a quarter of an hour is.
pub fn lifecycles<'p>(
    all: impl Iterator<Item = &'p Presence>,
    periods: &[Range<usize>],
    first_day: impl Fn(u32) -> Option<usize>,
) -> Vec<Lifecycle> {
    let mut found = vec![Lifecycle::default(); periods.len()];
    let period_of = period_of_days(periods);
    for presence in all {
        let first = presence.first.and_then(&first_day);
        let first = first.and_then(|first| period_in(&period_of, first));
        let mut last: Option<usize> = None;
        for day in presence.days() {
            let Some(behind) = period_in(&period_of, day) else { continue };
            if last == Some(behind) {
                continue;
            }
            if let Some(last) = last.filter(|last| last + 1 < behind) {
                count(&mut found, last + 1, |found| found.dormant += 1);
            }
            let is_new = first == Some(behind);
            let is_returning = behind > 0 && last == Some(behind - 1);
            count(&mut found, behind, |found| {
                found.active += 1;
                match (is_new, is_returning) {
                    (true, _) => found.new += 1,
                    (false, true) => found.returning += 1,
                    (false, false) => found.resurrecting += 1,
                }
            });
            last = Some(behind);
        }
        if let Some(last) = last {
            count(&mut found, last + 1, |found| found.dormant += 1);
        }
    }
    found.drain(..found.len().min(1));
    found
}

fn count(found: &mut [Lifecycle], at: usize, add: impl FnOnce(&mut Lifecycle)) {
    if let Some(lifecycle) = found.get_mut(at) {
        add(lifecycle);
    }
}

/// Those who were first active in one week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cohort {
    /// How many of them were active in that week, and in each of the weeks after it.
    pub kept: Vec<u64>,
}

/// The cohorts of weeks: the places of their days, each week after the one before.
pub fn cohorts<'p>(
    all: impl Iterator<Item = &'p Presence>,
    weeks: &[Range<usize>],
    first_day: impl Fn(u32) -> Option<usize>,
) -> Vec<Cohort> {
    let cohort = |at| Cohort { kept: vec![0; weeks.len() - at] };
    let mut found: Vec<Cohort> = (0..weeks.len()).map(cohort).collect();
    let period_of = period_of_days(weeks);
    let week_of = |day: usize| period_in(&period_of, day);
    for presence in all {
        let first = presence.first.and_then(&first_day).and_then(week_of);
        let Some((first, cohort)) = first.and_then(|first| Some((first, found.get_mut(first)?)))
        else {
            continue;
        };
        let mut last = None;
        for week in presence.days().filter_map(week_of) {
            if last != Some(week)
                && let Some(kept) =
                    week.checked_sub(first).and_then(|later| cohort.kept.get_mut(later))
            {
                *kept += 1;
                last = Some(week);
            }
        }
    }
    found
}
