//! Rows of a report in one currency, the common shape of all reports over time.

/// Rows of a report in one currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series<R> {
    /// The currency of the amounts.
    pub currency: String,
    /// Rows, by interval; cohorts by the interval of their beginning.
    pub rows: Vec<R>,
}

/// Series of each currency, then that in the base currency, each with its label in a table.
pub(super) fn scopes<'s, S>(
    currencies: &'s [S],
    converted: Option<&'s S>,
) -> impl Iterator<Item = (&'static str, &'s S)> {
    let currencies = currencies.iter().map(|series| ("currency", series));
    currencies.chain(converted.map(|series| ("converted", series)))
}
