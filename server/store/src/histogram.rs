//! Histogram of latencies and sizes: counts by range, and quantiles of them. Counting takes two atomic additions, and
//! neither a lock nor an allocation.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of times in microseconds: from a commit on a fast disk, and a response from memory, to a call that its
/// client waits for no longer.
pub const TIMES_US: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 75_000, 100_000, 250_000, 500_000,
    750_000, 1_000_000, 2_500_000, 5_000_000, 7_500_000, 10_000_000,
];
/// Counts values by range.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// Count of each range, and of values beyond the last bound.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// A histogram with these upper bounds, which ascend.
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts a value in its range.
    pub fn record(&self, value: u64) {
        let range = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(range) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a time, in microseconds.
    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Counts of the histogram so far.
    pub fn counts(&self) -> HistogramCounts {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        HistogramCounts { bounds: self.bounds, counts, sum: self.sum.load(Ordering::Relaxed) }
    }
}

/// Counts of a histogram at a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramCounts {
    /// The upper bounds of the ranges.
    pub bounds: &'static [u64],
    /// Number of values in each range, and beyond the last.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: u64,
}

impl HistogramCounts {
    /// Total number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another histogram with these bounds.
    pub fn add(&mut self, other: &Self) {
        self.bounds = other.bounds;
        self.counts.resize(other.counts.len(), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Counts since an earlier point in time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().chain(std::iter::repeat(&0));
        let counts =
            self.counts.iter().zip(before).map(|(count, before)| count.saturating_sub(*before));
        Self { counts: counts.collect(), sum: self.sum.wrapping_sub(earlier.sum), ..*self }
    }

    /// Upper bound of the range of the value at a share of all values, such as 0.99; none without values. For a value
    /// beyond the last bound it is that bound.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let rank = (count as f64 * share).ceil().max(1.0) as u64;
        let mut so_far = 0;
        let range = self.counts.iter().position(|count| {
            so_far += count;
            so_far >= rank
        });
        let bound = |range: usize| self.bounds.get(range).or(self.bounds.last()).copied();
        range.filter(|_| count > 0).and_then(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_in_its_range_and_quantiles_are_bounds() {
        let histogram = Histogram::new(&[10, 20, 50]);
        assert_eq!(histogram.counts().quantile(0.5), None);
        for value in [0, 10, 11, 20, 21, 50, 51, 1_000] {
            histogram.record(value);
        }
        let counts = histogram.counts();
        assert_eq!((counts.counts.as_slice(), counts.sum), (&[2, 2, 2, 2][..], 1_163));
        let quantiles = [0.0, 0.25, 0.26, 0.75, 0.76, 1.0].map(|share| counts.quantile(share));
        assert_eq!(quantiles, [10, 10, 20, 50, 50, 50].map(Some));
    }

    #[test]
    fn counts_add_up_and_are_taken_apart() {
        let histogram = Histogram::new(&[10]);
        histogram.record(1);
        let before = histogram.counts();
        histogram.record(11);
        histogram.record(12);
        let since = histogram.counts().since(&before);
        assert_eq!((since.counts.as_slice(), since.sum, since.count()), (&[0, 2][..], 23, 2));
        let mut both = HistogramCounts::default();
        both.add(&before);
        both.add(&since);
        assert_eq!(both, histogram.counts());
        assert_eq!(before.since(&HistogramCounts::default()), before);
    }
}
