//! Explanation of a figure of the renewals: its licenses and their successors.

use super::{
    error::ReportError,
    explain::{line_of, name_of, narrowed},
    explained_line::{LineCell, LineCounter, LineExplanation},
    ledger::Ledger,
    license_chain::each_linked,
    options::ReportOptions,
    renewal_line::RenewalLine,
    renewals::{EndingLicense, RenewalSums, RenewalsBy},
    report_scope::{AmountTime, ReportScope},
    table::TextTable,
};
use crate::value::Number;

/// Column of the report of renewals whose amount can be explained by its licenses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RenewalsLine {
    /// MRR of all licenses that end.
    Base,
    /// MRR that is renewed.
    Renewed,
    /// MRR that renewals add to the old prices.
    Upgrade,
    /// MRR that renewals take off the old prices.
    Downgrade,
    /// MRR of licenses that are not renewed.
    Churned,
    /// MRR of licenses that are past and undecided.
    Overdue,
    /// MRR of licenses that are ahead and undecided.
    Open,
}

impl RenewalsLine {
    /// Values of the parameter `explain` for the report of renewals, in the order of the variants.
    pub const NAMES: &'static [&'static str] =
        &["base", "renewed", "upgrade", "downgrade", "churned", "overdue", "open"];
    const ALL: [Self; 7] = [
        Self::Base,
        Self::Renewed,
        Self::Upgrade,
        Self::Downgrade,
        Self::Churned,
        Self::Overdue,
        Self::Open,
    ];

    /// The line with this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        line_of(Self::NAMES, &Self::ALL, name)
    }

    pub(super) fn name(self) -> &'static str {
        name_of(Self::NAMES, &Self::ALL, self)
    }
}

/// A figure of the renewals.
pub type RenewalsCell = LineCell<RenewalsLine>;
/// The companies and licenses of a figure of the renewals.
pub type RenewalsExplanation = LineExplanation<RenewalsLine, RenewalShare>;

/// A license that ends, and its share in a figure.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalShare {
    /// The license and its outcome.
    #[serde(flatten)]
    pub renewal: RenewalLine,
    /// Exchange rate of the amount; null where it is not converted.
    pub rate: Option<Number>,
    /// Amount of the renewal, in the currency of the figure.
    pub amount: Number,
}

/// Explains a figure of [`renewals`](super::renewals).
///
/// # Errors
/// When an option is invalid, [`ReportError::NotConverted`] where a currency has no rate and none is requested, or
/// [`ReportError::UnknownCell`] for a currency that does not occur.
pub fn explain_renewals(
    ledger: &Ledger,
    options: &ReportOptions,
    by: RenewalsBy,
    cell: RenewalsCell,
) -> Result<RenewalsExplanation, ReportError> {
    let options = narrowed(options, cell.from, cell.to);
    let scope = ReportScope::of_span(ledger, &options, AmountTime::Any)?;
    let in_currency = scope.asked_currency(cell.currency.as_deref())?;
    let counter = LineCounter { scope: &scope, in_currency, name: cell.line.name() };
    let mut companies = Vec::new();
    each_linked(
        &scope,
        |_| true,
        |company| {
            let ending = EndingLicense::all(&scope, &company, by).filter_map(|ending| {
                let due = match in_currency {
                    Some(number) if number != ending.currency => return None,
                    Some(_) => ending.in_own_currency(&scope),
                    None => ending.converted(|currency| counter.rate(currency)),
                };
                let mut sums = RenewalSums::default();
                sums.add(due);
                let units = sums.amount(cell.line);
                let renewal = ending.line(&scope, &company)?;
                let follows = matches!(
                    cell.line,
                    RenewalsLine::Renewed | RenewalsLine::Upgrade | RenewalsLine::Downgrade
                );
                let mrr = counter.number(due.mrr);
                let term = match due.renewed.map(|units| counter.number(units)) {
                    Some(renewed) if follows => format!("{mrr} -> {renewed}"),
                    None if follows => format!("{mrr} -> {}", renewal.renewed_as_agreed()),
                    _ => mrr.to_string(),
                };
                let share = RenewalShare {
                    renewal,
                    rate: counter.shown_rate(ending.currency),
                    amount: counter.number(units),
                };
                Some((units, term, share))
            });
            companies.extend(counter.company(company.id, ending));
        },
    );
    Ok(counter.explanation(cell, companies))
}

impl RenewalsExplanation {
    /// Licenses as text, each with the amount of its company.
    pub fn table(&self) -> TextTable {
        let columns = [
            "license",
            "product",
            "licenseCurrency",
            "end",
            "notice",
            "mrr",
            "outcome",
            "renewedMrr",
            "renewedCurrency",
            "successor",
            "rate",
            "amount",
        ];
        let mut table = TextTable::new(Self::COLUMNS.into_iter().chain(columns));
        for (row, RenewalShare { renewal, rate, amount }) in self.rows() {
            let row = row.text(renewal.license).text(&renewal.product).text(&renewal.currency);
            let row = renewal.cells_of_outcome(row).option(*rate);
            table.push(row.money(&[*amount], &self.currency));
        }
        table
    }
}
