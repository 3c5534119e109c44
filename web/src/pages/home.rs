//! The first page: each figure leads to its records.

use hypertext::prelude::*;
use svctrack_core::value::counted;

use super::{
    address::address,
    customers::{CustomerLine, UnrankedCustomers, customer_table, no_customers, unranked_note},
    excluded::{ExcludedTotal, endless, excluded_note, not_fixed},
    page,
    parts::{chart, empty, prose},
    report::{FiguresLeftOut, left_out},
    shell::{Shell, layout},
};
use crate::page::Page;

/// A figure with its trend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    pub label: &'static str,
    pub value: String,
    pub note: String,
    /// Address of the page that explains the figure; empty where there is none.
    pub path: String,
}

/// The licenses that end soon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenewalsAhead {
    pub licenses: usize,
    pub overdue: usize,
    /// MRR by currency, as text.
    pub mrr: String,
    /// Ongoing licenses that end in the same days without a fixed period.
    pub not_fixed: Option<ExcludedTotal>,
    /// Ongoing licenses with a fixed period and no end.
    pub endless: Option<ExcludedTotal>,
}

/// Setup step of a new tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupStep {
    /// Nothing has been sent yet.
    Nothing,
    /// An event was sent that could not be stored yet.
    Parked,
    /// Activities are stored, and there are no licenses.
    Unpaid,
}

/// Contents of the first page; parts that the token may not see are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HomeView {
    pub figures: Vec<Figure>,
    /// Licenses that MRR leaves out.
    pub excluded: Option<ExcludedTotal>,
    /// Currencies without a rate, where amounts have no total.
    pub no_total: FiguresLeftOut,
    /// The address of the picture of the last twelve months.
    pub picture: Option<String>,
    pub at_stake: Option<Vec<CustomerLine>>,
    pub unranked: Option<UnrankedCustomers>,
    pub renewals: Option<RenewalsAhead>,
    /// Issues for senders, the newest first: each with how often.
    pub issues: Option<Vec<(String, String)>>,
    /// Number of parked events.
    pub parked: u64,
    /// Setup step of a new tenant; none once there are licenses.
    pub start: Option<SetupStep>,
    /// Whether a demo is offered as well.
    pub offers_demo: bool,
    /// Whether the token may import companies and licenses.
    pub may_import: bool,
    /// Whether the token lacks the scope of the reports.
    pub lacks_reports: bool,
}

/// The first page, with the figures and lists that lead to all others.
pub fn home_page(shell: &Shell, view: &HomeView) -> Page {
    let main = maud! {
        h1 { "Today" }
        @match view.start {
            Some(SetupStep::Nothing) => (empty("Nothing has arrived yet.", maud! {
                "Put the " a href="/app/setup" { "snippet" } " into your web app, or "
                a href="/docs/first-event" { "send a first event" } "."
                @if view.may_import {
                    " From a spreadsheet, import " a href="/app/import/companies" { "companies" } " and "
                    a href="/app/import/licenses" { "licenses" } "."
                }
            })),
            Some(SetupStep::Parked) => (empty("Events were sent, but none could be stored yet.", maud! {
                "See the " a href="/app/issues" { "issues" } "."
            })),
            Some(SetupStep::Unpaid) => (empty("Events arrive.", maud! {
                "Add " (shell.link("licenses", "/app/records/licenses", "licenses")) " to see MRR and renewals."
            })),
            None => (""),
        }
        @if view.lacks_reports { (without_reports(shell)) }
        @if view.offers_demo {
            p { "To look around first, open the " a href="/app/demo" { "demo" } " with data of an invented company." }
        }
        div.figures {
            @for figure in &view.figures {
                a.figure href=(figure.path) {
                    span.figure-label { (figure.label) }
                    strong { (figure.value) }
                    span.muted { (figure.note) }
                }
            }
        }
        (left_out(shell, &view.no_total))
        @if let Some(excluded) = &view.excluded { (excluded_note(shell, excluded)) }
        @if let Some(picture) = &view.picture {
            section aria-labelledby="h-mrr" {
                h2 #h-mrr { a href="/app/reports/mrr" { "MRR of the last 12 months" } }
                (chart(picture, "MRR and its movements by month"))
            }
        }
        @if let Some(lines) = &view.at_stake { (stake(shell, lines, view.unranked.as_ref())) }
        @if let Some(renewals) = &view.renewals { (ahead(shell, renewals)) }
        @if let Some(issues) = &view.issues { (senders(issues, view.parked)) }
    };
    page(layout(shell, "Today", main))
}

/// Text for a token that may not see the reports: what it may see, and what it would need.
fn without_reports(shell: &Shell) -> impl Renderable {
    // These say nothing about customers.
    let others = ["/", "/docs", "/app/health"];
    let seen = shell.sections.iter().filter(|section| !others.contains(&section.path.as_str()));
    let seen: Vec<_> = seen.enumerate().collect();
    maud! {
        @if !seen.is_empty() {
            p {
                "Your token shows "
                @for (at, section) in &seen {
                    @if *at > 0 { ", " }
                    a href=(section.path) { (section.label) }
                }
                "."
            }
        }
        p { "Revenue and usage need the scope " code { "reports:read" } ": ask an administrator for a token with it." }
    }
}

fn stake<'v>(
    shell: &'v Shell,
    lines: &'v [CustomerLine],
    unranked: Option<&'v UnrankedCustomers>,
) -> impl Renderable + 'v {
    maud! {
        section aria-labelledby="h-stake" {
            h2 #h-stake { a href="/app/customers" { "At stake" } }
            @if lines.is_empty() {
                (no_customers(shell))
            } @else {
                @if let Some(unranked) = unranked { (unranked_note(unranked, true)) }
                (customer_table(shell, lines, ""))
            }
        }
    }
}

fn ahead<'v>(shell: &'v Shell, renewals: &'v RenewalsAhead) -> impl Renderable + 'v {
    maud! {
        section aria-labelledby="h-renewals" {
            h2 #h-renewals { a href="/app/renewals" { "Renewals of the next 90 days" } }
            p {
                @if renewals.licenses == 0 {
                    "None due"
                } @else {
                    strong { (renewals.licenses) } @if renewals.licenses == 1 { " license" } @else { " licenses" } " with an MRR of " strong { (renewals.mrr) }
                }
                @if renewals.overdue > 0 {
                    "; " strong { (renewals.overdue) } " overdue"
                }
                "."
            }
            @if let Some(licenses) = &renewals.not_fixed { (not_fixed(shell, licenses)) }
            @if let Some(licenses) = &renewals.endless { (endless(shell, licenses)) }
        }
    }
}

fn senders(issues: &[(String, String)], parked: u64) -> impl Renderable {
    maud! {
        section aria-labelledby="h-issues" {
            h2 #h-issues { a href="/app/issues" { "Integration issues" } }
            @if parked > 0 {
                p {
                    strong { (counted(parked, "event")) } @if parked == 1 { " is" } @else { " are" }
                    " parked: stored, but not processed yet. "
                    a href=(address("/app/issues", &[], &[("parked[gte]", "1")])) { "See what is missing" }
                }
            }
            @if issues.is_empty() {
                p.muted { "None." }
            } @else {
                ul.plain {
                    @for (message, count) in issues {
                        li { (prose(message)) " " span.muted { (count) } }
                    }
                }
            }
        }
    }
}
