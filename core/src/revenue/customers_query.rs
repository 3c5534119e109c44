//! Filters and order of the report of customers.

use std::cmp::Ordering;

use rust_decimal::Decimal;

use super::{calendar::Day, customer_facts::CustomerFacts, customers::trend, error::ReportError};
use crate::value::{Number, ObjectId};

/// Values of a company's properties, in the order in which they were requested.
pub type CompanyAttributesLookup<'a> = &'a dyn Fn(ObjectId) -> Vec<Option<String>>;
/// Whether a company meets the filters by its properties.
pub type CompanyFilter<'a> = &'a dyn Fn(ObjectId) -> bool;

/// Page of the customers, its filters and its order: by default the first page of all, the largest amount at stake
/// first.
#[derive(Clone, Debug)]
pub struct CustomerPage {
    pub(super) sort: CustomerSort,
    pub(super) status: Option<&'static str>,
    pub(super) activity_state: Option<&'static str>,
    /// Maximum number of customers on the page.
    pub limit: usize,
    /// Number of customers before the page.
    pub offset: usize,
}

/// An order of customers; the largest amount at stake first by default.
#[derive(Clone, Copy, Debug)]
pub(super) struct CustomerSort {
    property: &'static str,
    descending: bool,
}

impl Default for CustomerSort {
    fn default() -> Self {
        Self { property: "atStake", descending: true }
    }
}

/// A value by which customers are sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CustomerSortKey {
    Number(Number),
    Text(String),
}

impl Default for CustomerPage {
    fn default() -> Self {
        Self {
            sort: CustomerSort::default(),
            status: None,
            activity_state: None,
            limit: Self::LIMIT,
            offset: 0,
        }
    }
}

impl CustomerPage {
    /// Customers of a page by default.
    pub const LIMIT: usize = 100;
    /// Maximum number of customers on a page.
    pub const MAX_LIMIT: u32 = 5_000;
    /// Statuses that customers can be filtered by.
    pub const STATUSES: &'static [&'static str] = &["customer", "coming", "canceled", "lost"];
    /// Orders that customers can be sorted in.
    pub const SORTS: &'static [&'static str] = &[
        "atStake",
        "-atStake",
        "name",
        "-name",
        "mrr",
        "-mrr",
        "arr",
        "-arr",
        "overdue",
        "-overdue",
        "nextRenewal",
        "-nextRenewal",
        "days",
        "-days",
        "lastActive",
        "-lastActive",
        "usersActive",
        "-usersActive",
        "usersTrend",
        "-usersTrend",
        "beats",
        "-beats",
        "beatTrend",
        "-beatTrend",
        "openTickets",
        "-openTickets",
    ];

    pub(super) fn sort_of(text: &str) -> Result<CustomerSort, ReportError> {
        let unknown = || ReportError::UnknownChoice("sort", Self::SORTS, text.to_owned());
        let known = Self::SORTS.iter().find(|known| **known == text).ok_or_else(unknown)?;
        let (property, descending) =
            known.strip_prefix('-').map_or((*known, false), |property| (property, true));
        Ok(CustomerSort { property, descending })
    }

    /// Whether a customer passes the filters.
    pub(super) fn matches(&self, customer: &CustomerFacts<'_>) -> bool {
        let state = self.activity_state;
        state.is_none_or(|state| customer.usage.activity_state == Some(state))
            && self.status.is_none_or(|status| customer.status().name() == status)
    }
}

impl CustomerSort {
    /// Compares values of two customers; those without one are last in either direction.
    pub(super) fn compare(
        self,
        a: &Option<CustomerSortKey>,
        b: &Option<CustomerSortKey>,
    ) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    /// The value of a customer by which it is sorted.
    pub(super) fn key(self, customer: &CustomerFacts<'_>) -> Option<CustomerSortKey> {
        let usage = &customer.usage;
        let count = |count: u64| Some(Decimal::from(count).into());
        let day = |day: Option<Day>| day.map(|day| Decimal::from(day.number()).into());
        let number: Option<Number> = match self.property {
            "name" => return customer.name().map(CustomerSortKey::Text),
            "mrr" => customer.mrr(),
            "arr" => customer.arr(),
            "overdue" => customer.overdue(),
            "nextRenewal" => day(customer.next_renewal().end),
            "days" => customer.next_renewal().days.map(|days| Decimal::from(days).into()),
            "lastActive" => day(customer.last_active()),
            "usersActive" => count(usage.users_active[0]),
            "usersTrend" => Some(trend(usage.users_active)),
            "beats" => count(usage.beats[0]),
            "beatTrend" => Some(trend(usage.beats)),
            "openTickets" => count(usage.open_tickets.iter().sum()),
            _ => customer.amount_at_stake(),
        };
        number.map(CustomerSortKey::Number)
    }
}
