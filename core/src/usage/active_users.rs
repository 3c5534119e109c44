//! Active users and companies (R51): how many were active in the days that end with each day, which are new, returning
//! or dormant.

use std::ops::Range;

use super::{
    action_names::index,
    presence::{Presence, WORD, bits, set},
};

/// Number of active users in the days that end with each day, for each of several widths.
pub fn trailing<'p, const N: usize>(
    all: impl Iterator<Item = &'p Presence>,
    widths: [usize; N],
    days: usize,
) -> [Vec<u64>; N] {
    // Difference between the count of each day and the count of the previous day.
    let mut changes = widths.map(|_| vec![0_i64; days]);
    let mut counted = Vec::new();
    for presence in all {
        for (width, changes) in widths.into_iter().zip(&mut changes) {
            counted.clone_from(&presence.words);
            counted.resize(days.div_ceil(WORD), 0);
            extend_to_width(&mut counted, width);
            for (day, begins) in ends(&mut counted) {
                if let Some(change) = changes.get_mut(day) {
                    *change += if begins { 1 } else { -1 };
                }
            }
        }
    }
    changes.map(|changes| {
        let counts = changes.into_iter().scan(0, |count, change| {
            *count += change;
            Some(u64::try_from(*count).unwrap_or_default())
        });
        counts.collect()
    })
}

/// Extends each number of a set to `width` consecutive numbers.
fn extend_to_width(words: &mut [u64], width: usize) {
    let mut reached = 1;
    while reached < width {
        let by = reached.min(width - reached).min(WORD - 1);
        let mut carry = 0;
        for word in &mut *words {
            let before = *word;
            *word |= before << by | carry;
            carry = before >> (WORD - by);
        }
        reached += by;
    }
}

/// Writes the numbers of a set that are at least `first`, less `first`, over another set, as far as that reaches.
fn shift_down(words: &[u64], first: usize, to: &mut [u64]) {
    let (whole, bits) = (first / WORD, first % WORD);
    let from = words.get(whole..).unwrap_or_default();
    for (at, to) in to.iter_mut().enumerate() {
        let word = |at: usize| from.get(at).copied().unwrap_or_default();
        // The upper bits are shifted in two steps, since a shift by a whole word is an overflow.
        *to = word(at) >> bits | word(at + 1) << (WORD - 1 - bits) << 1;
    }
}

/// First numbers of the stretches of a set, and the numbers after them, in turn.
fn ends(words: &mut [u64]) -> impl Iterator<Item = (usize, bool)> {
    let mut carry = 0;
    for word in &mut *words {
        let before = *word;
        *word ^= before << 1 | carry;
        carry = before >> (WORD - 1);
    }
    bits(words).zip([true, false].into_iter().cycle())
}

/// Active users of a period, and their difference from the period before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// Active in the period.
    pub active: u64,
    /// Active for the first time ever.
    pub new: u64,
    /// Active in the period before too.
    pub returning: u64,
    /// Active earlier, but not in the period before.
    pub resurrecting: u64,
    /// Active in the period before, and not in this one.
    pub dormant: u64,
}

/// Period of a day that is in no period.
pub(super) const NO_PERIOD: u32 = u32::MAX;

/// Period of each day, by its number.
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

/// Periods, which are found by days.
pub(super) struct Periods<'p> {
    periods: &'p [Range<usize>],
    period_of: Vec<u32>,
    /// First day of the first period, where each period is one day, the next one after the one before.
    first_of_days: Option<usize>,
}

impl<'p> Periods<'p> {
    pub(super) fn new(periods: &'p [Range<usize>]) -> Self {
        let first = periods.first().map(|days| days.start);
        let is_day = |(at, days): (usize, &Range<usize>)| {
            first.is_some_and(|first| *days == (first + at..first + at + 1))
        };
        let first_of_days = first.filter(|_| periods.iter().enumerate().all(is_day));
        Self { periods, period_of: period_of_days(periods), first_of_days }
    }

    /// Replaces a set by the periods in which a user was active.
    fn collect(&self, presence: &Presence, active: &mut Vec<u64>) {
        active.clear();
        active.resize(self.periods.len().div_ceil(WORD), 0);
        match self.first_of_days {
            Some(first) => shift_down(&presence.words, first, active),
            None => self.of_presence(presence).for_each(|period| set(active, period)),
        }
    }

    /// Period of a day, if it is in one.
    pub(super) fn at(&self, day: usize) -> Option<usize> {
        let period = self.period_of.get(day).filter(|period| **period != NO_PERIOD)?;
        Some(index(*period))
    }

    /// Periods in which a user was active, in their order.
    pub(super) fn of_presence(&self, presence: &Presence) -> impl Iterator<Item = usize> {
        let mut days = bits(&presence.words);
        std::iter::from_fn(move || {
            loop {
                let day = days.next()?;
                if let Some(period) = self.at(day) {
                    days.skip_to(self.periods.get(period)?.end);
                    return Some(period);
                }
            }
        })
    }
}

/// Lifecycles of periods. `periods` are the places of their days, each period after the one before; the first of them
/// is that before the first that is returned. `first_day` returns the day of the calendar of a quarter of an hour.
pub fn lifecycles<'p>(
    all: impl Iterator<Item = &'p Presence>,
    periods: &[Range<usize>],
    first_day: impl Fn(u32) -> Option<usize>,
) -> Vec<Lifecycle> {
    let mut found = vec![Lifecycle::default(); periods.len()];
    let periods = Periods::new(periods);
    let mut active = Vec::new();
    for presence in all {
        let first = presence.first.and_then(&first_day).and_then(|day| periods.at(day));
        periods.collect(presence, &mut active);
        for (period, begins) in ends(&mut active) {
            let Some(found) = found.get_mut(period) else { continue };
            match begins {
                true if first == Some(period) => found.new += 1,
                true => found.resurrecting += 1,
                false => found.dormant += 1,
            }
        }
    }
    let mut before = 0;
    for found in &mut found {
        found.returning = before - found.dormant;
        found.active = found.returning + found.new + found.resurrecting;
        before = found.active;
    }
    found.drain(..found.len().min(1));
    found
}
