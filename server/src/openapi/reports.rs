//! Revenue reports in the description: their parameters, their schemas, and examples that core computes.

use serde_json::{Map, Value, json};
use svctrack_core::{
    revenue::{
        ClosingRequest, CustomerPage, CustomerUsage, ForecastLine, Interval, Ledger, LicenseFacts,
        MovementView, PARAMETERS, ParameterType, RenewalsLine, ReportKind, ReportLine,
        ReportOptions, ReportQuery, ReportSources, UsageLine, Valuation, report,
    },
    value::{ObjectId, Timestamp, Zone},
};

use super::{
    parts::{COMPANY, Member, Object, PERIOD, parameter, reference, set},
    patterns::{MONTH, OBJECT_ID, RECORD_REF},
    usage,
};
use crate::routing::route_def::BodyKind;

pub(super) fn parameters(gives: BodyKind) -> Vec<Value> {
    let Some(kind) = gives.report() else { return Vec::new() };
    let of_report = PARAMETERS.iter().filter(|parameter| parameter.of.contains(&kind));
    let described =
        of_report.map(|found| parameter(found.name, found.doc, schema_of_kind(found.kind)));
    described.collect()
}

fn schema_of_kind(kind: ParameterType) -> Value {
    match kind {
        ParameterType::Day => json!({ "type": "string", "format": "date" }),
        ParameterType::Time => json!({ "type": "string", "format": "date-time" }),
        ParameterType::Number(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ParameterType::Choice(words) => json!({ "type": "string", "enum": words }),
        ParameterType::Company => json!({ "type": "string", "pattern": RECORD_REF }),
        ParameterType::Text => json!({ "type": "string" }),
    }
}

/// First members of every report.
const ABOUT: &[Member] = &[
    ("from", "day", "First day."),
    ("to", "day", "The day after the last day."),
    ("interval", "interval", "Length of a period."),
    ("timeZone", "text", "Time zone of the days."),
    ("view", "view", "How movements are counted."),
    ("gapDays", "count", "Longest gap or overlap between two licenses that is bridged, in days."),
    (
        "reactivationWithin",
        "count?",
        "Days within which a returning company counts as a reactivation; null means at any time.",
    ),
    ("now", "time", "The time for which the report is current; nothing in it has changed since."),
    ("baseCurrency", "text?", "The base currency."),
    ("rates", "valuation", "Exchange rates used for the conversion."),
    ("rateDate", "day?", "Day of the constant rates."),
    (
        "missingRates",
        "[MissingRate]",
        "Currencies without a rate; if there are any, nothing is converted.",
    ),
    ("excluded", "[ExcludedLicenses]", "Licenses that the report leaves out, by reason."),
];
/// Members of a report about the past that it is computed from.
const PAST: &[Member] = &[
    ("asOf", "time", "The `asOf` of the request."),
    ("historySince", "time", "The earliest possible `asOf`, if the history is incomplete."),
];
/// Members of a license that ends.
#[rustfmt::skip]
const RENEWAL: &[Member] = &[
    ("license", "id", "Id."), ("company", "id", "Company."), ("product", "text", "Product."), ("currency", "text", "Currency."),
    ("end", "day", "The day after its last day."), ("notice", "day?", "The last day of notice, if it renews automatically."), ("mrr", "money", "MRR."),
    ("outcome", "outcome", "Outcome of the renewal."), ("renewedMrr", "money?", "MRR after the renewal."), ("renewedCurrency", "text?", "Currency of `renewedMrr`, which may differ from that of the license."), ("successor", "id?", "The license that succeeds it."),
];
/// Members of the explanations of forecasts and of renewals besides the line and the companies.
#[rustfmt::skip]
const EXPLAINED: &[Member] = &[
    ("from", "day", "The first day of the period."), ("to", "day", "The day after its last day."), ("currency", "text", "The currency of the amounts."),
    ("amount", "money", "Value of the figure."), ("formula", "text", "The sum of the companies' amounts, in numbers."),
];
/// Members of a company in these explanations besides its licenses.
const EXPLAINED_COMPANY: &[Member] = &[
    ("company", "id", "The company."),
    ("name", "text?", "Name of the company."),
    ("amount", "money", "Amount of the company."),
    ("formula", "text", "The amount as a formula."),
];

#[rustfmt::skip]
const OBJECTS: &[Object] = &[
    ("MissingRate", "A currency without a rate.", &[&[
        ("currency", "text", "The currency."), ("day", "day", "The first day without a rate."),
    ]], &[]),
    ("ExcludedLicenses", "Licenses that a report leaves out, with the reason; only the report of renewals has `no_fixed_period` and `no_end`.", &[&[
        ("reason", "reason", "Reason."), ("licenses", "[id]", "Ids of the first 1,000 licenses."), ("total", "count", "Number of licenses."),
    ]], &[]),
    ("OverdueLicense", "A license past its end, still ongoing and without a successor.", &[&[
        ("license", "id", "Id."), ("company", "id", "Company."), ("end", "day", "The day after its last day."),
        ("currency", "text", "Currency."), ("mrr", "money", "MRR."),
    ]], &[]),
    ("OverlappingLicenses", "Licenses of one company, product and currency that overlap: both count.", &[&[
        ("company", "id", "The company."), ("licenses", "[id]", "The licenses."), ("from", "day", "The first common day."),
        ("to", "day?", "The day after the last common day; null if neither ends."),
    ]], &[]),
    ("MovementRow", "MRR movements of a period.", &[PERIOD, &[
        ("start", "money", "MRR just before the period."), ("new", "money", "MRR of companies that pay for the first time."),
        ("reactivation", "money", "MRR of companies that paid before and came back."), ("expansion", "money", "Increase of MRR of paying companies."),
        ("contraction", "money", "Decrease of MRR of companies that still pay."), ("churn", "money", "MRR of companies that no longer pay."),
        ("negative", "money", "Change of negative amounts."), ("end", "money", "MRR at the end of the period."),
        ("customers", "count", "Companies that pay at the end of the period."), ("newCustomers", "count", "Companies that pay for the first time."),
        ("reactivatedCustomers", "count", "Companies that came back."), ("churnedCustomers", "count", "Companies that no longer pay."),
        ("arpa", "money?", "MRR per customer (ARPA)."), ("asp", "money?", "New MRR per new customer (ASP)."),
        ("overdue", "money", "MRR of licenses that have ended and are still ongoing."), ("overdueLicenses", "count", "Their number."),
    ]], &[&[
        ("fx", "money", "Change caused by dated exchange rates."), ("entering", "money", "MRR of companies that switched to the product."),
        ("leaving", "money", "MRR of companies that switched from the product."),
    ]]),
    ("MovementSeries", "Movements in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[MovementRow]", "The periods."),
    ]], &[]),
    ("MovementSegment", "The movements of a segment.", &[&[
        ("segment", "text?", "Value of the segment; null for companies without a value, and for the rest."), ("isRest", "flag", "Whether this is the rest beyond the largest segments."),
        ("companies", "count", "Number of companies with licenses."), ("currencies", "[MovementSeries]", "Each currency separately."),
        ("converted", "MovementSeries?", "All currencies converted to the base currency."),
    ]], &[]),
    ("MrrReport", "MRR and its movements: `start + fx + new + reactivation + expansion - contraction - churn + negative + entering - leaving = end`.", &[ABOUT, &[
        ("currencies", "[MovementSeries]", "Each currency separately."), ("converted", "MovementSeries?", "All currencies converted to the base currency; null if a rate is missing."),
        ("overdue", "[OverdueLicense]", "The first 1,000 overdue licenses."), ("overdueTotal", "count", "Their number."),
        ("overlaps", "[OverlappingLicenses]", "The first 1,000 pairs of overlapping licenses."), ("overlapsTotal", "count", "Number of pairs."),
    ]], &[PAST, &[("segments", "[MovementSegment]", "With `by`: the largest segments, then the rest."),
        ("closings", "[MonthDifference]", "Closed months, if the report is monthly, covers all companies and products, and has the options of the closings.")]]),
    ("MonthFigures", "MRR movements of a closed month in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("start", "money", "MRR just before the period."),
        ("new", "money", "MRR of companies that pay for the first time."), ("reactivation", "money", "MRR of companies that paid before and came back."),
        ("expansion", "money", "Increase of MRR of paying companies."), ("contraction", "money", "Decrease of MRR of companies that still pay."),
        ("churn", "money", "MRR of companies that no longer pay."), ("negative", "money", "Change of negative amounts."),
        ("end", "money", "MRR at the end of the period."), ("customers", "integer", "Companies that pay at the end of the period."),
    ]], &[]),
    ("Closing", "A closed month.", &[&[
        ("month", "text", "The month."), ("closedAt", "time", "When it was closed."), ("closedBy", "text?", "Id of the token that closed it."),
        ("timeZone", "text", "Time zone of the days."), ("view", "view", "How movements are counted."), ("gapDays", "count", "Longest gap or overlap between two licenses that is bridged, in days."),
        ("reactivationWithin", "count?", "Days within which a returning company counts as a reactivation; null means at any time."), ("rateDate", "day?", "Day of the rates."),
        ("currencies", "[MonthFigures]", "Each currency separately."), ("converted", "MonthFigures?", "All currencies converted to the base currency; null if a rate was missing."),
    ]], &[&[("companies", "[CompanyFigures]", "With `by=company`: the figures of each company."), ("reopened", "[Reopening]", "When and why the month was reopened before, at most the last 100.")]]),
    ("ReopenedMonth", "A month that was reopened, and is not closed again.", &[&[
        ("month", "text", "The month."), ("reopened", "[Reopening]", "When and why it was reopened, at most the last 100."),
    ]], &[]),
    ("Reopening", "A reopening of a closed month.", &[&[
        ("at", "time", "When it was reopened."), ("by", "text?", "Id of the token that reopened it."), ("reason", "text", "Why."),
    ]], &[]),
    ("CompanyFigures", "MRR movements of a company in a closed month.", &[&[
        ("company", "id", "The company."), ("currencies", "[MonthFigures]", "Each currency separately."), ("converted", "MonthFigures?", "All currencies converted to the base currency; null if a rate was missing."),
    ]], &[]),
    ("CompanyDifference", "Changes of a company in a closed month.", &[&[
        ("company", "id", "The company."), ("currencies", "[ClosedDifference]", "Each currency separately."),
    ]], &[]),
    ("ClosedDifference", "The closed figures of a month, and the difference of the current ones.", &[&[
        ("currency", "text", "The currency of the amounts."), ("closed", "MonthFigures", "The closed figures."),
        ("difference", "MonthFigures", "Current figures minus closed figures."),
    ]], &[]),
    ("MonthDifference", "Changes of a month since it was closed.", &[&[
        ("month", "text", "The month."), ("closedAt", "time", "When it was closed."), ("currencies", "[ClosedDifference]", "Each currency separately."),
        ("converted", "ClosedDifference?", "All currencies converted to the base currency; null if the report uses rates of another day."),
        ("companies", "[CompanyDifference]", "Companies whose figures differ, at most 100: the largest difference in the base currency first, then currencies without a rate."), ("companyCount", "count", "Their number."),
        ("changedLicenses", "[id]", "Licenses of the month and of these companies that were changed, created or deleted since, at most 100."),
        ("changedLicenseCount", "count", "Their number."),
        ("ratesChanged", "flag", "Whether exchange rates of the month were changed since, so that it is converted differently."),
        ("timeZoneChanged", "flag", "Whether the time zone of the tenant was changed since, in whose days licenses begin and end."),
    ]], &[]),
    ("RetentionRow", "Retention of a period. A ratio with the denominator 0 is null.", &[PERIOD, &[
        ("base", "money", "MRR at the start."), ("kept", "money", "MRR retained, without expansion: the numerator of GRR."),
        ("retained", "money", "MRR of the same companies at the end: the numerator of NRR."), ("customers", "count", "Companies that pay at the start."),
        ("lostCustomers", "count", "Companies of these that do not pay at the end."), ("grr", "money?", "Gross revenue retention (GRR)."), ("nrr", "money?", "Net revenue retention (NRR)."),
        ("grossMrrChurn", "money?", "Gross MRR churn."), ("netMrrChurn", "money?", "Net MRR churn."), ("logoChurn", "money?", "Logo churn."),
        ("quickRatio", "money?", "MRR gained for each unit of MRR lost."),
    ]], &[]),
    ("RetentionSeries", "Retention in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[RetentionRow]", "The periods."),
        ("trailingYear", "[RetentionRow]", "The 12 months that end with each period."), ("span", "RetentionRow", "The whole report."),
    ]], &[]),
    ("RetentionFormulas", "Formulas of the ratios.", &[&[
        ("grr", "text", "Gross revenue retention (GRR)."), ("nrr", "text", "Net revenue retention (NRR)."), ("grossMrrChurn", "text", "Gross MRR churn."),
        ("netMrrChurn", "text", "Net MRR churn."), ("logoChurn", "text", "Logo churn."), ("quickRatio", "text", "Quick ratio."),
    ]], &[]),
    ("CohortColumn", "A column of a cohort table: the period at whose end MRR is taken.", &[PERIOD, &[
        ("isComplete", "flag", "Whether the period has ended and is not cut by `to`."),
    ]], &[]),
    ("CohortCell", "Retention of a cohort at the end of a period.", &[&[
        ("mrr", "money", "MRR of the cohort."), ("logos", "count", "Paying companies of the cohort."),
        ("share", "money?", "Share of the MRR of the first cell."), ("logoShare", "money?", "Share of the companies of the first cell."),
    ]], &[]),
    ("Cohort", "Companies that first paid in the same period.", &[&[
        ("cohort", "text", "The period."), ("from", "day", "First day."), ("cells", "[CohortCell?]", "One cell per column; null before the cohort begins."),
    ]], &[]),
    ("CohortSeries", "Cohorts in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[Cohort]", "The cohorts."),
    ]], &[]),
    ("Cohorts", "Cohorts: companies by the period of their first payment.", &[ABOUT, &[
        ("columns", "[CohortColumn]", "The columns of the tables."), ("currencies", "[CohortSeries]", "Each currency separately."),
        ("converted", "CohortSeries?", "All currencies converted to the base currency."),
    ]], &[PAST]),
    ("RetentionReport", "Revenue retention and cohorts.", &[ABOUT, &[
        ("formulas", "RetentionFormulas", "Formulas of the ratios."), ("currencies", "[RetentionSeries]", "Each currency separately."),
        ("converted", "RetentionSeries?", "All currencies converted to the base currency; null if a rate is missing."),
        ("cohorts", "Cohorts?", "Cohorts; null if the interval is day or week."),
    ]], &[PAST]),
    ("RenewalRates", "Renewal rates; null if the denominator is 0.", &[&[
        ("gross", "money?", "renewed / base"), ("net", "money?", "(renewed + upgrade) / base"), ("logo", "money?", "companies with a renewed license / companies"),
    ]], &[]),
    ("RenewalRow", "Licenses due in a period: `base = renewed + downgrade + churned + overdue + open`.", &[PERIOD, &[
        ("base", "money", "MRR of the licenses that are due."), ("renewed", "money", "MRR that was renewed, up to the old price."), ("upgrade", "money", "MRR added by renewals above the old price."),
        ("downgrade", "money", "MRR lost by renewals below the old price."), ("churned", "money", "MRR of lost licenses."), ("overdue", "money", "MRR of undecided licenses past their end."),
        ("open", "money", "MRR of undecided licenses before their end."),
        ("notCompared", "count", "Licenses that are renewed in another currency without a rate: they count as renewed at the old price."), ("licenses", "count", "Number of licenses."), ("companies", "count", "Number of companies."),
        ("ofBase", "RenewalRates", "Rates as a share of the base."), ("ofDecided", "RenewalRates", "Rates as a share of the decided part."),
    ]], &[]),
    ("RenewalSeries", "Renewals in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[RenewalRow]", "The periods."),
    ]], &[]),
    ("RenewalLicense", "A license that is due.", &[RENEWAL], &[&[("companyName", "text", "Name of the company, unless it was deleted.")]]),
    ("RenewalsReport", "Renewals and their outcomes.", &[ABOUT, &[
        ("by", "renewalsBy", "Whether a license is due at its end or on its last day of notice."), ("currencies", "[RenewalSeries]", "Each currency separately."),
        ("converted", "RenewalSeries?", "All currencies converted to the base currency; null if a rate is missing."), ("licenses", "[RenewalLicense]", "The first 1,000 licenses that contribute to the figures."), ("licensesTotal", "count", "Their number."),
    ]], &[PAST]),
    ("ForecastScenarios", "An amount in three scenarios.", &[&[
        ("base", "money", "Base scenario."), ("optimistic", "money", "Optimistic scenario."), ("pessimistic", "money", "Pessimistic scenario."),
    ]], &[]),
    ("ForecastRow", "MRR at the end of a period.", &[PERIOD, &[
        ("confirmed", "money", "MRR of licenses that are active at the end of the period."), ("unconfirmed", "ForecastScenarios", "Expected MRR of licenses that have ended by then."), ("total", "ForecastScenarios", "`confirmed` + `unconfirmed`."),
        ("actual", "money?", "Actual MRR, if the period has ended."), ("difference", "money?", "`actual` minus the base scenario."),
    ]], &[]),
    ("ForecastSeries", "A forecast in one currency.", &[&[
        ("currency", "text", "The currency of the amounts."), ("rows", "[ForecastRow]", "The periods."),
    ]], &[]),
    ("ForecastReport", "Forecast of MRR.", &[ABOUT, &[
        ("assumeRenewed", "flag", "Whether all ongoing licenses are assumed to be renewed."), ("currencies", "[ForecastSeries]", "Each currency separately."),
        ("converted", "ForecastSeries?", "All currencies converted to the base currency; null if a rate is missing."),
    ]], &[PAST]),
    ("CustomerAmount", "An amount in a currency.", &[&[
        ("currency", "text", "The currency."), ("mrr", "money", "MRR."),
    ]], &[]),
    ("MrrAtStake", "MRR at stake: `amount = mrr x nearness x points / 100`. It ranks customers for follow-up, and is not a probability.", &[&[
        ("amount", "money", "MRR at stake."), ("mrr", "money", "MRR, including overdue licenses."), ("nearness", "money", "Nearness of the renewal: 1 within 30 days or overdue, 0.2 from 365 days on, 0.3 if there is nothing to renew."),
        ("points", "money", "The sum of the points."), ("basePoints", "money", "Points that every customer has."), ("idlePoints", "money", "Points for inactivity."),
        ("usersPoints", "money", "Points for fewer active users."), ("beatsPoints", "money", "Points for fewer activities."), ("ticketPoints", "money", "Points for open tickets."),
        ("text", "text", "The formula in numbers."),
    ]], &[]),
    ("CustomerLine", "A company with a license that counts.", &[&[
        ("company", "id", "Id."), ("name", "text?", "Name."), ("status", "status", "Customer status."), ("currencies", "[CustomerAmount]", "MRR by currency."),
        ("mrr", "money?", "MRR in the base currency; null if a rate is missing."), ("arr", "money?", "ARR in the base currency; null if a rate is missing."), ("overdue", "money?", "MRR of overdue licenses."),
        ("overdueLicenses", "count", "Their number."), ("nextRenewal", "day?", "End of the next ongoing fixed license."), ("noticeDeadline", "day?", "Last day of notice of that license, if it renews automatically and the day is in the future."),
        ("days", "integer?", "Days to the earlier of the two; negative if overdue."), ("lastActive", "day?", "Last day with activity."), ("activityState", "text?", "Activity state."),
        ("usersActive", "count", "Users active in the last 14 days."), ("usersTrend", "money", "Trend against the 14 days before, from -1 to 1."), ("beats", "count", "Activities of the last 14 days."),
        ("beatTrend", "money", "Trend against the 14 days before, from -1 to 1."), ("openTickets", "count", "Open tickets."), ("atStake", "MrrAtStake?", "MRR at stake; null if the company pays nothing or a rate is missing."),
    ]], &[]),
    ("CustomersReport", "Customers, ordered by MRR at stake.", &[ABOUT, &[
        ("usage", "usage", "`unknown` if the tenant has no activity at all."), ("mostPoints", "money", "Highest possible points."),
        ("excludedCompanies", "[id]", "The first 1,000 companies whose licenses are all excluded; they have no row."), ("excludedCompaniesTotal", "count", "Their number."),
        ("total", "count", "Number of customers on all pages."), ("rows", "[CustomerLine]", "The customers."),
    ]], &[]),
    ("ExplainedLicense", "A license of a company.", &[&[
        ("license", "id", "Id."), ("product", "text", "Product."), ("currency", "text", "Currency."), ("from", "day", "First day."), ("end", "day?", "The day after its last day."),
        ("bridgedEnd", "day?", "The day until which it counts, if a gap or an overlap is bridged."), ("mrr", "money", "MRR."), ("rate", "money?", "Exchange rate of the conversion."),
        ("atStart", "flag", "Whether it counts at the start of the period."), ("atEnd", "flag", "Whether it counts at the end of the period."),
    ]], &[]),
    ("ExplainedCompany", "A company's part of a figure.", &[&[
        ("company", "id", "Id."), ("amount", "money", "Amount of the company."), ("pays", "[money]", "MRR at the start of the period, after each change, and at the end."),
        ("formula", "text", "The amount as a formula."), ("licenses", "[ExplainedLicense]", "Licenses that are active in the period, or overdue."),
    ]], &[]),
    ("Explanation", "The companies and licenses that contribute to a figure.", &[&[
        ("line", "line", "The figure that is explained."), ("from", "day", "The first day of the period."), ("to", "day", "The day after its last day."), ("currency", "text", "The currency of the amounts."),
        ("amount", "money", "Value of the figure, in the view of the report."), ("endPoints", "money", "Value with `view=endPoints`."), ("activities", "money", "Value with `view=activities`."),
        ("formula", "text", "The sum of the companies' amounts, in numbers."), ("companies", "[ExplainedCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
    ("ExpectedLicense", "A license in a forecast.", &[&[
        ("license", "id", "Id."), ("product", "text", "Product."), ("currency", "text", "Currency."), ("from", "day", "First day."), ("end", "day?", "The day after its last day."),
        ("isConfirmed", "flag", "Whether it is active at the end of the period; otherwise it is expected to be renewed."), ("source", "source", "The property that the amount comes from."),
        ("monthly", "money", "MRR that counts."), ("rate", "money?", "Exchange rate of the conversion."), ("amount", "money", "MRR that counts, in the currency of the figure."),
    ]], &[]),
    ("ExpectedCompany", "A company's part of the forecast.", &[EXPLAINED_COMPANY, &[
        ("licenses", "[ExpectedLicense]", "The licenses that contribute to the amount."),
    ]], &[]),
    ("ForecastExplanation", "The companies and licenses that contribute to a figure of the forecast.", &[EXPLAINED, &[
        ("line", "forecastLine", "The figure that is explained."), ("companies", "[ExpectedCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
    ("ExplainedRenewal", "A license that is due, and its part of a figure.", &[RENEWAL, &[
        ("rate", "money?", "Exchange rate of the conversion."), ("amount", "money", "Part of the figure, in its currency."),
    ]], &[]),
    ("RenewingCompany", "A company's part of a figure of the renewals.", &[EXPLAINED_COMPANY, &[
        ("licenses", "[ExplainedRenewal]", "The licenses that contribute to the amount."),
    ]], &[]),
    ("RenewalsExplanation", "The companies and licenses that contribute to a figure of the renewals.", &[EXPLAINED, &[
        ("line", "renewalsLine", "The figure that is explained."), ("companies", "[RenewingCompany]", "The companies, those with the largest amounts first."),
    ]], &[]),
];

/// The request that closes a month.
pub(super) fn new_closing() -> Value {
    let options = ClosingRequest::MEMBERS;
    let options = PARAMETERS.iter().filter(|parameter| options.contains(&parameter.name));
    let mut properties: Map<String, Value> = options
        .map(|option| {
            // Null means that the parameter was not sent.
            let forms = [schema_of_kind(option.kind), json!({ "type": "null" })];
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

/// Schema of a type: `[...]` is a list, and a `?` at the end allows null.
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
        "view" => one_of(MovementView::NAMES),
        "valuation" => one_of(Valuation::NAMES),
        "line" => one_of(ReportLine::NAMES),
        "forecastLine" => one_of(ForecastLine::NAMES),
        "renewalsLine" => one_of(RenewalsLine::NAMES),
        "usageLine" => one_of(UsageLine::NAMES),
        "source" => one_of(ForecastLine::SOURCES),
        "status" => one_of(CustomerPage::STATUSES),
        "usage" => one_of(&["known", "unknown"]),
        "renewalsBy" => one_of(&["end", "notice"]),
        "outcome" => one_of(&["renewed", "churned", "overdue", "open"]),
        "reason" => one_of(&[
            "no_dates",
            "no_money",
            "no_currency",
            "zero_length",
            "amount_too_large",
            "no_fixed_period",
            "no_end",
        ]),
        name => reference(name),
    }
}

/// A report of a license and its successor, at the time of all examples.
pub(super) fn example(gives: BodyKind) -> Option<Value> {
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
    let options: ReportOptions = query.options(at("2026-01-15")?, Zone::UTC, None, None).ok()?;
    let sources = ReportSources {
        ledger: &ledger.ok()?,
        later: None,
        attributes_of: &|_| Vec::new(),
        company_filter: &|_| true,
        name_of: &|_| Some("Example company".to_owned()),
        usage_of: &|_| CustomerUsage::default(),
        has_usage: false,
        closings_of: &|_| Vec::new(),
    };
    serde_json::to_value(report(&query, &options, sources).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_has_a_name_of_its_own() {
        assert_eq!(schemas().len(), OBJECTS.len() + usage::OBJECTS.len());
    }
}
