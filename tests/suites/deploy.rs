//! The recipes of the docs for a server behind TLS: large bodies and streams pass through the proxies, and systemd can
//! read the unit.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT, docs,
    process::{PATIENCE, Server, binary},
    required_tools::{self, not_tried},
};

use crate::proxy::{Proxy, caddy_with, free_port, nginx_with};

const PAGE: &str = "server/docs/deploy.md";
/// The name that the recipes have.
const NAME: &str = "svctrack.example.com";

/// The recipe for a program, for a server at `address`.
fn recipe(language: &str, address: &str) -> String {
    docs::block_with(PAGE, language, "127.0.0.1:8080").replace("127.0.0.1:8080", address)
}

/// Calls the name through the proxy at a port.
fn curl(port: u16, path: &str, arguments: &[&str]) -> Output {
    Command::new("curl")
        .args(["-sk", "--resolve", &format!("{NAME}:{port}:127.0.0.1")])
        .arg(format!("https://{NAME}:{port}{path}"))
        .args(arguments)
        .output()
        .unwrap()
}

/// A body that nginx does not pass on by default: 2 MB of events.
fn bulk(folder: &Path) -> String {
    let rows = (0..15_000).map(|number| {
        let text = "x".repeat(90);
        format!(
            r#"{{"euExtId":"u{}","cId":"acme","action":"Came","info":{{"t":"{text}"}}}}"#,
            number % 50
        )
    });
    let path = folder.join("bulk.json");
    fs::write(&path, format!("[{}]", rows.collect::<Vec<_>>().join(","))).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 2_000_000);
    format!("@{}", path.display())
}

async fn check(program: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(&data, &token).await;
    let (port, address) = (free_port(), server.client.address());
    let command = match program {
        "nginx" => {
            let Some(servers) = nginx_servers(folder.path(), port, address) else { return };
            nginx_with(folder.path(), &servers)
        }
        _ => {
            let site = recipe("caddy", address);
            let site = site.replace(
                &format!("{NAME} {{"),
                &format!("https://{NAME}:{port} {{\nbind 127.0.0.1\ntls internal"),
            );
            caddy_with(folder.path(), "skip_install_trust\nauto_https disable_redirects", &site)
        }
    };
    let Some(_proxy) = Proxy::run(program, command, format!("https://{NAME}:{port}")) else {
        return;
    };
    let deadline = Instant::now() + PATIENCE;
    while !curl(port, "/health", &[]).stdout.starts_with(b"{\"status\":\"ok\"") {
        assert!(Instant::now() < deadline, "{program} does not answer");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    let body = bulk(folder.path());
    let sent = curl(port, &format!("/analytics/bulk/{TENANT}"), &["--data-binary", &body]);
    assert_eq!(String::from_utf8_lossy(&sent.stdout), "OK", "{program}");
    let header = format!("Authorization: Bearer {}", token.reveal());
    let after = "/activities/stream?after=000000000000000000000000";
    let stream = curl(port, after, &["-N", "--max-time", "2", "-H", &header]);
    let stream = String::from_utf8_lossy(&stream.stdout);
    assert!(stream.contains("event: activity"), "{program}: {stream}");
    server.kill().await;
}

/// The recipe for nginx with a certificate of its own at a port; none where no certificate can be created.
fn nginx_servers(folder: &Path, port: u16, address: &str) -> Option<String> {
    let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| folder.join(name));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            &format!("/CN={NAME}"),
        ])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output();
    if made.is_err() {
        not_tried(required_tools::TOOLS, "`openssl` is not installed");
        return None;
    }
    let folder_of_name = format!("/etc/letsencrypt/live/{NAME}");
    let servers = recipe("nginx", address)
        .replace("listen 443", &format!("listen 127.0.0.1:{port}"))
        .replace(&format!("{folder_of_name}/fullchain.pem"), &certificate.display().to_string())
        .replace(&format!("{folder_of_name}/privkey.pem"), &key.display().to_string());
    Some(servers)
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_with_tls_passes_large_bodies_and_streams() {
    check("nginx").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_with_tls_passes_large_bodies_and_streams() {
    check("caddy").await;
}

#[test]
fn caddy_warns_of_nothing_in_its_recipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Caddyfile");
    fs::write(&path, docs::block_with(PAGE, "caddy", "127.0.0.1:8080")).unwrap();
    let mut caddy = Command::new("caddy");
    caddy.args(["adapt", "--adapter", "caddyfile", "--config"]).arg(&path);
    let Ok(adapted) = caddy.env("HOME", folder.path()).output() else {
        return not_tried(required_tools::TOOLS, "`caddy` is not installed");
    };
    let said = String::from_utf8_lossy(&adapted.stderr);
    assert!(adapted.status.success() && !said.contains("warn"), "{said}");
}

/// Files of `server/ops` that the page shows.
const SHOWN: [&str; 2] = ["svctrack.service", "Dockerfile"];

#[test]
fn the_page_shows_the_files_as_they_are() {
    let blocks = docs::blocks(&docs::read(PAGE));
    for name in SHOWN {
        let block = blocks.iter().find(|block| block.file.as_deref() == Some(name));
        let file = docs::read(&format!("server/ops/{name}"));
        assert_eq!(block.map(|block| &block.text), Some(&file), "{name}");
    }
}

/// The unit of the docs, with the program of this build.
fn unit_in(folder: &Path) -> PathBuf {
    unit_with(folder, "")
}

/// The same, with more settings of the service.
fn unit_with(folder: &Path, settings: &str) -> PathBuf {
    let unit = docs::block_with(PAGE, "ini", "[Unit]");
    let unit = unit.replace("\n[Install]", &format!("{settings}\n[Install]"));
    let path = folder.join("svctrack.service");
    let program = binary().display().to_string();
    fs::write(&path, unit.replace("/usr/local/bin/svctrack", &program)).unwrap();
    path
}

/// How exposed the unit may be by the measure of `systemd-analyze security`, in tenths: what it names "OK".
const MAX_EXPOSURE: &str = "20";

#[test]
fn the_unit_leaves_the_server_little_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let drop_in = docs::block_with(PAGE, "ini", "CAP_NET_BIND_SERVICE");
    for settings in ["", drop_in.trim_start_matches("[Service]\n")] {
        let path = unit_with(folder.path(), settings);
        let mut tool = Command::new("systemd-analyze");
        tool.args(["security", "--no-pager", "--offline=yes", "--threshold", MAX_EXPOSURE]);
        let Ok(judged) = tool.arg(&path).output() else {
            return not_tried(required_tools::TOOLS, "`systemd-analyze` is not installed");
        };
        let said = [judged.stdout, judged.stderr].concat();
        assert!(judged.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}

#[test]
fn systemd_can_read_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = unit_in(folder.path());
    let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&path).output() else {
        return not_tried(required_tools::TOOLS, "`systemd-analyze` is not installed");
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    let of_unit: Vec<_> = said.lines().filter(|line| line.contains("svctrack.service")).collect();
    assert!(of_unit.is_empty(), "{said}");
}
