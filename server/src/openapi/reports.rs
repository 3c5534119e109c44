//! Revenue reports in the description: their parameters, their schemas, and examples that core computes.

use serde_json::{Map, Value, json};
use svctrack_core::{
    revenue::{
        ClosingRequest, CustomerPage, ForecastLine, Form, Interval, Ledger, LicenseFacts, Line,
        Options, PARAMETERS, RenewalsLine, ReportKind, ReportQuery, Sources, Usage, UsageLine,
        Valuation, View, report,
    },
    value::{ObjectId, Timestamp, Zone},
};

use super::{
    parts::{COMPANY, Member, Object, PERIOD, parameter, reference, set},
    patterns::{MONTH, OBJECT_ID, RECORD_REF},
    usage,
};
use crate::route_def::Kind;

/// The parameters of a report.
pub(super) fn parameters(gives: Kind) -> Vec<Value> {
    let Some(kind) = gives.report() else { return Vec::new() };
    let of_report = PARAMETERS.iter().filter(|parameter| parameter.of.contains(&kind));
    let described =
        of_report.map(|found| parameter(found.name, found.doc, schema_of_form(found.form)));
    described.collect()
}

fn schema_of_form(form: Form) -> Value {
    match form {
        Form::Day => json!({ "type": "string", "format": "date" }),
        Form::Time => json!({ "type": "string", "format": "date-time" }),
        Form::Number(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Form::Choice(words) => json!({ "type": "string", "enum": words }),
        Form::Company => json!({ "type": "string", "pattern": RECORD_REF }),
        Form::Text => json!({ "type": "string" }),
    }
}

/// What every report begins with.
const ABOUT: &[Member] = &[
    ("from", "day", "First day."),
    ("to", "day", "The day after the last one."),
    ("interval", "interval", "What it is divided into."),
    ("timeZone", "text", "The zone of its days."),
    ("view", "view", "What counts as a movement."),
    ("gapDays", "count", "Days of a gap or an overlap that is bridged."),
    (
        "reactivationWithin",
        "count?",
        "Days within which a return is a reactivation; null for any number.",
    ),
    (
        "now",
        "time",
        "The present as the report sees it: since then nothing that it says has changed.",
    ),
    ("baseCurrency", "text?", "The base currency."),
    ("rates", "valuation", "At which rates amounts are converted."),
    ("rateDate", "day?", "The day of constant rates."),
    (
        "missingRates",
        "[MissingRate]",
        "Currencies without a rate; where there are any, nothing is converted.",
    ),
    ("excluded", "[ExcludedLicenses]", "Licenses that do not count, and why."),
];
/// What a report says of the past that it is computed from.
const PAST: &[Member] = &[
    ("asOf", "time", "The point in time as of which it is made, where `asOf` was sent."),
    ("historySince", "time", "The earliest `asOf`, where the history of some changes is not kept."),
];
/// What is returned of a license that ends.
#[rustfmt::skip]
const RENEWAL: &[Member] = &[
    ("license", "id", "Its id."), ("company", "id", "Its company."), ("product", "text", "Its product."), ("currency", "text", "Its currency."),
    ("end", "day", "The first day on which it is over."), ("notice", "day?", "The last day of notice, if it renews automatically."), ("mrr", "money", "Its monthly value."),
    ("outcome", "outcome", "Outcome of its renewal."), ("renewedMrr", "money?", "Monthly value of what follows it, or is agreed to."), ("successor", "id?", "The license that follows it."),
];
/// What the explanations of forecasts and of renewals have besides the line and the companies.
#[rustfmt::skip]
const EXPLAINED: &[Member] = &[
    ("from", "day", "The first day of the period."), ("to", "day", "The day after its last one."), ("currency", "text", "The currency of the amounts."),
    ("amount", "money", "The figure."), ("formula", "text", "How the amounts of the companies add up."),
];
/// What a company has in them besides its licenses.
const EXPLAINED_COMPANY: &[Member] = &[
    ("company", "id", "The company."),
    ("amount", "money", "Its amount under the line."),
    ("formula", "text", "Its amount in numbers."),
];

#[rustfmt::skip]
const OBJECTS: &[Object] = &[
    ("MissingRate", "A currency without a rate.", &[&[
        ("currency", "text", "The currency."), ("day", "day", "The first day on which it has none."),
    ]], &[]),
    ("ExcludedLicenses", "Licenses that do not count.", &[&[
        ("reason", "reason", "Why."), ("licenses", "[id]", "Their ids, the first 1,000."), ("total", "count", "How many there are."),
    ]], &[]),
    ("OverdueLicense", "A license that is past and ongoing, and has no successor.", &[&[
        ("license", "id", "Its id."), ("company", "id", "Its company."), ("end", "day", "The first day on which it is over."),
        ("currency", "text", "Its currency."), ("mrr", "money", "Its monthly value."),
    ]], &[]),
    ("OverlappingLicenses", "Licenses of one company, product and currency that overlap: both count.", &[&[
        ("company", "id", "The company."), ("licenses", "[id]", "The licenses."), ("from", "day", "The first day of both."),
        ("to", "day?", "The first day on which one is over; null where neither ends."),
    ]], &[]),
    ("MovementRow", "The movements of an interval.", &[PERIOD, &[
        ("start", "money", "MRR just before it begins."), ("new", "money", "MRR of companies that never paid before."),
        ("reactivation", "money", "MRR of companies that paid before, and came back."), ("expansion", "money", "What companies pay more."),
        ("contraction", "money", "What companies pay less."), ("churn", "money", "What companies paid that pay nothing now."),
        ("negative", "money", "Change of what is below 0."), ("end", "money", "MRR just before it ends."),
        ("customers", "count", "Companies that pay more than 0 then."), ("newCustomers", "count", "Companies that never paid before."),
        ("reactivatedCustomers", "count", "Companies that came back."), ("churnedCustomers", "count", "Companies that pay nothing any more."),
        ("arpa", "money?", "MRR for each customer."), ("asp", "money?", "New MRR for each new customer."),
        ("overdue", "money", "MRR of licenses that are over by the end, and still ongoing."), ("overdueLicenses", "count", "How many these are."),
    ]], &[&[
        ("fx", "money", "What dated rates changed."), ("entering", "money", "What companies pay for the product that paid for another before."),
        ("leaving", "money", "What companies paid for the product that pay for another now."),
    ]]),
    ("MovementSeries", "Movements in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[MovementRow]", "The intervals."),
    ]], &[]),
    ("MovementSegment", "The movements of a segment.", &[&[
        ("segment", "text?", "Its name; null for companies without one, and for the rest."), ("isRest", "flag", "Whether it is the rest."),
        ("companies", "count", "How many companies with licenses it has."), ("currencies", "[MovementSeries]", "Each currency by itself."),
        ("converted", "MovementSeries?", "All in the base currency."),
    ]], &[]),
    ("MrrReport", "MRR and its movements: `start + fx + new + reactivation + expansion - contraction - churn + negative + entering - leaving = end`.", &[ABOUT, &[
        ("currencies", "[MovementSeries]", "Each currency by itself."), ("converted", "MovementSeries?", "All in the base currency; null where a rate is missing."),
        ("overdue", "[OverdueLicense]", "Licenses that are overdue now, the first 1,000."), ("overdueTotal", "count", "How many these are."),
        ("overlaps", "[OverlappingLicenses]", "Licenses that may be counted twice, the first 1,000 pairs."), ("overlapsTotal", "count", "How many pairs these are."),
    ]], &[PAST, &[("segments", "[MovementSegment]", "The largest segments, then the rest, where `by` was sent."),
        ("closings", "[ClosedMonth]", "The closed months, where the report is by month and made as they were: of all companies and products, with the same options.")]]),
    ("ClosedLines", "The lines of a month in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("start", "money", "MRR just before it begins."),
        ("new", "money", "MRR of companies that never paid before."), ("reactivation", "money", "MRR of companies that paid before, and came back."),
        ("expansion", "money", "What companies pay more."), ("contraction", "money", "What companies pay less."),
        ("churn", "money", "What companies paid that pay nothing now."), ("negative", "money", "Change of what is below 0."),
        ("end", "money", "MRR just before it ends."), ("customers", "integer", "Companies that pay more than 0 then."),
    ]], &[]),
    ("Closing", "A month that was closed.", &[&[
        ("month", "text", "The month."), ("closedAt", "time", "When it was closed."), ("closedBy", "text?", "Id of the token with which it was closed."),
        ("timeZone", "text", "The zone of its days."), ("view", "view", "What counts as a movement."), ("gapDays", "count", "Days of a gap or an overlap that is bridged."),
        ("reactivationWithin", "count?", "Days within which a return is a reactivation; null for any number."), ("rateDate", "day?", "The day of the rates."),
        ("currencies", "[ClosedLines]", "Each currency by itself."), ("converted", "ClosedLines?", "All in the base currency; null where a rate was missing."),
    ]], &[]),
    ("ClosedDifference", "The lines of a closed month, and how those of now differ.", &[&[
        ("currency", "text", "The currency of the amounts."), ("closed", "ClosedLines", "As they were closed."),
        ("difference", "ClosedLines", "Those of now less those that were closed."),
    ]], &[]),
    ("ClosedMonth", "What has changed in a month since it was closed.", &[&[
        ("month", "text", "The month."), ("closedAt", "time", "When it was closed."), ("currencies", "[ClosedDifference]", "Each currency by itself."),
        ("converted", "ClosedDifference?", "All in the base currency; null where the report converts at the rates of another day."),
        ("changedLicenses", "[id]", "Licenses that were changed since, and last in the month then or now: at most 100."),
        ("changedLicenseCount", "count", "How many these are."),
    ]], &[]),
    ("RetentionRow", "The retention of a period; ratios are null where they have no denominator.", &[PERIOD, &[
        ("base", "money", "What companies pay at the start."), ("kept", "money", "What is retained of it: of each company at most what it paid."),
        ("retained", "money", "What the same companies pay at the end."), ("customers", "count", "How many companies pay at the start."),
        ("lostCustomers", "count", "How many of them pay nothing at the end."), ("grr", "money?", "Gross revenue retention."), ("nrr", "money?", "Net revenue retention."),
        ("grossMrrChurn", "money?", "Gross MRR churn."), ("netMrrChurn", "money?", "Net MRR churn."), ("logoChurn", "money?", "Customers lost."),
        ("quickRatio", "money?", "MRR gained for each unit of MRR lost."),
    ]], &[]),
    ("RetentionSeries", "The retention in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[RetentionRow]", "The intervals."),
        ("trailingYear", "[RetentionRow]", "The year that ends with each interval."), ("span", "RetentionRow", "The whole report."),
    ]], &[]),
    ("RetentionFormulas", "How each ratio is computed.", &[&[
        ("grr", "text", "Gross revenue retention."), ("nrr", "text", "Net revenue retention."), ("grossMrrChurn", "text", "Gross MRR churn."),
        ("netMrrChurn", "text", "Net MRR churn."), ("logoChurn", "text", "Customers lost."), ("quickRatio", "text", "Quick ratio."),
    ]], &[]),
    ("CohortColumn", "An interval at whose end cells are taken.", &[PERIOD, &[
        ("isComplete", "flag", "Whether it is over, and not cut by the end of the report."),
    ]], &[]),
    ("CohortCell", "What is left of a cohort.", &[&[
        ("mrr", "money", "What its companies pay."), ("logos", "count", "How many of them pay."),
        ("share", "money?", "Share of the MRR of the first cell."), ("logoShare", "money?", "Share of the companies of the first cell."),
    ]], &[]),
    ("Cohort", "Companies that first paid in the same interval.", &[&[
        ("cohort", "text", "The interval."), ("from", "day", "Its first day."), ("cells", "[CohortCell?]", "What is left at the end of each column; null before it begins."),
    ]], &[]),
    ("CohortSeries", "Cohorts in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[Cohort]", "The cohorts."),
    ]], &[]),
    ("Cohorts", "Companies by when they first paid.", &[ABOUT, &[
        ("columns", "[CohortColumn]", "The intervals at whose ends cells are taken."), ("currencies", "[CohortSeries]", "Each currency by itself."),
        ("converted", "CohortSeries?", "All in the base currency."),
    ]], &[PAST]),
    ("RetentionReport", "How much of what customers paid they pay on.", &[ABOUT, &[
        ("formulas", "RetentionFormulas", "How each ratio is computed."), ("currencies", "[RetentionSeries]", "Each currency by itself."),
        ("converted", "RetentionSeries?", "All in the base currency; null where a rate is missing."),
        ("cohorts", "Cohorts?", "Companies by when they first paid; null where the intervals are days or weeks."),
    ]], &[PAST]),
    ("RenewalRates", "Rates of renewals; null where there is nothing to take them of.", &[&[
        ("gross", "money?", "renewed / base"), ("net", "money?", "(renewed + upgrade) / base"), ("logo", "money?", "Companies with a renewed license / companies."),
    ]], &[]),
    ("RenewalRow", "The licenses that end in an interval: `base = renewed + downgrade + churned + overdue + open`.", &[PERIOD, &[
        ("base", "money", "MRR of the licenses."), ("renewed", "money", "What is renewed of it."), ("upgrade", "money", "What is renewed for more."),
        ("downgrade", "money", "What is renewed for less."), ("churned", "money", "What is lost."), ("overdue", "money", "What is past and undecided."),
        ("open", "money", "What is ahead and undecided."), ("licenses", "count", "How many licenses."), ("companies", "count", "How many companies."),
        ("ofBase", "RenewalRates", "Rates of the base."), ("ofDecided", "RenewalRates", "Rates of what is decided."),
    ]], &[]),
    ("RenewalSeries", "Renewals in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[RenewalRow]", "The intervals."),
    ]], &[]),
    ("RenewalLicense", "A license that ends.", &[RENEWAL], &[]),
    ("RenewalsReport", "Outcomes of the licenses that end.", &[ABOUT, &[
        ("by", "renewalsBy", "By which day licenses belong to a period."), ("currencies", "[RenewalSeries]", "Each currency by itself."),
        ("converted", "RenewalSeries?", "All in the base currency; null where a rate is missing."), ("licenses", "[RenewalLicense]", "The licenses that the figures are made of, the first 1,000."), ("licensesTotal", "count", "How many these are."),
    ]], &[PAST]),
    ("ForecastScenarios", "An amount in three scenarios.", &[&[
        ("base", "money", "As expected."), ("optimistic", "money", "If all goes well."), ("pessimistic", "money", "If it does not."),
    ]], &[]),
    ("ForecastRow", "MRR just before an interval ends.", &[PERIOD, &[
        ("confirmed", "money", "Of licenses that are signed."), ("unconfirmed", "ForecastScenarios", "Of licenses that are over by then."), ("total", "ForecastScenarios", "Both together."),
        ("actual", "money?", "What came true, of an interval that has ended."), ("difference", "money?", "What came true less the base scenario."),
    ]], &[]),
    ("ForecastSeries", "A forecast in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[ForecastRow]", "The intervals."),
    ]], &[]),
    ("ForecastReport", "Forecast of MRR.", &[ABOUT, &[
        ("assumeRenewed", "flag", "Whether all ongoing licenses are taken to be renewed."), ("currencies", "[ForecastSeries]", "Each currency by itself."),
        ("converted", "ForecastSeries?", "All in the base currency; null where a rate is missing."),
    ]], &[PAST]),
    ("CustomerAmount", "An amount in a currency.", &[&[
        ("currency", "text", "The currency."), ("mrr", "money", "What is paid a month."),
    ]], &[]),
    ("MrrAtStake", "What is at stake: `amount = mrr x nearness x points / 100`. It orders a list of work, and is no probability.", &[&[
        ("amount", "money", "What is at stake a month."), ("mrr", "money", "MRR, with that of overdue licenses."), ("nearness", "money", "How near the renewal is: 1 within 30 days or overdue, 0.2 from 365 days on, 0.3 with nothing to renew."),
        ("points", "money", "The sum of the points."), ("basePoints", "money", "The points of every customer."), ("idlePoints", "money", "The points of not being active."),
        ("usersPoints", "money", "The points of fewer active users."), ("beatsPoints", "money", "The points of fewer activities."), ("ticketPoints", "money", "The points of open tickets."),
        ("text", "text", "The same as a sentence."),
    ]], &[]),
    ("CustomerLine", "A company with licenses.", &[&[
        ("company", "id", "Its id."), ("name", "text?", "Its name."), ("status", "status", "Customer status."), ("currencies", "[CustomerAmount]", "MRR by currency."),
        ("mrr", "money?", "MRR in the base currency; null where a rate is missing."), ("arr", "money?", "ARR in the base currency."), ("overdue", "money?", "MRR of licenses that are past, and still ongoing."),
        ("overdueLicenses", "count", "How many these are."), ("nextRenewal", "day?", "The end of the ongoing fixed license that is decided next."), ("noticeDeadline", "day?", "Its last day of notice, if it renews automatically and that day is ahead."),
        ("days", "integer?", "Days to the nearer of both; negative where it is overdue."), ("lastActive", "day?", "When somebody was last active."), ("activityState", "text?", "State of its activity."),
        ("usersActive", "count", "Users active in the last 14 days."), ("usersTrend", "money", "How that differs from the 14 days before."), ("beats", "count", "Activities of the last 14 days."),
        ("beatTrend", "money", "How these differ from the 14 days before."), ("openTickets", "count", "Open tickets."), ("atStake", "MrrAtStake?", "What is at stake; null for a company that pays nothing, or in a currency without a rate."),
    ]], &[]),
    ("CustomersReport", "The customers, those with the most at stake first.", &[ABOUT, &[
        ("usage", "usage", "Whether usage is known: `unknown` where nobody was ever active."), ("mostPoints", "money", "The most points that a customer can have."),
        ("total", "count", "How many customers there are, on whichever page."), ("rows", "[CustomerLine]", "The customers."),
    ]], &[]),
    ("ExplainedLicense", "A license of a company.", &[&[
        ("license", "id", "Its id."), ("product", "text", "Its product."), ("currency", "text", "Its currency."), ("from", "day", "Its first day."), ("end", "day?", "The first day on which it is over."),
        ("bridgedEnd", "day?", "The day up to which it counts, where a gap or an overlap is bridged."), ("mrr", "money", "Its monthly value."), ("rate", "money?", "The rate at which it is converted."),
        ("atStart", "flag", "Whether it counts just before the period."), ("atEnd", "flag", "Whether it counts just before its end."),
    ]], &[]),
    ("ExplainedCompany", "The part of a company.", &[&[
        ("company", "id", "Its id."), ("amount", "money", "Its amount under the line."), ("pays", "[money]", "What it pays just before the period, after each change in it, and just before its end."),
        ("formula", "text", "Its amount in numbers."), ("licenses", "[ExplainedLicense]", "Its licenses that last in the period, or are overdue."),
    ]], &[]),
    ("Explanation", "The companies and licenses of a figure.", &[&[
        ("line", "line", "The line."), ("from", "day", "The first day of the period."), ("to", "day", "The day after its last one."), ("currency", "text", "The currency of the amounts."),
        ("amount", "money", "The figure, in the view of the report."), ("endPoints", "money", "The figure by what is paid at both ends of the period."), ("activities", "money", "The figure by each change."),
        ("formula", "text", "How the amounts of the companies add up."), ("companies", "[ExplainedCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
    ("ExpectedLicense", "A license in a forecast.", &[&[
        ("license", "id", "Its id."), ("product", "text", "Its product."), ("currency", "text", "Its currency."), ("from", "day", "Its first day."), ("end", "day?", "The first day on which it is over."),
        ("isConfirmed", "flag", "Whether it is signed for the end of the period; otherwise it is over by then, and expected to be renewed."), ("source", "source", "The property that the amount comes from."),
        ("monthly", "money", "What it counts a month."), ("rate", "money?", "The rate at which it is converted."), ("amount", "money", "What it counts a month, in the currency of the figure."),
    ]], &[]),
    ("ExpectedCompany", "What a company is expected to pay.", &[EXPLAINED_COMPANY, &[
        ("licenses", "[ExpectedLicense]", "The licenses that it is made of."),
    ]], &[]),
    ("ForecastExplanation", "The companies and licenses of a figure of the forecast, just before the period ends.", &[EXPLAINED, &[
        ("line", "forecastLine", "The line."), ("companies", "[ExpectedCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
    ("ExplainedRenewal", "A license that ends, and what it adds to a figure.", &[RENEWAL, &[
        ("rate", "money?", "The rate at which it is converted."), ("amount", "money", "What it adds, in the currency of the figure."),
    ]], &[]),
    ("RenewingCompany", "What a company adds to a figure of the renewals.", &[EXPLAINED_COMPANY, &[
        ("licenses", "[ExplainedRenewal]", "The licenses that it is made of."),
    ]], &[]),
    ("RenewalsExplanation", "The companies and licenses of a figure of the renewals.", &[EXPLAINED, &[
        ("line", "renewalsLine", "The line."), ("companies", "[RenewingCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
];

/// The request that closes a month.
pub(super) fn new_closing() -> Value {
    let options = ClosingRequest::MEMBERS;
    let options = PARAMETERS.iter().filter(|parameter| options.contains(&parameter.name));
    let mut properties: Map<String, Value> = options
        .map(|option| {
            // Null is as if it was not sent.
            let forms = [schema_of_form(option.form), json!({ "type": "null" })];
            let schema = json!({ "description": option.doc, "anyOf": forms });
            (option.name.to_owned(), schema)
        })
        .collect();
    let month = json!({ "type": "string", "pattern": MONTH, "description": "The month to close." });
    properties.insert("month".to_owned(), month);
    json!({
        "type": "object", "description": "A month to close.", "required": ["month"], "properties": properties,
    })
}

/// The example of a closed month.
pub(super) fn closing() -> Value {
    let lines = json!({
        "currency": "EUR", "start": 1000, "new": 0, "reactivation": 0, "expansion": 0, "contraction": 0, "churn": 0,
        "negative": 0, "end": 1000, "customers": 1,
    });
    json!({
        "month": "2025-12", "closedAt": "2026-01-15T12:00:00.000Z", "closedBy": "5f3c1e2a", "timeZone": "UTC",
        "view": "endPoints", "gapDays": 0, "reactivationWithin": null, "rateDate": "2025-12-31",
        "currencies": [lines], "converted": lines,
    })
}

/// The schemas of reports, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let object = |(name, doc, members, optional): &Object| {
        let always = || members.iter().copied().flatten();
        let properties: Map<String, Value> =
            always().chain(optional.iter().copied().flatten()).map(property).collect();
        let required: Vec<_> = always().map(|(name, ..)| name).collect();
        let object = json!({
            "type": "object", "description": doc, "properties": properties, "required": required,
        });
        ((*name).to_owned(), object)
    };
    OBJECTS.iter().chain(usage::OBJECTS).map(object).collect()
}

fn property((name, kind, doc): &Member) -> (String, Value) {
    let mut schema = schema_of(kind);
    set(&mut schema, "description", json!(doc));
    ((*name).to_owned(), schema)
}

/// The schema of a word: `[...]` is a list, and a `?` at the end says that it may be null.
fn schema_of(kind: &str) -> Value {
    if let Some(item) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        return json!({ "type": "array", "items": schema_of(item) });
    }
    if let Some(kind) = kind.strip_suffix('?') {
        return json!({ "anyOf": [schema_of(kind), { "type": "null" }] });
    }
    let one_of = |words: &[&str]| json!({ "type": "string", "enum": words });
    match kind {
        "day" => json!({ "type": "string", "format": "date" }),
        "time" => json!({ "type": "string", "format": "date-time" }),
        "text" => json!({ "type": "string" }),
        "id" => json!({ "type": "string", "pattern": OBJECT_ID }),
        "money" => json!({ "type": "number" }),
        "integer" => json!({ "type": "integer" }),
        "count" => json!({ "type": "integer", "minimum": 0 }),
        "flag" => json!({ "type": "boolean" }),
        "interval" => one_of(&Interval::NAMES),
        "view" => one_of(View::NAMES),
        "valuation" => one_of(Valuation::NAMES),
        "line" => one_of(Line::NAMES),
        "forecastLine" => one_of(ForecastLine::NAMES),
        "renewalsLine" => one_of(RenewalsLine::NAMES),
        "usageLine" => one_of(UsageLine::NAMES),
        "source" => one_of(ForecastLine::SOURCES),
        "status" => one_of(CustomerPage::STATUSES),
        "usage" => one_of(&["known", "unknown"]),
        "renewalsBy" => one_of(&["end", "notice"]),
        "outcome" => one_of(&["renewed", "churned", "overdue", "open"]),
        "reason" => {
            one_of(&["no_dates", "no_money", "no_currency", "zero_length", "amount_too_large"])
        }
        name => reference(name),
    }
}

/// A report of a license and its successor, at the time of all examples.
pub(super) fn example(gives: Kind) -> Option<Value> {
    let kind = gives.report()?;
    if kind == ReportKind::Usage {
        return usage::example();
    }
    let at = Timestamp::parse;
    let license = |id: &str, from: &str, end: Option<&str>, mrr: i64| {
        Some(LicenseFacts {
            product: "Suite".into(),
            currency: "EUR".into(),
            from: Some(at(from)?),
            end: end.and_then(at),
            mrr: Some(mrr.into()),
            fixed: end.is_some(),
            ..LicenseFacts::new(ObjectId::parse(id)?, ObjectId::parse(COMPANY)?)
        })
    };
    let ledger = Ledger::new([
        license("671100000000000000000002", "2025-01-01", Some("2026-01-01"), 1_000)?,
        license("671100000000000000000003", "2026-01-01", Some("2027-01-01"), 1_200)?,
    ]);
    let days: &[(&str, &str)] = match kind {
        ReportKind::Mrr => &[("from", "2026-01-01"), ("to", "2026-02-01")],
        ReportKind::Customers => &[],
        _ => &[("from", "2026-01-01"), ("to", "2027-01-01"), ("interval", "year")],
    };
    let pairs: Vec<_> =
        days.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let query = ReportQuery::parse(kind, &pairs).ok()?;
    let options: Options = query.options(at("2026-01-15")?, Zone::UTC, None, None).ok()?;
    let sources = Sources {
        ledger: &ledger.ok()?,
        later: None,
        attributes_of: &|_| Vec::new(),
        name_of: &|_| Some("Example company".to_owned()),
        usage_of: &|_| Usage::default(),
    };
    serde_json::to_value(report(&query, &options, sources).ok()?).ok()
}
