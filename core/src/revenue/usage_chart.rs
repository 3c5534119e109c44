//! Charts of the usage report: figures, cohorts and actions.

use super::{
    calendar::Day,
    chart::{Chart, ChartSeries, SeriesMark, UnfinishedIntervals, drawn, in_percent, negated},
    query::ReportPart,
    usage_report::{UsageReport, UsageRow},
};
use crate::value::{Number, Zone};

/// Maximum number of cohorts in the chart: the latest ones.
const MAX_COHORTS: usize = 12;
/// Maximum number of bars in a ranking of actions.
const MAX_ACTIONS: usize = 20;

impl UsageReport {
    pub(super) fn chart(&self, part: ReportPart) -> Chart {
        let (what, labels, series) = match part {
            ReportPart::Cohorts => self.lines_of_cohorts(),
            ReportPart::Actions => self.bars_of_actions(),
            ReportPart::Figures | ReportPart::Licenses => self.bars_of_periods(),
        };
        let (from, to, now) = (self.from, self.to, self.now);
        let unfinished = match part {
            ReportPart::Figures | ReportPart::Licenses => self.unfinished(),
            // Only weeks that are over are drawn of cohorts.
            ReportPart::Cohorts | ReportPart::Actions => UnfinishedIntervals::default(),
        };
        Chart {
            title: format!("{what}, {}", self.time_zone),
            note: String::new(),
            description: format!("From {from} until before {to}, as of {now}."),
            labels,
            panels: vec![series],
            unfinished,
            is_ranking: part == ReportPart::Actions,
        }
    }

    fn unfinished(&self) -> UnfinishedIntervals {
        let zone = Zone::parse(self.time_zone).unwrap_or(Zone::UTC);
        let periods = self.rows.iter().map(|row| &row.period);
        UnfinishedIntervals::of_periods(periods, self.interval, Day::at(self.now, zone))
    }

    fn bars_of_periods(&self) -> (&'static str, Vec<String>, Vec<ChartSeries>) {
        let bars = |name, value: fn(&UsageRow) -> u64| {
            drawn(name, SeriesMark::Bars, &self.rows, |row| Some(number(value(row))))
        };
        let dormant = drawn("dormant", SeriesMark::Bars, &self.rows, |row| {
            Some(negated(number(row.users.dormant)))
        });
        let monthly =
            drawn("28 days", SeriesMark::Line, &self.rows, |row| row.users.monthly.map(number));
        let series = vec![
            bars("new", |row| row.users.new),
            bars("returning", |row| row.users.returning),
            bars("resurrecting", |row| row.users.resurrecting),
            dormant,
            monthly,
        ];
        let labels = self.rows.iter().map(|row| row.period.period.clone()).collect();
        ("Active users", labels, series)
    }

    fn lines_of_cohorts(&self) -> (&'static str, Vec<String>, Vec<ChartSeries>) {
        let cohorts = &self.retention.cohorts;
        let labels = self.retention.mean.iter().map(|mean| mean.week.to_string()).collect();
        let lines = cohorts.get(cohorts.len().saturating_sub(MAX_COHORTS)..).unwrap_or_default();
        let line = |cohort: &super::usage_report::UsageCohort| {
            let mut line = drawn(&cohort.cohort, SeriesMark::Line, &cohort.cells, |cell| {
                cell.share.filter(|_| cell.is_over).and_then(in_percent)
            });
            line.values.resize(self.retention.mean.len(), None);
            line
        };
        let mean =
            drawn("all", SeriesMark::Dashes, &self.retention.mean, |mean| in_percent(mean.share?));
        (
            "Users active by weeks since their first, in percent",
            labels,
            lines.iter().map(line).chain([mean]).collect(),
        )
    }

    fn bars_of_actions(&self) -> (&'static str, Vec<String>, Vec<ChartSeries>) {
        let rows = self.actions.get(..MAX_ACTIONS.min(self.actions.len())).unwrap_or_default();
        let labels = rows.iter().map(|row| row.action.clone()).collect();
        let bars = drawn("activities", SeriesMark::Bars, rows, |row| Some(number(row.activities)));
        ("Activities by action", labels, vec![bars])
    }
}

fn number(count: u64) -> Number {
    rust_decimal::Decimal::from(count).into()
}
