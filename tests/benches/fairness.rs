//! What one tenant's load does to another tenant: single events during bulk bodies, and short reads during long ones;
//! and what large bodies and listeners wait for.

use std::{
    future::Future,
    path::{Path, PathBuf},
    time::Instant,
};

use bytes::Bytes;
use futures_util::{future::join_all, stream, stream::StreamExt as _};
use hyper::Method;
use serde_json::json;
use svctrack_core::value::TenantId;
use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, client::Client, process::Server};

use crate::{
    disk,
    events::{self, Ids},
    folder,
    load::Load,
    report::{Report, Target},
    rows::{Sender, case, load_people},
};

const ROUNDS: usize = 5;
/// How many times longer another tenant may wait during the load of one.
pub(crate) const MAX_SLOWER: f64 = 2.0;
/// Connections of that other tenant, and its events a second: far from what the machine can do.
pub(crate) const OTHER_CONNECTIONS: usize = 16;
pub(crate) const OTHER_RATE: f64 = 500.0;
/// Rows of a bulk body.
const BODY_ROWS: usize = 50_000;
/// Long reads of a tenant at once.
const LONG_READS: usize = 8;
/// Senders of the largest body at once, and its size in bytes (R30).
const LARGE_SENDERS: usize = 50;
const LARGE_BYTES: usize = 32 * 1024 * 1024;
/// How many milliseconds after its commit an activity is shown by a stream.
const MAX_SHOWN_MS: f64 = 100.0;

/// Two tenants of a server; the second one is measured.
struct World<'s> {
    server: &'s Server,
    other: TenantId,
    other_client: Client,
    script: PathBuf,
    seed: usize,
}

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    load_people(&server.client).await;
    let mut world = World::new(&server, operator.reveal(), folder.path()).await;
    let sync = disk::sync_times(folder.path());
    beside_bulk(report, &mut world, &sync).await;
    beside_long_reads(report, &world, &sync).await;
    stream(report, &world, &sync).await;
    large_bodies(report, &world, &sync).await;
    server.kill().await;
}

impl<'s> World<'s> {
    async fn new(server: &'s Server, operator: &str, folder: &Path) -> Self {
        let operator = server.client.with_token(operator);
        let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
        let other = TenantId::parse(made["_id"].as_str().unwrap()).unwrap();
        let other_client = server.client.with_token(made["token"]["token"].as_str().unwrap());
        load_people(&other_client).await;
        let script = events::write_script(folder);
        Self { server, other, other_client, script, seed: 9_000 }
    }

    /// p99 of the other tenant's events in milliseconds, alone or while `beside` runs.
    async fn p99_of_events(&mut self, beside: impl Future<Output = ()>) -> f64 {
        self.seed += 1;
        let (rate, connections) = (Some(OTHER_RATE), OTHER_CONNECTIONS);
        let arguments = events::arguments(self.seed, Ids::Ascending, rate, connections);
        let load = Load { connections, token: None, script: Some((&self.script, &arguments)) };
        let url = format!("{}/analytics/{}", self.server.base, self.other);
        tokio::select! {
            found = load.latencies(&url) => found.p99_ms,
            () = beside => unreachable!("the load ended first"),
        }
    }
}

/// Does something again and again, without an end.
async fn for_ever<F: Future<Output = ()>>(mut work: impl FnMut() -> F) {
    loop {
        work().await;
    }
}

/// Another tenant's single events during bulk bodies, without keys and with them.
async fn beside_bulk(report: &mut Report, world: &mut World<'_>, sync: &str) {
    let mut sender = Sender::new(&world.server.client);
    for keyed in [false, true] {
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            alone.push(world.p99_of_events(std::future::pending()).await);
            let bodies: Vec<_> = (0..8).map(|_| Bytes::from(sender.body(BODY_ROWS))).collect();
            let client = &world.server.client.clone();
            let sending =
                stream::iter(bodies.into_iter().enumerate()).for_each(|(at, body)| async move {
                    let key = format!("{round} {at}");
                    let headers = [("idempotency-key", key.as_str())];
                    send(client, if keyed { &headers } else { &[] }, body).await;
                });
            let sending = async {
                sending.await;
                panic!("more bodies are needed");
            };
            beside.push(world.p99_of_events(sending).await);
        }
        let what = match keyed {
            false => "p99 of another tenant's events during bulk bodies",
            true => "p99 of another tenant's events during bulk bodies with an `Idempotency-Key`",
        };
        let case = case(what, "alone", OTHER_CONNECTIONS, sync);
        report.compare(&case, "ms", Target::AtMost(MAX_SLOWER), beside, alone);
    }
}

async fn send(client: &Client, headers: &[(&str, &str)], body: Bytes) {
    let path = format!("/analytics/bulk/{TENANT}");
    let response = client.send(Method::POST, &path, headers, body).await.unwrap();
    assert_eq!(response.text(), "OK");
}

/// Another tenant's short reads during reads of all activities of one.
async fn beside_long_reads(report: &mut Report, world: &World<'_>, sync: &str) {
    let token = world.other_client.authorization().unwrap().trim_start_matches("Bearer ");
    let load = Load { connections: 4, token: Some(token), script: None };
    let url = format!("{}/companies?limit=10", world.server.base);
    let scan = || async {
        let found = world.server.client.get("/activities?action=nothing").await;
        assert_eq!(found.text(), "[]");
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(load.latencies(&url).await.p99_ms);
        tokio::select! {
            found = load.latencies(&url) => beside.push(found.p99_ms),
            _ = join_all((0..LONG_READS).map(|_| for_ever(scan))) => {}
        }
    }
    let what = format!("p99 of another tenant's short lists during {LONG_READS} long reads");
    report.compare(&case(&what, "alone", 4, sync), "ms", Target::None, beside, alone);
}

/// How long after the response to an event a stream shows it.
async fn stream(report: &mut Report, world: &World<'_>, sync: &str) {
    let client = &world.server.client;
    let mut events = client.listen("/activities/stream", &[]).await;
    let mut times = Vec::new();
    for number in 0..100 {
        let event = json!({"externalId": format!("u{number}"), "action": "Opened report"});
        client.track(&event).await.unwrap();
        let started = Instant::now();
        events.next().await.unwrap();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let longest = vec![times[times.len() - 1]];
    let case = case("a stream shows an activity after its `OK`, the longest of 100", "", 1, sync);
    report.note(&case, "ms", Target::Below(MAX_SHOWN_MS), longest);
}

/// Senders of the largest body, all at once: each is served.
async fn large_bodies(report: &mut Report, world: &World<'_>, sync: &str) {
    let row = |number: usize| {
        format!(
            r#"{{"euExtId":"u{}","cId":"c{}","action":"Opened report","info":{{"note":"{}"}}}}"#,
            number % 1_000,
            number % 500,
            "x".repeat(120)
        )
    };
    let rows = LARGE_BYTES / (row(999).len() + 1) - 1;
    let body = Bytes::from(format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join(",")));
    let started = Instant::now();
    let sending = (0..LARGE_SENDERS).map(|_| send(&world.server.client, &[], body.clone()));
    join_all(sending).await;
    let rate = (LARGE_SENDERS * rows) as f64 / started.elapsed().as_secs_f64();
    let what = format!("{LARGE_SENDERS} senders of a body of 32 MiB at once, all served");
    let shown = format!("{rows} rows each");
    report.note(&case(&what, &shown, LARGE_SENDERS, sync), "rows/s", Target::None, vec![rate]);
}
