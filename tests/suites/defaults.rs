//! A server with nothing set but its tenant: what somebody who knows nothing but the tenant's UUID can use up of it, and
//! what is counted of what they have stored.

use std::path::Path;

use futures_util::{StreamExt as _, stream};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Answer, Client},
    process::Server,
};
use tempfile::TempDir;

const MIB: u64 = 1024 * 1024;

/// A server as its users start it, with a company, whose `externalId` is `acme`.
async fn started(flags: &[&str]) -> (Server, TempDir) {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_defaults(folder.path(), &token, flags).await;
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
    (server, folder)
}

/// Sends rows in bulk, for a client of a proxy on the same machine.
async fn send(client: &Client, address: &str, rows: &[Value]) -> Answer {
    let path = format!("/analytics/bulk/{TENANT}");
    let headers = [("x-forwarded-for", address)];
    client.send(Method::POST, &path, &headers, json!(rows).to_string()).await.unwrap()
}

fn stored_bytes(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("svctrack.redb")).unwrap().len()
}

/// MiB that a tenant's senders may have stored in a day, and one address.
const DAILY_MIB: u64 = 256;
const DAILY_MIB_OF_ADDRESS: u64 = DAILY_MIB / 2;

#[tokio::test(flavor = "multi_thread")]
async fn by_default_an_address_without_a_token_has_little_stored_and_leaves_some_to_others() {
    let (server, folder) = started(&[]).await;
    let before = stored_bytes(folder.path());
    let text = "y".repeat(60_000);
    let row = json!({"euExtId": "7", "cId": "acme", "action": "x", "info": {"text": text}});
    let anybody = Client::new(&server.base, None);
    let mut sent = 0;
    for address in ["192.0.2.1", "192.0.2.2"] {
        let rows = vec![row.clone(); 100];
        let refused = loop {
            let answer = send(&anybody, address, &rows).await;
            if answer.status != StatusCode::OK {
                break answer;
            }
            sent += rows.len() * text.len();
        };
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text());
        assert_eq!(refused.json()["code"], "daily_limit_reached", "{}", refused.text());
        let sent = sent as u64 / MIB;
        println!("{sent} MiB until {address} may send no more");
        assert!(sent <= DAILY_MIB * 3 / 4, "{sent} MiB");
        assert!(sent > DAILY_MIB_OF_ADDRESS * 9 / 10, "{sent} MiB");
    }
    let grown = (stored_bytes(folder.path()) - before) / MIB;
    println!("{grown} MiB stored");
    assert!(grown < DAILY_MIB * 5 / 4, "{grown} MiB");
    // Somebody else's events come in, and the tenant's own calls.
    assert_eq!(send(&anybody, "192.0.2.3", &[row]).await.text(), "OK");
    let product = json!({"name": "Plan"});
    assert_eq!(server.client.post("/products", &product).await.status, StatusCode::OK);
    server.kill().await;
}

/// Events of a kind, each by its number.
type Kind = (&'static str, fn(usize) -> Value);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_of_events_is_about_what_they_take_in_the_store() {
    const DAILY: u64 = 24;
    let kinds: [Kind; 5] = [
        ("of a known user", |_| json!({"euExtId": "7", "cId": "acme", "action": "x"})),
        (
            "that create users",
            |number| json!({"euExtId": format!("u{number}"), "cId": "acme", "action": "x"}),
        ),
        ("that create users with e-mail", |number| {
            let (id, email) = (format!("u{number}"), format!("u{number}@example.com"));
            json!({"euExtId": id, "euEmail": email, "cId": "acme", "action": "x"})
        }),
        (
            "that wait",
            |number| json!({"euExtId": format!("u{number}"), "cId": "later", "action": "x"}),
        ),
        ("with a messageId", |number| {
            let id = format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            json!({"euExtId": "7", "cId": "acme", "action": "x", "messageId": id})
        }),
    ];
    for (kind, event) in kinds {
        let (server, folder) = started(&["--tracking-daily-mb", &DAILY.to_string()]).await;
        let anybody = Client::new(&server.base, None);
        let before = stored_bytes(folder.path());
        let mut number = 0;
        let refused = loop {
            let rows: Vec<_> = (number..number + 2_000).map(event).collect();
            number += rows.len();
            let answer = anybody.post(&format!("/analytics/bulk/{TENANT}"), &json!(rows)).await;
            if answer.status != StatusCode::OK || answer.headers.contains_key("svctrack-rejected") {
                break answer;
            }
        };
        let grown = (stored_bytes(folder.path()) - before) as f64 / MIB as f64;
        println!("{kind}: {number} events, {grown:.1} MiB, then {}", refused.status);
        server.kill().await;
        assert!(grown < 1.6 * DAILY as f64, "{kind}: {grown} MiB of {DAILY}");
    }
}

/// Half of the places for events that wait, and of the keys of a day.
const PLACES: usize = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_address_leaves_places_for_events_that_wait_and_its_rate_to_others() {
    let (server, _folder) = started(&["--tracking-rate-limit", "100"]).await;
    let anybody = Client::new(&server.base, None);
    let row = |number: usize| json!({"euExtId": number.to_string(), "cId": "never", "action": "x"});
    let rows: Vec<_> = (0..2 * PLACES).map(row).collect();
    let sent = send(&anybody, "192.0.2.1", &rows).await;
    assert_eq!(sent.headers["svctrack-rejected-count"], PLACES.to_string().as_str());
    let sent = send(&anybody, "192.0.2.2", &rows[..PLACES / 2]).await;
    assert!(!sent.headers.contains_key("svctrack-rejected-count"), "{}", sent.text());
    // Of a rate of 100 in a second, and a burst of two, an address has half.
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "x"}).to_string();
    let track = |address: &'static str| {
        let (anybody, event) = (&anybody, event.clone());
        async move {
            let headers = [("x-forwarded-for", address)];
            let path = format!("/analytics/{TENANT}");
            anybody.send(Method::POST, &path, &headers, event).await.unwrap().status
        }
    };
    let flood = stream::iter(0..600).map(|_| track("192.0.2.3")).buffer_unordered(64);
    let statuses: Vec<_> = flood.collect().await;
    assert!(statuses.contains(&StatusCode::TOO_MANY_REQUESTS));
    for _ in 0..40 {
        assert_eq!(track("192.0.2.4").await, StatusCode::OK);
    }
    server.kill().await;
}
