//! Rows of a report as text, one shape for all, from which CSV is written.

use super::{calendar::ReportPeriod, money_units};
use crate::value::Number;

/// A report as rows of text, with two decimals of money (none or three where the currency has that many) and
/// percentages with two: for people and spreadsheets. Printed rows may differ from their total by a cent.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TextTable {
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(super) fn new<'h>(header: impl IntoIterator<Item = &'h str>) -> Self {
        Self { header: header.into_iter().map(ToOwned::to_owned).collect(), rows: Vec::new() }
    }

    /// With a last column that says in every row what the figures leave out, so that it stays when rows are sorted or
    /// filtered.
    pub(super) fn noted(mut self, note: &str) -> Self {
        self.header.push("note".to_owned());
        self.rows.iter_mut().for_each(|row| row.push(note.to_owned()));
        self
    }

    pub(super) fn push(&mut self, row: TableRow) {
        self.rows.push(row.0);
    }
}

/// The cells of a row.
#[derive(Debug, Default)]
pub(super) struct TableRow(Vec<String>);

impl TableRow {
    pub(super) fn text(mut self, text: impl ToString) -> Self {
        self.0.push(text.to_string());
        self
    }

    /// Adds an optional cell; an absent one is empty.
    pub(super) fn option(self, text: Option<impl ToString>) -> Self {
        self.text(text.map(|text| text.to_string()).unwrap_or_default())
    }

    pub(super) fn period(self, period: &ReportPeriod) -> Self {
        self.text(&period.period).text(period.from).text(period.to)
    }

    pub(super) fn money(mut self, amounts: &[Number], currency: &str) -> Self {
        self.0.extend(amounts.iter().map(|amount| money_units::printed(*amount, currency)));
        self
    }

    pub(super) fn money_option(self, amount: Option<Number>, currency: &str) -> Self {
        self.option(amount.map(|amount| money_units::printed(amount, currency)))
    }

    pub(super) fn percent(self, ratios: &[Option<Number>]) -> Self {
        ratios.iter().fold(self, |row, ratio| row.option(ratio.map(money_units::percent)))
    }
}
