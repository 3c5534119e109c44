//! Revenue reports over the licenses of ten years, five a company, and PostgreSQL with the same rows.

use std::{fmt::Write as _, path::Path, time::Instant};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::value::{Timestamp, time::DAY_MS};
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::Client,
    data::{self, scattered},
    process::Server,
};

use crate::{
    folder,
    postgres::Postgres,
    process,
    report::{Case, Report, Target},
    reports_in_sql::{self, ReportInSql},
    scans::SMALL_CACHE,
};

pub(crate) const LICENSES: usize = 100_000;
pub(crate) const OF_COMPANY: usize = 5;
const ROUNDS: usize = 5;
/// Companies begin in one of `MONTHS` months, from January of this year on.
const FIRST_YEAR: usize = 2016;
const MONTHS: usize = 60;
const SPAN: &str = "from=2016-01-01&to=2026-01-01";
/// Values of `phase`, more than a report has segments.
const PHASES: usize = 70;
/// Rates to the base currency, EUR.
const RATES: [(&str, &str); 3] = [("EUR", "1"), ("USD", "0.92"), ("GBP", "1.17")];
/// Milliseconds that a report may take after a change or a start, and if nothing has changed.
const CHANGED_MS: f64 = 150.0;
const UNCHANGED_MS: f64 = 20.0;
/// MiB that all reports may take above what the server has at rest.
const MEMORY_MIB: f64 = 100.0;

const JSON: &str = "application/json";
const REPORTS: [(&str, &str); 10] = [
    ("mrr", JSON),
    ("mrr?view=activities&gapDays=7", JSON),
    ("mrr?by=phase", JSON),
    ("mrr?explain=expansion&period=2020-04", JSON),
    ("mrr", "text/csv"),
    ("mrr", "image/svg+xml"),
    ("retention?interval=quarter", JSON),
    ("renewals", JSON),
    ("forecast?assumeRenewed=true", JSON),
    ("customers", JSON),
];

const TABLES: &str = "CREATE TABLE rates (currency text PRIMARY KEY, rate numeric NOT NULL);
CREATE TABLE companies (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE licenses (id integer PRIMARY KEY, company integer NOT NULL, currency text NOT NULL,
                       starts timestamp NOT NULL, ends timestamp, mrr numeric NOT NULL, status text NOT NULL);";
const INDEXES: &str =
    "CREATE INDEX ON licenses (company, starts); CREATE INDEX ON licenses (starts);
CREATE INDEX ON licenses (ends); ANALYZE;";

/// A license: a year of a company, the last one sometimes without an end.
struct License {
    company: usize,
    currency: &'static str,
    first_day: String,
    /// The day on which it is over.
    end: Option<String>,
    mrr: usize,
    /// Its `renewalStatus`.
    status: &'static str,
}

fn of_number(number: usize) -> License {
    let (company, of_company) = (number / OF_COMPANY, number % OF_COMPANY);
    let month = scattered(company, MONTHS);
    // One in four does not follow the one before at once, or overlaps it.
    let day = if scattered(number, 4) == 0 { number } else { company };
    let day = |year: usize| {
        let (month, day) = (month % 12 + 1, scattered(day + 1, 28) + 1);
        format!("{year}-{month:02}-{day:02}")
    };
    let year = FIRST_YEAR + month / 12 + of_company;
    let is_last = of_company + 1 == OF_COMPANY;
    let is_open = is_last && scattered(number + 2, 3) == 0;
    License {
        company,
        currency: RATES[scattered(company + 3, 10) / 4].0,
        first_day: day(year),
        end: (!is_open).then(|| day(year + 1)),
        mrr: 50 + 25 * scattered(number + 4, 40),
        status: if is_last { "ongoing" } else { "renewed" },
    }
}

/// The last day of a license that is over on this one.
fn day_before(end: &str) -> String {
    let end = Timestamp::parse(end).unwrap().as_ms();
    Timestamp::from_ms(end - DAY_MS).unwrap().to_string()[..10].to_owned()
}

fn company_name(number: usize) -> String {
    format!("Company {number}")
}

pub(crate) fn company(number: usize) -> Value {
    let phase = format!("phase {}", number % PHASES);
    json!({"name": company_name(number), "externalId": format!("c{number}"), "phase": phase})
}

pub(crate) fn license(number: usize) -> Value {
    let License { company, currency, first_day, end, mrr, status } = of_number(number);
    let mut license = json!({
        "externalId": format!("l{number}"), "companyId": format!("extid-c{company}"), "product": "Suite",
        "_currency": currency, "fromDate": first_day, "mrr": mrr, "fixedPeriod": end.is_some(),
        "renewalStatus": status,
    });
    if let Some(end) = end {
        license["toDate"] = day_before(&end).into();
    }
    license
}

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let postgres = Postgres::start(folder.path());
    fill(&postgres);
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    let client = &server.client;
    data::load(client, "/companies", LICENSES / OF_COMPANY, company).await;
    data::load(client, "/licenses", LICENSES, license).await;
    let rates: serde_json::Map<String, Value> =
        RATES[1..].iter().map(|(name, rate)| ((*name).to_owned(), rate.parse().unwrap())).collect();
    put(client, "/settings", &json!({"currencies": {"base": "EUR", "rates": rates}})).await;
    for in_sql in &reports_in_sql::REPORTS {
        compare(report, client, &postgres, in_sql).await;
    }
    drop(postgres);
    for (path, accept) in REPORTS {
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            change(client, ROUNDS + round).await;
            changed.push(ask(client, path, accept).await);
            unchanged.push(ask(client, path, accept).await);
        }
        let form = if accept == JSON { String::new() } else { format!(" as `{accept}`") };
        let what = format!("`/reports/{path}`{form}, after a change of a license");
        report.note(&case(&what, ""), "ms", Target::Below(CHANGED_MS), changed);
        let what = format!("`/reports/{path}`{form}, unchanged");
        report.note(&case(&what, ""), "ms", Target::Below(UNCHANGED_MS), unchanged);
    }
    server.stop().await;
    first_reports(report, folder.path(), &token).await;
}

/// A report after a change, and the same figures in SQL, in turns.
async fn compare(report: &mut Report, client: &Client, postgres: &Postgres, in_sql: &ReportInSql) {
    let path = path_of(in_sql.report);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        change(client, round).await;
        postgres.time(&format!("UPDATE licenses SET mrr = {} WHERE id = 0;", mrr_of(round)));
        ours.push(ask(client, in_sql.report, JSON).await);
        theirs.push(postgres.time(in_sql.sql).as_secs_f64() * 1e3);
    }
    in_sql.assert_same(&client.get(&path).await.json(), postgres);
    let what = format!("`/reports/{}`, after a change of a license", in_sql.report);
    report.compare(&case(&what, in_sql.baseline), "ms", Target::AtMost(1.0), ours, theirs);
}

/// The first report after a start, which reads all licenses, and the memory of all reports, without most of the store's
/// cache.
async fn first_reports(report: &mut Report, folder: &Path, token: &Token) {
    let (mut times, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let server = Server::start(folder, token).await;
        times.push(ask(&server.client, "mrr", JSON).await);
        server.stop().await;
        let server = Server::start_with(folder, token, SMALL_CACHE).await;
        let rest = process::memory_mib(server.id(), "VmRSS:");
        process::forget_peak(server.id());
        for (path, accept) in REPORTS {
            ask(&server.client, path, accept).await;
        }
        peaks.push(process::memory_mib(server.id(), "VmHWM:") - rest);
        server.stop().await;
    }
    let what = "memory above rest, each report once";
    let small = format!("`{}`", SMALL_CACHE.join(" "));
    report.note(&case(what, &small), "MiB", Target::Below(MEMORY_MIB), peaks);
    let what = "`/reports/mrr`, the first after a start";
    report.note(&case(what, "reads all licenses"), "ms", Target::Below(CHANGED_MS), times);
}

fn case<'c>(what: &'c str, baseline: &'c str) -> Case<'c> {
    let body = format!("{LICENSES} licenses of {} companies, 120 months", LICENSES / OF_COMPANY);
    Case { what, baseline, connections: 1, body, durable: None }
}

fn fill(postgres: &Postgres) {
    let mut statements = TABLES.to_owned();
    for (currency, rate) in RATES {
        writeln!(statements, "INSERT INTO rates VALUES ('{currency}', {rate});").unwrap();
    }
    for first in (0..LICENSES).step_by(data::BULK) {
        let rows = (first..LICENSES.min(first + data::BULK)).map(|number| {
            let License { company, currency, first_day, end, mrr, status } = of_number(number);
            let end = end.map_or("NULL".to_owned(), |end| format!("'{end}'"));
            format!("({number},{company},'{currency}','{first_day}',{end},{mrr},'{status}')")
        });
        let rows = rows.collect::<Vec<_>>().join(",");
        writeln!(statements, "INSERT INTO licenses VALUES {rows};").unwrap();
    }
    let names =
        (0..LICENSES / OF_COMPANY).map(|number| format!("({number},'{}')", company_name(number)));
    let names = names.collect::<Vec<_>>().join(",");
    writeln!(statements, "INSERT INTO companies VALUES {names};").unwrap();
    postgres.time(&format!("{statements}\n{INDEXES}"));
}

fn mrr_of(round: usize) -> usize {
    1_000 + round
}

/// Changes the price of a license, as PostgreSQL does in the same round.
pub(crate) async fn change(client: &Client, round: usize) {
    put(client, "/licenses/extid-l0", &json!({"mrr": mrr_of(round)})).await;
}

async fn put(client: &Client, path: &str, body: &Value) {
    let json = [("content-type", "application/json")];
    let response = client.send(Method::PUT, path, &json, body.to_string()).await.unwrap();
    assert!(response.status.is_success(), "{path}: {}", response.text());
}

fn path_of(report: &str) -> String {
    let sign = if report.contains('?') { '&' } else { '?' };
    match report.starts_with("customers") {
        true => format!("/reports/{report}"),
        false => format!("/reports/{report}{sign}{SPAN}"),
    }
}

/// Milliseconds of a report.
async fn ask(client: &Client, report: &str, accept: &str) -> f64 {
    let path = path_of(report);
    let started = Instant::now();
    let response = client.send(Method::GET, &path, &[("accept", accept)], "").await.unwrap();
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    assert!(response.status.is_success(), "{path}: {}", response.text());
    let sent = response.headers["content-type"].to_str().unwrap();
    assert!(sent.starts_with(accept), "{path}: {sent}");
    elapsed
}
