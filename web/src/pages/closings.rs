//! Closed months: the figures as finance reported them, and what has changed in them since.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::revenue::Reopening;

use super::{
    address::address,
    format::{day, money},
    page,
    parts::{Head, Problem, empty, problems, table},
    shell::{Shell, csrf, layout, record_address, title_bar},
};
use crate::page::Page;

/// The figures of a month in one currency.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonthFigures {
    pub currency: String,
    /// Whether it has all currencies, converted into this one.
    #[serde(skip)]
    pub is_converted: bool,
    pub start: f64,
    pub new: f64,
    pub reactivation: f64,
    pub expansion: f64,
    pub contraction: f64,
    pub churn: f64,
    pub end: f64,
    pub customers: i64,
}

impl MonthFigures {
    fn movements(&self) -> [f64; 7] {
        [
            self.start,
            self.new,
            self.reactivation,
            self.expansion,
            self.contraction,
            self.churn,
            self.end,
        ]
    }

    fn is_zero(&self) -> bool {
        self.customers == 0 && self.movements().iter().all(|amount| *amount == 0.0)
    }
}

/// A closed month, and what has changed in it since.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosingLine {
    pub month: String,
    pub closed_at: String,
    /// Its figures: each currency by itself, then converted.
    pub lines: Vec<MonthFigures>,
    /// The figures of now less these; none where they are computed with other options.
    pub differences: Option<Differences>,
}

/// The figures of now less those of a closed month, and why they differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    pub lines: Vec<MonthFigures>,
    /// The companies that differ, those with the largest difference first.
    pub companies: Vec<CompanyDifference>,
    /// How many others differ.
    pub more_companies: usize,
    /// Licenses of the month that were changed since.
    pub changed_licenses: usize,
    pub rates_changed: bool,
    pub time_zone_changed: bool,
}

/// What differs for one company.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompanyDifference {
    pub company: String,
    pub name: Option<String>,
    pub lines: Vec<MonthFigures>,
}

impl Differences {
    /// Why the figures differ: `2 licenses and the exchange rates were changed`.
    fn reasons(&self) -> String {
        let licenses = match self.changed_licenses {
            0 => None,
            1 => Some("1 license".to_owned()),
            count => Some(format!("{count} licenses")),
        };
        let rates = self.rates_changed.then(|| "exchange rates".to_owned());
        let zone = self.time_zone_changed.then(|| "time zone".to_owned());
        let all: Vec<String> = licenses.into_iter().chain(rates).chain(zone).collect();
        if all.is_empty() { String::new() } else { format!("{} changed", all.join(", ")) }
    }
}

/// The page of closed months.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosingsView {
    /// The last one first.
    pub lines: Vec<ClosingLine>,
    /// The month that is closed next; none where any can be the first.
    pub next: Option<String>,
    /// Whether it has ended.
    pub has_ended: bool,
    /// The month that is under way: those before it can be closed.
    pub before: String,
    pub may_close: bool,
    pub problems: Vec<Problem>,
}

/// The page of closed months.
pub fn closings_page(shell: &Shell, view: &ClosingsView) -> Page {
    let actions = maud! {
        @if !view.lines.is_empty() {
            a.button href="/app/files/reports/closings?form=csv" download { "CSV" }
        }
    };
    let main = maud! {
        (title_bar("Closed months", &actions))
        p.muted {
            "Closing a month stores its MRR figures. Later changes of these figures are listed here. "
            a href="/docs/closing" { "Closing a month" }
        }
        (problems(&view.problems))
        @if view.may_close { (next(shell, view)) }
        @if view.lines.is_empty() {
            (empty("No month is closed.", "Close the first month that you reported. Months are closed in order."))
        } @else {
            (months(&view.lines))
            @if let Some(last) = view.lines.first().filter(|_| view.may_close) { (last_one(shell, last)) }
        }
    };
    page(layout(shell, "Closed months", main))
}

fn next<'v>(shell: &'v Shell, view: &'v ClosingsView) -> impl Renderable + 'v {
    maud! {
        form.choices method="post" action="/app/closings" {
            (csrf(shell))
            @match &view.next {
                Some(next) => {
                    input type="hidden" name="month" value=(next);
                    @if view.has_ended {
                        button.main type="submit" { "Close " (next) }
                    } @else {
                        p.muted { (next) " can be closed after it has ended." }
                    }
                }
                None => {
                    div {
                        label for="f-month" { "First month, such as 2026-01" }
                        input #f-month type="month" name="month" required pattern="[0-9]{4}-[0-9]{2}" placeholder="2026-01";
                    }
                    button.main type="submit" { "Close this month" }
                }
            }
        }
    }
}

fn last_one<'v>(shell: &'v Shell, last: &'v ClosingLine) -> impl Renderable + 'v {
    maud! {
        details.danger {
            summary { "Open " (last.month) " again" }
            form method="post" action=(address("/app/closings/{}/reopen", &[&last.month], &[])) {
                (csrf(shell))
                p { "Reopening deletes the stored figures. The month can be closed again later, with the figures at that time." }
                label for="f-reason" { "Reason" }
                input #f-reason name="reason" required maxlength=(Reopening::MAX_REASON_CHARS);
                button.bad type="submit" { "Open " (last.month) " again" }
            }
        }
    }
}

fn months(closings: &[ClosingLine]) -> impl Renderable {
    let rows = maud! {
        @for closing in closings { (month(closing)) }
    };
    table(
        "Closed months",
        [
            Head::Text("Month"),
            Head::Text("Closed"),
            Head::Number("Start"),
            Head::Number("New"),
            Head::Number("Reactivation"),
            Head::Number("Expansion"),
            Head::Number("Contraction"),
            Head::Number("Churn"),
            Head::Number("End"),
            Head::Number("Customers"),
        ],
        rows,
    )
}

/// A month: its figures, and below them those that differ now.
fn month(closing: &ClosingLine) -> impl Renderable {
    let differences = closing.differences.as_ref();
    let lines = differences.map_or(&[][..], |differences| &*differences.lines);
    let differing: Vec<&MonthFigures> = lines.iter().filter(|line| !line.is_zero()).collect();
    let reasons = differences.map(Differences::reasons).filter(|reasons| !reasons.is_empty());
    maud! {
        tbody {
            @for (at, line) in closing.lines.iter().enumerate() {
                tr {
                    th.nowrap scope="row" { @if at == 0 { (closing.month) } }
                    td {
                        @if at == 0 { (day(&closing.closed_at)) } @else if line.is_converted { span.muted { "Total" } }
                    }
                    (amounts(line, false))
                }
            }
            @if closing.lines.is_empty() {
                tr {
                    th scope="row" { (closing.month) }
                    td { (day(&closing.closed_at)) }
                    td.num colspan="8" { "No MRR" }
                }
            }
            @for (at, line) in differing.iter().enumerate() {
                tr.difference {
                    th scope="row" { span.hidden-label { (closing.month) } }
                    td { @if at == 0 { "Change since closing" @if let Some(reasons) = &reasons { ", " (reasons) } } }
                    (amounts(line, true))
                }
            }
            @if let Some(differences) = differences {
                @for company in &differences.companies { (of_company(company)) }
                @if differences.more_companies > 0 {
                    tr.difference {
                        th scope="row" { span.hidden-label { (closing.month) } }
                        td colspan="9" { "and " (differences.more_companies) " more companies" }
                    }
                }
            }
            @if closing.differences.is_none() {
                tr.difference {
                    th scope="row" { span.hidden-label { (closing.month) } }
                    td colspan="9" { "Not comparable: the month was closed with other options or rates." }
                }
            }
        }
    }
}

fn of_company(company: &CompanyDifference) -> impl Renderable {
    let name = company.name.as_deref().unwrap_or(&company.company);
    maud! {
        @for line in company.lines.iter().filter(|line| !line.is_zero()) {
            tr.difference {
                th scope="row" {}
                td { a href=(record_address("companies", &company.company)) { (name) } }
                (amounts(line, true))
            }
        }
    }
}

/// The cells of the figures; a difference has a sign, and 0 is an empty cell.
fn amounts(line: &MonthFigures, is_difference: bool) -> impl Renderable {
    let shown = |amount: f64| match amount {
        amount if is_difference && amount == 0.0 => String::new(),
        amount if is_difference && amount > 0.0 => format!("+{}", money(amount, "")),
        amount => money(amount, ""),
    };
    let movements = line.movements();
    let cells: Vec<String> = movements.iter().map(|amount| shown(*amount)).collect();
    let customers = match line.customers {
        0 if is_difference => String::new(),
        count if is_difference => format!("{count:+}"),
        count => count.to_string(),
    };
    let currency = line.currency.clone();
    maud! {
        @for (at, cell) in cells.iter().enumerate() {
            td.num { @if at == 0 && !currency.is_empty() { span.muted { (currency) } " " } (cell) }
        }
        td.num { (customers) }
    }
}
