//! Forecast of MRR: confirmed by licenses, and expected from licenses that end, in three scenarios.

use std::ops::{AddAssign, SubAssign};

use super::{
    calendar::ReportPeriod,
    currency_rows::{Series, scopes},
    error::ReportError,
    ledger::{Ledger, License, NEVER},
    license_chain::{LinkedCompany, each_linked},
    money_units::{CONVERTED_SCALE, number_of},
    movement_class::IntervalSums,
    options::ReportOptions,
    report_header::ReportHeader,
    report_scope::{AmountTime, ReportScope, index},
    table::{TableRow, TextTable},
};
use crate::value::{Number, Timestamp, number::MONEY_SCALE};

/// Forecast of the MRR at the end of each interval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// Whether all ongoing licenses are assumed to be renewed, not only those that renew automatically.
    pub assume_renewed: bool,
    /// Forecast in each currency.
    pub currencies: Vec<Series<ForecastRow>>,
    /// Forecast in the base currency; null where a rate is missing.
    pub converted: Option<Series<ForecastRow>>,
}

/// Forecast of the MRR just before an interval ends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastRow {
    /// Name and days of the interval.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// Of licenses that are signed.
    pub confirmed: Number,
    /// Expected MRR of licenses that are over by then, in each scenario.
    pub unconfirmed: Scenarios,
    /// `confirmed` plus `unconfirmed`.
    pub total: Scenarios,
    /// Actual MRR of an interval that has ended.
    pub actual: Option<Number>,
    /// Actual MRR less the base scenario.
    pub difference: Option<Number>,
}

/// An amount in each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Scenarios {
    /// The scenario that is expected.
    pub base: Number,
    /// Amount in the optimistic scenario.
    pub optimistic: Number,
    /// Amount in the pessimistic scenario.
    pub pessimistic: Number,
}

/// Licenses as they are known later, and until when.
#[derive(Clone, Copy, Debug)]
pub struct LaterLicenses<'l> {
    /// Licenses as they are known at `now`.
    pub ledger: &'l Ledger,
    /// Time until which the actual MRR is known.
    pub now: Timestamp,
}

/// Forecasts MRR: signed licenses, and ongoing ones that end without a successor and renew automatically or are assumed
/// to. Intervals that have ended have the actual MRR: of the same licenses, or of those that are known `later`.
///
/// # Errors
/// When an option is invalid.
pub fn forecast(
    ledger: &Ledger,
    options: &ReportOptions,
    later: Option<LaterLicenses<'_>>,
) -> Result<Forecast, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::Any)?;
    let expected = ExpectedSums::from_scope(&scope);
    let later_scope =
        later.map(|later| ReportScope::new(later.ledger, options, AmountTime::Any)).transpose()?;
    let later_sums = later_scope.as_ref().map(ExpectedSums::from_scope);
    let (known, known_scope) =
        later_sums.as_ref().zip(later_scope.as_ref()).unwrap_or((&expected, &scope));
    let now = later.map_or(options.now, |later| later.now);
    let passed = scope.bounds.ends().partition_point(|end| *end <= now.as_ms());
    let periods = scope.bounds.periods();
    let series = |currency: String, rows: Vec<ExpectedMrr>, actual: Vec<Number>, scale| {
        let rows = periods.iter().zip(&rows).enumerate();
        let rows =
            rows.map(|(at, (period, sums))| sums.row(period, actual.get(at).copied(), scale));
        Series { currency, rows: rows.collect() }
    };
    let numbers = |rows: Vec<ExpectedMrr>, scale| -> Vec<Number> {
        rows.iter().take(passed).map(|row| number_of(row.confirmed, scale)).collect()
    };
    let currencies = scope.currencies.iter().map(|number| {
        let currency = ledger.currency(*number);
        let actual = known_scope.number_of(currency).map(|own| known.in_currency(own));
        let actual = actual.unwrap_or_else(|| vec![ExpectedMrr::default(); passed]);
        let rows = expected.in_currency(*number);
        series(currency.to_owned(), rows, numbers(actual, MONEY_SCALE), MONEY_SCALE)
    });
    let currencies = currencies.collect();
    let actual = Some(known).filter(|_| known_scope.converts());
    let actual = actual.map(|known| numbers(known.converted(known_scope), CONVERTED_SCALE));
    let actual = actual.unwrap_or_default();
    let base = scope.base.clone().filter(|_| scope.converts());
    let converted =
        base.map(|base| series(base, expected.converted(&scope), actual, CONVERTED_SCALE));
    let assume_renewed = options.assume_renewed;
    Ok(Forecast { about: ReportHeader::from_scope(&scope), assume_renewed, currencies, converted })
}

/// Expected MRR at a time: signed, and in three scenarios.
#[derive(Clone, Copy, Debug, Default)]
struct ExpectedMrr {
    confirmed: i128,
    scenarios: [i128; 3],
}

impl ExpectedMrr {
    fn at(self, rate: i128) -> Self {
        Self { confirmed: self.confirmed * rate, scenarios: self.scenarios.map(|sum| sum * rate) }
    }

    fn row(&self, period: &ReportPeriod, actual: Option<Number>, scale: u32) -> ForecastRow {
        let scenarios = |signed: i128| {
            let [base, optimistic, pessimistic] =
                self.scenarios.map(|expected| number_of(signed + expected, scale));
            Scenarios { base, optimistic, pessimistic }
        };
        let total = scenarios(self.confirmed);
        let difference = actual.map(|actual| actual.as_decimal() - total.base.as_decimal());
        ForecastRow {
            period: period.clone(),
            confirmed: number_of(self.confirmed, scale),
            unconfirmed: scenarios(0),
            total,
            actual,
            difference: difference.map(Number::from),
        }
    }
}

impl AddAssign for ExpectedMrr {
    fn add_assign(&mut self, other: Self) {
        self.confirmed += other.confirmed;
        self.scenarios.iter_mut().zip(other.scenarios).for_each(|(sum, other)| *sum += other);
    }
}

impl SubAssign for ExpectedMrr {
    fn sub_assign(&mut self, other: Self) {
        self.confirmed -= other.confirmed;
        self.scenarios.iter_mut().zip(other.scenarios).for_each(|(sum, other)| *sum -= other);
    }
}

struct ExpectedSums(Vec<IntervalSums<ExpectedMrr>>);

impl ExpectedSums {
    fn from_scope(scope: &ReportScope<'_>) -> Self {
        let currencies = 0..scope.ledger.currency_count();
        let mut sums = Self(currencies.map(|_| IntervalSums::over(scope.bounds.len())).collect());
        each_linked(scope, |_| true, |company| sums.add(scope, &company));
        sums
    }

    fn add(&mut self, scope: &ReportScope<'_>, company: &LinkedCompany<'_>) {
        let ends = scope.bounds.ends();
        for (at, (license, end)) in company.links.with_ends(company.licenses).enumerate() {
            let Some(sums) = self.0.get_mut(index(license.currency)) else { continue };
            if !scope.counts(license) {
                continue;
            }
            // Just before a bound a license is active if it began before, and is over at the bound or later.
            let begins = ends.partition_point(|bound| *bound <= license.from);
            let over =
                if end == NEVER { ends.len() } else { ends.partition_point(|bound| *bound <= end) };
            sums.add(begins, over, ExpectedMrr { confirmed: license.mrr, scenarios: [0; 3] });
            if let Some(scenarios) = expected_of(scope, company, at, license) {
                sums.add(over, ends.len(), ExpectedMrr { confirmed: 0, scenarios });
            }
        }
    }

    fn in_currency(&self, currency: u32) -> Vec<ExpectedMrr> {
        self.0.get(index(currency)).map(IntervalSums::sums).unwrap_or_default()
    }

    fn converted(&self, scope: &ReportScope<'_>) -> Vec<ExpectedMrr> {
        let mut rows = vec![ExpectedMrr::default(); scope.bounds.len()];
        for (sums, currency) in self.0.iter().zip(0_u32..) {
            for (at, (row, sums)) in rows.iter_mut().zip(sums.sums()).enumerate() {
                *row += sums.at(scope.rate(at, currency));
            }
        }
        rows
    }
}

/// Expected MRR of a license once it is over, in each scenario; none unless it is ongoing, has no successor, and renews
/// automatically or is assumed to.
pub(super) fn expected_of(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
    at: usize,
    license: &License,
) -> Option<[i128; 3]> {
    let renews = license.auto_renews || scope.options.assume_renewed;
    let undecided = license.expires() && license.is_ongoing();
    let is_expected = undecided && renews && company.links.successor(at).is_none();
    is_expected.then(|| license.forecasts())
}

impl Forecast {
    /// The rows as text.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "scope",
            "currency",
            "period",
            "from",
            "to",
            "confirmed",
            "unconfirmedBase",
            "unconfirmedOptimistic",
            "unconfirmedPessimistic",
            "base",
            "optimistic",
            "pessimistic",
            "actual",
            "difference",
        ]);
        for (scope, series) in scopes(&self.currencies, self.converted.as_ref()) {
            for row in &series.rows {
                let cells =
                    TableRow::default().text(scope).text(&series.currency).period(&row.period);
                let amounts = [row.unconfirmed, row.total]
                    .map(|sums| [sums.base, sums.optimistic, sums.pessimistic]);
                let cells = cells.money(&[row.confirmed], &series.currency);
                let cells = cells.money(amounts.as_flattened(), &series.currency);
                let cells = cells.money_option(row.actual, &series.currency);
                table.push(cells.money_option(row.difference, &series.currency));
            }
        }
        table.noted(&self.about.note())
    }
}
