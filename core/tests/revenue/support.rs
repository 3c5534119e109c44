//! Licenses in a line of text each, and reports as text.

use svctrack_core::{
    revenue::{
        Day, ExchangeRates, Ledger, LicenseFacts, MovementRow, Movements, RenewalStatus,
        ReportOptions,
    },
    value::{ObjectId, Timestamp},
};

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub fn day(text: &str) -> Day {
    Day::parse(text).unwrap()
}

/// An id that begins with a name.
pub fn id(name: &str) -> ObjectId {
    let mut bytes = [0; 12];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    ObjectId::from_bytes(bytes)
}

/// The name that an id begins with.
pub fn name(id: ObjectId) -> String {
    String::from_utf8(id.as_bytes().to_vec()).unwrap().trim_end_matches('\0').to_owned()
}

/// A license: `id company currency from end mrr product status`, a `-` for no end; fixed if it has one.
pub fn license(line: &str) -> LicenseFacts<'static> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let status = match words[7] {
        "renewed" => RenewalStatus::Renewed,
        "lost" => RenewalStatus::Lost,
        _ => RenewalStatus::Ongoing,
    };
    LicenseFacts {
        currency: words[2].to_owned().into(),
        from: Some(at(words[3])),
        end: (words[4] != "-").then(|| at(words[4])),
        mrr: Some(words[5].parse().unwrap()),
        product: words[6].to_owned().into(),
        status,
        fixed: words[4] != "-",
        ..LicenseFacts::new(id(words[0]), id(words[1]))
    }
}

pub fn ledger(lines: &str) -> Ledger {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    Ledger::new(lines.map(license)).unwrap()
}

pub fn rates(set: &[(&str, &str, &str)]) -> ExchangeRates {
    let mut rates = ExchangeRates::new("EUR");
    for (currency, from, rate) in set {
        rates.set(*currency, day(from), rate.parse().unwrap()).unwrap();
    }
    rates
}

pub fn options(from: &str, to: &str, now: &str) -> ReportOptions {
    ReportOptions::between(from, to, at(now)).unwrap()
}

/// `period start fx new reactivation expansion contraction churn end customers arpa` of a row.
pub fn line(row: &MovementRow) -> String {
    let arpa =
        row.arpa.map_or("null".into(), |arpa| format!("{:.2}", arpa.as_decimal().round_dp(2)));
    let fx = row.fx.map_or(String::new(), |fx| format!(" fx {fx}"));
    let [start, moves @ .., _, end] = row.amounts().map(|amount| amount.to_string());
    let moves = moves.join(" ");
    format!("{} {start}{fx} {moves} {end} {} {arpa}", row.period.period, row.customers)
}

/// The converted rows of a report, each as a line.
pub fn converted(report: &Movements) -> Vec<String> {
    report.converted.as_ref().unwrap().rows.iter().map(line).collect()
}

/// The rows of one currency, each as a line.
pub fn in_currency(report: &Movements, currency: &str) -> Vec<String> {
    let series = report.currencies.iter().find(|series| series.currency == currency).unwrap();
    series.rows.iter().map(line).collect()
}
