//! Whom a server takes for the client of a request that came through a proxy on the same machine: the one that its log
//! names.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustls::version::TLS13;
use serde_json::Value;
use svctrack_server::auth::Token;
use svctrack_tests::{
    process::{PATIENCE, Server},
    tls::{Authority, connect_over},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// A server whose log is in a file.
struct Logged {
    folder: TempDir,
    server: Server,
}

impl Logged {
    async fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let flags = [&["--log-format", "json", "--log", "debug"], flags].concat();
        let token = Token::generate().unwrap();
        let server = Server::start_with_log(folder.path(), &token, &flags, log).await;
        Self { folder, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.server.client.address()).await.unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The client of the request with an id, in the log.
    async fn client_of(&self, id: &str) -> String {
        self.line(id).await["client"].as_str().unwrap().to_owned()
    }

    /// The line of a request.
    async fn line(&self, id: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.text();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(line) = lines.find(|line| line["request_id"] == id) {
                return line;
            }
            assert!(Instant::now() < deadline, "{id}: {log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The client of a request for nothing, with these headers.
    async fn client_with(&self, headers: &[(&str, &str)]) -> String {
        let response =
            self.server.client.send(hyper::Method::GET, "/nowhere", headers, "").await.unwrap();
        self.client_of(response.headers["x-request-id"].to_str().unwrap()).await
    }
}

/// Asks for nothing; returns the id of the request, or what came instead of a response.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<String, String> {
    let request = b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if stream.write_all(request).await.is_err() {
        // The connection has ended already.
        return Err(String::new());
    }
    let mut response = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut response)).await.unwrap();
    let response = String::from_utf8(response).unwrap();
    let id = response.split("x-request-id: ").nth(1).and_then(|rest| rest.lines().next());
    id.map(str::to_owned).ok_or(response)
}

/// A header of version 2 from 203.0.113.7, with a command, and an addition that is to be skipped.
fn version_2(command: u8) -> Vec<u8> {
    let addresses = [203, 0, 113, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 80];
    let addition = [4, 0, 2, 0, 0];
    let fixed = [0x20 | command, 0x11, 0, 17];
    [b"\r\n\r\n\0\r\nQUIT\n".as_slice(), &fixed, &addresses, &addition].concat()
}

const BY_PROXY_PROTOCOL: [&str; 2] = ["--client-address-from", "proxy-protocol"];

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_protocol_names_the_client_in_both_versions() {
    let logged = Logged::start(&BY_PROXY_PROTOCOL).await;
    for (header, expect) in [
        (b"PROXY TCP4 203.0.113.7 127.0.0.1 4660 80\r\n".to_vec(), "203.0.113.7"),
        (b"PROXY TCP6 2001:db8::7 ::1 4660 80\r\n".to_vec(), "2001:db8::7"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (version_2(1), "203.0.113.7"),
        (version_2(0), "127.0.0.1"),
        (Vec::new(), "127.0.0.1"),
    ] {
        let mut stream = logged.connect().await;
        stream.write_all(&header).await.unwrap();
        let id = ask(&mut stream).await.unwrap();
        assert_eq!(logged.client_of(&id).await, expect, "{header:?}");
    }
    // What only its client can have sent is not read.
    assert_eq!(logged.client_with(&[("x-forwarded-for", "192.0.2.1")]).await, "127.0.0.1");
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_of_the_proxy_protocol_comes_before_tls() {
    let (certificates, authority) = (tempfile::tempdir().unwrap(), Authority::default());
    let files = authority.issue_to(certificates.path());
    let logged = Logged::start(&[&BY_PROXY_PROTOCOL[..], &files.flags()].concat()).await;
    let mut stream = logged.connect().await;
    stream.write_all(&version_2(1)).await.unwrap();
    let mut stream = connect_over(stream, &authority, &TLS13, &[]).await.unwrap();
    let id = ask(&mut stream).await.unwrap();
    assert_eq!(logged.client_of(&id).await, "203.0.113.7");
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_a_proxy_names_has_its_own_limit_of_handshakes() {
    let (certificates, authority) = (tempfile::tempdir().unwrap(), Authority::default());
    let files = authority.issue_to(certificates.path());
    let logged = Logged::start(&[&BY_PROXY_PROTOCOL[..], &files.flags()].concat()).await;
    let deadline = Instant::now() + PATIENCE;
    while !logged.text().contains("TLS handshakes per second and address") {
        assert!(Instant::now() < deadline, "{}", logged.text());
        for _ in 0..100 {
            logged.connect().await.write_all(&version_2(1)).await.unwrap();
        }
    }
    let mut stream = logged.connect().await;
    stream.write_all(b"PROXY TCP4 203.0.113.8 127.0.0.1 4660 80\r\n").await.unwrap();
    let mut stream = connect_over(stream, &authority, &TLS13, &[]).await.unwrap();
    assert_eq!(logged.client_of(&ask(&mut stream).await.unwrap()).await, "203.0.113.8");
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_cannot_be_read_ends_the_connection_and_one_that_is_not_asked_for_is_no_request()
 {
    let logged = Logged::start(&BY_PROXY_PROTOCOL).await;
    let mut too_long = version_2(1);
    too_long[14..16].copy_from_slice(&[0xff, 0xff]);
    for header in [
        b"PROXY TCP4 203.0.113.7\r\n".to_vec(),
        b"PROXY TCP4 not-an-address 127.0.0.1 1 1\r\n".to_vec(),
        [b"PROXY ".as_slice(), &[b'x'; 200]].concat(),
        too_long,
        version_2(7),
    ] {
        let mut stream = logged.connect().await;
        stream.write_all(&header).await.unwrap();
        assert_eq!(ask(&mut stream).await.unwrap_err(), "", "{header:?}");
    }
    let cause = "PROXY protocol: no valid header\",\"rejected\":1";
    assert!(logged.text().contains(cause), "{}", logged.text());
    // One that is never complete is ended in time.
    let mut stream = logged.connect().await;
    stream.write_all(b"PROXY TCP4 ").await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap();
    logged.server.kill().await;

    let logged = Logged::start(&[]).await;
    let mut stream = logged.connect().await;
    stream.write_all(b"PROXY TCP4 203.0.113.7 127.0.0.1 4660 80\r\n").await.unwrap();
    let id = ask(&mut stream).await.unwrap();
    assert_eq!(logged.line(&id).await["cause"], "request_malformed");
    logged.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_that_is_chosen_names_the_client_and_no_other() {
    let headers =
        [("x-forwarded-for", "192.0.2.1, 192.0.2.2"), ("forwarded", "for=\"[2001:db8::1]:80\"")];
    for (flags, expect) in [
        (&[][..], "192.0.2.2"),
        (&["--trusted-hops", "2"], "192.0.2.1"),
        (&["--trusted-hops", "3"], "127.0.0.1"),
        (&["--client-address-from", "forwarded"], "2001:db8::1"),
    ] {
        let logged = Logged::start(flags).await;
        assert_eq!(logged.client_with(&headers).await, expect, "{flags:?}");
        logged.server.kill().await;
    }
}
