//! Facts of a customer, each computed where it is asked for: those that filter and sort are of all customers, the others
//! of a page.

use rust_decimal::Decimal;

use super::{
    at_stake::{AtStake, CustomerUsage, StakeFacts, Weights},
    calendar::Day,
    customer_status::status_of,
    customers::CustomerSources,
    ledger::License,
    license_chain::LinkedCompany,
    money_units::{CONVERTED_SCALE, number_of},
    overdue::overdue_of,
    renewals::notice_of,
    report_scope::ReportScope,
};
use crate::{resources::company_status::CompanyStatus, value::Number};

/// A company with licenses that count, and what its facts are computed from.
pub(super) struct CustomerFacts<'c> {
    pub(super) scope: &'c ReportScope<'c>,
    pub(super) linked: LinkedCompany<'c>,
    pub(super) usage: CustomerUsage,
    sources: CustomerSources<'c>,
    weights: &'c Weights,
}

/// The next renewal of a customer; all are none where no license is due.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NextRenewal {
    /// First day after the license.
    pub(super) end: Option<Day>,
    /// The last day of notice, if that is ahead.
    pub(super) notice: Option<Day>,
    /// Days to the nearer of both.
    pub(super) days: Option<i64>,
}

impl<'c> CustomerFacts<'c> {
    pub(super) fn new(
        scope: &'c ReportScope<'c>,
        linked: LinkedCompany<'c>,
        sources: CustomerSources<'c>,
        weights: &'c Weights,
    ) -> Self {
        Self { scope, linked, usage: (sources.usage_of)(linked.id), sources, weights }
    }

    pub(super) fn name(&self) -> Option<String> {
        (self.sources.name_of)(self.linked.id)
    }

    pub(super) fn status(&self) -> CompanyStatus {
        status_of(self.scope, &self.linked)
    }

    /// Licenses that are paid now.
    fn active(&self) -> impl Iterator<Item = &License> {
        let now = self.scope.options.now.as_ms();
        let licenses = self.linked.links.with_ends(self.linked.licenses);
        let active = licenses.filter(move |(license, end)| {
            license.from <= now && now < *end && self.scope.counts(license)
        });
        active.map(|(license, _)| license)
    }

    /// MRR now, by currency.
    pub(super) fn paid(&self) -> Vec<(u32, i128)> {
        by_currency(self.active().map(|license| (license.currency, license.mrr)))
    }

    /// MRR now, in the base currency.
    pub(super) fn mrr(&self) -> Option<Number> {
        self.in_base(&self.paid())
    }

    /// ARR now, in the base currency.
    pub(super) fn arr(&self) -> Option<Number> {
        let arr = self.active().map(|license| (license.currency, license.arr()));
        self.in_base(&by_currency(arr))
    }

    /// MRR of the overdue licenses, in the base currency.
    pub(super) fn overdue(&self) -> Option<Number> {
        let overdue = overdue_of(self.scope, &self.linked);
        self.in_base(&by_currency(overdue.map(|license| (license.currency, license.mrr))))
    }

    pub(super) fn overdue_licenses(&self) -> i64 {
        i64::try_from(overdue_of(self.scope, &self.linked).count()).unwrap_or(i64::MAX)
    }

    /// Sum of amounts of currencies, in the base currency; none where a rate is missing for one of them.
    fn in_base(&self, amounts: &[(u32, i128)]) -> Option<Number> {
        let scope = self.scope;
        let is_known = |(currency, amount): &(u32, i128)| *amount == 0 || scope.has_rate(*currency);
        let converts = scope.base.is_some() && amounts.iter().all(is_known);
        let sum =
            || amounts.iter().map(|(currency, amount)| amount * scope.last_rate(*currency)).sum();
        converts.then(|| number_of(sum(), CONVERTED_SCALE))
    }

    /// The next renewal among the ongoing fixed licenses without successor, also those that have not begun.
    pub(super) fn next_renewal(&self) -> NextRenewal {
        let (scope, zone) = (self.scope, self.scope.options.zone);
        let today = Day::at(scope.options.now, zone);
        let days_to = |day: Day| day.number() - today.number();
        let licenses = self.linked.licenses.iter().enumerate().filter(|(at, license)| {
            let undecided = license.expires() && license.is_ongoing();
            undecided && scope.counts(license) && self.linked.links.successor(*at).is_none()
        });
        let renewals = licenses.filter_map(|(_, license)| {
            let end = Day::at(license.end_time()?, zone);
            let notice =
                notice_of(scope, license).filter(|notice| *notice >= today && *notice <= end);
            Some((days_to(notice.unwrap_or(end)), end, notice))
        });
        let Some((days, end, notice)) = renewals.min() else { return NextRenewal::default() };
        NextRenewal { end: Some(end), notice, days: Some(days) }
    }

    /// Day on which a user was last active.
    pub(super) fn last_active(&self) -> Option<Day> {
        self.usage.last_active.map(|last| Day::at(last, self.scope.options.zone))
    }

    /// Amount at stake, with the numbers that it is computed from.
    pub(super) fn at_stake(&self) -> Option<AtStake> {
        self.stake_facts().map(|facts| facts.weigh(self.weights))
    }

    /// Amount at stake alone.
    pub(super) fn amount_at_stake(&self) -> Option<Number> {
        self.stake_facts().map(|facts| facts.amount(self.weights))
    }

    fn stake_facts(&self) -> Option<StakeFacts<'_>> {
        let amounts = [self.mrr()?, self.overdue()?];
        let mrr: Decimal =
            amounts.map(|amount| amount.as_decimal().max(Decimal::ZERO)).iter().sum();
        if mrr <= Decimal::ZERO {
            return None;
        }
        let renewal = self.next_renewal();
        Some(StakeFacts {
            mrr: mrr.into(),
            currency: self.scope.base.as_deref()?,
            days: renewal.days,
            is_notice: renewal.notice.is_some(),
            usage: self.sources.has_usage.then_some(&self.usage),
            tickets: self.usage.open_tickets,
            now: self.scope.options.now,
            zone: self.scope.options.zone,
        })
    }
}

/// Sums of amounts of adjacent currencies.
fn by_currency(amounts: impl Iterator<Item = (u32, i128)>) -> Vec<(u32, i128)> {
    let mut sums: Vec<(u32, i128)> = Vec::new();
    for (currency, amount) in amounts {
        match sums.last_mut() {
            Some((last, sum)) if *last == currency => *sum += amount,
            _ => sums.push((currency, amount)),
        }
    }
    sums
}
