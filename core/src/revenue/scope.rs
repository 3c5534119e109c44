//! Options of a report, resolved for its licenses: periods, currencies, and exchange rates.

use std::ops::Range;

use super::{
    calendar::{Day, IntervalBounds},
    capped_list::MAX_LISTED,
    error::ReportError,
    ledger::{Ledger, License, Reason},
    money_units,
    options::{ReportOptions, Valuation},
    rates::ExchangeRates,
};
use crate::value::ObjectId;

/// Options of a report, resolved.
#[derive(Debug)]
pub(super) struct ReportScope<'r> {
    pub(super) ledger: &'r Ledger,
    pub(super) options: &'r ReportOptions,
    pub(super) bounds: IntervalBounds,
    product: ProductFilter,
    /// The currencies that occur, by name.
    pub(super) currencies: Vec<u32>,
    /// Base currency, where there is one.
    pub(super) base: Option<String>,
    /// Rates by row and currency: one row for all, or that of the day before the report and one for the last day of
    /// each interval. 0 where a rate is missing, and none without a base currency.
    rates: Option<Vec<Vec<i128>>>,
    pub(super) missing: Vec<MissingRate>,
}

/// Filter of the licenses by product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProductFilter {
    Any,
    Only(u32),
    Unknown,
}

/// A currency without a rate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MissingRate {
    /// The currency that cannot be converted.
    pub currency: String,
    /// First day without a rate.
    pub day: Day,
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
    pub(super) fn new(ledger: &'r Ledger, options: &'r ReportOptions) -> Result<Self, ReportError> {
        let bounds =
            IntervalBounds::between(options.from, options.to, options.interval, options.zone)?;
        Self::with(ledger, options, bounds)
    }

    /// Scope with the whole report as its only interval.
    pub(super) fn of_span(
        ledger: &'r Ledger,
        options: &'r ReportOptions,
    ) -> Result<Self, ReportError> {
        let bounds =
            IntervalBounds::around(options.from, options.to, options.interval, options.zone)?;
        Self::with(ledger, options, bounds)
    }

    fn with(
        ledger: &'r Ledger,
        options: &'r ReportOptions,
        bounds: IntervalBounds,
    ) -> Result<Self, ReportError> {
        options.check()?;
        let product = match &options.product {
            None => ProductFilter::Any,
            Some(name) => {
                ledger.product_number(name).map_or(ProductFilter::Unknown, ProductFilter::Only)
            }
        };
        let mut scope = Self {
            ledger,
            options,
            bounds,
            product,
            currencies: Vec::new(),
            base: None,
            rates: None,
            missing: Vec::new(),
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
        let ledger = self.ledger;
        self.currencies.sort_by_key(|number| ledger.currency(*number));
    }

    fn find_rates(&mut self) -> Result<(), ReportError> {
        let days = self.rate_days();
        let day = self.options.to.before();
        // A single currency is added up without rates, whatever the base of the settings is (R28).
        let is_plain =
            |rates: &&ExchangeRates| rates.may_be_replaced() && self.currencies.len() == 1;
        let Some(rates) = self.options.rates.as_ref().filter(|rates| !is_plain(rates)) else {
            let name = |number: &u32| self.ledger.currency(*number).to_owned();
            if let [one] = self.currencies.as_slice() {
                self.base = Some(name(one));
                self.rates = Some(vec![vec![money_units::ONE; self.ledger.currency_count()]]);
            } else {
                let names = self.currencies.iter().map(name);
                self.missing = names.map(|currency| MissingRate { currency, day }).collect();
            }
            return self.check_amounts();
        };
        self.base = Some(rates.base().to_owned());
        let mut rows = vec![vec![0; self.ledger.currency_count()]; days.len()];
        for number in &self.currencies {
            let currency = self.ledger.currency(*number);
            let known = days.iter().map(|day| (*day, rates.units_on(currency, *day)));
            for ((day, rate), row) in known.zip(&mut rows) {
                match (rate, row.get_mut(index(*number))) {
                    (Some(rate), Some(cell)) => *cell = rate,
                    _ => {
                        self.missing.push(MissingRate { currency: currency.to_owned(), day });
                        break;
                    }
                }
            }
        }
        self.rates = Some(rows);
        self.check_amounts()
    }

    /// The days of the rows of rates.
    fn rate_days(&self) -> Vec<Day> {
        match self.options.valuation {
            Valuation::Constant => {
                vec![self.options.rate_date.unwrap_or(self.options.to.before())]
            }
            Valuation::Dated => self.bounds.last_days().collect(),
        }
    }

    fn check_amounts(&self) -> Result<(), ReportError> {
        let rates = self.rates.iter().flatten().flatten();
        let most = rates.copied().fold(money_units::ONE, i128::max);
        let fits = money_units::is_addable(self.ledger.total(), most);
        fits.then_some(()).ok_or(ReportError::AmountTooLarge)
    }

    /// Whether there is a total in the base currency.
    pub(super) fn converts(&self) -> bool {
        self.rates.is_some() && self.missing.is_empty()
    }

    /// Whether a currency can be converted, on each day that counts.
    pub(super) fn has_rate(&self, currency: u32) -> bool {
        let name = self.ledger.currency(currency);
        self.base.is_some() && self.missing.iter().all(|missing| missing.currency != name)
    }

    /// An amount in another currency, at the rates of an interval's end; none where a rate is missing, or the amount
    /// would be too large.
    pub(super) fn exchanged(
        &self,
        interval: usize,
        amount: i128,
        (from, to): (u32, u32),
    ) -> Option<i128> {
        if from == to {
            return Some(amount);
        }
        let known = self.has_rate(from) && self.has_rate(to);
        let rates = known.then(|| (self.rate(interval, from), self.rate(interval, to)));
        rates.and_then(|(from, to)| money_units::exchanged(amount, from, to))
    }

    /// Whether rates change from interval to interval.
    pub(super) fn is_dated(&self) -> bool {
        self.rates.as_ref().is_some_and(|rows| rows.len() > 1)
    }

    /// Rate of a currency at the end of an interval; 0 where there is none.
    pub(super) fn rate(&self, interval: usize, currency: u32) -> i128 {
        self.row(interval + 1, currency)
    }

    /// Rate at the start of an interval: the rate at the end of the previous interval.
    pub(super) fn rate_before(&self, interval: usize, currency: u32) -> i128 {
        self.row(interval, currency)
    }

    /// The rate at the end of the report.
    pub(super) fn last_rate(&self, currency: u32) -> i128 {
        self.row(self.bounds.len(), currency)
    }

    /// Intervals at whose ends a number of windows are valued: each at its own, or a single one at the last.
    pub(super) fn intervals_of(&self, windows: usize) -> Range<usize> {
        self.bounds.len().saturating_sub(windows)..self.bounds.len()
    }

    fn row(&self, row: usize, currency: u32) -> i128 {
        let rows = self.rates.as_deref().unwrap_or_default();
        let row = rows.get(row).or_else(|| rows.last());
        row.and_then(|row| row.get(index(currency))).copied().unwrap_or_default()
    }

    /// The licenses that do not count, with their companies, by reason.
    pub(super) fn excluded_licenses(
        &self,
    ) -> impl Iterator<Item = &'r (Reason, ObjectId, ObjectId)> + use<'r> {
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
