//! A disk that does not respond: whoever writes hears of it in time, and so does who asks how the service is. They are
//! tried by `tests/run faults` alone: where the file is just to grow, a new snapshot waits for as long as the disk hangs.

use std::{
    env, fs, io,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use redb::StorageBackend;
use serde_json::{Value, json};
use svctrack_server::{
    auth::Token,
    store::embedded::{
        OpenError,
        storage::{Medium, Storage, WriteStore},
    },
};
use svctrack_tests::{
    TENANT,
    client::{Answer, Client},
    device::{DEVICE_TOOLS, Device, Journal},
    disk::Disk,
    in_process::InProcess,
    process::{PATIENCE, Server},
};

use super::device::is_possible;

/// Bytes of a disk of which little is used.
const DISK_BYTES: u64 = 64 * 1024 * 1024;

/// A disk whose syncs do not end while it hangs.
#[derive(Clone, Debug, Default)]
struct Hanging {
    disk: Disk,
    hangs: Arc<(Mutex<bool>, Condvar)>,
}

impl Hanging {
    fn set(&self, hangs: bool) {
        let (state, changed) = &*self.hangs;
        *state.lock().unwrap() = hangs;
        changed.notify_all();
    }
}

impl StorageBackend for Hanging {
    fn len(&self) -> io::Result<u64> {
        StorageBackend::len(&self.disk)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let (state, changed) = &*self.hangs;
        drop(changed.wait_while(state.lock().unwrap(), |hangs| *hangs).unwrap());
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.write(offset, data)
    }
}

impl Medium for Hanging {
    fn open(&self) -> Result<Storage, OpenError> {
        Ok(Storage::new(self.clone()))
    }

    fn try_to_write(&self) -> io::Result<()> {
        self.disk.try_to_write()
    }

    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError> {
        self.disk.replace(write)
    }

    fn name(&self) -> String {
        self.disk.name()
    }
}

/// Waits until `/health` says so.
async fn settle(client: &Client, expect: &str) {
    let started = Instant::now();
    loop {
        let answer = client.get("/health").await;
        let health = answer.json()["status"].as_str().unwrap().to_owned();
        assert_eq!(answer.status == StatusCode::OK, health == "ok");
        if health == expect {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "it is {health}, not {expect}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Creates a company of this name; the same call each time.
async fn create(client: Client, name: &str) -> Answer {
    let headers = [("content-type", "application/json"), ("idempotency-key", name)];
    let body = json!({"name": name, "externalId": name}).to_string();
    client.send(Method::POST, "/companies", &headers, body).await.unwrap()
}

/// Sends an event; the same each time.
async fn track(client: Client) -> Answer {
    let event = json!({
        "externalId": "ada", "companyExternalId": "acme", "action": "Login", "messageId": "once",
    });
    client
        .send(Method::POST, &format!("/analytics/{TENANT}"), &[], event.to_string())
        .await
        .unwrap()
}

/// What senders and a load balancer see of a disk that does not respond for a while.
async fn check_a_hang(client: &Client, hang: impl FnOnce(), go_on: impl FnOnce()) {
    assert_eq!(create(client.clone(), "acme").await.status, StatusCode::OK);
    hang();
    let company = tokio::spawn(create(client.clone(), "globex"));
    let event = tokio::spawn(track(client.clone()));
    settle(client, "stalled").await;
    // What is read from the last commit; a new snapshot waits where the file was just to grow.
    assert_eq!(client.get("/products/extid-none").await.status, StatusCode::NOT_FOUND);
    for sent in [company, event] {
        let answer = tokio::time::timeout(PATIENCE, sent).await.expect("it waits").unwrap();
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text());
        assert_eq!(answer.json()["code"], "store_stalled");
        assert!(answer.headers.contains_key("retry-after"));
    }
    let later = create(client.clone(), "later").await;
    assert_eq!(later.json()["code"], "store_unavailable");
    settle(client, "stalled").await;
    go_on();
    settle(client, "ok").await;
    assert_eq!(create(client.clone(), "globex").await.status, StatusCode::OK);
    assert_eq!(track(client.clone()).await.status, StatusCode::OK);
    let companies = client.get("/companies?select=name&sort=name").await.json();
    let names: Vec<&Value> = companies.as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["acme", "globex"]);
    assert_eq!(client.actions().await, ["Login"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_hangs_is_told_to_those_who_wait_and_what_they_send_again_is_stored_once() {
    if env::var_os("SVCTRACK_FAULTS").is_none() {
        return;
    }
    let hanging = Hanging { disk: Disk::with_store(), ..Hanging::default() };
    let server = InProcess::with_medium(Box::new(hanging.clone())).await;
    check_a_hang(&server.client, || hanging.set(true), || hanging.set(false)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_frozen_is_told_to_those_who_wait_and_comes_back() {
    if env::var_os("SVCTRACK_FAULTS").is_none() || !is_possible(DEVICE_TOOLS) {
        return;
    }
    let (device, token) = (Device::new(DISK_BYTES, Journal::Kept), Token::generate().unwrap());
    let data = device.folder().join("data");
    fs::create_dir_all(&data).unwrap();
    let server = Server::start(&data, &token).await;
    check_a_hang(&server.client, || device.stop(), || device.go_on()).await;
    server.stop().await;
    println!("a disk was frozen and came back: nothing lost");
}
