//! What one tenant's bulk does to another tenant, who sends single events.

use serde_json::json;
use svctrack_core::value::TenantId;
use svctrack_server::auth::Token;
use svctrack_tests::process::Server;

use crate::{
    disk,
    events::{self, Ids},
    folder,
    load::Load,
    report::{Report, Target},
    rows::{Sender, case, load_people},
};

const ROUNDS: usize = 5;
/// How many times longer another tenant may wait while one sends bulk bodies.
const MAX_SLOWER: f64 = 2.0;
/// Connections of that other tenant, and its events a second: far from what the machine can do.
const OTHER_CONNECTIONS: usize = 16;
const OTHER_RATE: f64 = 500.0;

/// What another tenant waits for an event of its own, alone and beside a sender of bulk bodies.
pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let flags = ["--bootstrap-operator-token", operator.reveal()];
    let server = Server::start_with(folder.path(), &token, &flags).await;
    load_people(&server.client).await;
    let mut sender = Sender::new(&server.client);
    let operator = server.client.with_token(operator.reveal());
    let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = TenantId::parse(made["_id"].as_str().unwrap()).unwrap();
    let client = server.client.with_token(made["token"]["token"].as_str().unwrap());
    load_people(&client).await;
    let script = events::write_script(folder.path());
    let sync = disk::sync_times(folder.path());
    let url = format!("{}/analytics/{other}", server.base);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let arguments = |seed: usize| {
            events::arguments(seed, Ids::Ascending, Some(OTHER_RATE), OTHER_CONNECTIONS)
        };
        let (first, second) = (arguments(9_000 + 2 * round), arguments(9_001 + 2 * round));
        let load = |arguments| Load {
            connections: OTHER_CONNECTIONS,
            token: None,
            script: Some((&script, arguments)),
        };
        alone.push(load(&first).latencies(&url).await.p99_ms);
        let load = load(&second);
        let measured = load.latencies(&url);
        tokio::pin!(measured);
        let found = loop {
            let body = sender.body(50_000);
            tokio::select! {
                found = &mut measured => break found,
                () = sender.send(body) => {}
            }
        };
        beside.push(found.p99_ms);
    }
    let case = case(
        "p99 of another tenant's events beside bulk bodies",
        "alone",
        OTHER_CONNECTIONS,
        &sync,
    );
    report.compare(&case, "ms", Target::AtMost(MAX_SLOWER), beside, alone);
    server.kill().await;
}
