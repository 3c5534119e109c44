//! Timesheets with their time entries, which a user approves or returns.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use poem::{
    Response,
    http::{Method, header},
};
use serde_json::{Map, Value, json};
use svctrack_store::StoreError;
use svctrack_web::pages::{
    Problem, Shell, TimeEntryLine, TimesheetLine, TimesheetsView, UserLink, address, epoch_day,
    timesheets_page,
};

use super::{
    api::{JSON, read},
    by_ids::{by_ids, text},
    paging::{paging, total_of},
    respond::{html, rejected, see},
    submitted_form::{problems_of, sent},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Timesheets on a page.
const SHOWN: usize = 50;
/// Status that is shown by default.
const SUBMITTED: &str = "submitted";
const STATUSES: &[&str] = &[SUBMITTED, "approved", "returned"];

type Record = Map<String, Value>;

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] = &["status", "offset", "decided", "as"];

/// `GET /app/timesheets`
pub(super) async fn list(mut visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let view = view_of(&visit, &pairs).await?;
    let decided = sent(&pairs, "decided").parse().ok();
    visit.shell.notice = decided.map(|decided| notice(decided, sent(&pairs, "as")));
    Ok(html(timesheets_page(&visit.shell, &view)))
}

/// What was done with timesheets that have a status now.
fn notice(decided: usize, status: &str) -> String {
    let done = STATUSES.iter().find(|known| **known == status).unwrap_or(&"changed");
    match decided {
        1 => format!("1 timesheet was {done}."),
        count => format!("{count} timesheets were {done}."),
    }
}

/// `POST /app/timesheets`: sets the status of the chosen timesheets.
pub(super) async fn decide(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let chosen = pairs.iter().filter(|(name, _)| name == "sheet").map(|(_, sheet)| sheet.as_str());
    let chosen: BTreeSet<&str> = chosen.take(SHOWN).collect();
    let status = json!({ "status": sent(&pairs, "status") });
    let (decided, unchanged) = changed(&visit, &chosen, &status).await?;
    if decided > 0 && unchanged.is_empty() {
        let count = decided.to_string();
        let query = [
            ("status", sent(&pairs, "shown")),
            ("offset", sent(&pairs, "offset")),
            ("decided", count.as_str()),
            ("as", sent(&pairs, "status")),
        ];
        return Ok(see(&address("/app/timesheets", &[], &query)));
    }
    let shown = [("status", sent(&pairs, "shown")), ("offset", sent(&pairs, "offset"))];
    let mut view =
        view_of(&visit, &shown.map(|(name, text)| (name.to_owned(), text.to_owned()))).await?;
    view.problems = named(&visit, unchanged).await?;
    if chosen.is_empty() {
        view.problems.push(problem("Select at least one timesheet."));
    }
    let notice = (decided > 0).then(|| notice(decided, sent(&pairs, "status")));
    let shell = Shell { notice, ..visit.shell.clone() };
    Ok(rejected(timesheets_page(&shell, &view)))
}

/// A timesheet that was not changed, and the reason.
struct UnchangedTimesheet<'s> {
    id: &'s str,
    message: String,
}

/// Changes timesheets that are still as they were shown, one at a time; returns how many were changed, and which were
/// not.
async fn changed<'s>(
    visit: &Visit,
    chosen: &BTreeSet<&'s str>,
    body: &Value,
) -> Result<(usize, Vec<UnchangedTimesheet<'s>>), Error> {
    let each = chosen.iter().map(async |sheet| {
        // Id and version, as an `ETag` has them.
        let id = sheet.split('-').next().unwrap_or_default();
        let (path, etag) = (address("/timesheets/{}", &[id], &[]), format!("\"{sheet}\""));
        let headers = [(header::IF_MATCH, etag.as_str())];
        (id, visit.api.send(Method::PUT, &path, &headers, body).await)
    });
    let (mut decided, mut unchanged, mut failed) = (0, Vec::new(), None);
    for (id, done) in join_all(each).await {
        let message = match done.map_err(Error::into_issues) {
            Ok(_) => {
                decided += 1;
                continue;
            }
            Err(Ok(issues)) => {
                let found: Vec<String> =
                    problems_of(issues).into_iter().map(|it| it.message).collect();
                found.join("; ")
            }
            Err(Err(Error::Store(StoreError::NotFound))) => {
                "Somebody has deleted it in the meantime.".to_owned()
            }
            Err(Err(error)) => {
                failed = Some(error);
                continue;
            }
        };
        unchanged.push(UnchangedTimesheet { id, message });
    }
    match failed {
        None => Ok((decided, unchanged)),
        Some(error) if decided == 0 => Err(error),
        Some(error) => {
            let done = format!("{decided} of {} timesheets were changed", chosen.len());
            Err(Error::PartDone(Box::new(error), done))
        }
    }
}

/// Rejected timesheets, each with its owner and its date.
async fn named(
    visit: &Visit,
    unchanged: Vec<UnchangedTimesheet<'_>>,
) -> Result<Vec<Problem>, Error> {
    let ids = unchanged.iter().map(|it| it.id);
    let sheets = by_ids(visit, "timesheets", ids, "assignedId,dateFrom").await?;
    let people = sheets.values().map(|sheet| text(sheet, "assignedId"));
    let people = by_ids(visit, "users", people, "name,email").await?;
    let line = |UnchangedTimesheet { id, message }: UnchangedTimesheet<'_>| {
        let Some(sheet) = sheets.get(id) else { return problem(&format!("{id}: {message}")) };
        let (who, from) =
            (person(&people, text(sheet, "assignedId")), day_of(sheet.get("dateFrom")));
        problem(&format!("{who}, {from}: {message}"))
    };
    Ok(unchanged.into_iter().map(line).collect())
}

fn problem(message: &str) -> Problem {
    Problem { field: String::new(), message: message.to_owned() }
}

/// Timesheets of a status, those of the earliest period first.
async fn view_of(visit: &Visit, pairs: &[(String, String)]) -> Result<TimesheetsView, Error> {
    let status = sent(pairs, "status");
    let status = STATUSES.iter().copied().find(|known| *known == status).unwrap_or(SUBMITTED);
    let mut offset: usize = sent(pairs, "offset").parse().unwrap_or_default();
    let (mut sheets, mut total) = page(visit, status, offset).await?;
    // All timesheets of the last page may have been decided.
    if sheets.is_empty() && offset > 0 {
        offset = 0;
        (sheets, total) = page(visit, status, offset).await?;
    }
    let page_at = |offset: usize| {
        let offset = offset.to_string();
        address("/app/timesheets", &[], &[("status", status), ("offset", &offset)])
    };
    let known = known(visit, &sheets).await?;
    Ok(TimesheetsView {
        status,
        statuses: STATUSES.to_vec(),
        lines: sheets.iter().map(|sheet| known.line(sheet)).collect(),
        offset,
        paging: paging((offset, SHOWN), (sheets.len(), total), page_at),
        may_update: visit.api.may("timesheets:update"),
        problems: Vec::new(),
    })
}

/// Timesheets from an offset on, and their total number.
async fn page(
    visit: &Visit,
    status: &str,
    offset: usize,
) -> Result<(Vec<Record>, Option<u64>), Error> {
    let (limit, offset) = (SHOWN.to_string(), offset.to_string());
    let query = [
        ("status", status),
        ("sort", "dateFrom"),
        ("limit", limit.as_str()),
        ("offset", offset.as_str()),
        ("count", "true"),
    ];
    let response = visit.api.ask(&address("/timesheets", &[], &query), JSON).await?;
    let total = total_of(&response);
    Ok((read(response).await?, total))
}

/// Records that timesheets refer to.
async fn known(visit: &Visit, sheets: &[Record]) -> Result<ReferencedRecords, Error> {
    let ids = sheets.iter().flat_map(entry_ids);
    let select = "date,hours,companyId,description,billable";
    let entries = by_ids(visit, "timeentries", ids, select).await?;
    let companies = entries.values().map(|entry| text(entry, "companyId"));
    let companies = by_ids(visit, "companies", companies, "name").await?;
    let people =
        sheets.iter().flat_map(|sheet| [text(sheet, "assignedId"), text(sheet, "approvedBy")]);
    let people = by_ids(visit, "users", people, "name,email").await?;
    Ok(ReferencedRecords { entries, companies, people })
}

fn entry_ids(sheet: &Record) -> impl Iterator<Item = &str> {
    let entries = sheet.get("timeEntries").and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_str)
}

/// Records that timesheets refer to, by id.
struct ReferencedRecords {
    entries: BTreeMap<String, Record>,
    companies: BTreeMap<String, Record>,
    people: BTreeMap<String, Record>,
}

impl ReferencedRecords {
    fn line(&self, sheet: &Record) -> TimesheetLine {
        let entries: Vec<TimeEntryLine> = entry_ids(sheet).map(|id| self.entry(id)).collect();
        TimesheetLine {
            id: text(sheet, "_id").to_owned(),
            version: sheet.get("__v").and_then(Value::as_i64).unwrap_or_default(),
            who: person(&self.people, text(sheet, "assignedId")),
            from: day_of(sheet.get("dateFrom")),
            to: day_of(sheet.get("dateTo")),
            hours: entries.iter().map(|entry| entry.hours).sum(),
            entries,
            approved_by: self.user(text(sheet, "approvedBy")),
            approved_at: text(sheet, "dateOfApproval").to_owned(),
        }
    }

    fn user(&self, id: &str) -> UserLink {
        let is_known = self.people.contains_key(id);
        let id_of_known = if is_known { id.to_owned() } else { String::new() };
        UserLink { id: id_of_known, name: person(&self.people, id) }
    }

    /// A time entry; only its id where it cannot be read.
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
            company_id: company.map(|it| text(it, "_id")).unwrap_or_default().to_owned(),
            description: text(entry, "description").to_owned(),
            is_billable: entry.get("billable").and_then(Value::as_bool),
        }
    }
}

/// Name of a user, else the address, else the id.
fn person(people: &BTreeMap<String, Record>, id: &str) -> String {
    let named = |it| [text(it, "name"), text(it, "email")].into_iter().find(|it| !it.is_empty());
    people.get(id).and_then(named).unwrap_or(id).to_owned()
}

/// The date of a day since 1970-01-01.
fn day_of(days: Option<&Value>) -> String {
    days.and_then(Value::as_i64).map(epoch_day).unwrap_or_default()
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
