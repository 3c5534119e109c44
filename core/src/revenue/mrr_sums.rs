//! Sums of companies by currency and in the base currency: of all, of a segment, or of one company.
//!
//! MRR of a company with a single currency is summed in it, and converted once at the end. Only a company with several
//! currencies is summed in the base currency as well.

use std::ops::AddAssign;

use super::{
    company_mrr::{CompanyMrr, PaymentSteps, ReportWindows, RevaluedMrr, places},
    movement_class::{IntervalSums, MovementTally},
    options::MovementView,
    overdue::{OverdueSums, overdue_of},
    report_scope::{ReportScope, index},
};

/// Sums of companies, by currency and in the base currency.
#[derive(Debug)]
pub(super) struct CompanySums {
    windows: usize,
    view: MovementView,
    by_currency: Vec<Option<Box<CurrencySums>>>,
    mixed: Option<Box<SumSeries>>,
    mixed_fx: Vec<i128>,
}

#[derive(Debug)]
struct CurrencySums {
    /// Companies with this currency only, and companies with others.
    alone: SumSeries,
    shared: Option<SumSeries>,
    overdue: IntervalSums<OverdueSums>,
}

#[derive(Debug)]
struct SumSeries {
    pairs: IntervalSums<MovementTally>,
    /// Movements within each window, in the view of activities.
    activities: Option<IntervalSums<MovementTally>>,
}

impl SumSeries {
    fn over(windows: usize, view: MovementView) -> Self {
        let activities = (view == MovementView::Activities).then(|| IntervalSums::over(windows));
        Self { pairs: IntervalSums::over(windows), activities }
    }

    fn add(&mut self, scope: &ReportScope<'_>, stream: &PaymentSteps, windows: ReportWindows<'_>) {
        stream.pairs(scope, windows, |from, to, tally| self.pairs.add(from, to, tally));
        if let Some(activities) = &mut self.activities {
            stream.activities(scope, windows, |from, to, tally| activities.add(from, to, tally));
        }
    }

    fn join(&mut self, other: &Self) {
        self.pairs.join(&other.pairs);
        if let (Some(own), Some(other)) = (&mut self.activities, &other.activities) {
            own.join(other);
        }
    }

    /// Amounts paid, and the movements of the view.
    fn sums(&self) -> Vec<(MovementTally, MovementTally)> {
        let pairs = self.pairs.sums();
        let moves = self.activities.as_ref().map_or_else(|| pairs.clone(), IntervalSums::sums);
        pairs.into_iter().zip(moves).collect()
    }
}

/// Sums of an interval, in one currency.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MrrSums {
    /// Amounts paid at the start, at the rate of the end, and at the end.
    pub(super) paid: MovementTally,
    pub(super) moves: MovementTally,
    /// Change of the amount paid at the start that is due to rates.
    pub(super) fx: i128,
    pub(super) overdue: OverdueSums,
}

impl CompanySums {
    /// No company yet, over a number of windows, with the movements of a view.
    pub(super) fn new(scope: &ReportScope<'_>, windows: usize, view: MovementView) -> Self {
        Self { windows, view, by_currency: places(scope), mixed: None, mixed_fx: vec![0; windows] }
    }

    pub(super) fn add(
        &mut self,
        scope: &ReportScope<'_>,
        company: &CompanyMrr<'_>,
        windows: ReportWindows<'_>,
    ) {
        let is_alone = company.parts.len() == 1;
        for (currency, stream) in company.parts {
            if let Some(series) = self.series(*currency, is_alone) {
                series.add(scope, stream, windows);
            }
        }
        if company.mixed.is_some() {
            self.add_mixed(scope, company, windows);
        }
        for license in overdue_of(scope, &company.linked) {
            let part = OverdueSums { amount: license.mrr, licenses: 1 };
            let first = windows.ends.partition_point(|end| *end <= license.end);
            if let Some(Some(sums)) = self.by_currency.get_mut(index(license.currency)) {
                sums.overdue.add(first, self.windows, part);
            }
        }
    }

    fn series(&mut self, currency: u32, is_alone: bool) -> Option<&mut SumSeries> {
        let (windows, view) = (self.windows, self.view);
        let place = self.by_currency.get_mut(index(currency))?;
        let sums = place.get_or_insert_with(|| {
            let alone = SumSeries::over(windows, view);
            Box::new(CurrencySums { alone, shared: None, overdue: IntervalSums::over(windows) })
        });
        Some(if is_alone {
            &mut sums.alone
        } else {
            sums.shared.get_or_insert_with(|| SumSeries::over(windows, view))
        })
    }

    fn add_mixed(
        &mut self,
        scope: &ReportScope<'_>,
        company: &CompanyMrr<'_>,
        windows: ReportWindows<'_>,
    ) {
        let Some(stream) = company.mixed else { return };
        let view = self.view;
        let series =
            self.mixed.get_or_insert_with(|| Box::new(SumSeries::over(self.windows, view)));
        if scope.is_dated() {
            let revalued = RevaluedMrr { scope, parts: company.parts, mixed: stream };
            revalued.pairs(windows, |at, tally| series.pairs.add(at, at + 1, tally));
            if let Some(activities) = &mut series.activities {
                revalued.activities(windows, |at, tally| activities.add(at, at + 1, tally));
            }
            let fx = &mut self.mixed_fx;
            revalued.fx(windows, |at, change| add_at(fx, at, change));
        } else {
            series.add(scope, stream, windows);
        }
    }

    /// Adds all companies of other sums.
    pub(super) fn join(&mut self, other: &Self) {
        for ((number, place), currency) in other.by_currency.iter().enumerate().zip(0_u32..) {
            let Some(sums) = place else { continue };
            if let Some(alone) = self.series(currency, true) {
                alone.join(&sums.alone);
            }
            if let Some(theirs) = &sums.shared
                && let Some(shared) = self.series(currency, false)
            {
                shared.join(theirs);
            }
            if let Some(Some(own)) = self.by_currency.get_mut(number) {
                own.overdue.join(&sums.overdue);
            }
        }
        if let Some(theirs) = &other.mixed {
            let (windows, view) = (self.windows, self.view);
            let own = self.mixed.get_or_insert_with(|| Box::new(SumSeries::over(windows, view)));
            own.join(theirs);
        }
        for (sum, other) in self.mixed_fx.iter_mut().zip(&other.mixed_fx) {
            *sum += *other;
        }
    }

    /// Whether the sums have a company with this currency.
    pub(super) fn has(&self, currency: u32) -> bool {
        matches!(self.by_currency.get(index(currency)), Some(Some(_)))
    }

    pub(super) fn in_currency(&self, currency: u32) -> Vec<MrrSums> {
        let Some(Some(sums)) = self.by_currency.get(index(currency)) else {
            return vec![MrrSums::default(); self.windows];
        };
        let mut series = SumSeries {
            pairs: sums.alone.pairs.clone(),
            activities: sums.alone.activities.clone(),
        };
        if let Some(shared) = &sums.shared {
            series.join(shared);
        }
        let overdue = sums.overdue.sums();
        let rows = series.sums().into_iter().zip(overdue);
        rows.map(|((paid, moves), overdue)| MrrSums { paid, moves, fx: 0, overdue }).collect()
    }

    /// The sums in the base currency.
    pub(super) fn converted(&self, scope: &ReportScope<'_>) -> Vec<MrrSums> {
        let intervals = scope.intervals_of(self.windows);
        let mut rows = match &self.mixed {
            Some(mixed) => {
                let sums = mixed.sums().into_iter().zip(&self.mixed_fx);
                sums.map(|((paid, moves), fx)| MrrSums {
                    paid,
                    moves,
                    fx: *fx,
                    ..MrrSums::default()
                })
                .collect()
            }
            None => vec![MrrSums::default(); self.windows],
        };
        for (place, currency) in self.by_currency.iter().zip(0_u32..) {
            let Some(sums) = place else { continue };
            let own = sums.alone.sums().into_iter().zip(sums.overdue.sums());
            for ((row, at), ((paid, moves), overdue)) in
                rows.iter_mut().zip(intervals.clone()).zip(own)
            {
                let (rate, before) = (scope.rate(at, currency), scope.rate_before(at, currency));
                row.paid += paid.at(rate);
                row.moves += moves.at(rate);
                row.fx += paid.start * (rate - before);
                row.overdue += OverdueSums { amount: overdue.amount * rate, ..overdue };
            }
        }
        rows
    }
}

fn add_at<T: AddAssign>(sums: &mut [T], at: usize, part: T) {
    if let Some(sum) = sums.get_mut(at) {
        *sum += part;
    }
}
