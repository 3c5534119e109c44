//! Derived fields of a ticket (R26). `ticket` adds the entry of a changed status to its history.

use chrono::{DateTime, Datelike as _, NaiveDate};

use crate::{
    schema::{FillCtx, LookupError, ReadCtx, field::handles},
    value::{Document, Json, Timestamp},
};

handles! {
    SOURCE_ID: Key = "sourceId";
    TITLE: Text = "title";
    DESCRIPTION: Text = "description";
    STATUS: Text = "status";
    HISTORY: Values = "history";
    CREATE_DATE: Date = "createDate";
    DATE: Date = "date";
    IN_DATE: Date = "inDate";
    UPDATE_DATE: Date = "updateDate";
    CREATED_AT: Date = "createdAt";
    UPDATED_AT: Date = "updatedAt";
}

/// The conversation type of every ticket.
pub(super) const TICKET_TYPE: &str = "ticket";

/// Length of the snippet of a description, in characters (R26).
#[cfg(feature = "records")]
const SNIPPET_CHARS: usize = 300;
/// The statuses, in lower case, with which a ticket is no longer open (R26).
const CLOSED: &[&str] = &["closed", "resolved", "solved", "done"];

pub(super) fn fill_type(_: &Document, _: FillCtx) -> Option<Json> {
    Some(Json::string(TICKET_TYPE))
}

pub(super) fn fill_external_id(ticket: &Document, _: FillCtx) -> Option<Json> {
    SOURCE_ID.get(ticket).map(|id| Json::string(&id))
}

pub(super) fn fill_subject(ticket: &Document, _: FillCtx) -> Option<Json> {
    TITLE.get(ticket).map(|title| Json::string(&title))
}

pub(super) fn fill_snippet(ticket: &Document, _: FillCtx) -> Option<Json> {
    DESCRIPTION.get(ticket).map(|text| Json::string(&snippet(&text)))
}

#[cfg(feature = "records")]
fn snippet(description: &str) -> String {
    crate::value::html::plain_text(description, SNIPPET_CHARS)
}

/// The form checks read no HTML.
#[cfg(not(feature = "records"))]
fn snippet(_: &str) -> String {
    String::new()
}

pub(super) fn fill_is_open(ticket: &Document, _: FillCtx) -> Option<Json> {
    let status = STATUS.get(ticket).unwrap_or_default().to_lowercase();
    Some(Json::bool(!CLOSED.contains(&status.as_str())))
}

/// Times of the history, in its order.
fn times(ticket: &Document) -> Vec<Timestamp> {
    let history = HISTORY.get(ticket).unwrap_or_default();
    let time = |entry: &Json| Timestamp::parse(&entry.as_ref().to_document()?.text("time")?);
    history.iter().filter_map(time).collect()
}

/// First time of the history, else another date that was sent, else the creation of the record.
pub(super) fn fill_date(ticket: &Document, _: FillCtx) -> Option<Json> {
    let sent =
        || CREATE_DATE.get(ticket).or_else(|| DATE.get(ticket)).or_else(|| IN_DATE.get(ticket));
    let date = times(ticket).first().copied().or_else(sent).or_else(|| CREATED_AT.get(ticket));
    date.map(|date| Json::string(&date.to_string()))
}

/// Last time of the history, else that of an import, else the last update of the record.
pub(super) fn read_update_date(
    ticket: &Document,
    _: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let date = times(ticket).last().copied();
    let date = date.or_else(|| UPDATE_DATE.get(ticket)).or_else(|| UPDATED_AT.get(ticket));
    Ok(date.map(|date| Json::string(&date.to_string())))
}

pub(super) fn fill_days(ticket: &Document, _: FillCtx) -> Option<Json> {
    DATE.get(ticket).map(|date| Json::integer(date.epoch_days()))
}

pub(super) fn fill_time_bucket(ticket: &Document, _: FillCtx) -> Option<Json> {
    let date = DateTime::from_timestamp_millis(DATE.get(ticket)?.as_ms())?.date_naive();
    let labels = time_bucket(date);
    Some(Json::strings(labels.iter().map(String::as_str)))
}

/// Year, quarter, month and week of a day, in UTC. A week begins on Sunday, and the first week of a year has 1 January.
fn time_bucket(date: NaiveDate) -> [String; 4] {
    let year = date.year();
    let (week_year, week) = week_of(date);
    [
        year.to_string(),
        format!("{year}-Q{}", date.month0() / 3 + 1),
        format!("{year}-{}", date.month()),
        format!("{week_year}-W{week}"),
    ]
}

fn week_of(date: NaiveDate) -> (i32, u32) {
    let new_year = |year: i32| NaiveDate::from_ymd_opt(year, 1, 1);
    let weekday = |date: NaiveDate| date.weekday().num_days_from_sunday();
    let next = new_year(date.year() + 1);
    let days_left =
        next.map_or(u32::MAX, |next| u32::try_from((next - date).num_days()).unwrap_or(u32::MAX));
    if days_left <= 6 && weekday(date) + days_left <= 6 {
        // 1 January is in the week of this day.
        return (date.year() + 1, 1);
    }
    let first = new_year(date.year()).map_or(0, weekday);
    (date.year(), (date.ordinal0() + first) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_bucket(date: &str, expect: [&str; 4]) {
        assert_eq!(time_bucket(date.parse().unwrap()), expect, "{date}");
    }

    #[test]
    fn a_day_has_a_year_a_quarter_a_month_and_a_week() {
        check_bucket("2021-06-21", ["2021", "2021-Q2", "2021-6", "2021-W26"]);
        check_bucket("2021-01-01", ["2021", "2021-Q1", "2021-1", "2021-W1"]);
        check_bucket("2021-01-03", ["2021", "2021-Q1", "2021-1", "2021-W2"]);
        check_bucket("2024-12-28", ["2024", "2024-Q4", "2024-12", "2024-W52"]);
        check_bucket("2024-12-29", ["2024", "2024-Q4", "2024-12", "2025-W1"]);
        check_bucket("2022-12-31", ["2022", "2022-Q4", "2022-12", "2022-W53"]);
    }
}
