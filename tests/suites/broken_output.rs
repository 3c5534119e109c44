//! Standard output that takes nothing: a start does not depend on it, but for the tokens of a first start.

use std::{
    fs,
    io::{self, PipeReader, PipeWriter, Write as _},
    process::Stdio,
    time::{Duration, Instant},
};

use rustix::fs::{OFlags, fcntl_setfl};
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::Client,
    process::{PATIENCE, Server, command, signal},
};

/// What takes nothing that is printed: a full device, a pipe whose reader is closed, and a full one whose reader, which
/// comes with it, does not read.
fn broken_outputs() -> [(Stdio, Option<PipeReader>); 3] {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (reader, closed) = io::pipe().unwrap();
    drop(reader);
    let (unread, filled) = full_pipe();
    [(full.into(), None), (closed.into(), None), (filled.into(), Some(unread))]
}

fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4_096]).is_ok() {}
    fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (reader, writer)
}

#[tokio::test]
async fn a_first_start_whose_tokens_nobody_would_see_founds_nothing() {
    for (output, _unread) in broken_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "."]);
        command.stdout(output).stderr(Stdio::piped());
        let ended = tokio::time::timeout(PATIENCE, command.spawn().unwrap().wait_with_output());
        let ended = ended.await.expect("it serves").unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("standard output cannot be written"), "{said}");
        let (server, printed) = Server::start_first(folder.path(), &["--data", "."]).await;
        assert!(printed.contains("This is the first start."), "{printed}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_server_starts_and_serves_when_what_it_prints_goes_nowhere() {
    for (output, _unread) in broken_outputs() {
        let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
        Server::start(folder.path(), &token).await.stop().await;
        let mut command = command(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", "."]);
        let mut child = command.stdout(output).stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        let base = loop {
            match fs::read_to_string(folder.path().join("svctrack.url")) {
                Ok(base) if !base.is_empty() => break base,
                _ => assert!(started.elapsed() < PATIENCE, "it does not start"),
            }
            assert_eq!(child.try_wait().unwrap(), None);
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        tokio::time::sleep(Duration::from_millis(100)).await;
        let client = Client::new(base.trim(), Some(token.reveal()));
        assert_eq!(client.get("/companies").await.status, 200);
        signal(&child, "TERM");
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
        assert_eq!(ended.expect("it does not stop").unwrap().code(), Some(0));
    }
}
