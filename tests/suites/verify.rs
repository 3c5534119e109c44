//! `svctrack verify`: a sound store has no problems, and those of a corrupted one are listed.

use std::{fs, os::unix::fs::symlink, path::Path};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::Client,
    process::{Server, command},
};
use tempfile::TempDir;

use crate::{
    backup::{run, text},
    startup::FILE,
};

pub(crate) async fn verify(folder: &Path) -> (Option<i32>, Value) {
    let mut command = command(folder);
    command.args(["verify", "--json", "--data"]).arg(folder);
    let output = command.output().await.unwrap();
    let found = serde_json::from_slice(&output.stdout);
    (output.status.code(), found.unwrap_or_else(|_| json!(String::from_utf8_lossy(&output.stderr))))
}

async fn delete(client: &Client, path: &str) {
    let removed = client.send(Method::DELETE, path, &[], "").await.unwrap();
    assert_eq!(removed.status, StatusCode::OK, "{}", removed.text());
}

/// Some of everything that tables say of each other.
pub(crate) async fn fill(client: &Client) {
    let put = async |path: &str, key: &str, body: Value| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let response = client.send(Method::PUT, path, &headers, body.to_string()).await.unwrap();
        assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    };
    let companies: Vec<_> = (0..50)
        .map(|n| json!({"name": format!("Company {n}"), "externalId": format!("c{n}"), "domains": [format!("c{n}.example")]}))
        .collect();
    put("/companies", "one", json!(companies)).await;
    let users: Vec<_> =
        (0..200).map(|n| json!({"externalId": format!("u{n}"), "email": format!("u{n}@c{}.example", n % 50)})).collect();
    put("/endusers", "two", json!(users)).await;
    for n in 0..300 {
        let event = json!({"externalId": format!("u{}", n % 3), "action": "x", "messageId": format!("m{n}")});
        client.track(&event).await.unwrap();
    }
    for n in 0..20 {
        client
            .track(
                &json!({"externalId": format!("p{n}"), "companyExternalId": "late", "action": "x"}),
            )
            .await
            .unwrap();
    }
    put("/endusers", "three", json!([{"externalId": "u0", "companyId": "extid-c9"}])).await;
    delete(client, "/endusers/extid-u1").await;
    delete(client, "/endusers/extid-u2?erase=true").await;
    client.post("/tokens", &json!({"label": "x", "scopes": ["*"]})).await;
}

pub(crate) async fn filled() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    fill(&server.client).await;
    server.kill().await;
    folder
}

#[tokio::test]
async fn a_store_that_was_killed_has_no_problems_and_stays_as_it_is() {
    let folder = filled().await;
    let before = fs::read(folder.path().join(FILE)).unwrap();
    let (code, found) = verify(folder.path()).await;
    assert_eq!((code, &found["problemCount"]), (Some(0), &json!(0)), "{found}");
    assert!(found["rows"].as_u64().unwrap() > 1_000, "{found}");
    assert!(fs::read(folder.path().join(FILE)).unwrap() == before);
}

#[tokio::test]
async fn a_corrupted_store_is_reported_with_its_problems() {
    let folder = filled().await;
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    // All records of the resource lie close together, so one of them is hit.
    let place = bytes.windows(10).position(|part| part == b"Company 33").unwrap();
    bytes[place] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (code, found) = verify(folder.path()).await;
    assert_eq!(code, Some(2), "{found}");
    let problems = found["problems"].as_array().unwrap();
    assert!(problems.iter().any(|problem| problem["table"] == "records"), "{found}");
    let mut compact = command(folder.path());
    let rejected = compact.args(["compact", "--data"]).arg(folder.path()).output().await.unwrap();
    let said = String::from_utf8_lossy(&rejected.stderr);
    assert!(said.contains("the rest can be read: see `svctrack verify`"), "{said}");
}

#[tokio::test]
async fn what_is_no_store_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(verify(folder.path()).await.0, Some(1));
    fs::write(folder.path().join(FILE), b"once upon a time").unwrap();
    assert_eq!(verify(folder.path()).await.0, Some(1));
}

#[tokio::test]
async fn backups_are_verified_without_a_store_and_each_is_reported() {
    let store = filled().await;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (sound, cut) = (at("a.backup.gz"), at("b.backup.gz"));
    let made = ["backup", "--data", text(store.path()), "--to", text(&sound)];
    let (code, said) = run(folder.path(), &made).await;
    assert_eq!(code, Some(0), "{said}");
    let verify = async |path: &Path, further: &[&str]| {
        let line = [&["verify", "--backup", text(path)], further].concat();
        run(folder.path(), &line).await
    };
    let (code, said) = verify(folder.path(), &[]).await;
    assert!(code == Some(0) && said.contains("a.backup.gz: sound, "), "{said}");
    let whole = fs::read(&sound).unwrap();
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    fs::write(at("notes.txt"), "").unwrap();
    let (code, said) = verify(folder.path(), &["--json"]).await;
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, found.as_array().map(Vec::len)), (Some(2), Some(2)), "{found}");
    assert!(found[0]["rows"].as_u64() > Some(1_000), "{found}");
    assert_eq!(found[1]["path"], text(&cut));
    assert_eq!(found[1]["problem"], "it is truncated or corrupted");
    assert_eq!(verify(&sound, &[]).await.0, Some(0));
    // Nothing is known of one that cannot be opened.
    symlink(at("gone"), at("d.backup.gz")).unwrap();
    let (code, said) = verify(&at("d.backup.gz"), &[]).await;
    assert_eq!(code, Some(1), "{said}");
    fs::remove_file(&cut).unwrap();
    let (code, said) = verify(folder.path(), &[]).await;
    assert!(code == Some(1) && said.contains("cannot be opened: No such file"), "{said}");
    fs::remove_file(at("d.backup.gz")).unwrap();
    assert_eq!(verify(&at("c.backup.gz"), &[]).await.0, Some(1));
    let (code, said) = verify(store.path(), &[]).await;
    assert!(code == Some(1) && said.contains("none ends in `.backup.gz`"), "{said}");
    let (code, said) = verify(&sound, &["--data", "x"]).await;
    assert!(code == Some(2) && said.contains("`--data` has no effect with `--backup`"), "{said}");
}
