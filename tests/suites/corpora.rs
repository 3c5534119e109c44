//! Public collections of hard input: every text of JSONTestSuite, and the big list of naughty strings.
//! `tests/run` fetches both into `target/corpora`.

use std::fs;

use hyper::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    process::Server,
    project,
};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A file of a collection.
fn corpus(path: &str) -> String {
    let path = project().join("target/corpora").join(path);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `tests/run` fetches it", path.display()))
}

/// Texts of JSONTestSuite, each with its name; those whose name begins with `n_` are not JSON.
fn json_texts() -> Vec<(String, String)> {
    let module = corpus("json-test-suite/data/parsing.js");
    let array = &module[module.find('[').unwrap()..=module.rfind(']').unwrap()];
    let entries: Vec<Value> = serde_json::from_str(array).unwrap();
    assert!(entries.len() > 300, "{} texts", entries.len());
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    entries.iter().map(|entry| (text(entry, "name"), text(entry, "input"))).collect()
}

/// A server that nothing limits, and its folder.
async fn server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    (folder, server)
}

async fn send(client: &Client, method: Method, path: &str, body: &str) -> Response {
    client.send(method, path, &JSON, body.to_owned()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_is_rejected_on_every_route_that_takes_a_body() {
    let (_folder, server) = server().await;
    let tracking = format!("/analytics/{TENANT}");
    let routes = [
        (Method::POST, "/products"),
        (Method::PUT, "/products"),
        (Method::PUT, "/products/extid-x"),
        (Method::PUT, "/tickets"),
        (Method::PUT, "/settings"),
        (Method::POST, "/tokens"),
        (Method::POST, tracking.as_str()),
    ];
    for (name, text) in json_texts() {
        for (method, path) in &routes {
            let response = send(&server.client, method.clone(), path, &text).await;
            assert!(
                response.status.is_client_error() || response.status.is_success(),
                "{path} {name}"
            );
            // A few are longer than an event may be, which is seen first.
            if name.starts_with("n_") && response.status != StatusCode::PAYLOAD_TOO_LARGE {
                let found = response.text();
                assert_eq!(response.status, StatusCode::BAD_REQUEST, "{path} {name}: {found}");
            }
        }
    }
    assert_eq!(server.client.get("/products").await.text(), "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_json_comes_back_as_it_was_sent_or_is_rejected_for_a_reason_of_our_own() {
    let (_folder, server) = server().await;
    // R9, and what no text can be stored with.
    let reasons = ["json_duplicate_key", "json_too_deep", "json_nul", "json_not_unicode"];
    for (name, text) in json_texts().into_iter().filter(|(name, _)| name.starts_with("y_")) {
        let body = format!(r#"{{"name":"x","custom":{{"v":{text}}}}}"#);
        let response = send(&server.client, Method::POST, "/products", &body).await;
        if response.status != StatusCode::OK {
            assert_eq!(response.status, StatusCode::BAD_REQUEST, "{name}: {}", response.text());
            let code = response.json()["code"].as_str().unwrap().to_owned();
            assert!(reasons.contains(&code.as_str()), "{name}: {code}");
            continue;
        }
        let id = response.json()["_id"].as_str().unwrap().to_owned();
        let stored = server.client.get(&format!("/products/{id}")).await.json();
        let sent: Value = serde_json::from_str(&text).unwrap();
        // A null in `custom` is no key at all (R5).
        assert_eq!(stored["custom"]["v"], sent, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn naughty_strings_are_stored_as_they_are_or_rejected() {
    let (_folder, server) = server().await;
    let client = &server.client;
    let strings: Vec<String> = serde_json::from_str(&corpus("blns/resources/blns.json")).unwrap();
    assert!(strings.len() > 400, "{} strings", strings.len());
    let mut stored = 0;
    for text in &strings {
        let event = json!({"externalId": text, "name": text, "action": text, "info": {text: text}});
        let tracked = server.client.track(&event).await.unwrap();
        assert!(!tracked.status.is_server_error(), "{text:?}");
        let encoded = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        for path in ["/products?externalId=", "/tickets?search=", "/products?sort=", "/tokens/"] {
            let response = client.get(&format!("{path}{encoded}")).await;
            assert!(!response.status.is_server_error(), "{path} {text:?}");
        }
        let body = json!({"name": text, "externalId": text, "custom": {text: text}});
        let made = client.post("/products", &body).await;
        if made.status != StatusCode::OK {
            let known = [400, 409, 422].contains(&made.status.as_u16());
            assert!(known, "{text:?}: {}", made.text());
            continue;
        }
        stored += 1;
        let found = client.get(&format!("/products/extid-{encoded}")).await;
        assert_eq!(found.status, StatusCode::OK, "{text:?}");
        let found = found.json();
        for name in ["name", "externalId"] {
            assert_eq!(found[name], *text, "{name}");
        }
        assert_eq!(found["custom"], json!({text: text}), "{text:?}");
    }
    assert!(stored > strings.len() * 8 / 10, "{stored} of {} were stored", strings.len());
}
