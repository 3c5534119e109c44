//! Cohorts: companies by the month, quarter or year of their first payment, and their MRR at the end of each period. A
//! company that comes back stays in its first cohort, so a share can rise.

use std::collections::BTreeMap;

use super::{
    calendar::{Day, Interval, ReportPeriod},
    company_mrr::{CompanyMrr, ReportWindows, each_company},
    currency_rows::{Series, scopes},
    error::ReportError,
    ledger::Ledger,
    money_units::{CONVERTED_SCALE, number_of, ratio},
    mrr_sums::{CompanySums, MrrSums},
    options::{MovementView, ReportOptions},
    report_header::ReportHeader,
    report_scope::{AmountTime, ReportScope},
    table::{TableRow, TextTable},
};
use crate::value::{Number, Timestamp, number::MONEY_SCALE};

/// Intervals that can define cohorts.
const INTERVALS: &[&str] = &["month", "quarter", "year"];

/// Companies by the interval of their first payment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cohorts {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// Intervals with cells at their ends.
    pub columns: Vec<CohortColumn>,
    /// Cohorts in each currency.
    pub currencies: Vec<Series<Cohort>>,
    /// Cohorts in the base currency; null where a rate is missing.
    pub converted: Option<Series<Cohort>>,
}

/// An interval with cells at its end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CohortColumn {
    /// Name and days of the interval.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// Whether the interval is over by now, and not cut by the end of the report.
    pub is_complete: bool,
}

/// Companies that first paid in the same interval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cohort {
    /// Interval of the first payments.
    pub cohort: String,
    /// First day of that interval.
    pub from: Day,
    /// Cells at the end of each column; null before the cohort begins.
    pub cells: Vec<Option<CohortCell>>,
}

/// Companies and MRR that are left of a cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CohortCell {
    /// MRR of the cohort's companies.
    pub mrr: Number,
    /// Number of the cohort's companies that pay.
    pub logos: i64,
    /// Share of the MRR of the first cell with a value.
    pub share: Option<Number>,
    /// Share of the companies of the first cell with a value.
    pub logo_share: Option<Number>,
}

/// Groups companies by the interval of the report in which they first paid: a month, a quarter or a year.
///
/// # Errors
/// When an option is invalid.
pub fn cohorts(ledger: &Ledger, options: &ReportOptions) -> Result<Cohorts, ReportError> {
    check_interval(options.interval)?;
    let scope = ReportScope::new(ledger, options, AmountTime::Report)?;
    let windows = ReportWindows { starts: scope.bounds.starts(), ends: scope.bounds.ends() };
    let mut all_sums: BTreeMap<Day, CompanySums> = BTreeMap::new();
    each_company(&scope, |company| {
        let Some(first) = cohort_of(&scope, company) else { return };
        let company_sums = all_sums.entry(first);
        let company_sums = company_sums
            .or_insert_with(|| CompanySums::new(&scope, windows.len(), MovementView::EndPoints));
        company_sums.add(&scope, company, windows);
    });
    let builder = CohortsBuilder { scope: &scope, all_sums: &all_sums, columns: columns(&scope) };
    let numbers = scope.currencies.iter();
    let currencies = numbers.map(|number| {
        let currency = ledger.currency(*number).to_owned();
        builder.series(currency, MONEY_SCALE, |company_sums| {
            company_sums.has(*number).then(|| company_sums.in_currency(*number))
        })
    });
    let currencies = currencies.collect();
    let base = scope.base.clone().filter(|_| scope.converts());
    let converted = base.map(|base| {
        builder.series(base, CONVERTED_SCALE, |company_sums| Some(company_sums.converted(&scope)))
    });
    Ok(Cohorts {
        about: ReportHeader::from_scope(&scope),
        columns: builder.columns,
        currencies,
        converted,
    })
}

/// Rejects intervals that cannot define cohorts.
pub(super) fn check_interval(interval: Interval) -> Result<(), ReportError> {
    let found = match interval {
        Interval::Day => "day",
        Interval::Week => "week",
        Interval::Month | Interval::Quarter | Interval::Year => return Ok(()),
    };
    Err(ReportError::UnknownChoice("interval", INTERVALS, found.to_owned()))
}

/// First day of the interval in which a company first pays; none if it does not before the end of the report.
pub(super) fn cohort_of(scope: &ReportScope<'_>, company: &CompanyMrr<'_>) -> Option<Day> {
    let first = company.parts.iter().filter_map(|(_, stream)| stream.first_paid()).min()?;
    let last = scope.bounds.ends().last().filter(|last| first < **last);
    let day = Day::at(Timestamp::from_ms_clamped(first), scope.options.zone);
    last.map(|_| scope.options.interval.start_of(day))
}

fn columns(scope: &ReportScope<'_>) -> Vec<CohortColumn> {
    let now = scope.options.now.as_ms();
    let interval = scope.options.interval;
    let columns = scope.bounds.periods().into_iter().zip(scope.bounds.ends());
    let column = |(period, end): (ReportPeriod, &i64)| {
        let is_complete = *end <= now && interval.start_of(period.to) == period.to;
        CohortColumn { period, is_complete }
    };
    columns.map(column).collect()
}

struct CohortsBuilder<'p> {
    scope: &'p ReportScope<'p>,
    all_sums: &'p BTreeMap<Day, CompanySums>,
    columns: Vec<CohortColumn>,
}

impl CohortsBuilder<'_> {
    fn series(
        &self,
        currency: String,
        scale: u32,
        sums: impl Fn(&CompanySums) -> Option<Vec<MrrSums>>,
    ) -> Series<Cohort> {
        let rows = self.all_sums.iter().filter_map(|(from, company_sums)| {
            let cells = self.cells(*from, &sums(company_sums)?, scale);
            Some(Cohort { cohort: self.scope.options.interval.name(*from), from: *from, cells })
        });
        Series { currency, rows: rows.collect() }
    }

    fn cells(&self, from: Day, sums: &[MrrSums], scale: u32) -> Vec<Option<CohortCell>> {
        let mut first: Option<(i128, i64)> = None;
        let cells = self.columns.iter().zip(sums).map(|(column, sums)| {
            if column.period.to <= from {
                return None;
            }
            let (mrr, logos) = (sums.paid.end, sums.paid.customers);
            let first = *first.get_or_insert((mrr, logos));
            Some(CohortCell {
                mrr: number_of(mrr, scale),
                logos,
                share: ratio(mrr, first.0),
                logo_share: ratio(logos.into(), first.1.into()),
            })
        });
        cells.collect()
    }
}

impl Cohorts {
    /// The cells as text, each in a row.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "scope",
            "currency",
            "cohort",
            "period",
            "from",
            "to",
            "isComplete",
            "mrr",
            "logos",
            "sharePercent",
            "logoSharePercent",
        ]);
        for (scope, series) in scopes(&self.currencies, self.converted.as_ref()) {
            for cohort in &series.rows {
                for (column, cell) in self.columns.iter().zip(&cohort.cells) {
                    let Some(cell) = cell else { continue };
                    let row =
                        TableRow::default().text(scope).text(&series.currency).text(&cohort.cohort);
                    let row = row.period(&column.period).text(column.is_complete);
                    let row = row.money(&[cell.mrr], &series.currency).text(cell.logos);
                    table.push(row.percent(&[cell.share, cell.logo_share]));
                }
            }
        }
        table.noted(&self.about.note())
    }
}
