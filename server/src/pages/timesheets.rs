//! Timesheets with their time entries, which somebody approves or returns.

use std::collections::BTreeMap;

use poem::{Request, Response, http::Method};
use serde_json::{Map, Value, json};
use svctrack_core::value::{Timestamp, time::DAY_MS};
use svctrack_web::pages::{
    Problem, TimeEntryLine, TimesheetLine, TimesheetsView, address, timesheets_page,
};

use super::{
    api::{JSON, read},
    by_ids::{by_ids, text},
    forms::{problems_of, sent},
    respond::{html, rejected, see},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs};

/// Timesheets on a page.
const SHOWN: &str = "50";
/// The status that is shown where none is chosen.
const SUBMITTED: &str = "submitted";
/// The statuses of timesheets.
const STATUSES: &[&str] = &[SUBMITTED, "approved", "returned"];

type Record = Map<String, Value>;

/// `GET /app/timesheets`
pub(super) async fn list(mut visit: Visit, request: Request) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let view = view_of(&visit, sent(&pairs, "status")).await?;
    let decided: Option<u32> = sent(&pairs, "decided").parse().ok();
    visit.shell.notice = decided.map(|count| match count {
        1 => "1 timesheet was changed.".to_owned(),
        count => format!("{count} timesheets were changed."),
    });
    Ok(html(timesheets_page(&visit.shell, &view)))
}

/// `POST /app/timesheets`: gives the chosen timesheets a status.
pub(super) async fn decide(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let pairs = visit.form(&mut request).await?;
    let chosen = pairs.iter().filter(|(name, _)| name == "sheet");
    let status = sent(&pairs, "status");
    let items: Vec<Value> = chosen.map(|(_, id)| json!({ "_id": id, "status": status })).collect();
    let problems = match items.len() {
        0 => vec![problem("Choose at least one timesheet.".to_owned())],
        _ => changed(&visit, &items).await?,
    };
    let shown = sent(&pairs, "shown");
    if problems.is_empty() {
        let count = items.len().to_string();
        let query = [("status", shown), ("decided", count.as_str())];
        return Ok(see(&address("/app/timesheets", &[], &query)));
    }
    let view = TimesheetsView { problems, ..view_of(&visit, shown).await? };
    Ok(rejected(timesheets_page(&visit.shell, &view)))
}

/// Changes timesheets in one transaction; returns what was rejected.
async fn changed(visit: &Visit, items: &[Value]) -> Result<Vec<Problem>, Error> {
    let body = Value::Array(items.to_vec());
    let done = visit.api.send(Method::PUT, "/timesheets", &[], &body).await;
    let done = match done.map_err(Error::into_issues) {
        Ok(done) => done,
        Err(Ok(issues)) => return Ok(problems_of(issues)),
        Err(Err(error)) => return Err(error),
    };
    let lists = ["createdErrors", "updatedErrors", "permissionErrors", "validationErrors"];
    let errors = lists.iter().filter_map(|name| done.get(*name)?.as_array()).flatten();
    let message = |error: &Value| error.get("message").and_then(Value::as_str).map(str::to_owned);
    Ok(errors.filter_map(message).map(|text| problem(text.replace('`', ""))).collect())
}

fn problem(message: String) -> Problem {
    Problem { field: String::new(), message }
}

/// The timesheets of a status, those of the earliest period first.
async fn view_of(visit: &Visit, status: &str) -> Result<TimesheetsView, Error> {
    let status = STATUSES.iter().copied().find(|known| *known == status).unwrap_or(SUBMITTED);
    let query = [("status", status), ("sort", "dateFrom"), ("limit", SHOWN), ("count", "true")];
    let response = visit.api.ask(&address("/timesheets", &[], &query), JSON).await?;
    let total = response.headers().get("svctrack-total");
    let total = total.and_then(|total| total.to_str().ok()?.parse().ok()).unwrap_or_default();
    let sheets: Vec<Record> = read(response).await?;
    let ids = sheets.iter().flat_map(entry_ids);
    let select = "date,hours,companyId,description,billable";
    let entries = by_ids(visit, "timeentries", ids, select).await?;
    let companies = entries.values().map(|entry| text(entry, "companyId"));
    let companies = by_ids(visit, "companies", companies, "name").await?;
    let people =
        sheets.iter().flat_map(|sheet| [text(sheet, "assignedId"), text(sheet, "approvedBy")]);
    let people = by_ids(visit, "users", people, "name,email").await?;
    let known = Known { entries, companies, people };
    Ok(TimesheetsView {
        status,
        statuses: STATUSES.to_vec(),
        lines: sheets.iter().map(|sheet| known.line(sheet)).collect(),
        total,
        may_update: visit.api.may("timesheets:update"),
        problems: Vec::new(),
    })
}

fn entry_ids(sheet: &Record) -> impl Iterator<Item = &str> {
    let entries = sheet.get("timeEntries").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_str)
}

/// What timesheets refer to, by id.
struct Known {
    entries: BTreeMap<String, Record>,
    companies: BTreeMap<String, Record>,
    people: BTreeMap<String, Record>,
}

impl Known {
    fn line(&self, sheet: &Record) -> TimesheetLine {
        let entries: Vec<TimeEntryLine> = entry_ids(sheet).map(|id| self.entry(id)).collect();
        TimesheetLine {
            id: text(sheet, "_id").to_owned(),
            status: text(sheet, "status").to_owned(),
            who: self.person(text(sheet, "assignedId")),
            from: day_of(sheet.get("dateFrom")),
            to: day_of(sheet.get("dateTo")),
            hours: entries.iter().map(|entry| entry.hours).sum(),
            entries,
            approved_by: self.person(text(sheet, "approvedBy")),
            approved_at: text(sheet, "dateOfApproval").to_owned(),
        }
    }

    /// A time entry; its id alone where it cannot be read.
    fn entry(&self, id: &str) -> TimeEntryLine {
        let Some(entry) = self.entries.get(id) else {
            return TimeEntryLine { id: id.to_owned(), ..TimeEntryLine::default() };
        };
        let company = self.companies.get(text(entry, "companyId"));
        TimeEntryLine {
            id: id.to_owned(),
            date: text(entry, "date").to_owned(),
            hours: entry.get("hours").and_then(Value::as_f64).unwrap_or_default(),
            company: company.map(|it| text(it, "name")).unwrap_or_default().to_owned(),
            description: text(entry, "description").to_owned(),
            is_billable: entry.get("billable").and_then(Value::as_bool),
        }
    }

    /// The name of a user, else the address, else the id.
    fn person(&self, id: &str) -> String {
        let named =
            |it| [text(it, "name"), text(it, "email")].into_iter().find(|it| !it.is_empty());
        self.people.get(id).and_then(named).unwrap_or(id).to_owned()
    }
}

/// The date of a day since 1970-01-01.
fn day_of(days: Option<&Value>) -> String {
    let Some(days) = days.and_then(Value::as_i64) else { return String::new() };
    let text = Timestamp::from_ms_clamped(days.saturating_mul(DAY_MS)).to_string();
    text.get(..10).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970_are_dates() {
        assert_eq!(day_of(Some(&json!(0))), "1970-01-01");
        assert_eq!(day_of(Some(&json!(20_454))), "2026-01-01");
        assert_eq!(day_of(None), "");
    }
}
