//! Random events against a plain model: over all routes, by several senders at once, some of them twice, with
//! crashes in between; in the end the server has come to what the model comes to in the same order.
//!
//! The seed is printed; `SVCTRACK_MODEL_SEED` sets it, `SVCTRACK_MODEL_EVENTS` the number of events. The full
//! size is 100,000, which is for a release build:
//! `SVCTRACK_MODEL_EVENTS=100000 cargo test --release -p svctrack-tests --test suites -- model:: --nocapture`

use std::{
    collections::{HashSet, VecDeque},
    env,
    sync::{Arc, Mutex},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    in_process::is_in_memory,
    model::{
        Random,
        compare::{Sent, Shown, differences},
        generator::{self, Company},
        request::{Body, Request, requests},
    },
    process::{PATIENCE, Server},
};
use tokio::sync::Notify;

/// Events that are sent, by default.
const EVENTS: usize = 5_000;
/// Events from one crash to the next, about.
const EVENTS_PER_CRASH: usize = 1_000;
const MAX_CRASHES: usize = 20;
const SENDERS: usize = 24;
/// Wrong rows that a response names (R31).
const NAMED: usize = 100;
/// Differences that are shown.
const SHOWN: usize = 10;

fn number_in(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_random_events_matches_the_model() {
    let now = now_ms();
    let seed = number_in("SVCTRACK_MODEL_SEED").unwrap_or(now.unsigned_abs());
    let count = number_in("SVCTRACK_MODEL_EVENTS").map_or(EVENTS, |count| count as usize);
    println!("SVCTRACK_MODEL_SEED={seed} SVCTRACK_MODEL_EVENTS={count}");
    let mut random = Random::seeded(seed);
    let plan = generator::plan(&mut random, count, now);
    // In memory nothing outlives a crash.
    let crashes = if is_in_memory() { 0 } else { (count / EVENTS_PER_CRASH).min(MAX_CRASHES) };
    let requests = requests(&mut random, &plan, crashes);

    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let mut server = Server::start(folder.path(), &token).await;
    for company in &plan.base {
        create(&server.client, company).await.unwrap();
    }
    let started = Instant::now();
    let line = Arc::new(Line { waiting: Mutex::new(requests.into()), ..Line::default() });
    let mut crashed = 0;
    while !line.waiting.lock().unwrap().is_empty() {
        let senders: Vec<_> = (0..SENDERS)
            .map(|_| tokio::spawn(send_all(server.client.clone(), line.clone())))
            .collect();
        let mut ended = Box::pin(futures_util::future::join_all(senders));
        tokio::select! {
            () = line.crash.notified() => {
                crashed += 1;
                server.kill().await;
                ended.await.into_iter().for_each(Result::unwrap);
                server = Server::start(folder.path(), &token).await;
            }
            results = &mut ended => results.into_iter().for_each(Result::unwrap),
        }
    }
    println!("{count} events and {crashed} crashes in {:?}", started.elapsed());

    let companies = plan.base.iter().chain(&plan.late).collect();
    let unsure = line.unsure.lock().unwrap().clone();
    let mut sent = Sent { plan: &plan, companies, unsure };
    settle(&server.client, &sent, seed).await;
    // Events that are parked to the end are processed when their company appears.
    let ghost = &plan.ghosts[0];
    create(&server.client, ghost).await.unwrap();
    sent.companies.push(ghost);
    if !is_in_memory() {
        server.kill().await;
        server = Server::start(folder.path(), &token).await;
    }
    settle(&server.client, &sent, seed).await;
    server.kill().await;
}

/// What waits to be sent, and what is known of the rest.
#[derive(Default)]
struct Line {
    waiting: Mutex<VecDeque<Request>>,
    /// Events that may or may not have been accepted.
    unsure: Mutex<HashSet<usize>>,
    crash: Notify,
}

/// Sends what waits, until nothing does, or the server does not respond.
async fn send_all(client: Client, line: Arc<Line>) {
    loop {
        let Some(request) = line.waiting.lock().unwrap().pop_front() else { return };
        if send(&client, &request.body).await.is_some() {
            if request.crash {
                line.crash.notify_one();
            }
            continue;
        }
        if request.may_come_again {
            line.waiting.lock().unwrap().push_back(request);
        } else {
            line.unsure.lock().unwrap().extend(request.events);
        }
        return;
    }
}

/// `None` unless the request has been acknowledged.
async fn send(client: &Client, body: &Body) -> Option<()> {
    let (response, expected) = match body {
        Body::Company(company) => return create(client, company).await,
        Body::Realtime(event) => (client.track(event).await, StatusCode::OK),
        Body::Wrong(event) => (client.track(event).await, StatusCode::UNPROCESSABLE_ENTITY),
        Body::Pipeline(calls) => {
            let json = [("content-type", "application/json")];
            let call = client.as_pipeline();
            let response = call.send(Method::POST, "/dock/segment", &json, calls.to_string()).await;
            (response, StatusCode::OK)
        }
        Body::Bulk(rows, _, key) => {
            let path = format!("/analytics/bulk/{TENANT}");
            let headers = [("idempotency-key", key.as_str())];
            (client.send(Method::POST, &path, &headers, rows.to_string()).await, StatusCode::OK)
        }
    };
    let response = acknowledged(response)?;
    assert_eq!(response.status, expected, "{}", response.text());
    if let Body::Bulk(_, wrong, _) = body {
        let all = wrong.len();
        let mut wrong: Vec<_> = wrong.iter().take(NAMED).map(usize::to_string).collect();
        wrong.extend((all > NAMED).then(|| "...".to_owned()));
        let named = response.headers.get("svctrack-rejected").map(|names| names.to_str().unwrap());
        assert_eq!(named.unwrap_or_default(), wrong.join(","));
    }
    Some(())
}

/// A response that says that the request was dealt with, whatever came of it.
fn acknowledged(response: Result<Response, String>) -> Option<Response> {
    response.ok().filter(|response| !response.status.is_server_error())
}

/// Creates a company, unless it was created before a crash.
async fn create(client: &Client, company: &Company) -> Option<()> {
    let body = json!({
        "name": company.external_id,
        "externalId": company.external_id,
        "domains": [company.domain],
    });
    let json = [("content-type", "application/json")];
    let response = client.send(Method::POST, "/companies", &json, body.to_string()).await;
    let status = acknowledged(response)?.status;
    assert!([StatusCode::OK, StatusCode::CONFLICT].contains(&status), "{status}");
    Some(())
}

/// Waits until background work is done, and all is as in the model.
async fn settle(client: &Client, sent: &Sent<'_>, seed: u64) {
    let started = Instant::now();
    loop {
        let found = differences(sent, &show(client).await);
        if found.is_empty() {
            return;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "seed {seed}: {} differences, {:#?}",
            found.len(),
            found.iter().take(SHOWN).collect::<Vec<_>>()
        );
    }
}

/// What the server shows, all of it on one day.
async fn show(client: &Client) -> Shown {
    loop {
        let shown = Shown {
            activities: pages(client, "/activities?limit=2000").await,
            users: pages(client, "/endusers?limit=10000").await,
            companies: pages(client, "/companies").await,
            report: pages(client, "/integrationissues?limit=2000").await,
            at: now_ms(),
        };
        let day_of = |ms: i64| ms / (24 * 60 * 60 * 1_000);
        if day_of(now_ms()) == day_of(shown.at) {
            return shown;
        }
    }
}

/// All items of a list.
async fn pages(client: &Client, path: &str) -> Vec<Value> {
    let (mut items, mut path) = (Vec::new(), path.to_owned());
    loop {
        let page = client.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        items.extend(page.json().as_array().unwrap().iter().cloned());
        let Some(link) = page.headers.get("link") else { return items };
        path = link.to_str().unwrap().split(['<', '>']).nth(1).unwrap().to_owned();
    }
}
