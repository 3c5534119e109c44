//! The report of customers: one row per company with MRR, renewal, usage and MRR at stake.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::{
    at_stake::{AtStake, CustomerUsage, Weights},
    calendar::Day,
    capped_list::CappedList,
    customer_facts::{CustomerFacts, NextRenewal},
    customers_query::CustomerPage,
    error::ReportError,
    hex,
    ledger::Ledger,
    license_chain::{each_linked, each_linked_of},
    money_units::money,
    options::ReportOptions,
    report_header::ReportHeader,
    report_scope::{AmountTime, ReportScope},
    table::{TableRow, TextTable},
};
use crate::{
    resources::company_status::CompanyStatus,
    value::{Number, ObjectId},
};

/// Usage of the product by a company, from the caller.
pub type CustomerUsageLookup<'u> = &'u dyn Fn(ObjectId) -> CustomerUsage;
/// The name of a company.
pub type CompanyNameLookup<'n> = &'n dyn Fn(ObjectId) -> Option<String>;

/// Facts of customers that are not in the ledger.
#[derive(Clone, Copy)]
pub struct CustomerSources<'s> {
    /// Usage of each company.
    pub usage_of: CustomerUsageLookup<'s>,
    /// Whether a user of the tenant was ever active. Without, inactivity adds no points.
    pub has_usage: bool,
    /// The name of each company.
    pub name_of: CompanyNameLookup<'s>,
}

/// Customers, the largest amount at stake first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Customers {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// Whether usage is known: `known`, or `unknown` where no user was ever active.
    pub usage: &'static str,
    /// Maximum number of points of a customer.
    pub most_points: Number,
    /// Companies whose licenses are all excluded, which have no row: the first [`super::MAX_LISTED`] of them.
    #[serde(serialize_with = "hex::many")]
    pub excluded_companies: Vec<ObjectId>,
    /// How many companies have only excluded licenses.
    pub excluded_companies_total: usize,
    /// Number of customers on all pages.
    pub total: usize,
    /// Customers of this page.
    pub rows: Vec<Customer>,
}

/// A company with a license that counts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Customer {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Name of the company, where the caller gives it.
    pub name: Option<String>,
    /// Status of the company (R29).
    pub status: CompanyStatus,
    /// MRR now, by currency.
    pub currencies: Vec<CurrencyAmount>,
    /// MRR now, in the base currency; null where a rate is missing for a currency of the company.
    pub mrr: Option<Number>,
    /// ARR now, in the base currency: the sum of the yearly amounts of the licenses.
    pub arr: Option<Number>,
    /// MRR of licenses that are past, and still ongoing, in the base currency.
    pub overdue: Option<Number>,
    /// Number of the overdue licenses.
    pub overdue_licenses: i64,
    /// The end of the ongoing fixed license that is decided next.
    pub next_renewal: Option<Day>,
    /// Last day of notice, if the license renews automatically and that day is ahead.
    pub notice_deadline: Option<Day>,
    /// Days to the nearer of the renewal and the last day of notice; negative where it is overdue.
    pub days: Option<i64>,
    /// Day on which a user was last active.
    pub last_active: Option<Day>,
    /// Activity state of the company.
    pub activity_state: Option<String>,
    /// Users active in the last 14 days.
    pub users_active: u64,
    /// Difference of the active users from the 14 days before, as a share of the larger number (R52).
    pub users_trend: Number,
    /// Beats of the last 14 days.
    pub beats: u64,
    /// Difference of the beats from the 14 days before, as a share of the larger number.
    pub beat_trend: Number,
    /// Tickets of the company that are open.
    pub open_tickets: u64,
    /// Amount at stake; null for a company that pays nothing, or in a currency without a rate.
    pub at_stake: Option<AtStake>,
}

/// MRR of a customer in one currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrencyAmount {
    /// Currency of `mrr`.
    pub currency: String,
    /// MRR in the currency.
    pub mrr: Number,
}

/// A page of the companies with licenses, of a product if one is requested, as they are at `now`. Companies without a
/// value to sort by are last, and equal ones in the order of their ids.
///
/// # Errors
/// When an option is invalid.
pub fn customers(
    ledger: &Ledger,
    options: &ReportOptions,
    sources: CustomerSources<'_>,
    weights: &Weights,
    page: &CustomerPage,
) -> Result<Customers, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::Now)?;
    let mut ranked = Vec::new();
    // With a product, those who have had it.
    let has_one = |licenses: &[_]| licenses.iter().any(|license| scope.counts(license));
    each_linked(&scope, has_one, |linked| {
        let facts = CustomerFacts::new(&scope, linked, sources, weights);
        if page.matches(&facts) {
            ranked.push((page.sort.key(&facts), linked.id));
        }
    });
    ranked.sort_unstable_by(|(a, a_id), (b, b_id)| page.sort.compare(a, b).then(a_id.cmp(b_id)));
    let total = ranked.len();
    let listed = ranked.into_iter().map(|(_, id)| id).skip(page.offset).take(page.limit);
    let mut rows = Vec::new();
    each_linked_of(&scope, listed, |linked| {
        rows.push(Customer::from_facts(&CustomerFacts::new(&scope, linked, sources, weights)));
    });
    let excluded = excluded_companies(&scope);
    Ok(Customers {
        about: ReportHeader::from_scope(&scope),
        excluded_companies: excluded.first,
        excluded_companies_total: excluded.total,
        usage: if sources.has_usage { "known" } else { "unknown" },
        most_points: weights.max_points().into(),
        total,
        rows,
    })
}

/// Companies whose licenses are all excluded, in the order of their ids.
fn excluded_companies(scope: &ReportScope<'_>) -> CappedList<ObjectId> {
    let companies: BTreeSet<ObjectId> = scope.excluded_licenses().map(|(.., id)| *id).collect();
    let mut list = CappedList::default();
    for company in companies {
        if scope.ledger.companies(Some(company)).next().is_none() {
            list.push(|| company);
        }
    }
    list
}

impl Customer {
    fn from_facts(facts: &CustomerFacts<'_>) -> Self {
        let (scope, usage) = (facts.scope, &facts.usage);
        let mut currencies: Vec<CurrencyAmount> = facts
            .paid()
            .into_iter()
            .filter(|(_, mrr)| *mrr != 0)
            .map(|(currency, mrr)| CurrencyAmount {
                currency: scope.ledger.currency(currency).to_owned(),
                mrr: money(mrr),
            })
            .collect();
        currencies.sort_by(|a, b| a.currency.cmp(&b.currency));
        let NextRenewal { end, notice, days } = facts.next_renewal();
        Self {
            company: facts.linked.id,
            name: facts.name(),
            status: facts.status(),
            currencies,
            mrr: facts.mrr(),
            arr: facts.arr(),
            overdue: facts.overdue(),
            overdue_licenses: facts.overdue_licenses(),
            next_renewal: end,
            notice_deadline: notice,
            days,
            last_active: facts.last_active(),
            activity_state: usage.activity_state.map(str::to_owned),
            users_active: usage.users_active[0],
            users_trend: trend(usage.users_active),
            beats: usage.beats[0],
            beat_trend: trend(usage.beats),
            open_tickets: usage.open_tickets.iter().sum(),
            at_stake: facts.at_stake(),
        }
    }
}

/// The change of a number as a share of the larger of both, 4 decimals (R52).
pub(super) fn trend([now, before]: [u64; 2]) -> Number {
    let change = Decimal::from(now) - Decimal::from(before);
    let share = change.checked_div(Decimal::from(now.max(before))).unwrap_or_default();
    let away = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
    share.round_dp_with_strategy(4, away).normalize().into()
}

impl Customers {
    /// The rows as text.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "company",
            "name",
            "status",
            "currencies",
            "currency",
            "mrr",
            "arr",
            "overdue",
            "overdueLicenses",
            "nextRenewal",
            "noticeDeadline",
            "days",
            "lastActive",
            "activityState",
            "usersActive",
            "usersTrend",
            "beats",
            "beatTrend",
            "openTickets",
            "atStake",
            "nearness",
            "points",
            "explanation",
        ]);
        let currency = self.about.base_currency.as_deref().unwrap_or_default();
        for row in &self.rows {
            let stake = row.at_stake.as_ref();
            let cells = TableRow::default().text(row.company).option(row.name.as_ref());
            let paid = row.currencies.iter().map(|paid| format!("{} {}", paid.currency, paid.mrr));
            let cells = cells.text(row.status.name()).text(paid.collect::<Vec<_>>().join("; "));
            let cells = cells.text(currency);
            let cells = cells.money_option(row.mrr, currency).money_option(row.arr, currency);
            let cells = cells.money_option(row.overdue, currency).text(row.overdue_licenses);
            let cells = cells.option(row.next_renewal).option(row.notice_deadline).option(row.days);
            let cells = cells.option(row.last_active).option(row.activity_state.as_ref());
            let cells = cells.text(row.users_active).text(row.users_trend);
            let cells = cells.text(row.beats).text(row.beat_trend).text(row.open_tickets);
            let cells = cells.money_option(stake.map(|stake| stake.amount), currency);
            let cells = cells
                .option(stake.map(|stake| stake.nearness))
                .option(stake.map(|stake| stake.points));
            table.push(cells.option(stake.map(|stake| &stake.text)));
        }
        table.noted(&self.about.note())
    }
}
