//! Customers, the largest amount at stake first, each with the formula in numbers.

use hypertext::prelude::*;
use serde::Deserialize;

use super::{
    format::{day, label_of, money, percent},
    page,
    parts::{Head, Paging, badge, empty, paging, table},
    renewals::distance,
    shell::{Shell, layout, record_address, title_bar},
};
use crate::page::Page;

/// A customer, as the report returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CustomerLine {
    pub company: String,
    /// Base currency of the report, of `mrr` and of the amount at stake.
    #[serde(skip)]
    pub base: String,
    pub name: Option<String>,
    pub status: String,
    pub currencies: Vec<CurrencyMrr>,
    pub mrr: Option<f64>,
    pub next_renewal: Option<String>,
    pub notice_deadline: Option<String>,
    pub days: Option<i64>,
    pub last_active: Option<String>,
    pub activity_state: Option<String>,
    pub users_active: u64,
    pub beat_trend: f64,
    pub open_tickets: u64,
    pub at_stake: Option<Stake>,
}

/// MRR of a customer in a currency.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CurrencyMrr {
    pub currency: String,
    pub mrr: f64,
}

/// Amount at stake, and why.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stake {
    pub amount: f64,
    pub text: String,
}

impl Stake {
    /// Reasons, without the amounts before them.
    fn why(&self) -> &str {
        self.text.split_once(": ").map_or(&self.text, |(_, why)| why)
    }
}

/// The page of customers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomersView {
    pub lines: Vec<CustomerLine>,
    pub paging: Paging,
    /// Chosen order, and all possible ones.
    pub sort: String,
    pub sorts: Vec<&'static str>,
    pub csv: String,
}

/// Customers with their amounts at stake.
pub fn customers_page(shell: &Shell, view: &CustomersView) -> Page {
    let actions = maud! { a.button href=(view.csv) download { "CSV" } };
    let main = maud! {
        (title_bar("Customers", &actions))
        p.muted {
            "MRR at stake: MRR weighted by the nearness of the renewal and the trend of usage. "
            a href="/docs/revenue" { "The formula" }
        }
        form.choices method="get" {
            div {
                label for="c-sort" { "Order" }
                select #c-sort name="sort" {
                    @for sort in &view.sorts {
                        option value=(sort) selected=[(*sort == view.sort).then_some("")] { (order_of(sort)) }
                    }
                }
            }
            button type="submit" { "Show" }
        }
        @if view.lines.is_empty() {
            (empty("No customers yet.", "Add licenses to see customers and their MRR."))
        } @else {
            (customer_table(&view.lines))
            (paging(&view.paging))
        }
    };
    page(layout(shell, "Customers", main))
}

/// Text of an order: `-mrr` as `MRR, greatest first`.
fn order_of(sort: &str) -> String {
    match sort.strip_prefix('-') {
        Some(name) => format!("{}, highest first", label_of(name)),
        None => label_of(sort),
    }
}

/// MRR of a customer: in the base currency, else in each.
fn paid(line: &CustomerLine) -> String {
    match (line.mrr, line.currencies.as_slice()) {
        (_, [only]) => money(only.mrr, &only.currency),
        (Some(mrr), _) => money(mrr, &line.base),
        (None, each) => {
            let each: Vec<String> = each.iter().map(|it| money(it.mrr, &it.currency)).collect();
            each.join(", ")
        }
    }
}

pub(super) fn customer_table(lines: &[CustomerLine]) -> impl Renderable {
    let rows = maud! {
        tbody { @for line in lines { (customer_row(line)) } }
    };
    table(
        "Customers",
        [
            Head::Text("Company"),
            Head::Text("Status"),
            Head::Number("MRR"),
            Head::Number("At stake"),
            Head::Text("Why"),
            Head::Number("Renewal"),
            Head::Text("Activity"),
            Head::Number("Trend"),
            Head::Number("Users active"),
            Head::Number("Tickets"),
        ],
        rows,
    )
}

fn customer_row(line: &CustomerLine) -> impl Renderable {
    let name = line.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&line.company);
    maud! {
        tr {
            th scope="row" { a href=(record_address("companies", &line.company)) { (name) } }
            td { (badge(&line.status)) }
            td.num { (paid(line)) }
            td.num { @if let Some(stake) = &line.at_stake { (money(stake.amount, &line.base)) } }
            td.why { @if let Some(stake) = &line.at_stake { (stake.why()) } }
            td.num {
                @if let Some(renewal) = &line.next_renewal { (day(renewal)) }
                @if let Some(days) = line.days {
                    br; small.muted {
                        @if days == -1 {
                            "overdue by 1 day"
                        } @else if days < 0 {
                            "overdue by " (-days) " days"
                        } @else {
                            @if line.notice_deadline.is_some() { "last day of notice " }
                            (distance(days))
                        }
                    }
                }
            }
            td {
                @if let Some(state) = &line.activity_state { (badge(state)) }
                @if let Some(last) = &line.last_active { br; small.muted { (day(last)) } }
            }
            td.num { (percent(line.beat_trend)) }
            td.num { (line.users_active) }
            td.num { (line.open_tickets) }
        }
    }
}
