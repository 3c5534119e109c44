//! Tenants that are suspended and deleted while they are in use (R57).

use std::{path::Path, sync::Arc};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_store::SystemClock;
use svctrack_tests::{
    TENANT,
    client::Client,
    in_process::InProcess,
    process::{PATIENCE, Server, command},
};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn put(client: &Client, path: &str, body: Value) -> StatusCode {
    client.send(Method::PUT, path, &JSON, body.to_string()).await.unwrap().status
}

/// Another tenant of the same server, with a token that may do everything.
async fn another_tenant(server: &InProcess) -> (String, Client) {
    tenant_by(&server.operator).await
}

async fn tenant_by(operator: &Client) -> (String, Client) {
    let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
    let client = operator.with_token(made["token"]["token"].as_str().unwrap());
    (made["_id"].as_str().unwrap().to_owned(), client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_and_its_settings_are_sent_back_as_they_were_read_without_a_trace() {
    let server = InProcess::start().await;
    let strict = [JSON[0], ("prefer", "handling=strict")];
    for (client, path) in
        [(&server.operator, format!("/tenants/{TENANT}")), (&server.client, "/settings".to_owned())]
    {
        let read = client.get(&path).await.json();
        let sent = client.send(Method::PUT, &path, &strict, read.to_string()).await.unwrap();
        assert_eq!((sent.status, sent.json()), (StatusCode::OK, read.clone()), "{path}");
        let mut other = read;
        other["createdAt"] = json!("2001-01-01");
        let sent = client.send(Method::PUT, &path, &strict, other.to_string()).await.unwrap();
        assert_eq!(sent.json()["errors"][0]["pointer"], "/createdAt", "{path}");
        assert_eq!(sent.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_changed_and_deleted_only_in_the_version_that_was_read() {
    let server = InProcess::start().await;
    let operator = &server.operator;
    let path = format!("/tenants/{}", another_tenant(&server).await.0);
    let read = operator.get(&path).await.headers["etag"].to_str().unwrap().to_owned();
    let write = async |method, etag: &str, body: Value| {
        let headers = [JSON[0], ("if-match", etag)];
        operator.send(method, &path, &headers, body.to_string()).await.unwrap()
    };
    let renamed = write(Method::PUT, &read, json!({"name": "renamed"})).await;
    assert_eq!(renamed.status, StatusCode::OK, "{}", renamed.text());
    for (method, body) in [(Method::PUT, json!({"suspended": true})), (Method::DELETE, Value::Null)]
    {
        let late = write(method, &read, body).await;
        assert_eq!(
            (late.status, &late.json()["code"]),
            (StatusCode::PRECONDITION_FAILED, &json!("version_mismatch"))
        );
    }
    assert_eq!(operator.get(&path).await.json()["state"], "active");
    let etag = renamed.headers["etag"].to_str().unwrap();
    let same = operator.send(Method::GET, &path, &[("if-none-match", etag)], "").await.unwrap();
    assert_eq!(same.status, StatusCode::NOT_MODIFIED);
    let deleted = write(Method::DELETE, etag, Value::Null).await;
    assert_eq!((deleted.status, &deleted.json()["state"]), (StatusCode::OK, &json!("deleting")));
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_their_tenant_is_suspended_deleted_or_their_token_revoked() {
    let server = InProcess::start().await;
    let (other, theirs) = another_tenant(&server).await;
    let label = json!({"label": "listener", "scopes": ["activities:read"]});
    let listener = server.client.post("/tokens", &label).await.json();
    let listener_client = server.client.with_token(listener["token"].as_str().unwrap());
    let mut of_token = listener_client.listen("/activities/stream", &[]).await;
    let mut of_suspended = server.client.listen("/activities/stream", &[]).await;
    let mut of_deleted = theirs.listen("/activities/stream", &[]).await;

    let path = format!("/tokens/{}", listener["_id"].as_str().unwrap());
    server.client.send(Method::DELETE, &path, &[], "").await.unwrap();
    assert!(of_token.next().await.is_none());
    let path = format!("/tenants/{TENANT}");
    assert_eq!(put(&server.operator, &path, json!({"suspended": true})).await, StatusCode::OK);
    assert!(of_suspended.next().await.is_none());
    server.operator.send(Method::DELETE, &format!("/tenants/{other}"), &[], "").await.unwrap();
    assert!(of_deleted.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_tenant_is_gone_in_the_end_and_others_stay() {
    let server = InProcess::start().await;
    let (other, theirs) = another_tenant(&server).await;
    for client in [&server.client, &theirs] {
        let items: Vec<Value> =
            (0..2_500).map(|number| json!({"name": number.to_string()})).collect();
        assert_eq!(put(client, "/companies", items.into()).await, StatusCode::OK);
    }
    let path = format!("/tenants/{other}");
    let deleted = server.operator.send(Method::DELETE, &path, &[], "").await.unwrap();
    assert_eq!((deleted.status, &deleted.json()["state"]), (StatusCode::OK, &json!("deleting")));
    assert_eq!(theirs.get("/companies").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        put(&server.operator, &path, json!({"suspended": false})).await,
        StatusCode::NOT_FOUND
    );
    let gone = async { while server.operator.get(&path).await.status != StatusCode::NOT_FOUND {} };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    assert!(!server.operator.get("/tenants").await.text().contains(&other));
    let kept = server.client.get("/companies?limit=5000&select=_id").await.json();
    assert_eq!(kept.as_array().unwrap().len(), 2_500);
}

/// Runs `svctrack` with the arguments; returns whether it succeeded, and what it printed.
async fn run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let output = command(folder).args(arguments).output().await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap().trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_rotates_tokens_and_renames_suspends_and_deletes_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let server = InProcess::in_folder(folder.path(), Arc::new(SystemClock)).await;
    let (other, theirs) = another_tenant(&server).await;
    let operator = server.operator.authorization().unwrap().trim_start_matches("Bearer ");
    let of_server = ["--server", &server.base, "--token", operator];
    let tenant = |verb: &str, more: &[&str]| {
        [&["tenant", verb, other.as_str()], more, &of_server]
            .concat()
            .iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let call = async |arguments: Vec<String>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(folder.path(), &arguments).await
    };
    let (done, text) = call(tenant("rename", &["--name", "Globex"])).await;
    assert!(done && text.contains("Globex") && text.contains("active"), "{text}");
    let (done, text) = call(tenant("suspend", &[])).await;
    assert!(done && text.contains("suspended"), "{text}");
    assert_eq!(theirs.get("/companies").await.status, StatusCode::FORBIDDEN);
    assert!(call(tenant("resume", &[])).await.0);
    assert_eq!(theirs.get("/companies").await.status, StatusCode::OK);
    let (done, text) = call(tenant("delete", &[])).await;
    assert!(!done && text.contains("--yes"), "{text}");
    assert_eq!(call(tenant("delete", &["--yes"])).await, (true, "deleted".to_owned()));
    assert_eq!(
        server.operator.get(&format!("/tenants/{other}")).await.status,
        StatusCode::NOT_FOUND
    );

    // A token without named scopes gets those of the token that issues it.
    let create = |token: &str| {
        let of = ["token", "create", "--label", "x", "--server", &server.base, "--token", token];
        of.map(str::to_owned).to_vec()
    };
    let (done, second) = call(create(operator)).await;
    assert!(done, "{second}");
    assert_eq!(server.client.with_token(&second).get("/tenants").await.status, StatusCode::OK);
    let admin = json!({"label": "admin", "scopes": ["admin"]});
    let admin = server.client.post("/tokens", &admin).await.json();
    let (done, text) = call(create(admin["token"].as_str().unwrap())).await;
    assert!(done, "{text}");
    assert_eq!(server.client.with_token(&text).get("/settings").await.status, StatusCode::OK);

    let id = Token::parse(operator).unwrap().id().to_owned();
    for (flag, value, said) in [
        ("--keep-old-for", "31d", "'--keep-old-for <TIME>': expected at most 30d"),
        ("--expires", "tomorrow", "'--expires <DATE>': expected a date such as 2030-12-31"),
    ] {
        let rotate = [&["token", "rotate", &id, flag, value], &of_server[..]].concat();
        let (done, text) = run(folder.path(), &rotate).await;
        assert!(!done && text.contains(said), "{text}");
    }
    let rotate = [&["token", "rotate", &id, "--keep-old-for", "0s"], &of_server[..]].concat();
    let (done, successor) = run(folder.path(), &rotate).await;
    assert!(done, "{successor}");
    assert_eq!(server.operator.get("/tenants").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(server.client.with_token(&successor).get("/tenants").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_of_a_stopped_store_is_deleted_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let operator = server.client.with_token(operator.reveal());
    let (other, theirs) = tenant_by(&operator).await;
    let items: Vec<Value> = (0..2_500).map(|number| json!({"name": number.to_string()})).collect();
    assert_eq!(put(&theirs, "/companies", items.into()).await, StatusCode::OK);
    server.kill().await;
    let data = folder.path().to_str().unwrap();
    let delete = ["tenant", "delete", &other, "--yes", "--data", data];
    assert_eq!(run(folder.path(), &delete).await, (true, "deleted".to_owned()));
    let (_, tenants) = run(folder.path(), &["tenant", "list", "--data", data]).await;
    assert!(!tenants.contains(&other) && tenants.contains(TENANT), "{tenants}");
    let (sound, text) = run(folder.path(), &["verify", "--data", data]).await;
    assert!(sound, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_token_of_a_tenant_ends_no_later_than_the_token_that_created_it() {
    let server = InProcess::start().await;
    let end = "2999-01-01T00:00:00.000Z";
    let label = json!({"label": "for a while", "scopes": ["admin", "operator"], "expiresAt": end});
    let made = server.operator.post("/tokens", &label).await.json();
    let ending = server.operator.with_token(made["token"].as_str().unwrap());
    let expires = async |operator: &Client| {
        let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
        made["token"]["expiresAt"].clone()
    };
    assert_eq!(
        (expires(&ending).await, expires(&server.operator).await),
        (json!(end), Value::Null)
    );
}
