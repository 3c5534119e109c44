//! Options that reports reject, and licenses that they do not count.

use svctrack_core::{
    revenue::{
        ExchangeRates, Interval, Ledger, LicenseFacts, MAX_LISTED, MovementView, Reason,
        RenewalsBy, ReportError, ReportKind, ReportLine, ReportOptions, ReportQuery, Valuation,
        cohorts, explain, mrr, renewals,
    },
    value::{ObjectId, Zone},
};

use super::support::{at, day, id, ledger, license, name, options};

const LICENSE: &str = "L1 Acme EUR 2024-01-01 - 100 Suite ongoing";

#[track_caller]
fn check<T>(found: Result<T, ReportError>, code: &str, option: &str, message: &str) {
    let error = found.err().unwrap();
    assert_eq!((error.code(), error.option()), (code, option));
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn bad_options_are_rejected_with_a_code() {
    let between = |from, to| ReportOptions::between(from, to, at("2024-01-01"));
    check(between("2024-02-01", "2024-01-01"), "from_after_to", "from", "before `to`");
    check(between("2024-02-01", "2024-02-01"), "from_after_to", "from", "before `to`");
    check(between("2023-02-29", "2024-01-01"), "invalid_day", "from", "found `2023-02-29`");
    check(between("2024-01-01", "soon"), "invalid_day", "to", "found `soon`");
    check(Interval::parse("hour"), "unknown_interval", "interval", "`day`, `week`");
    check(
        ReportOptions::zone_of("Mars/Olympus"),
        "unknown_time_zone",
        "timeZone",
        "`Mars/Olympus`",
    );
    check(MovementView::parse("both"), "unknown_choice", "view", "`endPoints`, `activities`");
    check(Valuation::parse("spot"), "unknown_choice", "rates", "`constant`, `dated`");
    check(RenewalsBy::parse("start"), "unknown_choice", "by", "`end`, `notice`");
    check(ReportLine::parse("profit"), "unknown_choice", "explain", "`churn`");
    let mut rates = ExchangeRates::new("EUR");
    for rate in [0, -1, 1_000_000_001_i64] {
        check(
            rates.set("USD", day("2024-01-01"), rate.into()),
            "invalid_rate",
            "currencies",
            "`USD`",
        );
    }
}

#[test]
fn bad_reports_are_rejected_with_a_code() {
    let asked = options("2020-01-01", "2024-01-01", "2024-01-01");
    let ledger = ledger(LICENSE);
    let report = |asked: &ReportOptions| mrr(&ledger, asked, None);
    let by_day = ReportOptions { interval: Interval::Day, ..asked.clone() };
    check(report(&by_day), "too_many_intervals", "interval", "at most 1000");
    check(
        report(&ReportOptions { to: day("2019-01-01"), ..asked.clone() }),
        "from_after_to",
        "from",
        "",
    );
    check(
        report(&ReportOptions { gap_days: 367, ..asked.clone() }),
        "too_many_days",
        "gapDays",
        "366",
    );
    let within = ReportOptions { reactivation_within: Some(40_000), ..asked.clone() };
    check(report(&within), "too_many_days", "reactivationWithin", "36500");
    check(cohorts(&ledger, &by_day), "unknown_choice", "interval", "`month`");
    let cell = svctrack_core::revenue::Cell {
        from: asked.from,
        to: asked.to,
        line: ReportLine::End,
        currency: Some("SEK".into()),
        segment: None,
        cohort: None,
    };
    check(explain(&ledger, &asked, None, &cell), "unknown_cell", "currency", "`currency`");
    let two = ["EUR", "USD"]
        .map(|currency| LicenseFacts { currency: currency.into(), ..license(LICENSE) });
    let two = Ledger::new(two).unwrap();
    let no_rates = ReportOptions {
        rates: Some(ExchangeRates::new("EUR")),
        ..options("2020-01-01", "2025-01-01", "2025-01-01")
    };
    let converted = svctrack_core::revenue::Cell { currency: None, to: no_rates.to, ..cell };
    let no_rate = "a currency has no rate";
    check(explain(&two, &no_rates, None, &converted), "not_converted", "currency", no_rate);
    let many = (0..201_u32)
        .map(|number| LicenseFacts { currency: format!("X{number}").into(), ..license(LICENSE) });
    check(Ledger::new(many), "too_many_currencies", "currencies", "200");
    let large =
        (0..40).map(|_| LicenseFacts { mrr: Some(10_i64.pow(15).into()), ..license(LICENSE) });
    let mut rates = ExchangeRates::new("USD");
    rates.set("EUR", day("2000-01-01"), 1_000_000_000.into()).unwrap();
    let asked = ReportOptions { rates: Some(rates), ..asked };
    let ledger = Ledger::new(large).unwrap();
    check(mrr(&ledger, &asked, None), "amount_too_large", "currencies", "too large");
}

#[test]
fn what_does_not_count_is_listed_with_its_reason() {
    let sound = license(LICENSE);
    let other = |name: &str| LicenseFacts { id: id(name), ..sound.clone() };
    let ledger = Ledger::new([
        sound.clone(),
        LicenseFacts { from: None, ..other("L2") },
        LicenseFacts { mrr: None, ..other("L3") },
        LicenseFacts { currency: "".into(), ..other("L4") },
        LicenseFacts { end: sound.from, ..other("L5") },
        LicenseFacts { mrr: Some(2_000_000_000_000_000_i64.into()), ..other("L6") },
        LicenseFacts { mrr: None, ..other("L7") },
    ])
    .unwrap();
    let asked = options("2024-01-01", "2024-03-01", "2024-03-01");
    let report = mrr(&ledger, &asked, None).unwrap();
    let excluded = report.about.excluded.iter();
    let excluded = excluded.map(|excluded| {
        (
            excluded.reason,
            excluded.licenses.iter().map(|id| name(*id)).collect::<Vec<_>>().join(" "),
        )
    });
    assert_eq!(
        excluded.collect::<Vec<_>>(),
        [
            (Reason::NoDates, "L2".into()),
            (Reason::NoMoney, "L3 L7".into()),
            (Reason::NoCurrency, "L4".into()),
            (Reason::ZeroLength, "L5".into()),
            (Reason::AmountTooLarge, "L6".into()),
        ]
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["excluded"][0]["reason"], "no_dates");
    assert_eq!(json["excluded"][0]["licenses"][0], id("L2").to_string());
    let elsewhere = ReportOptions { company: Some(ObjectId::MAX), ..asked };
    assert!(mrr(&ledger, &elsewhere, None).unwrap().about.excluded.is_empty());
}

#[test]
fn a_license_that_ends_without_a_fixed_period_or_never_is_excluded_from_renewals() {
    let open = |line: &str| LicenseFacts { fixed: false, ..license(line) };
    let ledger = Ledger::new([
        license("L1 Acme EUR 2024-01-01 2024-07-01 100 Suite ongoing"),
        open("L2 Bolt EUR 2024-01-01 2024-06-01 100 Suite ongoing"),
        open("L3 Acme EUR 2024-01-01 2024-06-01 100 Other ongoing"),
        // Decided: lost, renewed, and followed by another license.
        open("L4 Cube EUR 2024-01-01 2024-06-01 100 Suite lost"),
        open("L5 Cube EUR 2024-01-01 2024-06-01 100 Other renewed"),
        open("L6 Dune EUR 2024-01-01 2024-06-01 100 Suite ongoing"),
        open("L7 Dune EUR 2024-06-01 - 100 Suite ongoing"),
        // Ends after the report.
        open("L8 Elms EUR 2024-01-01 2025-01-01 100 Suite ongoing"),
    ])
    .unwrap();
    let asked = options("2024-01-01", "2025-01-01", "2024-03-01");
    let due = renewals(&ledger, &asked, RenewalsBy::End, None).unwrap();
    let [excluded] = due.about.excluded.as_slice() else { panic!("{:?}", due.about.excluded) };
    let names: Vec<_> = excluded.licenses.iter().map(|id| name(*id)).collect();
    assert_eq!((excluded.reason, excluded.total), (Reason::NoFixedPeriod, 2));
    assert_eq!(names, ["L2", "L3"]);
    assert_eq!(serde_json::to_value(excluded).unwrap()["reason"], "no_fixed_period");
    assert_eq!(due.licenses_total, 1);
    assert!(mrr(&ledger, &asked, None).unwrap().about.excluded.is_empty());
    // Fixed, and never over: not those of after the report, lost, or followed by another.
    let fixed = |line: &str| LicenseFacts { fixed: true, ..license(line) };
    let endless = Ledger::new([
        fixed("L1 Acme EUR 2024-01-01 - 100 Suite ongoing"),
        fixed("L2 Bolt EUR 2025-01-01 - 100 Suite ongoing"),
        fixed("L3 Cube EUR 2024-01-01 - 100 Suite lost"),
    ])
    .unwrap();
    let never = renewals(&endless, &asked, RenewalsBy::End, None).unwrap();
    let [excluded] = never.about.excluded.as_slice() else { panic!("{:?}", never.about.excluded) };
    assert_eq!((excluded.reason, excluded.total), (Reason::NoEnd, 1));
    assert_eq!(name(excluded.licenses[0]), "L1");
    assert_eq!(serde_json::to_value(excluded).unwrap()["reason"], "no_end");
    // Without a term there is no day of notice.
    let by_notice = renewals(&ledger, &asked, RenewalsBy::Notice, None).unwrap();
    assert!(by_notice.about.excluded.is_empty());
}

#[test]
fn of_many_licenses_the_first_are_listed_and_all_are_counted() {
    let many = MAX_LISTED + 100;
    let sound = license("L1 Acme EUR 2024-01-01 2024-07-01 100 Suite ongoing");
    let numbered = |number: usize| {
        let mut id = [0; 12];
        id[4..].copy_from_slice(&u64::try_from(number).unwrap().to_be_bytes());
        ObjectId::from_bytes(id)
    };
    let licenses = (0..many).flat_map(|number| {
        let facts = |part: usize| {
            let id = numbered(3 * number + part);
            LicenseFacts { id, company: numbered(number), ..sound.clone() }
        };
        let priceless = LicenseFacts { mrr: None, ..facts(2) };
        // Both are overdue, and they overlap.
        [facts(0), facts(1), priceless]
    });
    let ledger = Ledger::new(licenses).unwrap();
    let report = mrr(&ledger, &options("2024-01-01", "2024-12-01", "2024-12-01"), None).unwrap();
    assert_eq!((report.overdue.len(), report.overdue_total), (MAX_LISTED, 2 * many));
    assert_eq!((report.overlaps.len(), report.overlaps_total), (MAX_LISTED, many));
    let excluded = &report.about.excluded[0];
    assert_eq!((excluded.licenses.len(), excluded.total), (MAX_LISTED, many));
    let due = renewals(
        &ledger,
        &options("2024-01-01", "2024-12-01", "2024-12-01"),
        RenewalsBy::End,
        None,
    );
    let due = due.unwrap();
    let listed = serde_json::to_value(&due).unwrap()["licenses"].as_array().unwrap().len();
    assert_eq!(
        (listed, due.licenses_total, due.license_table().rows.len()),
        (MAX_LISTED, 2 * many, 2 * many)
    );
    // A response of up to 1 MiB is stored for the next request.
    assert!(serde_json::to_string(&report).unwrap().len() < 512 * 1024);
}

#[test]
fn without_a_rate_there_is_no_total_and_no_currency_is_left_out() {
    let lines = format!(
        "{LICENSE}\nL2 Acme USD 2024-01-01 - 50 Suite ongoing\nL3 Bear SEK 2024-01-01 - 9 Suite ongoing"
    );
    let ledger = ledger(&lines);
    let asked = options("2024-01-01", "2024-03-01", "2024-03-01");
    let missing = |asked: &ReportOptions| {
        let report = mrr(&ledger, asked, None).unwrap();
        assert_eq!((report.currencies.len(), report.converted), (3, None));
        let missing = report.about.missing_rates.iter();
        missing.map(|rate| format!("{} {}", rate.currency, rate.day)).collect::<Vec<_>>()
    };
    assert_eq!(missing(&asked), ["EUR 2024-02-29", "SEK 2024-02-29", "USD 2024-02-29"]);
    let mut rates = ExchangeRates::new("EUR");
    rates.set("USD", day("2024-02-10"), "0.9".parse().unwrap()).unwrap();
    let asked = ReportOptions { rates: Some(rates), ..asked };
    assert_eq!(missing(&asked), ["SEK 2024-02-29"]);
    // The first rate does not apply to the days before it.
    let dated = ReportOptions { valuation: Valuation::Dated, ..asked };
    assert_eq!(missing(&dated), ["SEK 2023-12-31", "USD 2023-12-31"]);
}

#[test]
fn a_note_names_few_currencies_and_each_of_them_shortly() {
    let long = "C".repeat(10_000);
    let currencies = ["AAA", "BBB", &long, "DDD", "EEE", "FFF"].into_iter().enumerate();
    let lines = currencies.map(|(number, currency)| {
        format!("L{number} Acme {currency} 2024-01-01 - 100 Suite ongoing")
    });
    let ledger = ledger(&lines.collect::<Vec<_>>().join("\n"));
    let report = mrr(&ledger, &options("2024-01-01", "2024-02-01", "2024-02-01"), None).unwrap();
    let note = format!("no rate for AAA, BBB, {}..., DDD and 2 more", "C".repeat(64));
    let rows = report.table().rows;
    assert!(rows.len() == 6 && rows.iter().all(|row| row.last() == Some(&note)), "{rows:?}");
}

#[test]
fn a_single_currency_needs_no_rates() {
    let asked = options("2024-01-01", "2024-03-01", "2024-03-01");
    let report = mrr(&ledger(LICENSE), &asked, None).unwrap();
    assert_eq!(report.about.base_currency.as_deref(), Some("EUR"));
    assert_eq!(report.converted.unwrap().rows, report.currencies[0].rows);
    let nothing = mrr(&Ledger::default(), &asked, None).unwrap();
    assert_eq!((nothing.currencies.len(), nothing.converted), (0, None));
}

#[test]
fn licenses_that_overlap_for_longer_are_listed() {
    let lines = "L1 Acme EUR 2024-01-01 2024-03-01 100 Suite renewed
        L2 Acme EUR 2024-02-20 - 120 Suite ongoing
        L3 Acme EUR 2024-02-20 - 10 Addon ongoing";
    let overlaps = |gap_days| {
        let asked = ReportOptions { gap_days, ..options("2024-01-01", "2024-03-01", "2024-03-01") };
        mrr(&ledger(lines), &asked, None).unwrap().overlaps
    };
    let found = serde_json::to_value(overlaps(5)).unwrap();
    assert_eq!(
        found[0]["licenses"],
        serde_json::json!([id("L1").to_string(), id("L2").to_string()])
    );
    assert_eq!((&found[0]["from"], &found[0]["to"]), (&"2024-02-20".into(), &"2024-03-01".into()));
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert!(overlaps(10).is_empty());
}

#[test]
fn nothing_changes_between_two_borders() {
    let ledger = ledger("L1 Acme EUR 2024-01-10T15:00Z 2024-03-01 100 Suite ongoing");
    let quiet = |now: &str, zone: &str| {
        let time = ledger.stable_range(at(now), ReportOptions::zone_of(zone).unwrap());
        format!("{} {}", time.start, time.end)
    };
    let check = |now, zone, expect: [&str; 2]| {
        assert_eq!(
            quiet(now, zone),
            expect.map(|text| at(text).to_string()).join(" "),
            "{now} {zone}"
        );
    };
    check("2024-01-10T14:59Z", "UTC", ["2024-01-10", "2024-01-10T15:00Z"]);
    check("2024-01-10T15:00Z", "UTC", ["2024-01-10T15:00Z", "2024-01-11"]);
    check("2024-01-11T12:00Z", "UTC", ["2024-01-11", "2024-01-12"]);
    check("2024-01-10T12:00Z", "Asia/Tokyo", ["2024-01-09T15:00Z", "2024-01-10T15:00Z"]);
    // A day of 23 hours.
    check("2024-03-31T12:00Z", "Europe/Berlin", ["2024-03-30T23:00Z", "2024-03-31T22:00Z"]);
}

#[test]
fn a_report_without_an_end_is_of_a_year_or_until_the_end_of_the_month() {
    let until = |kind, from: Option<&str>| {
        let from = from.map(|day| ("from".to_owned(), day.to_owned()));
        let query = ReportQuery::parse(kind, from.as_slice()).unwrap();
        let options = query.options(at("2026-11-29"), Zone::UTC, None, None).unwrap();
        options.to.to_string()
    };
    use ReportKind::{Forecast, Mrr, Renewals, Usage};
    for (kind, from, to) in [
        (Mrr, None, "2026-12-01"),
        (Mrr, Some("2025-01-01"), "2026-12-01"),
        (Usage, Some("2026-11-20"), "2026-12-01"),
        (Mrr, Some("2027-01-01"), "2028-01-01"),
        (Renewals, None, "2027-11-01"),
        (Renewals, Some("2027-01-01"), "2028-01-01"),
        (Forecast, Some("2024-02-29"), "2025-02-28"),
    ] {
        assert_eq!(until(kind, from), to, "{kind:?} {from:?}");
    }
}
