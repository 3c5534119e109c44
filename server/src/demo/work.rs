//! Work for customers: projects, workspaces, time entries, and a timesheet of each week.

use chrono::{Datelike as _, Days, NaiveDate, Weekday};
use serde_json::{Value, json};

use super::{
    customer::{Company, Size},
    customer_history::MONTHS,
    random::RandomStream,
    records::{self, Staff},
};

const WORKSPACES: [&str; 3] = ["Workspace Sales", "Workspace Finance", "Workspace Operations"];
const TASKS: &[&str] = &[
    "Kick-off",
    "Data model",
    "Import of history",
    "Dashboards",
    "Training",
    "Review with the team",
];
/// Hours of the day that the sixth story is about.
const LONG_HOURS: f64 = 23.0;

/// An onboarding of every customer that is not small.
pub(super) fn projects(market: &[Company]) -> Vec<Value> {
    let project = |company: &Company| {
        json!({
            "externalId": project_key(company), "name": format!("Onboarding {}", company.name),
            "companyId": format!("extid-{}", company.key()),
        })
    };
    with_projects(market).map(project).collect()
}

fn project_key(company: &Company) -> String {
    format!("p-{:03}", company.number)
}

fn with_projects(market: &[Company]) -> impl Iterator<Item = &Company> {
    market.iter().filter(|company| company.size != Size::Small)
}

/// The workspaces of the same customers.
pub(super) fn assets(market: &[Company]) -> Vec<Value> {
    let of_company = |company: &Company| {
        let count = if company.size == Size::Large { 3 } else { 1 };
        let asset = |(name, number): (&str, usize)| {
            json!({
                "externalId": format!("a-{:03}-{number}", company.number), "name": name,
                "companyId": format!("extid-{}", company.key()),
            })
        };
        WORKSPACES.into_iter().zip(1..).take(count).map(asset).collect::<Vec<_>>()
    };
    with_projects(market).flat_map(of_company).collect()
}

/// Time sheet of one person for a week.
pub(super) struct Timesheet {
    who: Staff,
    monday: NaiveDate,
    entries: Vec<Value>,
    /// Decision about the timesheet; none for one that waits.
    pub(super) decision: Option<&'static str>,
}

/// Weeks of those who track time, the earliest first.
pub(super) fn timesheets(market: &[Company], today: NaiveDate) -> Vec<Timesheet> {
    let mut dice = RandomStream::seeded("work");
    let first = today.checked_sub_days(Days::new(u64::from(MONTHS) * 365 / 12)).unwrap_or(today);
    let mondays = first.iter_days().take_while(|day| *day <= today);
    let mut sheets = Vec::new();
    for monday in mondays.filter(|day| day.weekday() == Weekday::Mon) {
        for who in records::staff("consulting") {
            sheets.push(week(market, who, monday, today, &mut dice));
        }
    }
    sheets
}

fn week(
    market: &[Company],
    who: Staff,
    monday: NaiveDate,
    today: NaiveDate,
    dice: &mut RandomStream,
) -> Timesheet {
    let age = (today - monday).num_days();
    let customers: Vec<&Company> =
        with_projects(market).filter(|company| company.is_customer(monday)).collect();
    let is_story = who.0 == "s-08" && (7..14).contains(&age);
    let mut entries = Vec::new();
    for day in monday.iter_days().take(5).filter(|day| *day <= today) {
        let is_long = is_story && day.weekday() == Weekday::Thu;
        let count = if is_long { 1 } else { dice.between(1, 3) };
        for number in 1..=count {
            let at = dice.between(0, customers.len() as i64 - 1).unsigned_abs() as usize;
            let Some(company) = customers.get(at) else { continue };
            let quarters = dice.between(24, 34) / count;
            entries.push(json!({
                "externalId": format!("te-{}-{day}-{number}", who.0), "date": day.to_string(),
                "hours": if is_long { LONG_HOURS } else { quarters as f64 / 4.0 },
                "userId": format!("extid-{}", who.0), "companyId": format!("extid-{}", company.key()),
                "projectId": format!("extid-{}", project_key(company)),
                "description": dice.one_of(TASKS), "billable": dice.chance(0.7),
            }));
        }
    }
    // Timesheets of the last two weeks wait.
    let decision = match age {
        ..14 => None,
        21..28 if who.0 == "s-10" => Some("returned"),
        _ => Some("approved"),
    };
    Timesheet { who, monday, entries, decision }
}

impl Timesheet {
    pub(super) fn entries(&self) -> &[Value] {
        &self.entries
    }

    pub(super) fn stored(&self) -> Value {
        let days = self.monday.to_epoch_days();
        let keys: Vec<String> = self
            .entries
            .iter()
            .filter_map(|entry| Some(format!("extid-{}", entry.get("externalId")?.as_str()?)))
            .collect();
        json!({
            "externalId": format!("ts-{}-{}", self.who.0, self.monday), "assignedModel": "User",
            "assignedId": format!("extid-{}", self.who.0), "dateFrom": days, "dateTo": days + 6,
            "timeEntries": keys,
        })
    }

    /// Decision on the timesheet, under the id that it was stored with.
    pub(super) fn decided(&self, id: &Value) -> Option<Value> {
        let decision = self.decision?;
        let mut decided = json!({ "_id": id, "status": decision });
        if let (Some(fields), "approved") = (decided.as_object_mut(), decision) {
            let day = self.monday.checked_add_days(Days::new(8)).unwrap_or(self.monday);
            fields.insert("approvedBy".to_owned(), json!("extid-s-01"));
            fields.insert("dateOfApproval".to_owned(), json!(day.to_string()));
        }
        Some(decided)
    }
}
