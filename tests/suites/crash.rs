//! A server that is killed loses nothing that it has acknowledged, and is back at once.

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, process::Server};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Events that are posted.
const EVENTS: usize = 2_000;
const SENDERS: usize = 64;
/// Acknowledged events after which the server is killed.
const KILLED_AFTER: usize = 700;
/// Acknowledged events after which a server is stopped.
const BEFORE_STOP: usize = 20;
/// Restarts of either kind; the quickest ones are compared.
const RESTARTS: usize = 3;
/// How many times longer a start after a crash may take than one after a stop; `tests/bench` has the limit in seconds.
const MAX_SLOWER: u32 = 10;

/// A server that is ready, and how long that took.
async fn started(folder: &Path, token: &Token) -> (Server, Duration) {
    let began = Instant::now();
    let server = Server::start(folder, token).await;
    server.ready().await;
    (server, began.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_no_acknowledged_event() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;

    let next = Arc::new(AtomicUsize::new(0));
    let acknowledged = Arc::new(Mutex::new(HashSet::new()));
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let (client, next, acknowledged) =
                (server.client.clone(), next.clone(), acknowledged.clone());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= EVENTS {
                        return;
                    }
                    let action = format!("event {number}");
                    let user = format!("user {}", number % 50);
                    let event =
                        json!({"externalId": user, "companyExternalId": "acme", "action": action});
                    match client.track(&event).await {
                        Ok(response) if response.text() == "OK" => {
                            acknowledged.lock().unwrap().insert(action);
                        }
                        _ => return,
                    }
                }
            })
        })
        .collect();
    while acknowledged.lock().unwrap().len() < KILLED_AFTER {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.kill().await;
    for sender in senders {
        sender.await.unwrap();
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert!(acknowledged.len() < EVENTS, "the server was killed too late");

    let (mut after_crash, mut after_stop) = (Duration::MAX, Duration::MAX);
    for _ in 0..RESTARTS {
        let (server, took) = started(folder.path(), &token).await;
        after_crash = after_crash.min(took);
        server.stop().await;
        let (server, took) = started(folder.path(), &token).await;
        after_stop = after_stop.min(took);
        server.kill().await;
    }
    assert!(after_crash < after_stop * MAX_SLOWER, "{after_crash:?}, {after_stop:?} after a stop");
    let server = Server::start(folder.path(), &token).await;
    let stored: HashSet<_> = server.client.actions().await.into_iter().collect();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "{} of {} were lost: {lost:?}", lost.len(), acknowledged.len());
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_finishes_what_it_has_begun() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::generate().unwrap();
        let server = Server::start_with_acme(folder.path(), &token).await;
        let client = server.client.clone();
        let (begun, has_begun) = tokio::sync::watch::channel(0);
        let sending = tokio::spawn(async move {
            let mut sent = 0;
            loop {
                let action = format!("event {sent}");
                let event =
                    json!({"externalId": "7", "companyExternalId": "acme", "action": action});
                match client.track(&event).await {
                    Ok(response) if response.text() == "OK" => sent += 1,
                    _ => return sent,
                }
                begun.send_replace(sent);
            }
        });
        has_begun.clone().wait_for(|sent| *sent >= BEFORE_STOP).await.unwrap();
        server.signal(signal);
        assert_eq!(server.wait().await, Some(0), "{signal}");
        let sent = sending.await.unwrap();
        let server = Server::start(folder.path(), &token).await;
        assert!(server.client.actions().await.len() >= sent, "{signal}");
        server.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_on_its_way_at_a_stop_is_accepted_and_gets_a_response() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let event = r#"{"externalId": "7", "companyExternalId": "acme", "action": "late"}"#;
    let (sent, rest) = event.split_at(20);
    let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
    let length = event.len();
    let head = format!(
        "POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut is_read = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut is_read).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    server.signal("TERM");
    while TcpStream::connect(server.client.address()).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("OK"), "{response}");
    assert_eq!(server.wait().await, Some(0));
    let server = Server::start(folder.path(), &token).await;
    assert_eq!(server.client.actions().await, ["late"]);
    server.kill().await;
}
