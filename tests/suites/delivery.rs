//! How the script reaches its users: packed, cached, checked by its hash, and at addresses of their own.

use std::io::Read as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha384};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::{Client, Response},
    in_process::InProcess,
    process::{Server, command},
};
use svctrack_web::{Addresses, GLUE_PATH, WASM_PATH, asset};

use crate::startup::rejection;

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const UNTIL_IT_CHANGES: &str = "public, no-cache";

async fn load(client: &Client, path: &str, accepted: &str) -> Response {
    client.send(Method::GET, path, &[("accept-encoding", accepted)], "").await.unwrap()
}

/// The path of the script in its version, where it is served at `path`.
fn versioned(path: &str) -> String {
    Addresses::new("").with_script_path(path).unwrap().versioned_script()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_sent_in_the_smallest_form_that_the_browser_takes() {
    let server = InProcess::start().await;
    let plain = asset("/svctrack.js").unwrap().bytes;
    for (accepted, coding) in
        [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("", ""), ("br;q=0, gzip;q=0.5", "gzip")]
    {
        let response = load(&server.anonymous, "/svctrack.js", accepted).await;
        let named =
            response.headers.get("content-encoding").map_or("", |name| name.to_str().unwrap());
        assert_eq!(named, coding, "{accepted}");
        assert_eq!(response.headers["vary"], "Accept-Encoding");
        let mut unpacked = Vec::new();
        match coding {
            "gzip" => {
                let mut decoder = flate2::read::GzDecoder::new(&response.body[..]);
                decoder.read_to_end(&mut unpacked).unwrap();
            }
            // That brotli unpacks to the same is tested where it is packed.
            "br" => {
                assert_eq!(response.body, asset("/svctrack.js").unwrap().brotli);
                continue;
            }
            _ => unpacked = response.body.to_vec(),
        }
        assert_eq!(unpacked, plain);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_its_version_is_cached_indefinitely_and_another_one_is_requested_again() {
    let server = InProcess::start().await;
    let files = [
        ("/svctrack.js", UNTIL_IT_CHANGES, "text/javascript; charset=utf-8"),
        ("/svctrack_bg.wasm", UNTIL_IT_CHANGES, "application/wasm"),
        (&versioned("/svctrack.js"), FOR_EVER, "text/javascript; charset=utf-8"),
        (GLUE_PATH, FOR_EVER, "text/javascript; charset=utf-8"),
        (WASM_PATH, FOR_EVER, "application/wasm"),
    ];
    for (path, cached, content_type) in files {
        let response = load(&server.anonymous, path, "br").await;
        assert_eq!(response.status, StatusCode::OK, "{path}");
        assert_eq!(response.headers["cache-control"], cached, "{path}");
        assert_eq!(response.headers["content-type"], content_type, "{path}");
        assert_eq!(response.headers["access-control-allow-origin"], "*", "{path}");
        let known = response.headers["etag"].to_str().unwrap();
        let headers = [("accept-encoding", "br"), ("if-none-match", known)];
        let again = server.anonymous.send(Method::GET, path, &headers, "").await.unwrap();
        assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0), "{path}");
        // The form in gzip has other bytes, so it is not the one that is known.
        let headers = [("accept-encoding", "gzip"), ("if-none-match", known)];
        let other = server.anonymous.send(Method::GET, path, &headers, "").await.unwrap();
        assert_eq!(other.status, StatusCode::OK, "{path}");
    }
    let unknown = load(&server.anonymous, "/svctrack-00000000.js", "br").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn script_and_events_have_the_paths_that_were_chosen_besides_those_they_always_have() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let chosen = ["--script-path", "/in/app.js", "--tracking-prefix", "/in"];
    let server = Server::start_with(folder.path(), &token, &chosen).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let wasm = ["/in", WASM_PATH].concat();
    for path in ["/in/app.js", &versioned("/in/app.js"), &wasm, "/svctrack.js", WASM_PATH] {
        assert_eq!(load(&server.client, path, "br").await.status, StatusCode::OK, "{path}");
    }
    let demo = server.client.get("/demo").await;
    let demo = demo.text();
    assert!(demo.contains(&format!("\"{}/in/app.js\"", server.base)), "{demo}");
    assert!(demo.contains(&format!("svctrack.load(\"{}/in/{TENANT}\");", server.base)), "{demo}");

    let page = Client::new(&server.base, None);
    for (prefix, action) in [("/in", "One"), ("/analytics", "Two")] {
        let event = json!({"externalId": "ada", "companyExternalId": "acme", "action": action});
        let path = format!("{prefix}/{TENANT}");
        let sent = page.send(Method::POST, &path, &[], event.to_string()).await.unwrap();
        assert_eq!(sent.text(), "OK");
        assert_eq!(sent.headers["access-control-allow-origin"], "*");
        let asked = page.send(Method::OPTIONS, &path, &[], "").await.unwrap();
        assert_eq!(asked.headers["access-control-max-age"], "86400");
        let rejected = page.send(Method::POST, &path, &[], "{").await.unwrap();
        assert_eq!(rejected.headers["access-control-allow-origin"], "*");
        assert_eq!(rejected.status, StatusCode::BAD_REQUEST);
    }
    let path = format!("/in/bulk/{TENANT}");
    let rows = r#"[{"euExtId": "ada", "cId": "acme", "action": "Three"}]"#;
    assert_eq!(page.send(Method::POST, &path, &[], rows).await.unwrap().text(), "OK");
    assert_eq!(server.client.actions().await, ["Three", "Two", "One"]);
    server.kill().await;
}

#[tokio::test]
async fn a_path_that_is_invalid_or_that_the_service_has_itself_is_rejected() {
    for (flag, path, expect) in [
        ("--script-path", "/lib/app.css", "script-path must be a path"),
        ("--script-path", "lib/app.js", "script-path must be a path"),
        ("--script-path", "/companies/app.js", "script-path: the service has a route"),
        ("--script-path", "/demo.js", "script-path: the service has a file"),
        ("--tracking-prefix", "/", "tracking-prefix must be a path"),
        ("--tracking-prefix", "/:in", "tracking-prefix must be a path"),
        ("--tracking-prefix", "/endusers", "tracking-prefix: the service has routes"),
        ("--tracking-prefix", "/analytics/in", "tracking-prefix: the service has routes"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let said = rejection(folder.path(), &[flag, path]).await;
        assert!(said.contains(expect) && said.contains(path), "{path}: {said}");
    }
}

/// What `svctrack script` prints.
async fn script(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = command(folder.path()).arg("script").args(arguments).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn the_command_line_prints_the_hashes_of_the_files_that_the_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    let printed = script(&["--json", "--public-url", &server.base]).await;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["script"], format!("{}/svctrack.js", server.base));
    let files = printed["files"].as_array().unwrap();
    assert_eq!(files.len(), 3);
    for file in files {
        let path = file["url"].as_str().unwrap().strip_prefix(&server.base).unwrap();
        let served = load(&server.client, path, "").await;
        let hash = STANDARD.encode(Sha384::digest(&served.body));
        assert_eq!(file["integrity"], format!("sha384-{hash}"), "{path}");
    }
    assert_eq!(printed.get("snippet"), None);
    server.kill().await;
}

#[tokio::test]
async fn the_command_line_prints_snippet_and_policy() {
    let of =
        ["--public-url", "https://a.example/t", "--script-path", "/app.js", "--tenant", TENANT];
    let printed = script(&[&of[..], &["--pinned"]].concat()).await;
    let (_, after) = printed.split_once("<script>").unwrap();
    let (code, after) = after.split_once("</script>").unwrap();
    let hash = STANDARD.encode(Sha256::digest(code));
    let policy = format!(
        "script-src   https://a.example 'sha256-{hash}' 'wasm-unsafe-eval'\n  connect-src  https://a.example\n"
    );
    assert!(after.contains(&policy), "{printed}");
    assert!(code.contains(&format!("https://a.example/t{}", versioned("/app.js"))), "{printed}");
    assert!(code.contains("integrity=\"sha384-"), "{printed}");
    let printed: Value =
        serde_json::from_str(&script(&[&of[..], &["--json"]].concat()).await).unwrap();
    let snippet = printed["snippet"].as_str().unwrap();
    assert!(snippet.contains("https://a.example/t/app.js") && !snippet.contains("integrity"));
    assert_eq!(printed["policy"]["connect-src"][0], "https://a.example");
}
