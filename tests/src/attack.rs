//! Senders that try to block a server: slow clients that never finish, large bodies that are declared and come slowly,
//! and small ones that unpack to gigabytes; and the ordinary calls of another tenant meanwhile.

use std::{
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

use crate::{TENANT, client::Client, process::PATIENCE};

/// Clients that are slow.
const SLOW: usize = 1_000;
/// Those of them that send a large body at [`LARGE_BYTES_PER_SECOND`].
const LARGE: usize = 8;
/// How often each of them sends something.
const DRIPS_EVERY: Duration = Duration::from_secs(1);
/// The same of those that are never silent for long.
const TRICKLES_EVERY: Duration = Duration::from_millis(30);
/// A little more than a large body must come at.
const LARGE_BYTES_PER_SECOND: usize = 70_000;
/// How long a disconnected client waits before it connects again. A thousand of them at once are a flood, in which a build
/// that is not optimized does nothing else on a busy machine.
const CONNECTS_AGAIN_AFTER: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::ZERO };
/// Half of the largest event, in bytes.
const HALF_EVENT_BYTES: usize = 32 * 1024;
/// A body of spaces, as it is unpacked: `BOMB_PARTS` of this many bytes.
const BOMB_PART_BYTES: usize = 30 * 1024 * 1024;
const BOMB_PARTS: usize = 100;

/// Few bytes that unpack to 3 GB.
fn bomb() -> Vec<u8> {
    let mut part = GzEncoder::new(Vec::new(), Compression::best());
    part.write_all(&vec![b' '; BOMB_PART_BYTES]).unwrap();
    part.finish().unwrap().repeat(BOMB_PARTS)
}

/// What a slow client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// Sends a head, byte by byte.
    Head,
    /// Sends an event, byte by byte.
    Event,
    /// Sends an event, byte by byte, with hardly a pause.
    Trickle,
    /// Sends half of a large event, and no more.
    HalfEvent,
    /// Sends a body of the largest size, byte by byte.
    Drips,
    /// Sends a body of the largest size, as slowly as that may come.
    Large,
    /// Asks for a list and does not read it.
    Unread,
}

impl Slow {
    /// Of the whole crowd, what the client of this number does.
    fn of_crowd(number: usize) -> Self {
        let all = [Self::Head, Self::Event, Self::HalfEvent, Self::Drips, Self::Unread];
        if number < LARGE { Self::Large } else { all[number % all.len()] }
    }

    /// What it sends at once.
    fn begins(self, token: &Token) -> String {
        let post = |path: &str, bytes: usize| {
            format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {bytes}\r\n\r\n")
        };
        let (event, bulk) = (format!("/analytics/{TENANT}"), format!("/analytics/bulk/{TENANT}"));
        match self {
            Self::Head => "GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_owned(),
            Self::Event | Self::Trickle => post(&event, 9_999),
            Self::HalfEvent => post(&event, 2 * HALF_EVENT_BYTES) + &" ".repeat(HALF_EVENT_BYTES),
            Self::Drips | Self::Large => post(&bulk, 33_000_000) + "[",
            Self::Unread => format!(
                "GET /companies?limit=2000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
                token.reveal()
            ),
        }
    }

    /// How many bytes it sends each time after that.
    fn goes_on_with(self) -> usize {
        match self {
            Self::Head | Self::Event | Self::Trickle | Self::Drips => 1,
            Self::Large => LARGE_BYTES_PER_SECOND,
            Self::HalfEvent | Self::Unread => 0,
        }
    }

    /// How often it does.
    fn drips_every(self) -> Duration {
        if self == Self::Trickle { TRICKLES_EVERY } else { DRIPS_EVERY }
    }
}

/// Responses that an attacker requests again and again, and does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Lists of large records, see [`fill_with_large`].
    Lists,
    /// The same, and the description of the API, in a coding that takes room to be made.
    Packed,
    Streams,
    /// Responses that name as many invalid items as a bulk upsert may have.
    Upserts,
    /// The same of imports.
    Imports,
    /// Responses to events that are all rejected, in few bytes.
    Rejected,
}

impl Unread {
    pub const ALL: [Self; 6] =
        [Self::Lists, Self::Packed, Self::Streams, Self::Upserts, Self::Imports, Self::Rejected];

    /// How many ask for it to hold a server up.
    pub fn count(self) -> usize {
        match self {
            Self::Lists => 8,
            Self::Packed => 64,
            Self::Streams => 128,
            Self::Upserts | Self::Imports | Self::Rejected => 16,
        }
    }

    /// What one of them sends.
    fn request(self, client: &Client, number: usize) -> Vec<u8> {
        let get =
            |path: &str, coding| request(client, "GET", path, &[("Accept-Encoding", coding)], b"");
        let list = "/companies?limit=2000";
        match self {
            Self::Lists => get(list, "identity"),
            Self::Packed => {
                get(if number.is_multiple_of(4) { list } else { "/openapi.json" }, "br")
            }
            Self::Streams => get("/activities/stream?after=000000000000000000000000", "identity"),
            Self::Upserts => {
                let long = "x".repeat(500);
                let items = vec![json!({"externalId": long, "sourceId": long}); 5_000];
                let headers = [("Content-Type", "application/json")];
                request(client, "PUT", "/products", &headers, json!(items).to_string().as_bytes())
            }
            Self::Imports => {
                let row = json!({"email": "\u{1f642}".repeat(64)}).to_string() + "\n";
                let headers = [("Content-Type", "application/x-ndjson")];
                let path = "/import/endusers?refusals=10000";
                request(client, "POST", path, &headers, row.repeat(10_000).as_bytes())
            }
            Self::Rejected => {
                let mut rows = GzEncoder::new(Vec::new(), Compression::best());
                rows.write_all(format!("[{}{{}}]", "{},".repeat(11_000_000)).as_bytes()).unwrap();
                let path = format!("/analytics/bulk/{TENANT}");
                let headers = [("Content-Encoding", "gzip")];
                request(client, "POST", &path, &headers, &rows.finish().unwrap())
            }
        }
    }
}

/// How long an attacker leaves a response unread before the next request.
const UNREAD_FOR: Duration = Duration::from_secs(5);

/// Asks for something that it does not read, until it is stopped.
async fn be_unread(client: Client, request: Arc<Vec<u8>>, begun: Arc<AtomicUsize>) {
    let mut is_first = true;
    loop {
        let held = try_ask(&client, &request).await;
        if std::mem::take(&mut is_first) {
            begun.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(UNREAD_FOR).await;
        drop(held);
    }
}

/// Whether something has come, or the connection has ended.
fn has_response(stream: &TcpStream) -> bool {
    let read = stream.try_read(&mut [0; 1]);
    !read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Sends until it is stopped, and connects again some time after it was disconnected.
async fn be_slow(address: String, slow: Slow, token: Token, begun: Arc<AtomicUsize>) {
    let (request, more) = (slow.begins(&token), " ".repeat(slow.goes_on_with()));
    let mut is_first = true;
    loop {
        let Ok(mut stream) = TcpStream::connect(&address).await else {
            tokio::time::sleep(DRIPS_EVERY).await;
            continue;
        };
        let mut sent = stream.write_all(request.as_bytes()).await;
        if std::mem::take(&mut is_first) {
            begun.fetch_add(1, Ordering::Relaxed);
        }
        while sent.is_ok() && (slow == Slow::Unread || !has_response(&stream)) {
            tokio::time::sleep(slow.drips_every()).await;
            sent = stream.write_all(more.as_bytes()).await;
        }
        drop(stream);
        tokio::time::sleep(CONNECTS_AGAIN_AFTER).await;
    }
}

/// Sends bombs one after the other. Each is rejected: for its size, or since there is no room at the time.
async fn send_bombs(client: Client, begun: Arc<AtomicUsize>) {
    let (bomb, path) = (bomb(), format!("/analytics/bulk/{TENANT}"));
    loop {
        let headers = [("content-encoding", "gzip")];
        let response = client.send(Method::POST, &path, &headers, bomb.clone()).await.unwrap();
        assert!([413, 503].contains(&response.status.as_u16()), "{}", response.text());
        begun.fetch_add(1, Ordering::Relaxed);
    }
}

/// Slow clients, while it is held.
pub struct Attack {
    slow: Vec<JoinHandle<()>>,
    bombs: Option<JoinHandle<()>>,
}

impl Attack {
    /// A thousand slow clients of all kinds and a sender of bombs. Stores what they ask for, and begins; returns once all
    /// of them have sent and a bomb was rejected.
    pub async fn begin(client: &Client, token: &Token) -> Self {
        Self::begin_some(client, token, SLOW).await
    }

    /// The same, with `count` slow clients.
    pub async fn begin_some(client: &Client, token: &Token, count: usize) -> Self {
        let companies: Vec<_> = (0..400)
            .map(|number| json!({"externalId": format!("c{number}"), "name": "x".repeat(500)}))
            .collect();
        let headers = [("content-type", "application/json")];
        let companies = json!(companies).to_string();
        // While another attack of this tenant runs, there may be no room.
        let store = async || {
            let sent = client.send(Method::PUT, "/companies", &headers, companies.clone());
            let status = sent.await.unwrap().status;
            assert!([200, 503].contains(&status.as_u16()), "{status}");
            status == StatusCode::OK
        };
        let stored = async { while !store().await {} };
        tokio::time::timeout(PATIENCE, stored).await.unwrap();
        let attack = Self::begin_slow(client, token, (0..count).map(Slow::of_crowd)).await;
        let begun = Arc::<AtomicUsize>::default();
        let bombs = tokio::spawn(send_bombs(client.clone(), begun.clone()));
        wait_until(|| begun.load(Ordering::Relaxed) > 0).await;
        Self { bombs: Some(bombs), ..attack }
    }

    /// Slow clients of the test tenant; returns once all of them have sent.
    pub async fn begin_slow(
        client: &Client,
        token: &Token,
        slow: impl IntoIterator<Item = Slow>,
    ) -> Self {
        let begun = Arc::<AtomicUsize>::default();
        let be_slow = |slow| {
            tokio::spawn(be_slow(client.address().to_owned(), slow, token.clone(), begun.clone()))
        };
        let slow: Vec<_> = slow.into_iter().map(be_slow).collect();
        wait_until(|| begun.load(Ordering::Relaxed) == slow.len()).await;
        Self { slow, bombs: None }
    }

    /// Those who do not read what they ask for; returns once all of them have asked.
    pub async fn begin_unread(client: &Client, what: Unread, count: usize) -> Self {
        let begun = Arc::<AtomicUsize>::default();
        let requests = [0, 1].map(|number| Arc::new(what.request(client, number)));
        let ask = |number: usize| {
            let request = requests[usize::from(!number.is_multiple_of(4))].clone();
            tokio::spawn(be_unread(client.clone(), request, begun.clone()))
        };
        let slow: Vec<_> = (0..count).map(ask).collect();
        wait_until(|| begun.load(Ordering::Relaxed) == slow.len()).await;
        Self { slow, bombs: None }
    }

    /// Ends it; it must have run until now.
    pub fn end(self) {
        for task in self.slow.iter().chain(&self.bombs) {
            assert!(!task.is_finished(), "an attacker has ended");
            task.abort();
        }
    }
}

async fn wait_until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap();
}

/// Another tenant of a server, whose calls are ordinary.
#[derive(Clone)]
pub struct Neighbour {
    client: Client,
    id: String,
    /// A bulk call of 2 MB.
    bulk: bytes::Bytes,
}

impl Neighbour {
    /// Has an operator create it, with one company, whose `externalId` is `acme`.
    pub async fn create(operator: &Client) -> Self {
        let made = operator.post("/tenants", &json!({"name": "neighbour"})).await.json();
        let client = operator.with_token(made["token"]["token"].as_str().unwrap());
        let acme = json!({"name": "Acme", "externalId": "acme"});
        assert_eq!(client.post("/companies", &acme).await.status, StatusCode::OK);
        let row = json!({"euExtId": "7", "cId": "acme", "action": "x", "info": {"text": "y".repeat(20_000)}});
        let bulk = json!(vec![row; 100]).to_string().into();
        Self { client, id: made["_id"].as_str().unwrap().to_owned(), bulk }
    }

    /// The same, with a connection of its own.
    pub fn with_new_connection(&self) -> Self {
        let token = self.client.authorization().unwrap().trim_start_matches("Bearer ");
        Self { client: self.client.with_token(token), ..self.clone() }
    }

    /// How long a call takes that must be served: an event, a large event, or a read of a record.
    pub async fn calls(&self, number: usize) -> Duration {
        let text = if number.is_multiple_of(2) { String::new() } else { "y".repeat(20_000) };
        let started = Instant::now();
        if number % 3 < 2 {
            let event = json!({"externalId": "7", "companyExternalId": "acme", "action": format!("event {number}"), "info": {"text": text}});
            self.posts(&format!("/analytics/{}", self.id), event.to_string()).await;
        } else {
            assert_eq!(self.client.get("/companies/extid-acme").await.status, StatusCode::OK);
        }
        started.elapsed()
    }

    /// How long a bulk call of 2 MB takes, which must be served.
    pub async fn calls_in_bulk(&self) -> Duration {
        let started = Instant::now();
        self.posts(&format!("/analytics/bulk/{}", self.id), self.bulk.clone()).await;
        started.elapsed()
    }

    /// Waits until it is served, after an attack has begun all at once on a machine that is busy with other work.
    pub async fn wait_until_served(&self) {
        let path = format!("/analytics/bulk/{}", self.id);
        let served = async {
            loop {
                let called = self.client.send(Method::POST, &path, &[], self.bulk.clone()).await;
                if called.is_ok_and(|response| response.status == StatusCode::OK) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, served).await.unwrap();
    }

    async fn posts(&self, path: &str, body: impl Into<bytes::Bytes>) {
        let text = [("content-type", "text/plain")];
        let response = self.client.send(Method::POST, path, &text, body).await.unwrap();
        assert_eq!(response.text(), "OK");
    }
}

/// Bytes of a large record: nearly as many as a body may have.
const LARGE_BYTES: usize = 940_000;

/// Stores `count` large companies.
pub async fn fill_with_large(client: &Client, count: usize) {
    let text = "y".repeat(60_000);
    let members = (0..LARGE_BYTES / text.len()).map(|key| (key.to_string(), json!(text)));
    let custom = Value::Object(members.collect());
    for number in 0..count {
        let name = number.to_string();
        let large = json!({"name": name, "externalId": name, "custom": custom});
        assert_eq!(client.post("/companies", &large).await.status, StatusCode::OK);
    }
}

/// Requests of whose responses only the first line is read: their connections, and the status of each.
pub async fn unread(client: &Client, path: &str, count: usize) -> (Vec<TcpStream>, Vec<u16>) {
    unread_in(client, path, "identity", count).await
}

/// The same, of responses in a coding.
pub async fn unread_in(
    client: &Client,
    path: &str,
    coding: &str,
    count: usize,
) -> (Vec<TcpStream>, Vec<u16>) {
    let request = request(client, "GET", path, &[("Accept-Encoding", coding)], b"");
    join_all((0..count).map(|_| ask(client, &request))).await.into_iter().unzip()
}

/// A request as it is sent.
fn request(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Vec<u8> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n{headers}Content-Length: {}\r\n\r\n",
        client.authorization().unwrap(),
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The same, of a request with a body.
pub async fn unread_sent(
    client: &Client,
    method: Method,
    path: &str,
    kind: &str,
    body: &[u8],
) -> (TcpStream, u16) {
    unread_with(client, method, path, &[("Content-Type", kind)], body).await
}

/// The same, of a request with headers and a body.
pub async fn unread_with(
    client: &Client,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (TcpStream, u16) {
    ask(client, &request(client, method.as_str(), path, headers, body)).await
}

/// Sends a request, and reads the first line of the response.
async fn ask(client: &Client, request: &[u8]) -> (TcpStream, u16) {
    try_ask(client, request).await.unwrap()
}

async fn try_ask(client: &Client, request: &[u8]) -> io::Result<(TcpStream, u16)> {
    // The system is to hold little of what is sent.
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4_096)?;
    let mut stream = socket.connect(client.address().parse().unwrap()).await?;
    stream.write_all(request).await?;
    let mut head = [0; 12];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut head)).await??;
    Ok((stream, std::str::from_utf8(&head[9..]).unwrap().parse::<u16>().unwrap()))
}
