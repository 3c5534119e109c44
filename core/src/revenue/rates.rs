//! Exchange rates to the base currency, by day.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use super::{calendar::Day, error::ReportError, money_units};
use crate::resources::settings::Currencies;

/// A base currency, and rates of other currencies: each from a day on, until the next one.
///
/// ```
/// use svctrack_core::revenue::{Day, ExchangeRates};
/// let mut rates = ExchangeRates::new("EUR");
/// rates.set("USD", Day::parse("2023-01-01").unwrap(), "0.92".parse().unwrap()).unwrap();
/// rates.set("USD", Day::parse("2024-06-01").unwrap(), "0.90".parse().unwrap()).unwrap();
/// assert_eq!(rates.on("USD", Day::parse("2024-05-31").unwrap()), Some("0.92".parse().unwrap()));
/// assert_eq!(rates.on("USD", Day::parse("2022-12-31").unwrap()), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeRates {
    base: String,
    always: BTreeMap<String, Decimal>,
    dated: BTreeMap<String, BTreeMap<Day, Decimal>>,
}

impl ExchangeRates {
    /// A base currency, and no rates yet.
    pub fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), always: BTreeMap::new(), dated: BTreeMap::new() }
    }

    /// The rates of a tenant's settings.
    ///
    /// # Errors
    /// [`ReportError::InvalidRate`] for a rate beyond 1,000,000,000.
    pub fn from_currencies(currencies: &Currencies) -> Result<Self, ReportError> {
        let mut rates = Self::new(currencies.base());
        for (currency, from, rate) in currencies.rates() {
            match from {
                Some(from) => rates.set(currency, from, rate)?,
                None => {
                    check(currency, rate)?;
                    rates.always.insert(currency.to_owned(), rate);
                }
            }
        }
        Ok(rates)
    }

    /// Sets the value of one unit of `currency` in the base currency from a day on; counts to 10 decimals.
    ///
    /// # Errors
    /// [`ReportError::InvalidRate`] for a rate that is not positive, or beyond 1,000,000,000.
    pub fn set(
        &mut self,
        currency: impl Into<String>,
        from: Day,
        rate: Decimal,
    ) -> Result<(), ReportError> {
        let currency = currency.into();
        check(&currency, rate)?;
        self.dated.entry(currency).or_default().insert(from, rate);
        Ok(())
    }

    /// The currency that amounts are converted into.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether no other currency has a rate.
    pub(super) fn is_empty(&self) -> bool {
        self.always.is_empty() && self.dated.is_empty()
    }

    /// Rate of a day: the last one set for it or a day before, never a later one.
    pub fn on(&self, currency: &str, day: Day) -> Option<Decimal> {
        if currency == self.base {
            return Some(Decimal::ONE);
        }
        let dated = self.dated.get(currency).and_then(|rates| rates.range(..=day).next_back());
        dated.map(|(_, rate)| *rate).or_else(|| self.always.get(currency).copied())
    }

    pub(super) fn units_on(&self, currency: &str, day: Day) -> Option<i128> {
        money_units::rate_units_of(self.on(currency, day)?)
    }
}

fn check(currency: &str, rate: Decimal) -> Result<(), ReportError> {
    let known = money_units::rate_units_of(rate);
    known.map(|_| ()).ok_or_else(|| ReportError::InvalidRate(currency.to_owned()))
}
