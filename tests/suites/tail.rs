//! `svctrack tail`: activities at the terminal, as they are stored.

use std::{process::Stdio, sync::Arc};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_tests::{
    in_process::InProcess,
    process::{PATIENCE, command},
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines, copy_bidirectional},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdout},
    sync::Notify,
    time::timeout,
};

use crate::pages::token;

/// A way to the server on which all connections can be cut at once.
async fn way_to(server: &InProcess) -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (to, cut) = (server.client.address().to_owned(), Arc::new(Notify::new()));
    let cuts = cut.clone();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let mut to = TcpStream::connect(&to).await.unwrap();
            let cuts = cuts.clone();
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut from, &mut to) => {}
                    () = cuts.notified() => {}
                }
            });
        }
    });
    (base, cut)
}

async fn server() -> InProcess {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let ada = json!({"externalId": "ada", "companyId": "extid-acme", "name": "Ada Lovelace"});
    assert!(server.client.post("/endusers", &ada).await.status.is_success());
    server
}

async fn track(server: &InProcess, action: &str) {
    let sent = server.client.track(&json!({"externalId": "ada", "action": action})).await.unwrap();
    assert_eq!(sent.text(), "OK");
}

/// Runs the command against a server, and reads what it prints.
fn tail(
    server: &InProcess,
    base: &str,
    arguments: &[&str],
) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut command = command(&std::env::temp_dir());
    command.arg("tail").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("SVCTRACK_SERVER", base).env("SVCTRACK_TOKEN", token(server));
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    timeout(PATIENCE, lines.next_line()).await.expect("nothing is printed").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn activities_are_shown_as_they_are_stored_also_after_an_interruption() {
    let server = server().await;
    let (base, cut) = way_to(&server).await;
    for action in ["old", "earlier"] {
        track(&server, action).await;
    }
    let (mut child, mut lines) = tail(&server, &base, &["-n", "1", "--json"]);
    let mut action = async || {
        let line = next(&mut lines).await.unwrap();
        serde_json::from_str::<Value>(&line).unwrap()["action"].as_str().unwrap().to_owned()
    };
    assert_eq!(action().await, "earlier");
    for new in ["first", "second", "third"] {
        track(&server, new).await;
        assert_eq!(action().await, new);
        cut.notify_waiters();
    }
    track(&server, "last").await;
    assert_eq!(action().await, "last");
    // Nobody reads any longer: the next activity ends the command.
    drop(lines);
    track(&server, "unread").await;
    let ended = timeout(PATIENCE, child.wait()).await.expect("it does not end").unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_activities_are_shown_in_their_order_by_filter() {
    let server = server().await;
    for action in ["login", "export", "login"] {
        track(&server, action).await;
    }
    let base = &format!("http://{}", server.client.address());
    for (arguments, expect) in [
        (&["--no-follow"][..], &["login", "export", "login"][..]),
        (&["--no-follow", "action=export"], &["export"]),
        (&["--no-follow", "-n", "2"], &["export", "login"]),
        (&["--no-follow", "-n", "0"], &[]),
    ] {
        let (_child, mut lines) = tail(&server, base, arguments);
        for action in expect {
            let line = next(&mut lines).await.unwrap();
            let words = line.split("  ").map(str::trim).filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            let [_, rest @ ..] = &words[..] else { panic!("{line}") };
            assert_eq!(rest, [action, "Ada Lovelace", "Acme"], "{line}");
        }
        assert_eq!(next(&mut lines).await, None, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_that_of_the_api_and_has_nothing_that_a_terminal_obeys() {
    let server = server().await;
    let info = r#"{"n":12345678901234567890123,"a":1.10}"#;
    let event = format!("{{\"externalId\":\"ada\",\"action\":\"a\u{85}b\",\"info\":{info}}}");
    let path = format!("/analytics/{}", svctrack_tests::TENANT);
    let json_type = [("content-type", "application/json")];
    server.client.send(Method::POST, &path, &json_type, event).await.unwrap();
    let own = format!("http://{}", server.client.address());
    let (_child, mut lines) = tail(&server, &own, &["--no-follow", "--json"]);
    let line = next(&mut lines).await.unwrap();
    assert!(line.contains(info) && line.contains("\"a\\u0085b\""), "{line}");
    let activity: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(activity["action"], "a\u{85}b");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_is_an_error() {
    let server = server().await;
    let own = &*format!("http://{}", server.client.address());
    for (base, arguments, expect) in [
        (own, &["login"][..], "a filter is NAME=VALUE, such as action=login; found `login`"),
        (own, &["acton=login"], "acton"),
        (own, &["-n", "0", "acton=login"], "acton"),
        (own, &["limit=5"], "use --lines instead of `limit`"),
        (own, &["after=6a19f2c0e4b0a1c2d3e4f506"], "`after` is not a filter"),
        (own, &["count=true"], "`count` is a number in a filter"),
        ("http://127.0.0.1:1", &[], "cannot be reached"),
    ] {
        let (child, _lines) = tail(&server, base, arguments);
        let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(expect), "{arguments:?}: {said}");
    }
}
