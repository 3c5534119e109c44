//! Events in bulk: bodies of route 4 up to their largest size, many senders at once, and what one
//! tenant's bulk call means for others.

use std::{io::Write as _, time::Duration};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_tests::{
    TENANT, client::Response, in_process::InProcess, model::Random, process::PATIENCE,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

/// Senders of large bodies at once: there is room for one of them at a time.
const SENDERS: usize = 12;
/// Largest body of a bulk call, in bytes (R30).
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

async fn server() -> InProcess {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    server
}

/// A body of `count` rows, each with its number as its action.
fn rows(count: usize) -> String {
    let row = |number| {
        format!(r#"{{"euExtId":"user {}","cId":"acme","action":"{number}"}}"#, number % 50)
    };
    format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","))
}

/// Rows in a body of `bytes` bytes, which still has many when it is compressed.
fn rows_of_bytes(count: usize, bytes: usize) -> String {
    let mut body = rows(count);
    let mut random = Random::seeded(1);
    while body.len() < bytes {
        body.push(if random.percent(5) { '\n' } else { ' ' });
    }
    body
}

async fn bulk(server: &InProcess, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response {
    let path = format!("/analytics/bulk/{TENANT}");
    server.anonymous.send(Method::POST, &path, headers, body).await.unwrap()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_many_commits_are_stored_in_their_order() {
    let server = server().await;
    let response = bulk(&server, &[], rows(4_321)).await;
    assert_eq!((response.status, response.text()), (StatusCode::OK, "OK"));
    let expected: Vec<_> = (0..4_321).rev().map(|number| number.to_string()).collect();
    assert_eq!(server.client.actions().await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_body_that_breaks_at_its_end_stores_nothing() {
    let server = server().await;
    let whole = rows(4_321);
    let deep = format!(r#"{{"info":{{"a":{}{}}}}}"#, "[".repeat(64), "]".repeat(64));
    let bodies = [
        whole[..whole.len() - 1].to_owned(),
        format!("{},1]", &whole[..whole.len() - 1]),
        format!("{},{deep}]", &whole[..whole.len() - 1]),
        format!("{whole}x"),
    ];
    for body in bodies {
        let response = bulk(&server, &[], body).await;
        assert_eq!(response.status, StatusCode::BAD_REQUEST, "{}", response.text());
    }
    assert!(server.client.actions().await.is_empty());
    assert_eq!(server.client.get("/endusers").await.text(), "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_body_is_taken_up_to_its_cap_packed_or_not() {
    let server = server().await;
    let packed = [("content-encoding", "gzip")];
    for (bytes, status) in [(MAX_BODY_BYTES, 200), (MAX_BODY_BYTES + 1, 413)] {
        let mut body = rows(3);
        body.push_str(&" ".repeat(bytes - body.len()));
        let response = bulk(&server, &packed, gzip(body.as_bytes())).await;
        assert_eq!(response.status, status, "{bytes} packed: {}", response.text());
    }
    let mut body = rows(3);
    body.push_str(&" ".repeat(MAX_BODY_BYTES - body.len()));
    assert_eq!(bulk(&server, &[], body).await.text(), "OK");
    assert_eq!(server.client.actions().await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn senders_of_the_largest_bodies_wait_for_one_another_and_all_are_taken() {
    let server = server().await;
    let body = rows_of_bytes(10, MAX_BODY_BYTES);
    let (plain, packed) = (Bytes::from(body.clone()), Bytes::from(gzip(body.as_bytes())));
    let send = |number: usize| {
        let (headers, body): (&[_], _) = match number % 2 {
            0 => (&[], plain.clone()),
            _ => (&[("content-encoding", "gzip")], packed.clone()),
        };
        bulk(&server, headers, body)
    };
    let all = futures_util::future::join_all((0..SENDERS).map(send));
    let singles = async {
        for _ in 0..20 {
            let single = server.anonymous.track(&json!({"externalId": "user 1"})).await.unwrap();
            assert_eq!(single.text(), "OK");
        }
    };
    let (responses, ()) = tokio::join!(all, singles);
    for response in responses {
        assert_eq!(response.text(), "OK");
    }
    assert_eq!(server.client.actions().await.len(), SENDERS * 10);
}

/// Drips of a second each that a sender of a large body has before it is rejected, during another one.
const MAX_DRIPS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn senders_of_large_bodies_that_drip_hold_up_others_for_a_moment_only() {
    let server = server().await;
    for headers in ["Content-Length: 33554432", "Content-Length: 2000000\r\nContent-Encoding: gzip"]
    {
        let mut dripping = Vec::new();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
            let head =
                format!("POST /analytics/bulk/{TENANT} HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let (begun, has_begun) = oneshot::channel();
            dripping.push(tokio::spawn(async move {
                let (mut begun, mut drips) = (Some(begun), 0);
                while stream.write_all(&[b' '; 1_100]).await.is_ok() {
                    drips += 1;
                    begun.take().into_iter().for_each(|begun| begun.send(()).unwrap());
                    let mut rejection = [0; 64];
                    let second = Duration::from_secs(1);
                    if tokio::time::timeout(second, stream.read(&mut rejection)).await.is_ok() {
                        break;
                    }
                }
                drips
            }));
            has_begun.await.unwrap();
        }
        let body = rows_of_bytes(10, 2 * 1024 * 1024);
        assert_eq!(bulk(&server, &[], body).await.text(), "OK");
        // Each of the earlier ones was rejected after a few of its drips; a busy machine has fewer.
        for drips in dripping {
            let drips = tokio::time::timeout(PATIENCE, drips).await.expect("it still drips");
            assert!(drips.unwrap() <= MAX_DRIPS);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_two_senders_at_once_makes_one_user() {
    let server = server().await;
    let event = json!({"externalId": "new", "email": "new@acme.example", "companyExternalId": "acme", "action": "x"});
    let sent = (0..20).map(|_| server.anonymous.track(&event));
    for response in futures_util::future::join_all(sent).await {
        assert_eq!(response.unwrap().text(), "OK");
    }
    let users = server.client.get("/endusers").await.json();
    assert_eq!(users.as_array().unwrap().len(), 1);
    assert_eq!(server.client.actions().await.len(), 20);
    assert_eq!(server.client.get("/integrationissues").await.text(), "[]");
}
