//! What goes wrong under the rules stays small: a command that panics, a disk that fails.

use std::{
    io,
    ops::Bound,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use redb::{BackendError, StorageBackend};
use serde_json::json;
use svctrack_core::value::Timestamp;
use svctrack_server::{
    app::{Clock, SystemClock},
    store::embedded::{
        initialise,
        storage::{Medium, Storage},
    },
};
use svctrack_tests::{TENANT, in_process::InProcess, process::PATIENCE};

/// A clock that first holds the writer up, and later panics at one of its commands.
#[derive(Default)]
struct TrickyClock {
    held: Mutex<bool>,
    released: Condvar,
    panic_at: AtomicUsize,
    asked_by_writer: AtomicUsize,
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
    let first = event("first".to_owned());
    let first = server.client.track(&first);
    let rest: Vec<_> = (0..500).map(|number| event(format!("event {number}"))).collect();
    let rest = join_all(rest.iter().map(|event| server.client.track(event)));
    let release = async {
        // By then all of them wait, behind the first; the tenth from then on will panic.
        tokio::time::sleep(Duration::from_secs(1)).await;
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
        .filter(|(_, answer)| answer.as_ref().unwrap().text() != "OK")
        .collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let (number, answer) = failed[0];
    assert_eq!(answer.as_ref().unwrap().status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(server.client.track(&event("last".to_owned())).await.unwrap().text(), "OK");
    let actions = server.client.actions().await;
    assert_eq!(actions.len(), 501);
    assert!(!actions.contains(&format!("event {number}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_call_that_broke_down_in_its_middle_goes_on_with_its_key() {
    let clock = Arc::new(TrickyClock::default());
    let server = InProcess::with_clock(clock.clone()).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    // More than are stored in one commit, and one that is refused.
    let row = |number| json!({"euExtId": "7", "cId": "acme", "action": format!("{number}")});
    let mut rows: Vec<_> = (0..4_321).map(row).collect();
    rows[3_000] = json!({"action": "of nobody"});
    let (body, path) =
        (serde_json::Value::from(rows).to_string(), format!("/analytics/bulk/{TENANT}"));
    let send = || async {
        let key = [("idempotency-key", "k")];
        server.anonymous.send(Method::POST, &path, &key, body.clone()).await.unwrap()
    };

    // The writer asks once for the first commit's command and once at its end.
    clock.panic_at.store(3, Ordering::Relaxed);
    assert_eq!(send().await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(server.client.actions().await.len(), 2_000);
    for replayed in [None, Some("true")] {
        let answer = send().await;
        assert_eq!(answer.text(), "OK");
        assert_eq!(answer.headers["svctrack-rejected"], "3000");
        let mark = answer.headers.get("idempotent-replayed").map(|mark| mark.to_str().unwrap());
        assert_eq!(mark, replayed);
        assert_eq!(server.client.actions().await.len(), 4_320);
    }
    let report = server.client.get("/integrationissues").await.json();
    assert_eq!(report[0]["count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_events_whose_replay_breaks_down_go_on_with_the_next_try() {
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

/// Bytes in memory that survive the database over them, and a disk that fails when told to.
#[derive(Clone, Debug, Default)]
struct FailingDisk {
    bytes: Arc<Mutex<Vec<u8>>>,
    failing: Arc<AtomicBool>,
}

impl FailingDisk {
    fn check(&self) -> io::Result<()> {
        if self.failing.load(Ordering::Relaxed) {
            Err(io::Error::other("the disk fails"))
        } else {
            Ok(())
        }
    }
}

impl StorageBackend for FailingDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.bytes.lock().unwrap()[offset..offset + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.bytes.lock().unwrap().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        let offset = usize::try_from(offset).unwrap();
        self.bytes.lock().unwrap()[offset..offset + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Err(BackendError::Unsupported)
    }
}

impl Medium for FailingDisk {
    fn open(&self) -> io::Result<Storage> {
        Ok(Storage::new(self.clone()))
    }

    fn name(&self) -> String {
        "a failing disk".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_heals_when_its_disk_does() {
    let disk = FailingDisk::default();
    initialise(Storage::new(disk.clone()), [1; 5]).unwrap();
    let server = InProcess::with_medium(Box::new(disk.clone())).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let event =
        |action: &str| json!({"externalId": "7", "companyExternalId": "acme", "action": action});
    assert_eq!(server.client.track(&event("before")).await.unwrap().text(), "OK");

    disk.failing.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        let answer = server.client.track(&event("while it fails")).await.unwrap();
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
        assert!(answer.headers.contains_key("retry-after"));
    }
    disk.failing.store(false, Ordering::Relaxed);

    let mut healed = false;
    let mut last = String::new();
    for _ in 0..100 {
        last = server.client.track(&event("after")).await.unwrap().text().to_owned();
        healed |= last == "OK";
        if healed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(healed, "the store does not come back: {last}");
    assert_eq!(server.client.actions().await, ["after", "before"]);
    assert_eq!(server.client.get("/health").await.status, StatusCode::OK);
}
