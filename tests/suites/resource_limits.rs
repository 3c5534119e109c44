//! A server to which the system gives little: no further threads, small files, pipes in the place of files, readers
//! that do not read.

use std::{
    fs::{self, File},
    path::Path,
    process::Command as Tool,
    time::Duration,
};

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use rustix::process::Resource;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{PATIENCE, Remote, Server, command},
};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

use super::{
    device::{check_grown, grow_until},
    verify::verify,
};

/// Requests at a time; each is served by threads that may block.
const AT_A_TIME: usize = 60;
/// Bytes by which the store may grow.
const MORE_BYTES: u64 = 4 * 1024 * 1024;
/// How often a slow sender sends something, and how many bytes: what a body must have in a second, and little more.
const A_MOMENT: Duration = Duration::from_millis(50);
const TRICKLE: &[u8] = &[b' '; 80];

/// One of some requests that take long enough to be served apart.
async fn ask(client: &Client, number: usize) -> StatusCode {
    let json = [("content-type", "application/json")];
    let events = json!([{"euExtId": "ada", "cId": "acme", "action": "Login"}]).to_string();
    let bulk = format!("/analytics/bulk/{TENANT}");
    let asked = match number % 4 {
        0 => client.send(Method::GET, "/companies?limit=1000", &[], "").await,
        1 => client.send(Method::PUT, "/products", &json, r#"[{"externalId":"p"}]"#).await,
        2 => client.send(Method::POST, &bulk, &[], events).await,
        _ => client.send(Method::GET, "/activities?action=Login", &[], "").await,
    };
    asked.unwrap().status
}

#[tokio::test(flavor = "multi_thread")]
async fn without_further_threads_requests_are_served_or_rejected_and_nothing_panics() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let log = folder.path().join("log");
    let server =
        Server::start_unprivileged(folder.path(), &token, File::create(&log).unwrap()).await;
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
    server.limit("nproc", Resource::Nproc, Some(1));
    let responses = join_all((0..AT_A_TIME).map(|number| ask(&server.client, number))).await;
    let expected = [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE];
    assert!(responses.iter().all(|status| expected.contains(status)), "{responses:?}");
    server.limit("nproc", Resource::Nproc, None);
    let responses = join_all((0..AT_A_TIME).map(|number| ask(&server.client, number))).await;
    assert!(responses.iter().all(StatusCode::is_success), "{responses:?}");
    server.stop().await;
    let logged = fs::read_to_string(&log).unwrap();
    assert!(!logged.contains("panic"), "{logged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let operator = Token::generate().unwrap();
    let start = || Server::start_with_operator(folder.path(), &token, &operator, &[]);
    let server = start().await;
    let remote = Remote::for_server(&server, &operator);
    let bytes = fs::metadata(folder.path().join("svctrack.redb")).unwrap().len();
    server.limit("fsize", Resource::Fsize, Some(bytes + MORE_BYTES));
    let taken = grow_until(&remote, 0, StatusCode::INSUFFICIENT_STORAGE).await;
    check_grown(&remote, taken).await;
    server.limit("fsize", Resource::Fsize, None);
    server.ready().await;
    let more = json!({"name": "More", "externalId": "more"});
    assert_eq!(server.client.post("/companies", &more).await.status, StatusCode::OK);
    server.stop().await;
    let server = start().await;
    check_grown(&Remote::for_server(&server, &operator), taken).await;
    server.kill().await;
    let (code, found) = verify(folder.path()).await;
    assert_eq!(code, Some(0), "{found}");
}

fn make_pipe(path: &Path) {
    assert!(Tool::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test]
async fn a_pipe_in_the_place_of_a_file_ends_a_start_with_its_name() {
    for (pipe, command_line) in [
        ("svctrack.toml", &["serve"][..]),
        ("data/svctrack.redb", &["serve"]),
        ("data/svctrack.redb", &["verify"]),
        ("backup.gz", &["restore", "--from", "backup.gz"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        make_pipe(&folder.path().join(pipe));
        let mut command = command(folder.path());
        command.args(command_line).args(["--data", "data"]);
        let ended = tokio::time::timeout(PATIENCE, command.output()).await;
        let output = ended.unwrap_or_else(|_| panic!("{command_line:?} waits for {pipe}")).unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("not a regular file"), "{said}");
    }
}

#[tokio::test]
async fn a_pipe_in_the_place_of_the_note_of_its_address_stops_no_server() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    make_pipe(&folder.path().join("svctrack.url"));
    let start = Server::start(folder.path(), &token);
    let server = tokio::time::timeout(PATIENCE, start).await.expect("it waits for the pipe");
    assert_eq!(server.client.get("/health").await.status, StatusCode::OK);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_nobody_reads_holds_up_no_stop() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start_with_log(folder.path(), &token, &[], log.reopen().unwrap()).await;
    let text = "x".repeat(10_000);
    let company = |number: usize| json!({"name": "x", "externalId": number.to_string(), "custom": {"text": text}});
    let companies = Value::from((0..2_000).map(company).collect::<Vec<_>>()).to_string();
    let json = [("content-type", "application/json")];
    let stored = server.client.send(Method::PUT, "/companies", &json, companies).await.unwrap();
    assert_eq!(stored.status, StatusCode::OK);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut unread = socket.connect(server.client.address().parse().unwrap()).await.unwrap();
    let token = token.reveal();
    let request = format!(
        "GET /companies?limit=2000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    unread.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    unread.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    server.stop().await;
    assert_nothing_was_aborted(&log);
    drop(unread);
}

/// What is still running when a stop has waited for long enough is logged.
#[track_caller]
fn assert_nothing_was_aborted(log: &NamedTempFile) {
    let logged = fs::read_to_string(log.path()).unwrap();
    assert!(logged.contains("stopping") && !logged.contains("aborted at shutdown"), "{logged}");
}

/// Sends a head and, once its body is waited for, a little now and then, until the connection ends; returns the response
/// then.
async fn trickle(address: &str, head: &str) -> JoinHandle<String> {
    const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; GO_ON.len()];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(first, GO_ON);
    let (mut from, mut to) = stream.into_split();
    tokio::spawn(async move {
        let mut response = String::new();
        let trickle = async {
            while to.write_all(TRICKLE).await.is_ok() {
                tokio::time::sleep(A_MOMENT).await;
            }
        };
        let _ = tokio::join!(from.read_to_string(&mut response), trickle);
        response
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_delays_no_stop_and_gets_503() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let log = tempfile::NamedTempFile::new().unwrap();
    let server = Server::start_with_log(folder.path(), &token, &[], log.reopen().unwrap()).await;
    let (event, events) = (format!("/analytics/{TENANT}"), format!("/analytics/bulk/{TENANT}"));
    let paths = [event.as_str(), &events, "/companies", "/import/companies"];
    let mut senders = Vec::new();
    for path in paths {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nExpect: 100-continue\r\n\
             Content-Type: {}\r\nContent-Length: 60000\r\n\r\n",
            token.reveal(),
            if path.starts_with("/import") { "application/x-ndjson" } else { "application/json" },
        );
        senders.push(trickle(server.client.address(), &head).await);
    }
    server.stop().await;
    assert_nothing_was_aborted(&log);
    for (sender, path) in senders.into_iter().zip(paths) {
        let response = sender.await.unwrap();
        assert!(response.starts_with("HTTP/1.1 503 "), "{path}: {response}");
        assert!(response.contains("body_aborted"), "{path}: {response}");
    }
}
