//! Base currency of the tenant, and the exchange rates into it: a form with a line for each rate.

use std::iter;

use hypertext::prelude::*;

use super::{
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

/// The currencies of the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RatesView {
    pub base: String,
    pub rates: Vec<RateLine>,
    /// The setting that the form was filled from, as JSON.
    pub shown: String,
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
    let problem_of = |field: &str| view.problems.iter().find(|problem| problem.field == field);
    let is_invalid = |field: &str| problem_of(field).map(|_| "true");
    let said = |field: &str| {
        let message = problem_of(field).map(|problem| problem.message.clone());
        maud! { @if let Some(message) = &message { p.bad { (message) } } }
    };
    let rows = maud! {
        tbody.stacked {
            @for (at, line) in lines.clone().enumerate() {
                @let [currency, from, rate] = ["currency", "from", "rate"].map(|name| field_of_line(name, at));
                tr {
                    td data-label="Currency" {
                        div.input {
                            input id={ "f-" (currency) } name="currency" aria-label="Currency" value=(line.currency) autocomplete="off"
                                aria-invalid=[is_invalid(&currency)];
                            (said(&currency))
                        }
                    }
                    td data-label="Valid from" {
                        div.input {
                            input id={ "f-" (from) } type="date" name="from" aria-label="Valid from" value=(line.from)
                                aria-invalid=[is_invalid(&from)];
                            (said(&from))
                        }
                    }
                    td data-label="Rate" {
                        div.input {
                            input id={ "f-" (rate) } name="rate" aria-label="Rate" value=(line.rate) inputmode="decimal" autocomplete="off"
                                aria-invalid=[is_invalid(&rate)];
                            (said(&rate))
                        }
                    }
                }
            }
        }
    };
    let heads = ["Currency", "Valid from", "Rate"].map(ColumnHead::Text);
    let main = maud! {
        p.crumbs { a href="/app/settings" { "Settings" } }
        h1 { "Exchange rates" }
        p.muted { "Reports convert amounts into the base currency, at these rates." }
        (problems(&view.problems))
        form.record method="post" action="/app/settings/rates" {
            (csrf(shell))
            (hidden("shown", &view.shown))
            div.field {
                label for="f-base" { "Base currency" }
                input #f-base name="base" value=(view.base) aria-describedby="h-base" autocomplete="off"
                    aria-invalid=[is_invalid("base")];
                p.help id="h-base" { "A code such as EUR, as licenses have it." }
            }
            p.help {
                "A rate is what one unit of the currency is worth in the base currency: 0.92 where 1 USD is worth 0.92 EUR. "
                "It is valid from its day until the next one of the same currency, or always where it has no day. "
                "A line without a rate is removed."
            }
            (table("Exchange rates", heads, &rows))
            div.actions { button.main type="submit" { "Save" } }
        }
    };
    page(layout(shell, "Exchange rates", main))
}
