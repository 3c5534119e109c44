//! HTTP itself, byte for byte: what a request must be like, what every response says, and whether the connection can carry
//! the next request.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    process::{PATIENCE, Server},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A server, and the `Authorization` of its token.
struct World {
    server: Server,
    token: Token,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::generate().unwrap();
        let server = Server::start_with_acme(folder.path(), &token).await;
        Self { server, token, _folder: folder }
    }

    async fn raw(&self, request: &str) -> String {
        self.server.client.raw(request.as_bytes()).await
    }

    fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:", self.token.reveal())))
    }
}

/// Status and code of a response that is a problem, which must be one that has an id and is no type but its own.
#[track_caller]
fn problem(response: &str) -> (u16, String) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response:?}"));
    let head = head.to_lowercase();
    let body: Value =
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"));
    for header in [
        format!("x-request-id: {}", body["requestId"].as_str().unwrap().to_lowercase()).as_str(),
        "x-content-type-options: nosniff",
        "content-type: application/problem+json",
        "connection: close",
        "date: ",
    ] {
        assert!(head.contains(&format!("\r\n{header}")), "{header}: {head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_its_host_once() {
    let world = World::start().await;
    let send = async |version: &str, headers: &str| {
        world
            .raw(&format!("GET /health HTTP/{version}\r\nConnection: close\r\n{headers}\r\n"))
            .await
    };
    for (version, headers) in [("1.1", "Host: x\r\n"), ("1.1", "Host: [::1]:8080\r\n"), ("1.0", "")]
    {
        let response = send(version, headers).await;
        assert!(response.contains(" 200 OK\r\n"), "{headers}: {response}");
    }
    for (headers, code) in [
        ("", "host_missing"),
        ("Host: x\r\nHost: x\r\n", "host_repeated"),
        ("Host: x\r\nHost: y\r\n", "host_repeated"),
        ("Host: a b\r\n", "host_invalid"),
        ("Host: a/b\r\n", "host_invalid"),
        ("Host: user@a\r\n", "host_invalid"),
        ("Host: a:b\r\n", "host_invalid"),
        ("Host:\r\n", "host_invalid"),
        ("Host: [zz]\r\n", "host_invalid"),
        ("Host: [1.2.3.4]\r\n", "host_invalid"),
        ("Host: x:+80\r\n", "host_invalid"),
        ("Host: :80\r\n", "host_invalid"),
    ] {
        assert_eq!(problem(&send("1.1", headers).await), (400, code.to_owned()), "{headers}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_chunked_once_and_encoded_in_no_other_way() {
    let world = World::start().await;
    let event = r#"{"externalId": "7", "companyExternalId": "acme", "action": "x"}"#;
    let send = async |headers: &str| {
        let head = format!(
            "POST /analytics/{TENANT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"
        );
        world.raw(&format!("{head}{:x}\r\n{event}\r\n0\r\n\r\n", event.len())).await
    };
    let response = send("Transfer-Encoding: chunked\r\n").await;
    assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with("OK"), "{response}");
    for headers in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
    ] {
        let expected = (400, "transfer_encoding_invalid".to_owned());
        assert_eq!(problem(&send(headers).await), expected, "{headers}");
    }
    assert_eq!(world.server.client.actions().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_http_gets_a_problem_too() {
    let world = World::start().await;
    // With `Host`, 100 headers are the maximum.
    let most = "X-Many: x\r\n".repeat(98);
    let many = "X-Many: x\r\n".repeat(100);
    let large = format!("X-Large: {}\r\n", "x".repeat(30_000));
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(9_000));
    let get = |headers: &str| format!("GET /health HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
    for (request, status, code) in [
        ("nonsense\r\n\r\n", 400, "request_malformed"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "request_malformed"),
        ("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "request_malformed"),
        ("GET / HTTP/1.9x\r\nHost: x\r\n\r\n", 400, "request_malformed"),
        (&get("No colon\r\n"), 400, "request_malformed"),
        (&get("Content-Length: -1\r\n"), 400, "request_malformed"),
        (&get("Content-Length: 1\r\nContent-Length: 2\r\n"), 400, "request_malformed"),
        (&get("Transfer-Encoding: gzip\r\n"), 400, "request_malformed"),
        (&get(&many), 431, "headers_too_large"),
        (&get(&large), 431, "headers_too_large"),
    ] {
        assert_eq!(problem(&world.raw(request).await), (status, code.to_owned()), "{request:.60}");
    }
    let request = get(&(most + "Connection: close\r\n"));
    assert!(world.raw(&request).await.starts_with("HTTP/1.1 200"), "100 headers are accepted");
    // A valid request before a malformed one gets its response.
    let after = format!("{}nonsense\r\n\r\n", get(""));
    let response = world.raw(&after).await;
    let (first, second) = response.split_at(response.rfind("HTTP/1.1").unwrap());
    assert!(first.starts_with("HTTP/1.1 200 OK"), "{response}");
    assert_eq!(problem(second), (400, "request_malformed".to_owned()));
    let response = world.raw(&long.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")).await;
    assert_eq!(problem(&response), (414, "uri_too_long".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_browser_takes_a_response_for_another_type_than_its_own() {
    let world = World::start().await;
    let client = &world.server.client;
    for path in
        ["/health", "/companies", "/companies/extid-acme", "/nowhere", "/demo", "/svctrack.js", "/"]
    {
        let response = client.get(path).await;
        assert_eq!(response.headers["x-content-type-options"], "nosniff", "{path}");
    }
    let tracked = client.track(&json!({"externalId": "7", "action": "x"})).await.unwrap();
    assert_eq!(tracked.headers["x-content-type-options"], "nosniff");
}

/// Responses before the body is read.
fn responded_early() -> Vec<(&'static str, String, u16)> {
    let event = format!("POST /analytics/{TENANT}");
    vec![
        ("no credentials", "POST /companies".to_owned(), 401),
        ("no route", "POST /nowhere".to_owned(), 404),
        ("no tenant", "POST /analytics/nobody".to_owned(), 404),
        ("another method", "PUT /health".to_owned(), 405),
        ("a route without a body", "GET /health".to_owned(), 200),
        ("another encoding", format!("{event} HTTP/1.1\r\nContent-Encoding: br"), 415),
        (
            "another charset",
            "POST /sign-in HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: text/plain; charset=latin1".to_owned(),
            415,
        ),
        ("a long address", format!("POST /{}", "x".repeat(9_000)), 414),
    ]
}

/// Reads one response; returns its head, in lower case.
async fn read_one(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let (head, length) = loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            break (head.to_owned(), length.unwrap().parse::<usize>().unwrap());
        }
        let byte = tokio::time::timeout(PATIENCE, stream.read_u8()).await.expect("no response");
        read.push(byte.ok()?);
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_before_the_body_was_read_reports_whether_the_connection_stays_open() {
    const GET: &[u8] = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    let world = World::start().await;
    let mut goes_on = 0;
    for (what, start, status) in responded_early() {
        let start = match start.contains(" HTTP/1.1") {
            true => start,
            false => format!("{start} HTTP/1.1"),
        };
        // How the body is announced, and what is sent of it before the response is read, and after it.
        for (headers, before, after) in [
            ("Content-Length: 10\r\n", "0123456789".to_owned(), String::new()),
            ("Content-Length: 10\r\n", "01234".to_owned(), "56789".to_owned()),
            ("Content-Length: 300000\r\n", "x".repeat(1_000), "x".repeat(299_000)),
            (
                "Content-Length: 10\r\nExpect: 100-continue\r\n",
                String::new(),
                "0123456789".to_owned(),
            ),
            ("Transfer-Encoding: chunked\r\n", "5\r\n01234\r\n".to_owned(), "0\r\n\r\n".to_owned()),
            ("Transfer-Encoding: chunked\r\n", "5\r\n01234\r\n0\r\n\r\n".to_owned(), String::new()),
        ] {
            let said = format!("{what}, {headers:?}");
            let mut stream = TcpStream::connect(world.server.client.address()).await.unwrap();
            let request = format!("{start}\r\nHost: x\r\n{headers}\r\n{before}");
            stream.write_all(request.as_bytes()).await.unwrap();
            let head = read_one(&mut stream).await.expect(&said);
            assert!(head.starts_with(&format!("http/1.1 {status} ")), "{said}: {head}");
            let closes = head.contains("\r\nconnection: close");
            let sent = stream.write_all(after.as_bytes()).await.is_ok()
                && stream.write_all(GET).await.is_ok();
            let next = if sent { read_one(&mut stream).await } else { None };
            let has_response = next.is_some_and(|head| head.starts_with("http/1.1 200 "));
            assert_eq!(has_response, !closes, "{said}: {head}");
            goes_on += usize::from(!closes);
        }
    }
    // A small body that is all there costs no connection.
    assert!(goes_on >= responded_early().len(), "{goes_on}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_all_before_it_reads_gets_an_early_response() {
    const BYTES: usize = 5_000_000;
    let world = World::start().await;
    let put = "PUT /companies HTTP/1.1\r\nHost: x\r\n";
    for (start, status) in [
        (format!("{put}Content-Length: {BYTES}\r\n\r\n"), 401),
        (format!("{put}Transfer-Encoding: chunked\r\n\r\n{BYTES:x}\r\n"), 401),
        ("nonsense\r\n\r\n".to_owned(), 400),
        (format!("{put}X-Large: "), 431),
    ] {
        let request = start + &"x".repeat(BYTES);
        for _ in 0..10 {
            assert_eq!(problem(&world.raw(&request).await).0, status, "{request:.60}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_with_http_basic_has_a_type_that_no_form_has() {
    let world = World::start().await;
    let client = &world.server.client;
    let entry = "/integrationissues/0123456789abcdef01234567/replay";
    let writes = [
        (Method::POST, "/products", r#"{"name": "forged"}"#),
        (Method::PUT, "/products", "[]"),
        (Method::PATCH, "/settings", "{}"),
        (Method::POST, "/tokens", "{}"),
        (Method::POST, entry, ""),
        (Method::POST, "/import/products", "name\nforged\n"),
    ];
    let anonymous = Client::new(&world.server.base, None);
    let forms =
        ["text/plain", "application/x-www-form-urlencoded", "Multipart/form-data; boundary=x"];
    for (method, path, body) in writes {
        for kind in [None].into_iter().chain(forms.map(Some)) {
            let basic = world.basic();
            let mut headers = vec![("authorization", basic.as_str())];
            headers.extend(kind.map(|kind| ("content-type", kind)));
            let response = anonymous.send(method.clone(), path, &headers, body).await.unwrap();
            assert_eq!(
                response.status,
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "{method} {path} {kind:?}"
            );
        }
    }
    assert_eq!(client.get("/products").await.text(), "[]");
    // With a bearer token, which no browser sends unasked, no type is needed; and none to read or delete.
    let made =
        client.send(Method::POST, "/products", &[], r#"{"name": "a", "externalId": "a"}"#).await;
    assert_eq!(made.unwrap().status, StatusCode::OK);
    let basic = world.basic();
    for method in [Method::GET, Method::DELETE] {
        let headers = [("authorization", basic.as_str())];
        let response = anonymous.send(method, "/products/extid-a", &headers, "").await.unwrap();
        assert_eq!(response.status, StatusCode::OK);
    }
    let headers = [("authorization", basic.as_str()), ("content-type", "application/json")];
    let made =
        anonymous.send(Method::POST, "/products", &headers, r#"{"name": "b"}"#).await.unwrap();
    assert_eq!(made.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_to_the_next_page_fits_into_the_head_that_a_proxy_takes() {
    let world = World::start().await;
    let client = &world.server.client;
    for number in 0..3 {
        client
            .post("/products", &json!({"name": "a", "externalId": format!("p{number:05}")}))
            .await;
    }
    let query = |bytes: usize| {
        let ids = (0..bytes / 17).map(|number| format!("&externalId=p{number:05}"));
        ids.collect::<String>()
    };
    let list = async |bytes: usize, limit: usize| {
        client.get(&format!("/products?limit={limit}{}", query(bytes))).await
    };
    // Where there is no room for the whole query, its cursor leads on.
    for (bytes, is_linked) in [(1_500, true), (6_000, false)] {
        let first = list(bytes, 2).await;
        assert_eq!((first.status, first.json().as_array().unwrap().len()), (StatusCode::OK, 2));
        let cursor = first.headers["svctrack-next"].to_str().unwrap();
        let by_cursor = format!("/products?limit=2{}&{cursor}", query(bytes));
        let link = first.headers.get("link").map(|link| link.to_str().unwrap());
        let link = link.map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
        assert_eq!(link.is_some(), is_linked);
        for path in link.into_iter().chain([by_cursor]) {
            let next = client.get(&path).await;
            assert_eq!(next.json().as_array().unwrap().len(), 1, "{path}");
            assert!(
                !next.headers.contains_key("link") && !next.headers.contains_key("svctrack-next")
            );
        }
        assert_fits(&first);
    }
    assert!(!list(6_000, 2_000).await.headers.contains_key("svctrack-next"));
}

/// Whether nginx takes the head of a response with its default buffers.
#[track_caller]
fn assert_fits(response: &Response) {
    let headers = response.headers.iter();
    let bytes: usize = headers.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    assert!(bytes < 4_000, "{bytes}: {:?}", response.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_to_the_sign_in_fits_into_the_head_that_a_proxy_takes() {
    let world = World::start().await;
    let stranger = Client::new(&world.server.base, None);
    for (path, is_carried) in [
        ("/app/records/companies?search=".to_owned() + &"x".repeat(500), true),
        ("/app/records/companies?search=".to_owned() + &"x".repeat(3_900), false),
        ("/app/records/companies?search=".to_owned() + &"%20".repeat(600), false),
        ("/app/records/".to_owned() + &"x".repeat(3_900), false),
    ] {
        for site in ["none", "cross-site"] {
            let headers = [("sec-fetch-site", site)];
            let response = stranger.send(Method::GET, &path, &headers, "").await.unwrap();
            assert_fits(&response);
            let to = if site == "none" { "location" } else { "refresh" };
            let to = response.headers[to].to_str().unwrap();
            assert_eq!(to.contains("xxx"), is_carried, "{to}");
        }
    }
}
