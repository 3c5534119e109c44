//! A server as its users run it, on a real file system whose disk loses power, fails, or is full.
//!
//! This needs root, and nbdkit but for the full disk; `tests/run` installs it where disks can be created.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use redb::StorageBackend as _;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_store::embedded::{
    disk_file::DiskFile,
    storage::{EVERYTHING, StoreFile as _},
};
use svctrack_tests::{
    device::{DEVICE_TOOLS, Device, Failing, Journal, SMALL_DISK_TOOLS, SmallDisk, obstacle},
    model::Random,
    process::{PATIENCE, Remote, Server},
    required_tools::{self, not_tried},
    workload::{self, Sender},
};
use tokio::task::JoinHandle;

use crate::{
    integrity::{seed, size},
    verify::verify,
};

const SENDERS: usize = 8;
/// Bytes of a disk that loses power or fails.
const DISK_BYTES: u64 = 128 * 1024 * 1024;
/// Bytes of one that becomes full.
const SMALL_DISK_BYTES: u64 = 48 * 1024 * 1024;
/// Power cuts of one running server, before another one is begun.
const CUTS_OF_ONE: usize = 20;
/// Longest time between the one cut and the next in which something is sent.
const MAX_SENDING_MS: usize = 200;
/// Bytes of a block of a file.
const BLOCK_BYTES: usize = 4_096;
/// Bytes that are written to a file whose writes fail at first.
const WRITTEN_BYTES: usize = 16 * 1024;
/// Requests that are logged while the disk is full: more than fit in the last block of the log.
const LOGGED: usize = 200;
/// Requests of a sender before its disk fails, and after.
const REQUESTS_BESIDE_FAULTS: usize = 40;

/// Whether a disk can be created with these tools; prints why where it cannot.
pub(crate) fn is_possible(tools: &[&str]) -> bool {
    let Some(obstacle) = obstacle(tools) else { return true };
    not_tried(required_tools::DISKS, &obstacle);
    false
}

/// A server on a disk, and who may use it.
struct World {
    token: Token,
    operator: Token,
}

impl World {
    fn new() -> Self {
        Self { token: Token::generate().unwrap(), operator: Token::generate().unwrap() }
    }

    async fn start(&self, folder: &Path) -> (Server, Remote) {
        let data = folder.join("data");
        fs::create_dir_all(&data).unwrap();
        let flags = ["--cache-mb", "4"];
        let server = Server::start_with_operator(&data, &self.token, &self.operator, &flags).await;
        let remote = Remote::for_server(&server, &self.operator);
        (server, remote)
    }

    /// The same, with the state that senders start from.
    async fn found(&self, folder: &Path) -> (Server, Remote) {
        let (server, remote) = self.start(folder).await;
        workload::found(&remote).await;
        (server, remote)
    }

    /// Starts on what is there: all that was acknowledged must be found, and all must fit together.
    async fn check(&self, folder: &Path, senders: &mut [Sender]) {
        let (server, remote) = self.start(folder).await;
        join_all(senders.iter_mut().map(|sender| sender.check(&remote))).await;
        server.kill().await;
        let (code, found) = verify(&folder.join("data")).await;
        assert_eq!(code, Some(0), "{found}");
    }
}

fn senders(random: &mut Random) -> Vec<Sender> {
    let sender = |number| Sender::new(number, Random::seeded(random.below(usize::MAX) as u64));
    (0..SENDERS).map(sender).collect()
}

/// What senders are to do.
const WAIT: u8 = 0;
const SEND: u8 = 1;
const END: u8 = 2;

/// Senders that keep sending during operations on the disk.
struct Sending {
    senders: Vec<Arc<Mutex<Sender>>>,
    tasks: Vec<JoinHandle<()>>,
    phase: Arc<AtomicU8>,
    sent: Arc<AtomicUsize>,
}

impl Sending {
    fn start(senders: Vec<Sender>, remote: &Arc<Remote>) -> Self {
        let senders: Vec<_> =
            senders.into_iter().map(|sender| Arc::new(Mutex::new(sender))).collect();
        let (phase, sent) = (Arc::new(AtomicU8::new(WAIT)), Arc::<AtomicUsize>::default());
        let task = |sender: &Arc<Mutex<Sender>>| {
            tokio::spawn(send_on(sender.clone(), remote.clone(), phase.clone(), sent.clone()))
        };
        let tasks = senders.iter().map(task).collect();
        Self { senders, tasks, phase, sent }
    }

    fn go(&self, phase: u8) {
        self.phase.store(phase, Ordering::SeqCst);
    }

    /// Stops the disk; returns what was acknowledged just before.
    fn stop(&self, device: &Device) -> Vec<Sender> {
        let held: Vec<_> = self.senders.iter().map(|sender| sender.lock().unwrap()).collect();
        let ledger = held.iter().map(|sender| (**sender).clone()).collect();
        device.stop();
        ledger
    }

    async fn end(self) -> usize {
        self.go(END);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.sent.load(Ordering::Relaxed)
    }
}

async fn send_on(
    sender: Arc<Mutex<Sender>>,
    remote: Arc<Remote>,
    phase: Arc<AtomicU8>,
    sent: Arc<AtomicUsize>,
) {
    loop {
        match phase.load(Ordering::SeqCst) {
            WAIT => tokio::time::sleep(Duration::from_millis(1)).await,
            SEND => {
                assert!(Sender::send_one_of(&sender, &*remote).await, "{:?}", sender.lock());
                sent.fetch_add(1, Ordering::Relaxed);
            }
            _ => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    if !is_possible(DEVICE_TOOLS) {
        return;
    }
    let mut random = Random::seeded(seed());
    let (cuts, started) = (size(3, 1_000), Instant::now());
    let (mut requests, mut slowest) = (0, Duration::ZERO);
    for begun in (0..cuts).step_by(CUTS_OF_ONE) {
        let (world, device) = (World::new(), Device::new(DISK_BYTES, Journal::Kept));
        let (server, remote) = world.found(device.folder()).await;
        let sending = Sending::start(senders(&mut random), &Arc::new(remote));
        for _ in 0..CUTS_OF_ONE.min(cuts - begun) {
            sending.go(SEND);
            let pause = 1 + random.below(MAX_SENDING_MS) as u64;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let mut ledger = sending.stop(&device);
            sending.go(WAIT);
            let copy = device.copy_and_go_on();
            let checked = Instant::now();
            world.check(copy.folder(), &mut ledger).await;
            slowest = slowest.max(checked.elapsed());
        }
        requests += sending.end().await;
        server.kill().await;
    }
    println!(
        "{cuts} power cuts of a file system after {requests} requests: nothing lost, the slowest check {slowest:?}, {:?}",
        started.elapsed()
    );
}

/// Waits until `/health` says so.
async fn settle(remote: &Remote, expect: &[&str]) {
    let started = Instant::now();
    loop {
        let response = remote.client.get("/health").await;
        let health = response.json()["status"].as_str().unwrap().to_owned();
        assert_eq!(response.status == StatusCode::OK, health == "ok");
        if expect.contains(&health.as_str()) {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "it is {health}, not {expect:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Companies of a call that has the file grow.
fn many(number: usize) -> Value {
    let text = "x".repeat(2_000);
    let company = |n| json!({"name": "Large", "externalId": format!("l{number}-{n}"), "custom": {"text": text}});
    (0..250).map(company).collect()
}

/// Sends what has the file grow until it is rejected; returns how often it was taken.
pub(crate) async fn grow_until(remote: &Remote, from: usize, status: StatusCode) -> usize {
    let started = Instant::now();
    let mut number = from;
    loop {
        let headers = [("content-type", "application/json")];
        let body = many(number).to_string();
        let response = remote.client.send(Method::PUT, "/companies", &headers, body).await.unwrap();
        if response.status != StatusCode::OK {
            assert_eq!(response.status, status, "{}", response.text());
            assert!(response.headers.contains_key("retry-after"));
            return number;
        }
        number += 1;
        assert!(started.elapsed() < PATIENCE, "{number} are taken");
    }
}

pub(crate) async fn check_grown(remote: &Remote, taken: usize) {
    for number in 0..taken {
        let path = format!("/companies/extid-l{number}-249");
        assert_eq!(remote.client.get(&path).await.status, StatusCode::OK, "{number} is lost");
    }
}

async fn check_that_it_reads(remote: &Remote, taken: usize) {
    check_grown(remote, taken).await;
    assert_eq!(remote.client.get("/companies/extid-base").await.json()["name"], "Base");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_reads_on_while_its_disk_takes_no_writes_and_heals_when_it_does() {
    if !is_possible(DEVICE_TOOLS) {
        return;
    }
    let mut random = Random::seeded(seed());
    let (rounds, started) = (size(1, 20), Instant::now());
    for round in 0..rounds {
        for failing in [Failing::Writes, Failing::All] {
            let device = Device::new(DISK_BYTES, Journal::None);
            let world = World::new();
            let (server, remote) = world.found(device.folder()).await;
            let mut senders = senders(&mut random);
            join_all(senders.iter_mut().map(|sender| sender.send(&remote, REQUESTS_BESIDE_FAULTS)))
                .await;
            // Two failures in a row.
            for _ in 0..2 {
                device.fail(failing);
                let sending = senders
                    .iter_mut()
                    .map(|sender| sender.send_some(&remote, REQUESTS_BESIDE_FAULTS));
                join_all(sending).await;
                let base = json!({"name": "Again"});
                let response = remote.client.post("/companies", &base).await;
                assert_eq!(response.status, StatusCode::SERVICE_UNAVAILABLE, "{}", response.text());
                assert!(response.headers.contains_key("retry-after"));
                settle(&remote, &["read_only", "recovering"]).await;
                if failing == Failing::Writes {
                    settle(&remote, &["read_only"]).await;
                    check_that_it_reads(&remote, 0).await;
                }
                device.mend();
                settle(&remote, &["ok"]).await;
                join_all(senders.iter_mut().map(|sender| sender.check(&remote))).await;
                join_all(
                    senders.iter_mut().map(|sender| sender.send(&remote, REQUESTS_BESIDE_FAULTS)),
                )
                .await;
            }
            server.kill().await;
            // So that what is found lies on the disk.
            device.forget(&device.folder().join("data/svctrack.redb"));
            world.check(device.folder(), &mut senders).await;
        }
        println!("round {round}, {:?}", started.elapsed());
    }
    println!("{rounds} disks failed and worked again: nothing lost, {:?}", started.elapsed());
}

/// Linux may never bring to disk what is written to where a write has failed, and say that it did.
#[test]
fn what_is_written_where_a_write_has_failed_comes_to_disk() {
    if !is_possible(DEVICE_TOOLS) {
        return;
    }
    let blocks = (0..WRITTEN_BYTES as u64).step_by(BLOCK_BYTES);
    let blocks = blocks.map(|begin| begin..begin + BLOCK_BYTES as u64).collect();
    for parts in [vec![EVERYTHING], blocks] {
        let device = Device::new(DISK_BYTES, Journal::None);
        let path = device.folder().join("file");
        fs::write(&path, []).unwrap();
        let store_file = DiskFile::at(&path);
        let file = store_file.open().unwrap();
        file.set_len(WRITTEN_BYTES as u64).unwrap();
        file.sync_data().unwrap();
        device.fail(Failing::Writes);
        file.write(0, &[1; WRITTEN_BYTES]).unwrap();
        assert!(file.sync_data().is_err());
        device.mend();
        store_file.forget_cached(&parts).unwrap();
        let read = || {
            let mut found = [3; WRITTEN_BYTES];
            file.read(0, &mut found).unwrap();
            found
        };
        assert!(read() == [0; WRITTEN_BYTES], "{parts:?}");
        store_file.forget_cached(&parts).unwrap();
        file.write(0, &[2; WRITTEN_BYTES]).unwrap();
        file.sync_data().unwrap();
        device.forget(&path);
        assert!(read() == [2; WRITTEN_BYTES], "{parts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_reads_on_while_its_disk_is_full_and_heals_when_there_is_room() {
    if !is_possible(SMALL_DISK_TOOLS) {
        return;
    }
    let mut random = Random::seeded(seed());
    let (rounds, started) = (size(1, 20), Instant::now());
    for _ in 0..rounds {
        let disk = SmallDisk::new(SMALL_DISK_BYTES);
        let world = World::new();
        let (server, remote) = world.found(disk.folder()).await;
        let mut senders = senders(&mut random);
        let mut taken = 0;
        for _ in 0..2 {
            join_all(senders.iter_mut().map(|sender| sender.send(&remote, REQUESTS_BESIDE_FAULTS)))
                .await;
            disk.fill();
            taken = grow_until(&remote, taken, StatusCode::INSUFFICIENT_STORAGE).await;
            // What has room in the file may be written meanwhile.
            join_all(senders.iter_mut().map(|sender| sender.send_some(&remote, 1))).await;
            settle(&remote, &["ok", "read_only"]).await;
            check_that_it_reads(&remote, taken).await;
            disk.make_room();
            settle(&remote, &["ok"]).await;
            join_all(senders.iter_mut().map(|sender| sender.check(&remote))).await;
        }
        check_grown(&remote, taken).await;
        server.kill().await;
        world.check(disk.folder(), &mut senders).await;
    }
    println!("{rounds} disks were full and had room again: nothing lost, {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_with_store_and_log_stops_no_server() {
    if !is_possible(SMALL_DISK_TOOLS) {
        return;
    }
    let disk = SmallDisk::new(SMALL_DISK_BYTES);
    let (data, log) = (disk.folder().join("data"), disk.folder().join("log"));
    fs::create_dir(&data).unwrap();
    let world = World::new();
    let flags = ["--cache-mb", "4", "--log", "debug"];
    let file = fs::File::create(&log).unwrap();
    let server = Server::start_with_log(&data, &world.token, &flags, file).await;
    let remote = Remote::for_server(&server, &world.operator);
    let base = json!({"name": "Base", "externalId": "base"});
    assert_eq!(remote.client.post("/companies", &base).await.status, StatusCode::OK);
    disk.fill();
    let taken = grow_until(&remote, 0, StatusCode::INSUFFICIENT_STORAGE).await;
    // Each of them has a line in the log.
    for _ in 0..LOGGED {
        server.client.raw(b"no HTTP at all\r\n\r\n").await;
    }
    check_that_it_reads(&remote, taken).await;
    disk.make_room();
    settle(&remote, &["ok"]).await;
    let after = json!({"name": "After", "externalId": "after"});
    assert_eq!(remote.client.post("/companies", &after).await.status, StatusCode::OK);
    server.client.raw(b"no HTTP at all\r\n\r\n").await;
    server.stop().await;
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("log lines lost count="), "{log}");
}
