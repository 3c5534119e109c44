//! MRR of a company over time: a series of steps per currency, and one of all currencies if there are several.
//!
//! Every report is a pass over these steps; none reads a license once per period.

use std::ops::Range;

use super::{
    ledger::{License, NEVER},
    license_chain::{LicenseLinks, LinkedCompany, each_linked},
    movement_class::{CustomerEntry, MovementTally, Paid},
    report_scope::{ReportScope, index},
};
use crate::value::Timestamp;

/// A company with its MRR over time.
#[derive(Debug)]
pub(super) struct CompanyMrr<'p> {
    pub(super) linked: LinkedCompany<'p>,
    /// MRR in each currency of the company.
    pub(super) parts: &'p [(u32, PaymentSteps)],
    /// MRR in the base currency, where the company has several currencies.
    pub(super) mixed: Option<&'p PaymentSteps>,
}

/// Passes all companies in turn.
pub(super) fn each_company(scope: &ReportScope<'_>, mut visit: impl FnMut(&CompanyMrr<'_>)) {
    let mut parts: Vec<(u32, PaymentSteps)> = Vec::new();
    let mut spare: Vec<PaymentSteps> = Vec::new();
    let mut mixed = PaymentSteps::default();
    each_linked(
        scope,
        |_| true,
        |linked| {
            let LinkedCompany { licenses, links, .. } = linked;
            spare.extend(parts.drain(..).map(|(_, stream)| stream));
            let mut at = 0;
            for group in licenses.chunk_by(|a, b| a.currency == b.currency) {
                let Some(currency) = group.first().map(|license| license.currency) else {
                    continue;
                };
                let mut stream = spare.pop().unwrap_or_default();
                stream.fill(scope, group, at, links, |_| 1);
                parts.push((currency, stream));
                at += group.len();
            }
            let has_several = parts.len() > 1 && scope.converts();
            if has_several {
                mixed.fill(scope, licenses, 0, links, |currency| scope.last_rate(currency));
            }
            let mixed = has_several.then_some(&mixed);
            visit(&CompanyMrr { linked, parts: &parts, mixed });
        },
    );
}

/// MRR from a point in time on, until the next step.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaymentStep {
    pub(super) at: i64,
    pub(super) paid: Paid,
}

/// Steps in the order of time; the MRR differs from one to the next.
#[derive(Debug, Default)]
pub(super) struct PaymentSteps {
    steps: Vec<PaymentStep>,
    first_paid: Option<usize>,
    changes: Vec<PaymentStep>,
}

/// Pairs of a start and an end to compare, both in the order of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportWindows<'w> {
    pub(super) starts: &'w [i64],
    pub(super) ends: &'w [i64],
}

impl ReportWindows<'_> {
    pub(super) fn len(&self) -> usize {
        self.starts.len().min(self.ends.len())
    }

    /// The windows that a point in time is in.
    fn around(&self, time: i64) -> Range<usize> {
        let first = self.ends.partition_point(|end| *end <= time);
        first..self.starts.partition_point(|start| *start <= time).min(self.len())
    }
}

impl PaymentSteps {
    /// Reads licenses; `at` is the index of the first one among those of its company.
    fn fill(
        &mut self,
        scope: &ReportScope<'_>,
        licenses: &[License],
        at: usize,
        links: &LicenseLinks,
        weight: impl Fn(u32) -> i128,
    ) {
        self.changes.clear();
        for (at, license) in (at..).zip(licenses) {
            let all = license.mrr * weight(license.currency);
            let counted = if scope.counts(license) { all } else { 0 };
            self.changes.push(PaymentStep { at: license.from, paid: Paid { counted, all } });
            let end = links.end(at);
            if end != NEVER {
                let paid = Paid { counted: -counted, all: -all };
                self.changes.push(PaymentStep { at: end, paid });
            }
        }
        self.changes.sort_unstable_by_key(|change| change.at);
        self.add_up();
    }

    fn add_up(&mut self) {
        self.steps.clear();
        let (mut paid, mut before) = (Paid::default(), Paid::default());
        for changes in self.changes.chunk_by(|a, b| a.at == b.at) {
            for change in changes {
                paid.counted += change.paid.counted;
                paid.all += change.paid.all;
            }
            if let Some(change) = changes.first().filter(|_| paid != before) {
                self.steps.push(PaymentStep { at: change.at, paid });
                before = paid;
            }
        }
        self.first_paid = self.steps.iter().position(|step| step.paid.counted > 0);
    }

    pub(super) fn steps(&self) -> &[PaymentStep] {
        &self.steps
    }

    /// Time of the first payment.
    pub(super) fn first_paid(&self) -> Option<i64> {
        self.steps.get(self.first_paid?).map(|step| step.at)
    }

    /// MRR after a number of steps.
    fn after(&self, steps: usize) -> Paid {
        let last = steps.checked_sub(1).and_then(|at| self.steps.get(at));
        last.map_or_else(Paid::default, |step| step.paid)
    }

    /// Number of steps before a point in time.
    pub(super) fn before(&self, time: i64) -> usize {
        self.steps.partition_point(|step| step.at < time)
    }

    /// MRR just before a point in time.
    pub(super) fn paid_before(&self, time: i64) -> Paid {
        self.after(self.before(time))
    }

    /// Kind of the entry of a company that pays nothing after a number of steps, and then does.
    pub(super) fn entry(&self, scope: &ReportScope<'_>, steps: usize) -> CustomerEntry {
        if self.first_paid.is_none_or(|first| first >= steps) {
            return CustomerEntry::New;
        }
        let Some(days) = scope.options.reactivation_within else {
            return CustomerEntry::Reactivation;
        };
        let is_paid = |step: &PaymentStep| step.paid.counted > 0;
        let (before, after) = self.steps.split_at_checked(steps).unwrap_or((&self.steps, &[]));
        let stopped = before.iter().rposition(is_paid).and_then(|last| self.steps.get(last + 1));
        let returned = after.iter().find(|step| is_paid(step));
        let day = |step: &PaymentStep| scope.options.zone.day(Timestamp::from_ms_clamped(step.at));
        let is_within = stopped
            .zip(returned)
            .is_some_and(|(stopped, returned)| day(returned) - day(stopped) <= i64::from(days));
        if is_within { CustomerEntry::Reactivation } else { CustomerEntry::New }
    }

    /// Compares the MRR just before the start and just before the end of each window; passes ranges of windows with the
    /// same result.
    pub(super) fn pairs(
        &self,
        scope: &ReportScope<'_>,
        windows: ReportWindows<'_>,
        mut add: impl FnMut(usize, usize, MovementTally),
    ) {
        let (Some(start), Some(end)) = (windows.starts.first(), windows.ends.first()) else {
            return;
        };
        let (mut i, mut j, mut at) = (self.before(*start), self.before(*end), 0);
        let window_after = |steps: usize, bounds: &[i64]| match self.steps.get(steps) {
            Some(step) => bounds.partition_point(|bound| *bound <= step.at),
            None => windows.len(),
        };
        while at < windows.len() {
            let next = window_after(i, windows.starts).min(window_after(j, windows.ends));
            let next = next.min(windows.len());
            let (a, b) = (self.after(i), self.after(j));
            if (a.counted, b.counted) != (0, 0) {
                add(at, next, MovementTally::classify(a, b, || self.entry(scope, i)));
            }
            at = next;
            i = self.advance(i, windows.starts.get(at));
            j = self.advance(j, windows.ends.get(at));
        }
    }

    /// The number of steps before a bound, counted on from a smaller number.
    fn advance(&self, mut steps: usize, bound: Option<&i64>) -> usize {
        while let (Some(step), Some(bound)) = (self.steps.get(steps), bound)
            && step.at < *bound
        {
            steps += 1;
        }
        steps
    }

    /// Adds each step to its line, in the range of windows that it falls in.
    pub(super) fn activities(
        &self,
        scope: &ReportScope<'_>,
        windows: ReportWindows<'_>,
        mut add: impl FnMut(usize, usize, MovementTally),
    ) {
        let Some(first) = windows.starts.first() else { return };
        for at in self.before(*first)..self.steps.len() {
            let Some(step) = self.steps.get(at) else { return };
            let falls = windows.around(step.at);
            if falls.start >= windows.len() {
                return;
            }
            let tally =
                MovementTally::classify(self.after(at), step.paid, || self.entry(scope, at));
            add(falls.start, falls.end, tally);
        }
    }
}

/// MRR of a company in its currencies, each at the rate of an interval.
pub(super) struct RevaluedMrr<'p> {
    pub(super) scope: &'p ReportScope<'p>,
    pub(super) parts: &'p [(u32, PaymentSteps)],
    pub(super) mixed: &'p PaymentSteps,
}

impl RevaluedMrr<'_> {
    fn paid(&self, time: i64, inclusive: bool, rate: impl Fn(u32) -> i128) -> Paid {
        let time = if inclusive { time.saturating_add(1) } else { time };
        self.parts.iter().fold(Paid::default(), |sum, (currency, stream)| {
            let (paid, rate) = (stream.paid_before(time), rate(*currency));
            Paid { counted: sum.counted + paid.counted * rate, all: sum.all + paid.all * rate }
        })
    }

    /// Pairs of each interval, as [`PaymentSteps::pairs`] returns them.
    pub(super) fn pairs(
        &self,
        windows: ReportWindows<'_>,
        mut add: impl FnMut(usize, MovementTally),
    ) {
        let bounds = windows.starts.iter().zip(windows.ends).enumerate();
        for ((at, (start, end)), interval) in bounds.zip(self.scope.intervals_of(windows.len())) {
            let rate = |currency| self.scope.rate(interval, currency);
            let (a, b) = (self.paid(*start, false, rate), self.paid(*end, false, rate));
            if (a.counted, b.counted) != (0, 0) {
                add(at, MovementTally::classify(a, b, || self.entry(*start)));
            }
        }
    }

    fn entry(&self, start: i64) -> CustomerEntry {
        self.mixed.entry(self.scope, self.mixed.before(start))
    }

    /// Change that rates make to the MRR at the start of each interval.
    pub(super) fn fx(&self, windows: ReportWindows<'_>, mut add: impl FnMut(usize, i128)) {
        for (at, start) in windows.starts.iter().enumerate() {
            let change =
                |currency| self.scope.rate(at, currency) - self.scope.rate_before(at, currency);
            add(at, self.paid(*start, false, change).counted);
        }
    }

    pub(super) fn activities(
        &self,
        windows: ReportWindows<'_>,
        mut add: impl FnMut(usize, MovementTally),
    ) {
        let mut times: Vec<i64> =
            self.parts.iter().flat_map(|(_, stream)| stream.steps()).map(|step| step.at).collect();
        times.sort_unstable();
        times.dedup();
        let Some(first) = windows.starts.first() else { return };
        for time in times.into_iter().filter(|time| time >= first) {
            let falls = windows.around(time);
            if falls.start >= windows.len() {
                return;
            }
            let first = self.scope.intervals_of(windows.len()).start;
            for window in falls {
                let rate = |currency| self.scope.rate(first + window, currency);
                let (a, b) = (self.paid(time, false, rate), self.paid(time, true, rate));
                add(window, MovementTally::classify(a, b, || self.entry(time)));
            }
        }
    }
}

/// A place for each currency.
pub(super) fn places<T>(scope: &ReportScope<'_>) -> Vec<Option<T>> {
    let mut places = Vec::new();
    places.resize_with(index(u32::try_from(scope.ledger.currency_count()).unwrap_or(0)), || None);
    places
}
