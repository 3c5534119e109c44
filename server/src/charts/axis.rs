//! The axis of values of a chart: around all that is drawn, in round steps.

use svctrack_web::pages::grouped;

/// Steps of an axis; one more where values below zero are not whole steps.
const STEPS: f64 = 5.0;
/// Maximum number of decimals of a label.
const MAX_DECIMALS: usize = 6;

/// An axis of values, in steps that are easy to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueAxis {
    pub(super) lowest: f32,
    pub(super) highest: f32,
    pub(super) steps: usize,
    /// Exact beyond the digits of a value that is drawn, for the labels.
    step: f64,
}

impl ValueAxis {
    /// An axis around values that include zero.
    pub(super) fn around((lowest, highest): (f32, f32)) -> Self {
        let highest = if lowest < highest { highest } else { 1.0 };
        let (lowest, highest) = (f64::from(lowest), f64::from(highest));
        let step = round_step((highest - lowest) / STEPS);
        let (below, above) = ((lowest / step).floor(), (highest / step).ceil());
        let steps = (above - below) as usize;
        let (lowest, highest) = ((below * step) as f32, (above * step) as f32);
        Self { lowest, highest, steps, step }
    }

    /// Values at the steps, and their labels.
    pub(super) fn labels(&self) -> Vec<(f32, String)> {
        let decimals = decimals_of(self.step);
        let below = (f64::from(self.lowest) / self.step).round();
        let value = |at: u16| (below + f64::from(at)) * self.step;
        let labels = (0_u16..).take(self.steps + 1).map(value);
        labels.map(|value| (value as f32, grouped(&format!("{value:.decimals$}")))).collect()
    }

    /// Where a value is in a plot.
    pub(super) fn place_of(&self, value: f32, top: f32, height: f32) -> f32 {
        let share = (self.highest - value) / (self.highest - self.lowest);
        height.mul_add(share, top)
    }
}

/// Least step that is not below this one and easy to read: 1, 2, 2.5 or 5 of a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// Least number of decimals with which a step is whole.
fn decimals_of(step: f64) -> usize {
    let mut scaled = step;
    for decimals in 0..MAX_DECIMALS {
        if (scaled - scaled.round()).abs() < 1e-3 * scaled {
            return decimals;
        }
        scaled *= 10.0;
    }
    MAX_DECIMALS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_reaches_around_all_that_is_drawn_in_round_steps() {
        for (lowest, highest, expect) in [
            (-16.0, 62.0, (-20.0, 80.0, 5)),
            (-1.0, 0.0, (-1.0, 0.0, 5)),
            (-0.25, 0.15, (-0.3, 0.2, 5)),
            (-1_234.0, 98_765.0, (-20_000.0, 100_000.0, 6)),
            (-62.0, 16.0, (-80.0, 20.0, 5)),
            (0.0, 92_000.0, (0.0, 100_000.0, 5)),
            (0.0, 7.0, (0.0, 8.0, 4)),
            (0.0, 0.0, (0.0, 1.0, 5)),
        ] {
            let found = ValueAxis::around((lowest, highest));
            assert!((found.lowest - expect.0).abs() < 1e-3, "{found:?}");
            assert!((found.highest - expect.1).abs() < 1e-3, "{found:?}");
            assert_eq!(found.steps, expect.2, "{found:?}");
        }
    }

    #[test]
    fn labels_have_the_decimals_of_the_step() {
        for (extent, expect) in [
            ((-16_000.0, 62_000.0), "-20,000 0 20,000 40,000 60,000 80,000"),
            ((0.0, 12.0), "0 2.5 5 7.5 10 12.5"),
            (
                (0.0, 62_000_000_000.0),
                "0 20,000,000,000 40,000,000,000 60,000,000,000 80,000,000,000",
            ),
            ((-0.04, 0.19), "-0.05 0 0.05 0.10 0.15 0.20"),
        ] {
            let labels = ValueAxis::around(extent).labels();
            let labels: Vec<_> = labels.into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels.join(" "), expect);
        }
    }
}
