//! Renewing a license, and losing it: the successor and the mark come together, once; a license is decided once.

use futures_util::future::join_all;
use hyper::Method;
use serde_json::{Value, json};
use svctrack_tests::{
    client::{Client, Response},
    in_process::InProcess,
};

/// A license of a year, whose renewal costs more.
async fn year(client: &Client) -> String {
    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let license = json!({
        "companyId": "extid-acme", "externalId": "first", "_currency": "EUR", "product": "Suite", "fixedPeriod": true,
        "fromDate": "2026-01-01", "toDate": "2026-12-31", "mrr": 100, "renewalMrr": 110,
    });
    let made = client.post("/licenses", &license).await;
    assert_eq!(made.status, 200, "{}", made.text());
    id(&made)
}

fn id(response: &Response) -> String {
    response.json()["_id"].as_str().unwrap().to_owned()
}

async fn licenses(client: &Client) -> Vec<Value> {
    client.get("/licenses").await.json().as_array().unwrap().clone()
}

async fn renew(client: &Client, key: &str) -> Response {
    post(client, "/licenses/extid-first/renew", key, "{}").await
}

const LOSE: &str = "/licenses/extid-first/lose";
const PRICE: &str = r#"{"lostReason":"price"}"#;

async fn lose(client: &Client, key: &str) -> Response {
    post(client, LOSE, key, PRICE).await
}

async fn post(client: &Client, path: &str, key: &str, body: &str) -> Response {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send(Method::POST, path, &headers, body.to_owned()).await.unwrap()
}

#[tokio::test]
async fn a_renewal_creates_the_successor_and_marks_the_license() {
    let server = InProcess::start().await;
    let first = year(&server.client).await;
    let sent = json!({"externalId": "second", "unknown": 1, "custom": {"order": 7}});
    let renewed = server.client.post("/licenses/extid-first/renew", &sent).await;
    assert_eq!(renewed.status, 200, "{}", renewed.text());
    assert_eq!(renewed.headers["svctrack-ignored"], "unknown");
    assert!(renewed.headers.contains_key("etag"));
    let (successor, second) = (renewed.json(), id(&renewed));
    let expected = json!({
        "parent": first, "externalId": "second", "fromDate": "2027-01-01T00:00:00.000Z",
        "toDate": "2028-01-01T00:00:00.000Z", "mrr": 110, "value": 1320, "product": "Suite",
        "renewalStatus": "ongoing", "custom": {"order": 7}, "companyName": "Acme",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&successor[name], value, "{name}");
    }
    assert_eq!(server.client.get("/licenses/extid-second").await.json(), successor);
    let before = server.client.get("/licenses/extid-first").await.json();
    assert_eq!(before["renewalStatus"], "renewed");
    assert_eq!(before["issues"], Value::Null);

    let again = server.client.post("/licenses/extid-first/renew", &json!({})).await;
    assert_eq!(again.status, 409);
    let message = format!("the license `{first}` is already renewed: its successor is `{second}`");
    assert!(again.text().contains(&message), "{}", again.text());
    assert_eq!(licenses(&server.client).await.len(), 2);
    let absent = server.client.post("/licenses/extid-none/renew", &json!({})).await;
    assert_eq!(absent.status, 404);
}

#[tokio::test]
async fn a_dry_run_shows_what_the_renewal_then_creates() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let before = licenses(&server.client).await;
    let path = "/licenses/extid-first/renew";
    let shown = server.client.post(&format!("{path}?dryRun=true"), &json!({"mrr": 90})).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert_eq!(licenses(&server.client).await, before);
    let made = server.client.post(&format!("{path}?dryRun=false"), &json!({"mrr": 90})).await;
    let (mut shown, mut made) = (shown.json(), made.json());
    assert_eq!(shown.get("_id"), None);
    for license in [&mut shown, &mut made] {
        ["_id", "createdAt", "updatedAt"].iter().for_each(|name| {
            license.as_object_mut().unwrap().remove(*name);
        });
    }
    assert_eq!(shown, made);
    let again = server.client.post(&format!("{path}?dryRun=true"), &json!({})).await;
    assert_eq!(again.status, 409);
    assert_eq!(server.client.post(&format!("{path}?dryrun=true"), &json!({})).await.status, 400);
}

#[tokio::test]
async fn a_renewal_that_is_sent_again_with_its_key_is_one() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let dry = "/licenses/extid-first/renew?dryRun=true";
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let shown = server.client.send(Method::POST, dry, &headers, "{}").await.unwrap();
    assert_eq!(shown.status, 200);
    let (made, again) = (renew(&server.client, "k").await, renew(&server.client, "k").await);
    assert!(!made.headers.contains_key("idempotent-replayed"));
    assert!(again.headers.contains_key("idempotent-replayed"));
    assert_eq!((again.status.as_u16(), again.json()), (200, made.json()));
    assert_eq!(renew(&server.client, "other").await.status, 409);
    assert_eq!(licenses(&server.client).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_renewals_at_the_same_time_one_is_made() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let keys: Vec<String> = (0..8).map(|key| format!("k{key}")).collect();
    let responses = join_all(keys.iter().map(|key| renew(&server.client, key))).await;
    let made = responses.iter().filter(|response| response.status == 200).count();
    let rejected = responses.iter().filter(|response| response.status == 409).count();
    assert_eq!((made, rejected), (1, 7));
    assert_eq!(licenses(&server.client).await.len(), 2);
}

#[tokio::test]
async fn a_license_that_is_lost_has_a_reason_and_is_lost_once() {
    let server = InProcess::start().await;
    let first = year(&server.client).await;
    let shown = post(&server.client, &format!("{LOSE}?dryRun=true"), "k", PRICE).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert_eq!(licenses(&server.client).await[0]["renewalStatus"], "ongoing");

    let (lost, again) = (lose(&server.client, "k").await, lose(&server.client, "k").await);
    assert_eq!(lost.status, 200, "{}", lost.text());
    assert!(lost.headers.contains_key("etag") && !lost.headers.contains_key("idempotent-replayed"));
    assert!(again.headers.contains_key("idempotent-replayed"));
    assert_eq!((again.status.as_u16(), again.json()), (200, lost.json()));
    let stored = server.client.get("/licenses/extid-first").await.json();
    assert_eq!(stored, lost.json());
    let (mut shown, mut stored) = (shown.json(), stored);
    for license in [&mut shown, &mut stored] {
        license.as_object_mut().unwrap().remove("updatedAt");
    }
    assert_eq!(shown, stored);

    let rejected = lose(&server.client, "other").await;
    assert_eq!(rejected.status, 409);
    let message = format!("the license `{first}` is already `lost`");
    assert!(rejected.text().contains(&message), "{}", rejected.text());
    assert_eq!(renew(&server.client, "renewal").await.status, 409);
    assert_eq!(licenses(&server.client).await.len(), 1);
    let found = server.client.get("/licenses?lostReason=price").await.json();
    assert_eq!(found.as_array().unwrap().len(), 1);
    let absent = post(&server.client, "/licenses/extid-none/lose", "none", PRICE).await;
    assert_eq!(absent.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_renewal_and_a_loss_at_the_same_time_one_holds() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let renewals = (0..4).map(|key| format!("r{key}"));
    let losses = (0..4).map(|key| format!("l{key}"));
    let (client, keys) = (&server.client, renewals.chain(losses).collect::<Vec<_>>());
    let responses = join_all(keys.iter().map(|key| async move {
        if key.starts_with('r') { renew(client, key).await } else { lose(client, key).await }
    }));
    let responses = responses.await;
    assert_eq!(responses.iter().filter(|response| response.status == 200).count(), 1);
    assert_eq!(responses.iter().filter(|response| response.status == 409).count(), 7);
    let left = licenses(client).await;
    let is_lost = left.iter().any(|license| license["renewalStatus"] == "lost");
    assert_eq!(left.len(), if is_lost { 1 } else { 2 });
}

/// Tries a call with each of these scopes; only the last ones suffice.
async fn try_scopes(client: &Client, path: &str, body: Value, scopes: &[(&[&str], u16)]) {
    for (scopes, status) in scopes {
        let made = json!({"label": "x", "scopes": scopes});
        let made = client.post("/tokens", &made).await.json();
        let client = client.with_token(made["token"].as_str().unwrap());
        let response = client.post(path, &body).await;
        assert_eq!(response.status, *status, "{scopes:?}: {}", response.text());
    }
}

#[tokio::test]
async fn who_renews_may_create_licenses_and_change_them() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let scopes = [
        (&["licenses:create"][..], 403),
        (&["licenses:update"], 403),
        (&["licenses:create", "licenses:update"], 200),
    ];
    try_scopes(&server.client, "/licenses/extid-first/renew", json!({}), &scopes).await;
}

#[tokio::test]
async fn who_loses_a_license_may_change_licenses() {
    let server = InProcess::start().await;
    year(&server.client).await;
    let scopes = [(&["licenses:create"][..], 403), (&["licenses:update"], 200)];
    try_scopes(&server.client, LOSE, json!({"lostReason": "price"}), &scopes).await;
}
