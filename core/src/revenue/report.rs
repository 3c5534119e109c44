//! Computes any report from the parameters of a request ([`ReportQuery`]).

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    at_stake::Weights,
    calendar::{Day, Interval, IntervalBounds},
    capped_list::MAX_LISTED,
    closed_difference::MonthDifference,
    closing::ClosedMonth,
    customers::{CompanyNameLookup, CustomerSources, CustomerUsageLookup, Customers, customers},
    customers_query::{CompanyAttributesLookup, CompanyFilter},
    error::ReportError,
    explain::{Cell, Explanation, explain},
    forecast::{Forecast, LaterLicenses, forecast},
    forecast_explained::{ForecastCell, ForecastExplanation, explain_forecast},
    ledger::Ledger,
    mrr_cohorts::{Cohorts, cohorts},
    mrr_movements::{CompanySegmentLookup, Movements, NONE, REST, mrr, rest_of},
    options::ReportOptions,
    query::{Explain, ExplainedLine, ReportKind, ReportPart, ReportQuery, SPAN},
    renewals::{Renewals, renewals},
    renewals_explained::{RenewalsCell, RenewalsExplanation, explain_renewals},
    retention::{Retention, retention},
    table::TextTable,
    usage_explained::UsageExplanation,
    usage_report::UsageReport,
};
use crate::value::ObjectId;

/// Closed months, compared with a report of all currencies that has them.
pub type ClosedMonthComparison<'c> = &'c dyn Fn(&Movements) -> Vec<MonthDifference>;

/// Sources that a report is computed from.
#[derive(Clone, Copy)]
pub struct ReportSources<'s> {
    /// The licenses of the tenant.
    pub ledger: &'s Ledger,
    /// Licenses as they are known now, where `ledger` has those of a point in time: for the actual MRR of a forecast.
    pub later: Option<LaterLicenses<'s>>,
    /// The values of a company's properties, in the order of [`ReportQuery::attributes`].
    pub attributes_of: CompanyAttributesLookup<'s>,
    /// Whether a company meets [`ReportQuery::filters`].
    pub company_filter: CompanyFilter<'s>,
    /// The name of a company.
    pub name_of: CompanyNameLookup<'s>,
    /// Usage of each company, where the report needs it.
    pub usage_of: CustomerUsageLookup<'s>,
    /// Whether a user of the tenant was ever active, where the report needs usage.
    pub has_usage: bool,
    /// The closed months that a report of MRR has, compared with it.
    pub closings_of: ClosedMonthComparison<'s>,
}

/// A computed report, ready to be serialized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// MRR and its movements.
    Mrr(Box<Movements>),
    /// Retention and cohorts of companies.
    Retention(Box<RetentionAndCohorts>),
    /// Licenses that end, and their outcomes.
    Renewals(Box<Renewals>),
    /// Forecast of the MRR.
    Forecast(Box<Forecast>),
    /// Customers, the largest amount at stake first.
    Customers(Box<Customers>),
    /// Companies and licenses that a figure is computed from.
    Explanation(Box<Explanation>),
    /// Companies and licenses that a figure of a forecast is computed from.
    ForecastExplanation(Box<ForecastExplanation>),
    /// Companies and licenses that a figure of renewals is computed from.
    RenewalsExplanation(Box<RenewalsExplanation>),
    /// Usage of the product.
    Usage(Box<UsageReport>),
    /// Users of a figure of the usage report.
    UsageExplanation(Box<UsageExplanation>),
    /// The figures of each company in a closed month.
    ClosedMonth(Box<ClosedMonth>),
}

/// Retention, and the cohorts of the same intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionAndCohorts {
    /// Retention by interval, by year and over the whole report.
    #[serde(flatten)]
    pub retention: Retention,
    /// Companies by their first payment; null where the intervals are days or weeks.
    pub cohorts: Option<Cohorts>,
}

/// Computes the requested report.
///
/// # Errors
/// When an option is invalid.
pub fn report(
    query: &ReportQuery,
    options: &ReportOptions,
    sources: ReportSources<'_>,
) -> Result<Report, ReportError> {
    if !query.filters.is_empty() {
        return filtered(query, options, sources);
    }
    let ledger = sources.ledger;
    let first = |company| first_attribute(sources, company);
    let segment_of: Option<CompanySegmentLookup<'_>> =
        (!query.attributes.is_empty()).then_some(&first);
    if let Some(asked) = &query.explain {
        return explained(query, asked, options, sources);
    }
    let found = match query.kind {
        ReportKind::Mrr => {
            let mut found = mrr(ledger, options, segment_of)?;
            found.closings = (sources.closings_of)(&found);
            Report::Mrr(found.into())
        }
        ReportKind::Retention => {
            let has_cohorts = !matches!(options.interval, Interval::Day | Interval::Week);
            if query.part == ReportPart::Cohorts && !has_cohorts {
                cohorts(ledger, options)?;
            }
            let cohorts = has_cohorts.then(|| cohorts(ledger, options)).transpose()?;
            let retention = retention(ledger, options)?;
            Report::Retention(RetentionAndCohorts { retention, cohorts }.into())
        }
        ReportKind::Renewals => {
            let mut found = renewals(ledger, options, query.renewals_by, query.outcome)?;
            let is_of_all = query.part == ReportPart::Licenses;
            let named = if is_of_all { usize::MAX } else { MAX_LISTED };
            found.licenses.name_companies(named, sources.name_of);
            Report::Renewals(found.into())
        }
        ReportKind::Forecast => Report::Forecast(forecast(ledger, options, sources.later)?.into()),
        ReportKind::Customers => {
            let ReportSources { usage_of, has_usage, name_of, .. } = sources;
            let sources = CustomerSources { usage_of, has_usage, name_of };
            let found = customers(ledger, options, sources, &Weights::default(), &query.page)?;
            Report::Customers(found.into())
        }
        ReportKind::Usage => return Err(ReportError::NotOfLicenses),
    };
    Ok(if query.base.is_some() { found.converted_only() } else { found })
}

/// The report of the companies that meet the filters.
fn filtered(
    query: &ReportQuery,
    options: &ReportOptions,
    sources: ReportSources<'_>,
) -> Result<Report, ReportError> {
    let mut query = query.clone();
    query.filters.clear();
    let ledger = sources.ledger.of_companies_that(sources.company_filter);
    let later = sources.later.map(|later| later.ledger.of_companies_that(sources.company_filter));
    let later = later.as_ref().zip(sources.later);
    let later = later.map(|(ledger, later)| LaterLicenses { ledger, ..later });
    report(&query, options, ReportSources { ledger: &ledger, later, ..sources })
}

/// First requested property that a company has.
fn first_attribute(sources: ReportSources<'_>, company: ObjectId) -> Option<String> {
    (sources.attributes_of)(company).into_iter().flatten().next()
}

fn explained(
    query: &ReportQuery,
    asked: &Explain,
    options: &ReportOptions,
    sources: ReportSources<'_>,
) -> Result<Report, ReportError> {
    let segment_of = |company| first_attribute(sources, company);
    let segment_of: Option<CompanySegmentLookup<'_>> =
        (!query.attributes.is_empty()).then_some(&segment_of);
    let rest = match segment_of {
        Some(segment_of) if asked.segment.as_deref() == Some(REST) => {
            rest_of(sources.ledger, options, segment_of)?
        }
        _ => BTreeSet::new(),
    };
    let of_rest =
        |company| rest.contains(&company).then(|| REST.to_owned()).or_else(|| segment_of?(company));
    let segment_of: Option<CompanySegmentLookup<'_>> = segment_of.is_some().then_some(&of_rest);
    let name_of = sources.name_of;
    let (from, to) = asked.days(options)?;
    let (currency, segment) = (asked.currency.clone(), asked.segment.clone());
    Ok(match asked.line {
        ExplainedLine::Revenue(line) => {
            let segment = segment.map(|name| Some(name).filter(|it| !it.is_empty() && it != NONE));
            let cell = Cell { from, to, line, currency, segment, cohort: asked.cohort.clone() };
            Report::Explanation(
                explain(sources.ledger, options, segment_of, &cell)?.named(name_of).into(),
            )
        }
        ExplainedLine::Forecast(line) => {
            let cell = ForecastCell { from, to, line, currency };
            let found = explain_forecast(sources.ledger, options, sources.later, cell)?;
            Report::ForecastExplanation(found.named(name_of).into())
        }
        ExplainedLine::Renewals(line) => {
            let cell = RenewalsCell { from, to, line, currency };
            let found = explain_renewals(sources.ledger, options, query.renewals_by, cell)?;
            Report::RenewalsExplanation(found.named(name_of).into())
        }
        ExplainedLine::Usage(_) => return Err(ReportError::NotOfLicenses),
    })
}

impl Explain {
    /// Days of the period, which is one of the report's.
    fn days(&self, options: &ReportOptions) -> Result<(Day, Day), ReportError> {
        if self.period == SPAN {
            return Ok((options.from, options.to));
        }
        let bounds =
            IntervalBounds::between(options.from, options.to, options.interval, options.zone)?;
        let mut periods = bounds.periods().into_iter();
        let found = periods.find(|period| period.period == self.period);
        found.map(|period| (period.from, period.to)).ok_or(ReportError::UnknownCell("period"))
    }
}

impl Report {
    /// Leaves out what is not converted: a single currency was requested.
    fn converted_only(mut self) -> Self {
        match &mut self {
            Self::Mrr(report) => {
                report.currencies.clear();
                let segments = report.segments.iter_mut().flatten();
                segments.for_each(|segment| segment.currencies.clear());
            }
            Self::Retention(report) => {
                report.retention.currencies.clear();
                report.cohorts.iter_mut().for_each(|cohorts| cohorts.currencies.clear());
            }
            Self::Renewals(report) => report.currencies.clear(),
            Self::Forecast(report) => report.currencies.clear(),
            _ => {}
        }
        self
    }

    /// Number of customers up to the end of this page, if more follow.
    pub fn next_offset(&self, query: &ReportQuery) -> Option<usize> {
        let Self::Customers(report) = self else { return None };
        let end = query.page.offset.saturating_add(report.rows.len());
        (!report.rows.is_empty() && end < report.total).then_some(end)
    }

    /// The report, or the part that the query selects, as a table of texts.
    pub fn table(&self, query: &ReportQuery) -> TextTable {
        match self {
            Self::Mrr(report) => report.table(),
            Self::Retention(report) if query.part == ReportPart::Cohorts => {
                report.cohorts.as_ref().map(Cohorts::table).unwrap_or_default()
            }
            Self::Retention(report) => report.retention.table(),
            Self::Renewals(report) if query.part == ReportPart::Licenses => report.license_table(),
            Self::Renewals(report) => report.table(),
            Self::Forecast(report) => report.table(),
            Self::Customers(report) => report.table(),
            Self::Explanation(explanation) => explanation.table(),
            Self::ForecastExplanation(explanation) => explanation.table(),
            Self::RenewalsExplanation(explanation) => explanation.table(),
            Self::Usage(report) if query.part == ReportPart::Cohorts => report.cohort_table(),
            Self::Usage(report) if query.part == ReportPart::Actions => report.action_table(),
            Self::Usage(report) => report.table(),
            Self::UsageExplanation(explanation) => explanation.table(),
            Self::ClosedMonth(month) => month.table(),
        }
    }
}
