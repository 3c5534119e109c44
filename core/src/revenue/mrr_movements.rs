//! MRR movements: start, new, reactivation, expansion, contraction, churn, end. `movement_class` defines each.
//!
//! Invariant: `start + fx + new + reactivation + expansion - contraction - churn + negative + entering - leaving` is
//! `end`, for each currency, in the base currency, for each segment, and in both views.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    calendar::ReportPeriod,
    capped_list::CappedList,
    closed_difference::MonthDifference,
    company_mrr::{CompanyMrr, ReportWindows, each_company},
    currency_rows::{Series, scopes},
    error::ReportError,
    ledger::Ledger,
    money_units::{CONVERTED_SCALE, number_of, per},
    mrr_sums::{CompanySums, MrrSums},
    options::ReportOptions,
    overdue::{OverdueLicense, overdue_licenses},
    overlaps::{Overlap, overlaps_of},
    report_header::ReportHeader,
    report_scope::{AmountTime, ReportScope},
    table::{TableRow, TextTable},
};
use crate::value::{Number, ObjectId, number::MONEY_SCALE};

/// Maximum number of segments that are listed; the others are summed up.
pub const MAX_SEGMENTS: usize = 50;

/// The name of the rest in tables, and of the figure to explain.
pub(super) const REST: &str = "(rest)";

/// The name of companies without a segment, in the same places.
pub(super) const NONE: &str = "(none)";

/// The segment of a company.
pub type CompanySegmentLookup<'s> = &'s dyn Fn(ObjectId) -> Option<String>;

/// MRR and its movements.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Movements {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// Movements in each currency.
    pub currencies: Vec<Series<MovementRow>>,
    /// Movements in the base currency; null where a rate is missing.
    pub converted: Option<Series<MovementRow>>,
    /// The largest segments, then the rest; null where none were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments: Option<Vec<Segment>>,
    /// Licenses that are overdue now, the first [`super::MAX_LISTED`] of them.
    pub overdue: Vec<OverdueLicense>,
    /// How many licenses are overdue now.
    pub overdue_total: usize,
    /// Licenses that may be counted twice, the first [`super::MAX_LISTED`] pairs of them.
    pub overlaps: Vec<Overlap>,
    /// How many pairs of licenses may be counted twice.
    pub overlaps_total: usize,
    /// Closed months, and the changes in them since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub closings: Vec<MonthDifference>,
}

/// MRR and movements of the companies of one segment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Segment {
    /// Name of the segment; null for companies without one, and for the rest.
    pub segment: Option<String>,
    /// Whether the segment is the rest: all segments beyond the largest.
    pub is_rest: bool,
    /// Number of companies with licenses.
    pub companies: usize,
    /// Movements in each currency.
    pub currencies: Vec<Series<MovementRow>>,
    /// Series of all licenses in the base currency.
    pub converted: Option<Series<MovementRow>>,
}

/// The movements of an interval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MovementRow {
    /// Name and days of the interval.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// MRR just before the interval.
    pub start: Number,
    /// Change of the MRR at the start by dated rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fx: Option<Number>,
    /// MRR of companies that never paid before.
    pub new: Number,
    /// MRR of companies that paid before, and came back.
    pub reactivation: Number,
    /// Increase of what companies pay.
    pub expansion: Number,
    /// Decrease of what companies pay.
    pub contraction: Number,
    /// MRR of companies that paid and pay nothing now.
    pub churn: Number,
    /// Change of amounts below 0.
    pub negative: Number,
    /// MRR for the product of companies that paid for another before, where one product was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entering: Option<Number>,
    /// MRR for the product of companies that pay for another now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<Number>,
    /// MRR just before the end of the interval.
    pub end: Number,
    /// Companies that pay more than 0 at the end.
    pub customers: i64,
    /// Companies that never paid before.
    pub new_customers: i64,
    /// Number of companies that came back.
    pub reactivated_customers: i64,
    /// Number of companies that pay nothing any more.
    pub churned_customers: i64,
    /// MRR for each customer.
    pub arpa: Option<Number>,
    /// New MRR for each new customer.
    pub asp: Option<Number>,
    /// MRR of licenses that are over by the end, and still ongoing.
    pub overdue: Number,
    /// Number of the overdue licenses.
    pub overdue_licenses: i64,
}

/// Movements of the report's intervals, and of each segment if `segment` returns a company's segment.
///
/// # Errors
/// When an option is invalid.
pub fn mrr(
    ledger: &Ledger,
    options: &ReportOptions,
    segment: Option<CompanySegmentLookup<'_>>,
) -> Result<Movements, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::Report)?;
    let windows = ReportWindows { starts: scope.bounds.starts(), ends: scope.bounds.ends() };
    let segments = segment.map(|segment_of| Segments::from_scope(&scope, segment_of));
    let places = segments.as_ref().map_or(1, |segments| segments.names.len());
    let mut all_sums: Vec<CompanySums> =
        (0..places).map(|_| CompanySums::new(&scope, windows.len(), options.view)).collect();
    let (mut overdue, mut overlaps) = (CappedList::default(), CappedList::default());
    let mut companies = segments.iter().flat_map(|segments| &segments.places);
    each_company(&scope, |company| {
        let place = companies.next().copied().unwrap_or_default();
        if let Some(company_sums) = all_sums.get_mut(place) {
            company_sums.add(&scope, company, windows);
        }
        overdue_licenses(&scope, &company.linked, &mut overdue);
        overlaps_of(&scope, &company.linked, &mut overlaps);
    });
    let mut total = CompanySums::new(&scope, windows.len(), options.view);
    all_sums.iter().for_each(|company_sums| total.join(company_sums));
    let series = MovementsBuilder { scope: &scope, periods: scope.bounds.periods() };
    Ok(Movements {
        about: ReportHeader::from_scope(&scope),
        currencies: series.currencies(&total),
        converted: series.converted(&total),
        segments: segments.map(|segments| segments.print(&series, &all_sums)),
        overdue: overdue.first,
        overdue_total: overdue.total,
        overlaps: overlaps.first,
        overlaps_total: overlaps.total,
        closings: Vec::new(),
    })
}

/// Companies of the rest, if there is one.
///
/// # Errors
/// When an option is invalid.
pub(super) fn rest_of(
    ledger: &Ledger,
    options: &ReportOptions,
    segment_of: CompanySegmentLookup<'_>,
) -> Result<BTreeSet<ObjectId>, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::Report)?;
    let places = Segments::from_scope(&scope, segment_of).places;
    let companies = ledger.companies(options.company).map(|(id, _)| id).zip(places);
    Ok(companies.filter(|(_, place)| *place == MAX_SEGMENTS).map(|(id, _)| id).collect())
}

/// Segments, the largest first, and the place of each company among them.
struct Segments {
    names: Vec<(Option<String>, bool, usize)>,
    places: Vec<usize>,
}

impl Segments {
    fn from_scope(scope: &ReportScope<'_>, segment_of: CompanySegmentLookup<'_>) -> Self {
        let mut numbers: BTreeMap<Option<String>, usize> = BTreeMap::new();
        let mut found: Vec<(i128, usize)> = Vec::new();
        let mut of_companies = Vec::new();
        each_company(scope, |company| {
            let next = numbers.len();
            let number = *numbers.entry(segment_of(company.linked.id)).or_insert(next);
            if number == next {
                found.push((0, 0));
            }
            if let Some((size, companies)) = found.get_mut(number) {
                *size += size_of(scope, company);
                *companies += 1;
            }
            of_companies.push(number);
        });
        let mut ranked: Vec<(Option<String>, usize)> = numbers.into_iter().collect();
        let size = |number: usize| found.get(number).copied().unwrap_or_default();
        ranked.sort_by_key(|(_, number)| std::cmp::Reverse(size(*number).0));
        let mut place_of = vec![MAX_SEGMENTS; found.len()];
        let mut names: Vec<(Option<String>, bool, usize)> = Vec::new();
        for (place, (name, number)) in ranked.into_iter().enumerate() {
            if let Some(own) = place_of.get_mut(number) {
                *own = place.min(MAX_SEGMENTS);
            }
            match names.get_mut(MAX_SEGMENTS) {
                Some(rest) => rest.2 += size(number).1,
                None => {
                    let is_rest = place == MAX_SEGMENTS;
                    names.push((name.filter(|_| !is_rest), is_rest, size(number).1));
                }
            }
        }
        let places = of_companies.iter().map(|number| place_of.get(*number).copied());
        Self { names, places: places.map(Option::unwrap_or_default).collect() }
    }

    fn print(self, series: &MovementsBuilder<'_>, all_sums: &[CompanySums]) -> Vec<Segment> {
        let segments = self.names.into_iter().zip(all_sums);
        let print =
            |((segment, is_rest, companies), company_sums): ((_, _, _), &CompanySums)| Segment {
                segment,
                is_rest,
                companies,
                currencies: series.currencies(company_sums),
                converted: series.converted(company_sums),
            };
        segments.map(print).collect()
    }
}

/// MRR of a company at the end of the report; 1 for a customer where that cannot be converted.
fn size_of(scope: &ReportScope<'_>, company: &CompanyMrr<'_>) -> i128 {
    let end = scope.bounds.ends().last().copied().unwrap_or_default();
    let paid = company
        .parts
        .iter()
        .map(|(currency, stream)| stream.paid_before(end).counted * scope.last_rate(*currency));
    if scope.converts() {
        return paid.sum();
    }
    company.parts.iter().any(|(_, stream)| stream.paid_before(end).counted > 0).into()
}

/// Creates the rows of sums.
pub(super) struct MovementsBuilder<'p> {
    pub(super) scope: &'p ReportScope<'p>,
    pub(super) periods: Vec<ReportPeriod>,
}

impl MovementsBuilder<'_> {
    pub(super) fn currencies(&self, company_sums: &CompanySums) -> Vec<Series<MovementRow>> {
        let numbers = self.scope.currencies.iter().filter(|number| company_sums.has(**number));
        let series = numbers.map(|number| {
            let currency = self.scope.ledger.currency(*number).to_owned();
            self.series(currency, &company_sums.in_currency(*number), MONEY_SCALE)
        });
        series.collect()
    }

    pub(super) fn converted(&self, company_sums: &CompanySums) -> Option<Series<MovementRow>> {
        let base = self.scope.base.as_ref().filter(|_| self.scope.converts())?;
        Some(self.series(base.clone(), &company_sums.converted(self.scope), CONVERTED_SCALE))
    }

    fn series(&self, currency: String, sums: &[MrrSums], scale: u32) -> Series<MovementRow> {
        let is_converted = scale == CONVERTED_SCALE;
        let rows = self.periods.iter().zip(sums);
        let rows = rows.map(|(period, sums)| self.row(period, sums, scale, is_converted));
        Series { currency, rows: rows.collect() }
    }

    fn row(
        &self,
        period: &ReportPeriod,
        sums: &MrrSums,
        scale: u32,
        is_converted: bool,
    ) -> MovementRow {
        let number = |units| number_of(units, scale);
        let (paid, moves) = (&sums.paid, &sums.moves);
        let of_product = |units| self.scope.has_product().then(|| number(units));
        MovementRow {
            period: period.clone(),
            start: number(paid.start - sums.fx),
            fx: (is_converted && self.scope.is_dated()).then(|| number(sums.fx)),
            new: number(moves.new),
            reactivation: number(moves.reactivation),
            expansion: number(moves.expansion),
            contraction: number(moves.contraction),
            churn: number(moves.churn),
            negative: number(moves.negative),
            entering: of_product(moves.entering),
            leaving: of_product(moves.leaving),
            end: number(paid.end),
            customers: paid.customers,
            new_customers: moves.new_customers,
            reactivated_customers: moves.reactivated,
            churned_customers: moves.churned,
            arpa: per(number(paid.end), paid.customers),
            asp: per(number(moves.new), moves.new_customers),
            overdue: number(sums.overdue.amount),
            overdue_licenses: sums.overdue.licenses,
        }
    }
}

impl Movements {
    /// The rows as text.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "segment",
            "scope",
            "currency",
            "period",
            "from",
            "to",
            "start",
            "fx",
            "new",
            "reactivation",
            "expansion",
            "contraction",
            "churn",
            "negative",
            "entering",
            "leaving",
            "end",
            "customers",
            "newCustomers",
            "reactivatedCustomers",
            "churnedCustomers",
            "arpa",
            "asp",
            "overdue",
            "overdueLicenses",
        ]);
        let mut add = |segment: &str,
                       currencies: &[Series<MovementRow>],
                       converted: Option<&Series<MovementRow>>| {
            for (scope, series) in scopes(currencies, converted) {
                for row in &series.rows {
                    table.push(row.cells(segment, scope, &series.currency));
                }
            }
        };
        add("", &self.currencies, self.converted.as_ref());
        for segment in self.segments.iter().flatten() {
            let name = if segment.is_rest { REST } else { NONE };
            let name = segment.segment.as_deref().unwrap_or(name);
            add(name, &segment.currencies, segment.converted.as_ref());
        }
        table.noted(&self.about.note())
    }
}

impl MovementRow {
    /// Start, new, reactivation, expansion, contraction, churn, negative, end: the amounts that every row has.
    pub fn amounts(&self) -> [Number; 8] {
        [
            self.start,
            self.new,
            self.reactivation,
            self.expansion,
            self.contraction,
            self.churn,
            self.negative,
            self.end,
        ]
    }

    /// Whether an amount is not 0.
    pub(super) fn is_something(&self) -> bool {
        let amounts = self.amounts().into_iter().chain([self.overdue]);
        amounts.map(Number::as_decimal).any(|amount| !amount.is_zero())
    }

    fn cells(&self, segment: &str, scope: &str, currency: &str) -> TableRow {
        let row = TableRow::default().text(segment).text(scope).text(currency).period(&self.period);
        let [start, moves @ .., end] = self.amounts();
        row.money(&[start], currency)
            .money_option(self.fx, currency)
            .money(&moves, currency)
            .money_option(self.entering, currency)
            .money_option(self.leaving, currency)
            .money(&[end], currency)
            .text(self.customers)
            .text(self.new_customers)
            .text(self.reactivated_customers)
            .text(self.churned_customers)
            .money_option(self.arpa, currency)
            .money_option(self.asp, currency)
            .money(&[self.overdue], currency)
            .text(self.overdue_licenses)
    }
}
