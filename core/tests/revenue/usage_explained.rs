//! Explanations of usage against the report: what is listed of a figure is what the report counts.

use svctrack_core::{
    revenue::{
        ActiveCounts, ExplainedUsage, ReportKind, ReportQuery, UsageDays, UsageExplanation,
        UsageLine, UsageReport,
    },
    usage::CountedActivity,
    value::{ObjectId, Timestamp, Zone},
};

const NOW: &str = "2026-03-20T12:00:00Z";
const FROM_TO: [(&str, &str); 2] = [("from", "2026-01-10"), ("to", "2026-04-01")];
/// A day, in milliseconds.
const DAY: i64 = 86_400_000;

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn id(number: u64) -> ObjectId {
    ObjectId::parse(&format!("{number:024x}")).unwrap()
}

/// Every fifth user has no company.
fn company_of(user: ObjectId) -> Option<ObjectId> {
    let number = u64::from_str_radix(&user.to_string(), 16).unwrap();
    (!number.is_multiple_of(5)).then(|| id(1_000 + number % 4))
}

/// Activities of 17 users in 110 days, the same for a seed: user, action, count, and time.
fn activities(seed: u64) -> Vec<(ObjectId, String, u16, Timestamp)> {
    let mut state = seed;
    let mut below = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % limit
    };
    let first = time("2025-12-01T09:00:00Z").as_ms();
    let activity = |_| {
        let days = i64::try_from(below(110)).unwrap();
        let at = Timestamp::from_ms_clamped(first + days * DAY);
        let count = u16::try_from(1 + below(3)).unwrap();
        (id(1 + below(17)), format!("action {}", below(3)), count, at)
    };
    (0..120).map(activity).collect()
}

type Activities = [(ObjectId, String, u16, Timestamp)];

fn plan(interval: &str, more: &[(&str, &str)]) -> UsageDays {
    let of_interval = [("interval", interval)];
    let pairs = FROM_TO.iter().chain(&of_interval).chain(more);
    let pairs: Vec<_> = pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let query = ReportQuery::parse(ReportKind::Usage, &pairs).unwrap();
    let options = query.options(time(NOW), Zone::UTC, None, None).unwrap();
    UsageDays::from_query(&query, &options).unwrap()
}

fn report(interval: &str, all: &Activities) -> UsageReport {
    let plan = plan(interval, &[]);
    let mut counting = plan.counting();
    for (user, action, count, at) in all {
        counting.add(&CountedActivity::new(*user, action, *count, *at, *at));
    }
    plan.report(&counting.finish(), &company_of)
}

fn explained(interval: &str, more: &[(&str, &str)], all: &Activities) -> UsageExplanation {
    let plan = plan(interval, more);
    let mut counting = plan.counting();
    for (user, action, count, at) in all {
        counting.add(&CountedActivity::new(*user, action, *count, *at, *at));
    }
    plan.explanation(&counting.finish(), &company_of).unwrap()
}

/// Checks that the list and the sums agree; returns the number of the listed.
fn checked(explained: &UsageExplanation) -> u64 {
    let activity: Vec<_> = match &explained.counted {
        ExplainedUsage::Users(users) => users.iter().map(|it| it.activity).collect(),
        ExplainedUsage::Companies(companies) => {
            assert!(companies.iter().all(|it| it.users > 0), "{explained:?}");
            companies.iter().map(|it| it.activity).collect()
        }
    };
    assert_eq!(activity.len(), explained.total);
    assert!(activity.is_sorted_by(|one, next| one.activities >= next.activities));
    assert_eq!(activity.iter().map(|it| it.activities).sum::<u64>(), explained.activities);
    assert_eq!(activity.iter().map(|it| it.occurrences).sum::<u64>(), explained.occurrences);
    assert!(activity.iter().all(|it| it.days > 0 && it.activities > 0), "{explained:?}");
    assert!(explained.formula.ends_with(&format!("= {}", explained.total)));
    explained.total.try_into().unwrap()
}

fn figure(counts: &ActiveCounts, line: &str) -> Option<u64> {
    match line {
        "active" => Some(counts.active),
        "new" => Some(counts.new),
        "returning" => Some(counts.returning),
        "resurrecting" => Some(counts.resurrecting),
        "dormant" => Some(counts.dormant),
        "daily" => counts.daily,
        "weekly" => counts.weekly,
        "monthly" => counts.monthly,
        _ => None,
    }
}

#[test]
fn the_users_and_companies_of_a_figure_are_as_many_as_the_report_counts() {
    for (seed, interval) in [(1, "week"), (2, "month"), (3, "week"), (4, "month")] {
        let all = activities(seed);
        for row in report(interval, &all).rows.iter().filter(|row| row.users.daily.is_some()) {
            for line in UsageLine::NAMES.iter().filter(|line| **line != "kept") {
                let asked = [("explain", *line), ("period", row.period.period.as_str())];
                let users = explained(interval, &asked, &all);
                assert_eq!(Some(checked(&users)), figure(&row.users, line), "{line} {asked:?}");
                if *line == "active" {
                    let sums = (users.activities, users.occurrences);
                    assert_eq!(sums, (row.activities, row.occurrences), "{asked:?}");
                }
                let asked = [&asked[..], &[("list", "companies")]].concat();
                let companies = explained(interval, &asked, &all);
                let expect = figure(&row.companies, line);
                assert_eq!(Some(checked(&companies)), expect, "{line} {asked:?}");
            }
        }
    }
}

#[test]
fn the_activities_of_an_action_and_the_users_of_a_cohort_are_those_of_the_report() {
    let all = activities(7);
    let found = report("month", &all);
    for action in &found.actions {
        for (row, activities) in found.rows.iter().zip(&action.periods) {
            let period = row.period.period.as_str();
            let asked = [("explain", "active"), ("period", period), ("action", &action.action)];
            let users = explained("month", &asked, &all);
            checked(&users);
            assert_eq!(users.activities, *activities, "{asked:?}");
        }
        let asked = [("explain", "active"), ("action", action.action.as_str())];
        let users = explained("month", &asked, &all);
        let sums = (checked(&users), users.activities, users.occurrences);
        assert_eq!(sums, (action.users, action.activities, action.occurrences), "{asked:?}");
    }
    for cohort in &found.retention.cohorts {
        for cell in &cohort.cells {
            let name = cohort.cohort.as_str();
            let asked = [("explain", "kept"), ("cohort", name), ("period", &cell.period)];
            assert_eq!(checked(&explained("month", &asked, &all)), cell.users, "{asked:?}");
        }
    }
}
