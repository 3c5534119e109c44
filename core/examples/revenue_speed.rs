//! Measures every revenue report over licenses of ten years: 5 a company, a year each, 3 currencies, in which gaps,
//! overlaps, returns and price changes occur. The number of licenses can be given:
//!
//! ```text
//! cargo run --release -p svctrack-core --example revenue_speed -- 100000
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program of its own, unlike the rules"
)]

use std::{env, error::Error, hint::black_box, time::Instant};

use svctrack_core::{
    revenue::{
        Day, ExchangeRates, Interval, Ledger, LicenseFacts, MovementView, RenewalStatus,
        RenewalsBy, ReportOptions, Valuation, cohorts, forecast, mrr, renewals, retention,
    },
    value::{ObjectId, Timestamp, time::DAY_MS},
};

const LICENSES_A_COMPANY: u32 = 5;
/// The first day of the licenses: 2016-01-01.
const FIRST_DAY: i64 = 16_801;
const ROUNDS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = env::args().skip(1).collect();
    let counts = if given.is_empty() {
        vec![10_000, 100_000, 1_000_000]
    } else {
        given.iter().map(|count| count.parse()).collect::<Result<_, _>>()?
    };
    counts.into_iter().try_for_each(measure)
}

fn measure(count: u32) -> Result<(), Box<dyn Error>> {
    let licenses: Vec<_> = (0..count).map(license).collect();
    println!("{count} licenses, 120 months, milliseconds (best of {ROUNDS}):");
    timed("ledger", || Ledger::new(licenses.iter().cloned()));
    let ledger = Ledger::new(licenses.iter().cloned())?;
    let options = options()?;
    let activities =
        ReportOptions { view: MovementView::Activities, gap_days: 7, ..options.clone() };
    let dated = ReportOptions { valuation: Valuation::Dated, ..options.clone() };
    let quarters = ReportOptions { interval: Interval::Quarter, ..options.clone() };
    let tokyo = ReportOptions { zone: ReportOptions::zone_of("Asia/Tokyo")?, ..activities.clone() };
    let phase = |company: ObjectId| Some(format!("phase {}", company.as_bytes()[11] % 70));
    timed("mrr", || mrr(&ledger, &options, None));
    timed("mrr, activities, 7 days of gap", || mrr(&ledger, &activities, None));
    timed("mrr, the same in Tokyo", || mrr(&ledger, &tokyo, None));
    timed("mrr, dated rates", || mrr(&ledger, &dated, None));
    timed("mrr by segment", || mrr(&ledger, &options, Some(&phase)));
    timed("retention", || retention(&ledger, &options));
    timed("cohorts by quarter", || cohorts(&ledger, &quarters));
    timed("renewals", || renewals(&ledger, &options, RenewalsBy::End));
    timed("renewals by notice", || renewals(&ledger, &options, RenewalsBy::Notice));
    timed("forecast", || forecast(&ledger, &options, None));
    Ok(())
}

fn options() -> Result<ReportOptions, Box<dyn Error>> {
    let mut rates = ExchangeRates::new("EUR");
    let day = |text| Day::parse(text).ok_or("no such day");
    for (currency, from, rate) in
        [("USD", "2000-01-01", "0.92"), ("USD", "2021-01-01", "0.9"), ("GBP", "2000-01-01", "1.17")]
    {
        rates.set(currency, day(from)?, rate.parse()?)?;
    }
    let now = Timestamp::parse("2025-06-15").ok_or("no such time")?;
    let options = ReportOptions::between("2016-01-01", "2026-01-01", now)?;
    Ok(ReportOptions { rates: Some(rates), assume_renewed: true, ..options })
}

/// Prints how long `work` takes.
fn timed<T>(name: &str, work: impl Fn() -> T) {
    let time = || {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    let best = (0..ROUNDS).map(|_| time()).min().unwrap_or_default();
    println!("  {name:32} {:8.1}", best.as_secs_f64() * 1_000.0);
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
