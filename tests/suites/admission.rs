//! Who is let in, and what they may take, where many come at once who show no credentials: bodies of many rows, and heads
//! that do not end. What is compared is an order or an amount, not a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use hyper::{Method, StatusCode};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    attack::Neighbour,
    client::Client,
    process::{PATIENCE, Server, peak_memory},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

const MIB: u64 = 1024 * 1024;

/// A server with the least cache that is recommended, and another tenant than the test's.
struct World {
    server: Server,
    neighbour: Neighbour,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let flags = ["--cache-mb", "64"];
        let server = Server::start_with_operator(folder.path(), &token, &operator, &flags).await;
        let neighbour = Neighbour::create(&server.client.with_token(operator.reveal())).await;
        Self { server, neighbour, _folder: folder }
    }
}

/// Senders of bodies of many rows at once, and the rows of each body.
const SENDERS: usize = 300;
const ROWS: usize = 20_000;
/// Bulk calls of another tenant meanwhile.
const CALLS: usize = 9;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_many_rows_are_no_queue_for_another_tenant_and_take_little_memory() {
    let world = World::start().await;
    let before = peak_memory(world.server.id());
    let answered = Arc::<AtomicUsize>::default();
    let body = bytes::Bytes::from(format!("[{}{{}}]", "{},".repeat(ROWS - 1)));
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        let (client, body) = (Client::new(&world.server.base, None), body.clone());
        let answered = answered.clone();
        senders.spawn(async move {
            let path = format!("/analytics/bulk/{TENANT}");
            loop {
                let answer = client.send(Method::POST, &path, &[], body.clone()).await.unwrap();
                assert!([200, 503].contains(&answer.status.as_u16()), "{}", answer.text());
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let begun = async {
        while answered.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.unwrap();
    let mut passed = Vec::new();
    for _ in 0..CALLS {
        let before = answered.load(Ordering::Relaxed);
        let took = world.neighbour.calls_in_bulk().await;
        passed.push(answered.load(Ordering::Relaxed) - before);
        println!("{took:?}, {passed:?}");
    }
    assert!(senders.try_join_next().is_none(), "an attacker has ended");
    senders.abort_all();
    passed.sort_unstable();
    println!("{passed:?} bodies were answered before that of the other tenant");
    assert!(passed[CALLS / 2] < SENDERS / 4, "{passed:?} were answered before it");
    let more = (peak_memory(world.server.id()) - before) / MIB;
    println!("{more} MiB more");
    assert!(more < 110, "{more} MiB more");
    world.server.kill().await;
}

/// Connections that send most of the largest head and no more, and what they may take.
const HEADS: usize = 4_050;
const HEAD_BYTES: usize = 21_000;
const HEADS_MIB: u64 = 64;

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_do_not_end_take_little_memory_and_keep_no_other_head_out() {
    let world = World::start().await;
    let client = &world.server.client;
    let before = peak_memory(world.server.id());
    let head = format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Much: {}", "x".repeat(HEAD_BYTES));
    let connect = |_| async {
        let mut stream = TcpStream::connect(client.address()).await.unwrap();
        // Some are disconnected meanwhile.
        let _ = stream.write_all(head.as_bytes()).await;
        stream
    };
    let held: Vec<_> = stream::iter(0..HEADS).map(connect).buffer_unordered(64).collect().await;
    let long = "x".repeat(HEAD_BYTES);
    for _ in 0..10 {
        let headers = [("x-much", long.as_str())];
        let answer = client.without_token().send(Method::GET, "/health", &headers, "").await;
        assert_eq!(answer.unwrap().status, StatusCode::OK);
        world.neighbour.with_new_connection().calls(0).await;
    }
    let more = (peak_memory(world.server.id()) - before) / MIB;
    println!("{more} MiB more");
    assert!(more < HEADS_MIB, "{more} MiB more");
    drop(held);
    world.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_had_a_large_head_gives_way_to_another_one_with_such_a_head() {
    let world = World::start().await;
    let head = format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Much: {}\r\n\r\n", "x".repeat(20_000));
    let ask = |_| async {
        let mut stream = TcpStream::connect(world.server.client.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        stream
    };
    let before = peak_memory(world.server.id());
    let held: Vec<_> = stream::iter(0..1_000).map(ask).buffer_unordered(16).collect().await;
    let more = (peak_memory(world.server.id()) - before) / MIB;
    println!("{more} MiB more, with {} connections", held.len());
    assert!(more < 24, "{more} MiB more");
    world.server.kill().await;
}
