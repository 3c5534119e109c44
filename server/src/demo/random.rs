//! Random numbers from a fixed seed: the same ones on each run.
//!
//! Each part of the demo draws from a stream of its own, so that a change in one leaves the others as they are.

use std::f64::consts::TAU;

use fastrand::Rng;

/// Seed of the streams.
const SEED: u64 = 0x10_3E4;

/// A stream of random numbers.
pub(super) struct RandomStream(Rng);

impl RandomStream {
    /// Stream with this name.
    pub(super) fn seeded(name: &str) -> Self {
        let seed = name.bytes().fold(SEED, |seed, byte| seed.rotate_left(8) ^ u64::from(byte));
        Self(Rng::with_seed(seed))
    }

    /// From 0 to just below 1.
    fn part(&mut self) -> f64 {
        self.0.f64()
    }

    /// Draws whether an event of this probability happens.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.part() < probability
    }

    /// A whole number, both ends included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.i64(low..=high.max(low))
    }

    /// An item of a list, each as likely as the others.
    pub(super) fn one_of<T: Copy + Default>(&mut self, list: &[T]) -> T {
        let at = self.0.usize(..list.len().max(1));
        list.get(at).copied().unwrap_or_default()
    }

    /// An item of a list, by the weights.
    pub(super) fn weighted<T: Copy + Default>(&mut self, list: &[(u32, T)]) -> T {
        let total: u32 = list.iter().map(|(weight, _)| weight).sum();
        let mut left = self.0.u32(..total.max(1));
        for (weight, value) in list {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        T::default()
    }

    /// A number of the normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.part()).ln()).sqrt();
        radius * (TAU * self.part()).cos()
    }

    /// A number of a log-normal distribution: half of the draws are below the median.
    pub(super) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * self.normal()).exp()
    }

    /// Number of events with the mean `mean`, by Knuth; for large means by the normal distribution.
    pub(super) fn poisson(&mut self, mean: f64) -> u32 {
        if mean > 30.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0) as u32;
        }
        let end = (-mean).exp();
        let mut product = self.part();
        let mut count = 0;
        while product > end {
            product *= self.part();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_each_time_and_differs_from_others() {
        let draw = |name: &str| RandomStream::seeded(name).between(0, i64::MAX);
        assert_eq!(draw("usage"), draw("usage"));
        assert_ne!(draw("usage"), draw("people"));
    }

    #[test]
    fn what_is_drawn_has_the_mean_that_was_asked_for() {
        let mut dice = RandomStream::seeded("means");
        for mean in [0.2, 4.0, 60.0] {
            let sum: u32 = (0..10_000).map(|_| dice.poisson(mean)).sum();
            let found = f64::from(sum) / 10_000.0;
            assert!((found / mean - 1.0).abs() < 0.05, "{found} for {mean}");
        }
        let below = (0..10_000).filter(|_| dice.log_normal(3.0, 0.6) < 3.0).count();
        assert!((4_800..5_200).contains(&below), "{below}");
        let heavy = (0..10_000).filter(|_| dice.weighted(&[(1, false), (3, true)])).count();
        assert!((7_300..7_700).contains(&heavy), "{heavy}");
    }
}
