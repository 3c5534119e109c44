//! Those who are slow, and bodies that grow when they are unpacked, beside little memory and few files: ordinary senders
//! are served meanwhile.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{PATIENCE, Server},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::Command,
};

/// Clients that are slow.
const SLOW: usize = 1_000;
/// How often each of them sends a byte.
const DRIPS_EVERY: Duration = Duration::from_secs(1);
/// Requests of ordinary clients that are measured, and how soon 99 of 100 are to be answered.
const ORDINARY: usize = 400;
const ANSWERED_WITHIN: Duration = Duration::from_millis(100);
/// What the server may have of memory, in bytes.
const MEMORY_BYTES: u64 = 256 * 1024 * 1024;
/// A body of spaces, as it is unpacked: `BOMB_PARTS` of so many bytes.
const BOMB_PART_BYTES: usize = 30 * 1024 * 1024;
const BOMB_PARTS: usize = 100;

/// Few bytes that come to 3 GB.
fn bomb() -> Vec<u8> {
    let mut part = GzEncoder::new(Vec::new(), Compression::best());
    part.write_all(&vec![b' '; BOMB_PART_BYTES]).unwrap();
    part.finish().unwrap().repeat(BOMB_PARTS)
}

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

/// The most memory that a process has had, in bytes.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

/// What a slow client sends at once; after it comes a byte at a time, where it is not over.
fn slow_request(number: usize, token: &Token) -> String {
    let token = token.reveal();
    match number % 4 {
        0 => "GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_owned(),
        1 => {
            format!("POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n")
        }
        2 => format!(
            "POST /analytics/bulk/{TENANT} HTTP/1.1\r\nHost: x\r\nContent-Length: 33000000\r\n\r\n["
        ),
        // Its answer is not read.
        _ => format!(
            "GET /companies?limit=2000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        ),
    }
}

fn is_over(request: &str) -> bool {
    request.starts_with("GET") && request.ends_with("\r\n\r\n")
}

/// Sends for ever, and connects again whenever it is cut off.
async fn be_slow(address: String, request: String) {
    loop {
        let Ok(mut stream) = TcpStream::connect(&address).await else { continue };
        let mut sent = stream.write_all(request.as_bytes()).await;
        while sent.is_ok() {
            tokio::time::sleep(DRIPS_EVERY).await;
            if !is_over(&request) {
                sent = stream.write_all(b" ").await;
            }
        }
    }
}

/// How long an ordinary request takes, now and then on a connection of its own.
async fn ordinary(client: &Client, number: usize) -> Duration {
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
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let limit = MemoryLimit::of(server.id());
    if limit.is_none() {
        let _ = writeln!(std::io::stderr(), "NOT TRIED: this process may limit no memory");
    }
    let companies: Vec<_> = (0..400)
        .map(|number| json!({"externalId": format!("c{number}"), "name": "x".repeat(500)}))
        .collect();
    let json = [("content-type", "application/json")];
    let companies = json!(companies).to_string();
    let sent = server.client.send(Method::PUT, "/companies", &json, companies).await.unwrap();
    assert_eq!(sent.status, StatusCode::OK);

    let address = server.client.address().to_owned();
    let slow: Vec<_> = (0..SLOW)
        .map(|number| tokio::spawn(be_slow(address.clone(), slow_request(number, &token))))
        .collect();
    let (client, path) = (server.client.clone(), format!("/analytics/bulk/{TENANT}"));
    let bombs = tokio::spawn(async move {
        let bomb = bomb();
        loop {
            let headers = [("content-encoding", "gzip")];
            let answer = client.send(Method::POST, &path, &headers, bomb.clone()).await.unwrap();
            // There may be no room for it meanwhile.
            assert!([413, 503].contains(&answer.status.as_u16()), "{}", answer.text());
        }
    });
    tokio::time::sleep(2 * DRIPS_EVERY).await;
    let mut times = Vec::new();
    for number in 0..ORDINARY {
        // Some on connections that are there, some on new ones.
        let new = Client::new(&server.base, Some(token.reveal()));
        let client = if number.is_multiple_of(5) { &new } else { &server.client };
        times.push(ordinary(client, number).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!bombs.is_finished(), "{:?}", bombs.await);
    bombs.abort();
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    times.sort_unstable();
    let (p99, peak) = (times[ORDINARY * 99 / 100], peak_memory(server.id()));
    println!("ordinary requests: {p99:?} of 99 in 100; {peak} bytes of memory at the most");
    assert!(p99 < ANSWERED_WITHIN, "{p99:?}");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    assert_eq!(server.client.actions().await.len(), ORDINARY / 2);
    server.kill().await;
}

/// Whether a connection has an answer by now.
async fn is_answered(stream: &mut TcpStream, within: Duration) -> bool {
    let mut answer = [0; 12];
    let read = tokio::time::timeout(within, stream.read_exact(&mut answer)).await;
    read.is_ok_and(|read| read.is_ok()) && answer == *b"HTTP/1.1 200"
}

#[tokio::test(flavor = "multi_thread")]
async fn without_files_left_those_who_are_there_are_served_and_the_others_when_there_are_some() {
    const MORE_FILES: usize = 5;
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let open = fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let limit = format!("--nofile={0}:{0}", open + MORE_FILES);
    let mut command = Command::new("prlimit");
    command.args(["--pid", &server.id().to_string(), &limit]);
    assert!(command.status().await.unwrap().success());

    let connect = async |_| {
        let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        stream
    };
    let mut streams = join_all((0..4 * MORE_FILES).map(connect)).await;
    let moment = Duration::from_secs(1);
    let answered = join_all(streams.iter_mut().map(|stream| is_answered(stream, moment))).await;
    let served = answered.iter().filter(|is_answered| **is_answered).count();
    assert!((1..streams.len()).contains(&served), "{served} are served");
    // The client has a connection since before.
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "meanwhile"});
    assert_eq!(server.client.track(&event).await.unwrap().text(), "OK");

    // Those who have been served go, and make room for others.
    let mut waiting: Vec<_> = streams.into_iter().zip(answered).collect();
    waiting.retain(|(_, is_answered)| !is_answered);
    for (mut stream, _) in waiting {
        assert!(is_answered(&mut stream, PATIENCE).await);
    }
    assert_eq!(server.client.actions().await, ["meanwhile"]);
    server.kill().await;
}
