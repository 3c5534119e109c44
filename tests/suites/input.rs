//! Hostile and malformed requests, on real connections.

use flate2::{Compression, write::GzEncoder};
use hyper::Method;
use serde_json::json;
use svctrack_tests::{TENANT, in_process::InProcess, process::PATIENCE};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Largest body of one event, in bytes (R30).
const MAX_EVENT_BYTES: usize = 64 * 1024;

fn event_of(bytes: usize) -> String {
    let head = r#"{"externalId":"7","companyExternalId":"acme","info":{"text":["#;
    let mut body = String::from(head);
    while body.len() + 12 < bytes {
        body.push_str("\"12345\",");
    }
    body.push_str("0]}}");
    body.push_str(&" ".repeat(bytes - body.len()));
    body
}

async fn server() -> InProcess {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_taken_up_to_its_cap_and_no_further() {
    let server = server().await;
    let path = format!("/analytics/{TENANT}");
    for (bytes, status) in [(MAX_EVENT_BYTES, 200), (MAX_EVENT_BYTES + 1, 413)] {
        let response =
            server.anonymous.send(Method::POST, &path, &[], event_of(bytes)).await.unwrap();
        assert_eq!(response.status, status, "{bytes}: {}", response.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_body_without_end_is_rejected() {
    let server = server().await;
    let mut request = format!(
        "POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    for _ in 0..20 {
        request.push_str("1000\r\n");
        request.push_str(&" ".repeat(0x1000));
        request.push_str("\r\n");
    }
    let response = server.client.raw(request.as_bytes()).await;
    assert!(
        response.starts_with("HTTP/1.1 413") && response.contains("connection: close"),
        "{response}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_body_is_measured_unpacked() {
    let server = server().await;
    let path = format!("/analytics/{TENANT}");
    let pack = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    };
    let gzip = [("content-encoding", "gzip")];
    let send = |body: Vec<u8>| server.anonymous.send(Method::POST, &path, &gzip, body);
    assert_eq!(send(pack(event_of(1_000).as_bytes())).await.unwrap().text(), "OK");
    let bomb = pack(&vec![b' '; 30 * 1024 * 1024]);
    assert!(bomb.len() < MAX_EVENT_BYTES);
    assert_eq!(send(bomb).await.unwrap().status, 413);
    assert_eq!(send(b"no gzip at all".to_vec()).await.unwrap().status, 400);
    let brotli = [("content-encoding", "br")];
    let response = server.anonymous.send(Method::POST, &path, &brotli, "{}").await.unwrap();
    assert_eq!(response.status, 415);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_drips_ends_the_connection_in_time() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
    let mut response = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut response)).await;
    assert!(closed.is_ok(), "the connection stays open");
    assert_eq!(server.client.get("/health").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stops_arriving_is_rejected_in_time() {
    let server = server().await;
    let request =
        format!("POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{{");
    let response = server.client.raw(request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 408"), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_tiny_pieces_takes_no_more_room_than_it_is_long() {
    let server = server().await;
    let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
    let head = format!(
        "POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all("1\r\n \r\n".repeat(MAX_EVENT_BYTES).as_bytes()).await.unwrap();
    // It stays open; meanwhile others are served.
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "meanwhile"});
    assert_eq!(server.client.track(&event).await.unwrap().text(), "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_no_text_is_rejected() {
    let server = server().await;
    for path in ["/companies/extid-%FF", "/companies/%C3%28"] {
        assert_eq!(server.client.get(path).await.status, 400, "{path}");
    }
    let response = server.anonymous.send(Method::POST, "/analytics/%FF", &[], "{}").await.unwrap();
    assert_eq!(response.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_has_grown_can_still_be_read() {
    let server = server().await;
    let half = "x".repeat(40_000);
    let user =
        json!({"companyId": "extid-acme", "externalId": "7", "firstName": half, "lastName": half});
    assert_eq!(server.client.post("/endusers", &user).await.status, 200);
    assert_eq!(server.client.get("/endusers/extid-7").await.status, 200);
    assert_eq!(server.client.get("/endusers").await.status, 200);
    let keys = |prefix: &str| {
        let keys = (0..400).map(|number| (format!("{prefix}{number}"), json!(number)));
        json!({"custom": serde_json::Value::Object(keys.collect())})
    };
    let json = [("content-type", "application/json")];
    let put = |body: serde_json::Value| {
        server.client.send(Method::PUT, "/companies/extid-acme", &json, body.to_string())
    };
    assert_eq!(put(keys("a")).await.unwrap().status, 200);
    assert_eq!(put(keys("b")).await.unwrap().status, 422);
    assert_eq!(server.client.get("/companies/extid-acme").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_do_what_its_scopes_allow_until_it_ends() {
    let server =
        InProcess::with_token(|record| record.scopes = vec!["companies:read".to_owned()]).await;
    assert_eq!(server.client.get("/companies").await.status, 200);
    for response in [
        server.client.post("/companies", &json!({"name": "Acme"})).await,
        server.client.get("/endusers").await,
        server.client.get("/activities").await,
    ] {
        assert_eq!(
            (response.status.as_u16(), response.json()["code"].as_str()),
            (403, Some("scope_missing"))
        );
    }
    let server = InProcess::with_token(|record| record.expires_at = Some(record.created_at)).await;
    let response = server.client.get("/companies").await;
    assert_eq!(
        (response.status.as_u16(), response.json()["code"].as_str()),
        (401, Some("token_expired"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_issued_works_until_it_is_revoked() {
    let server = server().await;
    let asked = json!({"label": "reader", "scopes": ["companies:read", "admin"]});
    let made = server.client.post("/tokens", &asked).await.json();
    let reader = server.client.with_token(made["token"].as_str().unwrap());
    assert_eq!(reader.get("/companies").await.status, 200);
    assert_eq!(reader.post("/companies", &json!({"name": "B"})).await.status, 403);
    // Bulk needs one of the two permissions.
    let json = [("content-type", "application/json")];
    let bulk = reader.send(Method::PUT, "/companies", &json, "[]").await.unwrap();
    assert_eq!(bulk.status, 403);
    // It grants only what it holds.
    let more = json!({"label": "writer", "scopes": ["companies:create"]});
    assert_eq!(reader.post("/tokens", &more).await.json()["code"], "scope_not_held");
    let path = format!("/tokens/{}", made["_id"].as_str().unwrap());
    assert_eq!(server.client.send(Method::DELETE, &path, &[], "").await.unwrap().status, 200);
    assert_eq!(reader.get("/companies").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_item_without_permission_is_listed_and_the_rest_is_applied() {
    let server =
        InProcess::with_token(|record| record.scopes = vec!["products:create".to_owned()]).await;
    let json = [("content-type", "application/json")];
    let put = |body: &'static str| server.client.send(Method::PUT, "/products", &json, body);
    assert_eq!(put(r#"[{"externalId":"a","name":"A"}]"#).await.unwrap().json()["created"], 1);
    let response = put(r#"[{"externalId":"a","name":"B"},{"externalId":"c","name":"C"}]"#)
        .await
        .unwrap()
        .json();
    assert_eq!((&response["created"], &response["updated"]), (&json!(1), &json!(0)));
    assert_eq!(response["permissionErrors"][0]["index"], 0);
    assert_eq!(response["permissionErrors"][0]["externalId"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_too_long_is_rejected() {
    let server = server().await;
    let response = server.client.get(&format!("/companies?x={}", "a".repeat(9_000))).await;
    assert_eq!(response.status, 414);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_a_request_id_of_its_own() {
    let server = server().await;
    let mut ids = std::collections::HashSet::new();
    for path in ["/health", "/nowhere", "/companies", "/svctrack.js", "/demo"] {
        let response = server.anonymous.get(path).await;
        assert!(ids.insert(response.headers["x-request-id"].clone()), "{path}");
    }
}

/// Longest description of a ticket, in bytes (R9).
const MAX_DESCRIPTION_BYTES: usize = 1024 * 1024;
/// Largest body of one ticket, in bytes (R56).
const MAX_TICKET_BYTES: usize = 2 * MAX_DESCRIPTION_BYTES;

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_takes_a_description_of_a_mebibyte_whichever_way_it_comes() {
    let server = server().await;
    let json = [("content-type", "application/json")];
    let send = |method, path, body: serde_json::Value| {
        server.client.send(method, path, &json, body.to_string())
    };
    // A quote is two bytes of JSON.
    let longest = "\"x".repeat(MAX_DESCRIPTION_BYTES / 2);
    let ticket = |id: &str, description: &str| json!({"sourceId": id, "email": "a@acme.example", "domains": [], "description": description});
    let too_long = format!("{longest}x");
    let made = send(Method::POST, "/tickets", ticket("single", &longest)).await.unwrap();
    assert_eq!(made.status, 200, "{}", made.text());
    let rejected = send(Method::POST, "/tickets", ticket("over", &too_long)).await.unwrap();
    assert_eq!(
        (rejected.status.as_u16(), &rejected.json()["code"]),
        (400, &json!("json_string_too_long"))
    );
    let items =
        json!([ticket("bulk", &longest), ticket("over", &too_long), ticket("put", "short")]);
    let bulk = send(Method::PUT, "/tickets", items).await.unwrap();
    assert_eq!(bulk.text(), r#"{"created":2,"updated":0}"#);
    assert_eq!(bulk.headers["svctrack-bulk-errors"], "1");
    let changed = send(Method::PUT, "/tickets/srcid-put", json!({"description": longest}));
    assert_eq!(changed.await.unwrap().status, 200);
    for id in ["single", "bulk", "put"] {
        let ticket = server.client.get(&format!("/tickets/srcid-{id}")).await.json();
        assert_eq!(ticket["description"], longest, "{id}");
        assert_eq!(ticket["snippet"], longest[..300], "{id}");
    }
    // Other rows are no longer than they were.
    let title = json!({"title": "x".repeat(65 * 1024)});
    let rejected = send(Method::PUT, "/tickets/srcid-put", title).await.unwrap();
    assert_eq!(rejected.json()["errors"][0]["pointer"], "/title");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_ticket_may_be_larger_than_that_of_another_record() {
    let server = server().await;
    let json = [("content-type", "application/json")];
    for (path, bytes, status) in [
        ("/tickets", MAX_TICKET_BYTES, 200),
        ("/tickets", MAX_TICKET_BYTES + 1, 413),
        ("/companies", MAX_TICKET_BYTES / 2, 200),
        ("/companies", MAX_TICKET_BYTES / 2 + 1, 413),
    ] {
        let mut body = json!({"sourceId": "t", "email": "a@x.example", "name": "T"}).to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        let response = server.client.send(Method::POST, path, &json, body).await.unwrap();
        assert_eq!(response.status, status, "{path} {bytes}: {}", response.text());
    }
}
