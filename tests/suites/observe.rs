//! What an operator sees of a running server: a line for each request that was rejected, with its cause, and no
//! personal data; and figures that move, with a dashboard and alerts that name no others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Instant,
};

use hyper::{Method, StatusCode};
use rustix::process::Resource;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    in_process::InProcess,
    process::{PATIENCE, Server},
    project,
    reader::sign_in,
};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::startup::rejection;

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

fn request_id(response: &Response) -> &str {
    response.headers["x-request-id"].to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rejected_request_leaves_a_line_with_its_cause_that_its_id_finds() {
    let token = Token::generate().unwrap();
    let flags = ["--log-format", "json", "--tracking-rate-limit", "1"];
    let flags = [&flags[..], &["--bootstrap-operator-token", token.reveal()]].concat();
    let logged = Logged::start(&flags).await;
    let client = &logged.server.client;
    let operator = client.with_token(token.reveal());
    let stranger = client.with_token(Token::generate().unwrap().reveal());
    let send = async |method, path: &str, body: &str| {
        client
            .send(method, path, &[("content-type", "application/json")], body.to_owned())
            .await
            .unwrap()
    };
    let reader = json!({"label": "reader", "scopes": ["licenses:read"]});
    let reader = client.post("/tokens", &reader).await.json()["token"].as_str().unwrap().to_owned();
    let reader = client.with_token(&reader);
    let unknown = "/analytics/0192f0c1-2345-7abc-8def-0123456789ab";
    let event = r#"{"externalId":"ada","companyExternalId":"acme","action":"x"}"#;
    let tracking = format!("/analytics/{TENANT}");
    let mut sent = vec![
        (client.without_token().get("/companies").await, "token_missing", Some("/companies")),
        (stranger.get("/companies/extid-x").await, "token_unknown", Some("/companies/{id}")),
        (operator.get("/companies").await, "scope_missing", Some("/companies")),
        (reader.get("/companies").await, "scope_missing", Some("/companies")),
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
    for (response, cause, route) in &sent {
        let line = logged.line(request_id(response)).await;
        let is_json = response.headers["content-type"] == "application/problem+json";
        let code = if is_json { response.json()["code"].clone() } else { json!(cause) };
        assert_eq!(line["cause"], code, "{line}");
        assert!(cause.is_empty() || line["cause"] == *cause, "{line}");
        assert_eq!(line["status"], response.status.as_u16(), "{line}");
        assert_eq!(line["route"].as_str(), *route, "{line}");
        let is_named = response.text().contains("needs the scope `companies:read`");
        assert_eq!(line["scope"].as_str(), is_named.then_some("companies:read"), "{line}");
        assert_eq!(line["bytes_out"], response.body.len(), "{line}");
        assert_eq!(line["client"], "127.0.0.1", "{line}");
        assert!(line["ms"].as_f64().unwrap() >= 0.0, "{line}");
        let is_known = line["scope"].is_string()
            || !matches!(
                line["cause"].as_str().unwrap(),
                "token_missing"
                    | "token_unknown"
                    | "scope_missing"
                    | "route_not_found"
                    | "method_not_allowed"
                    | "tenant_not_found"
            );
        assert_eq!(line["tenant"].as_str(), is_known.then_some(TENANT), "{line}");
        // Who lacks a scope is named by the token.
        match line["cause"].as_str().unwrap() {
            "scope_missing" => assert!(line["token"].is_string(), "{line}"),
            "token_missing" | "token_unknown" => assert!(line["token"].is_null(), "{line}"),
            _ => {}
        }
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
    let response = client.get("/companies").await;
    let line = logged.line(request_id(&response)).await;
    assert_eq!((&line["status"], &line["tenant"]), (&json!(200), &json!(TENANT)));
    let tokens = client.get("/tokens").await.json();
    assert_eq!(line["token"], tokens[0]["_id"], "{line}");
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

/// What no line may hold, whatever is requested.
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

/// The metrics of a server.
#[derive(Default)]
struct Scrape {
    /// The kind of each metric.
    kinds: BTreeMap<String, String>,
    /// The values, by name and labels as they are written.
    values: BTreeMap<String, f64>,
}

impl Scrape {
    /// Reads the text as OpenMetrics has it: lines of comments and of values, and a mark at the end.
    fn read(text: &str) -> Self {
        let mut scrape = Self::default();
        let lines = text.strip_suffix("# EOF\n").expect("it has an end");
        for line in lines.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert_eq!(scrape.kinds.insert(name.to_owned(), kind.to_owned()), None, "{name}");
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
                assert_eq!(scrape.values.insert(name.to_owned(), value), None, "{line}");
            }
        }
        scrape
    }

    /// The names that values can have.
    fn names(&self) -> BTreeSet<String> {
        let names = self.kinds.iter().flat_map(|(name, kind)| {
            let endings: &[&str] = match kind.as_str() {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                "gauge" => &[""],
                kind => panic!("{name} is a {kind}"),
            };
            endings.iter().map(move |ending| format!("{name}{ending}"))
        });
        names.collect()
    }

    #[track_caller]
    fn value(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or_else(|| panic!("{name}: {:#?}", self.values))
    }
}

impl Logged {
    /// One with an operator's address, and a client for it.
    async fn start_watched(flags: &[&str]) -> (Self, Client) {
        let own = ["--log-format", "json", "--admin-listen", "127.0.0.1:0"];
        let logged = Self::start(&[&own[..], flags].concat()).await;
        let started = Instant::now();
        loop {
            let log = logged.log();
            let serving = log.lines().find(|line| line.contains(r#""message":"serving""#));
            if let Some(line) = serving {
                let line: Value = serde_json::from_str(line).unwrap();
                let admin = format!("http://{}", line["admin"].as_str().unwrap());
                return (logged, Client::new(&admin, None));
            }
            assert!(started.elapsed() < PATIENCE, "{log}");
        }
    }
}

async fn scrape(admin: &Client) -> Scrape {
    let response = admin.get("/metrics").await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(
        (response.status, &response.headers["content-type"]),
        (StatusCode::OK, &kind.parse().unwrap())
    );
    Scrape::read(response.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_move_when_requests_are_made() {
    let (logged, admin) = Logged::start_watched(&["--tracking-rate-limit", "1"]).await;
    let client = &logged.server.client;
    let before = scrape(&admin).await;
    assert_eq!(
        before.value(&format!("svctrack_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))),
        1.0
    );
    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    client.get("/companies/extid-x").await;
    client.without_token().get("/companies").await;
    client.get("/nowhere/canary").await;
    client.get(svctrack_web::GLUE_PATH).await;
    let event = json!({"externalId": "ada", "companyExternalId": "globex", "action": "x"});
    while client.track(&event).await.unwrap().status == StatusCode::OK {}
    let stream = client.listen("/activities/stream", &[]).await;
    let after = scrape(&admin).await;
    let moved = |name: &str| after.value(name) - before.value(name);
    for (name, expect) in [
        (
            r#"svctrack_http_requests_total{http_request_method="POST",http_route="/companies",status="2xx"}"#,
            1.0,
        ),
        (
            r#"svctrack_http_requests_total{http_request_method="GET",http_route="/companies/{id}",status="4xx"}"#,
            1.0,
        ),
        (
            r#"svctrack_http_requests_total{http_request_method="_OTHER",http_route="",status="4xx"}"#,
            1.0,
        ),
        (
            r#"svctrack_http_requests_total{http_request_method="POST",http_route="/analytics/{tenant}",status="4xx"}"#,
            1.0,
        ),
        (
            r#"svctrack_http_requests_total{http_request_method="GET",http_route="/{hash}.js",status="2xx"}"#,
            1.0,
        ),
        (r#"svctrack_http_requests_rejected_total{cause="not_found"}"#, 1.0),
        (r#"svctrack_http_requests_rejected_total{cause="token_missing"}"#, 1.0),
        (r#"svctrack_http_requests_rejected_total{cause="too_many_requests"}"#, 1.0),
        ("svctrack_streams_open", 1.0),
        ("svctrack_log_lines_lost_total", 0.0),
    ] {
        assert_eq!(moved(name), expect, "{name}");
    }
    for name in [
        "svctrack_connections_accepted_total",
        "svctrack_store_commit_duration_seconds_count",
        "svctrack_store_sync_duration_seconds_count",
        "svctrack_store_batch_rows_sum",
        "svctrack_store_batch_commands_count",
    ] {
        assert!(moved(name) >= 1.0, "{name}");
    }
    let limited = format!(
        r#"svctrack_http_requests_limited_total{{cause="too_many_requests",tenant="{TENANT}"}}"#
    );
    let took = r#"http_server_request_duration_seconds_count{http_request_method="POST",http_route="/companies"}"#;
    let unknown = r#"svctrack_integration_issues_total{code="company_unknown"}"#;
    for (name, expect) in
        [(limited.as_str(), 1.0), (took, 1.0), (r#"svctrack_store_status{status="ok"}"#, 1.0)]
    {
        assert_eq!(after.value(name), expect, "{name}");
    }
    assert!(after.value(unknown) >= 1.0);
    for name in ["svctrack_store_file_bytes", "svctrack_connections_open"] {
        assert!(after.value(name) > 0.0, "{name}");
    }
    assert!(!after.values.keys().any(|name| name.contains("canary") || name.contains("extid")));
    drop(stream);
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_metric_of_the_dashboard_and_the_alerts_is_there() {
    let (logged, admin) = Logged::start_watched(&[]).await;
    let scrape = scrape(&admin).await;
    let names = scrape.names();
    let read = |file: &str| fs::read_to_string(project().join(file)).unwrap();
    let (dashboard, alerts) = (read("server/ops/dashboard.json"), read("server/ops/alerts.yml"));
    // Who has the program alone gets both from it.
    assert_eq!(admin.get("/dashboard.json").await.text(), dashboard);
    assert_eq!(admin.get("/alerts.yml").await.text(), alerts);
    assert!(serde_json::from_str::<Value>(&dashboard).unwrap()["panels"].is_array());
    let page = read("server/docs/observe.md");
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    for (file, text, least) in
        [("dashboard", &dashboard, 35), ("alerts", &alerts, 12), ("page", &page, 30)]
    {
        let words = text.split(|character| !is_part(character));
        let named = words.filter(|word| {
            (word.starts_with("svctrack_") && *word != "svctrack_server")
                || word.starts_with("http_server_")
        });
        let named: Vec<_> = named.collect();
        assert!(named.len() >= least, "{file}: {named:?}");
        for name in named {
            let is_histogram = scrape.kinds.get(name).is_some_and(|kind| kind == "histogram");
            let is_there = names.contains(name) || (is_histogram && file == "page");
            assert!(is_there, "{file}: {name}");
        }
    }
    // The first occurrence of a cause is a change only where it is exposed before.
    let metrics = admin.get("/metrics").await;
    let causes = alerts.split("cause=").skip(1).filter_map(|rest| rest.split('"').nth(1));
    for cause in causes.flat_map(|causes| causes.split('|')) {
        assert!(metrics.text().contains(&format!("cause=\"{cause}\"")), "{cause}");
    }
    for name in &names {
        let base =
            name.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count");
        assert!(page.contains(base), "the page does not explain {name}");
    }
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_ready_until_it_stops_and_offers_nothing_else_to_its_operator() {
    let (logged, admin) = Logged::start_watched(&[]).await;
    let ready = admin.get("/ready").await;
    assert_eq!((ready.status, ready.text()), (StatusCode::OK, "ok\n"));
    assert_eq!(admin.get("/companies").await.status, StatusCode::NOT_FOUND);
    assert_eq!(logged.server.client.get("/metrics").await.status, StatusCode::NOT_FOUND);
    assert_eq!(logged.server.client.get("/ready").await.status, StatusCode::NOT_FOUND);
    let health = logged.server.client.get("/health").await.json();
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    let other = tempfile::tempdir().unwrap();
    let taken = admin.address();
    let said = rejection(other.path(), &["--admin-listen", taken]).await;
    assert!(said.contains(taken) && said.contains("--admin-listen, or `off`"), "{said}");
    logged.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_not_ready_until_it_does() {
    let (logged, admin) = Logged::start_watched(&[]).await;
    let bytes = fs::metadata(logged.folder.path().join("svctrack.redb")).unwrap().len();
    logged.server.limit("fsize", Resource::Fsize, Some(bytes));
    let large = json!({"name": "x", "custom": {"text": vec!["x".repeat(60_000); 10]}});
    let started = Instant::now();
    while logged.server.client.post("/companies", &large).await.status == StatusCode::OK {
        assert!(started.elapsed() < PATIENCE, "the file is not limited");
    }
    let ready = admin.get("/ready").await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(["read_only\n", "recovering\n"].contains(&ready.text()), "{}", ready.text());
    logged.server.limit("fsize", Resource::Fsize, None);
    logged.server.ready().await;
    assert_eq!(admin.get("/ready").await.status, StatusCode::OK);
    logged.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_gets_responses_as_all_do_whatever_connections_are_idle() {
    let (logged, admin) = Logged::start_watched(&[]).await;
    for path in ["/ready", "/metrics", "/nowhere"] {
        let headers = admin.get(path).await.headers;
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert!(headers.contains_key("x-request-id"), "{path}");
    }
    let malformed = admin.raw(b"nonsense\r\n\r\n").await;
    assert!(
        malformed.contains("request_malformed") && malformed.contains("x-request-id"),
        "{malformed}"
    );
    // More than the address has places for.
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(TcpStream::connect(admin.address()).await.unwrap());
        let other = Client::new(&format!("http://{}", admin.address()), None);
        let ready = other.send(Method::GET, "/ready", &[], "").await;
        assert_eq!(ready.unwrap().status, StatusCode::OK);
    }
    logged.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_health_shows_an_operator_and_nobody_else_how_requests_do() {
    let server = InProcess::start().await;
    server.client.get("/companies").await;
    let token = |client: &Client| client.authorization().unwrap().replace("Bearer ", "");
    for (client, is_shown) in [(&server.operator, true), (&server.client, false)] {
        let reader = sign_in(&server.anonymous, &token(client)).await;
        let page = reader.get("/app/health").await;
        assert_eq!(page.status, StatusCode::OK);
        for shown in [
            "per second in the last",
            "p99 at most",
            "Store file",
            "Memory",
            "Requests since the start",
            "Records and imports",
            "Rows of the store",
        ] {
            assert_eq!(page.text().contains(shown), is_shown, "{shown}: {}", page.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_health_shows_the_number_of_rows_of_each_table() {
    let server = InProcess::start().await;
    let token = server.operator.authorization().unwrap().replace("Bearer ", "");
    let operator = sign_in(&server.anonymous, &token).await;
    let records = async || -> u64 {
        let page = operator.get("/app/health").await;
        let row = page.text().split("<code>records</code></th><td class=\"num\">").nth(1);
        row.map_or(0, |row| row.split('<').next().unwrap().parse().unwrap())
    };
    let before = records().await;
    for name in ["Acme", "Ember"] {
        server.client.post("/companies", &serde_json::json!({"name": name})).await;
    }
    assert_eq!(records().await, before + 2);
}
