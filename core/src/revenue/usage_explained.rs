//! Users and companies of a figure of the usage report.

use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

use super::{
    calendar::Day,
    chart::{Chart, SeriesMark, drawn},
    hex,
    table::{TableRow, TextTable},
    usage_days::{UsageCell, UsageDays},
    usage_line::UsageLine,
    usage_report::UserCompanyLookup,
};
use crate::{
    usage::{UsageCounts, UserUsage, quarter_begin},
    value::ObjectId,
};

/// Maximum number of users or companies that an explanation lists: about 20 MB of JSON.
const MAX_EXPLAINED: usize = 100_000;
/// Maximum number of bars in a chart.
const MAX_BARS: usize = 20;

/// Users or companies of a figure.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageExplanation {
    /// Figure of the period.
    pub line: UsageLine,
    /// The first day of the figure.
    pub from: Day,
    /// First day after the period.
    pub to: Day,
    /// Action of these users; null for any.
    pub action: Option<String>,
    /// Total number of users, or of companies.
    pub total: usize,
    /// Activities of all of them in the days of the figure; of dormant ones, in the period before.
    pub activities: u64,
    /// Sum of the `count` of these activities.
    pub occurrences: u64,
    /// Condition on which a user or a company counts.
    pub formula: String,
    /// Those that count, the most activities first, at most 100,000.
    #[serde(flatten)]
    pub counted: ExplainedUsage,
}

/// Users or companies of a figure of usage, the most activities first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExplainedUsage {
    /// Users of the figure.
    Users(Vec<ExplainedUser>),
    /// Companies whose users together count as one.
    Companies(Vec<ExplainedCompany>),
}

/// Activities of a user.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUser {
    /// `_id` of the user.
    #[serde(serialize_with = "hex::one")]
    pub user: ObjectId,
    /// `_id` of the user's company.
    #[serde(serialize_with = "hex::some")]
    pub company: Option<ObjectId>,
    /// Activities of the user.
    #[serde(flatten)]
    pub activity: ExplainedActivity,
}

/// Activities of all users of a company.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedCompany {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Number of its users who were active in these days.
    pub users: usize,
    /// Activities of its users.
    #[serde(flatten)]
    pub activity: ExplainedActivity,
}

/// Activities of a user or a company in the days of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedActivity {
    /// Day of the first activity ever.
    pub first_active: Day,
    /// Number of the figure's days with any activity, also with other actions than that of the figure.
    pub days: usize,
    /// Activities in these days; for a dormant user or company, in the period before.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
}

impl UsageDays {
    /// Users or companies of the figure to explain, if there is one.
    pub fn explanation(
        &self,
        counts: &UsageCounts,
        company_of: UserCompanyLookup<'_>,
    ) -> Option<UsageExplanation> {
        let cell = self.cell.as_ref()?;
        let (total, [activities, occurrences], counted) = match cell.is_of_companies {
            false => {
                let people = counts.people.iter();
                let people = people.map(|(user, person)| (*user, company_of(*user), person));
                let (total, sums, users) = self.counted(cell, people);
                let user = |(user, company, activity)| ExplainedUser { user, company, activity };
                (total, sums, ExplainedUsage::Users(users.into_iter().map(user).collect()))
            }
            true => {
                let companies = self.companies(cell, counts, company_of);
                let companies = companies.iter();
                let companies =
                    companies.map(|(company, (users, usage))| (*company, *users, usage));
                let (total, sums, found) = self.counted(cell, companies);
                let company =
                    |(company, users, activity)| ExplainedCompany { company, users, activity };
                (total, sums, ExplainedUsage::Companies(found.into_iter().map(company).collect()))
            }
        };
        let name = cell.line.name();
        let formula = match cell.has_begun {
            true => format!("{name} = {}{} = {total}", self.words(cell), with_action(cell)),
            false => format!("{name} = {total}: the period from {} has not begun", cell.from),
        };
        let UsageCell { line, from, to, action, .. } = cell.clone();
        Some(UsageExplanation {
            line,
            from,
            to,
            action,
            total,
            activities,
            occurrences,
            formula,
            counted,
        })
    }

    /// Those who count in a figure: their number, the sums of their activities and occurrences, and each with what is
    /// known of it, the most activities first.
    fn counted<'u, Rest>(
        &self,
        cell: &UsageCell,
        all: impl Iterator<Item = (ObjectId, Rest, &'u UserUsage)>,
    ) -> (usize, [u64; 2], Vec<(ObjectId, Rest, ExplainedActivity)>) {
        let days = self.days_of(cell);
        let counted = all.filter(|(.., usage)| self.counts_in(cell, usage));
        let explained = |(id, rest, usage): (ObjectId, Rest, &UserUsage)| {
            let activity = ExplainedActivity {
                first_active: self.first_day(usage),
                days: usage.presence.days().filter(|day| days.contains(day)).count(),
                activities: usage.activities,
                occurrences: usage.occurrences,
            };
            (id, rest, activity)
        };
        let mut found: Vec<_> = counted.map(explained).collect();
        let sum = |of: fn(&ExplainedActivity) -> u64| found.iter().map(|(.., it)| of(it)).sum();
        let sums = [sum(|it| it.activities), sum(|it| it.occurrences)];
        found.sort_by_key(|(id, _, activity)| (Reverse(activity.activities), *id));
        let total = found.len();
        found.truncate(MAX_EXPLAINED);
        (total, sums, found)
    }

    /// Activity of each company, with the number of its users who count as active in the days of a figure.
    fn companies(
        &self,
        cell: &UsageCell,
        counts: &UsageCounts,
        company_of: UserCompanyLookup<'_>,
    ) -> BTreeMap<ObjectId, (usize, UserUsage)> {
        let days = self.days_of(cell);
        let mut companies: BTreeMap<ObjectId, (usize, UserUsage)> = BTreeMap::new();
        for (user, person) in &counts.people {
            let Some(company) = company_of(*user) else { continue };
            let (users, usage) = companies.entry(company).or_default();
            let is_active = match cell.action {
                Some(_) => person.activities > 0,
                None => person.presence.is_in(&days),
            };
            *users += usize::from(is_active);
            usage.presence.join(&person.presence);
            usage.activities += person.activities;
            usage.occurrences += person.occurrences;
        }
        companies
    }

    /// Places of the days whose activities are listed.
    fn days_of(&self, cell: &UsageCell) -> Range<usize> {
        self.places(match cell.line {
            UsageLine::Dormant => cell.before.clone(),
            _ => cell.from..cell.to,
        })
    }

    fn first_day(&self, person: &UserUsage) -> Day {
        Day::at(quarter_begin(person.presence.first.unwrap_or_default()), self.options.zone)
    }

    fn counts_in(&self, cell: &UsageCell, person: &UserUsage) -> bool {
        let presence = &person.presence;
        let first = self.first_day(person);
        let is_new = cell.from <= first && first < cell.to;
        let is_active = presence.is_in(&self.places(cell.from..cell.to));
        let was_active = presence.is_in(&self.places(cell.before.clone()));
        let is_of_line = match cell.line {
            UsageLine::New => is_active && is_new,
            UsageLine::Returning => is_active && was_active,
            UsageLine::Resurrecting => is_active && !was_active && !is_new,
            UsageLine::Dormant => was_active && !is_active,
            _ => is_active,
        };
        let is_of_cohort = cell.cohort.is_none_or(|(from, to)| from <= first && first < to);
        cell.has_begun
            && is_of_line
            && is_of_cohort
            && (cell.action.is_none() || person.activities > 0)
    }

    /// Condition on which a user or a company counts, as text.
    fn words(&self, cell: &UsageCell) -> String {
        let UsageCell { from, to, before: Range { start: before, end }, .. } = cell;
        let who = if cell.is_of_companies { "companies" } else { "users" };
        let active = format!("{who} active from {from} to before {to}");
        let since = cell.cohort.map(|(from, _)| format!(", first active in the week from {from}"));
        // The period before a cut one ends earlier than that begins.
        let until = if end == from { String::new() } else { format!(" to before {end}") };
        let rest = match cell.line {
            UsageLine::New => " for the first time".to_owned(),
            UsageLine::Returning => format!(" and from {before}{until}"),
            UsageLine::Resurrecting => format!(" and earlier, but not from {before}{until}"),
            UsageLine::Dormant => {
                let active = format!(
                    "{who} active from {before} to before {end}, but not from {from} to before {to}"
                );
                return active + &since.unwrap_or_default();
            }
            _ => String::new(),
        };
        active + &rest + &since.unwrap_or_default()
    }
}

fn with_action(cell: &UsageCell) -> String {
    let who = if cell.is_of_companies { "whose users" } else { "who" };
    cell.action.as_ref().map(|action| format!(", {who} did {action}")).unwrap_or_default()
}

impl ExplainedActivity {
    /// Adds the columns to a row.
    fn row(&self, row: TableRow) -> TableRow {
        let Self { first_active, days, activities, occurrences } = self;
        row.text(first_active).text(days).text(activities).text(occurrences)
    }
}

impl UsageExplanation {
    /// The users or companies as text.
    pub(super) fn table(&self) -> TextTable {
        const ACTIVITY: [&str; 4] = ["firstActive", "days", "activities", "occurrences"];
        let with = |names: [&'static str; 2]| TextTable::new(names.into_iter().chain(ACTIVITY));
        match &self.counted {
            ExplainedUsage::Users(users) => {
                let mut table = with(["user", "company"]);
                for ExplainedUser { user, company, activity } in users {
                    table.push(activity.row(TableRow::default().text(user).option(*company)));
                }
                table
            }
            ExplainedUsage::Companies(companies) => {
                let mut table = with(["company", "users"]);
                for ExplainedCompany { company, users, activity } in companies {
                    table.push(activity.row(TableRow::default().text(company).text(users)));
                }
                table
            }
        }
    }

    pub(super) fn chart(&self) -> Chart {
        let (who, bars): (&str, Vec<(ObjectId, u64)>) = match &self.counted {
            ExplainedUsage::Users(users) => {
                let bars = users.iter().map(|it| (it.user, it.activity.activities));
                ("users", bars.take(MAX_BARS).collect())
            }
            ExplainedUsage::Companies(companies) => {
                let bars = companies.iter().map(|it| (it.company, it.activity.activities));
                ("companies", bars.take(MAX_BARS).collect())
            }
        };
        let series = drawn("activities", SeriesMark::Bars, &bars, |(_, activities)| {
            Some(rust_decimal::Decimal::from(*activities).into())
        });
        Chart {
            title: format!("Activities of {who}, {}", self.line.name()),
            description: format!("{}.", self.formula),
            labels: bars.iter().map(|(id, _)| id.to_string()).collect(),
            panels: vec![vec![series]],
            is_ranking: true,
            ..Chart::default()
        }
    }
}
