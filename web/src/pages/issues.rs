//! Report of integration issues: problems that senders should fix, with the actions for each.

use hypertext::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use svctrack_core::value::counted;

use super::{
    address::address,
    format::{grouped, instant, label_of},
    page,
    parts::{ColumnHead, Problem, badge, empty, members, problems, prose, table},
    shell::{Shell, csrf, layout, title_bar},
};
use crate::page::Page;

/// An entry of the report, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IssueLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub route: String,
    pub code: String,
    pub message: String,
    pub at: String,
    pub count: u64,
    pub sample: Map<String, Value>,
    /// How many of its events are still parked; none where they never are.
    pub parked: Option<u64>,
}

/// The page of integration issues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IssuesView {
    pub lines: Vec<IssueLine>,
    /// Code and route of the entries that are shown; all where empty.
    pub code: String,
    pub route: String,
    pub routes: Vec<&'static str>,
    /// Address of the entries before these.
    pub next: Option<String>,
    pub csv: String,
    /// Number of all parked events, of these entries and of others.
    pub parked: u64,
    /// Whether the token may replay and remove.
    pub may_change: bool,
    pub problems: Vec<Problem>,
}

/// The page of integration issues.
pub fn issues_page(shell: &Shell, view: &IssuesView) -> Page {
    let actions = maud! { a.button href=(view.csv) download { "CSV" } };
    let main = maud! {
        (title_bar("Integration issues", &actions))
        p.muted {
            "Problems that senders should fix, one entry per cause. "
            a href="/docs/events#parked-events-and-the-report" { "The codes" }
        }
        @if view.parked > 0 {
            p {
                strong { (counted(grouped(&view.parked.to_string()), "event")) }
                @if view.parked == 1 { " is" } @else { " are" }
                " parked: stored, but not processed yet. Removing an entry leaves its events parked."
            }
        }
        (choices(view))
        (problems(&view.problems))
        @if view.lines.is_empty() {
            @if view.code.is_empty() && view.route.is_empty() {
                (empty("No issues.", maud! {
                    "Every event matched its user and company. " a href="/app/setup" { "Set-up" } " shows how to send events."
                }))
            } @else {
                (empty("No matching issues.", maud! { a href="/app/issues" { "Show all" } }))
            }
        } @else {
            (entries(shell, view))
            @if let Some(next) = &view.next {
                div.paging { a rel="next" href=(next) { "Earlier" } }
            }
        }
    };
    page(layout(shell, "Integration issues", main))
}

fn choices(view: &IssuesView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            div {
                label for="c-route" { "Source" }
                select #c-route name="route" {
                    option value="" { "all" }
                    @for route in &view.routes {
                        option value=(route) selected=[(*route == view.route).then_some("")] { (label_of(route)) }
                    }
                }
            }
            div {
                label for="c-code" { "Code" }
                input #c-code name="code" value=(view.code) autocomplete="off" spellcheck="false";
            }
            button type="submit" { "Show" }
        }
    }
}

fn entries<'v>(shell: &'v Shell, view: &'v IssuesView) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked { @for line in &view.lines { (row(shell, view, line)) } }
    };
    table(
        "Integration issues",
        [
            Some(ColumnHead::Text("Issue")),
            Some(ColumnHead::Text("Source")),
            Some(ColumnHead::Number("Count")),
            Some(ColumnHead::Number("Last seen")),
            view.may_change.then_some(ColumnHead::Hidden("Actions")),
        ]
        .into_iter()
        .flatten(),
        rows,
    )
}

fn row<'v>(shell: &'v Shell, view: &'v IssuesView, line: &'v IssueLine) -> impl Renderable + 'v {
    let replay = address("/app/issues/{}/replay", &[&line.id], &[]);
    let remove = address("/app/issues/{}/remove", &[&line.id], &[]);
    let count = grouped(&line.count.to_string());
    maud! {
        tr {
            th.issue scope="row" {
                (prose(&line.message))
                div.sample {
                    code { (line.code) }
                    @match line.parked {
                        Some(0) => span { "no event is parked" },
                        Some(parked) => span { (grouped(&parked.to_string())) " still parked" },
                        None => (""),
                    }
                    @if !line.sample.is_empty() {
                        details { summary { "Sample" } (members(&line.sample)) }
                    }
                }
            }
            td data-label="Source" { (badge(&line.route)) }
            td.num data-label="Count" { (count) }
            td.num data-label="Last seen" { (instant(&line.at)) }
            @if view.may_change {
                td {
                    div.row-actions {
                        @if line.parked.is_some_and(|parked| parked > 0) {
                            form method="post" action=(replay) {
                                (csrf(shell))
                                button type="submit" title="Process the parked events of this entry again" { "Replay" }
                            }
                        }
                        form method="post" action=(remove) {
                            (csrf(shell))
                            button type="submit" title="Remove this entry from the report" { "Remove" }
                        }
                    }
                }
            }
        }
    }
}
