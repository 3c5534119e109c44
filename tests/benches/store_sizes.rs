//! Cost of a durable event in stores of 0.1, 1 and 10 GB, and time until such a store is ready after a crash.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{client::Client, process::Server};

use crate::{
    disk, folder,
    report::{Case, Report, Target},
    rows::{Sender, load_people},
};

/// Bytes of the file until which it is filled.
const SIZES: [u64; 3] = [100_000_000, 1_000_000_000, 10_000_000_000];
/// Bytes of a row that fills: nearly a block of the file, so that it grows fast.
const FILLING_BYTES: usize = 3_500;
/// Rows of a body that fills: below the 32 MiB that one may have.
const FILLING_ROWS: usize = 9_000;
/// Events that are timed, one after another.
const EVENTS: usize = 500;
/// How soon a store of any size must be ready after a crash, in milliseconds.
const READY_MS: f64 = 1_000.0;

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let file = folder.path().join("svctrack.redb");
    let token = Token::generate().unwrap();
    let mut server = Server::start(folder.path(), &token).await;
    load_people(&server.client).await;
    let mut sent = 0;
    for size in SIZES {
        let client = server.client.clone();
        let mut sender = Sender::of_rows(&client, FILLING_BYTES, sent);
        while disk::used_bytes(&file) < size {
            sender.send_rows(FILLING_ROWS).await;
        }
        sent = sender.sent();
        let sync = disk::sync_times(folder.path());
        let case = |what, baseline| Case {
            what,
            baseline,
            connections: 1,
            body: format!("100 B, in a store of {:.1} GB", disk::used_bytes(&file) as f64 / 1e9),
            durable: Some(&sync),
        };
        let times = time_events(&client).await;
        let p99 = format!("p99 {:.2} ms", times[EVENTS * 99 / 100]);
        report.note(&case("a durable event, p50", &p99), "ms", Target::None, times);
        server.kill().await;
        let (ready, restarted) = restart(folder.path(), &token).await;
        server = restarted;
        let ready = vec![ready.as_secs_f64() * 1e3];
        report.note(&case("ready after `kill -9`", ""), "ms", Target::Below(READY_MS), ready);
    }
    server.kill().await;
}

/// Milliseconds of each event, in order.
async fn time_events(client: &Client) -> Vec<f64> {
    let mut times = Vec::with_capacity(EVENTS);
    for number in 0..EVENTS {
        let user = format!("u{number}");
        let event = json!({"externalId": user, "action": "Opened report", "info": {"pages": 3}});
        let started = Instant::now();
        assert_eq!(client.track(&event).await.unwrap().text(), "OK");
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times
}

async fn restart(folder: &Path, token: &Token) -> (Duration, Server) {
    let started = Instant::now();
    let server = Server::start(folder, token).await;
    server.ready().await;
    (started.elapsed(), server)
}
