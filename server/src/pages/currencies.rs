//! The currency that a user chooses for the amounts of a report.

use std::collections::BTreeSet;

use serde::Deserialize;
use svctrack_core::resources::settings::Currencies;
use svctrack_web::pages::{Choice, MissingRates, address};

use super::{submitted_form::sent, visit::Visit};
use crate::error::Error;

/// Parameter of the currency.
pub(super) const CURRENCY: &str = "baseCurrency";

/// A report, as far as its currencies are needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    currencies: Vec<PaidCurrency>,
}

/// A currency of licenses, with what is paid in it.
#[derive(Deserialize)]
struct PaidCurrency {
    currency: String,
    rows: Vec<PaidAmounts>,
}

#[derive(Deserialize)]
struct PaidAmounts {
    end: f64,
    overdue: f64,
}

/// Currencies of the licenses.
pub(super) struct LicenseCurrencies {
    pub(super) all: Vec<String>,
    /// Those in which customers pay now, or owe.
    pub(super) paid: Vec<String>,
}

/// A currency among the others of a report.
#[derive(Deserialize)]
pub(super) struct CurrencyName {
    pub(super) currency: String,
    /// First day without a rate, of a currency that lacks one.
    day: Option<String>,
}

impl CurrencyName {
    /// The currency without a rate; with the day, where it has rates of other days.
    pub(super) fn missing(self, visit: &Visit) -> String {
        let rates = Currencies::from_settings(&visit.settings);
        let mut rates = rates.iter().flat_map(Currencies::rates);
        match self.day.filter(|_| rates.any(|(rated, ..)| *rated == *self.currency)) {
            Some(day) => format!("{} on {day}", self.currency),
            None => self.currency,
        }
    }
}

/// Currencies of the licenses, which the report of today has.
pub(super) async fn license_currencies(visit: &Visit) -> Result<LicenseCurrencies, Error> {
    let (from, to) = (visit.day(0), visit.day(1));
    let query = [("from", from.as_str()), ("to", to.as_str())];
    let report: Report = visit.api.get(&address("/reports/mrr", &[], &query)).await?;
    let is_paid =
        |of: &&PaidCurrency| of.rows.iter().any(|row| (row.end, row.overdue) != (0.0, 0.0));
    let paid = report.currencies.iter().filter(is_paid).map(|it| it.currency.clone()).collect();
    let all = report.currencies.into_iter().map(|it| it.currency).collect();
    Ok(LicenseCurrencies { all, paid })
}

/// Currencies of the licenses, if the token may read reports, and the report can be made: a form is shown without them.
pub(super) async fn known_currencies(visit: &Visit) -> Vec<String> {
    match visit.api.may("reports:read") {
        true => license_currencies(visit).await.map(|found| found.all).unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Choice of a currency: among those of the licenses, those with a rate, and the chosen one.
pub(super) fn currency_choice(
    visit: &Visit,
    pairs: &[(String, String)],
    licensed: &[String],
) -> Choice {
    let chosen = sent(pairs, CURRENCY);
    let mut found: BTreeSet<String> = licensed.iter().cloned().collect();
    found.extend(Currencies::base_of(&visit.settings));
    if let Some(set) = Currencies::from_settings(&visit.settings) {
        found.extend(set.rates().map(|(currency, ..)| currency.to_owned()));
    }
    // With the empty one, which stands for all.
    found.extend(["", chosen].map(str::to_owned));
    let values = found.into_iter().collect();
    Choice { name: CURRENCY, value: chosen.to_owned(), values, ..Choice::default() }
}

/// Missing rates into the chosen currency; none where no currency is chosen, since each is shown then.
pub(super) fn missing_into(visit: &Visit, chosen: &str, of: Vec<String>) -> Option<MissingRates> {
    let may_set = visit.api.may("admin");
    let is_missing = !chosen.is_empty() && !of.is_empty();
    is_missing.then(|| MissingRates { chosen: chosen.to_owned(), of, may_set })
}
