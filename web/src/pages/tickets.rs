//! Tickets: the list with search and status, and the page of one with its text and its history.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::value::html::plain_text;

use super::{
    address::address,
    format::{day, instant},
    page,
    parts::{ColumnHead, Paging, Problem, badge, empty, paging, past_end, problems, table},
    record::text,
    shell::{Shell, csrf, hidden, layout, record_address, title_bar},
};
use crate::page::Page;

/// The tickets that the list offers: value, and label.
const OPEN: &[(&str, &str)] = &[("", "Open"), ("no", "Closed"), ("all", "All")];
/// Statuses that a field suggests; any other can be entered.
const STATUSES: &[&str] = &["new", "open", "pending", "on hold", "resolved", "closed"];
/// Longest text that is shown, in characters.
const MAX_TEXT_CHARS: usize = 100_000;
/// Markup that ends a line of a text.
const LINE_ENDS: &[&str] = &["<br", "</p>", "</div>", "</li>", "</tr>", "</h"];

/// The list of tickets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TicketsView {
    pub tickets: Vec<Map<String, Value>>,
    pub paging: Paging,
    /// Text of the search.
    pub search: String,
    /// Status of the tickets; empty for any.
    pub status: String,
    /// Whether open or closed tickets are listed.
    pub open: String,
    pub problems: Vec<Problem>,
    /// Whether the token may import tickets.
    pub may_import: bool,
}

/// A ticket for its page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TicketView {
    pub ticket: Map<String, Value>,
    /// Version of the ticket, as its `ETag`.
    pub version: String,
    /// Status that the field is filled with.
    pub status: String,
    pub may_update: bool,
    pub problems: Vec<Problem>,
}

pub fn tickets_page(shell: &Shell, view: &TicketsView) -> Page {
    let main = maud! {
        (title_bar("Tickets", maud! { a.button href="/app/records/tickets" { "All properties" } }))
        (choices(view))
        (problems(&view.problems))
        @if let Some(last) = view.paging.last_page() {
            (past_end(last))
        } @else if view.tickets.is_empty() {
            (nothing(view))
        } @else {
            (tickets(shell, view))
            (paging(&view.paging))
        }
    };
    page(layout(shell, "Tickets", main))
}

fn choices(view: &TicketsView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            div {
                label for="c-search" { "Search" }
                input #c-search type="search" name="search" value=(view.search);
            }
            div {
                label for="c-open" { "Show" }
                select #c-open name="open" {
                    @for (value, label) in OPEN {
                        option value=(value) selected=[(*value == view.open).then_some("")] { (label) }
                    }
                }
            }
            div {
                label for="c-status" { "Status" }
                input #c-status name="status" value=(view.status) list="statuses" autocomplete="off";
                (statuses())
            }
            button type="submit" { "Show" }
        }
    }
}

fn statuses() -> impl Renderable {
    maud! { datalist #statuses { @for status in STATUSES { option value=(status) {} } } }
}

fn nothing(view: &TicketsView) -> impl Renderable {
    let is_chosen = !(view.search.is_empty() && view.status.is_empty());
    let what = match (is_chosen, view.open.as_str()) {
        (true, _) => "No matching tickets.",
        (_, "") => "No open tickets.",
        (_, "no") => "No closed tickets.",
        _ => "No tickets yet.",
    };
    maud! {
        (empty(what, maud! {
            @if is_chosen || view.open != "all" {
                a href="/app/tickets?open=all" { "Show all" }
            } @else {
                "Send them with the " a href="/docs/api" { "API" }
                @if view.may_import { ", or " a href="/app/import/tickets" { "import a file" } }
                "."
            }
        }))
    }
}

fn tickets<'v>(shell: &'v Shell, view: &'v TicketsView) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked { @for ticket in &view.tickets { (row(shell, ticket)) } }
    };
    table(
        "Tickets",
        [
            ColumnHead::Text("Ticket"),
            ColumnHead::Text("Company"),
            ColumnHead::Text("Status"),
            ColumnHead::Text("Severity"),
            ColumnHead::Text("From"),
            ColumnHead::Number("Created"),
        ],
        rows,
    )
}

fn row<'t>(shell: &'t Shell, ticket: &'t Map<String, Value>) -> impl Renderable + 't {
    let path = address("/app/tickets/{}", &[text(ticket, "_id")], &[]);
    let snippet = text(ticket, "snippet");
    maud! {
        tr {
            th scope="row" {
                a href=(path) { (title_of(ticket)) }
                @if !snippet.is_empty() { p.excerpt { (snippet) } }
            }
            td data-label="Company" { (company(shell, ticket)) }
            td data-label="Status" { (status(ticket)) }
            td data-label="Severity" { (text(ticket, "severity")) }
            td data-label="From" { (sender(ticket)) }
            td.num data-label="Created" { (day(text(ticket, "createDate"))) }
        }
    }
}

fn title_of(ticket: &Map<String, Value>) -> &str {
    let names = ["title", "sourceId", "_id"];
    names.into_iter().map(|name| text(ticket, name)).find(|it| !it.is_empty()).unwrap_or("Ticket")
}

fn sender(ticket: &Map<String, Value>) -> &str {
    match text(ticket, "name") {
        "" => text(ticket, "email"),
        name => name,
    }
}

fn company<'t>(shell: &'t Shell, ticket: &'t Map<String, Value>) -> impl Renderable + 't {
    let (id, name) = (text(ticket, "companyId"), text(ticket, "companyName"));
    let shown = if name.is_empty() { id } else { name };
    maud! { @if !id.is_empty() { (shell.record_link("companies", id, shown)) } }
}

/// Status of the ticket; open or closed where it has none.
fn status(ticket: &Map<String, Value>) -> impl Renderable {
    let is_open = ticket.get("isOpen").and_then(Value::as_bool).unwrap_or_default();
    let shown = match text(ticket, "status") {
        "" if is_open => "open",
        "" => "closed",
        status => status,
    };
    badge(shown)
}

pub fn ticket_page(shell: &Shell, view: &TicketView) -> Page {
    let ticket = &view.ticket;
    let (title, record) = (title_of(ticket), record_address("tickets", text(ticket, "_id")));
    let lines = lines_of(text(ticket, "description"));
    let actions = maud! { a.button href=(record) { "All properties" } };
    let main = maud! {
        p.crumbs { a href="/app/tickets" { "Tickets" } }
        (title_bar(title, &actions))
        (facts(shell, ticket))
        @if view.may_update { (form(shell, view)) }
        article.message {
            @if lines.is_empty() {
                p.muted { "No text." }
            } @else {
                @for line in &lines { p { (line) } }
            }
        }
        (history(ticket))
    };
    page(layout(shell, title, main))
}

/// Who has the ticket, its state and its days, in the order in which they are asked for; nothing without a value.
fn facts<'t>(shell: &'t Shell, ticket: &'t Map<String, Value>) -> impl Renderable + 't {
    const STATE: [(&str, &str); 5] = [
        ("Severity", "severity"),
        ("Product", "product"),
        ("Type", "subType"),
        ("Source", "source"),
        ("Agent", "agentEmail"),
    ];
    const DAYS: [(&str, &str); 3] =
        [("Created", "createDate"), ("Received", "inDate"), ("Sent out", "outDate")];
    let has = |(_, name): &&(&str, &str)| !text(ticket, name).is_empty();
    maud! {
        dl.properties {
            @if !text(ticket, "companyId").is_empty() { dt { "Company" } dd { (company(shell, ticket)) } }
            @if !sender(ticket).is_empty() { dt { "From" } dd { (sender(ticket)) } }
            dt { "Status" } dd { (status(ticket)) }
            @for (label, name) in STATE.iter().filter(has) { dt { (label) } dd { (text(ticket, name)) } }
            @for (label, name) in DAYS.iter().filter(has) { dt { (label) } dd { (day(text(ticket, name))) } }
        }
    }
}

fn form<'v>(shell: &'v Shell, view: &'v TicketView) -> impl Renderable + 'v {
    let path = address("/app/tickets/{}", &[text(&view.ticket, "_id")], &[]);
    let invalid = (!view.problems.is_empty()).then_some("true");
    maud! {
        (problems(&view.problems))
        form.choices method="post" action=(path) {
            (csrf(shell))
            (hidden("version", &view.version))
            div {
                label for="f-status" { "Status" }
                input #f-status name="status" value=(view.status) list="statuses" required autocomplete="off"
                    aria-invalid=[invalid];
                (statuses())
            }
            button.main type="submit" { "Change status" }
        }
    }
}

fn history(ticket: &Map<String, Value>) -> impl Renderable {
    let entries = ticket.get("history").and_then(Value::as_array);
    let entries: Vec<&Map<String, Value>> =
        entries.into_iter().flatten().filter_map(Value::as_object).rev().collect();
    maud! {
        @if !entries.is_empty() {
            section aria-labelledby="h-history" {
                h2 #h-history { "History" }
                ul.plain.history {
                    @for entry in &entries {
                        li { (badge(text(entry, "status"))) " " span.muted { (instant(text(entry, "time"))) } }
                    }
                }
            }
        }
    }
}

/// The lines of a text, which may be HTML.
fn lines_of(description: &str) -> Vec<String> {
    let is_plain = !LINE_ENDS.iter().any(|end| description.contains(end));
    let mut parts = vec![description];
    if is_plain {
        parts = description.lines().collect();
    }
    for end in LINE_ENDS.iter().filter(|_| !is_plain) {
        parts = parts.into_iter().flat_map(|part| cut_before(part, end)).collect();
    }
    let mut left = MAX_TEXT_CHARS;
    let line = |part: &str| {
        let line = plain_text(part, left);
        left = left.saturating_sub(line.chars().count());
        line
    };
    parts.into_iter().map(line).filter(|line| !line.is_empty()).collect()
}

/// A text in parts: all but the first begin with a mark.
fn cut_before<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(mark) {
        parts.extend(text.get(from..at));
        from = at;
    }
    parts.extend(text.get(from..));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_open_tickets_leads_to_all_of_them() {
        let page = |open: &str| {
            let view = TicketsView { open: open.to_owned(), ..TicketsView::default() };
            tickets_page(&Shell::default(), &view).html
        };
        let all = "href=\"/app/tickets?open=all\">Show all</a>";
        assert!(page("").contains("No open tickets.") && page("").contains(all));
        assert!(page("no").contains("No closed tickets.") && page("no").contains(all));
        assert!(page("all").contains("No tickets yet.") && !page("all").contains(all));
    }

    #[test]
    fn a_ticket_has_its_company_its_sender_its_status_and_its_days_in_order() {
        let ticket = serde_json::json!({
            "_id": "6", "title": "Down", "companyId": "7", "companyName": "Acme", "name": "Ada",
            "status": "open", "severity": "high", "createDate": "2026-01-02T00:00:00.000Z",
        });
        let ticket = ticket.as_object().unwrap().clone();
        let html = ticket_page(&Shell::default(), &TicketView { ticket, ..TicketView::default() });
        let labels = html.html.split("<dt>").skip(1).filter_map(|rest| rest.split('<').next());
        let labels: Vec<&str> = labels.collect();
        assert_eq!(labels, ["Company", "From", "Status", "Severity", "Created"]);
    }

    #[test]
    fn a_text_is_shown_in_its_lines_and_without_its_markup() {
        for (description, lines) in [
            ("", [].as_slice()),
            ("one\n\ntwo & three", &["one", "two & three"]),
            ("<p>one<br>two</p><p>three &lt;b&gt;</p>", &["one", "two", "three <b>"]),
            ("<style>p {\n}</style><p>one</p><script>alert(1)</script>", &["one"]),
        ] {
            assert_eq!(lines_of(description), lines, "{description}");
        }
    }
}
