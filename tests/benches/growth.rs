//! Revenue reports of `core` alone over ten times as many licenses: none may take more than n log n.
//!
//! The licenses are of ten years: 5 a company, a year each, 3 currencies, in which gaps, overlaps, returns and price
//! changes occur.

use std::{hint::black_box, time::Instant};

use svctrack_core::{
    revenue::{
        Day, ExchangeRates, Interval, Ledger, LicenseFacts, MovementView, RenewalStatus,
        RenewalsBy, ReportError, ReportOptions, Valuation, cohorts, forecast, mrr, renewals,
        retention,
    },
    value::{ObjectId, Timestamp, time::DAY_MS},
};

use crate::report::{Case, Report, Target};

const COUNTS: [u32; 3] = [10_000, 100_000, 1_000_000];
const LICENSES_A_COMPANY: u32 = 5;
/// First day of the licenses: 2016-01-01.
const FIRST_DAY: i64 = 16_801;
const ROUNDS: usize = 9;

/// A report over licenses.
type Measured = fn(&Licenses);

const REPORTS: [(&str, Measured); 10] = [
    ("sorting the licenses", |licenses| finish(Ledger::new((0..licenses.count).map(license)))),
    ("MRR", |licenses| finish(mrr(&licenses.ledger, &options(), None))),
    ("MRR by activities, 7 days of gap, in Tokyo", |licenses| {
        let (view, zone) =
            (MovementView::Activities, ReportOptions::zone_of("Asia/Tokyo").unwrap());
        let options = ReportOptions { view, gap_days: 7, zone, ..options() };
        finish(mrr(&licenses.ledger, &options, None));
    }),
    ("MRR at dated rates", |licenses| {
        let options = ReportOptions { valuation: Valuation::Dated, ..options() };
        finish(mrr(&licenses.ledger, &options, None));
    }),
    ("MRR by segment", |licenses| {
        let phase = |company: ObjectId| Some(format!("phase {}", company.as_bytes()[11] % 70));
        finish(mrr(&licenses.ledger, &options(), Some(&phase)));
    }),
    ("retention", |licenses| finish(retention(&licenses.ledger, &options()))),
    ("cohorts by quarter", |licenses| {
        let options = ReportOptions { interval: Interval::Quarter, ..options() };
        finish(cohorts(&licenses.ledger, &options));
    }),
    ("renewals by end", |licenses| {
        finish(renewals(&licenses.ledger, &options(), RenewalsBy::End, None));
    }),
    ("renewals by notice", |licenses| {
        finish(renewals(&licenses.ledger, &options(), RenewalsBy::Notice, None));
    }),
    ("forecast", |licenses| finish(forecast(&licenses.ledger, &options(), None))),
];

struct Licenses {
    count: u32,
    ledger: Ledger,
}

pub(crate) fn measure(report: &mut Report) {
    let licenses = COUNTS
        .map(|count| Licenses { count, ledger: Ledger::new((0..count).map(license)).unwrap() });
    for sizes in licenses.windows(2) {
        for (name, of) in REPORTS {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (licenses, times) in sizes.iter().zip(&mut times) {
                    let started = Instant::now();
                    of(licenses);
                    times.push(started.elapsed().as_secs_f64() * 1e3);
                }
            }
            let [theirs, ours] = times;
            let [few, many] = [sizes[0].count, sizes[1].count].map(f64::from);
            let n_log_n = many * many.log2() / (few * few.log2());
            let case = Case {
                what: &format!("{name}, 120 months"),
                baseline: &format!("{few} licenses"),
                connections: 0,
                body: format!("{many} licenses"),
                durable: None,
            };
            report.compare(&case, "ms", Target::AtMost(n_log_n), ours, theirs);
        }
    }
}

fn finish<T>(report: Result<T, ReportError>) {
    black_box(report.unwrap());
}

fn options() -> ReportOptions {
    let mut rates = ExchangeRates::new("EUR");
    for (currency, from, rate) in
        [("USD", "2000-01-01", "0.92"), ("USD", "2021-01-01", "0.9"), ("GBP", "2000-01-01", "1.17")]
    {
        rates.set(currency, Day::parse(from).unwrap(), rate.parse().unwrap()).unwrap();
    }
    let now = Timestamp::parse("2025-06-15").unwrap();
    let options = ReportOptions::between("2016-01-01", "2026-01-01", now).unwrap();
    ReportOptions { rates: Some(rates), assume_renewed: true, ..options }
}

fn license(number: u32) -> LicenseFacts<'static> {
    let (company, of_company) = (number / LICENSES_A_COMPANY, number % LICENSES_A_COMPANY);
    let mut random = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    random ^= random >> 29;
    let below = |shift: u32, limit: u64| i64::try_from((random >> shift) % limit).unwrap_or(0);
    let first = FIRST_DAY + i64::from(company.wrapping_mul(2_654_435_761) % 1_700);
    let late = if below(0, 4) == 0 { below(3, 20) - 5 } else { 0 };
    let from = first + i64::from(of_company) * 365 + late;
    let is_last = of_company + 1 == LICENSES_A_COMPANY;
    let has_other = below(9, 20) == 0;
    let at = |day: i64| Timestamp::from_ms(day * DAY_MS);
    LicenseFacts {
        product: if has_other { "Addon" } else { "Suite" }.into(),
        currency: match (company % 10, has_other) {
            (0 | 1, _) => "USD",
            (2, _) | (3, true) => "GBP",
            _ => "EUR",
        }
        .into(),
        from: at(from),
        end: (!is_last || below(14, 3) > 0).then(|| at(from + 365)).flatten(),
        mrr: Some((below(20, 40) * 25 + 50).into()),
        fixed: true,
        auto_renews: below(30, 2) == 0,
        status: if is_last { RenewalStatus::Ongoing } else { RenewalStatus::Renewed },
        ..LicenseFacts::new(id(number), id(company))
    }
}

fn id(number: u32) -> ObjectId {
    let mut bytes = [0; 12];
    if let Some(last) = bytes.last_chunk_mut() {
        *last = number.to_be_bytes();
    }
    ObjectId::from_bytes(bytes)
}
