//! Broken input on every route that takes a body: whatever it is, it is rejected in the same way, and
//! nothing is stored.

use flate2::{Compression, write::GzEncoder};
use hyper::{Method, StatusCode};
use svctrack_tests::{
    client::{Client, Response},
    description::{Route, routes},
    good_calls::GoodCalls,
    in_process::InProcess,
};

const JSON: (&str, &str) = ("content-type", "application/json");

/// What no route takes, as bytes of a body.
fn broken_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("nothing", text("")),
        ("blanks", text(" \n")),
        ("two byte order marks", text("\u{feff}\u{feff}{}")),
        ("UTF-16", br#"{}"#.iter().flat_map(|byte| [*byte, 0]).collect()),
        ("no UTF-8", b"{\"a\":\"\xff\"}".to_vec()),
        ("two documents", text("{}{}")),
        ("something behind it", text("{} x")),
        ("a comment", text("{/* */}")),
        ("not a number", text(r#"{"a":NaN}"#)),
        ("a comma too many", text(r#"{"a":1,}"#)),
        ("single quotes", text("{'a':1}")),
        ("a lone surrogate", text(r#"{"a":"\ud800"}"#)),
        ("NUL", text(r#"{"a":"\u0000"}"#)),
        ("NUL in a key", text(r#"{"\u0000":1}"#)),
        (
            "too deep",
            text(&format!("{}{}", r#"{"a":"#.repeat(70), "1".to_owned() + &"}".repeat(70))),
        ),
        ("a number", text("7")),
        ("a string", text(r#""x""#)),
        ("null", text("null")),
    ]
}

/// Routes to which no body is an empty one.
const BODY_MAY_BE_ABSENT: [&str; 3] =
    ["/licenses/{id}/renew", "/licenses/{id}/lose", "/tokens/{id}/rotate"];

async fn send(client: &Client, route: &Route, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
    let path = route.path_to("extid-x");
    client.send(route.method.clone(), &path, headers, body).await.unwrap()
}

/// The routes that take a body, each with a client that may call it.
async fn with_body(server: &InProcess) -> Vec<(Route, Client)> {
    let routes = routes(&server.client).await.into_iter().filter(|route| route.takes_body);
    routes.map(|route| (route.clone(), caller(server, &route))).collect()
}

/// A client that may call a route.
fn caller(server: &InProcess, route: &Route) -> Client {
    match route.scope.as_deref() {
        Some("operator") => server.operator.clone(),
        _ if ["dock", "v1"].contains(&route.subject()) => server.client.as_pipeline(),
        _ => server.client.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_document_gets_a_400_with_the_reason() {
    let server = InProcess::start().await;
    for (route, client) in with_body(&server).await {
        let may_be_absent = BODY_MAY_BE_ABSENT.contains(&route.path.as_str());
        for (what, body) in broken_bodies() {
            if body.is_empty() && may_be_absent {
                continue;
            }
            let response = send(&client, &route, &[JSON], body).await;
            let said = format!("{} {} {what}: {}", route.method, route.path, response.text());
            assert_eq!(response.status, StatusCode::BAD_REQUEST, "{said}");
            assert_eq!(response.headers["content-type"], "application/problem+json", "{said}");
            let problem = response.json();
            assert!(problem["code"].is_string() && problem["requestId"].is_string(), "{said}");
        }
    }
    assert_eq!(server.client.get("/products").await.text(), "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_encoding_or_charset_is_a_415() {
    let server = InProcess::start().await;
    for (route, client) in with_body(&server).await {
        let body = || route.body().to_string().into_bytes();
        let brotli = [JSON, ("content-encoding", "br")];
        let response = send(&client, &route, &brotli, body()).await;
        let said = format!("{} {}", route.method, route.path);
        assert_eq!(response.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{said}");
        for kind in ["application/xml", "application/json; charset=latin1"] {
            let response = send(&client, &route, &[("content-type", kind)], body()).await;
            // Events are JSON whatever their type says (R30); every other route looks at it.
            let rejected = response.status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
            assert_eq!(rejected, !route.is_tracking(), "{said} {kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gzip_is_unpacked_and_what_only_looks_like_it_is_rejected() {
    let server = InProcess::start().await;
    let calls = GoodCalls::prepare(&server).await;
    for (route, client) in with_body(&server).await {
        let call = calls.next(&route).await;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        std::io::Write::write_all(&mut encoder, call.body.as_bytes()).unwrap();
        let headers = [JSON, ("content-encoding", "gzip")];
        let packed = encoder.finish().unwrap();
        let served = client.send(route.method.clone(), &call.path, &headers, packed).await.unwrap();
        let said = format!("{} {}: {}", route.method, route.path, served.text());
        assert_eq!(served.status, StatusCode::OK, "{said}");
        let cheat = send(&client, &route, &headers, b"{}".to_vec()).await;
        assert_eq!(cheat.status, StatusCode::BAD_REQUEST, "{} {}", route.method, route.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_its_cap_is_rejected_before_it_is_read() {
    let server = InProcess::start().await;
    for (route, client) in with_body(&server).await {
        let path = route.path_to("extid-x");
        let request = format!(
            "{} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Length: 33554433\r\n\r\n",
            route.method,
            client.authorization().unwrap_or_default(),
        );
        let response = client.raw(request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 413"), "{} {path}: {response}", route.method);
        assert!(response.to_lowercase().contains("connection: close"), "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_names_the_parameters_that_it_does_not_have_and_is_rejected_as_a_dry_run() {
    let server = InProcess::start().await;
    let calls = GoodCalls::prepare(&server).await;
    let writes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let routes = routes(&server.client).await.into_iter();
    let routes = routes.filter(|route| writes.contains(&route.method) && !route.has_parameters);
    for route in routes {
        let client = caller(&server, &route);
        let call = calls.next(&route).await;
        let send = async |query: &str, headers: &[(&str, &str)]| {
            let path = format!("{}?{query}", call.path);
            let headers = [&[("content-type", call.content_type)], headers].concat();
            client.send(route.method.clone(), &path, &headers, call.body.clone()).await.unwrap()
        };
        let strict = ("prefer", "handling=strict");
        for (query, headers) in
            [("dryRun=true", &[][..]), ("dry_run", &[]), ("colour=red", &[strict])]
        {
            let rejected = send(query, headers).await;
            let said = format!("{} {}?{query}: {}", route.method, route.path, rejected.text());
            assert_eq!(rejected.status, StatusCode::BAD_REQUEST, "{said}");
            assert_eq!(rejected.json()["code"], "unknown_parameter", "{said}");
        }
        let done = send("colour=red&dryRun=false", &[]).await;
        let said = format!("{} {}: {}", route.method, route.path, done.text());
        assert_eq!(done.status, StatusCode::OK, "{said}");
        let named = done.headers["svctrack-ignored"].to_str().unwrap();
        assert!(named.ends_with("colour, dryRun"), "{said}: {named}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_ids_find_nothing_and_break_nothing() {
    let server = InProcess::start().await;
    let ids = [
        "extid-a%2Fb",
        "extid-..%2F..%2Fetc",
        "extid-%00",
        "extid-%ff",
        "extid-%3Fx%23y",
        "extid-",
        "srcid-%20",
        "extid-%C3%A9",
        "..",
        "null",
        "undefined",
        "%5Bobject%20Object%5D",
        "0",
        "000000000000000000000000",
        "ZZZZZZZZZZZZZZZZZZZZZZZZ",
    ];
    for route in routes(&server.client).await.iter().filter(|route| route.path.contains("{id}")) {
        for id in ids {
            let body = route.body().to_string();
            let path = route.path_to(id);
            let response =
                server.client.send(route.method.clone(), &path, &[JSON], body).await.unwrap();
            let status = response.status;
            // A delete of what is not there has nothing to do (R15).
            let deleted =
                status == StatusCode::OK && response.text().contains(r#""deletedCount":0"#);
            assert!(status.is_client_error() || deleted, "{} {path}: {status}", route.method);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_mean_something_elsewhere_are_stored_as_they_are() {
    let server = InProcess::start().await;
    let custom = serde_json::json!({
        "__proto__": {"x": 1}, "constructor": 1, "$set": {"a": 1}, "a.b": 2, "$where": "1", "": 3,
    });
    let made = serde_json::json!({"name": "x", "externalId": "x", "custom": custom});
    assert_eq!(server.client.post("/products", &made).await.json()["custom"], custom);
    assert_eq!(server.client.get("/products/extid-x").await.json()["custom"], custom);
}
