//! A disk that does not respond: a caller that writes, or reads what is not in memory, gets an error in time; all else
//! continues, and so does a stop.

use std::{
    env, fs,
    future::ready,
    io,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use redb::StorageBackend;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_store::embedded::{
    OpenError,
    storage::{Storage, StoreFile, WriteStore, before_waiting},
};
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    device::{DEVICE_TOOLS, Device, Journal},
    disk::Disk,
    in_process::InProcess,
    isolated_process::is_alone,
    process::{PATIENCE, Server},
};
use tokio::{task::spawn_blocking, time::timeout};

use super::device::is_possible;

/// Bytes of a disk that is hardly used.
const DISK_BYTES: u64 = 64 * 1024 * 1024;
/// Texts of a record for which the file must grow, and the bytes of each.
const MANY: usize = 14;
const TEXT_BYTES: usize = 64 * 1024;
/// Readers at once, fewer than an address may have connections.
const READERS: usize = 200;
/// Threads that they may take: those that read what is not in memory.
const MAX_THREADS_OF_READERS: usize = 40;
/// Records, more than a server reads at its start.
const RECORDS: usize = 20_000;

/// What does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hangs {
    Nothing,
    Syncs,
    Growth,
    Reads,
}

/// A disk that hangs on command, until it is released.
#[derive(Clone, Debug)]
struct Hanging {
    disk: Disk,
    hangs: Arc<(Mutex<Hangs>, Condvar)>,
    /// How often something began to wait.
    waits: Arc<AtomicUsize>,
}

impl Hanging {
    fn with_store() -> Self {
        let hangs = Arc::new((Hangs::Nothing.into(), Condvar::new()));
        Self { disk: Disk::with_store(), hangs, waits: Arc::default() }
    }

    fn set(&self, hangs: Hangs) {
        let (state, changed) = &*self.hangs;
        *state.lock().unwrap() = hangs;
        changed.notify_all();
    }

    /// Lets it go when this is dropped, so that a test that fails ends.
    fn until_dropped(&self) -> LetGo {
        LetGo(self.clone())
    }

    /// Returns once something waits.
    async fn until_it_hangs(&self) {
        let hangs = async {
            while self.waits.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, hangs).await.expect("nothing hangs");
    }

    /// Waits while such things hang.
    fn pass(&self, kind: Hangs) {
        let (state, changed) = &*self.hangs;
        let hangs = *state.lock().unwrap() == kind;
        if hangs && kind == Hangs::Reads {
            before_waiting();
        }
        self.waits.fetch_add(hangs.into(), Ordering::Relaxed);
        drop(changed.wait_while(state.lock().unwrap(), |hangs| *hangs == kind).unwrap());
    }
}

struct LetGo(Hanging);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.set(Hangs::Nothing);
    }
}

impl StorageBackend for Hanging {
    fn len(&self) -> io::Result<u64> {
        StorageBackend::len(&self.disk)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.pass(Hangs::Reads);
        self.disk.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.pass(Hangs::Growth);
        self.disk.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.pass(Hangs::Syncs);
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.write(offset, data)
    }
}

impl StoreFile for Hanging {
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
        let response = client.get("/health").await;
        let health = response.json()["status"].as_str().unwrap().to_owned();
        assert_eq!(response.status == StatusCode::OK, health == "ok");
        if health == expect {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "it is {health}, not {expect}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Creates a company of this name with a number of texts; the same call each time.
async fn create(client: Client, name: &str, texts: usize) -> Response {
    let headers = [("content-type", "application/json"), ("idempotency-key", name)];
    let custom = json!({"texts": vec!["x".repeat(TEXT_BYTES); texts]});
    let body = json!({"name": name, "externalId": name, "custom": custom}).to_string();
    client.send(Method::POST, "/companies", &headers, body).await.unwrap()
}

/// Sends an event; the same each time.
async fn track(client: Client) -> Response {
    let event = json!({
        "externalId": "ada", "companyExternalId": "acme", "action": "Login", "messageId": "once",
    });
    client
        .send(Method::POST, &format!("/analytics/{TENANT}"), &[], event.to_string())
        .await
        .unwrap()
}

/// What senders and a load balancer see of a disk that does not respond for a while.
async fn check_a_hang(
    client: &Client,
    hang: impl FnOnce(),
    until_it_hangs: impl Future<Output = ()>,
    go_on: impl FnOnce(),
) {
    assert_eq!(create(client.clone(), "acme", 0).await.status, StatusCode::OK);
    hang();
    let company = tokio::spawn(create(client.clone(), "globex", MANY));
    // An event alone may need no larger file.
    until_it_hangs.await;
    let event = tokio::spawn(track(client.clone()));
    settle(client, "stalled").await;
    check_reads(client).await;
    for sent in [company, event] {
        let response = timeout(PATIENCE, sent).await.expect("it waits").unwrap();
        assert_is_stalled(&response);
    }
    let later = create(client.clone(), "later", 0).await;
    assert_eq!(later.json()["code"], "store_unavailable");
    settle(client, "stalled").await;
    go_on();
    settle(client, "ok").await;
    assert_eq!(create(client.clone(), "globex", MANY).await.status, StatusCode::OK);
    assert_eq!(track(client.clone()).await.status, StatusCode::OK);
    assert_eq!(names(client).await, ["acme", "globex"]);
    assert_eq!(client.actions().await, ["Login"]);
}

/// What is in memory is read from the last commit, by however many.
async fn check_reads(client: &Client) {
    let read = async {
        assert_eq!(client.get("/companies/extid-acme").await.status, StatusCode::OK);
        assert_eq!(client.get("/products/extid-none").await.status, StatusCode::NOT_FOUND);
        assert_eq!(client.get("/tokens").await.status, StatusCode::OK);
        assert_eq!(names(client).await, ["acme"]);
        let responses = join_all((0..READERS).map(|_| client.get("/companies/extid-acme"))).await;
        assert!(responses.iter().all(|response| response.status == StatusCode::OK));
    };
    timeout(PATIENCE, read).await.expect("reads wait");
}

async fn names(client: &Client) -> Vec<String> {
    let companies = client.get("/companies?select=name&sort=name").await.json();
    let companies: &Vec<Value> = companies.as_array().unwrap();
    companies.iter().map(|company| company["name"].as_str().unwrap().to_owned()).collect()
}

fn assert_is_stalled(response: &Response) {
    assert_eq!(response.status, StatusCode::SERVICE_UNAVAILABLE, "{}", response.text());
    assert_eq!(response.json()["code"], "store_stalled");
    assert!(response.headers.contains_key("retry-after"));
}

/// A server on a disk that hangs.
async fn check_in_process(hangs: Hangs) {
    let hanging = Hanging::with_store();
    let server = InProcess::with_file(Box::new(hanging.clone())).await;
    let _let_go = hanging.until_dropped();
    let (hang, go_on) = (|| hanging.set(hangs), || hanging.set(Hangs::Nothing));
    check_a_hang(&server.client, hang, hanging.until_it_hangs(), go_on).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_hangs_is_reported_to_those_who_wait_and_what_they_send_again_is_stored_once() {
    check_in_process(Hangs::Syncs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_does_not_grow_since_the_disk_hangs_blocks_no_reads() {
    check_in_process(Hangs::Growth).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_hang_are_given_up_take_few_threads_and_leave_health_alone() {
    if !is_alone("stalled::reads_that_hang_are_given_up_take_few_threads_and_leave_health_alone") {
        return;
    }
    let hanging = Hanging::with_store();
    let server = InProcess::with_file_and_cache(Box::new(hanging.clone()), 0).await;
    let _let_go = hanging.until_dropped();
    let (client, unused) = (&server.client, &server.operator);
    assert_eq!(create(client.clone(), "acme", 0).await.status, StatusCode::OK);
    assert_eq!(client.get("/companies/extid-acme").await.status, StatusCode::OK);
    let threads = threads();
    hanging.set(Hangs::Reads);
    let paths = ["/companies/extid-acme", "/companies", "/companies?sort=name", "/tokens"];
    let of_all = (0..READERS).zip(paths.into_iter().cycle());
    let mut waiting: Vec<_> =
        of_all.map(|(_, path)| read(client.clone(), path.to_owned())).collect();
    waiting.push(read(unused.clone(), "/tenants".to_owned()));
    let responses = tokio::spawn(join_all(waiting));
    settle(client, "stalled").await;
    assert!(self::threads() < threads + MAX_THREADS_OF_READERS, "{}", self::threads());
    let responses = timeout(PATIENCE, responses).await.expect("reads wait").unwrap();
    // What the read before has left in memory is served: a company again and again, of the others the first at most.
    let is_served = |response: &&Response| response.status == StatusCode::OK;
    let others = responses.iter().enumerate().filter(|(number, _)| number % paths.len() != 0);
    let served = others.filter(|(_, response)| is_served(response)).count();
    assert!(served < paths.len(), "{served} of {READERS} are served");
    let stalled = responses.iter().filter(|response| !is_served(response));
    stalled.for_each(assert_is_stalled);
    hanging.set(Hangs::Nothing);
    settle(client, "ok").await;
    assert_eq!(names(client).await, ["acme"]);
}

async fn read(client: Client, path: String) -> Response {
    client.get(&path).await
}

/// The threads of this process.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_a_disk_that_hangs() {
    let hanging = Hanging::with_store();
    let server = InProcess::with_file(Box::new(hanging.clone())).await;
    let _let_go = hanging.until_dropped();
    hanging.set(Hangs::Syncs);
    let sent = tokio::spawn(create(server.client.clone(), "acme", 0));
    settle(&server.client, "stalled").await;
    let store = server.store.clone();
    let closed = timeout(PATIENCE, spawn_blocking(move || store.close())).await;
    assert!(!closed.expect("the stop waits").unwrap());
    assert_is_stalled(&sent.await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_frozen_is_reported_to_those_who_wait_and_comes_back() {
    if env::var_os("SVCTRACK_FAULTS").is_none() || !is_possible(DEVICE_TOOLS) {
        return;
    }
    let (device, token) = (Device::new(DISK_BYTES, Journal::Kept), Token::generate().unwrap());
    let data = device.folder().join("data");
    fs::create_dir_all(&data).unwrap();
    let server = Server::start(&data, &token).await;
    check_a_hang(&server.client, || device.stop(), ready(()), || device.go_on()).await;
    server.stop().await;
    println!("a disk was frozen and came back: nothing lost");
}

/// Creates many companies: `c0`, `c1` and so on.
async fn fill(client: &Client) {
    let json = [("content-type", "application/json")];
    for first in (0..RECORDS).step_by(1_000) {
        let company = |number| json!({"externalId": format!("c{number}"), "name": "x"});
        let companies = Value::Array((first..first + 1_000).map(company).collect());
        let response = client.send(Method::PUT, "/companies", &json, companies.to_string()).await;
        assert_eq!(response.unwrap().status, StatusCode::OK);
    }
}

/// Waits until a process has ended, also where the system still waits for the disk before it says so.
async fn until_ended(process: u32) {
    let started = Instant::now();
    let state = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    while !state().rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z')) {
        assert!(started.elapsed() < PATIENCE, "it does not end");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_disk_is_frozen_gives_up_reads_of_it_and_stops() {
    if env::var_os("SVCTRACK_FAULTS").is_none() || !is_possible(DEVICE_TOOLS) {
        return;
    }
    let (device, token) = (Device::new(DISK_BYTES, Journal::Kept), Token::generate().unwrap());
    let data = device.folder().join("data");
    fs::create_dir_all(&data).unwrap();
    let server = Server::start(&data, &token).await;
    fill(&server.client).await;
    server.stop().await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start_with_log(&data, &token, &[], log.reopen().unwrap()).await;
    let client = server.client.clone();
    assert_eq!(create(client.clone(), "acme", 0).await.status, StatusCode::OK);
    assert_eq!(client.get("/companies/extid-acme").await.status, StatusCode::OK);
    device.forget(&data.join("svctrack.redb"));
    device.stop();
    let reads = (0..READERS).map(|number| {
        read(client.clone(), format!("/companies/extid-c{}", number * (RECORDS / READERS)))
    });
    let responses = tokio::spawn(join_all(reads));
    settle(&client, "stalled").await;
    let responses = timeout(PATIENCE, responses).await.expect("reads wait").unwrap();
    let stalled = responses.iter().filter(|response| response.status != StatusCode::OK);
    assert!(stalled.inspect(|response| assert_is_stalled(response)).count() > 0);
    timeout(PATIENCE, client.get("/companies/extid-acme")).await.expect("reads wait");
    let sent = tokio::spawn(async move {
        let _ = client.post("/companies", &json!({"name": "globex"})).await;
    });
    server.signal("TERM");
    until_ended(server.id()).await;
    assert!(fs::read_to_string(log.path()).unwrap().contains("disk not responding"));
    device.go_on();
    assert_eq!(server.wait().await, Some(0));
    sent.await.unwrap();
    let server = Server::start(&data, &token).await;
    assert_eq!(server.client.get("/companies/extid-c97").await.status, StatusCode::OK);
    assert_eq!(server.client.get("/companies/extid-acme").await.status, StatusCode::OK);
    server.stop().await;
    println!("a server on a frozen disk stopped: nothing lost");
}
