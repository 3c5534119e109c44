//! Reports as of a point in time: what a report says of the past is what it said then, whatever has changed since.

use std::{path::Path, sync::Arc};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{
    in_process::{InProcess, StillClock},
    model::Random,
};

use super::reports::{at, check_rejected, put, server, store_twelve};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn day(random: &mut Random) -> String {
    format!("202{}-{:02}-{:02}", 2 + random.below(4), 1 + random.below(12), 1 + random.below(28))
}

/// What may be set of a license.
fn terms(random: &mut Random) -> Value {
    let mut terms = json!({
        "companyId": format!("extid-c{}", random.below(4)),
        "product": *random.one_of(&["Suite", "Addon"]),
        "_currency": *random.one_of(&["EUR", "USD", "GBP"]),
        "mrr": random.below(90_000) as f64 / 100.0,
        "renewalStatus": *random.one_of(&["ongoing", "ongoing", "renewed", "lost"]),
        "autoRenews": random.below(2) == 0,
        "fromDate": day(random),
    });
    if random.below(3) > 0 {
        let year = 2026 + random.below(3);
        terms["toDate"] = format!("{year}-{:02}-28", 1 + random.below(12)).into();
        terms["fixedPeriod"] = true.into();
    }
    if random.below(3) == 0 {
        terms["fcNewMrrOptimistic"] = random.below(900).into();
        terms["renewalMrr"] = random.below(900).into();
    }
    terms
}

/// Some members of terms, as an update has them.
fn update(random: &mut Random) -> Value {
    let terms = terms(random);
    let members = terms.as_object().unwrap().clone().into_iter();
    members.filter(|(name, _)| name != "fromDate" && random.below(3) == 0).collect()
}

fn settings(random: &mut Random) -> Value {
    match random.below(3) {
        0 => json!({"timeZone": *random.one_of(&["UTC", "Asia/Tokyo", "America/Los_Angeles"])}),
        1 => json!({"currencies": null}),
        _ => json!({"currencies": {"base": "EUR", "rates": {
            "USD": {"2022-01-01": 0.5, "2024-06-01": random.below(100) + 1}, "GBP": 2
        }}}),
    }
}

const REPORTS: [&str; 7] = [
    "mrr?from=2023-01-01&to=2027-01-01&interval=quarter&gapDays=20",
    "mrr?view=activities&rates=dated",
    "retention?interval=year&from=2022-01-01&to=2027-01-01",
    "renewals?interval=quarter&from=2024-01-01&to=2028-01-01",
    "forecast?assumeRenewed=true",
    "mrr?explain=end",
    "forecast?explain=base",
];

/// Every report, without members that only reports of the past have.
async fn all(server: &InProcess, as_of: Option<Timestamp>) -> Vec<String> {
    let past = as_of.map_or(String::new(), |at| format!("&asOf={at}"));
    let said = as_of.map_or(String::new(), |at| format!(r#","asOf":"{at}""#));
    let mut reports = Vec::new();
    for report in REPORTS {
        let response = server.client.get(&format!("/reports/{report}{past}")).await;
        assert!(as_of.is_none() || report.contains("explain") || response.text().contains(&said));
        let text = match response.status {
            StatusCode::OK if report.starts_with("forecast") => without_actual(response.json()),
            StatusCode::OK => response.text().replace(&said, ""),
            _ => response.json()["code"].to_string(),
        };
        reports.push(text);
    }
    reports
}

/// A forecast without what came true, and without its point in time.
fn without_actual(mut report: Value) -> String {
    let series = report["currencies"].as_array_mut().into_iter().flatten();
    let mut rows: Vec<&mut Value> =
        series.flat_map(|series| series["rows"].as_array_mut().unwrap()).collect();
    rows.iter_mut().for_each(|row| forget(row, &["actual", "difference"]));
    if let Some(rows) = report["converted"]["rows"].as_array_mut() {
        rows.iter_mut().for_each(|row| forget(row, &["actual", "difference"]));
    }
    forget(&mut report, &["asOf"]);
    report.to_string()
}

fn forget(value: &mut Value, names: &[&str]) {
    let members = value.as_object_mut().unwrap();
    names.iter().for_each(|name| drop(members.remove(*name)));
}

/// A random change of licenses or settings.
async fn act(server: &InProcess, random: &mut Random) {
    let client = &server.client;
    let path = format!("/licenses/extid-l{}", random.below(12));
    let (method, path, body) = match random.below(10) {
        0..4 => {
            let mut items = Vec::new();
            for _ in 0..=random.below(3) {
                let mut terms = terms(random);
                terms["externalId"] = format!("l{}", random.below(12)).into();
                items.push(terms);
            }
            (Method::PUT, "/licenses".to_owned(), Value::Array(items))
        }
        4..7 => (Method::PUT, path, update(random)),
        7 => (Method::DELETE, path, Value::Null),
        8 => (Method::POST, format!("{path}/renew"), json!({})),
        _ => (Method::PUT, "/settings".to_owned(), settings(random)),
    };
    let headers = [("content-type", "application/json")];
    client.send(method, &path, &headers, body.to_string()).await.unwrap();
}

async fn in_folder(folder: &Path, clock: &Arc<StillClock>) -> InProcess {
    InProcess::in_folder(folder, clock.clone()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_as_of_a_time_is_what_it_was_then() {
    for seed in 1..4 {
        let mut random = Random::seeded(seed);
        let mut now = at("2025-03-30T09:00:00Z");
        let clock = Arc::new(StillClock::at(now));
        let folder = tempfile::tempdir().unwrap();
        let server = in_folder(folder.path(), &clock).await;
        let companies: Vec<_> =
            (0..4).map(|number| json!({"name": "c", "externalId": format!("c{number}")})).collect();
        put(&server.client, "/companies", &companies.into()).await;
        let mut then = Vec::new();
        for _ in 0..40 {
            act(&server, &mut random).await;
            then.push((now, all(&server, None).await));
            let step = *random.one_of(&[1, 1_000, DAY_MS / 2, 40 * DAY_MS]);
            now = Timestamp::from_ms_clamped(now.as_ms() + step);
            clock.set(now);
        }
        let kinds: std::collections::BTreeSet<_> =
            then.iter().map(|(_, reports)| &reports[0]).collect();
        assert!(kinds.len() > 20, "{} different reports", kinds.len());
        for (time, reports) in &then {
            assert_eq!(&all(&server, Some(*time)).await, reports, "seed {seed}, as of {time}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_leaves_what_was_reported_before() {
    let clock = Arc::new(StillClock::at(at("2024-08-01T09:30:00Z")));
    let server = InProcess::with_clock(clock.clone()).await;
    store_twelve(&server.client).await;
    let path = "/reports/mrr?from=2024-07-01&to=2024-08-01";
    let end = async |query: &str| {
        let report = server.client.get(&format!("{path}{query}")).await.json();
        report["converted"]["rows"][0]["end"].clone()
    };
    assert_eq!(end("").await, 1650);
    clock.set(at("2024-08-10T12:00:00Z"));
    put(&server.client, "/licenses/extid-T02", &json!({"mrr": 1150})).await;
    let gone = server.client.send(Method::DELETE, "/licenses/extid-T10", &[], "").await.unwrap();
    assert_eq!(gone.status, StatusCode::OK);
    assert_eq!(end("").await, 1610);
    assert_eq!(end("&asOf=2024-08-10T11:59:59.999Z").await, 1650);
    assert_eq!(end("&asOf=2024-08-10T12:00:00Z").await, 1610);
    // Before anything was stored, and with a company that is named.
    assert_eq!(end("&asOf=2020-01-01").await, Value::Null);
    assert_eq!(end("&asOf=2024-08-02&companyId=extid-Acorn").await, 1100);
    let report = server.client.get(&format!("{path}&asOf=2024-08-02")).await.json();
    assert_eq!(report["asOf"], "2024-08-02T00:00:00.000Z");
    assert_eq!(report["historySince"], Value::Null);
    assert_eq!(report["now"], "2024-08-02T00:00:00.000Z");
    // A rate that was set later does not count.
    put(&server.client, "/settings", &json!({"currencies": {"base": "EUR", "rates": {"USD": 2}}}))
        .await;
    assert_eq!(end("&asOf=2024-08-02").await, 1650);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_company_that_was_deleted_has_its_past() {
    let clock = Arc::new(StillClock::at(at("2024-08-01T09:30:00Z")));
    let server = InProcess::with_clock(clock.clone()).await;
    let client = &server.client;
    store_twelve(client).await;
    let id = client.get("/companies/extid-Acorn").await.json()["_id"].clone();
    let path = format!("/reports/mrr?from=2024-07-01&companyId={}", id.as_str().unwrap());
    let before = client.get(&path).await.json();
    assert_eq!(before["currencies"][0]["rows"][0]["end"], 1100);
    clock.set(at("2024-08-10T12:00:00Z"));
    let delete = async |path: String| {
        let response = client.send(Method::DELETE, &path, &[], "").await.unwrap();
        assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
    };
    let licenses = client.get("/licenses?companyId=extid-Acorn").await.json();
    for license in licenses.as_array().unwrap() {
        delete(format!("/licenses/{}", license["_id"].as_str().unwrap())).await;
    }
    delete("/companies/extid-Acorn".to_owned()).await;
    let after = client.get(&format!("{path}&to=2024-08-01&asOf=2024-08-02")).await.json();
    assert_eq!(after["currencies"][0]["rows"][0]["end"], 1100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forecast_as_of_a_time_shows_what_came_true_since() {
    let clock = Arc::new(StillClock::at(at("2024-08-01T09:30:00Z")));
    let server = InProcess::with_clock(clock.clone()).await;
    store_twelve(&server.client).await;
    let path = "/reports/forecast?from=2024-08-01&to=2024-11-01&assumeRenewed=true&asOf=2024-08-02";
    let months = async || {
        let report = server.client.get(path).await.json();
        let rows = report["converted"]["rows"].as_array().unwrap().clone();
        let cell = |row: &Value, name: &str| row[name].to_string();
        let line = |row: &Value| {
            [row["total"]["base"].to_string(), cell(row, "actual"), cell(row, "difference")]
                .join(" ")
        };
        rows.iter().map(line).collect::<Vec<_>>()
    };
    clock.set(at("2024-08-10T12:00:00Z"));
    assert_eq!(months().await, ["2150 null null"; 3]);
    // August has ended, and Dune's T07 was not renewed.
    clock.set(at("2024-09-01T00:00:00Z"));
    assert_eq!(months().await, ["2150 1650 -500", "2150 null null", "2150 null null"]);
    // Acorn pays more, but not when the forecast was made.
    put(&server.client, "/licenses/extid-T02", &json!({"mrr": 1150})).await;
    assert_eq!(months().await[0], "2150 1700 -450");
    clock.set(at("2024-10-01T00:00:00Z"));
    assert_eq!(months().await[1], "2150 1700 -450");
    let actual = server.client.get(&format!("{path}&explain=actual&period=2024-09")).await.json();
    assert_eq!(actual["formula"], "actual = 1150 + 270 + 240 + 60 + -20 = 1700");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_the_past_stays_the_same_as_time_passes() {
    let clock = Arc::new(StillClock::at(at("2024-08-01T09:30:00Z")));
    let server = InProcess::with_clock(clock.clone()).await;
    store_twelve(&server.client).await;
    clock.set(at("2024-08-10T12:00:00Z"));
    let path = "/reports/mrr?asOf=2024-08-02";
    let first = server.client.get(path).await;
    let etag = first.headers["etag"].to_str().unwrap().to_owned();
    clock.set(at("2024-12-10T12:00:00Z"));
    put(&server.client, "/licenses/extid-T02", &json!({"mrr": 1})).await;
    let again = server.client.send(Method::GET, path, &[("if-none-match", &etag)], "").await;
    assert_eq!(again.unwrap().status, StatusCode::NOT_MODIFIED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_as_of_no_time_or_one_ahead_is_rejected() {
    let server = server().await;
    for (query, code) in [
        ("mrr?asOf=yesterday", "invalid_time"),
        ("mrr?asOf=2024-08-01T09:30:00.001Z", "as_of_ahead"),
        ("customers?asOf=2024-08-01", "unknown_parameter"),
    ] {
        check_rejected(&server.client, query, code, "/asOf").await;
    }
}
