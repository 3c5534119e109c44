//! The explanation of a figure of the forecast: the licenses that are signed, those that are expected to be renewed,
//! and from which of their values each amount comes.

use super::{
    amount::{CONVERTED_SCALE, RATE_SCALE, money, number_of},
    calendar::Day,
    error::ReportError,
    explain::{add_up, line_of, name_of, narrowed},
    forecast::{Later, expected_of},
    hex,
    ledger::{Ledger, License, NEVER},
    options::Options,
    payer::{Payer, each_payer},
    scope::Scope,
    table::{Row, Table},
};
use crate::value::{Number, ObjectId, Timestamp, number::MONEY_SCALE};

/// A line of the forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ForecastLine {
    /// Of licenses that are signed.
    Confirmed,
    /// Of licenses that are over by then, as expected.
    UnconfirmedBase,
    /// The same if all goes well.
    UnconfirmedOptimistic,
    /// The same if it does not.
    UnconfirmedPessimistic,
    /// Both together, as expected.
    Base,
    /// Both together, if all goes well.
    Optimistic,
    /// Both together, if it does not.
    Pessimistic,
    /// What is paid at the end of a period that has ended.
    Actual,
}

/// What a line counts: signed licenses, and expected ones in a scenario.
#[derive(Clone, Copy, Debug)]
struct Counted {
    confirmed: bool,
    scenario: Option<usize>,
}

impl ForecastLine {
    /// The names of all, which are those of the columns of the table.
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
    /// The properties of licenses that amounts come from.
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

    /// The line of this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        line_of(Self::NAMES, &Self::ALL, name)
    }

    pub(super) fn name(self) -> &'static str {
        name_of(Self::NAMES, &Self::ALL, self)
    }

    fn counted(self) -> Counted {
        let (confirmed, scenario) = match self {
            Self::Confirmed | Self::Actual => (true, None),
            Self::UnconfirmedBase => (false, Some(0)),
            Self::UnconfirmedOptimistic => (false, Some(1)),
            Self::UnconfirmedPessimistic => (false, Some(2)),
            Self::Base => (true, Some(0)),
            Self::Optimistic => (true, Some(1)),
            Self::Pessimistic => (true, Some(2)),
        };
        Counted { confirmed, scenario }
    }
}

/// A figure of a forecast: a line at the end of a period, in a currency or converted.
#[derive(Clone, Debug)]
pub struct ForecastCell {
    /// The first day of the period.
    pub from: Day,
    /// The day after its last one.
    pub to: Day,
    /// The line of the forecast that is explained.
    pub line: ForecastLine,
    /// The currency; none for all in the base currency.
    pub currency: Option<String>,
}

/// The companies and licenses of a figure of the forecast.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastExplanation {
    /// The line of the forecast that is explained.
    pub line: ForecastLine,
    /// The first day of the period.
    pub from: Day,
    /// The day after its last one, before which the licenses count.
    pub to: Day,
    /// The currency of the amounts.
    pub currency: String,
    /// The figure, in `currency`.
    pub amount: Number,
    /// How the amounts of the companies add up.
    pub formula: String,
    /// The companies, those with the largest amounts first.
    pub companies: Vec<ExpectedCompany>,
}

/// What a company is expected to pay.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedCompany {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Its amount under the line.
    pub amount: Number,
    /// Its amount in numbers: `base: mrr 1200 + fcNewMrr 500 = 1700`.
    pub formula: String,
    /// The licenses that it is made of.
    pub licenses: Vec<ExpectedLicense>,
}

/// A license in a forecast.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedLicense {
    /// `_id` of the license.
    #[serde(serialize_with = "hex::one")]
    pub license: ObjectId,
    /// Product that it is for; empty for none.
    pub product: String,
    /// Currency of `monthly`.
    pub currency: String,
    /// First day of the license.
    pub from: Day,
    /// The first day on which it is over.
    pub end: Option<Day>,
    /// Whether it is signed for the end of the period; otherwise it is over by then, and expected to be renewed.
    pub is_confirmed: bool,
    /// The property that the amount comes from, one of [`ForecastLine::SOURCES`].
    pub source: &'static str,
    /// What it counts a month, not converted.
    pub monthly: Number,
    /// The rate at which it is converted; null where it is not.
    pub rate: Option<Number>,
    /// What it counts a month, in the currency of the figure.
    pub amount: Number,
}

/// Explains a figure of [`forecast`](super::forecast).
///
/// # Errors
/// What is wrong with the options, or [`ReportError::UnknownCell`] for a currency that does not occur or cannot be
/// converted, and for what came true of a period that has not ended.
pub fn explain_forecast(
    ledger: &Ledger,
    options: &Options,
    later: Option<Later<'_>>,
    cell: &ForecastCell,
) -> Result<ForecastExplanation, ReportError> {
    let line = cell.line;
    let options = narrowed(options, cell.from, cell.to);
    let asked = Scope::of_span(ledger, &options)?;
    let later = later.filter(|_| line == ForecastLine::Actual);
    let later_scope = later.map(|later| Scope::of_span(later.ledger, &options)).transpose()?;
    let scope = later_scope.as_ref().unwrap_or(&asked);
    let border = scope.borders.ends().last().copied().unwrap_or_default();
    let now = later.map_or(options.now, |later| later.now);
    if line == ForecastLine::Actual && border > now.as_ms() {
        return Err(ReportError::UnknownCell("period"));
    }
    let in_currency = match &cell.currency {
        Some(currency) if asked.number_of(currency).is_none() => {
            return Err(ReportError::UnknownCell("currency"));
        }
        // One that no license has later: none counts.
        Some(currency) => Some(scope.number_of(currency).unwrap_or(u32::MAX)),
        None if scope.converts() => None,
        None => return Err(ReportError::UnknownCell("currency")),
    };
    let scale = if in_currency.is_some() { MONEY_SCALE } else { CONVERTED_SCALE };
    let explainer = Explainer { scope, border, in_currency, scale, line };
    let mut companies: Vec<(i128, ExpectedCompany)> = Vec::new();
    each_payer(scope, |payer| companies.extend(explainer.company(payer)));
    companies.sort_by_key(|(amount, found)| (std::cmp::Reverse(amount.abs()), found.company));
    let amount = explainer.number(companies.iter().map(|(amount, _)| amount).sum());
    let terms = companies.iter().map(|(_, found)| found.amount);
    let base = scope.base.clone().unwrap_or_default();
    Ok(ForecastExplanation {
        line,
        from: cell.from,
        to: cell.to,
        currency: cell.currency.clone().unwrap_or(base),
        amount,
        formula: add_up(line.name(), amount, terms),
        companies: companies.into_iter().map(|(_, found)| found).collect(),
    })
}

struct Explainer<'e> {
    scope: &'e Scope<'e>,
    border: i64,
    in_currency: Option<u32>,
    scale: u32,
    line: ForecastLine,
}

impl Explainer<'_> {
    fn number(&self, units: i128) -> Number {
        number_of(units, self.scale)
    }

    fn rate(&self, currency: u32) -> i128 {
        match self.in_currency {
            Some(number) => i128::from(number == currency),
            None => self.scope.last_rate(currency),
        }
    }

    /// The part of a company, if it has one.
    fn company(&self, payer: &Payer<'_>) -> Option<(i128, ExpectedCompany)> {
        let licenses = payer.links.with_ends(payer.licenses).enumerate();
        let found =
            licenses.filter_map(|(at, (license, end))| self.license(payer, at, license, end));
        let (amounts, licenses): (Vec<i128>, Vec<ExpectedLicense>) = found.unzip();
        if licenses.is_empty() {
            return None;
        }
        let units = amounts.iter().sum();
        let amount = self.number(units);
        let terms = licenses.iter().map(|license| format!("{} {}", license.source, license.amount));
        let terms = terms.collect::<Vec<_>>().join(" + ");
        let formula = format!("{}: {terms} = {amount}", self.line.name());
        Some((units, ExpectedCompany { company: payer.id, amount, formula, licenses }))
    }

    /// The part of a license, if it has one.
    fn license(
        &self,
        payer: &Payer<'_>,
        at: usize,
        license: &License,
        end: i64,
    ) -> Option<(i128, ExpectedLicense)> {
        let rate = self.rate(license.currency);
        if rate == 0 || !self.scope.counts(license) || license.from >= self.border {
            return None;
        }
        let is_confirmed = self.border <= end;
        let counted = self.line.counted();
        let (source, monthly) = if is_confirmed {
            counted.confirmed.then_some(("mrr", license.mrr))?
        } else {
            let expected = expected_of(self.scope, payer, at, license)?;
            let scenario = counted.scenario?;
            (*license.forecast_sources().get(scenario)?, *expected.get(scenario)?)
        };
        let units = monthly * rate;
        let day = |time| Day::at(Timestamp::from_ms_clamped(time), self.scope.options.zone);
        let share = ExpectedLicense {
            license: license.id,
            product: self.scope.ledger.product(license.product).to_owned(),
            currency: self.scope.ledger.currency(license.currency).to_owned(),
            from: day(license.from),
            end: (license.end != NEVER).then(|| day(license.end)),
            is_confirmed,
            source,
            monthly: money(monthly),
            rate: self.in_currency.is_none().then(|| number_of(rate, RATE_SCALE)),
            amount: self.number(units),
        };
        (units != 0).then_some((units, share))
    }
}

impl ForecastExplanation {
    /// The licenses as text, each with the amount of its company.
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "company",
            "companyAmount",
            "currency",
            "formula",
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
        ]);
        for company in &self.companies {
            for license in &company.licenses {
                let row = Row::default().text(company.company);
                let row = row.money(&[company.amount], &self.currency).text(&self.currency);
                let row = row.text(&company.formula).text(license.license).text(&license.product);
                let row = row.text(&license.currency).text(license.from).option(license.end);
                let row = row.text(license.is_confirmed).text(license.source);
                let row = row.money(&[license.monthly], &license.currency).option(license.rate);
                table.push(row.money(&[license.amount], &self.currency));
            }
        }
        table
    }
}
