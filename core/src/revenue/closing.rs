//! Closed months: stored figures of a month, and their difference from the current ones.

use std::ops::Range;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{
    calendar::{Day, Interval},
    error::ReportError,
    hex,
    movements::{MovementRow, Movements},
    options::{Options, View},
    query::{ReportKind, ReportQuery},
    series::Series,
    table::{Row, Table},
};
use crate::value::{Document, Issue, Number, ObjectId, Timestamp};

/// Characters of a month such as `2026-01`.
const MONTH_CHARS: usize = 7;
const CLOSED_COLUMNS: [&str; 14] = [
    "month",
    "closedAt",
    "closedBy",
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
/// Most licenses that a difference names.
const MAX_NAMED: usize = 100;

/// A month that was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    /// The month, such as `2026-01`.
    pub month: String,
    /// When it was closed.
    #[serde(with = "super::about::text")]
    pub closed_at: Timestamp,
    /// Id of the token with which it was closed.
    pub closed_by: Option<String>,
    /// The zone of its days.
    pub time_zone: String,
    /// What counts as a movement.
    pub view: View,
    /// Days of a gap or an overlap that is bridged.
    pub gap_days: u32,
    /// Days within which a return is a reactivation; null for any number.
    pub reactivation_within: Option<u32>,
    /// The day of the rates.
    pub rate_date: Option<Day>,
    /// Each currency by itself.
    pub currencies: Vec<ClosedLines>,
    /// All in the base currency; null where a rate was missing.
    pub converted: Option<ClosedLines>,
}

/// The lines of a month in one currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedLines {
    /// The currency of the amounts.
    pub currency: String,
    /// MRR just before it begins.
    pub start: Number,
    /// MRR of companies that never paid before.
    pub new: Number,
    /// MRR of companies that paid before, and came back.
    pub reactivation: Number,
    /// What companies pay more.
    pub expansion: Number,
    /// What companies pay less.
    pub contraction: Number,
    /// What companies paid that pay nothing now.
    pub churn: Number,
    /// Change of what is below 0.
    pub negative: Number,
    /// MRR just before it ends.
    pub end: Number,
    /// Companies that pay more than 0 then.
    pub customers: i64,
}

/// What a report says of a month that was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedMonth {
    /// The closed month, such as `2026-10`.
    pub month: String,
    /// When it was closed.
    #[serde(serialize_with = "super::about::text::serialize")]
    pub closed_at: Timestamp,
    /// Each currency by itself.
    pub currencies: Vec<Difference>,
    /// All in the base currency; null where it is converted at other rates now.
    pub converted: Option<Difference>,
    /// Licenses that were changed since and last in the month, then or now: at most 100.
    #[serde(serialize_with = "hex::many")]
    pub changed_licenses: Vec<ObjectId>,
    /// How many these are.
    pub changed_license_count: usize,
}

/// The lines of a month as they were closed, and how those of now differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The currency of the amounts.
    pub currency: String,
    /// As they were closed.
    pub closed: ClosedLines,
    /// Those of now less those that were closed.
    pub difference: ClosedLines,
}

impl ClosedLines {
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

    fn amounts(&self) -> [Number; 8] {
        let Self { start, new, reactivation, expansion, contraction, churn, negative, end, .. } =
            self;
        [start, new, reactivation, expansion, contraction, churn, negative, end].map(|line| *line)
    }

    fn of(currency: &str, row: &MovementRow) -> Self {
        let amounts = [
            row.start,
            row.new,
            row.reactivation,
            row.expansion,
            row.contraction,
            row.churn,
            row.negative,
            row.end,
        ];
        Self::with(currency, amounts, row.customers)
    }

    fn none(currency: &str) -> Self {
        Self::with(currency, [Number::from(Decimal::ZERO); 8], 0)
    }

    /// Its lines less those of another.
    fn less(&self, other: &Self) -> Self {
        let mut amounts = self.amounts();
        for (amount, other) in amounts.iter_mut().zip(other.amounts()) {
            *amount = Number::from((amount.as_decimal() - other.as_decimal()).normalize());
        }
        Self::with(&self.currency, amounts, self.customers - other.customers)
    }
}

impl Difference {
    fn between(closed: Option<&ClosedLines>, now: Option<&ClosedLines>) -> Option<Self> {
        let currency = &closed.or(now)?.currency;
        let none = ClosedLines::none(currency);
        let (closed, now) = (closed.unwrap_or(&none), now.unwrap_or(&none));
        Some(Self {
            currency: currency.clone(),
            closed: closed.clone(),
            difference: now.less(closed),
        })
    }
}

impl Closing {
    /// The figures of a report of one month.
    ///
    /// # Errors
    /// [`ReportError::MonthNotEnded`]
    pub fn of(report: &Movements) -> Result<Self, ReportError> {
        let about = &report.about;
        let zone = Options::zone_of(about.time_zone)?;
        if Day::at(about.now, zone) < about.to {
            return Err(ReportError::MonthNotEnded);
        }
        let lines = |series: &Series<MovementRow>| {
            series.rows.first().map(|row| ClosedLines::of(&series.currency, row))
        };
        Ok(Self {
            month: about.from.to_string().chars().take(MONTH_CHARS).collect(),
            closed_at: about.now,
            closed_by: None,
            time_zone: about.time_zone.to_owned(),
            view: about.view,
            gap_days: about.gap_days,
            reactivation_within: about.reactivation_within,
            rate_date: about.rate_date,
            currencies: report.currencies.iter().filter_map(lines).collect(),
            converted: report.converted.as_ref().and_then(lines),
        })
    }

    /// Closed months as rows of text.
    pub fn table(closings: &[Self]) -> Table {
        let mut table = Table::new(CLOSED_COLUMNS);
        for closing in closings {
            let currencies = closing.currencies.iter().map(|lines| ("currency", lines));
            let converted = closing.converted.iter().map(|lines| ("converted", lines));
            for (scope, lines) in currencies.chain(converted) {
                let row = Row::default().text(&closing.month).text(closing.closed_at);
                let row = row.option(closing.closed_by.as_ref()).text(scope).text(&lines.currency);
                table.push(row.money(&lines.amounts(), &lines.currency).text(lines.customers));
            }
        }
        table
    }

    /// The options that another closing has otherwise, by name.
    pub fn other_options(&self, other: &Self) -> Vec<&'static str> {
        let options = [
            ("view", self.view != other.view),
            ("gapDays", self.gap_days != other.gap_days),
            ("reactivationWithin", self.reactivation_within != other.reactivation_within),
        ];
        options.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
    }

    /// The month after it.
    pub fn next_month(&self) -> Option<String> {
        let (_, next) = self.days()?;
        Some(next.to_string().chars().take(MONTH_CHARS).collect())
    }

    /// When the month begins and ends.
    pub fn times(&self) -> Option<Range<Timestamp>> {
        let zone = Options::zone_of(&self.time_zone).ok()?;
        let (from, to) = self.days()?;
        Some(from.begin(zone)?..to.begin(zone)?)
    }

    /// The first day of the month, and the day after its last one.
    pub fn days(&self) -> Option<(Day, Day)> {
        days_of_month(&self.month)
    }

    /// Whether a report has the options of the closed figures.
    fn is_comparable(&self, report: &Movements) -> bool {
        let about = &report.about;
        about.interval == Interval::Month
            && about.time_zone == self.time_zone
            && about.view == self.view
            && about.gap_days == self.gap_days
            && about.reactivation_within == self.reactivation_within
    }

    /// What a report of all companies says of the month now, if it has it and has the same options; of the licenses
    /// that were changed since, it names the first.
    pub fn compared(&self, report: &Movements, changed: &[ObjectId]) -> Option<ClosedMonth> {
        if !self.is_comparable(report) {
            return None;
        }
        let (from, to) = self.days()?;
        if from < report.about.from || to > report.about.to {
            return None;
        }
        let now = |series: &Series<MovementRow>| {
            let row = series.rows.iter().find(|row| row.period.period == self.month)?;
            Some(ClosedLines::of(&series.currency, row))
        };
        let rows: Vec<ClosedLines> = report.currencies.iter().filter_map(now).collect();
        let in_both = |closed: &ClosedLines| {
            let row = rows.iter().find(|row| row.currency == closed.currency);
            Difference::between(Some(closed), row)
        };
        let is_added = |row: &&ClosedLines| {
            self.currencies.iter().all(|closed| closed.currency != row.currency)
        };
        let added =
            rows.iter().filter(is_added).filter_map(|row| Difference::between(None, Some(row)));
        let mut currencies: Vec<_> =
            self.currencies.iter().filter_map(in_both).chain(added).collect();
        currencies.sort_by(|a, b| a.currency.cmp(&b.currency));
        let converted = report.converted.as_ref().and_then(now);
        let is_converted_alike = report.about.rate_date == self.rate_date;
        let converted = converted.filter(|row| {
            is_converted_alike
                && self.converted.as_ref().is_some_and(|closed| closed.currency == row.currency)
        });
        Some(ClosedMonth {
            month: self.month.clone(),
            closed_at: self.closed_at,
            currencies,
            converted: converted
                .and_then(|row| Difference::between(self.converted.as_ref(), Some(&row))),
            changed_licenses: changed.iter().take(MAX_NAMED).copied().collect(),
            changed_license_count: changed.len(),
        })
    }
}

/// The first day of a month such as `2026-01`, and the day after its last one.
pub fn days_of_month(month: &str) -> Option<(Day, Day)> {
    let first = Day::parse(&format!("{month}-01"))?;
    Some((first, first.first_of_month(1)))
}

/// A month that is to be closed.
#[derive(Clone, Debug)]
pub struct ClosingRequest {
    /// The closed month, such as `2026-10`.
    pub month: String,
    /// The report of it.
    pub query: ReportQuery,
}

impl ClosingRequest {
    /// What a request may have: the month, and options of the report.
    pub const MEMBERS: &'static [&'static str] =
        &["month", "gapDays", "reactivationWithin", "view"];

    /// Reads a request.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(sent: &Document) -> Result<Self, Vec<Issue>> {
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
