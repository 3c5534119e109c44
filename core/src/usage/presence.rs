//! The days on which a user or a company was active. The figures that depend on them alone are in `active_users`.

use std::ops::Range;

/// Bits of a word of a set.
pub(super) const WORD: usize = 64;

/// Days on which a user was active, by their places in a calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// First quarter of an hour in which the user was ever active.
    pub first: Option<u32>,
    pub(super) words: Vec<u64>,
}

impl Presence {
    /// Adds a first quarter of an hour.
    pub(super) fn add_first(&mut self, first: u32) {
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
    }

    pub(super) fn add(&mut self, day: usize) {
        set(&mut self.words, day);
    }

    /// Adds the days of another user.
    pub fn join(&mut self, other: &Self) {
        if let Some(first) = other.first {
            self.add_first(first);
        }
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, added) in self.words.iter_mut().zip(&other.words) {
            *word |= added;
        }
    }

    /// Days, in ascending order.
    pub fn days(&self) -> impl Iterator<Item = usize> + '_ {
        bits(&self.words)
    }

    /// Whether the user was active on one of these days.
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

/// Numbers of a set, in ascending order.
pub(super) fn bits(words: &[u64]) -> Bits<'_> {
    Bits { words, left: 0, base: 0 }
}

/// Numbers of a set that are left.
pub(super) struct Bits<'w> {
    words: &'w [u64],
    /// Bits that are left of the word before these.
    left: u64,
    /// Number after the last bit of that word.
    base: usize,
}

impl Bits<'_> {
    /// Skips the numbers below `number`.
    pub(super) fn skip_to(&mut self, number: usize) {
        while self.base <= number {
            let Some((word, rest)) = self.words.split_first() else {
                self.left = 0;
                return;
            };
            (self.left, self.words) = (*word, rest);
            self.base += WORD;
        }
        if let Some(below) = (number + WORD).checked_sub(self.base) {
            self.left &= u64::MAX << below;
        }
    }
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
