//! Classifies the change of a company's MRR as a movement: new, expansion, churn and so on.
//! The outcome of a license's renewal, which has no part in it, is in `renewal_outcome`.

use std::ops::{AddAssign, SubAssign};

/// Sums of an interval: amounts in units, and companies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MovementTally {
    /// MRR of all companies at the start, and at the end.
    pub(super) start: i128,
    pub(super) end: i128,
    /// MRR at the start of the companies that pay more than 0.
    pub(super) base: i128,
    pub(super) new: i128,
    pub(super) reactivation: i128,
    pub(super) expansion: i128,
    pub(super) contraction: i128,
    pub(super) churn: i128,
    /// Change of amounts below 0.
    pub(super) negative: i128,
    /// Amounts for a product that begin and end for companies that pay for another.
    pub(super) entering: i128,
    pub(super) leaving: i128,
    pub(super) customers_start: i64,
    pub(super) customers: i64,
    pub(super) new_customers: i64,
    pub(super) reactivated: i64,
    pub(super) churned: i64,
    pub(super) entered: i64,
    pub(super) left: i64,
}

/// Reason for which a company begins to pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CustomerEntry {
    New,
    Reactivation,
}

/// MRR of a company: of the licenses that count in the report, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paid {
    pub(super) counted: i128,
    pub(super) all: i128,
}

impl MovementTally {
    /// Lines of one company that pays `a` before and `b` after.
    pub(super) fn classify(a: Paid, b: Paid, entry: impl FnOnce() -> CustomerEntry) -> Self {
        let (before, after) = (a.counted.max(0), b.counted.max(0));
        let mut tally = Self {
            start: a.counted,
            end: b.counted,
            base: before,
            negative: b.counted.min(0) - a.counted.min(0),
            customers_start: (before > 0).into(),
            customers: (after > 0).into(),
            ..Self::default()
        };
        match (before > 0, after > 0) {
            (false, true) if a.all > 0 => (tally.entering, tally.entered) = (after, 1),
            (false, true) => match entry() {
                CustomerEntry::New => (tally.new, tally.new_customers) = (after, 1),
                CustomerEntry::Reactivation => (tally.reactivation, tally.reactivated) = (after, 1),
            },
            (true, false) if b.all > 0 => (tally.leaving, tally.left) = (before, 1),
            (true, false) => (tally.churn, tally.churned) = (before, 1),
            _ if after > before => tally.expansion = after - before,
            _ => tally.contraction = before - after,
        }
        tally
    }

    /// Amounts converted at a rate.
    pub(super) fn at(mut self, rate: i128) -> Self {
        self.amounts().into_iter().for_each(|amount| *amount *= rate);
        self
    }

    fn amounts(&mut self) -> [&mut i128; 11] {
        [
            &mut self.start,
            &mut self.end,
            &mut self.base,
            &mut self.new,
            &mut self.reactivation,
            &mut self.expansion,
            &mut self.contraction,
            &mut self.churn,
            &mut self.negative,
            &mut self.entering,
            &mut self.leaving,
        ]
    }

    fn counts(&mut self) -> [&mut i64; 7] {
        [
            &mut self.customers_start,
            &mut self.customers,
            &mut self.new_customers,
            &mut self.reactivated,
            &mut self.churned,
            &mut self.entered,
            &mut self.left,
        ]
    }

    /// MRR that is retained of the base: of each company at most what it paid at the start.
    pub(super) fn kept(&self) -> i128 {
        self.base - self.contraction - self.churn - self.leaving
    }

    /// MRR at the end of the companies that paid at the start.
    pub(super) fn retained(&self) -> i128 {
        self.kept() + self.expansion
    }

    /// Number of companies that paid at the start and pay nothing at the end.
    pub(super) fn lost(&self) -> i64 {
        self.churned + self.left
    }
}

impl AddAssign for MovementTally {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, amount) in self.amounts().into_iter().zip(other.amounts()) {
            *sum += *amount;
        }
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum += *count;
        }
    }
}

impl SubAssign for MovementTally {
    fn sub_assign(&mut self, mut other: Self) {
        for (sum, amount) in self.amounts().into_iter().zip(other.amounts()) {
            *sum -= *amount;
        }
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum -= *count;
        }
    }
}

/// Sums by interval; each part is added to a range of intervals at the cost of its two ends.
#[derive(Clone, Debug)]
pub(super) struct IntervalSums<T> {
    changes: Vec<T>,
}

impl<T: Copy + Default + AddAssign + SubAssign> IntervalSums<T> {
    pub(super) fn over(intervals: usize) -> Self {
        Self { changes: vec![T::default(); intervals + 1] }
    }

    /// Adds a part to the intervals `from..to`.
    pub(super) fn add(&mut self, from: usize, to: usize, part: T) {
        if from >= to {
            return;
        }
        if let Some(change) = self.changes.get_mut(from) {
            *change += part;
        }
        if let Some(change) = self.changes.get_mut(to) {
            *change -= part;
        }
    }

    /// Adds all parts of another sum.
    pub(super) fn join(&mut self, other: &Self) {
        for (change, other) in self.changes.iter_mut().zip(&other.changes) {
            *change += *other;
        }
    }

    pub(super) fn sums(&self) -> Vec<T> {
        let (_, changes) = self.changes.split_last().unwrap_or((&T::default(), &[]));
        let mut sum = T::default();
        let running = changes.iter().map(|change| {
            sum += *change;
            sum
        });
        running.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: i128, b: i128, expect: MovementTally) {
        let paid = |amount| Paid { counted: amount, all: amount };
        let found = MovementTally::classify(paid(a), paid(b), || CustomerEntry::New);
        let start = MovementTally { start: a, end: b, base: a.max(0), ..expect };
        assert_eq!(found, start, "{a} to {b}");
    }

    #[test]
    fn what_is_below_0_is_no_customer_and_a_line_of_its_own() {
        check(
            -5,
            10,
            MovementTally {
                negative: 5,
                new: 10,
                new_customers: 1,
                customers: 1,
                ..MovementTally::default()
            },
        );
        check(
            10,
            -5,
            MovementTally {
                negative: -5,
                churn: 10,
                churned: 1,
                customers_start: 1,
                ..MovementTally::default()
            },
        );
        check(-5, -7, MovementTally { negative: -2, ..MovementTally::default() });
        check(
            7,
            5,
            MovementTally {
                contraction: 2,
                customers_start: 1,
                customers: 1,
                ..MovementTally::default()
            },
        );
    }

    #[test]
    fn a_product_that_moves_enters_and_leaves() {
        let (nothing, other) = (Paid { counted: 0, all: 5 }, Paid { counted: 3, all: 8 });
        let entered = MovementTally::classify(nothing, other, || CustomerEntry::New);
        assert_eq!((entered.entering, entered.entered, entered.new), (3, 1, 0));
        let left = MovementTally::classify(other, nothing, || CustomerEntry::New);
        assert_eq!((left.leaving, left.left, left.churn), (3, 1, 0));
    }

    #[test]
    fn a_part_counts_in_its_range_alone() {
        let mut spread = IntervalSums::over(4);
        spread.add(1, 3, 5_i128);
        spread.add(2, 4, 1);
        spread.add(3, 3, 9);
        assert_eq!(spread.sums(), [0, 5, 6, 1]);
    }
}
