//! The report of usage in the description: its schemas, and an example that core computes.

use serde_json::Value;
use svctrack_core::{
    revenue::{ReportKind, ReportQuery, UsagePlan},
    usage::Counted,
    value::{ObjectId, Timestamp, Zone},
};

use super::parts::{COMPANY, Member, Object, PERIOD};

/// The last 28 days against the 28 before.
const TREND: &[Member] = &[
    ("recent", "count", "Activities in the last 28 days of the report."),
    ("before", "count", "Activities in the 28 days before."),
    ("trend", "money", "The difference, as a share of the larger of both."),
];

#[rustfmt::skip]
pub(super) const OBJECTS: &[Object] = &[
    ("UsageFormulas", "How each figure of usage is computed.", &[&[
        ("active", "text", "Active in the period."), ("daily", "text", "Active on its last day."), ("weekly", "text", "Active in 7 days."), ("monthly", "text", "Active in 28 days."),
        ("stickiness", "text", "How many of the monthly active are there on a day."), ("dormant", "text", "Active before, and not now."), ("share", "text", "Share of a cohort."), ("trend", "text", "Trend of an action."),
    ]], &[]),
    ("ActiveCounts", "How many were active in a period: `active = new + returning + resurrecting`.", &[&[
        ("active", "count", "Active in the period."), ("new", "count", "Of these, for the first time ever."), ("returning", "count", "Of these, in the period before too."),
        ("resurrecting", "count", "Of these, earlier, but not in the period before."), ("dormant", "count", "Active in the period before, and not in this one."),
        ("daily", "count?", "Active on the last day of the period, today where that is ahead; null where it has not begun."), ("weekly", "count?", "Active in the 7 days that end with it."),
        ("monthly", "count?", "Active in the 28 days that end with it."), ("stickiness", "money?", "The mean of `daily` in these 28 days, divided by `monthly`."),
    ]], &[]),
    ("UsageRow", "Usage in a period.", &[PERIOD, &[
        ("isOver", "flag", "Whether its last day has ended."), ("activities", "count", "Activities in it, without passive ones."), ("occurrences", "count", "The sum of their counts."),
        ("users", "ActiveCounts", "Users who were active."), ("companies", "ActiveCounts", "Companies of whom a user was active."),
    ]], &[]),
    ("RetentionCell", "Those of a cohort who were active in a week.", &[&[
        ("period", "text", "The week."), ("users", "count", "How many."), ("share", "money?", "Their share of the cohort; null where that is empty."), ("isOver", "flag", "Whether the week has ended."),
    ]], &[]),
    ("UsageCohort", "Users who were first active in the same week.", &[&[
        ("cohort", "text", "The week."), ("from", "day", "The Monday with which it begins."), ("users", "count", "How many they are."), ("cells", "[RetentionCell]", "Those active in that week, and in each after it."),
    ]], &[]),
    ("MeanRetention", "All cohorts together, a number of weeks after their first.", &[&[
        ("week", "count", "Weeks since the first."), ("cohorts", "count", "Cohorts whose week has ended."), ("users", "count", "How many users these had."), ("share", "money?", "Share of them who were active in this week."),
    ]], &[]),
    ("UsageRetention", "Users by the week in which they were first active.", &[&[
        ("cohorts", "[UsageCohort]", "The weeks, at most the latest 53."), ("mean", "[MeanRetention]", "All of them together."),
    ]], &[]),
    ("ActionRow", "How often an action was done.", &[&[
        ("action", "text", "What the users did."), ("activities", "count", "Activities in the report."), ("occurrences", "count", "The sum of their counts."), ("users", "count", "How many users did it."),
        ("periods", "[count]", "Activities in each period."),
    ], TREND], &[]),
    ("OtherActions", "Actions that are not listed.", &[&[
        ("activities", "count", "Activities in the report."), ("occurrences", "count", "The sum of their counts."),
    ]], &[]),
    ("ActionTrend", "An action that has lost.", &[&[("action", "text", "What the users did.")], TREND], &[]),
    ("UsageReport", "Who was active, and what they did.", &[&[
        ("from", "day", "First day."), ("to", "day", "The day after the last one."), ("interval", "interval", "What it is divided into."), ("timeZone", "text", "The zone of its days."),
        ("now", "time", "The present as the report sees it."), ("company", "id?", "The only company whose users count."), ("formulas", "UsageFormulas", "How each figure is computed."), ("rows", "[UsageRow]", "The periods."),
        ("retention", "UsageRetention", "Users by the week in which they were first active."), ("actions", "[ActionRow]", "The 50 actions that were done most, those first."), ("otherActions", "OtherActions", "All others together."),
        ("fading", "[ActionTrend]", "The 10 actions that have lost the most activities."),
    ]], &[]),
    ("ExplainedUser", "What a user did.", &[&[
        ("user", "id", "Id of the user."), ("company", "id?", "Their company."), ("firstActive", "day", "The day on which they were first active."), ("days", "count", "On how many days they were active."),
        ("activities", "count", "Their activities; of one who is dormant, in the period before."), ("occurrences", "count", "The sum of their counts."),
    ]], &[]),
    ("UsageExplanation", "The users behind a figure of usage.", &[&[
        ("line", "usageLine", "The figure."), ("from", "day", "The first day of the figure."), ("to", "day", "The day after its last one."), ("action", "text?", "The action that they did; null for any."),
        ("total", "count", "How many users there are."), ("formula", "text", "What makes a user count."), ("users", "[ExplainedUser]", "The users, those with the most activities first, at most 1,000."),
    ]], &[]),
];

/// A report of two activities, at the time of all examples.
pub(super) fn example() -> Option<Value> {
    let days = [("from", "2026-01-01"), ("to", "2026-02-01")];
    let days = days.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = ReportQuery::parse(ReportKind::Usage, &days).ok()?;
    let now = Timestamp::parse("2026-01-15T12:00:00Z")?;
    let options = query.options(now, Zone::UTC, None, None).ok()?;
    let plan = UsagePlan::of(&query, &options).ok()?;
    let mut counting = plan.counting();
    let user = ObjectId::parse("671100000000000000000004")?;
    for date in ["2025-12-09T08:00:00Z", "2026-01-14T09:30:00Z"] {
        let date = Timestamp::parse(date)?;
        counting.add(&Counted::of(user, "Opened report", 1, date, date));
    }
    let company = ObjectId::parse(COMPANY);
    serde_json::to_value(plan.report(&counting.finish(), &|_| company)).ok()
}
