//! The parameters of reports: what their description, and the check of what was sent, are made of.

use super::{
    calendar::Interval,
    customers_query::CustomerPage,
    explain::Line,
    forecast_explained::ForecastLine,
    options::{MAX_GAP_DAYS, MAX_REACTIVATION_DAYS, Valuation, View},
    query::{FLAGS, ReportKind, THEMES, parts_of},
    renewals::{Outcome, RenewalsBy},
    renewals_explained::RenewalsLine,
    usage_line::UsageLine,
};

/// A parameter of reports.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in the query of a request.
    pub name: &'static str,
    /// The reports that take it.
    pub of: &'static [ReportKind],
    /// The kind of value that it takes.
    pub form: Form,
    /// Its text in the API description.
    pub doc: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A day such as `2026-01-31`.
    Day,
    /// A point in time such as `2026-01-31T18:00:00Z`.
    Time,
    /// A whole number from 0 to this one.
    Number(u32),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The `_id` of a company, or another reference to it.
    Company,
    /// Any text, such as the name of a product.
    Text,
}

use ReportKind::{Customers, Forecast, Mrr, Renewals, Retention, Usage};

const ALL: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Customers, Usage];
/// Those that are computed from licenses.
const OF_LICENSES: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Customers];
const DATED: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast, Usage];
const OVER_TIME: &[ReportKind] = &[Mrr, Retention, Renewals, Forecast];
const MOVING: &[ReportKind] = &[Mrr, Retention];

/// Those of all reports, in the order of their description.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "from",
        of: DATED,
        form: Form::Day,
        doc: "First day; by default that of the month 11 months ago, of renewals and forecasts of this month.",
    },
    Parameter {
        name: "to",
        of: DATED,
        form: Form::Day,
        doc: "The day after the last one; by default a year after the default of `from`.",
    },
    Parameter {
        name: "interval",
        of: DATED,
        form: Form::Choice(&Interval::NAMES),
        doc: "What the report is divided into, `month` by default; at most 1,000 of them.",
    },
    Parameter {
        name: "timeZone",
        of: ALL,
        form: Form::Text,
        doc: "Zone whose midnights are the borders of days, a name of the IANA database; the tenant's by default.",
    },
    Parameter {
        name: "asOf",
        of: OVER_TIME,
        form: Form::Time,
        doc: "A point in time: the report as it was then, without what was changed later in licenses, rates and the time zone. Properties of companies, and `actual` of a forecast, are those of now.",
    },
    Parameter { name: "companyId", of: ALL, form: Form::Company, doc: "Only this company." },
    Parameter {
        name: "product",
        of: OF_LICENSES,
        form: Form::Text,
        doc: "Only licenses of this product.",
    },
    Parameter {
        name: "gapDays",
        of: OF_LICENSES,
        form: Form::Number(MAX_GAP_DAYS),
        doc: "How many days apart the end of a license and the start of the next of its company, product and currency may be to be continuous; 0 by default.",
    },
    Parameter {
        name: "rates",
        of: OF_LICENSES,
        form: Form::Choice(Valuation::NAMES),
        doc: "`constant` converts all at the rates of one day; `dated` at those of the last day of each interval, and what they change is the line `fx`.",
    },
    Parameter {
        name: "rateDate",
        of: OF_LICENSES,
        form: Form::Day,
        doc: "The day of constant rates; the last one of the report by default.",
    },
    Parameter {
        name: "view",
        of: MOVING,
        form: Form::Choice(View::NAMES),
        doc: "`endPoints` compares what a company pays at both ends of an interval; `activities` counts each change by itself.",
    },
    Parameter {
        name: "reactivationWithin",
        of: MOVING,
        form: Form::Number(MAX_REACTIVATION_DAYS),
        doc: "Days within which a company that comes back is a reactivation and not new; any number by default.",
    },
    Parameter {
        name: "by",
        of: &[Mrr],
        form: Form::Text,
        doc: "Property of companies that makes the segments, such as `phase`, `owner` or `custom.plan`: the 50 largest, and the rest.",
    },
    Parameter {
        name: "by",
        of: &[Renewals],
        form: Form::Choice(RenewalsBy::NAMES),
        doc: "Whether licenses are counted where they end, or on the last day of notice.",
    },
    Parameter {
        name: "outcome",
        of: &[Renewals],
        form: Form::Choice(Outcome::NAMES),
        doc: "Only licenses of this outcome are listed; the figures are those of all.",
    },
    Parameter {
        name: "assumeRenewed",
        of: &[Forecast],
        form: Form::Choice(FLAGS),
        doc: "Whether every ongoing license is taken to be renewed, not only those that renew automatically.",
    },
    Parameter {
        name: "explain",
        of: MOVING,
        form: Form::Choice(Line::NAMES),
        doc: "The line of which the companies and licenses are returned, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Forecast],
        form: Form::Choice(ForecastLine::NAMES),
        doc: "The line of which the companies and licenses are returned, at the end of the period, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Renewals],
        form: Form::Choice(RenewalsLine::NAMES),
        doc: "The line of which the companies and licenses are returned, with the formula in numbers, instead of the report.",
    },
    Parameter {
        name: "explain",
        of: &[Usage],
        form: Form::Choice(UsageLine::NAMES),
        doc: "The figure of which the users are returned, instead of the report; `kept` is that of a `cohort` in the week that is the `period`.",
    },
    Parameter {
        name: "period",
        of: DATED,
        form: Form::Text,
        doc: "The period of the figure to explain, as the report names it, such as `2026-01`; `span`, the default, for the whole report.",
    },
    Parameter {
        name: "currency",
        of: OVER_TIME,
        form: Form::Text,
        doc: "The currency of the figure to explain; all in the base currency by default.",
    },
    Parameter {
        name: "segment",
        of: &[Mrr],
        form: Form::Text,
        doc: "The segment of the figure to explain; empty for companies without one. All by default.",
    },
    Parameter {
        name: "cohort",
        of: &[Retention],
        form: Form::Text,
        doc: "The cohort of the figure to explain, as the report names it, such as `2026-Q1`: `explain=end` and the `period` of a column explain the MRR of a cell. All companies by default.",
    },
    Parameter {
        name: "cohort",
        of: &[Usage],
        form: Form::Text,
        doc: "Only users who were first active in this week, such as `2026-W05`, of the figure to explain.",
    },
    Parameter {
        name: "action",
        of: &[Usage],
        form: Form::Text,
        doc: "Only users who did this in the days of the figure to explain.",
    },
    Parameter {
        name: "part",
        of: &[Usage],
        form: Form::Choice(parts_of(Usage)),
        doc: "Which table CSV has, and which picture is drawn: the `figures`, the `cohorts`, or the `actions`.",
    },
    Parameter {
        name: "part",
        of: &[Retention],
        form: Form::Choice(parts_of(Retention)),
        doc: "Which table CSV has: the `figures`, or the `cohorts`.",
    },
    Parameter {
        name: "part",
        of: &[Renewals],
        form: Form::Choice(parts_of(Renewals)),
        doc: "Which table CSV has: the `figures`, or the `licenses` that they are made of.",
    },
    Parameter {
        name: "sort",
        of: &[Customers],
        form: Form::Choice(CustomerPage::SORTS),
        doc: "A property; `-` in front reverses the order. `-atStake` by default. Customers without a value come last.",
    },
    Parameter {
        name: "status",
        of: &[Customers],
        form: Form::Choice(CustomerPage::STATUSES),
        doc: "Only customers of this status.",
    },
    Parameter {
        name: "activityState",
        of: &[Customers],
        form: Form::Text,
        doc: "Only customers of this activity state.",
    },
    Parameter {
        name: "limit",
        of: &[Customers],
        form: Form::Number(CustomerPage::MAX_LIMIT),
        doc: "How many at the most; 100 by default.",
    },
    Parameter {
        name: "offset",
        of: &[Customers],
        form: Form::Number(u32::MAX),
        doc: "How many customers to skip.",
    },
    Parameter {
        name: "theme",
        of: ALL,
        form: Form::Choice(THEMES),
        doc: "The background that a picture is for; `light` by default.",
    },
];
