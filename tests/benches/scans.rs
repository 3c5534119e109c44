//! Lists that scan every record: in the order of a property without an index, and those that hold a text.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, client::Client, process::Server};

use crate::{
    data, folder, process,
    report::{Case, Report, Target},
};

const RECORDS: usize = 100_000;
const ROUNDS: usize = 9;
/// Milliseconds that a sort may take, and a search.
const SORT_MS: f64 = 150.0;
const SEARCH_MS: f64 = 100.0;
/// A cache that leaves room below what either may take: the pages that a list passes are in it.
pub(crate) const SMALL_CACHE: &[&str] = &["--cache-mb", "24"];
/// What either may take above rest, its part of the cache included, in MiB.
const MEMORY_MIB: f64 = 64.0;

/// Milliseconds that a range may take, of a property with an index and of another one.
const INDEXED_MS: f64 = 20.0;
const RANGE_MS: f64 = 60.0;
/// Licenses that are stored after all others, for ranges of time.
const LATE: usize = 100;

/// In paths, `{since}` is when the last licenses were stored.
const CASES: [(&str, &str, f64); 16] = [
    ("sort by `value`", "/licenses?sort=value&limit=100", SORT_MS),
    ("sort by `-custom.x`", "/licenses?sort=-custom.x&limit=100", SORT_MS),
    (
        "sort by `createdAt`, the last page",
        "/licenses?sort=createdAt&limit=100&offset=99900",
        SORT_MS,
    ),
    ("search, 100 of 100,000 found", "/tickets?search=zebra", SEARCH_MS),
    ("search, nothing found", "/tickets?search=giraffe", SEARCH_MS),
    ("filter by `value`", "/licenses?value=100", SORT_MS),
    (
        "range of `renewalDate`, a month",
        "/licenses?renewalDate[gte]=2026-06-01&renewalDate[lt]=2026-07-01&limit=100",
        INDEXED_MS,
    ),
    ("sort by `renewalDate`", "/licenses?sort=renewalDate&limit=100", INDEXED_MS),
    ("range of `createdAt`", "/licenses?createdAt[gte]={since}&limit=100", INDEXED_MS),
    ("range of `updatedAt`", "/licenses?updatedAt[gte]={since}&limit=100", INDEXED_MS),
    // The compact rows of engagement are all read.
    (
        "range of `lastActive`, a day",
        "/endusers?lastActive[gte]=2025-06-15&lastActive[lt]=2025-06-16&limit=100",
        RANGE_MS,
    ),
    ("range of `value`", "/licenses?value[gte]=100&value[lt]=200&limit=100", RANGE_MS),
    ("range of `custom.x`", "/licenses?custom.x[gte]=100&custom.x[lt]=200&limit=100", RANGE_MS),
    ("`externalId` with a prefix", "/licenses?externalId[prefix]=l9999&limit=100", RANGE_MS),
    ("a part of `product`, found in none", "/licenses?product[contains]=zebra", INDEXED_MS),
    ("total of a range of `value`", "/licenses?value[lt]=50000&limit=1&count=true", RANGE_MS),
];

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    data::load(&server.client, "/companies", data::COMPANIES, data::company).await;
    data::load(&server.client, "/licenses", RECORDS, license).await;
    data::load(&server.client, "/tickets", RECORDS, data::ticket).await;
    send_activities(&server.client).await;
    // In another second, since ids have these.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let late = (RECORDS..RECORDS + LATE).map(license).collect();
    data::upsert(&server.client, "/licenses", &late).await;
    let first = server.client.get(&format!("/licenses/extid-l{RECORDS}")).await.json();
    let since = first["createdAt"].as_str().unwrap().to_owned();
    stop(server).await;
    for (what, path, limit_ms) in CASES {
        let path = &path.replace("{since}", &since);
        let warm = ask(folder.path(), &token, &[], path).await;
        let case = |what, baseline| Case {
            what,
            baseline,
            connections: 1,
            body: format!("{} B of {RECORDS} records", warm.bytes),
            durable: None,
        };
        let first = format!(
            "{:.0} ms of a processor; first after a start {:.0} ms, {:.0} MiB of cache filled",
            warm.cpu_ms, warm.times[0], warm.memory_mib
        );
        report.note(&case(what, &first), "ms", Target::Below(limit_ms), warm.times);
        let small = ask(folder.path(), &token, SMALL_CACHE, path).await;
        let what = format!("memory above rest, {what}");
        let mut times = small.times;
        times.sort_by(f64::total_cmp);
        let time = format!("`{}`: {:.0} ms", SMALL_CACHE.join(" "), times[ROUNDS / 2]);
        report.note(&case(&what, &time), "MiB", Target::Below(MEMORY_MIB), vec![small.memory_mib]);
    }
}

/// Has [`RECORDS`] end users, each active once, at times that are scattered over a year.
async fn send_activities(client: &Client) {
    const ROWS: usize = 10_000;
    let first = Timestamp::parse("2025-01-01").unwrap().as_ms();
    let row = |number: usize| {
        let minute = data::scattered(number, 365 * 24 * 60) as i64;
        let date = Timestamp::from_ms_clamped(first + minute * 60_000).to_string();
        json!({"euExtId": format!("u{number}"), "cId": format!("c{}", number % data::COMPANIES),
               "action": "Opened report", "date": date})
    };
    for start in (0..RECORDS).step_by(ROWS) {
        let rows: Value = (start..start + ROWS).map(row).collect();
        let path = format!("/analytics/bulk/{TENANT}");
        let response = client.send(Method::POST, &path, &[], rows.to_string()).await.unwrap();
        assert_eq!(response.text(), "OK");
        assert!(!response.headers.contains_key("svctrack-rejected-count"));
    }
}

/// A license that renews on one of the days of two years.
fn license(number: usize) -> Value {
    let mut license = data::license(number);
    let (month, day) = (number % 12 + 1, number / 12 % 28 + 1);
    license["fromDate"] = json!(format!("{}-{month:02}-{day:02}", 2025 + number / 336 % 2));
    license
}

/// What came of asking for a list several times.
struct Asked {
    /// Milliseconds of each time.
    times: Vec<f64>,
    bytes: usize,
    /// Milliseconds of a processor of each but the first: on a busy machine it says more than the time.
    cpu_ms: f64,
    /// What the process took at the most, above what it took before it was asked.
    memory_mib: f64,
}

/// Asks a server that has just been started.
async fn ask(folder: &Path, token: &Token, flags: &[&str], path: &str) -> Asked {
    let server = Server::start_with(folder, token, flags).await;
    let rest = process::memory_mib(server.id(), "VmRSS:");
    let mut asked = Asked { times: Vec::new(), bytes: 0, cpu_ms: 0.0, memory_mib: 0.0 };
    let mut cpu_ms = 0.0;
    for round in 0..ROUNDS {
        if round == 1 {
            cpu_ms = process::cpu_ms(server.id());
        }
        let started = Instant::now();
        let response = server.client.get(path).await;
        asked.times.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(response.status, hyper::StatusCode::OK);
        asked.bytes = response.body.len();
    }
    asked.cpu_ms = (process::cpu_ms(server.id()) - cpu_ms) / (ROUNDS - 1) as f64;
    asked.memory_mib = process::memory_mib(server.id(), "VmHWM:") - rest;
    stop(server).await;
    asked
}

async fn stop(server: Server) {
    server.stop().await;
}
