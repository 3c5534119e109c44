//! Charts: each movement that occurs is drawn, and a note names what is not.

use svctrack_core::revenue::{
    Chart, Ledger, Report, ReportKind, ReportOptions, ReportQuery, RetentionAndCohorts, Valuation,
    cohorts, mrr, retention,
};

use crate::support::{ledger, options, rates};

fn chart(kind: ReportKind, part: &str, report: &Report) -> Chart {
    let pairs = [("from", "2024-01-01"), ("to", "2025-01-01"), ("part", part)];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let count = if part.is_empty() { 2 } else { 3 };
    report.chart(&ReportQuery::parse(kind, &pairs[..count]).unwrap())
}

/// Names of the movements in the chart of an MRR report.
fn movements(ledger: &Ledger, asked: &ReportOptions) -> Vec<String> {
    let report = Report::Mrr(mrr(ledger, asked, None).unwrap().into());
    let chart = chart(ReportKind::Mrr, "", &report);
    chart.panels[1].iter().map(|series| series.name.clone()).collect()
}

#[test]
fn each_movement_that_occurs_is_drawn() {
    const ALWAYS: [&str; 5] = ["new", "reactivation", "expansion", "churn", "contraction"];
    let with =
        |more: &[&str]| ALWAYS.iter().chain(more).map(ToString::to_string).collect::<Vec<_>>();
    let two = ledger(
        "L1 Acme EUR 2024-01-01 -          100 Suite ongoing
         L2 Acme EUR 2024-02-01 2024-04-01  50 Addon renewed",
    );
    let asked = options("2024-01-01", "2025-01-01", "2024-06-01");
    assert_eq!(movements(&two, &asked), with(&[]));
    let of_product = ReportOptions { product: Some("Addon".to_owned()), ..asked.clone() };
    assert_eq!(movements(&two, &of_product), with(&["entering", "leaving"]));
    let abroad = ledger("L1 Acme USD 2024-01-01 - 100 Suite ongoing");
    let rates = rates(&[("USD", "2023-01-01", "0.9"), ("USD", "2024-03-01", "0.8")]);
    let dated = ReportOptions { rates: Some(rates), valuation: Valuation::Dated, ..asked.clone() };
    assert_eq!(movements(&abroad, &dated), with(&["fx"]));
    let credit = ledger("L1 Acme EUR 2024-02-01 2024-04-01 -50 Suite ongoing");
    assert_eq!(movements(&credit, &asked), with(&["negative"]));
}

#[test]
fn a_chart_of_cohorts_names_how_many_it_shows() {
    let chart_of = |months: u32| {
        let line =
            |month| format!("L{month} C{month} EUR 2024-{month:02}-01 - 100 Suite ongoing\n");
        let ledger = ledger(&(1..=months).map(line).collect::<String>());
        let asked = options("2024-01-01", "2025-01-01", "2024-12-15");
        let cohorts = Some(cohorts(&ledger, &asked).unwrap());
        let retention = retention(&ledger, &asked).unwrap();
        let report = Report::Retention(RetentionAndCohorts { retention, cohorts }.into());
        let chart = chart(ReportKind::Retention, "cohorts", &report);
        (chart.panels[0].len(), chart.panels[0][0].name.clone(), chart.note)
    };
    assert_eq!(chart_of(8), (8, "2024-01".to_owned(), String::new()));
    assert_eq!(chart_of(11), (8, "2024-04".to_owned(), "the latest 8 of 11 cohorts".to_owned()));
}
