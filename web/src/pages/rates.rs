//! Base currency of the tenant, and the exchange rates into it: a form with a line for each rate.

use std::{collections::BTreeSet, iter};

use hypertext::prelude::*;

use super::{
    format::named_codes,
    page,
    parts::{ColumnHead, Problem, problems, table},
    shell::{Shell, csrf, hidden, layout},
};
use crate::page::Page;

/// Blank lines for more rates.
const BLANK_LINES: usize = 3;

/// A rate, as the form has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLine {
    pub currency: String,
    /// First day of the rate; empty for every day.
    pub from: String,
    /// Worth of one unit in the base currency.
    pub rate: String,
}

/// A base currency, and rates into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetRates {
    pub base: String,
    pub rates: Vec<RateLine>,
}

/// The currencies of the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RatesView {
    pub base: String,
    pub rates: Vec<RateLine>,
    /// Rates that somebody else has stored since the form was opened.
    pub stored_since: Option<SetRates>,
    /// Currencies of the licenses.
    pub licensed: Vec<String>,
    /// The setting that the form was filled from, as JSON.
    pub shown: String,
    /// Base currency for which the user was told to check the rates; empty where there was no need.
    pub checked: String,
    pub problems: Vec<Problem>,
}

/// Name of a field of a line, counted from 0, by which a problem leads to it.
pub fn field_of_line(name: &str, line: usize) -> String {
    format!("{name}-{line}")
}

/// Form of the base currency and the rates.
pub fn rates_page(shell: &Shell, view: &RatesView) -> Page {
    let blank = RateLine::default();
    let lines = view.rates.iter().chain(iter::repeat_n(&blank, BLANK_LINES));
    let rows = maud! {
        tbody.stacked {
            @for (at, line) in lines.clone().enumerate() {
                tr {
                    (cell(view, ("currency", "Currency"), at, &line.currency))
                    (cell(view, ("from", "Valid from"), at, &line.from))
                    (cell(view, ("rate", "Rate"), at, &line.rate))
                }
            }
        }
    };
    let of_base = view.problems.iter().find(|problem| problem.field == "base");
    let described = if of_base.is_some() { "h-base p-base" } else { "h-base" };
    let heads = ["Currency", "Valid from", "Rate"].map(ColumnHead::Text);
    let main = maud! {
        p.crumbs { a href="/app/settings" { "Settings" } }
        h1 { "Exchange rates" }
        p.muted {
            "Reports convert amounts into the base currency: all of a report at the rates of its last day, so that a "
            "new rate is no growth."
        }
        (problems(&view.problems))
        form.record method="post" action="/app/settings/rates" {
            (csrf(shell))
            (hidden("shown", &view.shown))
            @if !view.checked.is_empty() { (hidden("checked", &view.checked)) }
            div.field {
                label for="f-base" { "Base currency" }
                input #f-base name="base" value=(view.base) aria-describedby=(described) autocomplete="off" list="licensed"
                    aria-invalid=[of_base.map(|_| "true")];
                p.help id="h-base" { "A code such as EUR, as licenses have it." }
                @if let Some(problem) = of_base { p.bad id="p-base" { (problem.message) } }
            }
            datalist #licensed { @for currency in &view.licensed { option value=(currency) {} } }
            (notes(view))
            p.help {
                "A rate is what one unit of the currency is worth in the base currency: 0.92 where 1 USD is worth 0.92 EUR. "
                "It is valid from its day until the next one of the same currency, or always where it has no day. "
                "A line without a rate is removed."
            }
            (table("Exchange rates", heads, &rows))
            div.actions { button.main type="submit" { "Save" } }
        }
        @if let Some(stored) = &view.stored_since {
            h2 { "Stored now" }
            p { "Base currency: " @if stored.base.is_empty() { "none" } @else { (stored.base) } }
            (table("Stored exchange rates", heads, &stored_rows(&stored.rates)))
        }
    };
    page(layout(shell, "Exchange rates", main))
}

fn stored_rows(rates: &[RateLine]) -> impl Renderable + '_ {
    maud! {
        tbody.stacked {
            @for line in rates {
                tr {
                    td data-label="Currency" { (line.currency) }
                    td data-label="Valid from" { (line.from) }
                    td data-label="Rate" { (line.rate) }
                }
            }
        }
    }
}

/// What the licenses need that the rates do not have: codes that differ in case are different currencies.
fn notes(view: &RatesView) -> impl Renderable + '_ {
    let is_known = |code: &String| {
        *code == view.base
            || view.rates.iter().any(|line| line.currency == *code && !line.rate.is_empty())
    };
    let without: Vec<_> = view.licensed.iter().filter(|code| !is_known(code)).collect();
    // A currency may have a rate before its first license: only one that differs in case is named.
    let is_misspelled = |code: &&str| {
        let is_like = |licensed: &String| licensed.eq_ignore_ascii_case(code);
        view.licensed.iter().any(is_like) && !view.licensed.iter().any(|licensed| licensed == code)
    };
    let rated = view.rates.iter().map(|line| line.currency.as_str());
    let misspelled: BTreeSet<_> =
        iter::once(view.base.as_str()).chain(rated).filter(is_misspelled).collect();
    maud! {
        @if !view.licensed.is_empty() {
            p.help { "Licenses have amounts in " (named_codes(&view.licensed)) "." }
            @if view.base.is_empty() && view.licensed.len() > 1 {
                p.hint { "No base currency: reports give each currency, and no total." }
            } @else if !view.base.is_empty() && !without.is_empty() {
                p.hint { "No rate: " (named_codes(&without)) ". Reports give no converted total without these rates." }
            }
            @if !misspelled.is_empty() {
                p.hint { "No license has amounts in " (named_codes(&misspelled)) ": currency codes are case-sensitive." }
            }
        }
    }
}

/// Input of a line, with what is wrong with it below.
fn cell<'v>(
    view: &'v RatesView,
    (name, label): (&'static str, &'static str),
    at: usize,
    value: &'v str,
) -> impl Renderable + 'v {
    let id = field_of_line(name, at);
    let problem = view.problems.iter().find(|problem| problem.field == id);
    let kind = if name == "from" { "date" } else { "text" };
    let mode = (name == "rate").then_some("decimal");
    let known = (name == "currency").then_some("licensed");
    maud! {
        td data-label=(label) {
            div.input {
                input id={ "f-" (id) } type=(kind) name=(name) aria-label=(label) value=(value) inputmode=[mode] list=[known]
                    aria-invalid=[problem.map(|_| "true")] aria-describedby=[problem.map(|_| format!("p-{id}"))]
                    autocomplete="off";
                @if let Some(problem) = problem { p.bad id={ "p-" (id) } { (problem.message) } }
            }
        }
    }
}
