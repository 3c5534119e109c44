//! Customers, the largest amount at stake first, each with the formula in numbers.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::value::counted;

use super::{
    excluded::{ExcludedTotal, excluded_note},
    format::{day, label_of, money, named_codes, percent},
    page,
    parts::{ColumnHead, Paging, Problem, badge, empty, paging, past_end, problems, table},
    renewals::distance,
    report::{Choice, MissingRates, choice_field, no_rates},
    saved_views::{SavedViews, saved_views},
    shell::{Shell, layout, title_bar},
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
    /// Team member who owns the customer relation.
    #[serde(skip)]
    pub owner: String,
    pub status: String,
    pub currencies: Vec<CurrencyMrr>,
    pub mrr: Option<f64>,
    /// MRR of overdue licenses, which `mrr` leaves out.
    pub overdue: Option<f64>,
    pub next_renewal: Option<String>,
    pub notice_deadline: Option<String>,
    pub days: Option<i64>,
    pub last_active: Option<String>,
    pub activity_state: Option<String>,
    /// Users active in the last 14 days.
    pub users_active: u64,
    pub beat_trend: f64,
    pub open_tickets: u64,
    pub at_stake: Option<MrrAtStake>,
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
pub struct MrrAtStake {
    pub amount: f64,
    /// MRR with that of overdue licenses.
    pub mrr: f64,
    pub nearness: f64,
    pub points: f64,
    pub base_points: f64,
    pub idle_points: f64,
    pub users_points: f64,
    pub beats_points: f64,
    pub ticket_points: f64,
    pub text: String,
}

impl MrrAtStake {
    /// Reasons, without the amounts before them.
    pub(super) fn why(&self) -> &str {
        self.text.split_once(": ").map_or(&self.text, |(_, why)| why)
    }
}

/// Customers without an amount at stake, as it cannot be converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnrankedCustomers {
    /// Currencies without a rate.
    pub currencies: Vec<String>,
    pub may_set_rates: bool,
}

/// Sentence on customers without an amount at stake, whatever they pay.
pub(super) fn unranked_note(unranked: &UnrankedCustomers, come_last: bool) -> impl Renderable + '_ {
    maud! {
        p.hint {
            "Customers who pay in " (named_codes(&unranked.currencies))
            @if come_last { " come last: without" } @else { ": without" }
            " an exchange rate, they have no amount at stake."
            @if unranked.may_set_rates { " " a href="/app/settings/rates" { "Add exchange rates" } }
        }
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
    /// Filters, each with its chosen value.
    pub filters: Vec<Choice>,
    /// Choice of the currency of the amounts.
    pub currency: Choice,
    pub missing_rates: Option<MissingRates>,
    /// Licenses that the amounts leave out.
    pub excluded: Option<ExcludedTotal>,
    pub unranked: Option<UnrankedCustomers>,
    pub csv: String,
    /// Whether a filter leaves out customers.
    pub is_filtered: bool,
    /// Filters, order and currency that are not the default ones.
    pub query: Vec<(&'static str, String)>,
    pub views: SavedViews,
    pub problems: Vec<Problem>,
}

/// Customers with their amounts at stake.
pub fn customers_page(shell: &Shell, view: &CustomersView) -> Page {
    let actions = maud! { a.button href=(view.csv) download { "CSV" } };
    let query: Vec<_> = view.query.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let main = maud! {
        (title_bar("Customers", &actions))
        p.muted {
            "MRR at stake: MRR weighted by the nearness of the renewal and the trend of usage. "
            a href="/docs/revenue" { "The formula" }
        }
        (saved_views(shell, &view.views, &query))
        (problems(&view.problems))
        form.choices method="get" {
            @for filter in &view.filters { (choice_field(filter)) }
            div {
                label for="c-sort" { "Order" }
                select #c-sort name="sort" {
                    @for sort in &view.sorts {
                        option value=(sort) selected=[(*sort == view.sort).then_some("")] { (order_of(sort)) }
                    }
                }
            }
            (choice_field(&view.currency))
            button type="submit" { "Show" }
        }
        @if let Some(missing) = &view.missing_rates {
            (no_rates(missing))
        } @else if view.lines.is_empty() {
            @if let Some(last) = view.paging.last_page() {
                (past_end(last))
            } @else if view.is_filtered {
                (empty("No matching customers.", maud! { a href="/app/customers" { "Show all customers" } }))
            } @else {
                (no_customers(shell))
            }
        } @else {
            @if let Some(unranked) = &view.unranked { (unranked_note(unranked, view.sort == "-atStake")) }
            (customer_table(shell, &view.lines, &view.currency.value))
            (paging(&view.paging))
        }
        @if let Some(excluded) = &view.excluded { (excluded_note(shell, excluded)) }
    };
    page(layout(shell, "Customers", main))
}

/// Text where there are no customers.
pub(super) fn no_customers(shell: &Shell) -> impl Renderable {
    empty(
        "No customers yet.",
        maud! {
            "Add " (shell.link("licenses", "/app/records/licenses", "licenses")) " to see customers and their MRR."
        },
    )
}

/// Text of an order: `-mrr` as `MRR, highest first`.
fn order_of(sort: &str) -> String {
    let (name, is_descending) = sort.strip_prefix('-').map_or((sort, false), |name| (name, true));
    let order = match (name, is_descending) {
        ("name", false) => "A to Z",
        ("name", true) => "Z to A",
        ("nextRenewal" | "lastActive", false) => "earliest first",
        ("nextRenewal" | "lastActive", true) => "latest first",
        (_, false) => "lowest first",
        (_, true) => "highest first",
    };
    format!("{}, {order}", label_of(name))
}

/// MRR of a customer: in the chosen currency or the base currency, else in each.
fn paid(line: &CustomerLine, chosen: &str) -> String {
    match (line.mrr, line.currencies.as_slice()) {
        (Some(mrr), _) if !chosen.is_empty() => money(mrr, chosen),
        (_, [only]) => money(only.mrr, &only.currency),
        (Some(mrr), _) => money(mrr, &line.base),
        (None, each) => {
            let each: Vec<String> = each.iter().map(|it| money(it.mrr, &it.currency)).collect();
            each.join(", ")
        }
    }
}

/// Customers, with amounts in a chosen currency; each in its own where none is chosen.
pub(super) fn customer_table<'l>(
    shell: &'l Shell,
    lines: &'l [CustomerLine],
    currency: &'l str,
) -> impl Renderable + 'l {
    // A column only where it tells customers apart.
    let has_status = lines.windows(2).any(|two| matches!(two, [a, b] if a.status != b.status));
    let rows = maud! {
        tbody.stacked { @for line in lines { (customer_row(shell, line, currency, has_status)) } }
    };
    table(
        "Customers",
        [
            Some(ColumnHead::Text("Company")),
            has_status.then_some(ColumnHead::Text("Status")),
            Some(ColumnHead::Number("MRR")),
            Some(ColumnHead::Number("At stake")),
            Some(ColumnHead::Text("Why")),
            Some(ColumnHead::Number("Renewal")),
            Some(ColumnHead::Text("Activity")),
            Some(ColumnHead::Number("Tickets")),
        ]
        .into_iter()
        .flatten(),
        rows,
    )
}

fn customer_row<'l>(
    shell: &'l Shell,
    line: &'l CustomerLine,
    currency: &'l str,
    has_status: bool,
) -> impl Renderable + 'l {
    let name = line.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&line.company);
    maud! {
        tr {
            th scope="row" {
                (shell.record_link("companies", &line.company, name))
                @if !line.owner.is_empty() { br; small.muted { "Owner: " (line.owner) } }
            }
            @if has_status { td data-label="Status" { (badge(&line.status)) } }
            td.num data-label="MRR" { (paid(line, currency)) }
            td.num data-label="At stake" { @if let Some(stake) = &line.at_stake { (money(stake.amount, &line.base)) } }
            td.why data-label="Why" { @if let Some(stake) = &line.at_stake { (stake.why()) } }
            td.num data-label="Renewal" { div { (renewal(line)) } }
            td data-label="Activity" {
                div {
                    span.nowrap {
                        @if let Some(state) = &line.activity_state { (badge(state)) }
                        " " (percent(line.beat_trend))
                    }
                    br;
                    small.muted.nowrap {
                        (counted(line.users_active, "user"))
                        @if let Some(last) = &line.last_active { ", " (day(last)) }
                    }
                }
            }
            td.num data-label="Tickets" { (line.open_tickets) }
        }
    }
}

fn renewal(line: &CustomerLine) -> impl Renderable {
    maud! {
        @if let Some(renewal) = &line.next_renewal { (day(renewal)) }
        @if let Some(days) = line.days {
            br; small.muted {
                @if days < 0 {
                    "overdue by " (counted(-days, "day"))
                } @else {
                    @if line.notice_deadline.is_some() { "notice " }
                    (distance(days))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_shown_with_what_comes_first() {
        for (sort, words) in [
            ("-atStake", "At stake, highest first"),
            ("name", "Name, A to Z"),
            ("-name", "Name, Z to A"),
            ("nextRenewal", "Next renewal, earliest first"),
            ("mrr", "MRR, lowest first"),
        ] {
            assert_eq!(order_of(sort), words);
        }
    }
}
