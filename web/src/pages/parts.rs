//! The small parts that pages share.

use hypertext::prelude::*;
use serde_json::{Map, Value};

use super::format::grouped;

/// Problem of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Property with the problem; empty where it is the whole.
    pub field: String,
    pub message: String,
}

/// Position of a page of a list among the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// Number of the first item that is shown, from 1.
    pub first: usize,
    pub shown: usize,
    pub total: Option<u64>,
    pub previous: Option<String>,
    pub next: Option<String>,
}

impl Paging {
    /// Address of the last page, where this one is past the end.
    pub(super) fn last_page(&self) -> Option<&str> {
        self.previous.as_deref().filter(|_| self.shown == 0)
    }
}

/// Text of a page past the end of a list.
pub(super) fn past_end(last_page: &str) -> impl Renderable {
    empty(
        "This page is past the end of the list.",
        maud! { a href=(last_page) { "Show the last page" } },
    )
}

/// Text where there is nothing to show.
pub(super) fn empty<'a>(title: &'a str, what_to_do: impl Renderable + 'a) -> impl Renderable + 'a {
    maud! {
        div.empty {
            p.empty-title { (title) }
            p { (what_to_do) }
        }
    }
}

/// A text of the API, in which names are between backticks.
pub(super) fn prose(text: &str) -> impl Renderable {
    maud! {
        @for (at, piece) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

/// Members of a JSON object: texts as they are, and any other value as compact JSON.
pub(super) fn members(object: &Map<String, Value>) -> impl Renderable {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let members: Vec<_> = object.iter().map(|(name, value)| (name, text(value))).collect();
    maud! {
        dl.pairs {
            @for (name, value) in &members { dt { (name) } dd { (value) } }
        }
    }
}

/// Members of a JSON object, folded: their number, which opens them.
pub(super) fn folded(object: &Map<String, Value>) -> impl Renderable {
    let count = object.len();
    maud! {
        @if count > 0 {
            details {
                summary { (count) @if count == 1 { " value" } @else { " values" } }
                (members(object))
            }
        }
    }
}

/// A wide table, which scrolls where the page is narrow.
pub(super) fn scroll<'a>(label: &'a str, table: impl Renderable + 'a) -> impl Renderable + 'a {
    maud! {
        div.scroll tabindex="0" role="group" aria-label=(label) { (table) }
    }
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnHead {
    Text(&'static str),
    /// Head of a column of figures or times, which are aligned at the right.
    Number(&'static str),
    /// Head of a column whose cells explain themselves: only for screen readers.
    Hidden(&'static str),
}

/// A table of the columns `heads`, which scrolls where the page is narrow; `bodies` has its rows.
pub(super) fn table<'a>(
    caption: &'a str,
    heads: impl IntoIterator<Item = ColumnHead>,
    bodies: impl Renderable + 'a,
) -> impl Renderable + 'a {
    let heads: Vec<ColumnHead> = heads.into_iter().collect();
    scroll(
        caption,
        maud! {
            table {
                caption.hidden-label { (caption) }
                thead { tr { @for head in &heads { (head_cell(*head)) } } }
                (bodies)
            }
        },
    )
}

fn head_cell(head: ColumnHead) -> impl Renderable {
    maud! {
        @match head {
            ColumnHead::Text(label) => th scope="col" { (label) }
            ColumnHead::Number(label) => th.num scope="col" { (label) }
            ColumnHead::Hidden(label) => th scope="col" { span.hidden-label { (label) } }
        }
    }
}

/// Problems of a form, each with a link to its field.
pub(super) fn problems(found: &[Problem]) -> impl Renderable {
    maud! {
        @if !found.is_empty() {
            div.problems role="alert" tabindex="-1" {
                p { strong { "Please correct the following." } }
                ul {
                    @for problem in found {
                        li {
                            @if problem.field.is_empty() {
                                (problem.message)
                            } @else {
                                a href={ "#f-" (problem.field) } { (problem.message) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A state in a word, with a colour that repeats it.
pub(super) fn badge(state: &str) -> impl Renderable {
    let tone = match state {
        "customer" | "growing" | "active" | "approved" | "renewed" | "upgraded" | "closed"
        | "solved" | "ok" => "good",
        "declining" | "coming" | "submitted" | "open" | "pending" | "new" => "warn",
        "lost" | "inactive" | "churned" | "overdue" | "canceled" | "rejected" | "never" => "bad",
        _ => "plain",
    };
    maud! { span.badge.(tone) { (state) } }
}

/// Links to the pages before and after.
pub(super) fn paging(paging: &Paging) -> impl Renderable {
    let last = paging.first + paging.shown.saturating_sub(1);
    maud! {
        div.paging {
            p role="status" {
                @if paging.shown == 0 {
                    "None"
                } @else {
                    (grouped(&paging.first.to_string())) " to " (grouped(&last.to_string()))
                    @if let Some(total) = paging.total { " of " (grouped(&total.to_string())) }
                }
            }
            @if let Some(previous) = &paging.previous { a rel="prev" href=(previous) { "Previous" } }
            @if let Some(next) = &paging.next { a rel="next" href=(next) { "Next" } }
        }
    }
}

/// Chart of a report, by its address, as wide as the screen; its figures are in a table as well. The page keeps the room
/// of a usual one until it is there: that of MRR has its movements below.
pub(super) fn chart<'a>(picture: &'a str, title: &'a str) -> impl Renderable + 'a {
    let is_of_mrr = picture.contains("/reports/mrr") && !picture.contains("explain=");
    let (height, narrow_height) = match is_of_mrr {
        true => ("507", "573"),
        false => ("399", "443"),
    };
    maud! {
        picture {
            source srcset={ (picture) "&width=narrow&theme=dark" } width="360" height=(narrow_height)
                media="(max-width: 900px) and (prefers-color-scheme: dark)";
            source srcset={ (picture) "&width=narrow" } width="360" height=(narrow_height)
                media="(max-width: 900px)";
            source srcset={ (picture) "&theme=dark" } media="(prefers-color-scheme: dark)";
            img.chart src=(picture) width="960" height=(height) alt={ "Chart: " (title) };
        }
    }
}
