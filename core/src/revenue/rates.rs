//! Exchange rates to the base currency, by day.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Whether the base was requested, so that no other currency replaces it.
    is_base_requested: bool,
    undated: BTreeMap<String, Decimal>,
    dated: BTreeMap<String, BTreeMap<Day, Decimal>>,
}

impl ExchangeRates {
    /// A base currency, and no rates yet.
    pub fn new(base: impl Into<String>) -> Self {
        let (undated, dated) = (BTreeMap::new(), BTreeMap::new());
        Self { base: base.into(), is_base_requested: false, undated, dated }
    }

    /// The rates of a tenant's settings.
    ///
    /// # Errors
    /// [`ReportError::InvalidRate`] for a rate that is not from 0.0000000001 to 1,000,000,000.
    pub fn from_currencies(currencies: &Currencies) -> Result<Self, ReportError> {
        let mut rates = Self::new(currencies.base());
        for (currency, from, rate) in currencies.rates() {
            match from {
                Some(from) => rates.set(currency, from, rate)?,
                None => {
                    check(currency, rate)?;
                    rates.undated.insert(currency.to_owned(), rate);
                }
            }
        }
        Ok(rates)
    }

    /// Sets the value of one unit of `currency` in the base currency from a day on; counts to 10 decimals.
    ///
    /// # Errors
    /// [`ReportError::InvalidRate`] for a rate that is not from 0.0000000001 to 1,000,000,000.
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

    /// The same rates for another base currency, which a caller requested: each is divided by the rate of that
    /// currency. On a day without a rate of it, no currency has one.
    ///
    /// ```
    /// use svctrack_core::revenue::{Day, ExchangeRates};
    /// let day = Day::parse("2024-01-01").unwrap();
    /// let mut rates = ExchangeRates::new("EUR");
    /// rates.set("USD", day, "0.8".parse().unwrap()).unwrap();
    /// assert_eq!(rates.with_base("USD").on("EUR", day), Some("1.25".parse().unwrap()));
    /// assert_eq!(rates.with_base("SEK").on("EUR", day), None);
    /// ```
    pub fn with_base(&self, base: &str) -> Self {
        let mut rates = Self { is_base_requested: true, ..Self::new(base) };
        let known = self.undated.keys().chain(self.dated.keys()).chain([&self.base]);
        for currency in known.filter(|currency| *currency != base).collect::<BTreeSet<_>>() {
            let of_both = [currency, base].map(|name| self.dated.get(name));
            for day in of_both.into_iter().flatten().flat_map(BTreeMap::keys) {
                let rate = quotient(self.on(currency, *day), self.on(base, *day));
                let dated = rates.dated.entry(currency.clone()).or_default();
                dated.extend(rate.map(|rate| (*day, rate)));
            }
            let rate = quotient(self.undated(currency), self.undated(base));
            rates.undated.extend(rate.map(|rate| (currency.clone(), rate)));
        }
        rates
    }

    fn undated(&self, currency: &str) -> Option<Decimal> {
        let is_base = currency == self.base;
        if is_base { Some(Decimal::ONE) } else { self.undated.get(currency).copied() }
    }

    /// The currency that amounts are converted into.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether no other currency has a rate, and the base may be replaced by the only currency of the licenses.
    pub(super) fn may_be_replaced(&self) -> bool {
        self.undated.is_empty() && self.dated.is_empty() && !self.is_base_requested
    }

    /// Rate of a day: the last one set for it or a day before, never a later one.
    pub fn on(&self, currency: &str, day: Day) -> Option<Decimal> {
        if currency == self.base {
            return Some(Decimal::ONE);
        }
        let dated = self.dated.get(currency).and_then(|rates| rates.range(..=day).next_back());
        dated.map(|(_, rate)| *rate).or_else(|| self.undated.get(currency).copied())
    }

    pub(super) fn units_on(&self, currency: &str, day: Day) -> Option<i128> {
        money_units::rate_units_of(self.on(currency, day)?)
    }
}

fn quotient(rate: Option<Decimal>, of_base: Option<Decimal>) -> Option<Decimal> {
    rate?.checked_div(of_base?)
}

fn check(currency: &str, rate: Decimal) -> Result<(), ReportError> {
    let known = money_units::rate_units_of(rate);
    known.map(|_| ()).ok_or_else(|| ReportError::InvalidRate(currency.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::parse(text).unwrap()
    }

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn rates_for_another_base_are_those_of_the_day_divided_by_its_own() {
        let mut rates = ExchangeRates::new("EUR");
        rates.undated.insert("GBP".to_owned(), decimal("1.2"));
        for (currency, from, rate) in [
            ("USD", "2023-01-01", "0.8"),
            ("USD", "2024-01-01", "0.5"),
            ("SEK", "2023-06-01", "0.1"),
        ] {
            rates.set(currency, day(from), decimal(rate)).unwrap();
        }
        let in_dollars = rates.with_base("USD");
        let in_pounds = rates.with_base("GBP");
        for at in ["2022-12-31", "2023-01-01", "2023-06-01", "2023-12-31", "2024-01-01"] {
            let at = day(at);
            for currency in ["EUR", "USD", "GBP", "SEK", "JPY"] {
                for (other, base) in [(&in_dollars, "USD"), (&in_pounds, "GBP")] {
                    let expect = quotient(rates.on(currency, at), rates.on(base, at));
                    let is_base = currency == base;
                    let expect = if is_base { Some(Decimal::ONE) } else { expect };
                    assert_eq!(other.on(currency, at), expect, "{currency} in {base} at {at}");
                }
            }
        }
        assert_eq!(in_dollars.on("EUR", day("2024-05-01")), Some(decimal("2")));
    }
}
