//! Retention: NRR, GRR, churn of MRR and customers, quick ratio; by period, for the 12 months that end with it, and for
//! the whole report.

use super::{
    calendar::ReportPeriod,
    company_mrr::{ReportWindows, each_company},
    currency_rows::scopes,
    error::ReportError,
    ledger::Ledger,
    money_units::{CONVERTED_SCALE, number_of, ratio},
    mrr_sums::{CompanySums, MrrSums},
    options::ReportOptions,
    report_header::ReportHeader,
    report_scope::{AmountTime, ReportScope},
    table::{TableRow, TextTable},
};
use crate::value::{Number, number::MONEY_SCALE};

/// Retention of MRR and customers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// Formula of each ratio.
    pub formulas: Formulas,
    /// Retention in each currency.
    pub currencies: Vec<RetentionSeries>,
    /// Retention in the base currency; null where a rate is missing.
    pub converted: Option<RetentionSeries>,
}

/// Formulas of the ratios: `a` is the MRR of a company just before the start, `b` just before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Formulas {
    grr: &'static str,
    nrr: &'static str,
    gross_mrr_churn: &'static str,
    net_mrr_churn: &'static str,
    logo_churn: &'static str,
    quick_ratio: &'static str,
}

const FORMULAS: Formulas = Formulas {
    grr: "sum of min(a, b) of companies with a > 0 / base",
    nrr: "sum of b of companies with a > 0 / base",
    gross_mrr_churn: "(churn + contraction) / base",
    net_mrr_churn: "(churn + contraction - expansion - reactivation) / base",
    logo_churn: "companies with a > 0 and b = 0 / companies with a > 0",
    quick_ratio: "(new + reactivation + expansion) / (contraction + churn)",
};

/// The retention of a currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionSeries {
    /// The currency of the amounts.
    pub currency: String,
    /// The retention of each interval.
    pub rows: Vec<RetentionRow>,
    /// The year that ends with each interval, in the view of the report.
    pub trailing_year: Vec<RetentionRow>,
    /// The whole report, in its view.
    pub span: RetentionRow,
}

/// Retention of a period. Ratios are rounded to 10 decimals, and null where they have no denominator.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionRow {
    /// Name and days of the period.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// MRR of the companies at the start, at the rates of the end, without amounts below 0.
    pub base: Number,
    /// MRR that is retained of the base: of each company at most what it paid.
    pub kept: Number,
    /// MRR of the same companies at the end.
    pub retained: Number,
    /// Number of companies that pay at the start.
    pub customers: i64,
    /// Number of these companies that pay nothing at the end.
    pub lost_customers: i64,
    /// Gross revenue retention: `kept` / `base`.
    pub grr: Option<Number>,
    /// Net revenue retention: `retained` / `base`.
    pub nrr: Option<Number>,
    /// Gross MRR churn: (churn + contraction) / `base`.
    pub gross_mrr_churn: Option<Number>,
    /// Net MRR churn. It counts companies that came back, and NRR does not: the two do not add up to 1.
    pub net_mrr_churn: Option<Number>,
    /// Logo churn: `lostCustomers` / `customers`.
    pub logo_churn: Option<Number>,
    /// MRR gained for each unit of MRR lost.
    pub quick_ratio: Option<Number>,
}

/// Retention of MRR and customers.
///
/// # Errors
/// When an option is invalid.
pub fn retention(ledger: &Ledger, options: &ReportOptions) -> Result<Retention, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::ReportAndYearBefore)?;
    let (starts, ends) = (scope.bounds.starts(), scope.bounds.ends());
    let (year_days, years) = scope.bounds.a_year_before_ends(options.zone)?;
    let (first, last) = (starts.get(..1), ends.len().checked_sub(1).and_then(|at| ends.get(at..)));
    let windows = [
        ReportWindows { starts, ends },
        ReportWindows { starts: &years, ends },
        ReportWindows { starts: first.unwrap_or_default(), ends: last.unwrap_or_default() },
    ];
    let mut all_sums: Vec<(CompanySums, ReportWindows<'_>)> = windows
        .into_iter()
        .map(|windows| (CompanySums::new(&scope, windows.len(), options.view), windows))
        .collect();
    each_company(&scope, |company| {
        all_sums
            .iter_mut()
            .for_each(|(company_sums, windows)| company_sums.add(&scope, company, *windows));
    });
    let periods = scope.bounds.periods();
    let trailing = periods.iter().zip(year_days);
    let trailing = trailing.map(|(period, from)| ReportPeriod { from, ..period.clone() }).collect();
    let span = ReportPeriod { period: "span".to_owned(), from: options.from, to: options.to };
    let builder =
        RetentionBuilder { all_sums: &all_sums, periods: [periods, trailing, vec![span]] };
    let numbers = scope.currencies.iter();
    let currencies = numbers.filter_map(|number| {
        let currency = ledger.currency(*number).to_owned();
        builder.series(currency, MONEY_SCALE, |company_sums| company_sums.in_currency(*number))
    });
    let base = scope.base.clone().filter(|_| scope.converts());
    Ok(Retention {
        about: ReportHeader::from_scope(&scope),
        formulas: FORMULAS,
        currencies: currencies.collect(),
        converted: base.and_then(|base| {
            builder.series(base, CONVERTED_SCALE, |company_sums| company_sums.converted(&scope))
        }),
    })
}

struct RetentionBuilder<'p> {
    all_sums: &'p [(CompanySums, ReportWindows<'p>)],
    periods: [Vec<ReportPeriod>; 3],
}

impl RetentionBuilder<'_> {
    fn series(
        &self,
        currency: String,
        scale: u32,
        sums: impl Fn(&CompanySums) -> Vec<MrrSums>,
    ) -> Option<RetentionSeries> {
        let mut lists =
            self.all_sums.iter().zip(&self.periods).map(|((company_sums, _), periods)| {
                let rows = periods.iter().zip(sums(company_sums));
                rows.map(|(period, sums)| RetentionRow::new(period, &sums, scale))
                    .collect::<Vec<_>>()
            });
        let (rows, trailing_year, span) = (lists.next()?, lists.next()?, lists.next()?);
        Some(RetentionSeries { currency, rows, trailing_year, span: span.into_iter().next()? })
    }
}

impl RetentionRow {
    fn new(period: &ReportPeriod, sums: &MrrSums, scale: u32) -> Self {
        let (paid, moves) = (&sums.paid, &sums.moves);
        let lost = moves.churn + moves.contraction;
        let came_back = moves.expansion + moves.reactivation;
        Self {
            period: period.clone(),
            base: number_of(paid.base, scale),
            kept: number_of(paid.kept(), scale),
            retained: number_of(paid.retained(), scale),
            customers: paid.customers_start,
            lost_customers: paid.lost(),
            grr: ratio(paid.kept(), paid.base),
            nrr: ratio(paid.retained(), paid.base),
            gross_mrr_churn: ratio(lost, paid.base),
            net_mrr_churn: ratio(lost - came_back, paid.base),
            logo_churn: ratio(paid.lost().into(), paid.customers_start.into()),
            quick_ratio: ratio(moves.new + came_back, lost),
        }
    }

    fn cells(&self, scope: &str, currency: &str, of: &str) -> TableRow {
        let row = TableRow::default().text(scope).text(currency).text(of).period(&self.period);
        row.money(&[self.base, self.kept, self.retained], currency)
            .text(self.customers)
            .text(self.lost_customers)
            .percent(&[
                self.grr,
                self.nrr,
                self.gross_mrr_churn,
                self.net_mrr_churn,
                self.logo_churn,
            ])
            .option(self.quick_ratio.map(|ratio| super::money_units::fixed(ratio.as_decimal(), 2)))
    }
}

impl Retention {
    /// The rows as text.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "scope",
            "currency",
            "over",
            "period",
            "from",
            "to",
            "base",
            "kept",
            "retained",
            "customers",
            "lostCustomers",
            "grrPercent",
            "nrrPercent",
            "grossMrrChurnPercent",
            "netMrrChurnPercent",
            "logoChurnPercent",
            "quickRatio",
        ]);
        for (scope, series) in scopes(&self.currencies, self.converted.as_ref()) {
            let span = std::slice::from_ref(&series.span);
            let lists =
                [("interval", &*series.rows), ("year", &*series.trailing_year), ("span", span)];
            for (over, rows) in lists {
                rows.iter().for_each(|row| table.push(row.cells(scope, &series.currency, over)));
            }
        }
        table.noted(&self.about.note())
    }
}
