//! Activities as server-sent events, from the moment at which they are stored.

use std::fs;

use hyper::StatusCode;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::{Client, Events},
    in_process::InProcess,
    process::Server,
};

/// A server that knows a company and a user of it.
async fn server() -> InProcess {
    let server = InProcess::start().await;
    for (id, user) in [("acme", "ada"), ("globex", "bob")] {
        server.client.post("/companies", &json!({"name": id, "externalId": id})).await;
        let user = json!({"externalId": user, "companyId": format!("extid-{id}")});
        assert_eq!(server.client.post("/endusers", &user).await.status, StatusCode::OK);
    }
    server
}

async fn track(client: &Client, user: &str, action: &str) {
    let sent = client.track(&json!({"externalId": user, "action": action})).await.unwrap();
    assert_eq!(sent.text(), "OK");
}

async fn action(events: &mut Events) -> String {
    events.next().await.unwrap().1["action"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_what_comes_from_then_on_in_order() {
    let server = server().await;
    track(&server.client, "ada", "before").await;
    let mut events = server.client.listen("/activities/stream", &[]).await;
    for number in 0..50 {
        track(&server.client, "ada", &number.to_string()).await;
    }
    for number in 0..50 {
        assert_eq!(action(&mut events).await, number.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_hears_what_was_missed() {
    let server = server().await;
    let mut events = server.client.listen("/activities/stream", &[]).await;
    track(&server.client, "ada", "heard").await;
    let (id, heard) = events.next().await.unwrap();
    assert_eq!((heard["action"].as_str(), heard["_id"].as_str()), (Some("heard"), Some(&*id)));
    drop(events);
    // More than one batch of the stream has.
    for number in 0..600 {
        track(&server.client, "ada", &number.to_string()).await;
    }
    let mut events = server.client.listen("/activities/stream", &[("last-event-id", &id)]).await;
    for number in 0..600 {
        assert_eq!(action(&mut events).await, number.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_before_the_first_activity_hears_it() {
    let server = server().await;
    for from in ["", "?after=000000000000000000000000"] {
        let path = format!("/activities/stream{from}");
        let mut events = server.client.listen(&path, &[]).await;
        let (cursor, _) = events.message().await.unwrap();
        drop(events);
        track(&server.client, "ada", "missed").await;
        let back = [("last-event-id", cursor.as_deref().unwrap())];
        let mut events = server.client.listen("/activities/stream", &back).await;
        assert_eq!(action(&mut events).await, "missed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_can_be_of_one_company_alone() {
    let server = server().await;
    let mut events = server.client.listen("/activities/stream?companyId=extid-globex", &[]).await;
    track(&server.client, "ada", "not heard").await;
    track(&server.client, "bob", "heard").await;
    assert_eq!(action(&mut events).await, "heard");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_another_tenant_hears_nothing() {
    let server = server().await;
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    let path = format!("/analytics/{}", made["_id"].as_str().unwrap());
    other.post("/companies", &json!({"name": "x", "externalId": "x"})).await;
    let mut events = other.listen("/activities/stream", &[]).await;
    track(&server.client, "ada", "not heard").await;
    let event = json!({"externalId": "u", "companyExternalId": "x", "action": "heard"});
    assert_eq!(server.anonymous.post(&path, &event).await.text(), "OK");
    assert_eq!(action(&mut events).await, "heard");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_revoked_hears_no_more() {
    let server = server().await;
    let made = json!({"label": "listener", "scopes": ["activities:read"]});
    let made = server.client.post("/tokens", &made).await.json();
    let listener = server.client.with_token(made["token"].as_str().unwrap());
    let mut events = listener.listen("/activities/stream", &[]).await;
    track(&server.client, "ada", "heard").await;
    assert_eq!(action(&mut events).await, "heard");
    let path = format!("/tokens/{}", made["_id"].as_str().unwrap());
    let revoked = server.client.send(hyper::Method::DELETE, &path, &[], "").await.unwrap();
    assert_eq!(revoked.status, StatusCode::OK);
    track(&server.client, "ada", "not heard").await;
    assert!(events.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_to_come_back_with_must_be_one() {
    let server = server().await;
    let headers = [("last-event-id", "yesterday")];
    let response =
        server.client.send(hyper::Method::GET, "/activities/stream", &headers, "").await.unwrap();
    assert_eq!(response.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_every_stream_and_waits_for_none() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let token = Token::generate().unwrap();
    let server =
        Server::start_with_log(folder.path(), &token, &[], fs::File::create(&log).unwrap()).await;
    let mut events = server.client.listen("/activities/stream", &[]).await;
    server.stop().await;
    assert!(events.next().await.is_none());
    let log = fs::read_to_string(log).unwrap();
    assert!(!log.contains("aborted at shutdown"), "{log}");
}
