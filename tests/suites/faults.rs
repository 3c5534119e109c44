//! What goes wrong under the rules stays small: a command that panics, a disk that fails.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_core::value::Timestamp;
use svctrack_store::{Clock, SystemClock};
use svctrack_tests::{
    TENANT,
    disk::{Disk, Fault},
    in_process::InProcess,
    process::PATIENCE,
};

/// A clock that first holds the writer up, and later panics at one of its commands.
#[derive(Default)]
struct TrickyClock {
    held: Mutex<bool>,
    released: Condvar,
    panic_at: AtomicUsize,
    asked_by_writer: AtomicUsize,
    asked_by_others: AtomicUsize,
}

impl TrickyClock {
    fn hold(&self, held: bool) {
        *self.held.lock().unwrap() = held;
        self.released.notify_all();
    }
}

impl Clock for TrickyClock {
    fn now(&self) -> Timestamp {
        if std::thread::current().name() == Some("writer") {
            self.asked_by_writer.fetch_add(1, Ordering::Relaxed);
            drop(self.released.wait_while(self.held.lock().unwrap(), |held| *held).unwrap());
            if self.panic_at.load(Ordering::Relaxed) > 0
                && self.panic_at.fetch_sub(1, Ordering::Relaxed) == 1
            {
                panic!("a command that panics on purpose");
            }
        } else {
            self.asked_by_others.fetch_add(1, Ordering::Relaxed);
        }
        SystemClock.now()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_panics_is_the_only_one_of_its_batch_that_fails() {
    let clock = Arc::new(TrickyClock::default());
    let server = InProcess::with_clock(clock.clone()).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let event =
        |action: String| json!({"externalId": "7", "companyExternalId": "acme", "action": action});

    clock.hold(true);
    let asked_before = clock.asked_by_others.load(Ordering::Relaxed);
    let first = event("first".to_owned());
    let first = server.client.track(&first);
    let rest: Vec<_> = (0..500).map(|number| event(format!("event {number}"))).collect();
    let rest = join_all(rest.iter().map(|event| server.client.track(event)));
    let release = async {
        // Once all of them were received they are queued after the first; the tenth from then on will panic.
        let started = Instant::now();
        while clock.asked_by_others.load(Ordering::Relaxed) < asked_before + 501 {
            assert!(started.elapsed() < PATIENCE, "they are not received");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        clock.panic_at.store(10, Ordering::Relaxed);
        clock.hold(false);
    };
    let (first, rest, ()) = tokio::join!(first, rest, release);

    // The others of its batch were carried out a second time.
    let asked = clock.asked_by_writer.load(Ordering::Relaxed);
    assert!(asked > 502 + 2, "the writer asked {asked} times: no batch held more than one command");
    assert_eq!(first.unwrap().text(), "OK");
    let failed: Vec<_> = rest
        .iter()
        .enumerate()
        .filter(|(_, response)| response.as_ref().unwrap().text() != "OK")
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let (number, response) = failed[0];
    assert_eq!(response.as_ref().unwrap().status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(server.client.track(&event("last".to_owned())).await.unwrap().text(), "OK");
    let actions = server.client.actions().await;
    assert_eq!(actions.len(), 501);
    assert!(!actions.contains(&format!("event {number}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_call_that_failed_in_its_middle_resumes_with_its_key() {
    let clock = Arc::new(TrickyClock::default());
    let server = InProcess::with_clock(clock.clone()).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    // More than are stored in one commit, and one that is rejected.
    let row = |number| json!({"euExtId": "7", "cId": "acme", "action": format!("{number}")});
    let mut rows: Vec<_> = (0..4_321).map(row).collect();
    rows[3_000] = json!({"action": "of nobody"});
    let (body, path) =
        (serde_json::Value::from(rows).to_string(), format!("/analytics/bulk/{TENANT}"));
    let send = || async {
        let key = [("idempotency-key", "k")];
        server.anonymous.send(Method::POST, &path, &key, body.clone()).await.unwrap()
    };

    // The writer asks once for each of the body's parts, and once at the end of each commit.
    clock.panic_at.store(20, Ordering::Relaxed);
    assert!(send().await.status.is_server_error());
    // Where a commit breaks down as a whole, the file is opened again.
    settle(&server, "ok").await;
    let stored = server.client.actions().await.len();
    assert!((1..4_320).contains(&stored), "{stored} rows");
    for replayed in [None, Some("true")] {
        let response = send().await;
        assert_eq!(response.text(), "OK");
        assert_eq!(response.headers["svctrack-rejected"], "3000");
        let mark = response.headers.get("idempotent-replayed").map(|mark| mark.to_str().unwrap());
        assert_eq!(mark, replayed);
        assert_eq!(server.client.actions().await.len(), 4_320);
    }
    let report = server.client.get("/integrationissues").await.json();
    assert_eq!(report[0]["count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_events_whose_replay_fails_are_processed_by_the_next_try() {
    let clock = Arc::new(TrickyClock::default());
    let server = InProcess::with_clock(clock.clone()).await;
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "x"});
    assert_eq!(server.client.track(&event).await.unwrap().text(), "OK");
    // Once for the company's command, once at the end of its commit, and then for the replay.
    clock.panic_at.store(3, Ordering::Relaxed);
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let started = Instant::now();
    while server.client.actions().await.is_empty() {
        assert!(started.elapsed() < PATIENCE, "it waits on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(clock.panic_at.load(Ordering::Relaxed), 0);
}

async fn health(server: &InProcess) -> String {
    let response = server.client.get("/health").await;
    let health = response.json()["status"].as_str().unwrap().to_owned();
    assert_eq!(response.status == StatusCode::OK, health == "ok");
    health
}

/// Waits until the store is as it is to be.
pub(crate) async fn settle(server: &InProcess, expect: &str) {
    let started = Instant::now();
    while health(server).await != expect {
        assert!(started.elapsed() < PATIENCE, "it is {}, not {expect}", health(server).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_reads_on_while_its_disk_takes_no_writes_and_heals_when_it_does() {
    let event =
        |action: &str| json!({"externalId": "7", "companyExternalId": "acme", "action": action});
    for (is_full, status) in
        [(true, StatusCode::INSUFFICIENT_STORAGE), (false, StatusCode::SERVICE_UNAVAILABLE)]
    {
        let disk = Disk::with_store();
        let server = InProcess::with_file(Box::new(disk.clone())).await;
        server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
        assert_eq!(server.client.track(&event("before")).await.unwrap().text(), "OK");

        disk.fail(if is_full { Fault::Full(0) } else { Fault::ReadOnly });
        for round in 0..3 {
            let response = server.client.track(&event("while it fails")).await.unwrap();
            assert_eq!(response.status, status, "{}", response.text());
            assert!(response.headers.contains_key("retry-after"));
            if round == 0 {
                settle(&server, "read_only").await;
            }
            assert_eq!(server.client.actions().await, ["before"]);
        }
        disk.mend();
        settle(&server, "ok").await;
        assert_eq!(server.client.track(&event("after")).await.unwrap().text(), "OK");
        assert_eq!(server.client.actions().await, ["after", "before"]);
    }
}
