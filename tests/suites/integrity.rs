//! What a store keeps when its machine stops, its disk fails, or its file rots.
//!
//! The quick size runs with all tests. `tests/run faults` runs the full one and reports:
//! `SVCTRACK_FAULTS=1 cargo test --release -p svctrack-tests --test suites -- integrity:: --nocapture`.
//! The seed is printed; `SVCTRACK_FAULTS_SEED` sets it.

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_store::{
    BackupFile, Health, ScrubProgress, Store as _,
    embedded::{OpenError, verify_file},
};
use svctrack_tests::{
    direct::Direct,
    disk::{Disk, Fault, UnsyncedChanges},
    in_process::StillClock,
    isolated_process::is_alone,
    model::Random,
    process::PATIENCE,
    tokens::Tokens,
    workload::{self, Sender},
};

const SENDERS: usize = 8;
/// Requests before a crash, at least.
const REQUESTS: usize = 200;
/// Crashes of one store, before another one is begun.
const CRASHES_OF_ONE: usize = 10;
/// Cache of a store that is verified, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of operations of the disk between a request and the loss of power: those of a few commits.
const CUT_WITHIN: usize = 60;
/// Bytes of a block of the store's file.
const BLOCK_BYTES: usize = 4_096;
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// How many of something there are: in the quick size, and in the full one.
pub(crate) fn size(quick: usize, full: usize) -> usize {
    let asked = env::var("SVCTRACK_FAULTS").ok();
    match asked.as_deref().map(str::parse) {
        None => quick,
        Some(Ok(1)) | Some(Err(_)) => full,
        Some(Ok(divisor)) => (full / divisor).max(1),
    }
}

pub(crate) fn seed() -> u64 {
    let set = env::var("SVCTRACK_FAULTS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = set
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    println!("SVCTRACK_FAULTS_SEED={seed}");
    seed
}

/// A store with a base, and those who send to it.
struct World {
    disk: Disk,
    clock: Arc<StillClock>,
    now: Timestamp,
    tokens: Tokens,
    senders: Vec<Sender>,
}

impl World {
    async fn new(random: &mut Random) -> Self {
        let now = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let clock = Arc::new(StillClock::at(now));
        let disk = Disk::with_store();
        let tokens = Direct::found(Box::new(disk.clone()), clock.clone()).await;
        let senders = (0..SENDERS)
            .map(|number| Sender::new(number, Random::seeded(random.below(usize::MAX) as u64)))
            .collect();
        let world = Self { disk, clock, now, tokens, senders };
        let server = world.open().unwrap();
        workload::found(&server).await;
        server.store.close();
        world
    }

    fn open(&self) -> Result<Direct, OpenError> {
        Direct::open(Box::new(self.disk.clone()), self.clock.clone(), self.tokens.clone())
    }

    /// Sends until the power is gone, which is some time after a number of requests.
    async fn send_until_the_power_goes(&mut self, requests: usize, random: &mut Random) -> usize {
        let server = self.open().unwrap();
        let sent = AtomicUsize::new(0);
        let cut = random.below(CUT_WITHIN) as u64;
        let disk = self.disk.clone();
        let cutting = async {
            while sent.load(Ordering::Relaxed) < requests {
                tokio::task::yield_now().await;
            }
            disk.fail(Fault::Power(disk.operations() + cut));
        };
        let sending =
            self.senders.iter_mut().map(|sender| sender.send_until_it_fails(&server, &sent));
        tokio::join!(cutting, futures_util::future::join_all(sending));
        server.store.close();
        sent.load(Ordering::Relaxed)
    }

    /// The power goes again while the store is being opened, or soon after.
    fn cut_the_recovery(&mut self, random: &mut Random) {
        self.disk.fail(Fault::Power(self.disk.operations() + random.below(CUT_WITHIN) as u64));
        if let Ok(server) = self.open() {
            server.store.close();
        }
        self.disk = self.disk.after_power_cut(*random.one_of(&UnsyncedChanges::ALL), random);
    }

    /// All that was acknowledged must be there, and all must fit together.
    async fn check(&mut self) {
        let server = self.open().unwrap();
        for sender in &mut self.senders {
            sender.check(&server).await;
        }
        server.clean_up().await.unwrap();
        server.store.close();
        let found = verify_file(&self.disk, CACHE_BYTES).unwrap();
        assert!(found.is_sound(), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loses_nothing_that_was_acknowledged() {
    let mut random = Random::seeded(seed());
    let (crashes, started) = (size(15, 10_000), Instant::now());
    let (mut requests, mut recoveries) = (0, 0);
    let mut world = World::new(&mut random).await;
    for crash in 0..crashes {
        if crash % CRASHES_OF_ONE == 0 {
            world = World::new(&mut random).await;
        }
        requests += world.send_until_the_power_goes(REQUESTS, &mut random).await;
        world.disk = world.disk.after_power_cut(*random.one_of(&UnsyncedChanges::ALL), &mut random);
        while random.percent(40) {
            recoveries += 1;
            world.cut_the_recovery(&mut random);
        }
        world.check().await;
        world.now = Timestamp::from_ms_clamped(world.now.as_ms() + 7 * HOUR_MS);
        world.clock.set(world.now);
        if crash > 0 && crash % 500 == 0 {
            println!("{crash} crashes, {:?}", started.elapsed());
        }
    }
    println!(
        "{crashes} crashes after {requests} requests, {recoveries} more while recovering: nothing lost, {:?}",
        started.elapsed()
    );
}

/// Requests of one sender during which operations of the disk fail.
const REQUESTS_BESIDE_FAULTS: usize = 15;

async fn settle(server: &Direct) {
    let started = Instant::now();
    while server.store.status().health != Health::Ok {
        assert!(started.elapsed() < PATIENCE, "it is {:?}", server.store.status());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Sends to a store whose disk has a fault for a while; the store must recover without help.
async fn live_through(fault: impl Fn(u64) -> Fault, number: u64, random: &mut Random) -> bool {
    let mut world = World::new(random).await;
    let mut sender = Sender::new(SENDERS, Random::seeded(number));
    let fault = fault(world.disk.operations() + number);
    world.disk.fail(fault);
    let server = match world.open() {
        Ok(server) => server,
        Err(OpenError::Io(_) | OpenError::Store(_)) => {
            world.disk.mend();
            world.open().unwrap()
        }
        Err(error) => panic!("{fault:?}: {error}"),
    };
    sender.send_some(&server, REQUESTS_BESIDE_FAULTS).await;
    let is_past = world.disk.operations() < number;
    world.disk.mend();
    settle(&server).await;
    sender.check(&server).await;
    sender.send(&server, REQUESTS_BESIDE_FAULTS).await;
    server.store.close();
    // What is read may never have come to the disk, where a write of it failed.
    world.disk = world.disk.after_power_cut(UnsyncedChanges::Nothing, random);
    let server = world.open().unwrap();
    sender.check(&server).await;
    server.store.close();
    world.check().await;
    is_past
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_of_the_disk_may_fail_once_or_for_good_whichever_it_is() {
    let mut random = Random::seeded(seed());
    let every = size(41, 1) as u64;
    let (mut tried, started) = (0, Instant::now());
    for fault in [Fault::Once, Fault::From] {
        let mut number = 1 + random.below(every as usize) as u64;
        while !live_through(fault, number, &mut random).await && number < MOST_OPERATIONS {
            (tried, number) = (tried + 1, number + every);
        }
    }
    println!("{tried} operations failed, once or for good: nothing lost, {:?}", started.elapsed());
}

/// More operations of the disk than such a run has.
const MOST_OPERATIONS: u64 = 1_500;

/// The responses of a sound store, by path.
type Responses = BTreeMap<String, Value>;

/// A store with some of everything, in more than one group of blocks.
async fn filled(random: &mut Random) -> (World, Responses) {
    let mut world = World::new(random).await;
    let server = world.open().unwrap();
    let text = "x".repeat(400);
    let companies: Vec<_> = (0..4_000)
        .map(|n| json!({"name": format!("Company {n}"), "externalId": format!("c{n}"), "custom": {"text": text}}))
        .collect();
    for companies in companies.chunks(500) {
        let (status, _) = server.send(Method::PUT, "/companies", None, &json!(companies)).await;
        assert_eq!(status, StatusCode::OK);
    }
    for sender in &mut world.senders {
        sender.send(&server, 60).await;
        sender.check(&server).await;
    }
    let mut paths: Vec<_> =
        ["companies", "endusers", "users"].map(|list| format!("/{list}?limit=5000")).into();
    paths.extend(["/activities?limit=2000", "/integrationissues", "/settings"].map(str::to_owned));
    paths.extend((0..4_000).step_by(97).map(|n| format!("/companies/extid-c{n}")));
    paths.extend(["/companies?externalId=c7", "/companies?sort=-name&limit=50"].map(str::to_owned));
    for user in server.get("/endusers").await.as_array().unwrap() {
        paths.push(format!("/activities?limit=2000&endUserId={}", user["_id"].as_str().unwrap()));
    }
    let mut responses = Responses::new();
    for path in paths {
        let response = server.get(&path).await;
        responses.insert(path, response);
    }
    server.store.close();
    (world, responses)
}

/// The outcome of a flipped bit.
#[derive(Debug, Default)]
struct Flips {
    rejected: usize,
    answered: usize,
    scrubbed: usize,
    renewed: usize,
    unseen: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn no_flipped_bit_is_returned_as_if_it_were_sound() {
    let mut random = Random::seeded(seed());
    let (world, responses) = filled(&mut random).await;
    let (flips, started) = (size(20, 1_000), Instant::now());
    let (bytes, mut seen) = (world.disk.bytes(), Flips::default());
    // Wherever the key of an index row is: no checksum of a value covers it.
    let key = b"externalId\0c1940";
    let keys = bytes.windows(key.len()).enumerate().filter(|(_, part)| part == key);
    let in_keys: Vec<_> = keys.map(|(at, _)| (at + key.len() - 1) * 8).collect();
    assert!(!in_keys.is_empty());
    let anywhere = (0..flips).map(|_| random.below(bytes.len() * 8));
    for bit in in_keys.into_iter().chain(anywhere) {
        let disk = Disk::with_bytes(bytes.clone());
        disk.flip(bit);
        look_at(&world, disk, bit, &responses, &mut seen).await;
    }
    println!("{flips} flips in {} bytes: {seen:?}, {:?}", bytes.len(), started.elapsed());
}

async fn look_at(world: &World, disk: Disk, bit: usize, responses: &Responses, seen: &mut Flips) {
    let store_file = || Box::new(disk.clone());
    let server = match Direct::open(store_file(), world.clock.clone(), world.tokens.clone()) {
        Ok(server) => server,
        Err(OpenError::Corrupted(_)) => {
            seen.rejected += 1;
            return;
        }
        Err(error) => panic!("bit {bit}: {error}"),
    };
    let damaged = compare(&server, responses, bit).await;
    assert_eq!(server.store.status().damaged, damaged, "bit {bit}");
    let mut scrub = ScrubProgress::default();
    while !scrub.is_over {
        scrub = server.store.scrub(scrub).await.unwrap();
    }
    // What is corrupted stops no other write.
    let other = json!({"name": "Other", "externalId": "other"});
    let (mut status, mut response) = server.send(Method::POST, "/companies", None, &other).await;
    let is_renewed = status == StatusCode::SERVICE_UNAVAILABLE && damaged + scrub.damaged == 0;
    if is_renewed {
        // What redb notes of its pages was hit, and not one of the rows: these are written again.
        settle(&server).await;
        (status, response) = server.send(Method::POST, "/companies", None, &other).await;
        assert_eq!(server.get("/companies/extid-other").await["name"], "Other", "bit {bit}");
    }
    assert!(status == StatusCode::OK || damaged > 0 || scrub.damaged > 0, "bit {bit}: {response}");
    server.store.close();
    if is_renewed {
        seen.renewed += 1;
        assert!(verify_file(&disk, CACHE_BYTES).unwrap().is_sound(), "bit {bit}");
        return;
    }
    match (damaged, scrub.damaged) {
        (0, 0) => seen.unseen += 1,
        (0, _) => seen.scrubbed += 1,
        _ => seen.answered += 1,
    }
    if damaged > 0 {
        assert!(!verify_file(&disk, CACHE_BYTES).unwrap().is_sound(), "bit {bit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_notes_of_its_pages_are_corrupted_is_rewritten() {
    let mut world = World::new(&mut Random::seeded(1)).await;
    let server = world.open().unwrap();
    for sender in &mut world.senders {
        sender.send(&server, 5).await;
    }
    let mut responses = Responses::new();
    for path in ["/companies", "/endusers", "/activities", "/settings"] {
        responses.insert(path.to_owned(), server.get(path).await);
    }
    server.store.close();
    let (bytes, mut seen) = (world.disk.bytes(), Flips::default());
    // One bit of every block that is not empty.
    let blocks = bytes.chunks(BLOCK_BYTES).zip(0..);
    for (_, number) in blocks.filter(|(block, _)| block.iter().any(|byte| *byte != 0)) {
        let (disk, bit) = (Disk::with_bytes(bytes.clone()), number * BLOCK_BYTES * 8 + 77);
        disk.flip(bit);
        look_at(&world, disk, bit, &responses, &mut seen).await;
    }
    assert!(seen.renewed > 0, "{seen:?}");
    println!("{seen:?}");
}

/// How many responses differ from those of the sound store; these must report corruption.
async fn compare(server: &Direct, responses: &Responses, bit: usize) -> u64 {
    let mut damaged = 0;
    for (path, expected) in responses {
        let (status, response) = server.send(Method::GET, path, None, &Value::Null).await;
        match status {
            StatusCode::OK => assert!(response == *expected, "bit {bit}: {path} is wrong"),
            _ => {
                assert_eq!(response["code"], "data_corrupted", "bit {bit}: {path}: {response}");
                damaged += 1;
            }
        }
    }
    damaged
}

#[tokio::test(flavor = "multi_thread")]
async fn corruption_is_reported_with_the_id_that_was_requested() {
    let world = World::new(&mut Random::seeded(1)).await;
    let server = world.open().unwrap();
    let text = "x".repeat(100);
    let company = |n| json!({"name": format!("Company {n}"), "externalId": format!("c{n}"), "custom": {"text": text}});
    let companies: Vec<_> = (0..300).map(company).collect();
    server.send(Method::PUT, "/companies", None, &json!(companies)).await;
    let company = server.get("/companies/extid-c150").await;
    let id = company["_id"].as_str().unwrap().to_owned();
    server.store.close();
    let name = br#""name":"Company 150""#;
    let bytes = world.disk.bytes();
    for (at, part) in bytes.windows(name.len()).enumerate() {
        if part == name {
            world.disk.flip((at + name.len() - 2) * 8);
        }
    }
    let server = world.open().unwrap();
    let by_id = format!("/companies/{id}");
    let (status, response) = server.send(Method::GET, &by_id, None, &Value::Null).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(response["code"], "data_corrupted");
    assert_eq!(response["detail"], format!("stored data of `{id}` is corrupted"));
    assert_eq!(server.store.status().damaged, 1);
    assert_eq!(server.get("/companies/extid-c20").await["name"], "Company 20");
    let other = json!({"name": "Other"});
    assert_eq!(server.send(Method::POST, "/companies", None, &other).await.0, StatusCode::OK);
}

/// By how much a long run may grow beyond what it has after its first rounds, but for the disk, which is in memory
/// too: what requests need besides the cache.
const MOST_GROWTH_BYTES: u64 = 64 * 1024 * 1024;
/// Rounds until all caches in memory are full.
const FIRST_ROUNDS: usize = 3;

/// Tables with a retention period, and its days at most: their rows are no more than those of that many days.
const KEPT_DAYS: [(&str, u64); 4] =
    [("messages", 14), ("once", 2), ("once_places", 2), ("parked", 30)];

/// How many rows each table has.
async fn rows_of(server: &Direct) -> BTreeMap<String, u64> {
    let (_, manifest) = server.store.back_up(BackupFile::Unnamed).await.unwrap();
    manifest.tables.into_iter().map(|table| (table.name, table.rows)).collect()
}

/// Memory of this process but for what is on the disk, in bytes.
fn memory(disk: &Disk) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024;
    resident.saturating_sub(disk.memory() as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_of_many_days_loses_nothing_and_does_not_grow() {
    if !is_alone("integrity::a_long_run_of_many_days_loses_nothing_and_does_not_grow") {
        return;
    }
    let mut random = Random::seeded(seed());
    let (days, started) = (size(12, 100), Instant::now());
    let mut world = World::new(&mut random).await;
    let server = world.open().unwrap();
    let (mut first, mut first_rows) = (0, BTreeMap::new());
    for day in 0..days {
        let sending = world.senders.iter_mut().map(|sender| sender.send(&server, 50));
        futures_util::future::join_all(sending).await;
        server.clean_up().await.unwrap();
        if day <= FIRST_ROUNDS {
            first = memory(&world.disk);
        }
        if day == 0 {
            first_rows = rows_of(&server).await;
        }
        world.now = Timestamp::from_ms_clamped(world.now.as_ms() + 24 * HOUR_MS);
        world.clock.set(world.now);
    }
    let grown = memory(&world.disk).saturating_sub(first);
    let rows = rows_of(&server).await;
    for (table, days) in KEPT_DAYS {
        // A day is not like another.
        let most = (first_rows[table] + 20) * (days + 2);
        assert!(rows[table] <= most, "{table} has {} rows, {most} at most", rows[table]);
    }
    server.store.close();
    drop(server);
    world.check().await;
    println!(
        "{days} days, {} requests, {} bytes on disk, {grown} bytes grown, {:?}",
        days * SENDERS * 50,
        world.disk.len(),
        started.elapsed()
    );
    assert!(grown < MOST_GROWTH_BYTES, "grown by {grown} bytes");
}
