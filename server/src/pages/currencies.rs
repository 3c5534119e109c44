//! The currency that a user chooses for the amounts of a report.

use std::collections::BTreeSet;

use serde::Deserialize;
use svctrack_core::{resources::settings::Currencies, value::Day};
use svctrack_web::pages::{Choice, MissingRates, address};

use super::{submitted_form::sent, visit::Visit};
use crate::error::Error;

/// Parameter of the currency.
pub(super) const CURRENCY: &str = "baseCurrency";

/// A report, as far as its currencies are needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    currencies: Vec<CurrencyName>,
    missing_rates: Vec<CurrencyName>,
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

/// The report of the day before another, or of today, which has every currency of the licenses.
async fn report_of_day(visit: &Visit, chosen: Option<&str>, to: &str) -> Result<Report, Error> {
    let days = Day::parse(to).map(|to| (to.before().to_string(), to.to_string()));
    let (from, to) = days.unwrap_or_else(|| (visit.day(0), visit.day(1)));
    let query = [("from", from.as_str()), ("to", to.as_str())];
    let chosen = chosen.map(|currency| (CURRENCY, currency));
    let query: Vec<_> = query.into_iter().chain(chosen).collect();
    visit.api.get(&address("/reports/mrr", &[], &query)).await
}

/// Currencies of the licenses.
pub(super) async fn license_currencies(visit: &Visit) -> Result<Vec<String>, Error> {
    let report = report_of_day(visit, None, "").await?;
    Ok(report.currencies.into_iter().map(|it| it.currency).collect())
}

/// Currencies of the licenses, if the token may read reports, and the report can be made: a form is shown without them.
pub(super) async fn known_currencies(visit: &Visit) -> Vec<String> {
    match visit.api.may("reports:read") {
        true => license_currencies(visit).await.unwrap_or_default(),
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

/// Currencies that cannot be converted into the chosen one at the end of a report; none if all can.
pub(super) async fn missing_rates(
    visit: &Visit,
    chosen: &str,
    to: &str,
) -> Result<Option<MissingRates>, Error> {
    let missing = match chosen {
        "" => Vec::new(),
        chosen => report_of_day(visit, Some(chosen), to).await?.missing_rates,
    };
    Ok(missing_into(visit, chosen, missing))
}

/// Missing rates into the chosen currency; none where no currency is chosen, since each is shown then.
pub(super) fn missing_into(
    visit: &Visit,
    chosen: &str,
    missing: Vec<CurrencyName>,
) -> Option<MissingRates> {
    let of: Vec<String> = missing.into_iter().map(|it| it.currency).collect();
    let may_set = visit.api.may("admin");
    let is_missing = !chosen.is_empty() && !of.is_empty();
    is_missing.then(|| MissingRates { chosen: chosen.to_owned(), of, may_set })
}
