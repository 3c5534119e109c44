//! Conversion of amounts to the base currency of a report: which day's rate counts, and which currencies have none.

use std::cell::LazyCell;

use super::{
    calendar::Day,
    error::ReportError,
    ledger::License,
    money_units,
    options::Valuation,
    rates::ExchangeRates,
    report_scope::{AmountTime, ReportScope, index},
};
use crate::value::time::DAY_MS;

/// No year is longer.
const YEAR_MS: i64 = 366 * DAY_MS;

/// A currency without a rate.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MissingRate {
    /// The currency that cannot be converted.
    pub currency: String,
    /// First day without a rate.
    pub day: Day,
}

impl ReportScope<'_> {
    /// Looks up the rates of the currencies that occur, and notes those without one.
    pub(super) fn find_rates(&mut self) -> Result<(), ReportError> {
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
        // Looked up only where a rate is missing.
        let needed = LazyCell::new(|| self.needed_currencies());
        let mut missing = Vec::new();
        let mut rows = vec![vec![0; self.ledger.currency_count()]; days.len()];
        for number in &self.currencies {
            let currency = self.ledger.currency(*number);
            let known = days.iter().map(|day| (*day, rates.units_on(currency, *day)));
            for ((day, rate), row) in known.zip(&mut rows) {
                let at = index(*number);
                let is_needed = || needed.get(at).is_none_or(|is_needed| *is_needed);
                match (rate, row.get_mut(at)) {
                    (Some(rate), Some(cell)) => *cell = rate,
                    // All amounts are 0 at any rate, and a company that paid before has paid.
                    (None, Some(cell)) if !is_needed() => *cell = money_units::ONE,
                    _ => {
                        missing.push(MissingRate { currency: currency.to_owned(), day });
                        break;
                    }
                }
            }
        }
        (self.rates, self.missing) = (Some(rows), missing);
        self.check_amounts()
    }

    /// By currency, whether a license in it can have an amount in the report.
    fn needed_currencies(&self) -> Vec<bool> {
        let mut needed = vec![false; self.ledger.currency_count()];
        for (_, licenses) in self.ledger.companies(self.options.company) {
            // Whether the sum of a refund and of an amount in another currency is a payment depends on the rate.
            let has_refund = licenses.iter().any(|license| license.mrr < 0);
            for license in licenses.iter().filter(|it| has_refund || self.has_amount(it)) {
                if let Some(needed) = needed.get_mut(index(license.currency)) {
                    *needed = true;
                }
            }
        }
        needed
    }

    /// Whether the license is running in the time of the report, or is overdue.
    fn has_amount(&self, license: &License) -> bool {
        let now = self.options.now.as_ms();
        let (starts, ends) = (self.bounds.starts(), self.bounds.ends());
        let (first, last) = match (self.amounts, starts.first().zip(ends.last())) {
            (AmountTime::Report, Some((first, last))) => (*first, *last),
            (AmountTime::ReportAndYearBefore, Some((first, last))) => {
                (first.saturating_sub(YEAR_MS), *last)
            }
            (AmountTime::Now, _) => (now, now.saturating_add(1)),
            (AmountTime::Any, _) | (_, None) => return true,
        };
        // A gap to a later license is bridged, and the days of a zone begin at other times.
        let bridged = DAY_MS * (i64::from(self.options.gap_days) + 1);
        let has_ended = license.end < first.saturating_sub(bridged);
        let is_overdue = license.expires() && license.is_ongoing();
        license.from < last && (!has_ended || is_overdue)
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

    fn row(&self, row: usize, currency: u32) -> i128 {
        let rows = self.rates.as_deref().unwrap_or_default();
        let row = rows.get(row).or_else(|| rows.last());
        row.and_then(|row| row.get(index(currency))).copied().unwrap_or_default()
    }
}
