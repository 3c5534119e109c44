//! Rows of a report in one currency, the common shape of all reports over time.

/// The rows of a report in one currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series<R> {
    /// The currency of the amounts.
    pub currency: String,
    /// The rows, by interval; of cohorts, by when they began.
    pub rows: Vec<R>,
}

/// Each currency separately, then all in the base currency, with its label in a table.
pub(super) fn scopes<'s, S>(
    currencies: &'s [S],
    converted: Option<&'s S>,
) -> impl Iterator<Item = (&'static str, &'s S)> {
    let currencies = currencies.iter().map(|series| ("currency", series));
    currencies.chain(converted.map(|series| ("converted", series)))
}
