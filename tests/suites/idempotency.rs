//! Calls that are sent again (R16): for how long, how many, and while they are under way.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use futures_util::{StreamExt as _, stream};
use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_store::Clock;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    in_process::InProcess,
};

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A clock that a test moves, in milliseconds since 1970.
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms_clamped(self.0.load(Ordering::Relaxed))
    }
}

async fn post(client: &Client, key: &str) -> Response {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send(Method::POST, "/products", &headers, r#"{"name":"Plan"}"#).await.unwrap()
}

fn is_replay(response: &Response) -> bool {
    assert_eq!(response.status, 200, "{}", response.text());
    response.headers.contains_key("idempotent-replayed")
}

#[tokio::test]
async fn an_outcome_is_stored_for_a_day() {
    let hands = Arc::new(Hands(AtomicI64::new(1_800_000_000_000)));
    let server = InProcess::with_clock(hands.clone()).await;
    assert!(!is_replay(&post(&server.client, "k").await));
    hands.0.fetch_add(23 * HOUR_MS, Ordering::Relaxed);
    assert!(is_replay(&post(&server.client, "k").await));
    hands.0.fetch_add(HOUR_MS, Ordering::Relaxed);
    assert!(!is_replay(&post(&server.client, "k").await));
    assert!(is_replay(&post(&server.client, "k").await));
}

#[tokio::test]
async fn keys_of_two_tokens_are_two() {
    let server = InProcess::start().await;
    let made = serde_json::json!({"label": "other", "scopes": ["*"]});
    let made = server.client.post("/tokens", &made).await.json();
    let other = server.client.with_token(made["token"].as_str().unwrap());
    assert!(!is_replay(&post(&server.client, "k").await));
    assert!(!is_replay(&post(&other, "k").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_calls_at_once_one_has_its_effect() {
    let server = InProcess::start().await;
    let client = &server.client;
    let posts = stream::iter(0..32).map(|_| async { post(client, "k").await.status.as_u16() });
    let statuses: Vec<u16> = posts.buffer_unordered(32).collect().await;
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
    assert_eq!(client.get("/products").await.json().as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_to_invalid_keys_repeats_little_of_them_and_is_stored() {
    let server = InProcess::start().await;
    let items = json!(vec![json!({"externalId": "x".repeat(6_000)}); 5_000]);
    let first = put_products(&server.client, &items).await;
    assert!(first.body.len() < 2_000_000, "{} bytes", first.body.len());
    let cut = format!("{}...", "x".repeat(64));
    assert_eq!(first.json()["createdErrors"][4_999]["externalId"], cut);
    let again = put_products(&server.client, &items).await;
    assert!(is_replay(&again) && again.body == first.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_response_is_too_large_to_be_stored_has_its_effect_once() {
    let server = InProcess::start().await;
    let long = "x".repeat(450);
    let mut items = vec![json!({"externalId": long, "sourceId": long}); 4_999];
    items.push(json!({"name": "Plan"}));
    let first = put_products(&server.client, &json!(items)).await;
    assert_eq!((first.status.as_u16(), &first.json()["created"]), (200, &json!(1)));
    assert!(first.body.len() > 4 * 1024 * 1024, "{} bytes", first.body.len());
    let again = put_products(&server.client, &json!(items)).await;
    assert_eq!(
        (again.status.as_u16(), again.json()["code"].as_str()),
        (422, Some("idempotency_response_not_stored"))
    );
    assert_eq!(server.client.get("/products").await.json().as_array().unwrap().len(), 1);
}

async fn put_products(client: &Client, items: &Value) -> Response {
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    client.send(Method::PUT, "/products", &headers, items.to_string()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_rejected_for_its_key_stores_none_of_its_rows() {
    let server = InProcess::start().await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let send = async |rows: usize| {
        let row = json!({"euExtId": "ada", "cId": "acme", "action": "x"});
        let path = format!("/analytics/bulk/{TENANT}");
        let body = json!(vec![row; rows]).to_string();
        client.send(Method::POST, &path, &[("idempotency-key", "k")], body).await.unwrap().status
    };
    assert_eq!(send(1).await, 200);
    for _ in 0..3 {
        assert_eq!(send(7_000).await, 422);
    }
    assert_eq!(client.actions().await.len(), 1);
}
