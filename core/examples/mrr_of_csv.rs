//! The MRR of licenses in a CSV file, month by month, as CSV again. It needs no server and no store:
//!
//! ```text
//! cargo run -p svctrack-core --example mrr_of_csv -- licenses.csv 2024-01-01 2025-01-01 EUR USD=0.9
//! ```
//!
//! The file has a header; columns are `company`, `product`, `currency`, `from`, `to`, `mrr`, in any order. `to` is the
//! last day of the license, or empty. The last arguments are the base currency and rates.
#![expect(clippy::print_stdout, reason = "a program of its own, unlike the rules")]

use std::{collections::HashMap, env, error::Error, process::ExitCode};

use svctrack_core::{
    revenue::{Day, ExchangeRates, Ledger, LicenseFacts, ReportOptions, mrr},
    value::{ObjectId, Timestamp, Zone, period::Period, time::DAY_MS},
};

const COLUMNS: &str =
    "`company`, `product`, `currency`, `from`, `to` (the last day, or empty) and `mrr`";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match report(&arguments) {
        Ok(csv) => {
            print!("{csv}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn report(arguments: &[String]) -> Result<String, Box<dyn Error>> {
    let [path, from, to, rates @ ..] = arguments else {
        return Err(
            "expected a CSV file, two days, a base currency, and rates such as USD=0.9".into()
        );
    };
    let licenses = read(path)?;
    let end = Timestamp::parse(to).ok_or("the second day must be one such as 2025-01-01")?;
    let options =
        ReportOptions { rates: read_rates(rates)?, ..ReportOptions::between(from, to, end)? };
    let report = mrr(&Ledger::new(licenses)?, &options, None)?;
    for excluded in &report.about.excluded {
        eprintln!("{} licenses do not count: {:?}", excluded.total, excluded.reason);
    }
    for missing in &report.about.missing_rates {
        eprintln!("{} has no rate", missing.currency);
    }
    let table = report.table();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(&table.header)?;
    table.rows.iter().try_for_each(|row| csv.write_record(row))?;
    Ok(String::from_utf8(csv.into_inner()?)?)
}

fn read(path: &str) -> Result<Vec<LicenseFacts<'static>>, Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| format!("{path}: {error}"))?;
    let header = reader.headers()?.clone();
    for needed in ["company", "currency", "from", "mrr"] {
        if !header.iter().any(|column| column == needed) {
            return Err(format!("{path} has no column `{needed}`: it needs {COLUMNS}").into());
        }
    }
    let mut licenses: Vec<LicenseFacts<'static>> = Vec::new();
    let mut companies: HashMap<String, ObjectId> = HashMap::new();
    for row in reader.deserialize() {
        let row: HashMap<String, String> = row?;
        let cell = |name: &str| row.get(name).map(String::as_str).unwrap_or_default();
        let next = id(companies.len());
        let company = *companies.entry(cell("company").to_owned()).or_insert(next);
        let (from, to) = (date(cell("from"))?, date(cell("to"))?);
        let mrr = Some(cell("mrr")).filter(|mrr| !mrr.is_empty());
        licenses.push(LicenseFacts {
            product: cell("product").to_owned().into(),
            currency: cell("currency").to_owned().into(),
            from,
            end: from.zip(to).and_then(|(from, to)| end_between(from, to)),
            mrr: mrr.map(str::parse).transpose()?,
            ..LicenseFacts::new(id(licenses.len()), company)
        });
    }
    Ok(licenses)
}

/// The end of a license: that of its whole months, else the day after its last one.
fn end_between(from: Timestamp, last: Timestamp) -> Option<Timestamp> {
    let period = Period::between(from, last, Zone::UTC);
    match period.filter(|period| period.months.fract().is_zero()) {
        Some(period) => Some(period.end),
        None => Timestamp::from_ms(Day::at(last, Zone::UTC).begin(Zone::UTC)?.as_ms() + DAY_MS),
    }
}

/// A date; none where the cell is empty.
fn date(cell: &str) -> Result<Option<Timestamp>, String> {
    let text = Some(cell).filter(|text| !text.is_empty());
    text.map(|text| {
        Timestamp::parse(text).ok_or(format!("expected a day such as 2025-01-01; found {text}"))
    })
    .transpose()
}

fn read_rates(arguments: &[String]) -> Result<Option<ExchangeRates>, Box<dyn Error>> {
    let [base, rates @ ..] = arguments else { return Ok(None) };
    let mut read = ExchangeRates::new(base);
    for rate in rates {
        let (currency, rate) = rate.split_once('=').ok_or("expected a rate such as USD=0.9")?;
        let always = Day::parse("1970-01-01").ok_or("no such day")?;
        read.set(currency, always, rate.parse()?)?;
    }
    Ok(Some(read))
}

fn id(row: usize) -> ObjectId {
    let mut bytes = [0; 12];
    if let Some(last) = bytes.last_chunk_mut() {
        *last = row.to_be_bytes();
    }
    ObjectId::from_bytes(bytes)
}
