//! Slow clients, and bodies that grow when they are unpacked, with little memory and few files: ordinary senders are
//! served meanwhile.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use hyper::Method;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    attack::{Attack, Neighbour, Slow, Unread, fill_with_large, unread},
    client::Client,
    process::{PATIENCE, Server, peak_memory},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    process::Command,
};

/// Requests of ordinary clients to each server.
const ORDINARY: usize = 400;
/// How many times longer all of them together may take than those to a server without attackers, whose turns come in
/// between. One in a hundred that waits until a slow client is disconnected, for seconds, is more than that;
/// `tests/bench` has the limit in milliseconds.
const MAX_SLOWER: u32 = 10;
/// Requests of the tenant itself that is attacked.
const OF_TENANT: usize = 10;
/// What the server may have of memory, in bytes.
const MEMORY_BYTES: u64 = 256 * 1024 * 1024;

/// A limit of the memory of a process, while it is held.
struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// None where this process may create none.
    fn impose(process: u32) -> Option<Self> {
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

/// A server with another tenant than the test's.
struct World {
    server: Server,
    neighbour: Neighbour,
    token: Token,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let flags = ["--cache-mb", "64"];
        let server = Server::start_with_operator(folder.path(), &token, &operator, &flags).await;
        let neighbour = Neighbour::create(&server.client.with_token(operator.reveal())).await;
        Self { server, neighbour, token, _folder: folder }
    }

    /// How long ordinary calls take, now and then on a connection of its own.
    async fn ordinary(&self, number: usize) -> Duration {
        match number % 20 {
            0 => self.neighbour.calls_in_bulk().await,
            1..=4 => self.neighbour.with_new_connection().calls(number).await,
            _ => self.neighbour.calls(number).await,
        }
    }

    async fn end(self) {
        self.server.kill().await;
    }
}

/// Sends ordinary calls of another tenant to a server that is attacked and, in turns, to one that is not.
async fn compare(attacked: &World, quiet: &World, count: usize) {
    attacked.neighbour.wait_until_served().await;
    let (mut beside, mut alone) = (Duration::ZERO, Duration::ZERO);
    for number in 0..count {
        beside += attacked.ordinary(number).await;
        alone += quiet.ordinary(number).await;
    }
    check_times(beside, alone);
}

/// Checks how long calls took during an attack and without it.
fn check_times(beside: Duration, alone: Duration) {
    println!("{beside:?} beside the attack, {alone:?} without");
    assert!(beside < alone * MAX_SLOWER, "{beside:?}, and {alone:?} without the attack");
}

/// How long a large bulk call of the tenant that is attacked takes.
async fn large_call(server: &Server) -> Duration {
    let rows = json!([{"euExtId": "7", "action": "x".repeat(1_000)}]).to_string();
    let body = format!("{rows}{}", " ".repeat(2_000_000));
    let path = format!("/analytics/bulk/{TENANT}");
    let started = Instant::now();
    let response = server.client.send(Method::POST, &path, &[], body).await.unwrap();
    assert_eq!(response.text(), "OK");
    started.elapsed()
}

/// Sends an event on a connection of its own.
async fn send_as_newcomer(server: &Server) {
    let client = Client::new(&server.base, None);
    let event = json!({"externalId": "7", "action": "meanwhile"});
    assert_eq!(client.track(&event).await.unwrap().text(), "OK");
}

/// Stalls in the middle of an event, until the server disconnects.
async fn stall(server: &Server) {
    let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
    let path = format!("/analytics/{TENANT}");
    let sent = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{");
    stream.write_all(sent.as_bytes()).await.unwrap();
    // It may reset the connection.
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_slow_clients_and_bombs_hold_up_nobody_with_little_memory() {
    let (attacked, quiet) = (World::start().await, World::start().await);
    let limit = MemoryLimit::impose(attacked.server.id());
    if limit.is_none() {
        let _ = writeln!(std::io::stderr(), "NOT TRIED: this process may limit no memory");
    }
    let attack = Attack::begin(&attacked.server.client, &attacked.token).await;
    compare(&attacked, &quiet, ORDINARY).await;
    attack.end();
    let peak = peak_memory(attacked.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    attacked.end().await;
    quiet.end().await;
}

/// The same during all attacks at once, where a build that is not optimized is given more.
const MEMORY_BYTES_BESIDE_ALL: u64 =
    if cfg!(debug_assertions) { MEMORY_BYTES / 8 * 10 } else { MEMORY_BYTES };
/// Ordinary calls during all attacks at once.
const ORDINARY_BESIDE_ALL: usize = 100;
/// Large records of a list: 19 MB.
const LARGE: usize = 20;
/// Slow clients of all kinds among them, and the part of those who do not read what they ask for: a build that is not
/// optimized, and its clients on the same machine, do no more in time.
const SLOW: usize = 200;
const PART_OF_ALL: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn all_attacks_at_once_take_little_memory_and_have_no_ordinary_call_rejected() {
    let world = World::start().await;
    let (client, token) = (&world.server.client, &world.token);
    fill_with_large(client, LARGE).await;
    let mut attacks = vec![Attack::begin_some(client, token, SLOW).await];
    let half_events = std::iter::repeat_n(Slow::HalfEvent, SLOW);
    attacks.push(Attack::begin_slow(client, token, half_events).await);
    for what in Unread::ALL {
        let count = what.count().div_ceil(PART_OF_ALL);
        attacks.push(Attack::begin_unread(client, what, count).await);
    }
    world.neighbour.wait_until_served().await;
    for number in 0..ORDINARY_BESIDE_ALL {
        world.ordinary(number).await;
    }
    attacks.into_iter().for_each(Attack::end);
    let peak = peak_memory(world.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES_BESIDE_ALL, "{peak} bytes");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_that_come_slowly_hold_up_no_bulk_call() {
    let (attacked, quiet) = (World::start().await, World::start().await);
    for senders in [1, 8] {
        let slow = std::iter::repeat_n(Slow::Large, senders);
        let attack = Attack::begin_slow(&attacked.server.client, &attacked.token, slow).await;
        compare(&attacked, &quiet, ORDINARY / 10).await;
        // Nor those of the tenant itself.
        let (mut beside, mut alone) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..OF_TENANT {
            beside += large_call(&attacked.server).await;
            alone += large_call(&quiet.server).await;
        }
        check_times(beside, alone);
        attack.end();
    }
    attacked.end().await;
    quiet.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_clients_that_stall_in_the_middle_of_an_event_hold_up_no_event() {
    let (attacked, quiet) = (World::start().await, World::start().await);
    let slow = std::iter::repeat_n(Slow::HalfEvent, 1_000);
    let attack = Attack::begin_slow(&attacked.server.client, &attacked.token, slow).await;
    compare(&attacked, &quiet, ORDINARY / 4).await;
    attack.end();
    attacked.end().await;
    quiet.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_few_files_may_be_open_idle_connections_give_way_to_new_ones() {
    const IDLE: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_files(folder.path(), &token, 64).await;
    let address = server.client.address();
    for sent in
        ["", "GET /health HTTP/1.1\r\nHost: x\r\nX-", "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"]
    {
        let connect = async |_| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            stream
        };
        let idle = join_all((0..IDLE).map(connect)).await;
        for _ in 0..10 {
            let client = Client::new(&server.base, None);
            let event = json!({"externalId": "7", "action": "meanwhile"});
            let tracked = tokio::time::timeout(PATIENCE, client.track(&event)).await;
            assert_eq!(tracked.expect("it had to wait").unwrap().text(), "OK");
        }
        drop(idle);
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_few_files_may_be_open_senders_that_stall_or_trickle_give_way_to_new_ones() {
    let (folder, quiet_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let token = Token::generate().unwrap();
    let server = Server::start_with_files(folder.path(), &token, 64).await;
    let quiet = Server::start_with_files(quiet_folder.path(), &token, 64).await;
    for (slow, count) in [(Slow::HalfEvent, 300), (Slow::Trickle, 100)] {
        let slow = std::iter::repeat_n(slow, count);
        let attack = Attack::begin_slow(&server.client, &token, slow).await;
        for _ in 0..OF_TENANT {
            tokio::select! {
                () = send_as_newcomer(&server) => {}
                // Where nobody needs its file, a sender that stalls is disconnected no sooner.
                () = stall(&quiet) => panic!("an event waited until a sender was disconnected"),
            }
        }
        attack.end();
    }
    server.kill().await;
    quiet.kill().await;
}

/// How much of the responses those who read slowly read at a time, in bytes, and how often.
const SIP_BYTES: usize = 64;
const SIPS_EVERY: Duration = Duration::from_millis(500);
/// How long an event may take while all places are those of clients that do not read: they are given up in turns.
const SOON: Duration = Duration::from_secs(30);

/// Connections that request more than the system holds for them, and have read nothing yet.
async fn connect_unread(server: &Server, count: usize) -> Vec<TcpStream> {
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(12);
    let connect = async |_| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(2_048).unwrap();
        let mut stream = socket.connect(server.client.address().parse().unwrap()).await.unwrap();
        stream.write_all(requests.as_bytes()).await.unwrap();
        stream
    };
    join_all((0..count).map(connect)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn where_few_files_may_be_open_clients_that_read_nothing_or_little_give_way_to_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_files(folder.path(), &token, 64).await;
    for reads in [false, true] {
        let mut unread = connect_unread(&server, 100).await;
        let sip = async {
            loop {
                tokio::time::sleep(SIPS_EVERY).await;
                for stream in unread.iter_mut().filter(|_| reads) {
                    let _ = stream.try_read(&mut [0; SIP_BYTES]);
                }
            }
        };
        let newcomers = async {
            for _ in 0..OF_TENANT {
                send_as_newcomer(&server).await;
            }
        };
        tokio::select! {
            served = tokio::time::timeout(SOON, newcomers) => served.expect("it had to wait"),
            () = sip => {}
        }
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_few_files_may_be_open_the_streams_of_a_tenant_leave_most_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_files(folder.path(), &token, 64).await;
    let (mut held, mut streams) = (Vec::new(), 0);
    for _ in 0..100 {
        let (connections, statuses) = unread(&server.client, "/activities/stream", 1).await;
        streams += usize::from(statuses == [200]);
        held.push(connections);
    }
    assert!((1..=8).contains(&streams), "{streams}");
    for _ in 0..OF_TENANT {
        tokio::time::timeout(SOON, send_as_newcomer(&server)).await.expect("it had to wait");
    }
    server.kill().await;
}

/// Waits for the response to a request, and returns the connection.
async fn with_response(mut stream: TcpStream) -> TcpStream {
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
    // None of these connections ends, so that files run out; the test does not see how soon others make room.
    let streams = join_all((0..4 * MORE_FILES).map(connect)).await;
    let started = Instant::now();
    // The client has an older connection, which may give way just as it is used; then it opens another one.
    let event = json!({"messageId": "1", "externalId": "7", "companyExternalId": "acme", "action": "meanwhile"});
    while !server.client.track(&event).await.is_ok_and(|response| response.text() == "OK") {
        assert!(started.elapsed() < PATIENCE, "it is not served");
    }
    // Each one that is served goes, and makes room for another.
    let waiting: FuturesUnordered<_> = streams.into_iter().map(with_response).collect();
    waiting.map(drop).collect::<()>().await;
    assert_eq!(server.client.actions().await, ["meanwhile"]);
    server.kill().await;
}
