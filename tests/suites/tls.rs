//! TLS of the server itself: what is served over it, certificates that change, files that cannot be used, and
//! unauthenticated clients that begin handshakes.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use rustls::version::{TLS12, TLS13};
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{PATIENCE, Server, command},
    tls::{Authority, Files, NAME, connect},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use crate::startup::rejection;

/// The name of the log in the folder of a server.
const LOG: &str = "log";

/// A server with a certificate.
struct Secured {
    folder: TempDir,
    authority: Authority,
    files: Files,
    token: Token,
    server: Server,
    /// One that trusts the authority, with the token.
    client: Client,
}

impl Secured {
    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn start_with(flags: &[&str]) -> Self {
        let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::default());
        let (files, token) = (authority.issue_to(folder.path()), Token::generate().unwrap());
        fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
        let log = fs::File::create(folder.path().join(LOG)).unwrap();
        let flags = [&files.flags()[..], flags].concat();
        let server = Server::start_with_log(folder.path(), &token, &flags, log).await;
        let base = server.base.replace("127.0.0.1", NAME);
        let client = Client::trusting(&base, Some(token.reveal()), vec![authority.certificate()]);
        Self { folder, authority, files, token, server, client }
    }

    fn address(&self) -> &str {
        self.server.client.address()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).unwrap()
    }

    /// Waits for a line of the log.
    async fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            assert!(Instant::now() < deadline, "{text}: {}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether a client that trusts an authority alone takes the server's certificate.
    async fn is_trusted_by(&self, authority: &Authority) -> bool {
        connect(self.address(), authority, &TLS13, &[]).await.is_ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_events_large_bodies_and_streams_pass_over_tls() {
    let secured = Secured::start().await;
    let client = &secured.client;
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(client.post("/companies", &acme).await.status, StatusCode::OK);
    let mut stream = client.listen("/activities/stream", &[]).await;
    let event = json!({"externalId": "ada", "companyExternalId": "acme", "action": "Came"});
    assert_eq!(client.track(&event).await.unwrap().text(), "OK");
    assert_eq!(stream.next().await.unwrap().1["action"], "Came");
    let rows = vec![json!({"euExtId": "ada", "cId": "acme", "action": "Went"}); 50_000];
    let bulk = serde_json::to_string(&rows).unwrap();
    assert!(bulk.len() > 2_000_000);
    let path = format!("/analytics/bulk/{TENANT}");
    let sent = client.send(Method::POST, &path, &[], bulk).await.unwrap();
    assert_eq!(sent.text(), "OK");
    let page = client.get("/activities?limit=2000").await;
    assert_eq!(page.json().as_array().unwrap().len(), 2_000);
    secured.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_1_2_and_1_3_are_spoken_and_http_1_1_is_chosen() {
    let secured = Secured::start().await;
    for version in [&TLS12, &TLS13] {
        let connect = connect(secured.address(), &secured.authority, version, &["h3", "http/1.1"]);
        let mut stream = connect.await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut response = String::new();
        // An end without a word of TLS would be an error.
        timeout(PATIENCE, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    }
    let none = connect(secured.address(), &secured.authority, &TLS13, &["h3"]).await;
    assert!(none.is_err(), "a protocol that is not served was agreed on");
    secured.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_all_before_it_reads_gets_an_early_response() {
    const BYTES: usize = 5_000_000;
    let secured = Secured::start().await;
    let head = format!("PUT /companies HTTP/1.1\r\nHost: x\r\nContent-Length: {BYTES}\r\n\r\n");
    for _ in 0..10 {
        let connect = connect(secured.address(), &secured.authority, &TLS13, &[]);
        let mut stream = connect.await.unwrap();
        stream.write_all((head.clone() + &"x".repeat(BYTES)).as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut response = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
    }
    secured.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_begin_with_https_and_the_cookie_of_a_session_is_for_tls_alone() {
    let secured = Secured::start().await;
    assert!(secured.server.base.starts_with("https://127.0.0.1:"), "{}", secured.server.base);
    let script = secured.client.get(&format!("/script.json?tenant={TENANT}")).await.json();
    assert_eq!(script["publicUrl"], secured.server.base);
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let body = format!("token={}", secured.token.reveal());
    let signed_in = secured.client.send(Method::POST, "/sign-in", &headers, body).await.unwrap();
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-s=") && cookie.ends_with("; Secure"), "{cookie}");
    secured.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_tls_is_rejected_and_does_nothing() {
    let secured = Secured::start().await;
    let plain = Client::new(&format!("http://{}", secured.address()), Some(secured.token.reveal()));
    for response in
        [plain.get("/health").await, plain.post("/companies", &json!({"name": "A"})).await]
    {
        assert_eq!(
            (response.status, &response.json()["code"]),
            (StatusCode::BAD_REQUEST, &json!("https_required"))
        );
        assert!(response.headers.contains_key("x-request-id"));
    }
    let none = secured.client.get("/companies").await;
    assert_eq!(none.json(), json!([]));
    secured.wait_for("cause=https_required").await;
    secured.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_used_without_a_restart_and_one_that_cannot_be_used_is_not() {
    let secured = Secured::start_with(&["--admin-listen", "127.0.0.1:0"]).await;
    let (old, new) = (&secured.authority, Authority::default());
    assert!(secured.is_trusted_by(old).await && !secured.is_trusted_by(&new).await);
    let mut before = connect(secured.address(), old, &TLS13, &[]).await.unwrap();
    ask(&mut before).await;

    let (chain, key) = new.issue();
    fs::write(&secured.files.cert, chain).unwrap();
    secured.wait_for("is not the key of the first certificate").await;
    assert!(secured.is_trusted_by(old).await, "the certificate before stays");
    assert_eq!(figure(&secured, "svctrack_tls_reload_failed ").await, 1.0);

    fs::write(&secured.files.key, key).unwrap();
    secured.wait_for("certificate reloaded").await;
    assert!(secured.is_trusted_by(&new).await && !secured.is_trusted_by(old).await);
    assert_eq!(figure(&secured, "svctrack_tls_reload_failed ").await, 0.0);
    let until = figure(&secured, "svctrack_tls_certificate_not_after_timestamp_seconds ").await;
    assert_eq!(until, 64_060_588_800.0, "the year 4000");

    fs::remove_file(&secured.files.cert).unwrap();
    secured.wait_for("there is no such file").await;
    assert!(secured.is_trusted_by(&new).await);
    // A connection outlives its certificate.
    ask(&mut before).await;
    secured.server.kill().await;
}

/// Asks for the health of a server, which is good.
async fn ask(stream: &mut TlsStream<TcpStream>) {
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut response = vec![0; 1_024];
    let read = timeout(PATIENCE, stream.read(&mut response)).await.unwrap().unwrap();
    assert!(response[..read].starts_with(b"HTTP/1.1 200"), "{:?}", &response[..read]);
}

/// A figure of the operator's address.
async fn figure(secured: &Secured, name: &str) -> f64 {
    let log = secured.log();
    let admin = log.split("admin=").nth(1).unwrap().split_whitespace().next().unwrap();
    let metrics = Client::new(&format!("http://{admin}"), None).get("/metrics").await;
    let line = metrics.text().lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_reports_what_is_wrong_with_the_files_of_tls() {
    let authority = Authority::default();
    let ((chain, key), (_, other_key)) = (authority.issue(), authority.issue());
    let key_block = key.lines().nth(1).unwrap().to_owned();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let broken = chain.replace("-----END", "----END");
    for (cert, key, expect) in [
        (None, Some(&*key), "chain.pem`: there is no such file"),
        (Some(&*chain), None, "key.pem`: there is no such file"),
        (Some(""), Some(&*key), "chain.pem` has no certificate"),
        (Some(&*key), Some(&*key), "name the file with the full chain"),
        (Some(&*broken), Some(&*key), "chain.pem` is not valid PEM"),
        (Some(&*chain), Some(""), "key.pem` has no private key"),
        (Some(&*chain), Some(&*chain), "key.pem` has no private key"),
        (Some(&*chain), Some(&*encrypted), "`openssl pkey -in FILE -out NEW`"),
        (Some(&*chain), Some(&*other_key), "key.pem` is not the key of the first certificate"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files =
            Files { cert: folder.path().join("chain.pem"), key: folder.path().join("key.pem") };
        for (path, text) in [(&files.cert, cert), (&files.key, key)] {
            text.iter().for_each(|text| fs::write(path, text).unwrap());
        }
        let said = rejection(folder.path(), &files.flags()).await;
        assert!(said.contains(expect), "{expect}: {said}");
        assert!(!said.contains(&key_block), "{said}");
        assert!(!folder.path().join("svctrack.redb").exists(), "{expect}: a store was created");
    }
    let folder = tempfile::tempdir().unwrap();
    let (alone, nothing) = (["--tls-cert", "x"], ["--tls-key", "x"]);
    assert!(rejection(folder.path(), &alone).await.contains("tls-cert needs tls-key"));
    assert!(rejection(folder.path(), &nothing).await.contains("tls-key needs tls-cert"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_anybody_may_read_and_a_certificate_that_has_expired_are_warned_of() {
    for (mode, year, is_open, is_expired) in
        [(0o600, 4000, false, false), (0o640, 4000, false, false), (0o604, 2020, true, true)]
    {
        let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::default());
        let files = authority.issue_to(folder.path());
        let (chain, key) = authority.issue_until(year);
        fs::write(&files.cert, chain).unwrap();
        fs::write(&files.key, key).unwrap();
        fs::set_permissions(&files.key, fs::Permissions::from_mode(mode)).unwrap();
        let log = folder.path().join(LOG);
        let to_log = fs::File::create(&log).unwrap();
        let token = Token::generate().unwrap();
        let server = Server::start_with_log(folder.path(), &token, &files.flags(), to_log).await;
        server.stop().await;
        let said = fs::read_to_string(&log).unwrap();
        assert_eq!(said.contains("private key readable by every user"), is_open, "{said}");
        assert_eq!(said.contains("certificate expired"), is_expired, "{said}");
    }
}

/// A first record of TLS, most of it missing.
const HALF_A_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_stops_delays_nobody_and_is_ended() {
    let secured = Secured::start().await;
    let mut silent = Vec::new();
    for number in 0..500 {
        let mut stream = TcpStream::connect(secured.address()).await.unwrap();
        let begun = [HALF_A_HELLO, b"\x16", b""][number % 3];
        stream.write_all(begun).await.unwrap();
        silent.push(stream);
    }
    assert!(secured.is_trusted_by(&secured.authority).await);
    assert_eq!(secured.client.get("/companies").await.status, StatusCode::OK);
    for stream in &mut silent {
        let read = timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await;
        assert!(read.is_ok(), "a connection without a handshake is still open");
    }
    secured.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_is_begun_is_ended_by_a_stop() {
    let secured = Secured::start().await;
    let mut stream = TcpStream::connect(secured.address()).await.unwrap();
    stream.write_all(HALF_A_HELLO).await.unwrap();
    // It is being read when the next one has been served.
    secured.client.get("/health").await;
    secured.server.signal("TERM");
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().unwrap_or_default();
    assert!(!secured.log().contains("aborted at shutdown"), "{}", secured.log());
    assert_eq!(secured.server.wait().await, Some(0));
}

/// Runs a command; returns whether it succeeded, and all that it said.
async fn run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = command(folder);
    let output = command.args(arguments).stdin(Stdio::null()).output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_call_a_server_over_tls_whose_certificate_they_are_shown() {
    let secured = Secured::start().await;
    let folder = secured.folder.path();
    fs::write(folder.join("ca.pem"), secured.authority.pem()).unwrap();
    let (named, numbered) = (secured.server.base.replace("127.0.0.1", NAME), &secured.server.base);
    let list = ["token", "list", "--token", secured.token.reveal(), "--server"];
    for (server, ca_cert, expect) in [
        (&named, Some("ca.pem"), "first token"),
        (numbered, Some("chain.pem"), "first token"),
        (&named, None, "with --ca-cert"),
        (numbered, Some("ca.pem"), "with --ca-cert"),
        (&named, Some("key.pem"), "`key.pem` has no certificate"),
        (&named, Some("nowhere.pem"), "`nowhere.pem`: No such file"),
    ] {
        let ca_cert: Vec<_> = ca_cert.iter().flat_map(|file| ["--ca-cert", file]).collect();
        let (is_done, said) = run(folder, &[&list[..], &[server], &ca_cert].concat()).await;
        assert!(said.contains(expect), "{server} {ca_cert:?}: {said}");
        assert_eq!(is_done, expect == "first token", "{said}");
    }
    let script = ["script", "--server", numbered, "--ca-cert", "chain.pem", "--json"];
    let (is_done, said) = run(folder, &script).await;
    assert!(is_done && said.contains(&format!("\"publicUrl\":\"{numbered}\"")), "{said}");
    secured.server.kill().await;
}
