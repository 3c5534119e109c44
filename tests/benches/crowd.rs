//! How long ordinary senders wait during slow clients, and during a tenant that does not read its responses.

use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    attack::{fill_with_large, unread},
    client::Client,
    process::Server,
};
use tokio::task::JoinHandle;

use crate::{
    disk, folder,
    report::{Case, Report, Target},
    slow,
};

/// Highest p99 of ordinary requests during another tenant that does not read its responses, in milliseconds.
const MAX_P99_BESIDE_TENANT_MS: f64 = 20.0;
/// Lists that it requests at a time, the large records of each, and how long it holds them.
const UNREAD_LISTS: usize = 8;
const LARGE_RECORDS: usize = 64;
const HELD_FOR: Duration = Duration::from_secs(5);
/// Connections of calls that are rejected.
const REJECTED: usize = 2;
/// Requests of a round.
const REQUESTS: usize = 1_000;
const ROUNDS: usize = 5;

pub(crate) async fn measure(report: &mut Report) {
    slow::measure(report).await;
    beside_another_tenant(report).await;
}

async fn beside_another_tenant(report: &mut Report) {
    let (folder, quiet_folder) = (folder(), folder());
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
    let quiet = Server::start_with_acme(quiet_folder.path(), &token).await;
    let sync = disk::sync_times(folder.path());
    let made = json!({"name": "other"});
    let made = server.client.with_token(operator.reveal()).post("/tenants", &made).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    fill_with_large(&other, LARGE_RECORDS).await;
    let path = format!("/analytics/{}", made["_id"].as_str().unwrap());
    let mut attack: Vec<_> =
        (0..REJECTED).map(|_| tokio::spawn(send_rejected(other.clone(), path.clone()))).collect();
    attack.push(tokio::spawn(async move {
        loop {
            let _held = unread(&other, "/companies?limit=2000", UNREAD_LISTS).await;
            tokio::time::sleep(HELD_FOR).await;
        }
    }));
    let (mut attacked, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        attacked.push(p99_ms(&server.client).await);
        alone.push(p99_ms(&quiet.client).await);
    }
    assert!(attack.iter().all(|task| !task.is_finished()));
    attack.iter().for_each(JoinHandle::abort);
    let what = "p99 of ordinary requests during large lists of another tenant that nobody reads";
    let body = "events and reads of a record, in turn".to_owned();
    let case = Case { what, baseline: "without", connections: 1, body, durable: Some(&sync) };
    report.compare(&case, "ms", Target::Below(MAX_P99_BESIDE_TENANT_MS), attacked, alone);
    server.kill().await;
    quiet.kill().await;
}

async fn send_rejected(client: Client, path: String) {
    loop {
        let response = client.send(Method::POST, &path, &[], "{").await.unwrap();
        assert_eq!(response.status, StatusCode::BAD_REQUEST);
    }
}

/// p99 of events and reads of a record in turn, one after the other.
async fn p99_ms(client: &Client) -> f64 {
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "Login"});
    let mut times = Vec::with_capacity(REQUESTS);
    for number in 0..REQUESTS {
        let started = Instant::now();
        if number.is_multiple_of(2) {
            assert_eq!(client.track(&event).await.unwrap().text(), "OK");
        } else {
            assert_eq!(client.get("/companies/extid-acme").await.status, StatusCode::OK);
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[REQUESTS * 99 / 100]
}
