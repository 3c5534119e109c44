//! The public SDKs of customer-data pipelines as they are, with batches and retries: responses are lost and the server
//! is killed meanwhile, and each event is stored exactly once. `tests/sdks/install` says which they are.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command as Install, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    process::{PATIENCE, Server},
    project,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    process::{Child, ChildStdout, Command},
    sync::watch,
};

/// Events that an SDK sends in each of two parts.
const EVENTS: usize = 7;

/// Where the SDKs are installed.
fn installed() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = project().join("target/sdks");
        let install = project().join("tests/sdks/install");
        assert!(Install::new(install).arg(&folder).status().unwrap().success());
        folder
    })
}

fn node(package: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(project().join("tests/sdks/sdk.js")).arg(package);
    command.env("NODE_PATH", installed().join("node_modules"));
    command
}

fn python(module: &str) -> Command {
    let mut command = Command::new(installed().join("python/bin/python"));
    command.arg(project().join("tests/sdks/sdk.py")).arg(module);
    command
}

/// What the line between an SDK and the server does with a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// It carries requests and responses to the server on this port.
    Whole(u16),
    /// It carries the request, and loses the response to it.
    LosesResponses(u16),
}

/// The address that an SDK is given. The server at it can fail.
struct Front {
    base: String,
    line: watch::Sender<Line>,
    /// Connections on which a response was lost, or that found no server.
    failed: Arc<AtomicUsize>,
    /// Requests that were carried with their responses.
    requests: Arc<AtomicUsize>,
}

impl Front {
    async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (line, at) = watch::channel(Line::Whole(port));
        let failed = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(AtomicUsize::new(0));
        let (count, carried) = (failed.clone(), requests.clone());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let line = *at.borrow();
                let (count, carried) = (count.clone(), carried.clone());
                tokio::spawn(async move {
                    if !carry(stream, line, &carried).await {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        Self { base, line, failed, requests }
    }

    /// Waits until an SDK has met more than `failures` failures.
    async fn failed_more_than(&self, failures: usize) {
        let failed = async {
            while self.failed.load(Ordering::SeqCst) <= failures {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, failed).await.expect("the SDK does not try");
    }
}

/// Carries a connection as the line does; says whether a response came through, or none was lost.
async fn carry(mut sdk: TcpStream, line: Line, requests: &AtomicUsize) -> bool {
    match line {
        Line::Whole(port) => match TcpStream::connect(("127.0.0.1", port)).await {
            Ok(mut server) => {
                let (from_sdk, mut to_sdk) = sdk.split();
                let (mut from_server, to_server) = server.split();
                let to_sdk = async {
                    tokio::io::copy(&mut from_server, &mut to_sdk).await?;
                    to_sdk.shutdown().await
                };
                // A server that is killed breaks it off.
                let _ = tokio::try_join!(count(from_sdk, to_server, requests), to_sdk);
                true
            }
            Err(_) => false,
        },
        Line::LosesResponses(port) => {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (mut from_sdk, _to_sdk) = sdk.split();
            let (mut from_server, mut to_server) = server.split();
            let mut first = [0];
            tokio::select! {
                _ = tokio::io::copy(&mut from_sdk, &mut to_server) => true,
                response = from_server.read(&mut first) => response.unwrap_or_default() == 0,
            }
        }
    }
}

/// Carries what an SDK sends, and counts the requests by their first words.
async fn count(
    mut from_sdk: ReadHalf<'_>,
    mut to_server: WriteHalf<'_>,
    requests: &AtomicUsize,
) -> io::Result<()> {
    const BEGINNING: &[u8] = b"POST /";
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let length = from_sdk.read(&mut bytes).await?;
        let sent = &bytes[..length];
        if sent.is_empty() {
            return to_server.shutdown().await;
        }
        let begun = sent.windows(BEGINNING.len()).filter(|bytes| *bytes == BEGINNING).count();
        requests.fetch_add(begun, Ordering::SeqCst);
        to_server.write_all(sent).await?;
    }
}

struct Sdk {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Sdk {
    fn start(mut command: Command, base: &str) -> Self {
        command.args([base, TENANT]).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until all that it was given is sent.
    async fn sent(&mut self) {
        loop {
            let line = tokio::time::timeout(2 * PATIENCE, self.lines.next_line()).await;
            let line = line.expect("it takes too long").unwrap().expect("it ended");
            if line == "sent" {
                return;
            }
        }
    }

    async fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").await.unwrap();
    }
}

fn port_of(server: &Server) -> u16 {
    server.base.rsplit_once(':').unwrap().1.parse().unwrap()
}

async fn check(command: Command) {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let front = Front::start(port_of(&server)).await;
    front.line.send_replace(Line::LosesResponses(port_of(&server)));
    let mut sdk = Sdk::start(command, &front.base);
    front.failed_more_than(1).await;
    front.line.send_replace(Line::Whole(port_of(&server)));
    sdk.sent().await;

    server.kill().await;
    let failures = front.failed.load(Ordering::SeqCst);
    sdk.go_on().await;
    front.failed_more_than(failures).await;
    let server = Server::start(folder.path(), &token).await;
    let before = front.requests.load(Ordering::SeqCst);
    front.line.send_replace(Line::Whole(port_of(&server)));
    sdk.sent().await;
    // Fewer than events: there was a batch of several.
    let requests = front.requests.load(Ordering::SeqCst) - before;
    assert!((1..EVENTS).contains(&requests), "{requests} requests for {EVENTS} events");
    server.kill().await;

    let server = Server::start(folder.path(), &token).await;
    let mut actions = server.client.actions().await;
    actions.sort_unstable();
    let expected: Vec<_> = ["first", "second"]
        .iter()
        .flat_map(|part| (0..EVENTS).map(move |number| format!("{part} {number}")))
        .collect();
    assert_eq!(actions, expected);
    let ada = server.client.get("/endusers/extid-ada").await.json();
    assert_eq!(ada["email"], "ada@acme.example");
    let globex = server.client.get("/companies/extid-globex").await.json();
    assert_eq!(globex["name"], "Globex");
    let bob = server.client.get("/endusers/extid-bob").await.json();
    assert_eq!(bob["companyId"], globex["_id"]);
    let activity = server.client.get("/activities?limit=1").await.json();
    assert!(activity[0]["info"]["number"].is_number() && activity[0]["messageId"].is_string());
    // Members that an SDK adds are no mistake of its user.
    assert_eq!(server.client.get("/integrationissues").await.json(), json!([]) as Value);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_segments_sdk_for_node_are_stored_exactly_once() {
    check(node("@segment/analytics-node")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_rudderstacks_sdk_for_node_are_stored_exactly_once() {
    check(node("@rudderstack/rudder-sdk-node")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_segments_sdk_for_python_are_stored_exactly_once() {
    check(python("segment.analytics")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_rudderstacks_sdk_for_python_are_stored_exactly_once() {
    check(python("rudderstack.analytics")).await;
}
