//! Closed months: stored figures of a month, and the request that closes it. How current figures differ is in
//! `closed_difference`.

use std::ops::Range;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{
    calendar::Day,
    currency_rows::{Series, scopes},
    error::ReportError,
    explain::{CompanyMovements, mrr_by_company},
    hex,
    ledger::Ledger,
    mrr_movements::{MovementRow, Movements},
    options::{MovementView, ReportOptions},
    query::{ReportKind, ReportQuery},
    rates::ExchangeRates,
    table::{TableRow, TextTable},
};
use crate::value::{Document, Number, ObjectId, Timestamp, ValidationError, Zone};

/// Characters of a month such as `2026-01`.
const MONTH_CHARS: usize = 7;
/// The columns of a closed month before its figures.
const MONTH_COLUMNS: [&str; 3] = ["month", "closedAt", "closedBy"];
/// The columns of a company's line of a closed month before its figures.
const COMPANY_COLUMNS: [&str; 2] = ["month", "company"];
/// The columns of figures, with their scope and currency.
const FIGURE_COLUMNS: [&str; 11] = [
    "scope",
    "currency",
    "start",
    "new",
    "reactivation",
    "expansion",
    "contraction",
    "churn",
    "negative",
    "end",
    "customers",
];

/// A month that was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    /// Name of the month, such as `2026-01`.
    pub month: String,
    /// Time of the closing.
    #[serde(with = "super::report_header::text")]
    pub closed_at: Timestamp,
    /// Id of the token that closed the month.
    pub closed_by: Option<String>,
    /// Time zone of the days.
    pub time_zone: String,
    /// Definition of a movement.
    pub view: MovementView,
    /// Days of a gap or an overlap that is bridged.
    pub gap_days: u32,
    /// Days within which a return is a reactivation; null for any number.
    pub reactivation_within: Option<u32>,
    /// The day of the rates.
    pub rate_date: Option<Day>,
    /// Figures of each currency, not converted.
    pub currencies: Vec<MonthFigures>,
    /// All in the base currency; null where a rate was missing.
    pub converted: Option<MonthFigures>,
    /// When and why the month was reopened before it was closed like this, the first time first: the last
    /// [`Reopening::MAX_STORED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<Reopening>,
}

/// Month of the list of closings: closed, or reopened since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ListedMonth {
    /// A closed month and its figures.
    Closed(Box<Closing>),
    /// A month that was reopened, which has no figures.
    Reopened(ReopenedMonth),
}

/// A month that was reopened, and is not closed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReopenedMonth {
    /// The month, such as `2026-01`.
    pub month: String,
    /// When and why it was reopened, the first time first.
    pub reopened: Vec<Reopening>,
}

/// A reopening of a closed month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopening {
    /// Time of the reopening.
    #[serde(with = "super::report_header::text")]
    pub at: Timestamp,
    /// Id of the token that reopened the month.
    pub by: Option<String>,
    /// Reason of the reopening, as it was sent, without blanks at its ends.
    pub reason: String,
}

impl Reopening {
    /// Maximum number of stored reopenings of a month: a month that is opened more often is not what finance reported.
    pub const MAX_STORED: usize = 100;
    /// The longest reason, in characters: a few sentences.
    pub const MAX_REASON_CHARS: usize = 1_000;

    /// Normalizes a reason to its stored form.
    ///
    /// # Errors
    /// If the reason is missing, or longer than [`Self::MAX_REASON_CHARS`].
    pub fn reason(sent: Option<&str>) -> Result<String, ValidationError> {
        let reason = sent.map(str::trim).filter(|reason| !reason.is_empty());
        let issue = |code, message| ValidationError::of_member("reason", code, message);
        match reason {
            None => {
                Err(issue("required", "`reason` is required: why the month is reopened".into()))
            }
            Some(long) if long.chars().nth(Self::MAX_REASON_CHARS).is_some() => {
                let most = Self::MAX_REASON_CHARS;
                Err(issue("too_long", format!("`reason` must be at most {most} characters long")))
            }
            Some(reason) => Ok(reason.to_owned()),
        }
    }
}

/// The figures of a month in one currency, or how two of them differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthFigures {
    /// The currency of the amounts.
    pub currency: String,
    /// MRR just before the month.
    pub start: Number,
    /// MRR of companies that never paid before.
    pub new: Number,
    /// MRR of companies that paid before, and came back.
    pub reactivation: Number,
    /// Increase of what companies pay.
    pub expansion: Number,
    /// Decrease of what companies pay.
    pub contraction: Number,
    /// MRR of companies that paid and pay nothing now.
    pub churn: Number,
    /// Change of amounts below 0.
    pub negative: Number,
    /// MRR just before the end of the month.
    pub end: Number,
    /// Companies that pay more than 0 at the end.
    pub customers: i64,
}

/// A closed month with the figures of each company.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClosedMonth {
    /// The month and the figures of the tenant.
    #[serde(flatten)]
    pub closing: Closing,
    /// Companies with MRR at the start or the end of the month, or a movement in it.
    pub companies: Vec<CompanyFigures>,
}

/// The figures of a company in a month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompanyFigures {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Figures of each currency, not converted.
    pub currencies: Vec<MonthFigures>,
    /// All in the base currency; null where a rate was missing.
    pub converted: Option<MonthFigures>,
}

impl MonthFigures {
    fn with(currency: &str, amounts: [Number; 8], customers: i64) -> Self {
        let [start, new, reactivation, expansion, contraction, churn, negative, end] = amounts;
        let currency = currency.to_owned();
        Self {
            currency,
            start,
            new,
            reactivation,
            expansion,
            contraction,
            churn,
            negative,
            end,
            customers,
        }
    }

    /// Number of amounts of a month.
    pub(super) const AMOUNTS: usize = 8;

    pub(super) fn amounts(&self) -> [Number; Self::AMOUNTS] {
        let Self { start, new, reactivation, expansion, contraction, churn, negative, end, .. } =
            self;
        [start, new, reactivation, expansion, contraction, churn, negative, end].map(|line| *line)
    }

    pub(super) fn from_row(currency: &str, row: &MovementRow) -> Self {
        Self::with(currency, row.amounts(), row.customers)
    }

    /// Adds the currency and the figures to a row.
    fn cells(&self, row: TableRow) -> TableRow {
        let row = row.text(&self.currency).money(&self.amounts(), &self.currency);
        row.text(self.customers)
    }

    pub(super) fn none(currency: &str) -> Self {
        Self::with(currency, [Number::from(Decimal::ZERO); 8], 0)
    }

    /// Lines of the first row of a series.
    pub(super) fn of_first(series: &Series<MovementRow>) -> Option<Self> {
        Some(Self::from_row(&series.currency, series.rows.first()?))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.customers == 0 && self.amounts().iter().all(|amount| amount.as_decimal().is_zero())
    }

    /// Differences of the lines from those of `other`.
    pub(super) fn less(&self, other: &Self) -> Self {
        let mut amounts = self.amounts();
        for (amount, other) in amounts.iter_mut().zip(other.amounts()) {
            *amount = Number::from((amount.as_decimal() - other.as_decimal()).normalize());
        }
        Self::with(&self.currency, amounts, self.customers - other.customers)
    }
}

impl Closing {
    /// Figures of a report of one month.
    ///
    /// # Errors
    /// [`ReportError::MonthNotEnded`]
    pub fn from_report(report: &Movements) -> Result<Self, ReportError> {
        let about = &report.about;
        let zone = ReportOptions::zone_of(about.time_zone)?;
        if Day::at(about.now, zone) < about.to {
            return Err(ReportError::MonthNotEnded);
        }
        Ok(Self {
            month: about.from.to_string().chars().take(MONTH_CHARS).collect(),
            closed_at: about.now,
            closed_by: None,
            time_zone: about.time_zone.to_owned(),
            view: about.view,
            gap_days: about.gap_days,
            reactivation_within: about.reactivation_within,
            rate_date: about.rate_date,
            currencies: report.currencies.iter().filter_map(MonthFigures::of_first).collect(),
            converted: report.converted.as_ref().and_then(MonthFigures::of_first),
            reopened: Vec::new(),
        })
    }

    /// The options of the closed figures, for the currencies by themselves.
    ///
    /// # Errors
    /// When an option is invalid.
    pub fn options(&self) -> Result<ReportOptions, ReportError> {
        let invalid = || ReportError::InvalidMonth(self.month.clone());
        let (from, to) = self.days().ok_or_else(invalid)?;
        let options = ReportOptions::between(&from.to_string(), &to.to_string(), self.closed_at)?;
        Ok(ReportOptions {
            zone: ReportOptions::zone_of(&self.time_zone)?,
            view: self.view,
            gap_days: self.gap_days,
            reactivation_within: self.reactivation_within,
            rate_date: self.rate_date,
            ..options
        })
    }

    /// The month with the figures of each company, of the licenses and the rates that it was closed with.
    ///
    /// # Errors
    /// What is wrong with the options.
    pub fn by_company(
        self,
        ledger: &Ledger,
        rates: Option<ExchangeRates>,
    ) -> Result<ClosedMonth, ReportError> {
        let rows = mrr_by_company(ledger, &ReportOptions { rates, ..self.options()? })?;
        let lines = |row: CompanyMovements| {
            let converted = row.converted.as_ref().filter(|_| self.converted.is_some());
            CompanyFigures {
                company: row.company,
                currencies: row.currencies.iter().filter_map(MonthFigures::of_first).collect(),
                converted: converted.and_then(MonthFigures::of_first),
            }
        };
        Ok(ClosedMonth { companies: rows.into_iter().map(lines).collect(), closing: self })
    }

    /// Clears the figures, and notes the reopening after at most [`Reopening::MAX_STORED`] - 1 earlier ones.
    pub fn reopen(&mut self, reopening: Reopening) {
        self.currencies.clear();
        self.converted = None;
        self.reopened.push(reopening);
        let most = self.reopened.len().saturating_sub(Reopening::MAX_STORED);
        self.reopened.drain(..most);
    }

    /// Closed months as rows of text.
    pub fn table(closings: &[Self]) -> TextTable {
        let mut table = TextTable::new(MONTH_COLUMNS.into_iter().chain(FIGURE_COLUMNS));
        for closing in closings {
            for (scope, lines) in scopes(&closing.currencies, closing.converted.as_ref()) {
                let row = TableRow::default().text(&closing.month).text(closing.closed_at);
                let row = row.option(closing.closed_by.as_ref()).text(scope);
                table.push(lines.cells(row));
            }
        }
        table
    }

    /// Names of the options that differ from those of `other`.
    pub fn other_options(&self, other: &Self) -> Vec<&'static str> {
        let options = [
            ("view", self.view != other.view),
            ("gapDays", self.gap_days != other.gap_days),
            ("reactivationWithin", self.reactivation_within != other.reactivation_within),
        ];
        options.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
    }

    /// Version of what is stored: a month that is closed again has another one.
    pub fn version(&self) -> i64 {
        self.closed_at.as_ms()
    }

    /// Month after the closed one.
    pub fn next_month(&self) -> Option<String> {
        let (_, next) = self.days()?;
        Some(next.to_string().chars().take(MONTH_CHARS).collect())
    }

    /// When the month begins and ends.
    pub fn times(&self) -> Option<Range<Timestamp>> {
        let zone = ReportOptions::zone_of(&self.time_zone).ok()?;
        let (from, to) = self.days()?;
        Some(from.begin(zone)?..to.begin(zone)?)
    }

    /// First day of the month, and first day after it.
    pub fn days(&self) -> Option<(Day, Day)> {
        days_of_month(&self.month)
    }
}

impl ClosedMonth {
    /// The figures of each company, as rows of text.
    pub(super) fn table(&self) -> TextTable {
        let mut table = TextTable::new(COMPANY_COLUMNS.into_iter().chain(FIGURE_COLUMNS));
        for company in &self.companies {
            for (scope, lines) in scopes(&company.currencies, company.converted.as_ref()) {
                let row = TableRow::default().text(&self.closing.month).text(company.company);
                table.push(lines.cells(row.text(scope)));
            }
        }
        table
    }
}

/// The first day of a month such as `2026-01`, and the day after its last one; none outside the years 1970 to 9999.
pub fn days_of_month(month: &str) -> Option<(Day, Day)> {
    let first = Day::parse(&format!("{month}-01"))?;
    first.begin(Zone::UTC)?;
    Some((first, first.first_of_month(1)))
}

/// Request to close a month.
#[derive(Clone, Debug)]
pub struct ClosingRequest {
    /// Name of the month, such as `2026-10`.
    pub month: String,
    /// Report of the month.
    pub query: ReportQuery,
}

impl ClosingRequest {
    /// Members that the body of a closing can have: the month, and options of the report.
    pub const MEMBERS: &'static [&'static str] =
        &["month", "gapDays", "reactivationWithin", "view"];

    /// Reads a request.
    ///
    /// # Errors
    /// All problems of the body.
    pub fn read(sent: &Document) -> Result<Self, Vec<ValidationError>> {
        let mut issues = Vec::new();
        let mut options = Vec::new();
        for name in Self::MEMBERS {
            let Some(value) = sent.value(name) else { continue };
            let text = value.as_str().map(std::borrow::Cow::into_owned);
            let text = text.or_else(|| Some(value.as_number()?.to_string()));
            options.push(((*name).to_owned(), text.unwrap_or_else(|| value.text().to_owned())));
        }
        let month = options.iter().position(|(name, _)| name == "month");
        let month = month.map(|at| options.swap_remove(at).1).unwrap_or_default();
        match days_of_month(&month) {
            Some((from, to)) => options.extend(
                [("from", from.to_string()), ("to", to.to_string()), ("interval", "month".into())]
                    .map(|(name, value)| (name.to_owned(), value)),
            ),
            None => issues.push(ReportError::InvalidMonth(month.clone()).into()),
        }
        match ReportQuery::parse(ReportKind::Mrr, &options) {
            Ok(query) if issues.is_empty() => Ok(Self { month, query }),
            Ok(_) => Err(issues),
            Err(more) => Err(issues.into_iter().chain(more).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_limited_in_characters_without_blanks_at_its_ends() {
        let longest = "ö".repeat(Reopening::MAX_REASON_CHARS);
        assert_eq!(Reopening::reason(Some(&format!(" {longest} "))).unwrap(), longest);
        let longer = Reopening::reason(Some(&format!("{longest}x"))).unwrap_err();
        assert_eq!(longer.code, "too_long");
    }

    #[test]
    fn a_reopened_month_has_no_figures() {
        let mut closing: Closing = serde_json::from_str(
            r#"{"month":"2026-01","closedAt":"2026-02-01T00:00:00.000Z","closedBy":null,"timeZone":"UTC","view":"endPoints","gapDays":0,"reactivationWithin":null,"rateDate":null,"currencies":[],"converted":null}"#,
        )
        .unwrap();
        closing.currencies = vec![MonthFigures::none("EUR")];
        closing.converted = Some(MonthFigures::none("EUR"));
        closing.reopen(Reopening { at: Timestamp::MIN, by: None, reason: "late invoice".into() });
        assert_eq!((closing.currencies, closing.converted), (Vec::new(), None));
        assert_eq!(closing.reopened.len(), 1);
    }
}
