//! Twelve licenses of seven companies in `twelve.csv`: every movement, a leap year, two currencies, a renewal in a
//! gap, a start at midnight of another zone. Every figure can be checked by hand, or in a spreadsheet that opens
//! `twelve.sheet.csv`.

use std::collections::HashMap;

use svctrack_core::{
    revenue::{Ledger, LicenseFacts, MovementRow, RenewalStatus, ReportOptions, mrr, retention},
    value::{Number, Zone, period::Period},
};

use super::{
    mrr_of_csv,
    sheet::Sheet,
    support::{at, id, options, rates},
};

const LICENSES: &str = include_str!("twelve.csv");
const SHEET: &str = include_str!("twelve.sheet.csv");

fn licenses() -> Vec<LicenseFacts<'static>> {
    let mut reader = csv::Reader::from_reader(LICENSES.as_bytes());
    let rows = reader.deserialize::<HashMap<String, String>>().map(|row| {
        let row = row.unwrap();
        let from = at(&row["from"]);
        let period =
            (!row["to"].is_empty()).then(|| Period::between(from, at(&row["to"]), Zone::UTC));
        LicenseFacts {
            product: row["product"].clone().into(),
            currency: row["currency"].clone().into(),
            from: Some(from),
            end: period.map(|period| period.unwrap().end),
            fixed: row["fixed"] == "true",
            status: match &*row["status"] {
                "renewed" => RenewalStatus::Renewed,
                "lost" => RenewalStatus::Lost,
                _ => RenewalStatus::Ongoing,
            },
            mrr: Some(row["mrr"].parse().unwrap()),
            ..LicenseFacts::new(id(&row["id"]), id(&row["company"]))
        }
    });
    rows.collect()
}

fn asked() -> ReportOptions {
    ReportOptions {
        gap_days: 7,
        rates: Some(rates(&[("USD", "2023-01-01", "0.9")])),
        ..options("2024-01-01", "2024-08-01", "2024-08-01")
    }
}

fn rows(asked: &ReportOptions) -> Vec<MovementRow> {
    let report = mrr(&Ledger::new(licenses()).unwrap(), asked, None).unwrap();
    report.converted.unwrap().rows
}

/// Start, new, reactivation, expansion, contraction, churn, negative, end, customers.
fn line(row: &MovementRow) -> String {
    format!("{} {}", row.amounts().map(|amount| amount.to_string()).join(" "), row.customers)
}

/// Names of the columns, and a line per month; the suite of reports over HTTP reads it too.
const EXPECTED: &str = include_str!("twelve-mrr.txt");

fn expected() -> Vec<&'static str> {
    EXPECTED.lines().skip(1).collect()
}

#[test]
fn twelve_licenses_show_every_movement() {
    let rows = rows(&asked());
    assert_eq!(rows.iter().map(line).collect::<Vec<_>>(), expected());
    assert_eq!((rows[6].overdue.to_string(), rows[6].overdue_licenses), ("500".into(), 1));
}

#[test]
fn a_start_at_midnight_of_the_zone_is_of_the_next_month() {
    let zone = ReportOptions::zone_of("Europe/Berlin").unwrap();
    let rows = rows(&ReportOptions { zone, ..asked() });
    assert_eq!(line(&rows[4]), "1960 0 0 0 0 0 -20 1940 4");
    assert_eq!(line(&rows[5]), "1940 0 240 0 30 0 0 2150 5");
}

#[test]
fn a_spreadsheet_has_the_same_figures() {
    let sheet = Sheet::parse(SHEET);
    let names = EXPECTED.lines().next().unwrap().split(' ');
    let lines: Vec<_> = names.map(|name| sheet.row(name, 8)).collect();
    let month = |month: usize| lines.iter().map(|line| line[month].to_string()).collect::<Vec<_>>();
    let months = (0..7).map(|number| month(number).join(" "));
    assert_eq!(months.collect::<Vec<_>>(), expected());
    let span = retention(&Ledger::new(licenses()).unwrap(), &asked()).unwrap();
    let span = span.converted.unwrap().span;
    let figures = [span.base, span.kept, span.retained, span.grr.unwrap(), span.nrr.unwrap()];
    let cell = |name| format!("{:.10}", sheet.row(name, 14)[0]);
    let figure = |figure: Number| format!("{:.10}", figure.as_decimal());
    assert_eq!(["base", "kept", "retained", "GRR", "NRR"].map(cell), figures.map(figure));
}

#[test]
fn the_example_reads_a_csv_file_and_prints_mrr() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/revenue");
    let run = |file: &str, rest: &[&str]| {
        let file = format!("{folder}/{file}");
        let arguments = [&[&*file, "2024-01-01", "2024-08-01"], rest].concat();
        let arguments: Vec<String> = arguments.into_iter().map(ToOwned::to_owned).collect();
        mrr_of_csv::report(&arguments).map_err(|error| error.to_string())
    };
    let printed = run("twelve.csv", &["EUR", "USD=0.9"]).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 1 + 3 * 7);
    // Without a gap that is bridged, the late renewal is churn and reactivation.
    assert_eq!(
        lines[15],
        ",converted,EUR,2024-01,2024-01-01,2024-02-01,2050.00,,480.00,0.00,0.00,0.00,1000.00,0.00,,,1530.00,4,2,0,1,382.50,240.00,0.00,0,"
    );
    assert!(lines[16].contains(",2024-02,"), "{}", lines[16]);
    assert!(lines[16].contains(",1530.00,,0.00,1100.00,0.00,0.00,300.00,"), "{}", lines[16]);
    assert_eq!(run("twelve.csv", &[]).unwrap().lines().count(), 1 + 2 * 7);
    // The last day is paid, so that the license counts just before the next one.
    let end = |to: &str| {
        let path = format!("{folder}/fortnight.csv");
        let arguments = [&*path, "2024-01-01", to].map(ToOwned::to_owned);
        let printed = mrr_of_csv::report(&arguments).unwrap();
        printed.lines().nth(1).unwrap().split(',').nth(16).unwrap().to_owned()
    };
    assert_eq!(["2024-01-14", "2024-01-15", "2024-01-16"].map(end), ["5.00", "5.00", "0.00"]);
    assert!(run("main.rs", &[]).unwrap_err().contains("has no column `company`"));
    assert!(run("none.csv", &[]).unwrap_err().contains("none.csv: "));
    assert!(run("twelve.csv", &["EUR", "USD=-1"]).unwrap_err().contains("the rate of `USD`"));
}
