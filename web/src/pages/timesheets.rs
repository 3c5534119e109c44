//! Timesheets to approve or return: one form around the table, so that several are decided at once.

use hypertext::prelude::*;

use super::{
    address::address,
    format::{day, fixed, label_of},
    page,
    parts::{ColumnHead, Paging, Problem, empty, paging, problems, table},
    shell::{Shell, csrf, hidden, layout, record_address, title_bar},
};
use crate::page::Page;

/// A timesheet, with the hours of its time entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesheetLine {
    pub id: String,
    /// Version of the timesheet, which a decision is made on.
    pub version: i64,
    /// Name of the owner of the timesheet.
    pub who: String,
    /// First and last day of the timesheet.
    pub from: String,
    pub to: String,
    /// Sum of the entries.
    pub hours: f64,
    pub entries: Vec<TimeEntryLine>,
    pub approved_by: UserLink,
    pub approved_at: String,
}

/// A user by name; the id is empty where the record cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserLink {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeEntryLine {
    pub id: String,
    /// Date of the entry; empty where it cannot be read.
    pub date: String,
    pub hours: f64,
    pub company: String,
    pub company_id: String,
    pub description: String,
    pub is_billable: Option<bool>,
}

/// The page of timesheets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesheetsView {
    /// Status that is shown, and all possible ones.
    pub status: &'static str,
    pub statuses: Vec<&'static str>,
    pub lines: Vec<TimesheetLine>,
    /// Position in the list at which this page begins.
    pub offset: usize,
    pub paging: Paging,
    pub may_update: bool,
    pub problems: Vec<Problem>,
}

pub fn timesheets_page(shell: &Shell, view: &TimesheetsView) -> Page {
    let offset = view.offset.to_string();
    let main = maud! {
        (title_bar("Timesheets", maud! { a.button href="/app/records/timesheets" { "All properties" } }))
        (tabs(view))
        (problems(&view.problems))
        @if view.lines.is_empty() {
            (nothing(view.status))
        } @else {
            form method="post" action="/app/timesheets" {
                (csrf(shell))
                (hidden("shown", view.status))
                (hidden("offset", &offset))
                @if view.may_update { (decisions(view.status)) }
                (timesheets(shell, view))
            }
            (paging(&view.paging))
        }
    };
    page(layout(shell, "Timesheets", main))
}

fn tabs(view: &TimesheetsView) -> impl Renderable {
    maud! {
        nav.tabs aria-label="Status" {
            @for status in &view.statuses {
                a href=(address("/app/timesheets", &[], &[("status", status)]))
                    aria-current=[(*status == view.status).then_some("page")] { (label_of(status)) }
            }
        }
    }
}

fn nothing(status: &str) -> impl Renderable {
    maud! {
        @if status == "submitted" {
            (empty("No timesheets to approve.", "Submitted timesheets are listed here."))
        } @else {
            (empty("No timesheets.", "Decided timesheets are listed here."))
        }
    }
}

/// Decisions on the timesheets that are chosen.
fn decisions(status: &'static str) -> impl Renderable {
    maud! {
        div.actions {
            @if status != "approved" {
                button.main type="submit" name="status" value="approved" { "Approve" }
            }
            @if status != "returned" {
                button type="submit" name="status" value="returned" { "Return" }
            }
            @if status != "submitted" {
                button type="submit" name="status" value="submitted" { "Submit again" }
            }
            span.muted { "selected timesheets" }
        }
    }
}

fn timesheets<'v>(shell: &'v Shell, view: &'v TimesheetsView) -> impl Renderable + 'v {
    let is_approved = view.status == "approved";
    let rows = maud! {
        @for line in &view.lines { (rows(shell, view, line, is_approved)) }
    };
    table(
        "Timesheets",
        [
            view.may_update.then_some(ColumnHead::Hidden("Choose")),
            Some(ColumnHead::Text("User")),
            Some(ColumnHead::Text("Period")),
            Some(ColumnHead::Number("Hours")),
            is_approved.then_some(ColumnHead::Text("Approved")),
        ]
        .into_iter()
        .flatten(),
        rows,
    )
}

/// A timesheet, and its entries below it.
fn rows<'v>(
    shell: &'v Shell,
    view: &'v TimesheetsView,
    line: &'v TimesheetLine,
    is_approved: bool,
) -> impl Renderable + 'v {
    let who = if line.who.is_empty() { "Nobody" } else { &line.who };
    let is_known = line.entries.iter().all(|entry| !entry.date.is_empty());
    let columns = if is_approved { "4" } else { "3" };
    maud! {
        tbody {
            tr {
                @if view.may_update {
                    td.tick {
                        input id={ "s-" (line.id) } type="checkbox" name="sheet"
                            value={ (line.id) "-" (line.version) };
                        label.hidden-label for={ "s-" (line.id) } { (who) ", " (line.from) }
                    }
                }
                th scope="row" { a href=(record_address("timesheets", &line.id)) { (who) } }
                td {
                    span.nowrap { (line.from) }
                    @if !line.to.is_empty() { " " span.nowrap { "– " (line.to) } }
                }
                td.num { @if is_known { (hours(line.hours)) } @else { "unknown" } }
                @if is_approved { td { (day(&line.approved_at)) br; small.muted { (linked(shell, "users", &line.approved_by.id, &line.approved_by.name)) } } }
            }
            @if !line.entries.is_empty() {
                tr.below {
                    @if view.may_update { td {} }
                    td colspan=(columns) { (entries(shell, line)) }
                }
            }
        }
    }
}

/// Decimals of hours, which line up below each other.
const HOUR_DECIMALS: usize = 2;

fn hours(sum: f64) -> String {
    fixed(sum, HOUR_DECIMALS)
}

fn entries<'v>(shell: &'v Shell, line: &'v TimesheetLine) -> impl Renderable + 'v {
    let count = line.entries.len();
    maud! {
        details open {
            summary { (count) @if count == 1 { " entry" } @else { " entries" } }
            table.inner.entries {
                caption.hidden-label { "Entries" }
                colgroup { col.day-column; col.hours-column; col; col; }
                thead.hidden-label {
                    tr {
                        th scope="col" { "Date" }
                        th scope="col" { "Hours" }
                        th scope="col" { "Company" }
                        th scope="col" { "Description" }
                    }
                }
                tbody { @for entry in &line.entries { (entry_row(shell, entry)) } }
            }
        }
    }
}

/// Name of a record, which links to it where it can be read.
fn linked<'n>(
    shell: &'n Shell,
    resource: &'static str,
    id: &'n str,
    name: &'n str,
) -> impl Renderable + 'n {
    maud! {
        @if id.is_empty() { (name) } @else { (shell.record_link(resource, id, name)) }
    }
}

fn entry_row<'v>(shell: &'v Shell, entry: &'v TimeEntryLine) -> impl Renderable + 'v {
    maud! {
        tr {
            th.nowrap scope="row" {
                (shell.record_link("timeentries", &entry.id, maud! {
                    @if entry.date.is_empty() { (entry.id) } @else { (day(&entry.date)) }
                }))
            }
            td.num { @if !entry.date.is_empty() { (hours(entry.hours)) } }
            td { (linked(shell, "companies", &entry.company_id, &entry.company)) }
            td {
                (entry.description)
                @if entry.is_billable == Some(false) { " " span.muted { "(not billable)" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_two_decimals() {
        for (sum, text) in [(0.0, "0.00"), (1.5, "1.50"), (37.25, "37.25"), (1200.0, "1,200.00")] {
            assert_eq!(hours(sum), text);
        }
        assert_eq!(hours(0.1 + 0.2), "0.30");
    }
}
