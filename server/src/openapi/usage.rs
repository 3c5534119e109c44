//! The usage report in the API description: its schemas, and an example that core computes.

use serde_json::Value;
use svctrack_core::{
    revenue::{ReportKind, ReportQuery, UsageDays},
    usage::CountedActivity,
    value::{ObjectId, Timestamp, Zone},
};

use super::parts::{COMPANY, Member, Object, PERIOD};

/// The last 28 days against the 28 before.
const TREND: &[Member] = &[
    ("recent", "count", "Activities in the last 28 days of the report."),
    ("before", "count", "Activities in the 28 days before."),
    ("trend", "money", "(`recent` - `before`) / the larger of the two."),
];

/// Activities that an explanation lists.
const ACTIVITY: &[Member] = &[
    ("firstActive", "day", "Day of the first activity ever."),
    (
        "days",
        "count",
        "Days of the figure with any activity, also with other actions than `action`.",
    ),
    ("activities", "count", "Activities in these days; for `dormant`, in the period before."),
    ("occurrences", "count", "Sum of their `count`."),
];

#[rustfmt::skip]
pub(super) const OBJECTS: &[Object] = &[
    ("UsageFormulas", "Definitions of the figures.", &[&[
        ("active", "text", "Active in the period."), ("daily", "text", "Active on the last day of the period (DAU)."), ("weekly", "text", "Active in the last 7 days (WAU)."), ("monthly", "text", "Active in the last 28 days (MAU)."),
        ("stickiness", "text", "Average DAU / MAU."), ("dormant", "text", "Active in the period before, but not in this one."), ("share", "text", "Share of a cohort."), ("trend", "text", "Trend of an action."),
    ]], &[]),
    ("ActiveCounts", "Active users or companies of a period: `active = new + returning + resurrecting`.", &[&[
        ("active", "count", "Active in the period."), ("new", "count", "Active in the period, and never before."), ("returning", "count", "Active in the period and in the one before."),
        ("resurrecting", "count", "Active in the period and earlier, but not in the period before."), ("dormant", "count", "Active in the period before, but not in this one."),
        ("daily", "count?", "Active on the last day of the period, or today if it has not ended (DAU); null if it has not begun."), ("weekly", "count?", "Active in the last 7 days of the period (WAU)."),
        ("monthly", "count?", "Active in the last 28 days of the period (MAU)."), ("stickiness", "money?", "Average `daily` of these 28 days / `monthly`."),
    ]], &[]),
    ("UsageRow", "Usage in a period.", &[PERIOD, &[
        ("isOver", "flag", "Whether the period has ended."), ("activities", "count", "Activities in the period, without passive ones."), ("occurrences", "count", "Sum of their `count`."),
        ("users", "ActiveCounts", "Active users."), ("companies", "ActiveCounts", "Companies with active users."),
    ]], &[]),
    ("RetentionCell", "Active users of a cohort in a week.", &[&[
        ("period", "text", "The week."), ("users", "count", "Number of active users."), ("share", "money?", "Share of the cohort; null if the cohort is empty."), ("isOver", "flag", "Whether the week has ended."),
    ]], &[]),
    ("UsageCohort", "Users who were first active in the same week.", &[&[
        ("cohort", "text", "The week."), ("from", "day", "Its Monday."), ("users", "count", "Number of users."), ("cells", "[RetentionCell]", "One cell per week, from the first week on."),
    ]], &[]),
    ("MeanRetention", "All cohorts together, by weeks since the first week.", &[&[
        ("week", "count", "Weeks since the first week."), ("cohorts", "count", "Number of cohorts whose week has ended."), ("users", "count", "Number of their users."), ("share", "money?", "Share of the users who were active."),
    ]], &[]),
    ("UsageRetention", "User retention by the week of first activity.", &[&[
        ("cohorts", "[UsageCohort]", "Cohorts of the latest 53 weeks at most."), ("mean", "[MeanRetention]", "All cohorts together."),
    ]], &[]),
    ("ActionRow", "Counts of an action.", &[&[
        ("action", "text", "Name of the action."), ("activities", "count", "Activities in the report."), ("occurrences", "count", "Sum of their `count`."), ("users", "count", "Number of users."),
        ("periods", "[count]", "Activities in each period."),
    ], TREND], &[]),
    ("OtherActions", "Sum of the actions that are not listed.", &[&[
        ("activities", "count", "Activities in the report."), ("occurrences", "count", "Sum of their `count`."),
    ]], &[]),
    ("ActionTrend", "An action with fewer activities than before.", &[&[("action", "text", "Name of the action.")], TREND], &[]),
    ("UsageReport", "Active users and companies, user retention and actions.", &[&[
        ("from", "day", "First day."), ("to", "day", "The day after the last day."), ("interval", "interval", "Length of a period."), ("timeZone", "text", "Time zone of the days."),
        ("now", "time", "The time for which the report is current."), ("company", "id?", "The company that the report is limited to."), ("formulas", "UsageFormulas", "Definitions of the figures."), ("rows", "[UsageRow]", "The periods."),
        ("retention", "UsageRetention", "User retention by the week of first activity."), ("actions", "[ActionRow]", "The 50 most frequent actions."), ("otherActions", "OtherActions", "Sum of all other actions."),
        ("fading", "[ActionTrend]", "The 10 actions that lost the most activities."),
    ]], &[]),
    ("ExplainedUser", "A user that a figure counts.", &[&[
        ("user", "id", "Id of the user."), ("company", "id?", "Company of the user."),
    ], ACTIVITY], &[]),
    ("ActiveCompany", "A company that a figure counts.", &[&[
        ("company", "id", "Id of the company."), ("users", "count", "Number of its users who were active in these days; for `dormant`, in the period before."),
    ], ACTIVITY], &[]),
    ("UsageExplanation", "The users or companies that a figure of usage counts.", &[&[
        ("line", "usageLine", "The figure."), ("from", "day", "The first day of the figure."), ("to", "day", "The day after its last day."), ("action", "text?", "The action that users and companies are limited to; null for any."),
        ("total", "count", "Number of users or companies."), ("activities", "count", "Activities of all of them in the days of the figure; for `dormant`, in the period before."), ("occurrences", "count", "Sum of their `count`."),
        ("formula", "text", "Definition of the figure, with its value."),
    ]], &[&[("users", "[ExplainedUser]", "At most 100,000 users, those with the most activities first; absent with `list=companies`."),
        ("companies", "[ActiveCompany]", "With `list=companies`: at most 100,000 companies, those with the most activities first.")]]),
];

/// A report of two activities, at the time of all examples.
pub(super) fn example() -> Option<Value> {
    let days = [("from", "2026-01-01"), ("to", "2026-02-01")];
    let days = days.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = ReportQuery::parse(ReportKind::Usage, &days).ok()?;
    let now = Timestamp::parse("2026-01-15T12:00:00Z")?;
    let options = query.options(now, Zone::UTC, None, None).ok()?;
    let plan = UsageDays::from_query(&query, &options).ok()?;
    let mut counting = plan.counting();
    let user = ObjectId::parse("671100000000000000000004")?;
    for date in ["2025-12-09T08:00:00Z", "2026-01-14T09:30:00Z"] {
        let date = Timestamp::parse(date)?;
        counting.add(&CountedActivity::new(user, "Opened report", 1, date, date));
    }
    let company = ObjectId::parse(COMPANY);
    serde_json::to_value(plan.report(&counting.finish(), &|_| company)).ok()
}
