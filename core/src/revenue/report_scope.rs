//! Options of a report, resolved for its licenses: periods, currencies, and exchange rates.

use std::{borrow::Cow, ops::Range};

use super::{
    calendar::IntervalBounds,
    capped_list::MAX_LISTED,
    conversion::MissingRate,
    error::ReportError,
    ledger::{Ledger, License, Reason},
    options::ReportOptions,
};
use crate::value::ObjectId;

/// Options of a report, resolved.
#[derive(Debug)]
pub(super) struct ReportScope<'r> {
    /// The licenses, on days of the report's zone.
    pub(super) ledger: Cow<'r, Ledger>,
    pub(super) options: &'r ReportOptions,
    pub(super) bounds: IntervalBounds,
    product: ProductFilter,
    /// The currencies that occur, by name.
    pub(super) currencies: Vec<u32>,
    /// Base currency, where there is one.
    pub(super) base: Option<String>,
    /// Rates by row and currency: one row for all, or that of the day before the report and one for the last day of
    /// each interval. 0 where a rate is missing, and none without a base currency.
    pub(super) rates: Option<Vec<Vec<i128>>>,
    pub(super) missing: Vec<MissingRate>,
    /// When the amounts of the report are due.
    pub(super) amounts: AmountTime,
}

/// When licenses have the amounts of a report; those of overdue ones are from earlier times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmountTime {
    /// At any time: a renewal or a forecast can be after the report, or long after its license.
    Any,
    /// In the days of the report.
    Report,
    /// The same, and in the year before, with which retention compares.
    ReportAndYearBefore,
    Now,
}

/// Filter of the licenses by product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProductFilter {
    Any,
    Only(u32),
    Unknown,
}

/// Licenses that a report leaves out, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Excluded {
    /// Reason for which the licenses are left out.
    pub reason: Reason,
    /// Ids of the licenses, the first [`MAX_LISTED`] of them.
    #[serde(serialize_with = "super::hex::many")]
    pub licenses: Vec<ObjectId>,
    /// Total number of the licenses.
    pub total: usize,
}

impl Excluded {
    /// Licenses that are left out for one reason, in the order of their ids; none where there are none.
    pub(super) fn of(reason: Reason, mut licenses: Vec<ObjectId>) -> Option<Self> {
        let total = licenses.len();
        licenses.sort_unstable();
        licenses.truncate(MAX_LISTED);
        (total > 0).then_some(Self { reason, licenses, total })
    }
}

impl<'r> ReportScope<'r> {
    pub(super) fn new(
        ledger: &'r Ledger,
        options: &'r ReportOptions,
        amounts: AmountTime,
    ) -> Result<Self, ReportError> {
        let bounds =
            IntervalBounds::between(options.from, options.to, options.interval, options.zone)?;
        Self::with(ledger, options, bounds, amounts)
    }

    /// Scope with the whole report as its only interval.
    pub(super) fn of_span(
        ledger: &'r Ledger,
        options: &'r ReportOptions,
        amounts: AmountTime,
    ) -> Result<Self, ReportError> {
        let bounds =
            IntervalBounds::around(options.from, options.to, options.interval, options.zone)?;
        Self::with(ledger, options, bounds, amounts)
    }

    fn with(
        ledger: &'r Ledger,
        options: &'r ReportOptions,
        bounds: IntervalBounds,
        amounts: AmountTime,
    ) -> Result<Self, ReportError> {
        options.check()?;
        let product = match &options.product {
            None => ProductFilter::Any,
            Some(name) => {
                ledger.product_number(name).map_or(ProductFilter::Unknown, ProductFilter::Only)
            }
        };
        let mut scope = Self {
            ledger: ledger.on_days_of(options.zone),
            options,
            bounds,
            product,
            currencies: Vec::new(),
            base: None,
            rates: None,
            missing: Vec::new(),
            amounts,
        };
        scope.find_currencies();
        scope.find_rates()?;
        Ok(scope)
    }

    /// Whether a license is of the product that counts.
    pub(super) fn counts(&self, license: &License) -> bool {
        match self.product {
            ProductFilter::Any => true,
            ProductFilter::Only(product) => license.product == product,
            ProductFilter::Unknown => false,
        }
    }

    /// The number of a currency that occurs.
    pub(super) fn number_of(&self, currency: &str) -> Option<u32> {
        let mut numbers = self.currencies.iter().copied();
        numbers.find(|number| self.ledger.currency(*number) == currency)
    }

    /// Number of a requested currency; none for all in the base currency.
    pub(super) fn asked_currency(
        &self,
        currency: Option<&str>,
    ) -> Result<Option<u32>, ReportError> {
        match currency.map(|currency| self.number_of(currency)) {
            Some(Some(number)) => Ok(Some(number)),
            None if self.converts() => Ok(None),
            None => Err(ReportError::NotConverted),
            Some(None) => Err(ReportError::UnknownCell("currency")),
        }
    }

    pub(super) fn has_product(&self) -> bool {
        self.product != ProductFilter::Any
    }

    fn find_currencies(&mut self) {
        let mut occurs = vec![false; self.ledger.currency_count()];
        for (_, licenses) in self.ledger.companies(self.options.company) {
            // Licenses of other products determine whether a company begins to pay or pays already.
            for license in licenses {
                if let Some(occurs) = occurs.get_mut(index(license.currency)) {
                    *occurs = true;
                }
            }
        }
        let numbers = (0_u32..).zip(occurs).filter(|(_, occurs)| *occurs);
        self.currencies = numbers.map(|(number, _)| number).collect();
        let ledger = &self.ledger;
        self.currencies.sort_by_key(|number| ledger.currency(*number));
    }

    /// Intervals at whose ends a number of windows are valued: each at its own, or a single one at the last.
    pub(super) fn intervals_of(&self, windows: usize) -> Range<usize> {
        self.bounds.len().saturating_sub(windows)..self.bounds.len()
    }

    /// The licenses that do not count, with their companies, by reason.
    pub(super) fn excluded_licenses(&self) -> impl Iterator<Item = &(Reason, ObjectId, ObjectId)> {
        let only = self.options.company;
        let excluded = self.ledger.excluded().iter();
        excluded.filter(move |(.., company)| only.is_none_or(|only| only == *company))
    }

    /// The licenses that do not count, by reason.
    pub(super) fn excluded(&self) -> Vec<Excluded> {
        let excluded: Vec<_> = self.excluded_licenses().collect();
        let of_reasons = excluded.chunk_by(|(one, ..), (other, ..)| one == other);
        let of_reason = |licenses: &[&(Reason, ObjectId, ObjectId)]| {
            let (reason, ..) = licenses.first()?;
            Excluded::of(*reason, licenses.iter().map(|(_, license, _)| *license).collect())
        };
        of_reasons.filter_map(of_reason).collect()
    }
}

/// Number of a currency as a place in a list.
pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
