//! What the server keeps in memory: at rest, and at the most under bulk, backups, scans and single events.

use std::{future::Future, time::Duration};

use hyper::Method;
use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, client::Client, process::Server};

use crate::{
    events::{self, Ids},
    folder,
    load::Load,
    process,
    report::{Case, Report, Target},
    rows::{Sender, load_people},
};

/// MiB at rest, and above the cache under any load.
const REST_MIB: f64 = 40.0;
const LOAD_MIB: f64 = 128.0;
/// The default of `--cache-mb`, in MiB.
const CACHE_MIB: f64 = 256.0;
/// Events in the store that is measured.
const EVENTS: usize = 1_000_000;
const BODY_ROWS: usize = 50_000;
/// How often each load is put on.
const ROUNDS: usize = 3;
/// Until what a start needs is given back.
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    load_people(&server.client).await;
    let (id, client) = (server.id(), server.client.clone());
    let by_operator = client.with_token(operator.reveal());
    let mut sender = Sender::new(&client);
    let filling = async {
        for _ in 0..EVENTS / BODY_ROWS {
            sender.send_rows(BODY_ROWS).await;
        }
    };
    note(report, "bulk, bodies of 50,000 rows", id, filling).await;
    let script = events::write_script(folder.path());
    let url = format!("{}/analytics/{TENANT}", server.base);
    let arguments = events::arguments(1, Ids::Random, None, 512);
    let load = Load { connections: 512, token: None, script: Some((&script, &arguments)) };
    note(report, "events, route 1, 512 connections", id, async {
        let _ = load.round(&url).await;
    })
    .await;
    note(report, "backups", id, ask_often(&by_operator, "/backup")).await;
    let scan = "/activities?action=none";
    note(report, "scans of all activities, two at once", id, async {
        tokio::join!(ask_often(&client, scan), ask_often(&client, scan));
    })
    .await;
    note(report, "bulk during backups", id, async {
        let body = sender.body(BODY_ROWS);
        tokio::join!(ask_often(&by_operator, "/backup"), async {
            for _ in 0..ROUNDS {
                sender.send(body.clone()).await;
            }
        });
    })
    .await;
    server.stop().await;

    let server = Server::start(folder.path(), &token).await;
    server.ready().await;
    tokio::time::sleep(PAUSE).await;
    let rest = vec![process::memory_mib(server.id(), "VmRSS:")];
    report.note(&case("at rest, after a start"), "MiB", Target::Below(REST_MIB), rest);
    server.kill().await;
}

fn case(what: &str) -> Case<'_> {
    let body = format!("{EVENTS} events");
    Case { what, baseline: "", connections: 1, body, durable: None }
}

/// Notes what a process takes at the most under a load.
async fn note(report: &mut Report, what: &str, process: u32, load: impl Future<Output = ()>) {
    process::forget_peak(process);
    load.await;
    let peak = vec![process::memory_mib(process, "VmHWM:")];
    let what = format!("memory, {what}");
    report.note(&case(&what), "MiB", Target::Below(CACHE_MIB + LOAD_MIB), peak);
}

async fn ask_often(client: &Client, path: &str) {
    for _ in 0..ROUNDS {
        let response = client.send(Method::GET, path, &[], "").await.unwrap();
        assert_eq!(response.status, hyper::StatusCode::OK, "{path}");
    }
}
