//! The report of usage: active users and companies by period, user retention, and actions.

use std::{cmp::Reverse, collections::BTreeMap};

use rust_decimal::Decimal;

use super::{
    calendar::{Day, Interval, ReportPeriod},
    hex,
    money_units::ratio,
    report_header::text,
    table::{TableRow, TextTable},
    usage_days::{MONTH, UsageDays, WEEK},
};
use crate::{
    usage::{ActionCounts, Lifecycle, Presence, UsageCounts, cohorts, lifecycles, trailing},
    value::{Number, ObjectId, Timestamp},
};

/// Maximum number of actions that are listed by name: the most frequent ones.
const MAX_LISTED_ACTIONS: usize = 50;
/// Maximum number of actions that are listed as fading.
const MAX_FADING: usize = 10;

/// Company of a user, if they have one.
pub type UserCompanyLookup<'c> = &'c dyn Fn(ObjectId) -> Option<ObjectId>;

/// Usage of the product.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// First day of the report.
    pub from: Day,
    /// First day after the report.
    pub to: Day,
    /// Length of the intervals.
    pub interval: Interval,
    /// Time zone of the days.
    pub time_zone: &'static str,
    /// Time that counts as the present.
    #[serde(serialize_with = "text::serialize")]
    pub now: Timestamp,
    /// Only company whose users count; null for all.
    #[serde(serialize_with = "hex::some")]
    pub company: Option<ObjectId>,
    /// Formula of each figure.
    pub formulas: UsageFormulas,
    /// The figures of each period.
    pub rows: Vec<UsageRow>,
    /// Users by the week in which they were first active.
    pub retention: UsageRetention,
    /// Actions, the most frequent first.
    pub actions: Vec<ActionRow>,
    /// Totals of all other actions.
    pub other_actions: OtherActions,
    /// The actions that have lost the most.
    pub fading: Vec<ActionTrend>,
}

/// The figures of a period.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// Name and days of the period.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// Whether the last day of the period has ended.
    pub is_over: bool,
    /// Activities of the period, without passive ones.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
    /// Active users of the period.
    pub users: ActiveCounts,
    /// Companies with an active user.
    pub companies: ActiveCounts,
}

/// Numbers of active users or companies.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveCounts {
    /// On any day of the period.
    pub active: u64,
    /// Active in the period for the first time ever.
    pub new: u64,
    /// Active in the period and in the period before.
    pub returning: u64,
    /// Active in the period and earlier, but not in the period before.
    pub resurrecting: u64,
    /// Active in the period before, and not in this one.
    pub dormant: u64,
    /// Active on the last day of the period, today where that is ahead; null where the period has not begun.
    pub daily: Option<u64>,
    /// Active in the 7 days that end with this day.
    pub weekly: Option<u64>,
    /// Active in the 28 days that end with this day.
    pub monthly: Option<u64>,
    /// Mean of `daily` in these 28 days, divided by `monthly`.
    pub stickiness: Option<Number>,
}

/// Users by the week in which they were first active.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRetention {
    /// The weeks, at most the latest 53.
    pub cohorts: Vec<UsageCohort>,
    /// All cohorts together, by weeks since the first.
    pub mean: Vec<MeanRetention>,
}

/// Users who were first active in a week.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageCohort {
    /// Name of the cohort, such as `2026-W05`.
    pub cohort: String,
    /// Monday with which the cohort begins.
    pub from: Day,
    /// The number of users in the cohort.
    pub users: u64,
    /// Users of the cohort who were active in that week, and in each after it.
    pub cells: Vec<RetentionCell>,
}

/// Users of a cohort who were active in a week.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionCell {
    /// Name of the week, such as `2026-W06`.
    pub period: String,
    /// Number of users who were active.
    pub users: u64,
    /// Share of the cohort; null where the cohort is empty.
    pub share: Option<Number>,
    /// Whether the week has ended.
    pub is_over: bool,
}

/// All cohorts together, a number of weeks after their first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeanRetention {
    /// Weeks since the first.
    pub week: usize,
    /// Cohorts whose week has ended.
    pub cohorts: usize,
    /// Number of users in the first week of these cohorts.
    pub users: u64,
    /// Share of the users who were active in this week.
    pub share: Option<Number>,
}

/// An action of the usage report, with its frequency and its trend.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionRow {
    /// Action of the users.
    pub action: String,
    /// Activities in the report.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
    /// Number of users with the action.
    pub users: u64,
    /// Activities in each period.
    pub periods: Vec<u64>,
    /// The last 28 days against the 28 before.
    #[serde(flatten)]
    pub trend: Trend,
}

/// An action of the usage report that occurs less often than before.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionTrend {
    /// Action of the users.
    pub action: String,
    /// The last 28 days against the 28 before.
    #[serde(flatten)]
    pub trend: Trend,
}

/// The last 28 days against the 28 before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trend {
    /// Activities in the last 28 days of the report.
    pub recent: u64,
    /// Activities in the 28 days before.
    pub before: u64,
    /// The difference, as a share of the larger of both (R52).
    pub trend: Number,
}

/// Totals of actions that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherActions {
    /// Activities in the report.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
}

/// Formula of each figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageFormulas {
    active: &'static str,
    daily: &'static str,
    weekly: &'static str,
    monthly: &'static str,
    stickiness: &'static str,
    dormant: &'static str,
    share: &'static str,
    trend: &'static str,
}

const FORMULAS: UsageFormulas = UsageFormulas {
    active: "new + returning + resurrecting",
    daily: "active on the last day of the period",
    weekly: "active in the 7 days that end with the period",
    monthly: "active in the 28 days that end with the period",
    stickiness: "sum of daily in 28 days / 28 / monthly",
    dormant: "active of the period before - returning",
    share: "active in the week / active in the first week",
    trend: "(recent - before) / max(recent, before)",
};

impl UsageDays {
    /// Report of what was counted.
    pub fn report(&self, counts: &UsageCounts, company_of: UserCompanyLookup<'_>) -> UsageReport {
        let options = &self.options;
        let users: Vec<&Presence> =
            counts.people.iter().map(|(_, person)| &person.presence).collect();
        let mut companies: BTreeMap<ObjectId, Presence> = BTreeMap::new();
        for (user, person) in &counts.people {
            if let Some(company) = company_of(*user) {
                companies.entry(company).or_default().join(&person.presence);
            }
        }
        let companies: Vec<&Presence> = companies.values().collect();
        let of_users = self.active_counts(counts, &users);
        let of_companies = self.active_counts(counts, &companies);
        let activities = |at: usize| -> u64 {
            let all = counts.actions.iter().map(|(_, counts)| counts).chain([&counts.others]);
            all.filter_map(|counts| counts.periods.get(at)).sum()
        };
        let rows = self.periods.iter().zip(of_users.into_iter().zip(of_companies)).enumerate();
        let row = |(at, (period, (users, companies))): (usize, (&ReportPeriod, _))| UsageRow {
            period: period.clone(),
            is_over: self.is_over(period),
            activities: activities(at),
            occurrences: counts.occurrences.get(at).copied().unwrap_or_default(),
            users,
            companies,
        };
        let (listed, rest) = counts.actions.split_at(counts.actions.len().min(MAX_LISTED_ACTIONS));
        let others = rest.iter().map(|(_, counts)| counts).chain([&counts.others]);
        let others = others.fold(OtherActions::default(), |sum, counts| OtherActions {
            activities: sum.activities + counts.activities,
            occurrences: sum.occurrences + counts.occurrences,
        });
        UsageReport {
            from: options.from,
            to: options.to,
            interval: options.interval,
            time_zone: options.zone.name(),
            now: options.now,
            company: options.company,
            formulas: FORMULAS,
            rows: rows.map(row).collect(),
            retention: self.retention(counts, &users),
            actions: listed.iter().map(ActionRow::new).collect(),
            other_actions: others,
            fading: fading(counts),
        }
    }

    fn active_counts(&self, counts: &UsageCounts, all: &[&Presence]) -> Vec<ActiveCounts> {
        let days = counts.calendar.len();
        let [daily, weekly, monthly] = trailing(all.iter().copied(), [1, WEEK, MONTH], days);
        let first_day = |quarter| counts.calendar.day_of(quarter);
        let lifecycles = lifecycles(all.iter().copied(), &self.with_before(), first_day);
        let of_period = |(period, lifecycle): (&ReportPeriod, Lifecycle)| {
            let Lifecycle { active, new, returning, resurrecting, dormant } = lifecycle;
            let last = self.last_day(period).map(|day| self.place(day));
            let at = |counts: &[u64]| counts.get(last?).copied();
            let monthly = at(&monthly);
            let sum = last.and_then(|last| daily.get((last + 1).saturating_sub(MONTH)..=last));
            let sum: u64 = sum.unwrap_or_default().iter().sum();
            let days = u64::try_from(MONTH).unwrap_or_default();
            ActiveCounts {
                active,
                new,
                returning,
                resurrecting,
                // No user is dormant in a period that has not begun.
                dormant: last.map_or(0, |_| dormant),
                daily: at(&daily),
                weekly: at(&weekly),
                monthly,
                stickiness: ratio(sum.into(), i128::from(days * monthly.unwrap_or_default())),
            }
        };
        self.periods.iter().zip(lifecycles).map(of_period).collect()
    }

    fn retention(&self, counts: &UsageCounts, users: &[&Presence]) -> UsageRetention {
        let weeks: Vec<_> = self.weeks.iter().map(|week| self.of_period(week)).collect();
        let first_day = |quarter| counts.calendar.day_of(quarter);
        let found = cohorts(users.iter().copied(), &weeks, first_day);
        let is_over =
            |week: &ReportPeriod| self.is_over(week) && Interval::Week.start_of(week.to) == week.to;
        let cohort = |(at, (week, found)): (usize, (&ReportPeriod, &crate::usage::Cohort))| {
            let users = found.kept.first().copied().unwrap_or_default();
            let cell = |(week, kept): (&ReportPeriod, &u64)| RetentionCell {
                period: week.period.clone(),
                users: *kept,
                share: ratio(i128::from(*kept), i128::from(users)),
                is_over: is_over(week),
            };
            let cells = self.weeks.iter().skip(at).zip(&found.kept).map(cell).collect();
            UsageCohort { cohort: week.period.clone(), from: week.from, users, cells }
        };
        let cohorts: Vec<UsageCohort> =
            self.weeks.iter().zip(&found).enumerate().map(cohort).collect();
        let mean = (0..cohorts.len()).map(|week| mean_of(&cohorts, week)).collect();
        UsageRetention { cohorts, mean }
    }
}

fn mean_of(cohorts: &[UsageCohort], week: usize) -> MeanRetention {
    let over: Vec<(u64, u64)> = cohorts
        .iter()
        .filter_map(|cohort| Some((cohort.users, cohort.cells.get(week)?)))
        .filter(|(_, cell)| cell.is_over)
        .map(|(users, cell)| (users, cell.users))
        .collect();
    let users = over.iter().map(|(users, _)| users).sum();
    let kept: u64 = over.iter().map(|(_, kept)| kept).sum();
    let share = ratio(kept.into(), i128::from(users));
    MeanRetention { week, cohorts: over.len(), users, share }
}

impl ActionRow {
    fn new((action, counts): &(String, ActionCounts)) -> Self {
        Self {
            action: action.clone(),
            activities: counts.activities,
            occurrences: counts.occurrences,
            users: counts.users,
            periods: counts.periods.clone(),
            trend: Trend::new(counts),
        }
    }
}

impl Trend {
    fn new(counts: &ActionCounts) -> Self {
        let ActionCounts { recent, before, .. } = *counts;
        let change = Decimal::from(recent) - Decimal::from(before);
        let share = change.checked_div(Decimal::from(recent.max(before))).unwrap_or_default();
        let away = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
        let trend = share.round_dp_with_strategy(4, away).normalize().into();
        Self { recent, before, trend }
    }
}

/// Actions that have lost the most activities, these first.
fn fading(counts: &UsageCounts) -> Vec<ActionTrend> {
    let lost = |(_, counts): &&(String, ActionCounts)| counts.before.saturating_sub(counts.recent);
    let mut fading: Vec<_> = counts.actions.iter().filter(|action| lost(action) > 0).collect();
    fading.sort_by_key(|action| Reverse(lost(action)));
    fading.truncate(MAX_FADING);
    let trend = |(action, counts): &(String, ActionCounts)| ActionTrend {
        action: action.clone(),
        trend: Trend::new(counts),
    };
    fading.into_iter().map(trend).collect()
}

impl UsageReport {
    /// The periods as text.
    pub fn table(&self) -> TextTable {
        let lines_of = |name: &'static str| {
            [
                "Active",
                "New",
                "Returning",
                "Resurrecting",
                "Dormant",
                "Daily",
                "Weekly",
                "Monthly",
                "Stickiness",
            ]
            .map(|figure| format!("{name}{figure}"))
        };
        let names: Vec<String> = ["period", "from", "to", "isOver", "activities", "occurrences"]
            .map(ToOwned::to_owned)
            .into_iter()
            .chain(lines_of("users"))
            .chain(lines_of("companies"))
            .collect();
        let mut table = TextTable::new(names.iter().map(String::as_str));
        for row in &self.rows {
            let cells = TableRow::default().period(&row.period).text(row.is_over);
            let cells = cells.text(row.activities).text(row.occurrences);
            table.push(row.companies.cells(row.users.cells(cells)));
        }
        table
    }

    /// The cohorts as text: a row for each week of each.
    pub fn cohort_table(&self) -> TextTable {
        let mut table = TextTable::new([
            "cohort",
            "from",
            "cohortUsers",
            "period",
            "week",
            "users",
            "share",
            "isOver",
        ]);
        for cohort in &self.retention.cohorts {
            for (week, cell) in cohort.cells.iter().enumerate() {
                let row =
                    TableRow::default().text(&cohort.cohort).text(cohort.from).text(cohort.users);
                let row = row.text(&cell.period).text(week).text(cell.users);
                table.push(row.percent(&[cell.share]).text(cell.is_over));
            }
        }
        table
    }

    /// Actions as text, all others last.
    pub fn action_table(&self) -> TextTable {
        let header = ["action", "activities", "occurrences", "users", "recent", "before", "trend"];
        let periods = self.rows.iter().map(|row| row.period.period.as_str());
        let mut table = TextTable::new(header.into_iter().chain(periods));
        for row in &self.actions {
            let cells =
                TableRow::default().text(&row.action).text(row.activities).text(row.occurrences);
            let cells = cells.text(row.users).text(row.trend.recent).text(row.trend.before);
            let cells = cells.percent(&[Some(row.trend.trend)]);
            table.push(row.periods.iter().fold(cells, |cells, count| cells.text(count)));
        }
        table
    }
}

impl ActiveCounts {
    fn cells(&self, row: TableRow) -> TableRow {
        let row = row.text(self.active).text(self.new).text(self.returning);
        let row = row.text(self.resurrecting).text(self.dormant);
        let row = row.option(self.daily).option(self.weekly).option(self.monthly);
        row.percent(&[self.stickiness])
    }
}
