//! A log that cannot be written never stops the server.

use std::{
    fs::{self, File},
    io::{Read as _, pipe},
    process::Stdio,
    thread,
};

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::process::{FakeClock, Server};

/// Requests that are logged: more lines than a pipe holds and than may wait.
const LOGGED: usize = 7_000;

async fn start(log: impl Into<Stdio>) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_log(folder.path(), &token, &["--log", "debug"], log).await;
    (folder, server)
}

/// Sends what is logged as a connection that broke off, and then asks whether the server is well.
async fn log_much(server: &Server, requests: usize) {
    for _ in 0..requests {
        server.client.raw(b"no HTTP at all\r\n\r\n").await;
    }
    assert_eq!(server.client.get("/health").await.status, StatusCode::OK);
    let company = json!({"name": "Acme"});
    assert_eq!(server.client.post("/companies", &company).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_or_closed_log_does_not_stop_the_server() {
    let (reader, closed) = pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    for log in [Stdio::from(full), closed.into()] {
        let (_folder, server) = start(log).await;
        log_much(&server, 20).await;
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_delays_no_request_and_later_reports_what_was_lost() {
    let (mut reader, log) = pipe().unwrap();
    let (_folder, server) = start(log).await;
    log_much(&server, LOGGED).await;
    let reading = thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    server.stop().await;
    let text = reading.join().unwrap();
    let (_, lost) = text.split_once("log lines lost count=").expect("no line says what was lost");
    let lost: usize = lost.lines().next().unwrap().parse().unwrap();
    let written = text.lines().filter(|line| line.contains("connection aborted")).count();
    assert!(lost > 0 && written + lost >= LOGGED, "{written} lines, and {lost} lost");
}

/// Has the server panic: a library cannot write a date before 1970, as the clock shows it for a while.
async fn provoke_a_panic(log: impl Into<Stdio>) {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let clock = FakeClock::in_file(folder.path().join("clock"), "+0");
    let server = Server::start_with_clock(folder.path(), &token, log, &clock, &[]).await;
    clock.set("-60y");
    assert!(server.client.send(Method::GET, "/health", &[], "").await.is_err());
    clock.set("+0");
    server.ready().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_that_cannot_be_logged_does_not_stop_the_server() {
    let log = tempfile::NamedTempFile::new().unwrap();
    provoke_a_panic(log.reopen().unwrap()).await;
    let logged = fs::read_to_string(log.path()).unwrap();
    let line = logged.lines().find(|line| line.contains(": panic place="));
    assert!(line.is_some_and(|line| line.contains(" cause=")), "{logged}");
    let (reader, closed) = pipe().unwrap();
    drop(reader);
    let full = File::options().write(true).open("/dev/full").unwrap();
    provoke_a_panic(full).await;
    provoke_a_panic(closed).await;
}
