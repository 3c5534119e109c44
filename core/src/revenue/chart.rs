//! The content of a chart: labels, series and a description. Renderers add nothing.

use super::{
    calendar::{Day, Interval, ReportPeriod},
    currency_rows::Series,
    customers::Customers,
    explain::Explanation,
    explained_line::LineExplanation,
    forecast::{Forecast, ForecastRow},
    money_units::percent,
    mrr_cohorts::Cohorts,
    mrr_movements::{MovementRow, Movements},
    query::{ReportPart, ReportQuery},
    renewals::{RenewalRow, Renewals, RenewalsBy},
    report::Report,
    report_header::ReportHeader,
    retention::Retention,
};
use crate::value::{Number, ObjectId, Zone};

/// Maximum number of bars in the chart of a ranking.
const MAX_RANKED: usize = 20;
/// Maximum number of cohorts in the chart, the latest ones: each has a color of its own.
const MAX_COHORTS: usize = 8;

/// A report as a chart, before it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// The figure, the currency or the unit, and the zone.
    pub title: String,
    /// Note below the title: what is not drawn; empty where all is.
    pub note: String,
    /// Description: the days of the report, and its present.
    pub description: String,
    /// Labels of the axis: periods, or the items of a ranking.
    pub labels: Vec<String>,
    /// Panels one above the other, each with an axis of its own for its values. Their series have a value for each label.
    pub panels: Vec<Vec<ChartSeries>>,
    /// Intervals at the end that are not over.
    pub unfinished: UnfinishedIntervals,
    /// Whether the chart is a ranking, the largest first.
    pub is_ranking: bool,
}

/// The last intervals of a chart over time, as far as they are not over: what is drawn of them still changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedIntervals {
    /// Number of intervals, counted from the last one.
    pub count: usize,
    /// Name in the legend.
    pub name: &'static str,
}

/// A series of a chart: a name and a value for each interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartSeries {
    /// Name in the legend.
    pub name: String,
    /// Values of the series; none where there is nothing to show.
    pub values: Vec<Option<Number>>,
    /// Mark with which the series is drawn.
    pub mark: SeriesMark,
}

/// Mark of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesMark {
    /// Bars on top of those of the series before; below zero where values are.
    Bars,
    /// A solid line through the values.
    Line,
    /// A dashed line through the values.
    Dashes,
}

impl Report {
    /// Chart of the report: all in the base currency, or where that is not possible, in its first currency.
    pub fn chart(&self, query: &ReportQuery) -> Chart {
        match self {
            Self::Mrr(report) => report.chart(),
            Self::Retention(report) => match &report.cohorts {
                Some(cohorts) if query.part == ReportPart::Cohorts => cohorts.chart(),
                _ => report.retention.chart(),
            },
            Self::Renewals(report) => report.chart(),
            Self::Forecast(report) => report.chart(),
            Self::Customers(report) => report.chart(),
            Self::Explanation(explanation) => explanation.chart(),
            Self::ForecastExplanation(explanation) => explanation.chart(explanation.line.name()),
            Self::RenewalsExplanation(explanation) => explanation.chart(explanation.line.name()),
            Self::Usage(report) => report.chart(query.part),
            Self::UsageExplanation(explanation) => explanation.chart(),
            // Its route returns none.
            Self::ClosedMonth(_) => Chart::default(),
        }
    }
}

pub(super) fn drawn<R>(
    name: &str,
    mark: SeriesMark,
    rows: &[R],
    value: impl Fn(&R) -> Option<Number>,
) -> ChartSeries {
    ChartSeries { name: name.to_owned(), values: rows.iter().map(value).collect(), mark }
}

pub(super) fn negated(number: Number) -> Number {
    (-number.as_decimal()).into()
}

pub(super) fn in_percent(ratio: Number) -> Option<Number> {
    percent(ratio).parse().ok().map(|percent: rust_decimal::Decimal| percent.into())
}

/// The series that is drawn: the one in the base currency, else the first currency; and a note of what is left out.
fn shown<'s, S>(
    converted: Option<&'s S>,
    currencies: &'s [S],
) -> (Option<&'s S>, Option<&'static str>) {
    let is_one_of_many = converted.is_none() && currencies.len() > 1;
    let left_out = is_one_of_many.then_some("only one currency is drawn");
    (converted.or(currencies.first()), left_out)
}

fn chart(
    about: &ReportHeader,
    what: &str,
    unit: &str,
    labels: Vec<String>,
    series: Vec<ChartSeries>,
) -> Chart {
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let description =
        format!("From {} until before {}, as of {}.", about.from, about.to, about.now);
    let title = format!("{what}{unit}, {}", about.time_zone);
    let (panels, note) = (vec![series], about.note());
    Chart { title, note, description, labels, panels, ..Chart::default() }
}

impl Chart {
    /// The chart with a further sentence in its note.
    fn with_note(mut self, more: Option<&str>) -> Self {
        let note = (!self.note.is_empty()).then_some(&*self.note);
        self.note = note.into_iter().chain(more).collect::<Vec<_>>().join("; ");
        self
    }

    /// The chart with the periods marked that are not over at the time of the report.
    fn marking<'p>(
        self,
        about: &ReportHeader,
        periods: impl DoubleEndedIterator<Item = &'p ReportPeriod>,
    ) -> Self {
        let zone = Zone::parse(about.time_zone).unwrap_or(Zone::UTC);
        let unfinished =
            UnfinishedIntervals::of_periods(periods, about.interval, Day::at(about.now, zone));
        Self { unfinished, ..self }
    }
}

impl UnfinishedIntervals {
    /// The periods, in their order, that are not over on a day.
    pub(super) fn of_periods<'p>(
        periods: impl DoubleEndedIterator<Item = &'p ReportPeriod>,
        interval: Interval,
        today: Day,
    ) -> Self {
        let current = interval.start_of(today);
        // The end of a report may cut its last period: what counts is the interval in which that is.
        let starts = periods.rev().map(|period| interval.start_of(period.to.before()));
        let starts: Vec<Day> = starts.take_while(|start| *start >= current).collect();
        let name = match (starts.first(), starts.last()) {
            (Some(last), _) if *last == current => "in progress",
            (_, Some(first)) if *first > current => "to come",
            _ => "in progress or to come",
        };
        Self { count: starts.len(), name }
    }
}

impl Movements {
    fn chart(&self) -> Chart {
        let (shown, left_out) = shown(self.converted.as_ref(), &self.currencies);
        let (currency, rows) = parts(shown);
        let bars = |name, value: fn(&MovementRow) -> Number| {
            drawn(name, SeriesMark::Bars, rows, |row| Some(value(row)))
        };
        let mut movements = vec![
            bars("new", |row| row.new),
            bars("reactivation", |row| row.reactivation),
            bars("expansion", |row| row.expansion),
            bars("churn", |row| negated(row.churn)),
            bars("contraction", |row| negated(row.contraction)),
        ];
        // Most reports have none of these.
        let rare = [
            drawn("entering", SeriesMark::Bars, rows, |row| row.entering),
            drawn("leaving", SeriesMark::Bars, rows, |row| row.leaving.map(negated)),
            drawn("fx", SeriesMark::Bars, rows, |row| row.fx),
            bars("negative", |row| row.negative),
        ];
        let has_some = |drawn: &ChartSeries| {
            drawn.values.iter().flatten().any(|value| !value.as_decimal().is_zero())
        };
        movements.extend(rare.into_iter().filter(has_some));
        // Next to the MRR, which is many times larger, nobody could see them.
        let mrr = vec![drawn("MRR", SeriesMark::Line, rows, |row| Some(row.end))];
        let labels = rows.iter().map(|row| row.period.period.clone()).collect();
        let together = self.segments.is_some().then_some("all segments together");
        let chart = chart(&self.about, "MRR and its movements", currency, labels, Vec::new());
        Chart { panels: vec![mrr, movements], ..chart }
            .with_note(left_out)
            .with_note(together)
            .marking(&self.about, rows.iter().map(|row| &row.period))
    }
}

/// Currency of a series, and its rows.
fn parts<R>(series: Option<&Series<R>>) -> (&str, &[R]) {
    series.map_or(("", &[]), |series| (&*series.currency, &*series.rows))
}

impl Retention {
    fn chart(&self) -> Chart {
        let (shown, left_out) = shown(self.converted.as_ref(), &self.currencies);
        let rows = shown.map_or(&[][..], |series| &*series.trailing_year);
        let series = vec![
            drawn("NRR", SeriesMark::Line, rows, |row| in_percent(row.nrr?)),
            drawn("GRR", SeriesMark::Line, rows, |row| in_percent(row.grr?)),
        ];
        let labels = rows.iter().map(|row| row.period.period.clone()).collect();
        let currency =
            shown.map_or(String::new(), |series| format!("percent of {}", series.currency));
        chart(&self.about, "Retention of the year before", &currency, labels, series)
            .with_note(left_out)
            .marking(&self.about, rows.iter().map(|row| &row.period))
    }
}

impl Cohorts {
    fn chart(&self) -> Chart {
        let (shown, left_out) = shown(self.converted.as_ref(), &self.currencies);
        let (currency, rows) = parts(shown);
        let all = rows.len();
        let rows = rows.get(all.saturating_sub(MAX_COHORTS)..).unwrap_or_default();
        let earlier =
            (rows.len() < all).then(|| format!("the latest {} of {all} cohorts", rows.len()));
        let series = rows.iter().map(|cohort| {
            let share = |cell: &Option<super::CohortCell>| in_percent(cell.as_ref()?.share?);
            drawn(&cohort.cohort, SeriesMark::Line, &cohort.cells, share)
        });
        let labels = self.columns.iter().map(|column| column.period.period.clone()).collect();
        let unit =
            if currency.is_empty() { String::new() } else { format!("percent of {currency}") };
        chart(&self.about, "Share that cohorts keep", &unit, labels, series.collect())
            .with_note(left_out)
            .with_note(earlier.as_deref())
            .marking(&self.about, self.columns.iter().map(|column| &column.period))
    }
}

impl Renewals {
    fn chart(&self) -> Chart {
        let (shown, left_out) = shown(self.converted.as_ref(), &self.currencies);
        let (currency, rows) = parts(shown);
        let bars = |name, value: fn(&RenewalRow) -> Number| {
            drawn(name, SeriesMark::Bars, rows, |row| Some(value(row)))
        };
        let series = vec![
            bars("renewed", |row| row.renewed),
            bars("upgrade", |row| row.upgrade),
            bars("downgrade", |row| row.downgrade),
            bars("churned", |row| row.churned),
            bars("overdue", |row| row.overdue),
            bars("open", |row| row.open),
        ];
        let labels = rows.iter().map(|row| row.period.period.clone()).collect();
        let title = match self.by {
            RenewalsBy::End => "MRR of licenses that end",
            RenewalsBy::Notice => "MRR of licenses whose notice ends",
        };
        chart(&self.about, title, currency, labels, series).with_note(left_out)
    }
}

impl Forecast {
    fn chart(&self) -> Chart {
        let (shown, left_out) = shown(self.converted.as_ref(), &self.currencies);
        let (currency, rows) = parts(shown);
        let line = |name, mark, value: fn(&ForecastRow) -> Number| {
            drawn(name, mark, rows, |row| Some(value(row)))
        };
        let series = vec![
            line("confirmed", SeriesMark::Bars, |row| row.confirmed),
            line("base", SeriesMark::Line, |row| row.total.base),
            line("optimistic", SeriesMark::Dashes, |row| row.total.optimistic),
            line("pessimistic", SeriesMark::Dashes, |row| row.total.pessimistic),
        ];
        let labels = rows.iter().map(|row| row.period.period.clone()).collect();
        let is_equal = |row: &ForecastRow| {
            row.total.base == row.total.optimistic && row.total.base == row.total.pessimistic
        };
        let equal = rows.iter().all(is_equal).then_some("all scenarios are equal");
        chart(&self.about, "MRR to come, in scenarios", currency, labels, series)
            .with_note(left_out)
            .with_note(equal.filter(|_| !rows.is_empty()))
    }
}

impl Customers {
    fn chart(&self) -> Chart {
        let rows = self.rows.iter().filter(|row| row.at_stake.is_some());
        let rows: Vec<_> = rows.take(MAX_RANKED).collect();
        let labels = rows.iter().map(|row| label_of(row.name.as_ref(), row.company));
        let at_stake = drawn("at stake", SeriesMark::Bars, &rows, |row| {
            row.at_stake.as_ref().map(|stake| stake.amount)
        });
        let currency = self.about.base_currency.as_deref().unwrap_or_default();
        let chart = chart(&self.about, "MRR at stake", currency, labels.collect(), vec![at_stake]);
        Chart { is_ranking: true, ..chart }
    }
}

impl Explanation {
    fn chart(&self) -> Chart {
        let rows = self.companies.iter();
        let rows = rows.map(|share| (label_of(share.name.as_ref(), share.company), share.amount));
        let description = format!("{}, from {} until before {}.", self.formula, self.from, self.to);
        by_company(self.line.name(), &self.currency, description, rows)
    }
}

impl<L, R> LineExplanation<L, R> {
    fn chart(&self, name: &str) -> Chart {
        let rows = self.companies.iter();
        let rows = rows.map(|found| (label_of(found.name.as_ref(), found.company), found.amount));
        let description = format!("{}, from {} until before {}.", self.formula, self.from, self.to);
        by_company(name, &self.currency, description, rows)
    }
}

/// Label of a company: its name, or its id.
fn label_of(name: Option<&String>, company: ObjectId) -> String {
    name.cloned().unwrap_or_else(|| company.to_string())
}

/// Amounts of companies under a line, the largest.
fn by_company(
    line: &str,
    currency: &str,
    description: String,
    rows: impl Iterator<Item = (String, Number)>,
) -> Chart {
    let rows: Vec<_> = rows.take(MAX_RANKED).collect();
    Chart {
        title: format!("{line} by company, {currency}"),
        description,
        labels: rows.iter().map(|(label, _)| label.clone()).collect(),
        panels: vec![vec![drawn(line, SeriesMark::Bars, &rows, |(_, amount)| Some(*amount))]],
        is_ranking: true,
        ..Chart::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::parse(text).unwrap()
    }

    #[test]
    fn the_interval_of_today_and_later_ones_are_unfinished() {
        let period = |[from, to]: [&str; 2]| ReportPeriod {
            period: from.to_owned(),
            from: day(from),
            to: day(to),
        };
        let months = [
            ["2024-06-01", "2024-07-01"],
            ["2024-07-01", "2024-08-01"],
            ["2024-08-01", "2024-09-01"],
            ["2024-09-01", "2024-09-05"],
        ];
        let months = months.map(period);
        for (until, today, expect) in [
            (3, "2024-09-01", 0),
            (3, "2024-08-31", 1),
            (3, "2024-07-31", 2),
            (4, "2024-09-20", 1),
            (4, "2024-10-01", 0),
        ] {
            let months = months.iter().take(until);
            let found = UnfinishedIntervals::of_periods(months, Interval::Month, day(today));
            assert_eq!(found.count, expect, "{today}");
        }
        for (today, expect) in [
            ("2024-09-04", "in progress"),
            ("2024-08-04", "in progress or to come"),
            ("2024-05-04", "to come"),
        ] {
            let found = UnfinishedIntervals::of_periods(months.iter(), Interval::Month, day(today));
            assert_eq!(found.name, expect);
        }
    }
}
