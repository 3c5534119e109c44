//! Users of a figure of the usage report.

use std::{cmp::Reverse, ops::Range};

use super::{
    calendar::Day,
    capped_list::MAX_LISTED,
    chart::{Chart, SeriesMark, drawn},
    hex,
    table::{TableRow, TextTable},
    usage_line::UsageLine,
    usage_plan::{UsageCell, UsagePlan},
    usage_report::UserCompanyLookup,
};
use crate::{
    usage::{UsageCounts, UserUsage, quarter_begin},
    value::ObjectId,
};

/// Maximum number of bars in a chart.
const MAX_BARS: usize = 20;

/// Users of a figure.
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
    /// Total number of users.
    pub total: usize,
    /// Condition on which a user counts.
    pub formula: String,
    /// Users, the most activities first, at most 1,000.
    pub users: Vec<ExplainedUser>,
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
    /// Day on which the user was first active.
    pub first_active: Day,
    /// Number of the figure's days on which the user was active.
    pub days: usize,
    /// Activities in these days; for a dormant user, in the period before.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
}

impl UsagePlan {
    /// Users of the figure to explain, if there is one.
    pub fn explanation(
        &self,
        counts: &UsageCounts,
        company_of: UserCompanyLookup<'_>,
    ) -> Option<UsageExplanation> {
        let cell = self.cell.as_ref()?;
        let days = self.places(match cell.line {
            UsageLine::Dormant => cell.before.clone(),
            _ => cell.from..cell.to,
        });
        let user = |(user, person): &(ObjectId, UserUsage)| ExplainedUser {
            user: *user,
            company: company_of(*user),
            first_active: self.first_day(person),
            days: person.presence.days().filter(|day| days.contains(day)).count(),
            activities: person.activities,
            occurrences: person.occurrences,
        };
        let people = counts.people.iter().filter(|(_, person)| self.counts_in(cell, person));
        let mut users: Vec<ExplainedUser> = people.map(user).collect();
        users.sort_by_key(|user| (Reverse(user.activities), user.user));
        let total = users.len();
        users.truncate(MAX_LISTED);
        let name = cell.line.name();
        let formula = match cell.has_begun {
            true => format!("{name} = {}{} = {total}", self.words(cell), with_action(cell)),
            false => format!("{name} = {total}: the period from {} has not begun", cell.from),
        };
        Some(UsageExplanation {
            line: cell.line,
            from: cell.from,
            to: cell.to,
            action: cell.action.clone(),
            total,
            formula,
            users,
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

    /// Condition on which a user counts, as text.
    fn words(&self, cell: &UsageCell) -> String {
        let UsageCell { from, to, before: Range { start: before, end }, .. } = cell;
        let active = format!("users active from {from} to before {to}");
        let since = cell.cohort.map(|(from, _)| format!(", first active in the week from {from}"));
        // The period before a cut one ends earlier than that begins.
        let until = if end == from { String::new() } else { format!(" to before {end}") };
        let rest = match cell.line {
            UsageLine::New => " for the first time".to_owned(),
            UsageLine::Returning => format!(" and from {before}{until}"),
            UsageLine::Resurrecting => format!(" and earlier, but not from {before}{until}"),
            UsageLine::Dormant => {
                let active = format!(
                    "users active from {before} to before {end}, but not from {from} to before {to}"
                );
                return active + &since.unwrap_or_default();
            }
            _ => String::new(),
        };
        active + &rest + &since.unwrap_or_default()
    }
}

fn with_action(cell: &UsageCell) -> String {
    cell.action.as_ref().map(|action| format!(", who did {action}")).unwrap_or_default()
}

impl UsageExplanation {
    /// The users as text.
    pub(super) fn table(&self) -> TextTable {
        let mut table =
            TextTable::new(["user", "company", "firstActive", "days", "activities", "occurrences"]);
        for user in &self.users {
            let row =
                TableRow::default().text(user.user).option(user.company).text(user.first_active);
            table.push(row.text(user.days).text(user.activities).text(user.occurrences));
        }
        table
    }

    pub(super) fn chart(&self) -> Chart {
        let users = self.users.get(..MAX_BARS.min(self.users.len())).unwrap_or_default();
        let bars = drawn("activities", SeriesMark::Bars, users, |user| {
            Some(rust_decimal::Decimal::from(user.activities).into())
        });
        Chart {
            title: format!("Activities of users, {}", self.line.name()),
            description: format!("{}.", self.formula),
            labels: users.iter().map(|user| user.user.to_string()).collect(),
            panels: vec![vec![bars]],
            is_ranking: true,
            ..Chart::default()
        }
    }
}
