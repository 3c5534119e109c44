//! Currencies whose licenses have no amount in a report of MRR need no rate, and whatever rate they have changes nothing.

use svctrack_core::revenue::{
    Cell, CustomerPage, CustomerSources, CustomerUsage, ExchangeRates, Ledger, RenewalsBy,
    ReportLine, ReportOptions, Weights, cohorts, customers, explain, mrr, renewals, retention,
};

use super::{
    compared,
    random::Random,
    support::{at, converted, day, ledger, options, rates},
};

/// Histories, each with a report in it and one that begins years later.
const HISTORIES: usize = 150;
/// Days until the later report begins.
const LATER: i64 = 1_000;

const LICENSES: &str = "
    L1 Acme EUR 2024-01-01 - 100 Suite ongoing
    L2 Acme CHF 2025-06-01 2026-06-01 50 Suite ongoing
    L3 Bolt DEM 2001-01-01 2003-01-01 50 Suite lost
    L4 Bolt EUR 2024-02-10 - 10 Suite ongoing
";

/// Reports of a ledger in the base currency, each none where a rate is missing. Each of their figures can be explained.
fn reports(ledger: &Ledger, asked: &ReportOptions) -> [Option<String>; 3] {
    let mrr = mrr(ledger, asked, None).unwrap();
    let retention = retention(ledger, asked).unwrap();
    assert_eq!(mrr.about.missing_rates.is_empty(), mrr.converted.is_some());
    let rows = mrr.converted.iter().flat_map(|series| &series.rows).map(|row| &row.period);
    let years = retention.converted.iter().flat_map(|series| &series.trailing_year);
    for period in rows.chain(years.map(|row| &row.period)) {
        let (from, to, line) = (period.from, period.to, ReportLine::End);
        let cell = Cell { from, to, line, currency: None, segment: None, cohort: None };
        let explained = explain(ledger, asked, None, &cell).map(|explained| explained.amount);
        assert!(explained.is_ok(), "{period:?}: {explained:?}");
    }
    [
        mrr.converted.map(|it| format!("{it:?}")),
        retention.converted.map(|it| format!("{it:?}")),
        cohorts(ledger, asked).unwrap().converted.map(|it| format!("{it:?}")),
    ]
}

fn with(rates: ExchangeRates, asked: &ReportOptions) -> ReportOptions {
    ReportOptions { rates: Some(rates), ..asked.clone() }
}

#[test]
fn a_currency_that_has_no_amount_in_the_report_needs_no_rate() {
    let asked = with(rates(&[]), &options("2024-01-01", "2024-04-01", "2024-04-01"));
    let all = ledger(LICENSES);
    let report = mrr(&all, &asked, None).unwrap();
    assert!(report.about.missing_rates.is_empty(), "{:?}", report.about.missing_rates);
    // Who paid before in a currency without a rate comes back.
    assert_eq!(
        converted(&report),
        [
            "2024-01 0 100 0 0 0 0 100 1 100.00",
            "2024-02 100 0 10 0 0 0 110 2 55.00",
            "2024-03 110 0 0 0 0 0 110 2 55.00",
        ]
    );
    for (line, missing) in [
        ("L5 Bolt CHF 2024-03-31 - 1 Suite ongoing", "CHF"),
        ("L5 Bolt DEM 2020-01-01 2021-01-01 1 Suite ongoing", "DEM"),
        ("L5 Acme DEM 2020-01-01 2020-06-01 -1 Suite lost", "CHF"),
        ("L5 Acme DEM 2023-10-01 2023-12-31T23:00Z 50 Suite renewed", "DEM"),
    ] {
        let report = mrr(&ledger(&format!("{LICENSES}{line}")), &asked, None).unwrap();
        let found = report.about.missing_rates.first().map(|rate| rate.currency.as_str());
        assert_eq!((found, report.converted), (Some(missing), None), "{line}");
    }
    for (now, expected) in [("2024-04-01", 0), ("2025-06-02", 1)] {
        let asked = ReportOptions { now: at(now), ..asked.clone() };
        let weights = Weights::default();
        let sources = CustomerSources {
            usage_of: &|_| CustomerUsage::default(),
            has_usage: false,
            name_of: &|_| None,
        };
        let found = customers(&all, &asked, sources, &weights, &CustomerPage::default()).unwrap();
        assert_eq!(found.about.missing_rates.len(), expected, "{now}");
        assert_eq!(
            found.rows.iter().filter(|row| row.at_stake.is_none()).count(),
            expected,
            "{now}"
        );
    }
    // Retention compares with the year before, also across a gap to a license without an amount.
    let bridged = format!(
        "{LICENSES}L5 Bolt CHF 2020-01-01 2022-12-01 50 Suite renewed\nL6 Bolt CHF 2023-03-01 2023-04-01 0 Suite lost"
    );
    let bridged = ledger(&bridged);
    for (gap_days, is_needed) in [(0, true), (100, true)] {
        let asked = ReportOptions { gap_days, ..asked.clone() };
        let kept = retention(&bridged, &asked).unwrap();
        assert_eq!(kept.converted.is_none(), is_needed, "{gap_days}");
    }
    let asked_later =
        ReportOptions { to: day("2024-06-01"), from: day("2024-05-01"), ..asked.clone() };
    for (gap_days, is_needed) in [(0, false), (100, true)] {
        let asked = ReportOptions { gap_days, ..asked_later.clone() };
        assert_eq!(
            retention(&bridged, &asked).unwrap().converted.is_none(),
            is_needed,
            "{gap_days}"
        );
    }
    // A renewal can be in a currency whose licenses begin later.
    let due = renewals(&all, &asked, RenewalsBy::End, None).unwrap();
    assert_eq!(due.about.missing_rates.len(), 2);
}

#[test]
fn a_rate_without_an_amount_in_the_report_changes_no_figure() {
    let mut found = 0;
    for seed in 1..=HISTORIES as u64 {
        let mut random = Random::new(seed);
        let mut asked = random.asked();
        if matches!(asked.interval, "day" | "week") {
            asked.interval = "month"; // As cohorts need it.
        }
        if seed.is_multiple_of(3) {
            asked.gap_days = 300;
        }
        let ledger = compared::ledger_of(seed, &random.licenses(asked.zone));
        for later in [0, LATER] {
            (asked.from, asked.to) = (asked.from + later, asked.to + later);
            let set = std::mem::take(&mut asked.rates);
            asked.rates = set.iter().filter(|(name, ..)| *name != "JPY").copied().collect();
            let asked_of = compared::options(&asked);
            let without = reports(&ledger, &asked_of);
            found += without.iter().flatten().count();
            for rate in ["0.0001", "1", "5000"] {
                let mut rates = asked_of.rates.clone().unwrap();
                rates.set("JPY", day("2000-01-01"), rate.parse().unwrap()).unwrap();
                let others = reports(&ledger, &with(rates, &asked_of));
                for (without, other) in without.iter().zip(&others) {
                    let is_same = without.is_none() || without == other;
                    assert!(
                        is_same,
                        "seed {seed}, {later}, {rate}: {asked:?}: {without:?} {other:?}"
                    );
                }
            }
            asked.rates = set;
        }
    }
    assert!(found > 3 * HISTORIES, "{found}");
}
