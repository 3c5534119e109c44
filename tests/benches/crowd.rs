//! What ordinary senders wait for beside a thousand slow clients and bodies that unpack to gigabytes.

use std::time::Instant;

use hyper::StatusCode;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{attack::Attack, client::Client, process::Server};

use crate::{
    disk, folder,
    report::{Case, Report, Target},
};

/// How soon 99 of 100 ordinary requests are answered, in milliseconds.
const MAX_P99_MS: f64 = 100.0;
/// Requests of a round.
const REQUESTS: usize = 1_000;
const ROUNDS: usize = 5;

pub(crate) async fn measure(report: &mut Report) {
    let (folder, quiet_folder) = (folder(), folder());
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let quiet = Server::start_with_acme(quiet_folder.path(), &token).await;
    let sync = disk::sync_times(folder.path());
    let attack = Attack::begin(&server.client, &token).await;
    let (mut attacked, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        attacked.push(p99_ms(&server.client).await);
        alone.push(p99_ms(&quiet.client).await);
    }
    attack.end();
    let what = "p99 of ordinary requests beside 1,000 slow clients and bombs";
    let body = "events and reads of a record, in turn".to_owned();
    let case = Case { what, yardstick: "without", connections: 1, body, durable: Some(&sync) };
    report.compare(&case, "ms", Target::None, attacked.clone(), alone);
    report.note(&case, "ms", Target::Below(MAX_P99_MS), attacked);
    server.kill().await;
    quiet.kill().await;
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
