//! Clocks that are wrong, and are set: what is stored keeps its order, and nothing is deleted for its age that is not old.

use std::{
    env, fs,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_server::auth::Token;
use svctrack_store::{Clock as _, Store as _};
use svctrack_tests::{
    TENANT,
    direct::Direct,
    disk::Disk,
    in_process::{InProcess, SetClock},
    process::{FakeClock, PATIENCE, Server, command},
    reader::{Reader, sign_in},
    tokens::Tokens,
};
use tempfile::TempDir;

pub(crate) const HOUR_MS: i64 = 60 * 60 * 1_000;
pub(crate) const DAY_MS: i64 = 24 * HOUR_MS;
const YEAR_MS: i64 = 365 * DAY_MS;
/// To a time after the last that an id can have, in 2106.
const EIGHTY_YEARS_MS: i64 = 80 * (YEAR_MS + DAY_MS / 4);
/// Days of retention of activities.
const KEPT_DAYS: i64 = 3;

pub(crate) struct World {
    pub(crate) disk: Disk,
    pub(crate) clock: Arc<SetClock>,
    pub(crate) tokens: Tokens,
    pub(crate) server: Direct,
}

impl World {
    pub(crate) async fn new() -> Self {
        let start = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let (disk, clock) = (Disk::with_store(), Arc::new(SetClock::at(start)));
        let tokens = Direct::found(Box::new(disk.clone()), clock.clone()).await;
        let server = Direct::open(Box::new(disk.clone()), clock.clone(), tokens.clone()).unwrap();
        let world = Self { disk, clock, tokens, server };
        world.put(Method::POST, "/companies", json!({"name": "Acme", "externalId": "acme"})).await;
        world
    }

    /// Starts the server again, after what happened meanwhile.
    pub(crate) fn restarted(self, meanwhile: impl FnOnce(&SetClock)) -> Self {
        let Self { disk, clock, tokens, server } = self;
        server.store.close();
        drop(server);
        meanwhile(&clock);
        let server = Direct::open(Box::new(disk.clone()), clock.clone(), tokens.clone()).unwrap();
        Self { disk, clock, tokens, server }
    }

    pub(crate) async fn put(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, response) = self.server.send(method, path, None, &body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {response}");
        response
    }

    async fn track(&self, event: Value) {
        self.put(Method::POST, &format!("/analytics/{TENANT}"), event).await;
    }

    pub(crate) async fn clean_up(&self) {
        self.server.clean_up().await.unwrap();
    }

    async fn clock(&self) -> Value {
        self.server.get("/health").await["clock"].clone()
    }

    async fn activities(&self) -> Vec<Value> {
        self.server.get("/activities").await.as_array().unwrap().clone()
    }

    fn now(&self) -> String {
        self.clock.now().to_string()
    }
}

fn event(user: &str, company: &str, message: &str) -> Value {
    json!({"externalId": user, "companyExternalId": company, "action": "x", "messageId": message})
}

/// A property that is a time; the order of times is that of their texts.
fn time<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value}"))
}

#[tokio::test]
async fn times_that_are_stored_never_go_back_when_the_clock_does() {
    let world = World::new().await;
    let label = json!({"label": "ci", "scopes": ["*"]});
    let first_token = world.put(Method::POST, "/tokens", label.clone()).await;
    world.track(event("ada", "acme", "1")).await;
    let acme = world.put(Method::PUT, "/companies/extid-acme", json!({"phase": "one"})).await;

    world.clock.set_by(-DAY_MS);
    let mut newest = time(&acme, "updatedAt").to_owned();
    for phase in ["two", "three"] {
        let changed =
            world.put(Method::PUT, "/companies/extid-acme", json!({"phase": phase})).await;
        assert!(time(&changed, "updatedAt") >= newest.as_str(), "{changed} after {newest}");
        let since = world.server.get(&format!("/companies?updatedSince={newest}")).await;
        assert_eq!(since[0]["phase"], phase, "a reader who has read to {newest} finds {since}");
        let later = world.server.get(&format!("/companies?updatedAt[gt]={newest}")).await;
        assert_eq!(later[0]["phase"], phase, "one who asks for what is later finds {later}");
        newest = time(&changed, "updatedAt").to_owned();
    }
    let user = world.put(Method::POST, "/users", json!({"name": "Bob"})).await;
    assert!(time(&user, "createdAt") >= newest.as_str(), "{user}");
    let token = world.put(Method::POST, "/tokens", label).await;
    assert!(time(&token, "createdAt") >= time(&first_token, "createdAt"), "{token}");
    world.track(event("ada", "acme", "2")).await;
    let activities = world.activities().await;
    assert!(time(&activities[0], "receivedAt") >= time(&activities[1], "receivedAt"));
    // It happened when the clock said, which is the best that is known.
    assert_eq!(time(&activities[0], "date"), world.now());
    assert_eq!(world.clock().await["behindSeconds"], DAY_MS / 1_000);

    let world = world.restarted(|_| {});
    let changed = world.put(Method::PUT, "/companies/extid-acme", json!({"phase": "four"})).await;
    assert!(time(&changed, "updatedAt") >= newest.as_str(), "{changed} after a restart");
    world.clock.pass(2 * DAY_MS);
    let changed = world.put(Method::PUT, "/companies/extid-acme", json!({"phase": "five"})).await;
    assert_eq!(time(&changed, "updatedAt"), world.now());
    assert_eq!(world.clock().await, Value::Null);
}

#[tokio::test]
async fn a_successor_lives_as_long_as_its_token_was_to_when_the_clock_is_set_back() {
    let world = World::new().await;
    world.clock.set_by(-DAY_MS);
    let end = Timestamp::from_ms_clamped(world.clock.now().as_ms() + 2 * HOUR_MS).to_string();
    let new = json!({"label": "ci", "scopes": ["*"], "expiresAt": end});
    let old = world.put(Method::POST, "/tokens", new).await;
    let path = format!("/tokens/{}/rotate", time(&old, "_id"));
    let successor = world.put(Method::POST, &path, json!({})).await;
    assert_eq!(time(&successor, "expiresAt"), end);
}

#[tokio::test]
async fn a_message_id_counts_once_however_the_clock_is_set() {
    for steps in [vec![-DAY_MS], vec![-8 * DAY_MS], vec![YEAR_MS], vec![YEAR_MS, -YEAR_MS]] {
        let mut world = World::new().await;
        world.track(event("ada", "acme", "first")).await;
        for step in &steps {
            world.clock.set_by(*step);
            world.track(event("ada", "acme", "first")).await;
            world.track(event("ada", "acme", &step.to_string())).await;
        }
        for is_restarted in [false, true] {
            if is_restarted {
                world = world.restarted(|clock| clock.pass(1_000));
            }
            for step in &steps {
                world.track(event("ada", "acme", &step.to_string())).await;
            }
            world.track(event("ada", "acme", "first")).await;
            assert_eq!(world.activities().await.len(), 1 + steps.len(), "{steps:?}");
        }
    }
    // It is not remembered for longer, either.
    let world = World::new().await;
    world.track(event("ada", "acme", "first")).await;
    world.clock.set_by(-DAY_MS);
    world.clock.pass(9 * DAY_MS);
    world.track(event("ada", "acme", "first")).await;
    assert_eq!(world.activities().await.len(), 2);
}

/// A store with an activity, a call with an idempotency key, and a parked event; the id of what the call created.
async fn with_what_gets_old() -> (World, Value) {
    let world = World::new().await;
    world.put(Method::PUT, "/settings", json!({"activityRetentionDays": KEPT_DAYS})).await;
    world.track(event("ada", "acme", "1")).await;
    world.track(event("bob", "initech", "2")).await;
    let made = call_again(&world).await;
    (world, made)
}

/// Sends a call with a key; the id of what it created.
async fn call_again(world: &World) -> Value {
    let body = json!({"name": "Plan"});
    let (status, made) = world.server.send(Method::POST, "/products", Some("key"), &body).await;
    assert_eq!(status, StatusCode::OK, "{made}");
    made["_id"].clone()
}

async fn check_all_is_there(world: &World, made: &Value) {
    world.clean_up().await;
    assert_eq!(world.activities().await.len(), 1);
    assert_eq!(call_again(world).await, *made);
    let issues = world.server.get("/integrationissues").await;
    assert!(
        issues.as_array().unwrap().iter().any(|issue| issue["code"] == "company_unknown"),
        "{issues}"
    );
}

#[tokio::test]
async fn what_is_not_old_stays_when_the_clock_is_set_forward() {
    let (world, made) = with_what_gets_old().await;
    world.clock.set_by(YEAR_MS);
    check_all_is_there(&world, &made).await;
    let held = json!({"behindSeconds": 0, "aheadSeconds": YEAR_MS / 1_000, "heldSeconds": HOUR_MS / 1_000});
    assert_eq!(world.clock().await, held);
    world.clock.pass(HOUR_MS - 1_000);
    check_all_is_there(&world, &made).await;
    assert_eq!(world.clock().await["heldSeconds"], 1);
    // It is set right, so that it was never believed.
    world.clock.set_by(-YEAR_MS);
    world.clock.pass(2 * HOUR_MS);
    check_all_is_there(&world, &made).await;
    assert_eq!(world.clock().await["heldSeconds"], 0);
    world
        .put(Method::POST, "/companies", json!({"name": "Initech", "externalId": "initech"}))
        .await;
    let started = Instant::now();
    while world.activities().await.len() < 2 {
        assert!(started.elapsed() < PATIENCE, "what waited does not go on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_clock_that_has_stood_for_an_hour_is_believed() {
    for is_restarted in [false, true] {
        let (mut world, made) = with_what_gets_old().await;
        match is_restarted {
            false => world.clock.set_by(YEAR_MS),
            true => world = world.restarted(|clock| clock.set_by(YEAR_MS)),
        }
        check_all_is_there(&world, &made).await;
        world.clock.pass(HOUR_MS);
        world.clean_up().await;
        assert!(world.activities().await.is_empty());
        assert_ne!(call_again(&world).await, made);
        assert_eq!(world.clock().await, Value::Null);
    }
}

/// Has a year pass that was not one: the clock shows it for an hour, and is believed.
async fn a_year_that_was_none(world: &World) {
    world.clock.set_by(YEAR_MS);
    world.clean_up().await;
    world.clock.pass(HOUR_MS);
    world.clean_up().await;
    assert_eq!(world.clock().await, Value::Null);
}

/// The clock is set right, and a day later that is noticed.
async fn set_right(world: &World) {
    world.clock.set_by(-YEAR_MS);
    world.clean_up().await;
    world.clock.pass(DAY_MS + HOUR_MS);
    world.clean_up().await;
}

async fn is_parked(world: &World, company: &str) -> bool {
    let issues = world.server.get("/integrationissues").await;
    let is_dropped =
        issues.as_array().unwrap().iter().any(|issue| issue["code"] == "parked_dropped");
    let body = json!({"name": company, "externalId": company});
    let before = world.activities().await.len();
    world.put(Method::POST, "/companies", body).await;
    for _ in 0..200 {
        if world.activities().await.len() > before {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(is_dropped, "{issues}");
    false
}

#[tokio::test]
async fn what_lasts_for_a_time_lasts_no_year_after_a_clock_that_was_ahead_is_set_right() {
    let world = World::new().await;
    a_year_that_was_none(&world).await;
    // Of the wrong year, and of what comes after it.
    for round in ["ahead", "right"] {
        let made = call_again(&world).await;
        world.track(event("ada", "acme", "m")).await;
        for company in [format!("{round}-short"), format!("{round}-long")] {
            world.track(event(&company, &company, &company)).await;
        }
        if round == "ahead" {
            set_right(&world).await;
            // Nothing is lost for it.
            world.track(event("ada", "acme", "m")).await;
            assert_eq!(world.activities().await.len(), 1);
        }
        assert_eq!(call_again(&world).await, made, "{round}");
        assert!(is_parked(&world, &format!("{round}-short")).await);
        world.clean_up().await;
        world.clock.pass(15 * DAY_MS);
        world.clean_up().await;
        assert_ne!(call_again(&world).await, made, "{round}");
        let before = world.activities().await.len();
        world.track(event("ada", "acme", "m")).await;
        assert_eq!(world.activities().await.len(), before + 1, "{round}");
        world.clock.pass(17 * DAY_MS);
        world.clean_up().await;
        assert!(!is_parked(&world, &format!("{round}-long")).await, "{round}");
    }
}

/// Sends a product that must be rejected for the clock.
async fn check_is_rejected(world: &World) {
    let body = json!({"name": "Plan"});
    let (status, response) = world.server.send(Method::POST, "/products", None, &body).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{response}");
    assert_eq!(response["code"], "clock_wrong", "{response}");
}

#[tokio::test]
async fn a_clock_after_2100_writes_nothing_and_costs_no_record() {
    let mut world = World::new().await;
    let mut made = Vec::new();
    for round in 0..4 {
        for number in 0..5 {
            let body = json!({"name": format!("Plan {round} {number}")});
            made.push(world.put(Method::POST, "/products", body).await);
        }
        world.clock.set_by(EIGHTY_YEARS_MS);
        check_is_rejected(&world).await;
        world.clean_up().await;
        world.clock.pass(2 * HOUR_MS);
        check_is_rejected(&world).await;
        assert_eq!(world.server.get("/products").await.as_array().unwrap().len(), made.len());
        world = world.restarted(|clock| clock.pass(1_000));
        check_is_rejected(&world).await;
        world = world.restarted(|clock| clock.set_by(-EIGHTY_YEARS_MS));
    }
    for product in &made {
        let path = format!("/products/{}", product["_id"].as_str().unwrap());
        assert_eq!(world.server.get(&path).await["name"], product["name"], "{path}");
    }
    let tokens = world.server.get("/tokens").await;
    assert!(time(&tokens[0], "lastUsedAt") < "2027", "{tokens}");
    let newest = made.last().unwrap();
    assert!(time(newest, "createdAt") < "2027", "{newest}");
}

/// A server whose clock the test sets, and its token.
async fn with_pages() -> (InProcess, Arc<SetClock>, String) {
    let clock = Arc::new(SetClock::at(Timestamp::parse("2026-11-20T12:00:00Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let token = server.client.authorization().unwrap().strip_prefix("Bearer ").unwrap().to_owned();
    (server, clock, token)
}

async fn is_signed_in(reader: &Reader<'_>) -> bool {
    reader.get("/app/setup").await.status == StatusCode::OK
}

#[tokio::test]
async fn a_session_ends_as_usual_while_the_clock_is_behind_stored_times_and_one_of_later_is_none() {
    let (server, clock, token) = with_pages().await;
    clock.set_by(YEAR_MS);
    let ahead = sign_in(&server.anonymous, &token).await;
    assert!(is_signed_in(&ahead).await);
    clock.set_by(-YEAR_MS);
    assert!(!is_signed_in(&ahead).await);
    let reader = sign_in(&server.anonymous, &token).await;
    for _ in 0..3 {
        clock.pass(11 * HOUR_MS);
        assert!(is_signed_in(&reader).await);
    }
    let tokens = server.client.get("/tokens").await.json();
    for token in tokens.as_array().unwrap().iter().filter(|token| token["lastUsedAt"].is_string()) {
        assert!(time(token, "lastUsedAt") >= time(token, "createdAt"), "{token}");
    }
    clock.pass(12 * HOUR_MS);
    assert!(!is_signed_in(&reader).await);
}

#[tokio::test]
async fn a_sign_in_while_the_clock_is_ahead_ends_no_session_that_is_not_old() {
    let (server, clock, token) = with_pages().await;
    let reader = sign_in(&server.anonymous, &token).await;
    clock.set_by(YEAR_MS);
    sign_in(&server.anonymous, &token).await;
    clock.set_by(-YEAR_MS);
    assert!(is_signed_in(&reader).await);
    let count = async || server.client.get("/tokens").await.json().as_array().unwrap().len();
    let before = count().await;
    clock.pass(13 * HOUR_MS);
    sign_in(&server.anonymous, &token).await;
    assert_eq!(count().await, before, "an old session makes room for a new one");
}

/// The program with a clock of the test's, and a company.
async fn start(data: &TempDir, clock: &FakeClock, token: &Token) -> Server {
    Server::start_with_clock(data.path(), token, Stdio::inherit(), clock, &[]).await
}

async fn put_company(server: &Server, phase: &str) -> Value {
    let body = json!([{"name": "Acme", "externalId": "acme", "phase": phase}]).to_string();
    let headers = [("content-type", "application/json")];
    let response = server.client.send(Method::PUT, "/companies", &headers, body).await.unwrap();
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    server.client.get("/companies/extid-acme").await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn times_stay_in_order_and_events_count_once_when_the_clock_goes_back() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = FakeClock::in_file(other.path().join("clock"), "+0");
    let server = start(&data, &clock, &Token::generate().unwrap()).await;
    let before = put_company(&server, "one").await;
    server.client.track(&event("ada", "acme", "m")).await.unwrap();
    clock.set("-8d");
    let after = put_company(&server, "two").await;
    assert!(time(&after, "updatedAt") >= time(&before, "updatedAt"), "{before} {after}");
    server.client.track(&event("ada", "acme", "m")).await.unwrap();
    assert_eq!(server.client.actions().await.len(), 1);
    let health = server.client.get("/health").await.json();
    assert!(health["clock"]["behindSeconds"].as_i64().unwrap() > 7 * DAY_MS / 1_000, "{health}");
    server.stop().await;
}

/// Has activities retained for some days, and tracks one of a company.
async fn track_with_retention(server: &Server) {
    put_company(server, "one").await;
    let headers = [("content-type", "application/json")];
    let settings = json!({"activityRetentionDays": KEPT_DAYS}).to_string();
    let set = server.client.send(Method::PUT, "/settings", &headers, settings).await.unwrap();
    assert_eq!(set.status, StatusCode::OK, "{}", set.text());
    server.client.track(&event("ada", "acme", "m")).await.unwrap();
}

/// Longest time until the second cleanup: the first follows the start, and ten minutes are between two.
const SECOND_CLEANUP_WITHIN: Duration = Duration::from_secs(12 * 60);

#[tokio::test(flavor = "multi_thread")]
async fn a_running_program_deletes_nothing_when_its_clock_is_set_a_year_ahead() {
    if env::var_os("SVCTRACK_FAULTS").is_none() {
        return;
    }
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = FakeClock::in_file(other.path().join("clock"), "+0");
    let (token, log) = (Token::generate().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let to_log = Stdio::from(log.reopen().unwrap());
    let flags = ["--log", "debug"];
    let server = Server::start_with_clock(data.path(), &token, to_log, &clock, &flags).await;
    track_with_retention(&server).await;
    let cleanups = || fs::read_to_string(log.path()).unwrap().matches("cleanup finished").count();
    let wait_for = async |count: usize, patience: Duration| {
        let started = Instant::now();
        while cleanups() < count {
            assert!(started.elapsed() < patience, "{count} cleanups");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    wait_for(1, PATIENCE).await;
    clock.set("+1y");
    let health = server.client.get("/health").await.json();
    assert!(health["clock"]["heldSeconds"].as_i64().unwrap() > 0, "{health}");
    wait_for(2, SECOND_CLEANUP_WITHIN).await;
    assert_eq!(server.client.actions().await.len(), 1);
    server.stop().await;
    println!("a running clock was set a year ahead: nothing lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_deletes_nothing_when_it_is_started_with_a_clock_a_year_ahead() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = FakeClock::in_file(other.path().join("clock"), "+0");
    let token = Token::generate().unwrap();
    let server = start(&data, &clock, &token).await;
    track_with_retention(&server).await;
    server.stop().await;
    clock.set("+1y");
    let server = start(&data, &clock, &token).await;
    // What comes after the start is written after its cleanup has begun, since each takes its turn.
    for round in 0..50 {
        put_company(&server, &round.to_string()).await;
        assert_eq!(server.client.actions().await.len(), 1, "after {round} calls");
    }
    let health = server.client.get("/health").await.json();
    assert!(health["clock"]["heldSeconds"].as_i64().unwrap() > 0, "{health}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_writes_nothing_while_its_clock_shows_a_year_after_2100() {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = FakeClock::in_file(other.path().join("clock"), "+0");
    let token = Token::generate().unwrap();
    let server = start(&data, &clock, &token).await;
    let before = put_company(&server, "one").await;
    clock.set("+80y");
    let headers = [("content-type", "application/json")];
    let sent = json!({"name": "Plan"}).to_string();
    let response = server.client.send(Method::POST, "/products", &headers, sent).await.unwrap();
    assert_eq!(response.status, StatusCode::SERVICE_UNAVAILABLE, "{}", response.text());
    assert!(response.text().contains("after the year 2100: set it"), "{}", response.text());
    assert_eq!(server.client.get("/companies/extid-acme").await.json(), before);
    clock.set("+0");
    let after = put_company(&server, "two").await;
    assert!(time(&after, "updatedAt") < "2100", "{after}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_before_1970_or_after_2100_is_rejected_with_what_to_do() {
    for (offset, expect) in
        [("-60y", "before 1970: set it"), ("+80y", "after the year 2100: set it")]
    {
        check_start_is_rejected(offset, expect).await;
    }
}

async fn check_start_is_rejected(offset: &str, expect: &str) {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = FakeClock::in_file(other.path().join("clock"), offset);
    let mut start = command(data.path());
    clock.show_to(&mut start);
    start.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path().join("data"));
    let ended = tokio::time::timeout(PATIENCE, start.output()).await;
    let output = ended.expect("it serves").unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(expect) && !said.contains("panic"), "{said}");
    assert!(!data.path().join("data").exists());
}
