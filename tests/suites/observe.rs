//! What an operator sees of a running server: a line for each request that was rejected, with its cause, and nothing of
//! anybody's data.

use std::{fs, path::Path, time::Instant};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Answer,
    process::{PATIENCE, Server},
};
use tempfile::TempDir;

/// A server whose log is in a file.
struct Logged {
    folder: TempDir,
    token: Token,
    server: Server,
}

impl Logged {
    async fn start(flags: &[&str]) -> Self {
        let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
        let log = fs::File::create(Self::path(folder.path())).unwrap();
        let server = Server::start_with_log(folder.path(), &token, flags, log).await;
        Self { folder, token, server }
    }

    fn path(folder: &Path) -> std::path::PathBuf {
        folder.join("log")
    }

    fn log(&self) -> String {
        fs::read_to_string(Self::path(self.folder.path())).unwrap()
    }

    /// The line of a request, once it is written.
    async fn line(&self, request_id: &str) -> Value {
        let started = Instant::now();
        loop {
            let log = self.log();
            let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let mut own = lines
                .filter(|line| line["request_id"] == request_id && line["message"] == "request");
            if let Some(line) = own.next() {
                return line;
            }
            assert!(started.elapsed() < PATIENCE, "no line has {request_id}:\n{log}");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

fn request_id(answer: &Answer) -> &str {
    answer.headers["x-request-id"].to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rejected_request_leaves_a_line_with_its_cause_that_its_id_finds() {
    let logged = Logged::start(&["--log-format", "json", "--tracking-rate-limit", "1"]).await;
    let client = &logged.server.client;
    let stranger = client.with_token(Token::generate().unwrap().reveal());
    let send = async |method, path: &str, body: &str| {
        client
            .send(method, path, &[("content-type", "application/json")], body.to_owned())
            .await
            .unwrap()
    };
    let unknown = "/analytics/0192f0c1-2345-7abc-8def-0123456789ab";
    let event = r#"{"externalId":"ada","companyExternalId":"acme","action":"x"}"#;
    let tracking = format!("/analytics/{TENANT}");
    let mut sent = vec![
        (client.without_token().get("/companies").await, "token_missing", Some("/companies")),
        (stranger.get("/companies/extid-x").await, "token_unknown", Some("/companies/{id}")),
        (client.get("/companies/extid-x").await, "not_found", Some("/companies/{id}")),
        (client.get("/nowhere/at/all").await, "route_not_found", None),
        (client.get("/app/nowhere").await, "route_not_found", None),
        (send(Method::PUT, "/health", "").await, "method_not_allowed", Some("/health")),
        (send(Method::POST, unknown, event).await, "tenant_not_found", Some("/analytics/{tenant}")),
        (send(Method::POST, "/companies", "{").await, "json_malformed", Some("/companies")),
        (send(Method::POST, "/companies", "{}").await, "required", Some("/companies")),
        (send(Method::POST, &tracking, "{}").await, "", Some("/analytics/{tenant}")),
    ];
    let mut last = send(Method::POST, &tracking, event).await;
    while last.status == StatusCode::OK {
        last = send(Method::POST, &tracking, event).await;
    }
    sent.push((last, "too_many_requests", Some("/analytics/{tenant}")));
    for (answer, cause, route) in &sent {
        let line = logged.line(request_id(answer)).await;
        let is_json = answer.headers["content-type"] == "application/problem+json";
        let code = if is_json { answer.json()["code"].clone() } else { json!(cause) };
        assert_eq!(line["cause"], code, "{line}");
        assert!(cause.is_empty() || line["cause"] == *cause, "{line}");
        assert_eq!(line["status"], answer.status.as_u16(), "{line}");
        assert_eq!(line["route"].as_str(), *route, "{line}");
        assert_eq!(line["bytes_out"], answer.body.len(), "{line}");
        assert_eq!(line["client"], "127.0.0.1", "{line}");
        assert!(line["ms"].as_f64().unwrap() >= 0.0, "{line}");
        let is_known = !matches!(
            line["cause"].as_str().unwrap(),
            "token_missing"
                | "token_unknown"
                | "route_not_found"
                | "method_not_allowed"
                | "tenant_not_found"
        );
        assert_eq!(line["tenant"].as_str(), is_known.then_some(TENANT), "{line}");
    }
    let bytes_in = logged.line(request_id(&sent[sent.len() - 1].0)).await["bytes_in"].clone();
    assert_eq!(bytes_in, event.len());
    let raw = client.raw(b"no HTTP at all\r\n\r\n").await;
    let id = raw.split("x-request-id: ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(logged.line(id).await["cause"], "request_malformed");
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_succeed_are_logged_as_far_as_is_asked_for() {
    for (which, expect) in [("failed", 0..=0), ("all", 500..=500), ("10", 20..=80), ("off", 0..=0)]
    {
        let flags = ["--log-format", "json", "--log-requests", which, "--log-slow-ms", "60000"];
        let logged = Logged::start(&flags).await;
        for _ in 0..500 {
            assert_eq!(logged.server.client.get("/companies").await.status, StatusCode::OK);
        }
        let missing = logged.server.client.get("/companies/extid-x").await;
        if which == "off" {
            assert!(!logged.log().contains(request_id(&missing)));
        } else {
            assert_eq!(logged.line(request_id(&missing)).await["sample_rate"], 1);
        }
        let log = logged.log();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let taken: Vec<_> = lines.filter(|line| line["status"] == 200).collect();
        assert!(expect.contains(&taken.len()), "{which}: {}", taken.len());
        let rate = which.parse().unwrap_or(1);
        assert!(taken.iter().all(|line| line["sample_rate"] == rate), "{which}");
        logged.server.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_request_and_a_stream_are_logged_when_they_end() {
    let logged = Logged::start(&["--log-format", "json", "--log-slow-ms", "0"]).await;
    let client = &logged.server.client;
    let answer = client.get("/companies").await;
    let line = logged.line(request_id(&answer)).await;
    assert_eq!((&line["status"], &line["tenant"]), (&json!(200), &json!(TENANT)));
    let events = client.listen("/activities/stream", &[]).await;
    assert!(!logged.log().contains("/activities/stream"));
    drop(events);
    let started = Instant::now();
    while !logged.log().contains(r#""route":"/activities/stream""#) {
        assert!(started.elapsed() < PATIENCE, "{}", logged.log());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    logged.server.kill().await;
}

/// What no line may hold, whatever is asked for.
const SECRETS: [&str; 5] = ["canary", "0123456789ab", "extid-", "?q=", "Bearer"];

#[tokio::test(flavor = "multi_thread")]
async fn no_line_holds_an_e_mail_a_token_a_path_with_an_id_or_a_query() {
    for format in ["text", "json"] {
        let flags = [
            "--log",
            "trace",
            "--log-format",
            format,
            "--log-requests",
            "all",
            "--log-slow-ms",
            "0",
        ];
        let logged = Logged::start(&flags).await;
        let (client, stranger) = (&logged.server.client, Token::generate().unwrap());
        client.post("/companies", &json!({"name": "Acme", "domains": ["canary.example"]})).await;
        client.track(&json!({"email": "canary@canary.example", "action": "canary"})).await.unwrap();
        client.track(&json!({"email": "canary@", "action": "x"})).await.unwrap();
        client.post("/endusers", &json!({"email": "canary@elsewhere.example"})).await;
        client.get("/endusers/extid-canary%40canary.example?q=canary").await;
        client.with_token(stranger.reveal()).get("/endusers?email=canary@canary.example").await;
        let cookie = format!("s={}", stranger.reveal());
        client.send(Method::GET, "/app/people?q=canary", &[("cookie", &cookie)], "").await.unwrap();
        let unknown = "/analytics/0192f0c1-2345-7abc-8def-0123456789ab";
        client.send(Method::POST, unknown, &[], r#"{"email":"canary@x.example"}"#).await.unwrap();
        client
            .raw(b"GET /canary?canary HTTP/1.1\r\ncanary: canary\r\nconnection: close\r\n\r\n")
            .await;
        let last = client.get("/canary/canary").await;
        let started = Instant::now();
        while !logged.log().contains(request_id(&last)) {
            assert!(started.elapsed() < PATIENCE, "{}", logged.log());
        }
        let log = logged.log();
        let tokens = [&logged.token, &stranger].map(|token| &token.reveal()[13..]);
        for secret in SECRETS.into_iter().chain(tokens) {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
        let requests = log.lines().filter(|line| line.contains("svctrack_server::request"));
        assert!(requests.count() >= 9, "{log}");
        for line in log.lines().filter(|_| format == "json") {
            assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
        }
        logged.server.kill().await;
    }
}
