//! The report of customers: one row per company with MRR, renewal, usage and MRR at stake.

use std::{cmp::Reverse, collections::BTreeSet};

use rust_decimal::Decimal;

use super::{
    at_stake::{AtStake, CustomerUsage, StakeFacts, Weights},
    calendar::Day,
    capped_list::CappedList,
    company_mrr::{CompanyMrr, each_company},
    error::ReportError,
    hex,
    ledger::Ledger,
    license_chain::LinkedCompany,
    money_units::{CONVERTED_SCALE, money, number_of},
    options::ReportOptions,
    overdue::overdue_of,
    renewals::notice_of,
    report_header::ReportHeader,
    report_scope::ReportScope,
    status::status_of,
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

/// Companies with licenses, of a product if one is requested, as they are at `now`: the largest amount at stake first,
/// companies without a rate last, and equal ones in the order of their ids. Without `has_usage`, the tenant has no
/// activity at all, and inactivity adds no points.
///
/// # Errors
/// When an option is invalid.
pub fn customers(
    ledger: &Ledger,
    options: &ReportOptions,
    usage_of: CustomerUsageLookup<'_>,
    has_usage: bool,
    weights: &Weights,
) -> Result<Customers, ReportError> {
    let scope = ReportScope::new(ledger, options)?;
    let mut lines: Vec<(Customer, CustomerUsage)> = Vec::new();
    each_company(&scope, |company| {
        // With a product, those who have had it.
        if !company.linked.licenses.iter().any(|license| scope.counts(license)) {
            return;
        }
        let usage = usage_of(company.linked.id);
        lines.push((Customer::new(&scope, company, &usage), usage));
    });
    let mut rows: Vec<Customer> = lines
        .into_iter()
        .map(|(customer, usage)| customer.weighed(&scope, &usage, has_usage, weights))
        .collect();
    rows.sort_by_key(|row| (Reverse(row.at_stake.as_ref().map(|stake| stake.amount)), row.company));
    let excluded = excluded_companies(&scope);
    Ok(Customers {
        about: ReportHeader::from_scope(&scope),
        excluded_companies: excluded.first,
        excluded_companies_total: excluded.total,
        usage: if has_usage { "known" } else { "unknown" },
        most_points: weights.max_points().into(),
        total: rows.len(),
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
    fn new(scope: &ReportScope<'_>, company: &CompanyMrr<'_>, usage: &CustomerUsage) -> Self {
        let now = scope.options.now.as_ms();
        let just_after = now.saturating_add(1);
        let ledger = scope.ledger;
        let paid: Vec<(u32, i128)> = company
            .parts
            .iter()
            .map(|(currency, stream)| (*currency, stream.paid_before(just_after).counted))
            .collect();
        let mut currencies: Vec<CurrencyAmount> = paid
            .iter()
            .filter(|(_, mrr)| *mrr != 0)
            .map(|(currency, mrr)| CurrencyAmount {
                currency: ledger.currency(*currency).to_owned(),
                mrr: money(*mrr),
            })
            .collect();
        currencies.sort_by(|a, b| a.currency.cmp(&b.currency));
        let active =
            company.linked.links.with_ends(company.linked.licenses).filter(|(license, end)| {
                license.from <= now && now < *end && scope.counts(license)
            });
        let arr: Vec<_> = active.map(|(license, _)| (license.currency, license.arr())).collect();
        let overdue: Vec<_> = overdue_of(scope, &company.linked)
            .map(|license| (license.currency, license.mrr))
            .collect();
        let (next_renewal, notice_deadline, days) = renewal_of(scope, &company.linked);
        Self {
            company: company.linked.id,
            name: None,
            status: status_of(scope, &company.linked),
            currencies,
            mrr: in_base(scope, &paid),
            arr: in_base(scope, &arr),
            overdue: in_base(scope, &overdue),
            overdue_licenses: i64::try_from(overdue.len()).unwrap_or(i64::MAX),
            next_renewal,
            notice_deadline,
            days,
            last_active: usage.last_active.map(|last| Day::at(last, scope.options.zone)),
            activity_state: usage.activity_state.clone(),
            users_active: usage.users_active[0],
            users_trend: trend(usage.users_active),
            beats: usage.beats[0],
            beat_trend: trend(usage.beats),
            open_tickets: usage.open_tickets.iter().sum(),
            at_stake: None,
        }
    }

    /// Adds the amount at stake.
    fn weighed(
        mut self,
        scope: &ReportScope<'_>,
        usage: &CustomerUsage,
        is_known: bool,
        weights: &Weights,
    ) -> Self {
        let (Some(mrr), Some(overdue), Some(currency)) = (self.mrr, self.overdue, &scope.base)
        else {
            return self;
        };
        let mrr = mrr.as_decimal().max(Decimal::ZERO) + overdue.as_decimal().max(Decimal::ZERO);
        let case = StakeFacts {
            mrr: mrr.into(),
            currency,
            days: self.days,
            is_notice: self.notice_deadline.is_some(),
            usage: is_known.then_some(usage),
            tickets: usage.open_tickets,
            now: scope.options.now,
            zone: scope.options.zone,
        };
        self.at_stake = (mrr > Decimal::ZERO).then(|| case.weigh(weights));
        self
    }
}

/// Sum of amounts of currencies, in the base currency; none where a rate is missing for one of them.
fn in_base(scope: &ReportScope<'_>, amounts: &[(u32, i128)]) -> Option<Number> {
    let is_known = |(currency, amount): &(u32, i128)| *amount == 0 || scope.has_rate(*currency);
    let converts = scope.base.is_some() && amounts.iter().all(is_known);
    let sum = amounts.iter().map(|(currency, amount)| amount * scope.last_rate(*currency)).sum();
    converts.then(|| number_of(sum, CONVERTED_SCALE))
}

/// The next renewal among the ongoing fixed licenses without successor, also those that have not begun: its end, its last
/// day of notice if that is ahead, and the days to the nearer of both.
fn renewal_of(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
) -> (Option<Day>, Option<Day>, Option<i64>) {
    let zone = scope.options.zone;
    let now = scope.options.now;
    let today = Day::at(now, zone);
    let days_to = |day: Day| day.number() - today.number();
    let licenses = company.licenses.iter().enumerate().filter(|(at, license)| {
        let undecided = license.expires() && license.is_ongoing();
        undecided && scope.counts(license) && company.links.successor(*at).is_none()
    });
    let renewals = licenses.filter_map(|(_, license)| {
        let end = Day::at(license.end_time()?, zone);
        let notice = notice_of(scope, license).filter(|notice| *notice >= today && *notice <= end);
        Some((days_to(notice.unwrap_or(end)), end, notice))
    });
    match renewals.min() {
        Some((days, end, notice)) => (Some(end), notice, Some(days)),
        None => (None, None, None),
    }
}

/// The change of a number as a share of the larger of both, 4 decimals (R52).
fn trend([now, before]: [u64; 2]) -> Number {
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
