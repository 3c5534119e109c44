//! Explanation of a figure of the forecast: confirmed licenses, expected renewals, and the property that each amount
//! comes from.

use super::{
    calendar::Day,
    error::ReportError,
    explain::{line_of, name_of, narrowed},
    explained_line::{CountedLicense, LineCell, LineCounter, LineExplanation},
    forecast::{LaterLicenses, expected_of},
    hex,
    ledger::{Ledger, License},
    license_chain::{LinkedCompany, each_linked},
    money_units::money,
    options::ReportOptions,
    report_scope::{AmountTime, ReportScope},
    table::TextTable,
};
use crate::value::{Number, ObjectId, Timestamp};

/// Column of the forecast whose MRR can be explained by its licenses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ForecastLine {
    /// MRR of licenses that are signed.
    Confirmed,
    /// Expected MRR of licenses that are over by then.
    UnconfirmedBase,
    /// Unconfirmed MRR in the optimistic scenario.
    UnconfirmedOptimistic,
    /// Unconfirmed MRR in the pessimistic scenario.
    UnconfirmedPessimistic,
    /// Confirmed and expected MRR.
    Base,
    /// Confirmed and expected MRR in the optimistic scenario.
    Optimistic,
    /// Confirmed and expected MRR in the pessimistic scenario.
    Pessimistic,
    /// Actual MRR at the end of a period that has ended.
    Actual,
}

/// Licenses that a line counts: signed ones, and expected ones in a scenario.
#[derive(Clone, Copy, Debug)]
struct ForecastCount {
    confirmed: bool,
    scenario: Option<usize>,
}

impl ForecastLine {
    /// Names of the lines: the names of the columns of the table.
    pub const NAMES: &'static [&'static str] = &[
        "confirmed",
        "unconfirmedBase",
        "unconfirmedOptimistic",
        "unconfirmedPessimistic",
        "base",
        "optimistic",
        "pessimistic",
        "actual",
    ];
    /// Properties of licenses that amounts come from.
    pub const SOURCES: &'static [&'static str] =
        &["mrr", "renewalMrr", "fcNewMrr", "fcNewMrrOptimistic", "fcNewMrrPessimistic"];
    const ALL: [Self; 8] = [
        Self::Confirmed,
        Self::UnconfirmedBase,
        Self::UnconfirmedOptimistic,
        Self::UnconfirmedPessimistic,
        Self::Base,
        Self::Optimistic,
        Self::Pessimistic,
        Self::Actual,
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

    fn counted(self) -> ForecastCount {
        let (confirmed, scenario) = match self {
            Self::Confirmed | Self::Actual => (true, None),
            Self::UnconfirmedBase => (false, Some(0)),
            Self::UnconfirmedOptimistic => (false, Some(1)),
            Self::UnconfirmedPessimistic => (false, Some(2)),
            Self::Base => (true, Some(0)),
            Self::Optimistic => (true, Some(1)),
            Self::Pessimistic => (true, Some(2)),
        };
        ForecastCount { confirmed, scenario }
    }
}

/// A figure of a forecast, at the end of its period.
pub type ForecastCell = LineCell<ForecastLine>;
/// The companies and licenses of a figure of the forecast.
pub type ForecastExplanation = LineExplanation<ForecastLine, ExpectedLicense>;

/// A license that a line of the forecast counts, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedLicense {
    /// `_id` of the license.
    #[serde(serialize_with = "hex::one")]
    pub license: ObjectId,
    /// Product of the license; empty for none.
    pub product: String,
    /// Currency of `monthly`.
    pub currency: String,
    /// First day of the license.
    pub from: Day,
    /// First day after the license.
    pub end: Option<Day>,
    /// Whether the license is signed for the end of the period; otherwise it is over by then, and expected to be
    /// renewed.
    pub is_confirmed: bool,
    /// Property that the amount comes from, one of [`ForecastLine::SOURCES`].
    pub source: &'static str,
    /// Monthly amount of the license, not converted.
    pub monthly: Number,
    /// Exchange rate of the amount; null where it is not converted.
    pub rate: Option<Number>,
    /// Monthly amount of the license, in the currency of the figure.
    pub amount: Number,
}

/// Explains a figure of [`forecast`](super::forecast).
///
/// # Errors
/// When an option is invalid, [`ReportError::NotConverted`] where a currency has no rate and none is requested, or
/// [`ReportError::UnknownCell`] for a currency that does not occur, and for the actual MRR of a period that has not ended.
pub fn explain_forecast(
    ledger: &Ledger,
    options: &ReportOptions,
    later: Option<LaterLicenses<'_>>,
    cell: ForecastCell,
) -> Result<ForecastExplanation, ReportError> {
    let is_actual = cell.line == ForecastLine::Actual;
    let options = narrowed(options, cell.from, cell.to);
    let asked = ReportScope::of_span(ledger, &options, AmountTime::Any)?;
    let later = later.filter(|_| is_actual);
    let later_scope = later
        .map(|later| ReportScope::of_span(later.ledger, &options, AmountTime::Any))
        .transpose()?;
    let scope = later_scope.as_ref().unwrap_or(&asked);
    let bound = scope.bounds.ends().last().copied().unwrap_or_default();
    let now = later.map_or(options.now, |later| later.now);
    if is_actual && bound > now.as_ms() {
        return Err(ReportError::UnknownCell("period"));
    }
    let in_currency = match cell.currency.as_deref() {
        Some(currency) => {
            asked.asked_currency(Some(currency))?;
            // No license has this currency later: none counts.
            Some(scope.number_of(currency).unwrap_or(u32::MAX))
        }
        None => scope.asked_currency(None)?,
    };
    let counter = LineCounter { scope, in_currency, name: cell.line.name() };
    let counted = cell.line.counted();
    let mut companies = Vec::new();
    each_linked(
        scope,
        |_| true,
        |company| {
            let licenses = company.links.with_ends(company.licenses).enumerate();
            let licenses = licenses.filter_map(|(at, (license, end))| {
                let is_confirmed = bound <= end;
                let counts = scope.counts(license) && license.from < bound;
                let license = Some(license).filter(|_| counts)?;
                let monthly = monthly_of(scope, &company, (at, license), is_confirmed, counted)?;
                Some(share(&counter, license, is_confirmed, monthly))
            });
            companies.extend(counter.company(company.id, licenses));
        },
    );
    Ok(counter.explanation(cell, companies))
}

/// Monthly amount of a license just before a bound, and the property that it comes from.
fn monthly_of(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
    (at, license): (usize, &License),
    is_confirmed: bool,
    counted: ForecastCount,
) -> Option<(&'static str, i128)> {
    if is_confirmed {
        return counted.confirmed.then_some(("mrr", license.mrr));
    }
    let (expected, scenario) = (expected_of(scope, company, at, license)?, counted.scenario?);
    Some((*license.forecast_sources().get(scenario)?, *expected.get(scenario)?))
}

fn share(
    counter: &LineCounter<'_>,
    license: &License,
    is_confirmed: bool,
    (source, monthly): (&'static str, i128),
) -> CountedLicense<ExpectedLicense> {
    let scope = counter.scope;
    let units = monthly * counter.rate(license.currency);
    let amount = counter.number(units);
    let day = |time| Day::at(time, scope.options.zone);
    let share = ExpectedLicense {
        license: license.id,
        product: scope.ledger.product(license.product).to_owned(),
        currency: scope.ledger.currency(license.currency).to_owned(),
        from: day(Timestamp::from_ms_clamped(license.from)),
        end: license.end_time().map(day),
        is_confirmed,
        source,
        monthly: money(monthly),
        rate: counter.shown_rate(license.currency),
        amount,
    };
    (units, format!("{source} {amount}"), share)
}

impl ForecastExplanation {
    /// Licenses as text, each with the amount of its company.
    pub fn table(&self) -> TextTable {
        let columns = [
            "license",
            "product",
            "licenseCurrency",
            "from",
            "end",
            "isConfirmed",
            "source",
            "monthly",
            "rate",
            "amount",
        ];
        let mut table = TextTable::new(Self::COLUMNS.into_iter().chain(columns));
        for (row, license) in self.rows() {
            let row = row.text(license.license).text(&license.product).text(&license.currency);
            let row = row.text(license.from).option(license.end).text(license.is_confirmed);
            let row = row.text(license.source).money(&[license.monthly], &license.currency);
            table.push(row.option(license.rate).money(&[license.amount], &self.currency));
        }
        table
    }
}
