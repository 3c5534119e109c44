//! Seven licenses of three companies over eight months, in a leap year, in two currencies: every figure was worked out
//! by hand.

use svctrack_core::{
    revenue::{
        Cell, Customer, CustomerPage, CustomerSources, CustomerUsage, Day, Interval, LaterLicenses,
        Ledger, LicenseFacts, MovementView, RenewalOutcome, RenewalRow, RenewalsBy, ReportLine,
        ReportOptions, RetentionRow, Valuation, Weights, cohorts, customers, explain, forecast,
        mrr, mrr_by_company, renewals, retention,
    },
    value::{Number, Timestamp},
};

use super::support::{at, converted, in_currency, ledger, license, name, options, rates};

pub const LICENSES: &str = "
    S1 Nord EUR 2023-03-29 2024-03-29 1000 Suite renewed
    S2 Nord EUR 2024-04-03 2025-04-03 1200 Suite ongoing
    S3 Oslo USD 2023-12-15 2024-02-15 300 Suite lost
    S4 Oslo USD 2024-02-26 2025-02-26 400 Suite ongoing
    S5 Pico EUR 2024-01-31 2024-02-29 100 Addon lost
    S6 Pico EUR 2024-05-31T18:00Z - 250 Addon ongoing
    S7 Pico EUR 2023-07-01 2024-07-01 500 Suite ongoing
";

pub fn asked() -> ReportOptions {
    ReportOptions {
        rates: Some(rates(&[("USD", "2023-01-01", "0.92"), ("USD", "2024-06-01", "0.90")])),
        ..options("2023-12-01", "2024-08-01", "2024-08-01")
    }
}

/// Period, start, new, reactivation, expansion, contraction, churn, end, customers, ARPA.
const ROWS: [&str; 8] = [
    "2023-12 1500 270 0 0 0 0 1770 3 590.00",
    "2024-01 1770 0 0 100 0 0 1870 3 623.33",
    "2024-02 1870 0 0 90 100 0 1860 3 620.00",
    "2024-03 1860 0 0 0 0 1000 860 2 430.00",
    "2024-04 860 0 1200 0 0 0 2060 3 686.67",
    "2024-05 2060 0 0 250 0 0 2310 3 770.00",
    "2024-06 2310 0 0 0 0 0 2310 3 770.00",
    "2024-07 2310 0 0 0 500 0 1810 3 603.33",
];

#[track_caller]
fn check(asked: &ReportOptions, differing: &[&str]) {
    let report = mrr(&ledger(LICENSES), asked, None).unwrap();
    let expected = ROWS.map(|row| {
        let period = &row[..7];
        differing.iter().copied().find(|other| other.starts_with(period)).unwrap_or(row)
    });
    assert_eq!(converted(&report), expected);
}

#[test]
fn mrr_moves_by_month_at_constant_rates() {
    check(&asked(), &[]);
}

#[test]
fn each_currency_moves_separately() {
    let report = mrr(&ledger(LICENSES), &asked(), None).unwrap();
    assert_eq!(
        in_currency(&report, "EUR"),
        [
            "2023-12 1500 0 0 0 0 0 1500 2 750.00",
            "2024-01 1500 0 0 100 0 0 1600 2 800.00",
            "2024-02 1600 0 0 0 100 0 1500 2 750.00",
            "2024-03 1500 0 0 0 0 1000 500 1 500.00",
            "2024-04 500 0 1200 0 0 0 1700 2 850.00",
            "2024-05 1700 0 0 250 0 0 1950 2 975.00",
            "2024-06 1950 0 0 0 0 0 1950 2 975.00",
            "2024-07 1950 0 0 0 500 0 1450 2 725.00",
        ]
    );
    assert_eq!(
        in_currency(&report, "USD")[..4],
        [
            "2023-12 0 300 0 0 0 0 300 1 300.00",
            "2024-01 300 0 0 0 0 0 300 1 300.00",
            "2024-02 300 0 0 100 0 0 400 1 400.00",
            "2024-03 400 0 0 0 0 0 400 1 400.00",
        ]
    );
}

const BRIDGED: [&str; 2] =
    ["2024-03 1860 0 0 0 0 0 1860 3 620.00", "2024-04 1860 0 0 200 0 0 2060 3 686.67"];

#[test]
fn a_gap_is_bridged_with_the_old_price() {
    check(&ReportOptions { gap_days: 7, ..asked() }, &BRIDGED);
    check(&ReportOptions { gap_days: 4, ..asked() }, &[]);
    check(&ReportOptions { gap_days: 5, ..asked() }, &BRIDGED);
}

#[test]
fn each_change_counts_separately_in_the_view_of_activities() {
    let february = "2024-02 1870 0 360 0 100 270 1860 3 620.00";
    let asked = ReportOptions { view: MovementView::Activities, ..asked() };
    check(&asked, &[february]);
    check(&ReportOptions { gap_days: 7, ..asked.clone() }, &[february, BRIDGED[0], BRIDGED[1]]);
    // With 11 days, both gaps are bridged.
    check(&ReportOptions { gap_days: 11, ..asked }, &BRIDGED);
}

#[test]
fn a_month_begins_at_midnight_of_the_zone() {
    let zone = ReportOptions::zone_of("Asia/Tokyo").unwrap();
    check(
        &ReportOptions { zone, ..asked() },
        &["2024-05 2060 0 0 0 0 0 2060 3 686.67", "2024-06 2060 0 0 250 0 0 2310 3 770.00"],
    );
}

#[test]
fn a_license_from_a_date_begins_with_that_day_in_each_zone() {
    let in_june =
        ["2024-05 2060 0 0 0 0 0 2060 3 686.67", "2024-06 2060 0 0 250 0 0 2310 3 770.00"];
    // S6 alone begins at a point in time.
    for (zone, differing) in
        [("America/New_York", &[][..]), ("Pacific/Honolulu", &[]), ("Pacific/Auckland", &in_june)]
    {
        let zone = ReportOptions::zone_of(zone).unwrap();
        check(&ReportOptions { zone, now: at("2024-08-02"), ..asked() }, differing);
    }
}

#[test]
fn dated_rates_are_a_line_of_their_own() {
    let report =
        mrr(&ledger(LICENSES), &ReportOptions { valuation: Valuation::Dated, ..asked() }, None);
    assert_eq!(
        converted(&report.unwrap()),
        [
            "2023-12 1500 fx 0 276 0 0 0 0 1776 3 592.00",
            "2024-01 1776 fx 0 0 0 100 0 0 1876 3 625.33",
            "2024-02 1876 fx 0 0 0 92 100 0 1868 3 622.67",
            "2024-03 1868 fx 0 0 0 0 0 1000 868 2 434.00",
            "2024-04 868 fx 0 0 1200 0 0 0 2068 3 689.33",
            "2024-05 2068 fx 0 0 0 250 0 0 2318 3 772.67",
            "2024-06 2318 fx -8 0 0 0 0 0 2310 3 770.00",
            "2024-07 2310 fx 0 0 0 0 500 0 1810 3 603.33",
        ]
    );
}

#[test]
fn what_is_overdue_is_reported_next_to_the_rest() {
    let report = mrr(&ledger(LICENSES), &asked(), None).unwrap();
    let rows = &report.converted.as_ref().unwrap().rows;
    let overdue = |at: usize| (rows[at].overdue.to_string(), rows[at].overdue_licenses);
    assert_eq!((overdue(6), overdue(7)), (("0".into(), 0), ("500".into(), 1)));
    let overdue = serde_json::to_value(&report.overdue).unwrap();
    assert_eq!(overdue[0]["end"], "2024-07-01");
    assert_eq!(overdue[0]["mrr"], 500);
    // From the moment of its end.
    for (now, licenses) in [("2024-06-30T23:59:59.999Z", 0), ("2024-07-01T00:00:00.000Z", 1)] {
        let asked = ReportOptions { now: Timestamp::parse(now).unwrap(), ..asked() };
        let report = mrr(&ledger(LICENSES), &asked, None).unwrap();
        assert_eq!(report.converted.unwrap().rows[7].overdue_licenses, licenses, "{now}");
        let report = renewals(&ledger(LICENSES), &asked, RenewalsBy::End, None).unwrap();
        let outcomes = report.licenses.iter().map(|line| line.outcome);
        let overdue = outcomes.filter(|outcome| *outcome == RenewalOutcome::Overdue);
        assert_eq!(overdue.count(), licenses as usize, "{now}");
    }
}

#[test]
fn a_product_alone_leaves_and_enters() {
    let asked = ReportOptions { product: Some("Addon".into()), ..asked() };
    let report = mrr(&ledger(LICENSES), &asked, None).unwrap();
    let rows = &report.converted.as_ref().unwrap().rows;
    let moved = |at: usize| {
        let row = &rows[at];
        [row.entering, row.leaving, Some(row.new), Some(row.churn), Some(row.end)]
            .map(|amount| amount.unwrap().to_string())
    };
    assert_eq!(moved(1), ["100", "0", "0", "0", "100"]);
    assert_eq!(moved(2), ["0", "100", "0", "0", "0"]);
    assert_eq!(moved(5), ["250", "0", "0", "0", "250"]);
}

/// In percent, with two decimals.
fn percent(ratio: Option<Number>) -> String {
    ratio.map_or("null".into(), |ratio| {
        let percent = (ratio.as_decimal() * rust_decimal::Decimal::ONE_HUNDRED).round_dp(2);
        percent.normalize().to_string()
    })
}

/// GRR, NRR, logo churn and net churn in percent, and the quick ratio.
fn ratios(row: &RetentionRow) -> String {
    let [grr, nrr, logo, net] = [row.grr, row.nrr, row.logo_churn, row.net_mrr_churn].map(percent);
    let quick = row.quick_ratio.map(|quick| quick.as_decimal().round_dp(2).normalize());
    let quick = quick.map_or("null".into(), |quick| quick.to_string());
    format!("{} {grr} {nrr} {logo} {net} {quick}", row.period.period)
}

fn retained(asked: &ReportOptions) -> Vec<String> {
    let report = retention(&ledger(LICENSES), asked).unwrap().converted.unwrap();
    report.rows.iter().chain([&report.span]).map(ratios).collect()
}

#[test]
fn retention_asks_those_who_were_there() {
    assert_eq!(
        retained(&asked()),
        [
            "2023-12 100 100 0 0 null",
            "2024-01 100 105.65 0 -5.65 null",
            "2024-02 94.65 99.47 0 0.53 0.9",
            "2024-03 46.24 46.24 33.33 53.76 0",
            "2024-04 100 100 0 -139.53 null",
            "2024-05 100 112.14 0 -12.14 null",
            "2024-06 100 100 0 0 null",
            "2024-07 78.35 78.35 0 21.65 0",
            "span 83.33 96.67 0 3.33 2.24",
        ]
    );
    let bridged = retained(&ReportOptions { gap_days: 7, ..asked() });
    assert_eq!(bridged[3], "2024-03 100 100 0 0 null");
    assert_eq!(bridged[4], "2024-04 100 110.75 0 -10.75 null");
    assert_eq!(bridged[8], "span 83.33 96.67 0 3.33 2.24");
    let activities = retained(&ReportOptions { view: MovementView::Activities, ..asked() });
    assert_eq!(activities[2], "2024-02 94.65 99.47 0 0.53 0.97");
    // What comes and goes within a period counts in the whole report too: churn 270 + 1000, contraction 100 + 500,
    // expansion 100 + 250, reactivation 360 + 1200 and new 270, of 1500 at the start.
    // (1270 + 600 - 350 - 1560) / 1500 = -2.67 %, and (270 + 1560 + 350) / (600 + 1270) = 1.17.
    assert_eq!(activities[8], "span 83.33 96.67 0 -2.67 1.17");
}

#[test]
fn ratios_of_dated_rates_are_over_start_and_fx() {
    let asked = ReportOptions { valuation: Valuation::Dated, ..asked() };
    let report = retention(&ledger(LICENSES), &asked).unwrap().converted.unwrap();
    assert_eq!(report.rows[6].base.to_string(), "2310");
    assert_eq!(ratios(&report.rows[6]), "2024-06 100 100 0 0 null");
}

#[test]
fn a_trailing_year_ends_with_each_interval() {
    let asked = ReportOptions { interval: Interval::Quarter, ..asked() };
    let report = retention(&ledger(LICENSES), &asked).unwrap().converted.unwrap();
    let year = &report.trailing_year[2];
    assert_eq!(
        (year.period.from.to_string(), year.period.to.to_string()),
        ("2023-07-01".into(), "2024-07-01".into())
    );
    // Only Nord paid on 30 June 2023.
    assert_eq!(ratios(year), "2024-Q2 100 120 0 -20 null");
}

#[test]
fn a_company_stays_in_the_cohort_of_its_first_day() {
    let asked = ReportOptions {
        interval: Interval::Quarter,
        ..ReportOptions { from: super::support::day("2023-10-01"), ..asked() }
    };
    let cells = |gap_days| -> Vec<String> {
        let report =
            cohorts(&ledger(LICENSES), &ReportOptions { gap_days, ..asked.clone() }).unwrap();
        assert!(!report.columns[3].is_complete && report.columns[2].is_complete);
        let rows = report.converted.unwrap().rows;
        rows.iter()
            .map(|cohort| {
                let cells = cohort.cells.iter().flatten();
                let cells = cells
                    .map(|cell| format!("{}/{}/{}", cell.mrr, percent(cell.share), cell.logos));
                format!("{} {}", cohort.cohort, cells.collect::<Vec<_>>().join(" "))
            })
            .collect()
    };
    let expected = [
        "2023-Q1 1000/100/1 0/0/0 1200/120/1 1200/120/1",
        "2023-Q3 500/100/1 500/100/1 750/150/1 250/50/1",
        "2023-Q4 270/100/1 360/133.33/1 360/133.33/1 360/133.33/1",
    ];
    assert_eq!(cells(0), expected);
    let bridged = "2023-Q1 1000/100/1 1000/100/1 1200/120/1 1200/120/1";
    assert_eq!(cells(7), [bridged, expected[1], expected[2]]);
}

/// Base, renewed, upgrade, downgrade, churned, overdue, open, and gross, net and logo rate.
pub fn renewed(row: &RenewalRow) -> String {
    let amounts =
        [row.base, row.renewed, row.upgrade, row.downgrade, row.churned, row.overdue, row.open];
    let rates = [row.of_base.gross, row.of_base.net, row.of_base.logo].map(percent);
    format!("{} {}", amounts.map(|amount| amount.to_string()).join(" "), rates.join(" "))
}

#[test]
fn a_renewal_is_a_successor_or_follows_from_the_status() {
    let row = |from: &str, to: &str, gap_days| {
        let asked = ReportOptions {
            interval: Interval::Quarter,
            gap_days,
            rates: asked().rates,
            rate_date: Some(super::support::day("2024-07-31")),
            ..options(from, to, "2024-08-01")
        };
        let report = renewals(&ledger(LICENSES), &asked, RenewalsBy::End, None).unwrap();
        (report.converted.clone().unwrap().rows[0].clone(), report.licenses)
    };
    let (first, licenses) = row("2024-01-01", "2024-04-01", 0);
    assert_eq!(renewed(&first), "1370 1000 0 0 370 0 0 72.99 72.99 33.33");
    let ids: Vec<_> = licenses.iter().map(|line| name(line.license)).collect();
    assert_eq!(ids, ["S3", "S5", "S1"]);
    let (first, licenses) = row("2024-01-01", "2024-04-01", 7);
    assert_eq!(renewed(&first), "1370 1000 200 0 370 0 0 72.99 87.59 33.33");
    assert_eq!(licenses.iter().nth(2).unwrap().successor.map(name), Some("S2".into()));
    let (first, _) = row("2024-01-01", "2024-04-01", 11);
    assert_eq!(renewed(&first), "1370 1270 290 0 100 0 0 92.7 113.87 66.67");
    let (third, _) = row("2024-07-01", "2024-10-01", 0);
    assert_eq!(renewed(&third), "500 0 0 0 0 500 0 0 0 0");
    let decided = third.of_decided;
    assert_eq!((decided.gross, decided.net, decided.logo), (None, None, None));
}

/// The example's licenses, with the optimistic forecast of the last one.
fn with_forecast() -> Ledger {
    let lines = LICENSES.lines().filter(|line| !line.trim().is_empty()).map(license);
    let lines = lines.map(|license| match name(license.id).as_str() {
        "S7" => LicenseFacts { optimistic: Some(550.into()), ..license },
        _ => license,
    });
    Ledger::new(lines).unwrap()
}

#[test]
fn a_forecast_has_three_scenarios() {
    let rows = |assume_renewed| -> Vec<String> {
        let asked = ReportOptions {
            assume_renewed,
            rates: asked().rates,
            ..options("2024-08-01", "2024-11-01", "2024-08-01")
        };
        let report = forecast(&with_forecast(), &asked, None).unwrap().converted.unwrap();
        let row = |row: &svctrack_core::revenue::ForecastRow| {
            let total = row.total;
            let amounts = [row.confirmed, total.base, total.optimistic, total.pessimistic];
            amounts.map(|amount| amount.to_string()).join(" ")
        };
        report.rows.iter().map(row).collect()
    };
    assert_eq!(rows(true), ["1810 2310 2360 1810"; 3]);
    assert_eq!(rows(false), ["1810 1810 1810 1810"; 3]);
}

#[test]
fn a_forecast_is_compared_with_what_came_true() {
    let known = ledger(
        LICENSES
            .lines()
            .filter(|line| !line.contains("S6"))
            .collect::<Vec<_>>()
            .join("\n")
            .as_str(),
    );
    let asked =
        ReportOptions { now: at("2024-04-10"), from: super::support::day("2024-04-01"), ..asked() };
    let now = with_forecast();
    let later = LaterLicenses { ledger: &now, now: at("2024-07-15") };
    let report = forecast(&known, &asked, Some(later)).unwrap().converted.unwrap();
    let row = |row: &svctrack_core::revenue::ForecastRow| {
        let text =
            |amount: Option<Number>| amount.map_or("null".into(), |amount| amount.to_string());
        format!("{} {} {}", row.confirmed, text(row.actual), text(row.difference))
    };
    let rows: Vec<_> = report.rows.iter().map(row).collect();
    assert_eq!(rows, ["2060 2060 0", "2060 2310 250", "2060 2310 250", "1560 null null"]);
    // The same licenses: S7 was expected to be renewed at the end of June, and was not.
    let asked = ReportOptions { now: at("2024-08-15"), assume_renewed: true, ..asked };
    let report = forecast(&now, &asked, None).unwrap().converted.unwrap();
    let rows: Vec<_> = report.rows.iter().map(row).collect();
    assert_eq!(rows, ["2060 2060 0", "2310 2310 0", "2310 2310 0", "1810 1810 -500"]);
}

#[test]
fn a_figure_is_explained_by_companies_and_licenses() {
    let explained = |asked: &ReportOptions, from: &str, to: &str, line| {
        let cell = Cell {
            from: super::support::day(from),
            to: super::support::day(to),
            line,
            currency: None,
            segment: None,
            cohort: None,
        };
        explain(&ledger(LICENSES), asked, None, &cell).unwrap()
    };
    let found = explained(&asked(), "2024-02-01", "2024-03-01", ReportLine::Expansion);
    assert_eq!(
        (found.end_points.to_string(), found.activities.to_string()),
        ("90".into(), "0".into())
    );
    assert_eq!(found.formula, "expansion = 90 = 90");
    let oslo = &found.companies[0];
    assert_eq!(
        (name(oslo.company), &*oslo.formula),
        ("Oslo".into(), "270 -> 0 -> 360: expansion 90")
    );
    let licenses: Vec<_> = oslo
        .licenses
        .iter()
        .map(|license| {
            (
                name(license.license),
                license.rate.unwrap().to_string(),
                license.at_start,
                license.at_end,
            )
        })
        .collect();
    assert_eq!(
        licenses,
        [("S3".into(), "0.9".into(), true, false), ("S4".into(), "0.9".into(), false, true)]
    );
    let found = explained(&asked(), "2023-12-01", "2024-08-01", ReportLine::Kept);
    assert_eq!(found.formula, "kept = 1000 + 250 = 1250");
    let bridged = explained(
        &ReportOptions { gap_days: 7, ..asked() },
        "2024-03-01",
        "2024-04-01",
        ReportLine::End,
    );
    assert_eq!(bridged.formula, "end = 1000 + 500 + 360 = 1860");
    let bridged = &bridged.companies[0].licenses[0];
    let ends = [bridged.end, bridged.bridged_end].map(|end| end.unwrap().to_string());
    assert_eq!(ends, ["2024-03-29", "2024-04-03"]);
    let dated = ReportOptions { valuation: Valuation::Dated, ..asked() };
    let found = explained(&dated, "2024-06-01", "2024-07-01", ReportLine::Fx);
    assert_eq!(found.formula, "fx = -8 = -8");
    let overdue = explained(&asked(), "2024-07-01", "2024-08-01", ReportLine::Overdue);
    assert_eq!(overdue.formula, "overdue = 500 = 500");
    assert!(overdue.companies[0].licenses.iter().any(|license| name(license.license) == "S7"));
}

#[test]
fn companies_add_up_to_the_report() {
    let rows = mrr_by_company(
        &ledger(LICENSES),
        &ReportOptions {
            from: super::support::day("2024-04-01"),
            to: super::support::day("2024-05-01"),
            ..asked()
        },
    );
    let lines: Vec<String> = rows
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                name(row.company),
                super::support::line(&row.converted.as_ref().unwrap().rows[0])
            )
        })
        .collect();
    // April is valued at the rate of its last day: 0.92.
    assert_eq!(
        lines,
        [
            "Nord span 0 0 1200 0 0 0 1200 1 1200.00",
            "Oslo span 368 0 0 0 0 0 368 1 368.00",
            "Pico span 500 0 0 0 0 0 500 1 500.00",
        ]
    );
}

#[test]
fn a_customer_is_reported_with_its_next_renewal() {
    let usage = |company| match name(company).as_str() {
        "Nord" => CustomerUsage {
            last_active: Some(at("2024-07-30")),
            users_active: [3, 4],
            ..CustomerUsage::default()
        },
        _ => CustomerUsage::default(),
    };
    let sources = CustomerSources { usage_of: &usage, has_usage: true, name_of: &|_| None };
    let report = |options: &ReportOptions| {
        let (weights, page) = (Weights::default(), CustomerPage::default());
        customers(&ledger(LICENSES), options, sources, &weights, &page).unwrap()
    };
    let of_product = ReportOptions { product: Some("Addon".to_owned()), ..asked() };
    let (report, of_product) = (report(&asked()), report(&of_product));
    assert_eq!(of_product.rows.iter().map(|row| name(row.company)).collect::<Vec<_>>(), ["Pico"]);
    let row = |row: &Customer| {
        let text = |day: Option<Day>| day.map_or("-".into(), |day| day.to_string());
        let stake = row.at_stake.as_ref().unwrap();
        format!(
            "{} {} {} {} {} {}: {}",
            name(row.company),
            row.mrr.unwrap(),
            row.arr.unwrap(),
            row.overdue.unwrap(),
            text(row.next_renewal),
            row.days.unwrap(),
            stake.text
        )
    };
    let rows: Vec<_> = report.rows.iter().map(row).collect();
    assert_eq!(
        rows,
        [
            "Pico 250 3000 500 2024-07-01 -31: 300.00 of 750.00 EUR: never active (35 points), overdue by 31 days",
            "Oslo 360 4320 0 2025-02-26 209: 82.45 of 360.00 EUR: never active (35 points), renewal in 209 days",
            "Nord 1200 14400 0 2025-04-03 245: 72.99 of 1200.00 EUR: users active fell from 4 to 3 (7.5 points), renewal in 245 days",
        ]
    );
}

#[test]
fn a_customer_that_is_renewed_renews_when_the_next_license_ends() {
    let licenses = "
        S1 Nord EUR 2023-08-21 2024-08-21 1000 Suite renewed
        S2 Nord EUR 2024-08-21 2025-08-21 1200 Suite ongoing
    ";
    let sources = CustomerSources {
        usage_of: &|_| CustomerUsage::default(),
        has_usage: false,
        name_of: &|_| None,
    };
    let (weights, page) = (Weights::default(), CustomerPage::default());
    let report = customers(&ledger(licenses), &asked(), sources, &weights, &page).unwrap();
    let [row] = &report.rows[..] else { panic!("{:?}", report.rows) };
    assert_eq!((row.next_renewal, row.days), (Day::parse("2025-08-21"), Some(385)));
    let stake = row.at_stake.as_ref().unwrap();
    assert_eq!(stake.text, "10.00 of 1000.00 EUR: renewal in 385 days");
}

#[test]
fn segments_beyond_the_largest_are_summed_up() {
    let lines: Vec<String> = (10..70)
        .map(|number| format!("L{number} C{number} EUR 2024-01-01 - {number} Suite ongoing"))
        .collect();
    let segment = |company| Some(name(company));
    let report = mrr(&ledger(&lines.join("\n")), &asked(), Some(&segment)).unwrap();
    let segments = report.segments.unwrap();
    assert_eq!((segments.len(), segments[0].segment.as_deref()), (51, Some("C69")));
    let rest = &segments[50];
    assert!(rest.is_rest && rest.segment.is_none());
    assert_eq!(
        (rest.companies, rest.converted.as_ref().unwrap().rows[7].end.to_string()),
        (10, "145".into())
    );
}
