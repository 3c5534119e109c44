//! Senders that try to hold a server up: slow clients that never finish, and small bodies that unpack to gigabytes.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use hyper::Method;
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
/// How often each of them sends a byte.
const DRIPS_EVERY: Duration = Duration::from_secs(1);
/// A body of spaces, as it is unpacked: `BOMB_PARTS` of so many bytes.
const BOMB_PART_BYTES: usize = 30 * 1024 * 1024;
const BOMB_PARTS: usize = 100;

/// Few bytes that unpack to 3 GB.
fn bomb() -> Vec<u8> {
    let mut part = GzEncoder::new(Vec::new(), Compression::best());
    part.write_all(&vec![b' '; BOMB_PART_BYTES]).unwrap();
    part.finish().unwrap().repeat(BOMB_PARTS)
}

/// What a slow client sends at once; then it sends one byte at a time, unless its request is complete.
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
        // Its response is not read.
        _ => format!(
            "GET /companies?limit=2000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        ),
    }
}

fn is_complete(request: &str) -> bool {
    request.starts_with("GET") && request.ends_with("\r\n\r\n")
}

/// Sends until it is stopped, and connects again whenever it is cut off.
async fn be_slow(address: String, request: String, begun: Arc<AtomicUsize>) {
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
        while sent.is_ok() {
            tokio::time::sleep(DRIPS_EVERY).await;
            if !is_complete(&request) {
                sent = stream.write_all(b" ").await;
            }
        }
    }
}

/// Sends bombs one after the other. Each is rejected: for its size, or since there is no room at the time.
async fn send_bombs(client: Client, begun: Arc<AtomicUsize>) {
    let (bomb, path) = (bomb(), format!("/analytics/bulk/{TENANT}"));
    loop {
        let headers = [("content-encoding", "gzip")];
        let answer = client.send(Method::POST, &path, &headers, bomb.clone()).await.unwrap();
        assert!([413, 503].contains(&answer.status.as_u16()), "{}", answer.text());
        begun.fetch_add(1, Ordering::Relaxed);
    }
}

/// A thousand slow clients and a sender of bombs, while it is held.
pub struct Attack {
    slow: Vec<JoinHandle<()>>,
    bombs: JoinHandle<()>,
}

impl Attack {
    /// Stores what the slow clients ask for, and begins; returns once all of them have sent and a bomb was rejected.
    pub async fn begin(client: &Client, token: &Token) -> Self {
        let companies: Vec<_> = (0..400)
            .map(|number| json!({"externalId": format!("c{number}"), "name": "x".repeat(500)}))
            .collect();
        let headers = [("content-type", "application/json")];
        let companies = json!(companies).to_string();
        let stored = client.send(Method::PUT, "/companies", &headers, companies).await.unwrap();
        assert_eq!(stored.status, hyper::StatusCode::OK);
        let [slow_begun, bombs_begun] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
        let be_slow = |number| {
            let request = slow_request(number, token);
            tokio::spawn(be_slow(client.address().to_owned(), request, slow_begun.clone()))
        };
        let slow = (0..SLOW).map(be_slow).collect();
        let bombs = tokio::spawn(send_bombs(client.clone(), bombs_begun.clone()));
        let all_begun = async {
            let has_begun = |count: &AtomicUsize, least| count.load(Ordering::Relaxed) >= least;
            while !(has_begun(&slow_begun, SLOW) && has_begun(&bombs_begun, 1)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, all_begun).await.unwrap();
        Self { slow, bombs }
    }

    /// Ends it; it must have gone on until now.
    pub fn end(self) {
        assert!(!self.bombs.is_finished(), "a bomb was not rejected");
        assert!(self.slow.iter().all(|slow| !slow.is_finished()));
        self.bombs.abort();
        self.slow.iter().for_each(JoinHandle::abort);
    }
}

/// Bytes of a large record: nearly as many as a body may have.
const LARGE_BYTES: usize = 940_000;

/// Stores so many companies that are large.
pub async fn fill_with_large(client: &Client, count: usize) {
    let text = "y".repeat(60_000);
    let members = (0..LARGE_BYTES / text.len()).map(|key| (key.to_string(), json!(text)));
    let custom = Value::Object(members.collect());
    for number in 0..count {
        let name = number.to_string();
        let large = json!({"name": name, "externalId": name, "custom": custom});
        assert_eq!(client.post("/companies", &large).await.status, hyper::StatusCode::OK);
    }
}

/// Requests of whose responses nobody reads more than the first line: their connections, and the status of each.
pub async fn unread(client: &Client, path: &str, count: usize) -> (Vec<TcpStream>, Vec<u16>) {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\n\r\n",
        client.authorization().unwrap()
    );
    let ask = async |_| {
        // The system is to hold little of what is sent.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(client.address().parse().unwrap()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut head)).await.unwrap().unwrap();
        (stream, std::str::from_utf8(&head[9..]).unwrap().parse::<u16>().unwrap())
    };
    join_all((0..count).map(ask)).await.into_iter().unzip()
}
