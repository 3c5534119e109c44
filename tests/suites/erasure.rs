//! What is left of a person who was erased: nothing, in no byte of the store once it has been compacted.

use std::{fs, path::Path, time::Instant};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    in_process::InProcess,
    process::{PATIENCE, Server, command},
};

const FILE: &str = "svctrack.redb";
/// Texts that identify the person, or are in their data; all in lower case.
const CANARIES: [&str; 11] = [
    "canaryfirst",
    "canarylast",
    "canary.mail@",
    "canary.other@",
    "canary-phone",
    "canary-external",
    "canary-source",
    "canary-info",
    "canary-message",
    "canary-words",
    "canary-parked",
];

async fn send(client: &Client, method: Method, path: &str, key: &str, body: &Value) -> Response {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let response = client.send(method, path, &headers, body.to_string()).await.unwrap();
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    response
}

/// Leaves traces of the person wherever there can be some, and one of another person.
async fn leave_traces(client: &Client) {
    let user = json!({
        "companyId": "extid-acme", "externalId": "canary-external", "sourceId": "canary-source",
        "email": "Canary.Mail@acme.example", "name": "Canaryfirst Canarylast", "custom": {"canary-words": 1},
        "otherEmails": ["Canary.Other@home.example"], "phone": "canary-phone", "position": "canary-words",
    });
    send(client, Method::POST, "/endusers", "one", &user).await;
    send(client, Method::PUT, "/endusers", "two", &json!([user])).await;
    let event = json!({
        "externalId": "canary-external", "action": "Login", "info": {"k": "canary-info"},
        "messageId": "canary-message-1",
    });
    for _ in 0..100 {
        client.track(&event).await.unwrap();
    }
    let parked = json!({
        "externalId": "other", "email": "canary.mail@acme.example", "companyExternalId": "nobody",
        "name": "Canaryfirst", "action": "canary-parked", "messageId": "canary-message-2",
    });
    let unknown = json!({
        "externalId": "canary-external", "companyExternalId": "unheard-of", "assetExtId": "x", "action": "Look",
    });
    for event in [
        parked,
        unknown,
        json!({"externalId": "bob", "companyExternalId": "acme", "action": "stays"}),
    ] {
        assert_eq!(client.track(&event).await.unwrap().text(), "OK");
    }
    let ticket = json!([{
        "sourceId": "t-1", "email": "canary.mail@acme.example", "name": "Canaryfirst Canarylast", "title": "Broken",
        "description": "canary-words", "sender": ["Canarylast"], "comments": ["canary-words"],
        "companyExternalId": "acme", "custom": {"phone": "canary-words"},
    }, {
        "sourceId": "t-2", "email": "canary.other@home.example", "description": "canary-words",
        "companyExternalId": "acme",
    }]);
    send(client, Method::PUT, "/tickets", "three", &ticket).await;
}

async fn stop(server: Server) {
    server.stop().await;
}

async fn erase(client: &Client, id: &str) -> Result<Response, String> {
    client.send(Method::DELETE, &format!("/endusers/{id}?erase=true"), &[], "").await
}

/// Runs `svctrack compact`: whether it did, and what it said.
async fn compact(folder: &Path) -> (bool, String) {
    let output =
        command(folder).args(["compact", "--json", "--data"]).arg(folder).output().await.unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// The canaries that are in any byte of a folder.
fn canaries_in(folder: &Path) -> Vec<&'static str> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap().to_ascii_lowercase();
        let holds =
            |canary: &&str| bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
        found.extend(CANARIES.iter().copied().filter(|canary| holds(canary)));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_is_in_no_byte_of_a_compacted_store() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    leave_traces(&server.client).await;
    stop(server).await;
    assert!(compact(folder.path()).await.0);
    assert_eq!(canaries_in(folder.path()), CANARIES);

    let server = Server::start(folder.path(), &token).await;
    let exported = server.client.get("/endusers/extid-canary-external/export").await;
    let exported = exported.text().to_ascii_lowercase();
    for canary in CANARIES {
        assert!(exported.contains(canary), "{canary} is not exported: {exported}");
    }
    let erased = erase(&server.client, "extid-canary-external").await.unwrap();
    assert_eq!(erased.json(), json!({"n": 1, "ok": 1, "deletedCount": 1}));
    // What comes afterwards leaves no trace either.
    let again = json!({"externalId": "canary-external", "companyExternalId": "acme", "action": "canary-parked"});
    assert_eq!(server.client.track(&again).await.unwrap().text(), "OK");
    let item = json!([{"companyId": "extid-acme", "externalId": "canary-external", "email": "canary.mail@acme.example"}]);
    let rejected = send(&server.client, Method::PUT, "/endusers", "four", &item).await;
    assert_eq!(rejected.json()["createdErrors"][0]["code"], "suppressed");
    stop(server).await;
    let (done, said) = compact(folder.path()).await;
    assert!(done, "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(canaries_in(folder.path()), [""; 0]);
    assert!(said["bytesBefore"].as_u64() > said["bytesAfter"].as_u64(), "{said}");

    let server = Server::start(folder.path(), &token).await;
    assert_eq!(server.client.actions().await, ["stays"]);
    let ticket = server.client.get("/tickets/srcid-t-1").await.json();
    assert_eq!((&ticket["title"], &ticket["email"]), (&json!("Broken"), &Value::Null));
    assert_eq!(server.client.get("/companies/extid-acme").await.status, StatusCode::OK);
    server.kill().await;
}

/// Activities of the person whose erasure is killed: tens of commands.
const ACTIVITIES: usize = 30_000;
/// How often it is tried to kill one before it has come to its end.
const TRIES: usize = 5;

/// Begins to erase a person and kills the server; whether that was in the middle.
async fn kill_erasing(server: Server, user: &str) -> bool {
    let row = format!(r#"{{"euExtId":"{user}","cId":"acme","action":"x"}}"#);
    let rows = format!("[{}]", vec![row; ACTIVITIES].join(","));
    let path = format!("/analytics/bulk/{TENANT}");
    assert_eq!(server.client.send(Method::POST, &path, &[], rows).await.unwrap().text(), "OK");
    let (client, id) = (server.client.clone(), format!("extid-{user}"));
    let erasing = tokio::spawn(async move { erase(&client, &id).await });
    let path = format!("/endusers/extid-{user}");
    while server.client.get(&path).await.status == StatusCode::OK {}
    server.kill().await;
    erasing.await.unwrap().is_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_was_killed_comes_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let mut server = Server::start_with_acme(folder.path(), &token).await;
    for number in 0..TRIES {
        let user = format!("ada-{number}");
        let was_in_the_middle = kill_erasing(server, &user).await;
        server = Server::start(folder.path(), &token).await;
        let begun = Instant::now();
        while server.client.get("/activities?limit=1").await.text() != "[]" {
            assert!(begun.elapsed() < PATIENCE, "it does not come to its end");
        }
        let made = json!({"companyId": "extid-acme", "externalId": user});
        let rejected = server.client.post("/endusers", &made).await;
        assert_eq!(rejected.json()["code"], "suppressed");
        if was_in_the_middle {
            return server.kill().await;
        }
    }
    panic!("none of {TRIES} was killed in the middle");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_erased_by_one_tenant_is_not_suppressed_by_another() {
    let server = InProcess::start().await;
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    let company = json!({"name": "Acme", "externalId": "acme"});
    let user = json!({"companyId": "extid-acme", "externalId": "ada", "email": "ada@x.example"});
    for client in [&server.client, &other] {
        client.post("/companies", &company).await;
        assert_eq!(client.post("/endusers", &user).await.status, StatusCode::OK);
    }
    assert_eq!(erase(&server.client, "extid-ada").await.unwrap().json()["n"], 1);
    assert_eq!(other.get("/endusers/extid-ada").await.status, StatusCode::OK);
    let deleted = other.send(Method::DELETE, "/endusers/extid-ada", &[], "").await.unwrap();
    assert_eq!(deleted.json()["n"], 1);
    assert_eq!(other.post("/endusers", &user).await.status, StatusCode::OK);
    let let_back = other.post("/endusers/unsuppress", &json!({"externalId": "ada"})).await;
    assert_eq!(let_back.json(), json!({"unsuppressed": 0}));
    assert_eq!(server.client.post("/endusers", &user).await.json()["code"], "suppressed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_many_pieces_is_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let rows: Vec<Value> = (0..1_001)
        .map(|number| json!({"euExtId": "ada", "email": "ada@x.example", "cId": "acme", "action": number.to_string()}))
        .collect();
    let path = format!("/analytics/bulk/{TENANT}");
    server.client.send(Method::POST, &path, &[], json!(rows).to_string()).await.unwrap();
    let tickets: Vec<Value> = (0..2_100)
        .map(|number| {
            let of = if number % 1_000 == 999 { "ada@x.example" } else { "bob@x.example" };
            json!({"sourceId": number.to_string(), "email": of, "companyExternalId": "acme"})
        })
        .collect();
    send(&server.client, Method::PUT, "/tickets", "k", &json!(tickets)).await;
    let exported = server.client.get("/endusers/extid-ada/export").await.json();
    let actions: Vec<&str> = exported["activities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|activity| activity["action"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (0..1_001).rev().map(|number| number.to_string()).collect();
    assert!(actions == expected, "{} of {}", actions.len(), expected.len());
    let ids = exported["tickets"].as_array().unwrap().iter().map(|ticket| &ticket["sourceId"]);
    assert_eq!(ids.collect::<Vec<_>>(), ["999", "1999"]);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_open_or_not_there_is_not_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let (done, said) = compact(folder.path()).await;
    assert!(!done && said.contains("there is no store"), "{said}");
    let server = Server::start_with_acme(folder.path(), &token).await;
    let (done, said) = compact(folder.path()).await;
    assert!(!done && said.contains("another process has it open"), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert_eq!(server.client.get("/companies/extid-acme").await.status, StatusCode::OK);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_broken_off_is_never_taken_for_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    stop(Server::start_with_acme(folder.path(), &token).await).await;
    let half = folder.path().join("svctrack.compact");
    let whole = fs::read(folder.path().join(FILE)).unwrap();
    for starts in [false, true] {
        fs::write(&half, &whole[..whole.len() / 2]).unwrap();
        if starts {
            let server = Server::start(folder.path(), &token).await;
            assert_eq!(server.client.get("/companies/extid-acme").await.status, StatusCode::OK);
            stop(server).await;
        } else {
            assert!(compact(folder.path()).await.0);
        }
        assert!(!half.exists());
    }
}
