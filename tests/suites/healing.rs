//! While the store heals, reads continue from the last good state, and no other process opens its file.

use std::{
    cmp::Reverse,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use redb::StorageBackend;
use serde_json::{Value, json};
use svctrack_store::{
    Store as _, SystemClock,
    embedded::{
        Embedded, OpenError,
        disk_file::DiskFile,
        storage::{Storage, StoreFile, WriteStore},
        verify,
    },
};
use svctrack_tests::{
    TENANT,
    direct::SMALL_LOG,
    disk::{Disk, Fault, UnsyncedChanges},
    in_process::InProcess,
    model::Random,
    process::PATIENCE,
};

use super::{
    faults::settle,
    integrity::{seed, size},
};

/// Cache of a store that has to read from its disk, in bytes: a few pages.
const SMALL_CACHE_BYTES: usize = 32 * 1024;
const CACHE_BYTES: usize = 16 * 1024 * 1024;
/// Companies besides the one that changes.
const OTHERS: usize = 300;
/// How long the disk takes to be opened.
const OPENING: Duration = Duration::from_millis(60);
/// How long it takes no commit.
const FAILING: Duration = Duration::from_millis(400);

/// The company that changes is named by a number. One that was acknowledged, and those that come after it, may
/// be read.
#[derive(Default)]
struct Names {
    acknowledged: AtomicUsize,
    sent: AtomicUsize,
    reads: AtomicUsize,
    is_over: AtomicBool,
}

async fn change(server: &InProcess, names: &Names) -> StatusCode {
    let number = names.sent.fetch_add(1, Ordering::SeqCst) + 1;
    let body = json!([{"externalId": "acme", "name": number.to_string()}]).to_string();
    let headers = [("content-type", "application/json")];
    let response = server.client.send(Method::PUT, "/companies", &headers, body).await.unwrap();
    if response.status == StatusCode::OK {
        names.acknowledged.store(number, Ordering::SeqCst);
    }
    response.status
}

fn check(company: &Value, oldest: usize, names: &Names) {
    let name: usize = company["name"].as_str().unwrap().parse().unwrap();
    let newest = names.sent.load(Ordering::SeqCst);
    assert!((oldest..=newest).contains(&name), "{name} is read, not {oldest} to {newest}");
}

/// A server on a disk, with companies.
async fn filled(cache_bytes: usize) -> (Disk, InProcess) {
    let disk = Disk::with_store();
    let server = InProcess::with_file_and_cache(Box::new(disk.clone()), cache_bytes).await;
    let custom = json!({"text": "x".repeat(500)});
    let company = |number: usize| json!({"externalId": number.to_string(), "name": "Other", "custom": custom});
    let body = Value::from((0..OTHERS).map(company).collect::<Vec<_>>()).to_string();
    let headers = [("content-type", "application/json")];
    server.client.send(Method::PUT, "/companies", &headers, body).await.unwrap();
    (disk, server)
}

/// Reads on and on, a record and lists: each time what is requested must come.
async fn read_on(server: Arc<InProcess>, names: Arc<Names>, number: usize) {
    let other = format!("/companies/extid-{}", number * 97 % OTHERS);
    while !names.is_over.load(Ordering::SeqCst) {
        for path in
            ["/companies/extid-acme", &other, "/companies?externalId=acme", "/companies?limit=1000"]
        {
            let oldest = names.acknowledged.load(Ordering::SeqCst);
            let response = server.client.get(path).await;
            assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
            let response = response.json();
            match response.as_array().map(Vec::as_slice) {
                Some([company]) => check(company, oldest, &names),
                Some(all) => assert_eq!(all.len(), OTHERS + 1),
                None if path == other => {}
                None => check(&response, oldest, &names),
            }
            names.reads.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Changes the company until that fails, or has succeeded for a while.
async fn change_until_it_fails(server: &InProcess, names: &Names) -> bool {
    for _ in 0..20 {
        if change(server, names).await != StatusCode::OK {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn reads_continue_from_the_last_good_state_whatever_fails_and_however_slowly_the_disk_is_opened()
 {
    for cache_bytes in [SMALL_CACHE_BYTES, CACHE_BYTES] {
        let (disk, server) = filled(cache_bytes).await;
        let (server, names) = (Arc::new(server), Arc::new(Names::default()));
        assert_eq!(change(&server, &names).await, StatusCode::OK);
        disk.take_to_open(OPENING);
        let readers: Vec<_> = (0..3)
            .map(|number| tokio::spawn(read_on(server.clone(), names.clone(), number)))
            .collect();

        let mut failures = 0;
        for round in 0..size(12, 200) {
            let (fault, goes_on) = match round % 6 {
                0 => (Fault::Once(disk.operations() + 3 + round as u64 * 7 % 60), false),
                1 => (Fault::ReadOnly, true),
                2 => (Fault::Full(0), true),
                // The file can be written; only, no commit comes to its end.
                3 => (Fault::Syncs, true),
                4 => (Fault::SecondSyncs, false),
                _ => (Fault::NowAndThen(20 + round as u64 % 30), false),
            };
            disk.fail(fault);
            // What fails now and then fails while the store heals, too.
            let again = matches!(fault, Fault::NowAndThen(_) | Fault::SecondSyncs);
            let times = if again { 5 } else { 1 };
            for _ in 0..times {
                failures += usize::from(change_until_it_fails(&server, &names).await);
                tokio::time::sleep(FAILING / 4).await;
            }
            if goes_on {
                settle(&server, "read_only").await;
                tokio::time::sleep(FAILING).await;
                assert_ne!(change(&server, &names).await, StatusCode::OK);
            }
            disk.mend();
            settle(&server, "ok").await;
            assert_eq!(change(&server, &names).await, StatusCode::OK, "{round}");
        }
        names.is_over.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.await.unwrap();
        }
        assert_eq!(server.store.status().damaged, 0);
        let (left, reads) = (UnsyncedChanges::Nothing, names.reads.load(Ordering::SeqCst));
        let restarted = disk.after_power_cut(left, &mut Random::seeded(cache_bytes as u64));
        let restarted = InProcess::with_file_and_cache(Box::new(restarted), cache_bytes).await;
        let company = restarted.client.get("/companies/extid-acme").await.json();
        check(&company, names.acknowledged.load(Ordering::SeqCst), &names);
        println!(
            "{failures} failures with a cache of {cache_bytes} bytes, {reads} reads: nothing lost"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn reads_come_back_with_a_disk_that_can_be_read_again_though_not_written() {
    // Before it can be read no more, its reads may continue over a database of their own, or not yet.
    for first in [Fault::From(0), Fault::ReadOnly] {
        let (disk, server) = filled(SMALL_CACHE_BYTES).await;
        let status = async || server.client.get("/companies?limit=1000").await.status;
        disk.fail(first);
        assert_ne!(change(&server, &Names::default()).await, StatusCode::OK);
        settle(&server, "read_only").await;
        disk.fail(Fault::From(0));
        assert_ne!(status().await, StatusCode::OK);
        disk.fail(Fault::ReadOnly);
        let started = Instant::now();
        while status().await != StatusCode::OK {
            assert!(started.elapsed() < PATIENCE, "{first:?}: it cannot be read");
            tokio::time::sleep(FAILING / 4).await;
        }
        assert_ne!(change(&server, &Names::default()).await, StatusCode::OK);
        disk.mend();
        settle(&server, "ok").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_store_that_is_stopped_while_its_disk_fails_is_started_as_it_is_on_disk() {
    let (disk, server) = filled(CACHE_BYTES).await;
    let names = Names::default();
    assert_eq!(change(&server, &names).await, StatusCode::OK);
    disk.fail(Fault::Syncs);
    assert_ne!(change(&server, &names).await, StatusCode::OK);
    server.store.close();
    drop(server);
    disk.mend();
    let server = InProcess::with_file_and_cache(Box::new(disk.clone()), CACHE_BYTES).await;
    let company = server.client.get("/companies/extid-acme").await.json();
    assert_eq!(company["name"], "1");
    for _ in 0..3 {
        assert_eq!(change(&server, &names).await, StatusCode::OK);
    }
    let restarted = disk.after_power_cut(UnsyncedChanges::Nothing, &mut Random::seeded(1));
    let restarted = InProcess::with_file_and_cache(Box::new(restarted), CACHE_BYTES).await;
    let company = restarted.client.get("/companies/extid-acme").await.json();
    check(&company, names.acknowledged.load(Ordering::SeqCst), &names);
}

/// A store with one company, which has been changed; and how many operations of the disk a change takes.
async fn changed() -> (Disk, InProcess, Names, u64) {
    let disk = Disk::with_store();
    let server = InProcess::with_file(Box::new(disk.clone())).await;
    let (names, mut before) = (Names::default(), 0);
    for _ in 0..3 {
        before = disk.operations();
        assert_eq!(change(&server, &names).await, StatusCode::OK);
    }
    let operations = disk.operations() - before;
    (disk, server, names, operations)
}

/// Opens a store and closes it; returns how many operations of the disk that took.
fn open_and_close(disk: &Disk) -> u64 {
    let before = disk.operations();
    let (store_file, clock) = (Box::new(disk.clone()), Arc::new(SystemClock));
    let opened = Embedded::open_file(store_file, SMALL_CACHE_BYTES, SMALL_LOG, clock);
    if let Ok(store) = opened {
        assert!(store.close());
    }
    disk.operations() - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_program_that_is_killed_and_a_power_cut_at_its_next_start_lose_nothing_together() {
    let mut random = Random::seeded(seed());
    let (_, _, _, of_a_change) = changed().await;
    let mut kills = Vec::new();
    for killed_after in 0..=of_a_change {
        let (disk, server, names, _) = changed().await;
        disk.fail(Fault::Power(disk.operations() + killed_after));
        change(&server, &names).await;
        server.store.close();
        kills.push((disk.after_power_cut(UnsyncedChanges::All, &mut random), names));
    }
    // The more is in memory alone, the more a power cut can take.
    kills.sort_by_key(|(killed, _)| Reverse(killed.unsynced()));
    let mut cuts = 0;
    for (killed, names) in kills.iter().take(size(2, usize::MAX)) {
        let of_a_start = open_and_close(&killed.after_power_cut(UnsyncedChanges::All, &mut random));
        for cut_after in 0..=of_a_start {
            let disk = killed.after_power_cut(UnsyncedChanges::All, &mut random);
            disk.fail(Fault::Power(disk.operations() + cut_after));
            open_and_close(&disk);
            let left = *random.one_of(&[
                UnsyncedChanges::Nothing,
                UnsyncedChanges::Some,
                UnsyncedChanges::Sectors,
            ]);
            let found = disk.after_power_cut(left, &mut random);
            let server = InProcess::with_file(Box::new(found)).await;
            let company = server.client.get("/companies/extid-acme").await.json();
            check(&company, names.acknowledged.load(Ordering::SeqCst), names);
            cuts += 1;
        }
    }
    println!("{cuts} power cuts at the start after a kill: nothing lost");
}

/// Rows of a bulk call whose logs and engagement are written at a time, and the bytes of one: with a small cache they
/// go to the disk before the commit does.
const BULK_ROWS: usize = 120;
const BULK_ROW_BYTES: usize = 2_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_full_disk_is_reported_as_full_wherever_in_a_bulk_call_it_is_met() {
    let (disk, server) = filled(SMALL_CACHE_BYTES).await;
    let note = "x".repeat(BULK_ROW_BYTES);
    let event = |user: usize| json!({"euExtId": user.to_string(), "cId": "1", "action": "Login", "info": {"note": note}});
    let body = Value::from((0..BULK_ROWS).map(event).collect::<Vec<_>>()).to_string();
    let path = format!("/analytics/bulk/{TENANT}");
    let status =
        async || server.client.send(Method::POST, &path, &[], body.clone()).await.unwrap().status;
    // The first call finds no users yet.
    assert_eq!(status().await, StatusCode::OK);
    let before = disk.operations();
    assert_eq!(status().await, StatusCode::OK);
    let operations = disk.operations() - before;
    let (rounds, mut met) = (size(20, 200), 0);
    for round in 0..rounds {
        disk.fail(Fault::Full(disk.operations() + operations * round as u64 / rounds as u64));
        match status().await {
            // It took fewer operations than the one that was counted.
            StatusCode::OK => {}
            told => {
                assert_eq!(told, StatusCode::INSUFFICIENT_STORAGE, "{round}");
                met += 1;
            }
        }
        disk.mend();
        settle(&server, "ok").await;
        assert_eq!(status().await, StatusCode::OK);
    }
    assert!(met >= rounds / 4, "{met} of {rounds}, {operations} operations");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rejection_reports_the_current_fault_of_the_store() {
    let (disk, server) = filled(CACHE_BYTES).await;
    disk.fail(Fault::ReadOnly);
    assert_eq!(change(&server, &Names::default()).await, StatusCode::SERVICE_UNAVAILABLE);
    for (fault, told) in [
        (Fault::Full(0), StatusCode::INSUFFICIENT_STORAGE),
        (Fault::ReadOnly, StatusCode::SERVICE_UNAVAILABLE),
    ] {
        disk.fail(fault);
        let started = Instant::now();
        while change(&server, &Names::default()).await != told {
            assert!(started.elapsed() < PATIENCE, "{fault:?}");
            tokio::time::sleep(FAILING / 4).await;
        }
    }
    disk.mend();
    settle(&server, "ok").await;
}

/// A file that ignores writes on command.
#[derive(Clone)]
struct Failing {
    file: DiskFile,
    fails: Arc<AtomicBool>,
}

#[derive(Debug)]
struct FailingStorage {
    under: Storage,
    fails: Arc<AtomicBool>,
}

impl FailingStorage {
    fn change(&self) -> io::Result<()> {
        let fails = self.fails.load(Ordering::SeqCst);
        if fails { Err(io::Error::other("the disk fails")) } else { Ok(()) }
    }
}

impl StorageBackend for FailingStorage {
    fn len(&self) -> io::Result<u64> {
        self.under.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.under.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change()?;
        self.under.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change()?;
        self.under.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change()?;
        self.under.write(offset, data)
    }
}

impl StoreFile for Failing {
    fn open(&self) -> Result<Storage, OpenError> {
        let under = self.file.open()?;
        Ok(Storage::new(FailingStorage { under, fails: self.fails.clone() }))
    }

    fn try_to_write(&self) -> io::Result<()> {
        Ok(())
    }

    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError> {
        self.file.replace(write)
    }

    fn name(&self) -> String {
        self.file.name()
    }
}

/// Tries to open a store, or to verify it, until it is over; each time it must be locked.
fn try_to_open(folder: &Path, is_over: &AtomicBool) -> usize {
    let mut tries = 0;
    while !is_over.load(Ordering::SeqCst) {
        let opened = match tries % 2 {
            0 => Embedded::open(folder, CACHE_BYTES, Arc::new(SystemClock)).err(),
            _ => verify(folder, CACHE_BYTES).err(),
        };
        assert!(matches!(opened, Some(OpenError::Locked)), "{opened:?}");
        tries += 1;
    }
    tries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_else_opens_the_file_of_a_store_that_heals() {
    let folder = tempfile::tempdir().unwrap();
    drop(Embedded::open(folder.path(), CACHE_BYTES, Arc::new(SystemClock)).unwrap());
    let file = DiskFile::at(&folder.path().join("svctrack.redb"));
    // A process that another test is just starting has for a short time the open files of this one.
    while matches!(file.open(), Err(OpenError::Locked)) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let fails = Arc::<AtomicBool>::default();
    let store_file = Failing { file, fails: fails.clone() };
    let server = InProcess::with_file_and_cache(Box::new(store_file), CACHE_BYTES).await;
    let (names, is_over) = (Names::default(), Arc::<AtomicBool>::default());
    let others = thread::spawn({
        let (folder, is_over) = (folder.path().to_owned(), is_over.clone());
        move || try_to_open(&folder, &is_over)
    });
    let started = Instant::now();
    for _ in 0..size(40, 400) {
        fails.store(true, Ordering::SeqCst);
        assert!(change_until_it_fails(&server, &names).await);
        fails.store(false, Ordering::SeqCst);
        settle(&server, "ok").await;
        assert_eq!(change(&server, &names).await, StatusCode::OK);
        assert!(started.elapsed() < 4 * PATIENCE);
    }
    is_over.store(true, Ordering::SeqCst);
    let tries = others.join().unwrap();
    println!("{tries} tries to open the file of a store that heals: nothing lost");
    assert!(tries > 40);
    drop(server);
}
