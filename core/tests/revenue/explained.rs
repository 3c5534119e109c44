//! Explanations of forecasts, cohorts and renewals: the parts of a figure add up to it.

use rust_decimal::Decimal;
use svctrack_core::{
    revenue::{
        Cell, Day, ForecastCell, ForecastLine, ForecastRow, Interval, LaterLicenses, Ledger,
        LicenseFacts, LineExplanation, RenewalOutcome, RenewalRow, RenewalsBy, RenewalsCell,
        RenewalsLine, ReportLine, ReportOptions, Series, cohorts, explain, explain_forecast,
        explain_renewals, forecast, renewals,
    },
    value::{Number, Timestamp},
};

use super::{
    compared,
    random::Random,
    support::{at, day, id, ledger, license, name, options, rates},
    worked::LICENSES,
};

const HISTORIES: u64 = 40;

fn asked() -> ReportOptions {
    ReportOptions {
        assume_renewed: true,
        rates: Some(rates(&[("USD", "2023-01-01", "0.90")])),
        ..options("2024-08-01", "2024-11-01", "2024-08-01")
    }
}

/// The worked example, with renewal terms of its last license.
fn with_terms() -> Ledger {
    let lines = LICENSES.lines().filter(|line| !line.trim().is_empty()).map(license);
    let lines = lines.map(|license| match name(license.id).as_str() {
        "S7" => {
            LicenseFacts { renewal_mrr: Some(520.into()), optimistic: Some(550.into()), ..license }
        }
        _ => license,
    });
    Ledger::new(lines).unwrap()
}

fn cell(line: ForecastLine, currency: Option<&str>) -> ForecastCell {
    ForecastCell {
        from: day("2024-08-01"),
        to: day("2024-09-01"),
        line,
        currency: currency.map(ToOwned::to_owned),
    }
}

fn formulas<L, R>(found: &LineExplanation<L, R>) -> Vec<String> {
    let companies = found.companies.iter();
    let companies = companies.map(|of| format!("{}: {}", name(of.company), of.formula));
    [found.formula.clone()].into_iter().chain(companies).collect()
}

#[test]
fn a_forecast_is_explained_by_its_licenses() {
    let explained = |line, currency| {
        explain_forecast(&with_terms(), &asked(), None, cell(line, currency)).unwrap()
    };
    let base = explained(ForecastLine::Base, None);
    assert_eq!(
        formulas(&base),
        [
            "base = 1200 + 770 + 360 = 2330",
            "Nord: base: mrr 1200 = 1200",
            "Pico: base: mrr 250 + renewalMrr 520 = 770",
            "Oslo: base: mrr 360 = 360",
        ]
    );
    let oslo = &base.companies[2].licenses[0];
    assert_eq!(
        (name(oslo.license), oslo.monthly.to_string(), oslo.rate.unwrap().to_string()),
        ("S4".into(), "400".into(), "0.9".into())
    );
    assert_eq!((oslo.end, oslo.is_confirmed), (Some(day("2025-02-26")), true));
    let unconfirmed = explained(ForecastLine::UnconfirmedOptimistic, Some("EUR"));
    assert_eq!(
        formulas(&unconfirmed),
        [
            "unconfirmedOptimistic = 550 = 550",
            "Pico: unconfirmedOptimistic: fcNewMrrOptimistic 550 = 550"
        ]
    );
    let license = &unconfirmed.companies[0].licenses[0];
    assert_eq!((license.rate, license.is_confirmed), (None, false));
    assert_eq!(explained(ForecastLine::Confirmed, Some("USD")).formula, "confirmed = 400 = 400");
    // The amount is neither set, nor does the license renew automatically.
    let pessimistic = explained(ForecastLine::UnconfirmedPessimistic, None);
    assert_eq!(formulas(&pessimistic), ["unconfirmedPessimistic = 0"]);
    // A license counts until just before its end.
    let last_day = ForecastCell {
        from: day("2025-04-02"),
        to: day("2025-04-03"),
        ..cell(ForecastLine::Confirmed, None)
    };
    let found = explain_forecast(&with_terms(), &asked(), None, last_day).unwrap();
    assert_eq!(found.formula, "confirmed = 1200 + 250 = 1450");
}

#[test]
fn what_came_true_is_explained_by_the_licenses_that_are_known_later() {
    let now = ledger(&LICENSES.replace("1200 Suite", "1150 Suite"));
    let later = LaterLicenses { ledger: &now, now: at("2024-09-01") };
    let actual = cell(ForecastLine::Actual, None);
    let explained = |later| explain_forecast(&with_terms(), &asked(), later, actual.clone());
    assert_eq!(explained(Some(later)).unwrap().formula, "actual = 1150 + 360 + 250 = 1760");
    // The month has not ended.
    let early = LaterLicenses { now: at("2024-08-31T23:59:59Z"), ..later };
    for later in [Some(early), None] {
        let error = explained(later).unwrap_err();
        assert_eq!((error.code(), error.option()), ("unknown_cell", "period"));
    }
}

#[test]
fn a_cohort_is_explained_by_its_companies() {
    let asked = ReportOptions { interval: Interval::Quarter, from: day("2023-10-01"), ..asked() };
    let explained = |cohort: &str, interval| {
        let cell = Cell {
            from: day("2024-04-01"),
            to: day("2024-07-01"),
            line: ReportLine::End,
            currency: None,
            segment: None,
            cohort: Some(cohort.to_owned()),
        };
        explain(&ledger(LICENSES), &ReportOptions { interval, ..asked.clone() }, None, &cell)
    };
    let pico = explained("2023-Q3", Interval::Quarter).unwrap();
    assert_eq!((&*pico.formula, pico.companies[0].company), ("end = 750 = 750", id("Pico")));
    let code = |cohort, interval| {
        let error = explained(cohort, interval).unwrap_err();
        (error.code(), error.option())
    };
    // A cohort without companies, and one with the name of another interval's.
    assert_eq!(code("2024-Q2", Interval::Quarter), ("unknown_cell", "cohort"));
    assert_eq!(code("2023", Interval::Quarter), ("unknown_cell", "cohort"));
    assert_eq!(code("2023-W40", Interval::Week), ("unknown_choice", "interval"));
}

#[test]
fn renewals_are_explained_by_their_licenses() {
    let asked = ReportOptions { gap_days: 7, ..asked() };
    let explained = |line, currency: Option<&str>| {
        let cell = RenewalsCell {
            from: day("2024-01-01"),
            to: day("2024-04-01"),
            line,
            currency: currency.map(ToOwned::to_owned),
        };
        explain_renewals(&ledger(LICENSES), &asked, RenewalsBy::End, cell).unwrap()
    };
    let upgrade = explained(RenewalsLine::Upgrade, None);
    assert_eq!(formulas(&upgrade), ["upgrade = 200 = 200", "Nord: upgrade: 1000 -> 1200 = 200"]);
    let license = &upgrade.companies[0].licenses[0];
    assert_eq!(
        (name(license.renewal.license), license.renewal.successor, license.renewal.outcome),
        ("S1".into(), Some(id("S2")), RenewalOutcome::Renewed)
    );
    let churned = explained(RenewalsLine::Churned, None);
    assert_eq!(
        formulas(&churned),
        ["churned = 270 + 100 = 370", "Oslo: churned: 270 = 270", "Pico: churned: 100 = 100"]
    );
    let rate = churned.companies[0].licenses[0].rate;
    assert_eq!(rate.map(|rate| rate.to_string()), Some("0.9".into()));
    assert_eq!(explained(RenewalsLine::Base, Some("USD")).formula, "base = 300 = 300");
    assert_eq!(explained(RenewalsLine::Open, None).formula, "open = 0");
}

/// Sum of the parts of an explanation, after each level was compared with the one above.
fn added_up<L, R>(found: &LineExplanation<L, R>, amount: impl Fn(&R) -> Number) -> Number {
    let sum = |amounts: &mut dyn Iterator<Item = Number>| -> Number {
        amounts.map(|amount| amount.as_decimal()).sum::<Decimal>().into()
    };
    for company in &found.companies {
        let licenses = sum(&mut company.licenses.iter().map(&amount));
        assert_eq!(licenses, company.amount);
    }
    assert_eq!(sum(&mut found.companies.iter().map(|company| company.amount)), found.amount);
    found.amount
}

fn figures(row: &ForecastRow) -> Vec<(ForecastLine, Number)> {
    use ForecastLine::*;
    let (expected, total) = (row.unconfirmed, row.total);
    let mut figures = vec![
        (Confirmed, row.confirmed),
        (UnconfirmedBase, expected.base),
        (UnconfirmedOptimistic, expected.optimistic),
        (UnconfirmedPessimistic, expected.pessimistic),
        (Base, total.base),
        (Optimistic, total.optimistic),
        (Pessimistic, total.pessimistic),
    ];
    figures.extend(row.actual.map(|actual| (Actual, actual)));
    figures
}

/// Currencies of a report with their rows; none for the base currency.
fn by_currency<R: Clone>(
    currencies: &[Series<R>],
    converted: Option<&Series<R>>,
) -> Vec<(Option<String>, Vec<R>)> {
    let own = currencies.iter().map(|series| (Some(series.currency.clone()), series.rows.clone()));
    own.chain(converted.map(|series| (None, series.rows.clone()))).collect()
}

#[test]
fn every_figure_of_forecasts_cohorts_and_renewals_adds_up() {
    for seed in 1..=HISTORIES {
        let mut random = Random::new(seed);
        let asked = random.asked();
        let licenses = random.licenses(asked.zone);
        let ledger = compared::ledger_of(seed, &licenses);
        let later = compared::ledger_of(seed + 1, &random.licenses(asked.zone));
        let options = compared::options(&asked);
        let later_now = Timestamp::from_ms_clamped(asked.now + 200 * 86_400_000);
        let later = LaterLicenses { ledger: &later, now: later_now };
        let told = std::panic::catch_unwind(|| {
            forecast_adds_up(&ledger, &options, later);
            cohorts_add_up(&ledger, &options);
            renewals_add_up(
                &ledger,
                &options,
                if asked.by_notice { RenewalsBy::Notice } else { RenewalsBy::End },
            );
        });
        assert!(told.is_ok(), "seed {seed}: {asked:?}\n{licenses:#?}");
    }
}

fn forecast_adds_up(ledger: &Ledger, options: &ReportOptions, later: LaterLicenses<'_>) {
    let report = forecast(ledger, options, Some(later)).unwrap();
    for (currency, rows) in by_currency(&report.currencies, report.converted.as_ref()) {
        for row in rows {
            for (line, figure) in figures(&row) {
                let (from, to) = (row.period.from, row.period.to);
                let cell = ForecastCell { from, to, line, currency: currency.clone() };
                let found = explain_forecast(ledger, options, Some(later), cell.clone()).unwrap();
                assert_eq!(added_up(&found, |license| license.amount), figure, "{cell:?}");
            }
        }
    }
}

fn cohorts_add_up(ledger: &Ledger, options: &ReportOptions) {
    let Ok(report) = cohorts(ledger, options) else { return };
    let days: Vec<(Day, Day)> =
        report.columns.iter().map(|column| (column.period.from, column.period.to)).collect();
    for (currency, rows) in by_currency(&report.currencies, report.converted.as_ref()) {
        for row in rows {
            for ((from, to), figure) in days.iter().zip(&row.cells) {
                let cell = Cell {
                    from: *from,
                    to: *to,
                    line: ReportLine::End,
                    currency: currency.clone(),
                    segment: None,
                    cohort: Some(row.cohort.clone()),
                };
                let found = explain(ledger, options, None, &cell);
                match figure {
                    Some(figure) => assert_eq!(found.unwrap().amount, figure.mrr, "{cell:?}"),
                    None => assert_eq!(found.unwrap_err().option(), "cohort"),
                }
            }
        }
    }
}

fn amounts(row: &RenewalRow) -> [(RenewalsLine, Number); 7] {
    use RenewalsLine::*;
    [
        (Base, row.base),
        (Renewed, row.renewed),
        (Upgrade, row.upgrade),
        (Downgrade, row.downgrade),
        (Churned, row.churned),
        (Overdue, row.overdue),
        (Open, row.open),
    ]
}

const OUTCOMES: [RenewalOutcome; 4] = [
    RenewalOutcome::Renewed,
    RenewalOutcome::Churned,
    RenewalOutcome::Overdue,
    RenewalOutcome::Open,
];

fn renewals_add_up(ledger: &Ledger, options: &ReportOptions, by: RenewalsBy) {
    let report = renewals(ledger, options, by, None).unwrap();
    for (currency, rows) in by_currency(&report.currencies, report.converted.as_ref()) {
        for row in rows {
            for (line, figure) in amounts(&row) {
                let (from, to) = (row.period.from, row.period.to);
                let cell = RenewalsCell { from, to, line, currency: currency.clone() };
                let found = explain_renewals(ledger, options, by, cell.clone()).unwrap();
                assert_eq!(added_up(&found, |license| license.amount), figure, "{cell:?}");
            }
        }
    }
    for outcome in OUTCOMES {
        let listed = renewals(ledger, options, by, Some(outcome)).unwrap();
        let expected: Vec<_> =
            report.licenses.iter().filter(|line| line.outcome == outcome).collect();
        assert_eq!(listed.licenses.iter().collect::<Vec<_>>(), expected, "{outcome:?}");
        assert_eq!(listed.licenses_total, expected.len());
        assert_eq!(
            (&listed.currencies, &listed.converted),
            (&report.currencies, &report.converted)
        );
    }
}
