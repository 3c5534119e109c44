//! What callers without a token may have stored in a day, by default. Only with `SVCTRACK_FAULTS`: it is a GiB.

use std::{env, fs, os::unix::fs::MetadataExt as _};

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{
    client::Client,
    process::{Server, peak_memory},
};

use crate::startup::FILE;

const MIB: usize = 1024 * 1024;
/// Disk and memory that a small machine has for the server.
const MAX_FILE_BYTES: u64 = 2 * 1024 * MIB as u64;
const MAX_MEMORY_BYTES: u64 = 512 * MIB as u64;
/// Rows of a call, and bytes of the text of each.
const ROWS: usize = 100;
const ROW_BYTES: usize = 60_000;
/// Calls of an address after which it has no limit.
const MAX_CALLS: usize = 1024 * MIB / (ROWS * ROW_BYTES);

/// Sends events from an address until they are rejected; returns the calls that were accepted.
async fn calls_until_rejected(anybody: &Client, tenant: &str, address: &str) -> usize {
    let path = format!("/analytics/bulk/{tenant}");
    let headers = [("content-type", "application/json"), ("x-forwarded-for", address)];
    let note = "x".repeat(ROW_BYTES);
    let row = json!({"euExtId": "7", "cId": "acme", "action": "x", "info": {"note": note}});
    let body = bytes::Bytes::from(json!(vec![row; ROWS]).to_string());
    for calls in 0..MAX_CALLS {
        let sent = anybody.send(Method::POST, &path, &headers, body.clone()).await.unwrap();
        if sent.status != StatusCode::OK {
            assert_eq!(sent.json()["code"], "daily_limit_reached", "{}", sent.text());
            assert!(sent.headers.contains_key("retry-after"));
            return calls;
        }
        assert!(!sent.headers.contains_key("svctrack-rejected-count"), "{:?}", sent.headers);
    }
    panic!("{address} has no limit");
}

/// Days since 1970, in UTC.
fn today() -> i64 {
    SystemClock.now().epoch_days()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_machine_survives_what_senders_without_a_token_may_store_in_a_day_by_default() {
    if env::var_os("SVCTRACK_FAULTS").is_none() {
        return;
    }
    loop {
        let day = today();
        let used = use_up_a_day().await;
        // Counts begin again at midnight.
        if day == today() {
            return used.check();
        }
    }
}

/// What was stored in a day, and what it takes.
#[derive(Debug)]
struct Used {
    /// Events of each address, in MiB.
    stored: Vec<usize>,
    file_bytes: u64,
    memory_bytes: u64,
}

impl Used {
    fn check(self) {
        println!("a day of events without a token, on disk and in memory: {self:?}");
        let Self { stored, file_bytes, memory_bytes } = self;
        // Each address has half of what the ones before it have left.
        for (stored, share) in stored.iter().zip([512, 256, 128, 64]) {
            assert!((share - 10..=share).contains(stored), "{share}");
        }
        let all = stored.iter().sum::<usize>() * MIB;
        assert!((all as u64..=MAX_FILE_BYTES).contains(&file_bytes));
        assert!(memory_bytes <= MAX_MEMORY_BYTES);
    }
}

async fn use_up_a_day() -> Used {
    let folder = tempfile::tempdir().unwrap();
    let (server, printed) = Server::start_first(folder.path(), &["--data", "."]).await;
    let after = |mark: &str| {
        let (_, rest) = printed.split_once(mark).unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    };
    let (tenant, token) = (after("  Tenant "), after("  API token "));
    let own = server.client.with_token(&token);
    own.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let mut stored = Vec::new();
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"] {
        let calls = calls_until_rejected(&server.client, &tenant, address).await;
        stored.push(calls * ROWS * ROW_BYTES / MIB);
    }
    let file_bytes = fs::metadata(folder.path().join(FILE)).unwrap().blocks() * 512;
    let memory_bytes = peak_memory(server.id());
    // Who has a token is served as before.
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "own"});
    let tracked = own.post(&format!("/analytics/{tenant}"), &event).await;
    assert_eq!(tracked.text(), "OK");
    server.stop().await;
    Used { stored, file_bytes, memory_bytes }
}
