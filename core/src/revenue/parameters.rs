//! The parameters of reports, from which their description and the checks of a request are generated.

use super::{
    calendar::Interval,
    customers_query::CustomerPage,
    explain::ReportLine,
    forecast_explained::ForecastLine,
    options::{MAX_GAP_DAYS, MAX_REACTIVATION_DAYS, MovementView, Valuation},
    query::{FLAGS, ReportKind, THEMES, USAGE_LISTS, WIDTHS, parts_of},
    renewal_outcome::RenewalOutcome,
    renewals::RenewalsBy,
    renewals_explained::RenewalsLine,
    usage_line::UsageLine,
};
use crate::value::engagement::ACTIVITY_STATES;

/// A parameter of reports.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in the query of a request.
    pub name: &'static str,
    /// Reports with the parameter.
    pub of: &'static [ReportKind],
    /// What the value is: a day, a number, a word of a list.
    pub kind: ParameterType,
    /// Description of the parameter in the OpenAPI description.
    pub doc: &'static str,
}

/// Kind of a parameter's value.
#[derive(Clone, Copy, Debug)]
pub enum ParameterType {
    /// A day such as `2026-01-31`.
    Day,
    /// A point in time such as `2026-01-31T18:00:00Z`.
    Time,
    /// A whole number from the first to the second one.
    Number(u32, u32),
    /// A word among these.
    Choice(&'static [&'static str]),
    /// The `_id` of a company, or another reference to it.
    Company,
    /// Any text, such as the name of a product.
    Text,
}

use ReportKind::{Customers, Forecast, Mrr, Renewals, Retention, Usage};

const ALL: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Customers, Usage];
/// Reports that are computed from licenses.
const OF_LICENSES: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Customers];
const DATED: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Usage];
const OVER_TIME: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast];
const MOVING: &[ReportKind] = &[Mrr, Retention];

/// Parameters of all reports, in the order of their description.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "from",
        of: DATED,
        kind: ParameterType::Day,
        doc: "First day. The default is the first day of the month 11 months ago; for renewals and forecasts, of the current month.",
    },
    Parameter {
        name: "to",
        of: DATED,
        kind: ParameterType::Day,
        doc: "The day after the last day. The default is the first day of the next month; for renewals, forecasts and a later `from`, a year after `from`.",
    },
    Parameter {
        name: "interval",
        of: DATED,
        kind: ParameterType::Choice(&Interval::NAMES),
        doc: "Length of a period, `month` by default. A report has at most 1,000 periods.",
    },
    Parameter {
        name: "timeZone",
        of: ALL,
        kind: ParameterType::Text,
        doc: "Time zone of the days, as an IANA name; the tenant's by default.",
    },
    Parameter {
        name: "asOf",
        of: OVER_TIME,
        kind: ParameterType::Time,
        doc: "Returns the report as of a point in time, with the licenses, rates and time zone stored then. Properties of companies, and the licenses of `actual` of a forecast, are current.",
    },
    Parameter {
        name: "companyId",
        of: ALL,
        kind: ParameterType::Company,
        doc: "Only this company.",
    },
    Parameter {
        name: "product",
        of: OF_LICENSES,
        kind: ParameterType::Text,
        doc: "Only licenses of this product.",
    },
    Parameter {
        name: "gapDays",
        of: OF_LICENSES,
        kind: ParameterType::Number(0, MAX_GAP_DAYS),
        doc: "Longest gap between two licenses of one company, product and currency that is bridged, in days; 0 by default.",
    },
    Parameter {
        name: "baseCurrency",
        of: OF_LICENSES,
        kind: ParameterType::Text,
        doc: "Converts all amounts into this currency instead of the tenant's base currency, and leaves out the series of each currency. If a rate is missing, `converted` is null.",
    },
    Parameter {
        name: "rates",
        of: OF_LICENSES,
        kind: ParameterType::Choice(Valuation::NAMES),
        doc: "`constant` converts all amounts at the rates of one day; `dated` at the rates of the last day of each period, with the change caused by rates in `fx`.",
    },
    Parameter {
        name: "rateDate",
        of: OF_LICENSES,
        kind: ParameterType::Day,
        doc: "Day of the constant rates; the last day of the report by default.",
    },
    Parameter {
        name: "view",
        of: MOVING,
        kind: ParameterType::Choice(MovementView::NAMES),
        doc: "`endPoints` compares what a company pays at the start and at the end of a period; `activities` counts each change.",
    },
    Parameter {
        name: "reactivationWithin",
        of: MOVING,
        kind: ParameterType::Number(0, MAX_REACTIVATION_DAYS),
        doc: "Days within which a returning company counts as a reactivation, not as new; unlimited by default.",
    },
    Parameter {
        name: "by",
        of: &[Mrr],
        kind: ParameterType::Text,
        doc: "Property of companies to segment by, such as `phase`, `owner` or `custom.plan`. The report has the 50 largest segments, and the rest.",
    },
    Parameter {
        name: "by",
        of: &[Renewals],
        kind: ParameterType::Choice(RenewalsBy::NAMES),
        doc: "Whether a license is due at its end, or on its last day of notice.",
    },
    Parameter {
        name: "outcome",
        of: &[Renewals],
        kind: ParameterType::Choice(RenewalOutcome::NAMES),
        doc: "List only licenses with this outcome; the figures include all.",
    },
    Parameter {
        name: "assumeRenewed",
        of: &[Forecast],
        kind: ParameterType::Choice(FLAGS),
        doc: "Whether all ongoing licenses are assumed to be renewed, not only those that renew automatically.",
    },
    Parameter {
        name: "explain",
        of: MOVING,
        kind: ParameterType::Choice(ReportLine::NAMES),
        doc: "Returns the companies and licenses that contribute to this figure, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Forecast],
        kind: ParameterType::Choice(ForecastLine::NAMES),
        doc: "Returns the companies and licenses that contribute to this figure at the end of the period, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Renewals],
        kind: ParameterType::Choice(RenewalsLine::NAMES),
        doc: "Returns the companies and licenses that contribute to this figure, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Usage],
        kind: ParameterType::Choice(UsageLine::NAMES),
        doc: "Returns the users that this figure counts instead of the report; `kept` is the cell of a `cohort` in the week `period`.",
    },
    Parameter {
        name: "period",
        of: DATED,
        kind: ParameterType::Text,
        doc: "Period of the figure to explain, as named in the report, such as `2026-01`. The default `span` is the whole report.",
    },
    Parameter {
        name: "currency",
        of: OVER_TIME,
        kind: ParameterType::Text,
        doc: "Currency of the figure to explain; by default all, converted to the base currency.",
    },
    Parameter {
        name: "segment",
        of: &[Mrr],
        kind: ParameterType::Text,
        doc: "Segment of the figure to explain; empty or `(none)` for companies without a value, and `(rest)` for all beyond the 50 largest. All by default.",
    },
    Parameter {
        name: "cohort",
        of: &[Retention],
        kind: ParameterType::Text,
        doc: "Cohort of the figure to explain, as named in the report, such as `2026-Q1`. With `explain=end` and the `period` of a column, it explains the MRR of a cell. All companies by default.",
    },
    Parameter {
        name: "cohort",
        of: &[Usage],
        kind: ParameterType::Text,
        doc: "Only users of this cohort, the week of first activity, such as `2026-W05`.",
    },
    Parameter {
        name: "action",
        of: &[Usage],
        kind: ParameterType::Text,
        doc: "Only users who did this action in the days of the figure to explain, or companies of such users.",
    },
    Parameter {
        name: "list",
        of: &[Usage],
        kind: ParameterType::Choice(USAGE_LISTS),
        doc: "Lists the `users` of the figure to explain, which is the default, or its `companies`.",
    },
    Parameter {
        name: "part",
        of: &[Usage],
        kind: ParameterType::Choice(parts_of(Usage)),
        doc: "Table of the CSV, or chart of the SVG.",
    },
    Parameter {
        name: "part",
        of: &[Retention],
        kind: ParameterType::Choice(parts_of(Retention)),
        doc: "Table of the CSV.",
    },
    Parameter {
        name: "part",
        of: &[Renewals],
        kind: ParameterType::Choice(parts_of(Renewals)),
        doc: "Table of the CSV: the `figures`, or the `licenses` that contribute to them.",
    },
    Parameter {
        name: "sort",
        of: &[Customers],
        kind: ParameterType::Choice(CustomerPage::SORTS),
        doc: "Property to sort by; a leading `-` reverses the order. `-atStake` by default. Customers without a value come last.",
    },
    Parameter {
        name: "status",
        of: &[Customers],
        kind: ParameterType::Choice(CustomerPage::STATUSES),
        doc: "Only customers with this status.",
    },
    Parameter {
        name: "activityState",
        of: &[Customers],
        kind: ParameterType::Choice(ACTIVITY_STATES),
        doc: "Only customers with this activity state.",
    },
    Parameter {
        name: "limit",
        of: &[Customers],
        kind: ParameterType::Number(1, CustomerPage::MAX_LIMIT),
        doc: "Maximum number of customers; 100 by default.",
    },
    Parameter {
        name: "offset",
        of: &[Customers],
        kind: ParameterType::Number(0, u32::MAX),
        doc: "Number of customers to skip.",
    },
    Parameter {
        name: "theme",
        of: ALL,
        kind: ParameterType::Choice(THEMES),
        doc: "Theme of the SVG; `light` by default.",
    },
    Parameter {
        name: "width",
        of: ALL,
        kind: ParameterType::Choice(WIDTHS),
        doc: "Width of the SVG: `wide` by default, or `narrow` for a phone.",
    },
];
