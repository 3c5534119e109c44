//! Tags of lists, compression (R58), and the list that is returned as a whole.

use std::{io::Read as _, sync::Arc};

use flate2::read::MultiGzDecoder;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::{resources::REGISTRY, value::Timestamp};
use svctrack_tests::{
    client::Client,
    data,
    in_process::{InProcess, StillClock},
};

const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("accept-encoding", "gzip");

async fn get(
    client: &Client,
    path: &str,
    headers: &[(&str, &str)],
) -> svctrack_tests::client::Response {
    client.send(Method::GET, path, headers, "").await.unwrap()
}

fn unpacked(body: &[u8]) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(body).read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_has_a_tag_by_which_it_is_not_sent_again() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20").unwrap()));
    let server = InProcess::with_clock(clock).await;
    let others = ["activities", "integrationissues", "leancompanies", "reports/mrr", "tokens"];
    let lists = REGISTRY.iter().map(|def| def.path).chain(others);
    let paths = lists.map(|path| (format!("/{path}"), &server.client));
    for (path, client) in paths.chain([("/tenants".to_owned(), &server.operator)]) {
        let first = client.get(&path).await;
        assert_eq!(first.status, StatusCode::OK, "{path}");
        let etag = first.headers["etag"].to_str().unwrap().to_owned();
        let again = get(client, &path, &[("if-none-match", &etag)]).await;
        assert_eq!((again.status, again.text()), (StatusCode::NOT_MODIFIED, ""), "{path}");
        assert_eq!(again.headers["etag"], etag.as_str(), "{path}");
    }
}

/// A license whose MRR is in a report.
fn license() -> Value {
    json!({"companyId": "extid-acme", "externalId": "l", "product": "p", "_currency": "EUR",
           "fromDate": "2026-01-01", "mrr": 100})
}

/// Sends two values of equal length in turns, and checks that a list has another tag after each change.
async fn check_tag_of_changes(client: &Client, list: &str, record: &str, values: [Value; 2]) {
    for accept in ["application/json", "text/csv"] {
        let accept = ("accept", accept);
        let mut last = get(client, list, &[accept]).await;
        for value in [&values[1], &values[0]] {
            let change = client.send(Method::PUT, record, &[JSON], value.to_string()).await;
            assert_eq!(change.unwrap().status, StatusCode::OK, "{record} {value}");
            let known = last.headers["etag"].to_str().unwrap().to_owned();
            let next = get(client, list, &[accept, ("if-none-match", &known)]).await;
            assert_eq!(next.status, StatusCode::OK, "{list} {accept:?}");
            assert_ne!(next.headers["etag"], known.as_str(), "{list} {accept:?}");
            assert_eq!(next.body.len(), last.body.len(), "{list} {accept:?}");
            last = next;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_another_tag_after_a_change_of_equal_length() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20").unwrap()));
    let server = InProcess::with_clock(clock).await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    assert_eq!(client.post("/licenses", &license()).await.status, StatusCode::OK);
    // More than is handed over at once.
    let note = "x".repeat(3_000);
    let product = |number: usize| json!({"name": "p", "externalId": number.to_string(), "mrr": 100, "custom": {"note": note}});
    let products: Value = (0..2_000).map(product).collect();
    let made = client.send(Method::PUT, "/products", &[JSON], products.to_string()).await.unwrap();
    assert_eq!(made.headers["svctrack-bulk-errors"], "0");
    let names = [json!({"name": "Acme"}), json!({"name": "Acmf"})];
    let amounts = [json!({"mrr": 100}), json!({"mrr": 200})];
    for (list, record, values) in [
        ("/products?limit=2000", "/products/extid-1999", &amounts),
        ("/products?limit=2000&select=externalId,mrr", "/products/extid-1999", &amounts),
        ("/products?externalId=7", "/products/extid-7", &amounts),
        ("/companies", "/companies/extid-acme", &names),
        ("/leancompanies", "/companies/extid-acme", &names),
        ("/reports/mrr", "/licenses/extid-l", &amounts),
    ] {
        check_tag_of_changes(client, list, record, values.clone()).await;
    }
    // What is as it was has the tag that it had.
    let list = "/products?select=mrr";
    let tag = async || client.get(list).await.headers["etag"].clone();
    let first = tag().await;
    for (value, is_first) in [(&amounts[1], false), (&amounts[0], true)] {
        let change = client.send(Method::PUT, "/products/extid-7", &[JSON], value.to_string());
        assert_eq!(change.await.unwrap().status, StatusCode::OK);
        assert_eq!(tag().await == first, is_first, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lean_companies_are_all_returned_where_no_limit_is_sent() {
    const COMPANIES: usize = 10_001;
    let server = InProcess::start().await;
    data::load(&server.client, "/companies", COMPANIES, data::company).await;
    let response = server.client.get("/leancompanies").await;
    let listed = response.json();
    assert_eq!(listed.as_array().unwrap().len(), COMPANIES);
    assert_eq!(listed[COMPANIES - 1]["externalId"], format!("c{}", COMPANIES - 1));
    assert!(!response.headers.contains_key("link"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_known_still_reports_what_was_ignored_and_where_the_next_page_is() {
    let server = InProcess::start().await;
    for name in ["a", "b"] {
        server.client.post("/products", &json!({"name": name})).await;
    }
    let path = "/products?limit=1&select=name,nonsense";
    let first = server.client.get(path).await;
    let etag = first.headers["etag"].to_str().unwrap();
    let known = get(&server.client, path, &[("if-none-match", etag)]).await;
    assert_eq!(known.status, StatusCode::NOT_MODIFIED);
    for name in ["link", "svctrack-ignored"] {
        assert_eq!(known.headers.get(name), first.headers.get(name), "{name}");
        assert!(known.headers.contains_key(name), "{name}");
    }
    let change = server.client.send(Method::PUT, "/products", &[JSON], r#"[{"name":"c"}]"#).await;
    assert_eq!(change.unwrap().status, StatusCode::OK);
    // The first page is as it was, the whole list is not.
    assert_eq!(get(&server.client, path, &[("if-none-match", etag)]).await.status, 304);
    let whole = server.client.get("/products").await;
    assert_ne!(whole.headers["etag"].to_str().unwrap(), etag);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_compressed_when_that_is_asked_for() {
    let server = InProcess::start().await;
    let items: Vec<Value> = (0..5_000)
        .map(
            |number| json!({"name": format!("Company {number}"), "externalId": number.to_string()}),
        )
        .collect();
    let body = Value::from(items).to_string();
    let made = server.client.send(Method::PUT, "/companies", &[JSON], body).await.unwrap();
    assert_eq!(made.status, StatusCode::OK);
    // Short, long, and more than is handed over at once.
    for limit in [10, 100, 5_000] {
        let path = format!("/companies?limit={limit}");
        let plain = server.client.get(&path).await;
        assert!(!plain.headers.contains_key("content-encoding"));
        assert_eq!(plain.headers["vary"], "Accept-Encoding");
        let packed = get(&server.client, &path, &[GZIP]).await;
        assert_eq!(packed.headers["content-encoding"], "gzip", "{limit}");
        assert_eq!(packed.headers["vary"], "Accept-Encoding");
        assert_eq!(packed.headers["etag"], plain.headers["etag"]);
        assert!(packed.body.len() < plain.body.len() / 2, "{limit}");
        assert!(unpacked(&packed.body) == plain.text(), "{limit}");
        for coding in ["zstd", "br"] {
            let packed = get(&server.client, &path, &[("accept-encoding", coding)]).await;
            assert_eq!(packed.headers["content-encoding"], coding);
            assert!(packed.body.len() < plain.body.len() / 2, "{limit} {coding}");
        }
    }
    assert!(server.client.get("/companies?limit=5000").await.body.len() > 1024 * 1024);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tag_of_a_compressed_record_names_its_version() {
    let server = InProcess::start().await;
    let product = json!({"name": "x".repeat(2_000), "externalId": "p"});
    let plain = server.client.post("/products", &product).await.headers["etag"].clone();
    let packed = get(&server.client, "/products/extid-p", &[GZIP]).await;
    assert_eq!(packed.headers["content-encoding"], "gzip");
    let etag = packed.headers["etag"].to_str().unwrap();
    assert_eq!(etag, format!("W/{}", plain.to_str().unwrap()));
    let known = get(&server.client, "/products/extid-p", &[GZIP, ("if-none-match", etag)]).await;
    assert_eq!(known.status, StatusCode::NOT_MODIFIED);
    for expected in [200, 412] {
        let change = json!({"mrr": expected}).to_string();
        let headers = [JSON, ("if-match", etag)];
        let changed = server.client.send(Method::PUT, "/products/extid-p", &headers, change).await;
        assert_eq!(changed.unwrap().status, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_streams_backups_and_packed_files_are_not_compressed_again() {
    let server = InProcess::start().await;
    let body = json!({"label": "x".repeat(200), "scopes": svctrack_core::access::every_scope().iter()
        .filter(|scope| *scope != "operator").collect::<Vec<_>>()});
    let made = server.client.send(Method::POST, "/tokens", &[JSON, GZIP], body.to_string()).await;
    let made = made.unwrap();
    assert!(made.status == StatusCode::OK && made.body.len() > 1024, "{}", made.text());
    assert!(!made.headers.contains_key("content-encoding"));
    let backup = get(&server.operator, "/backup", &[GZIP]).await;
    assert!(backup.status == StatusCode::OK && !backup.headers.contains_key("content-encoding"));
    let stream = get(&server.client, "/activities/stream", &[GZIP]).await;
    assert!(!stream.headers.contains_key("content-encoding"));
    let script = get(&server.client, "/svctrack.js", &[("accept-encoding", "zstd")]).await;
    assert!(script.status == StatusCode::OK && !script.headers.contains_key("content-encoding"));
}
