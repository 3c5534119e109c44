//! Licenses that are renewed in another currency.

use std::collections::{BTreeMap, BTreeSet};

use svctrack_core::revenue::{
    Interval, Ledger, LicenseFacts, MovementView, RenewalsBy, RenewalsCell, RenewalsLine,
    ReportOptions, explain_renewals, forecast, mrr, renewals,
};

use super::{
    support::{day, id, license, name, options, rates},
    worked::renewed,
};

/// A license of a year in euros, renewed in dollars, and in euros again.
const SWITCHED: &str = "
    E1 Nord EUR 2022-01-01 2023-01-01 100 Suite ongoing
    U2 Nord USD 2023-01-01 2024-01-01 120 Suite ongoing
    E3 Nord EUR 2024-03-01 2025-03-01 90 Suite ongoing
";

fn switched() -> Ledger {
    line_of("E1", &["U2", "E3"], SWITCHED)
}

/// Licenses, some of which have a parent.
fn line_of(parent: &str, children: &[&str], lines: &str) -> Ledger {
    let lines = lines.lines().filter(|line| !line.trim().is_empty()).map(license);
    let with_parent = |license: LicenseFacts<'static>| {
        let parent = children.contains(&&*name(license.id)).then(|| id(parent));
        LicenseFacts { parent, ..license }
    };
    Ledger::new(lines.map(with_parent)).unwrap()
}

/// Licenses that are due, each with its successor.
fn successors(ledger: &Ledger, asked: &ReportOptions) -> Vec<(String, Option<String>)> {
    let report = renewals(ledger, asked, RenewalsBy::End, None).unwrap();
    let lines = report.licenses.iter();
    lines.map(|line| (name(line.license), line.successor.map(name))).collect()
}

#[test]
fn a_successor_in_another_currency_renews_its_parent() {
    let asked = ReportOptions {
        interval: Interval::Year,
        ..options("2022-01-01", "2026-01-01", "2024-06-01")
    };
    let row = |asked: &ReportOptions, currency: Option<&str>, year: usize| {
        let report = renewals(&switched(), asked, RenewalsBy::End, None).unwrap();
        let series = report.currencies.iter().find(|series| Some(&*series.currency) == currency);
        let row = &series.or(report.converted.as_ref()).unwrap().rows[year];
        format!("{} {}", renewed(row), row.not_compared)
    };
    // Without rates neither is more than the other, and the report notes that it did not compare them.
    assert_eq!(row(&asked, Some("EUR"), 1), "100 100 0 0 0 0 0 100 100 100 1");
    assert_eq!(row(&asked, Some("USD"), 2), "120 120 0 0 0 0 0 100 100 100 1");
    let known =
        ReportOptions { rates: Some(rates(&[("USD", "2020-01-01", "0.9")])), ..asked.clone() };
    assert_eq!(row(&known, Some("EUR"), 1), "100 100 8 0 0 0 0 100 108 100 0");
    assert_eq!(row(&known, Some("USD"), 2), "120 100 0 20 0 0 0 83.33 83.33 100 0");
    assert_eq!(row(&known, None, 1), "100 100 8 0 0 0 0 100 108 100 0");
    assert_eq!(row(&known, None, 2), "108 90 0 18 0 0 0 83.33 83.33 100 0");
    let report = renewals(&switched(), &asked, RenewalsBy::End, None).unwrap();
    let lines = report.licenses.iter().map(|line| {
        let renewed = line.renewed_mrr.map_or("-".into(), |mrr| mrr.to_string());
        let currency = line.renewed_currency.as_deref().unwrap_or("-");
        let successor = line.successor.map_or("-".into(), name);
        format!("{} {:?} {renewed} {currency} {successor}", name(line.license), line.outcome)
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines, ["E1 Renewed 120 USD U2", "U2 Renewed 90 EUR E3", "E3 Open - - -"]);
    // Nothing is overdue, and nothing is expected twice.
    let moved = mrr(&switched(), &asked, None).unwrap();
    assert_eq!(moved.overdue_total, 0);
    let assumed = ReportOptions { assume_renewed: true, ..known.clone() };
    let expected = forecast(&switched(), &assumed, None).unwrap().converted.unwrap();
    let expected: Vec<_> =
        expected.rows.iter().map(|row| row.unconfirmed.base.to_string()).collect();
    assert_eq!(expected, ["0", "0", "0", "90"]);
    let cell = |line, currency: Option<&str>| RenewalsCell {
        from: day("2023-01-01"),
        to: day("2024-01-01"),
        line,
        currency: currency.map(ToOwned::to_owned),
    };
    let explained = |asked: &ReportOptions, line, currency| {
        let found =
            explain_renewals(&switched(), asked, RenewalsBy::End, cell(line, currency)).unwrap();
        found.companies[0].formula.clone()
    };
    assert_eq!(explained(&known, RenewalsLine::Upgrade, None), "upgrade: 100 -> 108 = 8");
    assert_eq!(explained(&known, RenewalsLine::Upgrade, Some("EUR")), "upgrade: 100 -> 108 = 8");
    let said = explained(&asked, RenewalsLine::Renewed, Some("EUR"));
    assert_eq!(said, "renewed: 100 -> 120 USD = 100");
}

#[test]
fn licenses_of_a_line_in_two_currencies_are_renewed_each_in_its_own() {
    let lines = "
        E1 Nord EUR 2023-01-01 2024-01-01 100 Suite ongoing
        U1 Nord USD 2023-01-01 2024-01-01 50 Suite ongoing
        U2 Nord USD 2024-01-01 2025-01-01 60 Suite ongoing
        E2 Nord EUR 2024-01-15 2025-01-15 110 Suite ongoing
    ";
    let ledger = line_of("E1", &["E1", "U1", "U2", "E2"], lines);
    let asked = options("2023-06-01", "2024-06-01", "2024-06-01");
    let expected = [("E1", "E2"), ("U1", "U2")];
    let expected = expected.map(|(a, b)| (a.to_owned(), Some(b.to_owned())));
    assert_eq!(successors(&ledger, &asked), expected);
}

#[test]
fn a_near_successor_of_the_line_may_be_of_another_product() {
    let lines = "
        P1 Nord EUR 2024-01-01 2025-01-01 100 Suite ongoing
        P2 Nord EUR 2025-01-01 2026-01-01 200 Pro ongoing
        X1 Nord EUR 2025-01-01 2026-01-01 50 Suite ongoing
    ";
    let ledger = line_of("P1", &["P2"], lines);
    let asked = options("2024-06-01", "2025-06-01", "2025-06-01");
    assert_eq!(successors(&ledger, &asked), [("P1".to_owned(), Some("P2".to_owned()))]);
}

#[test]
fn a_license_that_no_report_counts_continues_its_line() {
    let lines = "
        A1 Nord EUR 2024-01-01 2025-01-01 100 Suite ongoing
        B2 Nord EUR 2025-01-01 2025-03-01 0 Suite ongoing
        C3 Nord EUR 2025-03-01 2026-03-01 120 Pro ongoing
    ";
    let trials: [fn(LicenseFacts<'static>) -> LicenseFacts<'static>; 3] = [
        |trial| LicenseFacts { mrr: None, ..trial },
        |trial| LicenseFacts { from: None, ..trial },
        |trial| LicenseFacts { currency: "".into(), ..trial },
    ];
    let asked = options("2024-06-01", "2025-06-01", "2025-06-01");
    let expected = [("A1".to_owned(), Some("C3".to_owned()))];
    for as_trial in trials {
        let lines = lines.lines().filter(|line| !line.trim().is_empty()).map(license);
        let of_line = |license: LicenseFacts<'static>| match &*name(license.id) {
            "B2" => as_trial(LicenseFacts { parent: Some(id("A1")), ..license }),
            "C3" => LicenseFacts { parent: Some(id("B2")), ..license },
            _ => license,
        };
        let facts: Vec<_> = lines.map(of_line).collect();
        let whole = Ledger::new(facts.clone()).unwrap();
        assert_eq!(successors(&whole, &asked), expected);
        // A change keeps the line, and one of the license in between changes it.
        let change =
            |license: &LicenseFacts<'static>| BTreeMap::from([(license.id, Some(license.clone()))]);
        let kept = whole.changed(change(&facts[0])).unwrap();
        assert_eq!(successors(&kept, &asked), expected);
        let alone = LicenseFacts { parent: None, ..facts[1].clone() };
        let alone = kept.changed(change(&alone)).unwrap();
        assert_eq!(successors(&alone, &asked), [("A1".to_owned(), None)]);
        let again = alone.changed(change(&facts[1])).unwrap();
        assert_eq!(successors(&again, &asked), expected);
        let deleted = again.changed(BTreeMap::from([(facts[1].id, None)])).unwrap();
        assert_eq!(successors(&deleted, &asked), [("A1".to_owned(), None)]);
        let of_nord = whole.of_companies(&BTreeSet::from([facts[0].company]));
        assert_eq!(successors(&of_nord, &asked), expected);
    }
}

#[test]
fn an_add_on_of_the_line_takes_no_successor_from_its_main_license() {
    let lines = "
        R1 Nord EUR 2023-01-01 2024-01-01 500 Suite ongoing
        R2 Nord EUR 2024-01-04 2025-01-04 500 Suite ongoing
        A1 Nord EUR 2023-06-01 2024-06-01 50 Addon ongoing
    ";
    let ledger = line_of("R1", &["A1"], lines);
    let asked = ReportOptions { gap_days: 7, ..options("2023-06-01", "2024-02-01", "2024-02-01") };
    assert_eq!(successors(&ledger, &asked), [("R1".to_owned(), Some("R2".to_owned()))]);
    let rows = mrr(&ledger, &asked, None).unwrap().converted.unwrap().rows;
    assert!(rows.iter().all(|row| row.churn.to_string() == "0"), "{rows:?}");
}

#[test]
fn a_successor_of_the_line_goes_before_a_nearer_license_of_another_line() {
    let lines = "
        P1 Nord EUR 2023-01-01 2024-01-01 100 Suite ongoing
        X1 Nord EUR 2024-01-02 2025-01-02 50 Suite ongoing
        P2 Nord EUR 2024-01-05 2025-01-05 110 Suite ongoing
    ";
    let ledger = line_of("P1", &["P2"], lines);
    for gap_days in [0, 7] {
        let asked = options("2023-06-01", "2024-06-01", "2024-06-01");
        let asked = ReportOptions { gap_days, ..asked };
        let expected = [("P1".to_owned(), Some("P2".to_owned()))];
        assert_eq!(successors(&ledger, &asked), expected, "{gap_days}");
    }
}

#[test]
fn bridged_gaps_take_no_successor_from_a_license_of_the_same_line() {
    let check = |children: &[&str], lines: &str, expected: &[(&str, &str)], churn: [&str; 2]| {
        for (gap_days, churn) in [0, 7].into_iter().zip(churn) {
            let asked = ReportOptions {
                gap_days,
                interval: Interval::Year,
                view: MovementView::Activities,
                ..options("2024-01-01", "2025-01-01", "2024-07-01")
            };
            let ledger = line_of("P1", children, lines);
            let found = successors(&ledger, &asked).into_iter();
            let found = found.map(|(license, next)| (license, next.unwrap_or_default()));
            let expected = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{gap_days}");
            let rows = mrr(&ledger, &asked, None).unwrap().converted.unwrap().rows;
            assert_eq!(rows[0].churn.to_string(), churn, "{gap_days}");
        }
    };
    // The gap between X1 and P2 is bridged, although P2 renews P1.
    let lines = "
        P1 Nord EUR 2023-01-01 2024-01-01 100 Suite renewed
        X1 Nord EUR 2023-06-01 2024-06-01 70 Suite lost
        P2 Nord EUR 2024-06-03 2025-06-03 120 Suite ongoing
    ";
    check(&["P2"], lines, &[("P1", "P2"), ("X1", "")], ["70", "0"]);
    // A license that follows on the day leaves no gap.
    let lines = "
        P1 Nord EUR 2023-01-01 2024-01-01 100 Suite renewed
        X1 Nord EUR 2024-01-01 2024-06-03 70 Suite lost
        P2 Nord EUR 2024-06-03 2025-06-03 120 Suite ongoing
    ";
    check(&["P2"], lines, &[("P1", "X1"), ("X1", "P2")], ["0", "0"]);
}

#[test]
fn a_later_add_on_of_the_line_takes_no_license_from_the_one_that_is_bridged() {
    let lines = "
        P1 Nord EUR 2023-01-01 2024-01-01 500 Suite ongoing
        P2 Nord EUR 2024-01-04 2025-01-04 500 Suite ongoing
        A1 Nord EUR 2024-03-01 2025-03-01 50 Addon ongoing
    ";
    let asked = ReportOptions { gap_days: 7, ..options("2023-06-01", "2024-02-01", "2024-02-01") };
    let expected = [("P1".to_owned(), Some("P2".to_owned()))];
    assert_eq!(successors(&line_of("P1", &["A1"], lines), &asked), expected);
}
