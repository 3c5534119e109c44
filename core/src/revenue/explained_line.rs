//! The common part of explanations of forecasts and renewals: a figure, companies, and the amount of each license.

use super::{
    calendar::Day,
    customers::CompanyNameLookup,
    explain::add_up,
    hex,
    money_units::{CONVERTED_SCALE, number_of},
    report_scope::ReportScope,
    table::TableRow,
};
use crate::value::{
    Number, ObjectId,
    number::{MONEY_SCALE, RATE_SCALE},
};

/// A figure of the renewals or the forecast: a line of a period, in a currency or converted.
#[derive(Clone, Debug)]
pub struct LineCell<L> {
    /// The first day of the period.
    pub from: Day,
    /// First day after the period.
    pub to: Day,
    /// The line of the report that is explained.
    pub line: L,
    /// Currency; none for all in the base currency.
    pub currency: Option<String>,
}

/// Companies and licenses from which a figure of a [`LineCell`] is computed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineExplanation<L, R> {
    /// The line of the report that is explained.
    pub line: L,
    /// The first day of the period.
    pub from: Day,
    /// First day after the period.
    pub to: Day,
    /// The currency of the amounts.
    pub currency: String,
    /// The figure, in `currency`.
    pub amount: Number,
    /// Formula that adds up the amounts of the companies.
    pub formula: String,
    /// Companies, the largest amounts first.
    pub companies: Vec<LineCompany<R>>,
}

/// Share of a company in a figure.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineCompany<R> {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Name of the company, where it is known.
    pub name: Option<String>,
    /// Amount of the company under the line.
    pub amount: Number,
    /// Formula of the amount: `base: mrr 1200 + fcNewMrr 500 = 1700`.
    pub formula: String,
    /// Licenses of the amount.
    pub licenses: Vec<R>,
}

/// A license as a line counts it: its amount, its term in the formula, and the license as it is returned.
pub(super) type CountedLicense<R> = (i128, String, R);

/// Currency and rates in which a line is counted.
pub(super) struct LineCounter<'c> {
    pub(super) scope: &'c ReportScope<'c>,
    /// Number of the currency; none for all in the base currency.
    pub(super) in_currency: Option<u32>,
    pub(super) name: &'static str,
}

impl LineCounter<'_> {
    pub(super) fn number(&self, units: i128) -> Number {
        let scale = if self.in_currency.is_some() { MONEY_SCALE } else { CONVERTED_SCALE };
        number_of(units, scale)
    }

    /// Exchange rate of a currency; 0 where it does not count.
    pub(super) fn rate(&self, currency: u32) -> i128 {
        match self.in_currency {
            Some(number) => i128::from(number == currency),
            None => self.scope.last_rate(currency),
        }
    }

    /// Rate of a currency as it is returned: null where nothing is converted.
    pub(super) fn shown_rate(&self, currency: u32) -> Option<Number> {
        self.in_currency.is_none().then(|| number_of(self.rate(currency), RATE_SCALE))
    }

    /// Share of a company, if it has licenses that count.
    pub(super) fn company<R>(
        &self,
        company: ObjectId,
        counted: impl Iterator<Item = CountedLicense<R>>,
    ) -> Option<(i128, LineCompany<R>)> {
        let (mut units, mut terms, mut licenses) = (0, Vec::new(), Vec::new());
        for (amount, term, license) in counted.filter(|(amount, ..)| *amount != 0) {
            units += amount;
            terms.push(term);
            licenses.push(license);
        }
        let amount = self.number(units);
        let formula = format!("{}: {} = {amount}", self.name, terms.join(" + "));
        (!licenses.is_empty())
            .then_some((units, LineCompany { company, name: None, amount, formula, licenses }))
    }

    /// The figure as the sum of the companies, the largest amounts first.
    pub(super) fn explanation<L, R>(
        &self,
        cell: LineCell<L>,
        mut companies: Vec<(i128, LineCompany<R>)>,
    ) -> LineExplanation<L, R> {
        companies.sort_by_key(|(amount, found)| (std::cmp::Reverse(amount.abs()), found.company));
        let amount = self.number(companies.iter().map(|(amount, _)| amount).sum());
        let terms = companies.iter().map(|(_, found)| found.amount);
        let base = || self.scope.base.clone().unwrap_or_default();
        LineExplanation {
            line: cell.line,
            from: cell.from,
            to: cell.to,
            currency: cell.currency.unwrap_or_else(base),
            amount,
            formula: add_up(self.name, amount, terms),
            companies: companies.into_iter().map(|(_, found)| found).collect(),
        }
    }
}

impl<L, R> LineExplanation<L, R> {
    /// Columns of a company, with which the row of each of its licenses begins.
    pub(super) const COLUMNS: [&'static str; 5] =
        ["company", "companyName", "companyAmount", "currency", "formula"];

    /// Adds the names of the companies.
    pub(super) fn named(mut self, name_of: CompanyNameLookup<'_>) -> Self {
        self.companies.iter_mut().for_each(|found| found.name = name_of(found.company));
        self
    }

    /// Licenses, each with the beginning of its row.
    pub(super) fn rows(&self) -> impl Iterator<Item = (TableRow, &R)> {
        let companies = self.companies.iter();
        companies
            .flat_map(|company| company.licenses.iter().map(move |license| (company, license)))
            .map(|(company, license)| {
                let row = TableRow::default().text(company.company).option(company.name.as_ref());
                let row = row.money(&[company.amount], &self.currency).text(&self.currency);
                (row.text(&company.formula), license)
            })
    }
}
