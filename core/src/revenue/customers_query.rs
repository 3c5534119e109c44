//! Filters and order of the report of customers.

use std::cmp::Ordering;

use rust_decimal::Decimal;

use super::{
    customers::{CompanyNameLookup, Customer, Customers},
    error::ReportError,
};
use crate::value::{Number, ObjectId};

/// Values of a company's properties, in the order in which they were requested.
pub type CompanyAttributesLookup<'a> = &'a dyn Fn(ObjectId) -> Vec<Option<String>>;
/// Whether a company meets the filters by its properties.
pub type CompanyFilter<'a> = &'a dyn Fn(ObjectId) -> bool;

/// Page of the customers, its filters and its order.
#[derive(Clone, Debug)]
pub struct CustomerPage {
    pub(super) sort: CustomerSort,
    pub(super) status: Option<&'static str>,
    pub(super) activity_state: Option<&'static str>,
    pub(super) limit: usize,
    pub(super) offset: usize,
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
enum CustomerSortKey {
    Number(Number),
    Text(String),
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

    /// Applies the filters, the order and the page to the customers.
    pub(super) fn apply(&self, customers: &mut Customers, name_of: CompanyNameLookup<'_>) {
        customers.rows.retain(|row| self.matches(row));
        customers.total = customers.rows.len();
        for row in &mut customers.rows {
            row.name = name_of(row.company);
        }
        // Customers of equal rank are in the order of their ids, in either direction.
        customers
            .rows
            .sort_by(|a, b| self.sort.compare(a, b).then_with(|| a.company.cmp(&b.company)));
        let rows = std::mem::take(&mut customers.rows).into_iter();
        customers.rows = rows.skip(self.offset).take(self.limit).collect();
    }

    fn matches(&self, row: &Customer) -> bool {
        let state = self.activity_state;
        self.status.is_none_or(|status| row.status.name() == status)
            && state.is_none_or(|state| row.activity_state.as_deref() == Some(state))
    }
}

impl CustomerSort {
    fn compare(self, a: &Customer, b: &Customer) -> Ordering {
        match (self.key(a), self.key(b)) {
            (Some(a), Some(b)) if self.descending => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    fn key(self, row: &Customer) -> Option<CustomerSortKey> {
        let count = |count: u64| CustomerSortKey::Number(Decimal::from(count).into());
        let day = |day: Option<super::Day>| day.map(|day| CustomerSortKey::Text(day.to_string()));
        match self.property {
            "name" => row.name.clone().map(CustomerSortKey::Text),
            "mrr" => row.mrr.map(CustomerSortKey::Number),
            "arr" => row.arr.map(CustomerSortKey::Number),
            "overdue" => row.overdue.map(CustomerSortKey::Number),
            "nextRenewal" => day(row.next_renewal),
            "days" => row.days.map(|days| CustomerSortKey::Number(Decimal::from(days).into())),
            "lastActive" => day(row.last_active),
            "usersActive" => Some(count(row.users_active)),
            "usersTrend" => Some(CustomerSortKey::Number(row.users_trend)),
            "beats" => Some(count(row.beats)),
            "beatTrend" => Some(CustomerSortKey::Number(row.beat_trend)),
            "openTickets" => Some(count(row.open_tickets)),
            _ => row.at_stake.as_ref().map(|stake| CustomerSortKey::Number(stake.amount)),
        }
    }
}
