//! Those who are slow, and bodies that grow when they are unpacked, beside little memory and few files: ordinary senders
//! are served meanwhile.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use hyper::StatusCode;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    attack::Attack,
    client::Client,
    process::{PATIENCE, Server, peak_memory},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::Command,
};

/// Requests of ordinary clients to each server.
const ORDINARY: usize = 400;
/// How many times longer all of them together may take than those to a server that nobody attacks, whose turns come in
/// between. One in a hundred that waits until a slow client is cut off, for seconds, is more than that; `tests/bench`
/// has the limit in milliseconds.
const MAX_SLOWER: u32 = 10;
/// What the server may have of memory, in bytes.
const MEMORY_BYTES: u64 = 256 * 1024 * 1024;

/// A limit of the memory of a process, while it is held.
struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// None where this process may make none.
    fn of(process: u32) -> Option<Self> {
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
            .into_iter()
            .find_map(|(root, limit)| Self::below(Path::new(root), limit, process))
    }

    fn below(root: &Path, limit: &str, process: u32) -> Option<Self> {
        let group = Self(root.join(format!("svctrack-test-{process}")));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limit), MEMORY_BYTES.to_string()).ok()?;
        fs::write(group.0.join("cgroup.procs"), process.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// How long an ordinary request takes, now and then on a connection of its own.
async fn ordinary(server: &Server, token: &Token, number: usize) -> Duration {
    let new = Client::new(&server.base, Some(token.reveal()));
    let client = if number.is_multiple_of(5) { &new } else { &server.client };
    let started = Instant::now();
    if number.is_multiple_of(2) {
        let action = format!("event {number}");
        let event = json!({"externalId": "7", "companyExternalId": "acme", "action": action});
        assert_eq!(client.track(&event).await.unwrap().text(), "OK");
    } else {
        assert_eq!(client.get("/companies/extid-acme").await.status, StatusCode::OK);
    }
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_slow_clients_and_bombs_hold_up_nobody_with_little_memory() {
    let (folder, quiet_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let quiet = Server::start_with_acme(quiet_folder.path(), &token).await;
    let limit = MemoryLimit::of(server.id());
    if limit.is_none() {
        let _ = writeln!(std::io::stderr(), "NOT TRIED: this process may limit no memory");
    }
    let attack = Attack::begin(&server.client, &token).await;
    let (mut attacked, mut alone) = (Duration::ZERO, Duration::ZERO);
    for number in 0..ORDINARY {
        attacked += ordinary(&server, &token, number).await;
        alone += ordinary(&quiet, &token, number).await;
    }
    attack.end();
    let peak = peak_memory(server.id());
    println!("{attacked:?} beside the attack, {alone:?} without; at most {peak} bytes of memory");
    assert!(attacked < alone * MAX_SLOWER, "{attacked:?}, and {alone:?} without the attack");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    assert_eq!(server.client.actions().await.len(), ORDINARY / 2);
    server.kill().await;
    quiet.kill().await;
}

/// Waits for the response to a request, and returns the connection.
async fn answered(mut stream: TcpStream) -> TcpStream {
    let mut head = [0; 12];
    let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut head)).await;
    read.expect("no response").unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn without_files_left_those_who_are_there_are_served_and_the_others_when_there_are_some() {
    const MORE_FILES: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let open_files = || fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let most = open_files() + MORE_FILES;
    let limit = format!("--nofile={most}:{most}");
    let mut command = Command::new("prlimit");
    command.args(["--pid", &server.id().to_string(), &limit]);
    assert!(command.status().await.unwrap().success());

    let connect = async |_| {
        let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        stream
    };
    let streams = join_all((0..4 * MORE_FILES).map(connect)).await;
    let started = Instant::now();
    while open_files() < most {
        assert!(started.elapsed() < PATIENCE, "there are files left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // The client has a connection since before.
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "meanwhile"});
    assert_eq!(server.client.track(&event).await.unwrap().text(), "OK");
    // Each one that is served goes, and makes room for another.
    let waiting: FuturesUnordered<_> = streams.into_iter().map(answered).collect();
    waiting.map(drop).collect::<()>().await;
    assert_eq!(server.client.actions().await, ["meanwhile"]);
    server.kill().await;
}
