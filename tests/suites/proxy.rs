//! Recipes of the docs for a proxy under the customer's own name, before a running server.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command as Stop, Stdio},
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use serde_json::Value;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    browser::Browser,
    client::Client,
    docs,
    process::{PATIENCE, Server, command},
    required_tools::{self, not_tried},
};
use svctrack_web::WASM_PATH;
use tokio::process::{Child, Command};

/// The page with the recipes.
const PAGE: &str = "web/docs/tracking-script.md";
/// The flags that they go with.
const FLAGS: &[&str] = &["--script-path", "/in/app.js", "--tracking-prefix", "/in"];

/// A running proxy, which serves the files of a folder too; it ends when dropped.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) base: String,
}

/// Its workers end with their master, when that is asked to.
impl Drop for Proxy {
    fn drop(&mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Stop::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    }
}

impl Proxy {
    /// Runs a proxy that is reached at `base`; none when it is not installed.
    pub(crate) fn run(program: &str, mut command: Command, base: String) -> Option<Self> {
        let Ok(child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            not_tried(required_tools::TOOLS, &format!("`{program}` is not installed"));
            return None;
        };
        Some(Self { child, base })
    }
}

/// The recipe for this program, for a server at `address`.
fn recipe(program: &str, address: &str) -> String {
    assert!(docs::read(PAGE).contains(&FLAGS.join(" ")), "the page shows the flags");
    docs::block_with(PAGE, program, "127.0.0.1:8080").replace("127.0.0.1:8080", address)
}

fn nginx(folder: &Path, port: u16, recipe: &str) -> Command {
    let server = format!(
        "types {{ text/html html; text/javascript js; application/wasm wasm; }}
        server {{ listen 127.0.0.1:{port}; root {}/site; {recipe} }}",
        folder.display()
    );
    nginx_with(folder, &server)
}

/// nginx with these servers, and all that it writes in a folder.
pub(crate) fn nginx_with(folder: &Path, servers: &str) -> Command {
    let path = folder.display();
    // As root, its workers would be another user's and could not read the folder.
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let user = if is_root { "user root;" } else { "" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {path}/{kind};"))
        .concat();
    let configuration = format!(
        "daemon off; {user} pid {path}/pid; error_log {path}/log; events {{ }}
        http {{ access_log off; {temporary} {servers} }}"
    );
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    command
}

fn caddy(folder: &Path, port: u16, recipe: &str) -> Command {
    let site = folder.join("site");
    let site = format!(
        "http://127.0.0.1:{port} {{\nroot * {}\nfile_server\n{recipe}\n}}\n",
        site.display()
    );
    caddy_with(folder, "auto_https off", &site)
}

/// Caddy with these sites, and all that it writes in a folder.
pub(crate) fn caddy_with(folder: &Path, options: &str, sites: &str) -> Command {
    fs::write(folder.join("Caddyfile"), format!("{{\nadmin off\n{options}\n}}\n{sites}")).unwrap();
    let mut command = Command::new("caddy");
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"));
    command.env("HOME", folder).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    command
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a proxy that has `recipe` next to the files in the folder's `site`; none when it is not installed.
pub(crate) async fn start(program: &str, folder: &Path, recipe: &str) -> Option<Proxy> {
    let port = free_port();
    let configure = if program == "nginx" { nginx } else { caddy };
    let base = format!("http://127.0.0.1:{port}");
    let proxy = Proxy::run(program, configure(folder, port, recipe), base)?;
    let visitor = Client::new(&proxy.base, None);
    let deadline = Instant::now() + PATIENCE;
    while visitor.send(Method::GET, "/", &[], "").await.is_err() {
        assert!(Instant::now() < deadline, "{program} does not answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Some(proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_brings_script_and_events_through() {
    check("nginx").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_brings_script_and_events_through() {
    check("caddy").await;
}

/// A page of the proxy's own site has the snippet of one version and the policy that goes with it, and its
/// events reach the disk.
async fn check(program: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir_all(folder.path().join("site")).unwrap();
    fs::create_dir(&data).unwrap();
    let server = Server::start_with(&data, &Token::generate().unwrap(), FLAGS).await;
    let acme = serde_json::json!({"name": "Acme", "externalId": "acme"});
    server.client.post("/companies", &acme).await;

    let recipe = recipe(program, server.client.address());
    let Some(proxy) = start(program, folder.path(), &recipe).await else {
        return;
    };
    write_page(folder.path(), &proxy.base).await;
    let visitor = Client::new(&proxy.base, None);
    let accepted = [("accept-encoding", "gzip, br")];
    let script = visitor.send(Method::GET, "/in/app.js", &accepted, "").await.unwrap();
    assert_eq!(script.headers["content-encoding"], "br");
    assert_eq!(visitor.get("/activities").await.status, StatusCode::NOT_FOUND);

    let browser = Browser::start().await;
    browser.page.goto(&format!("{}/index.html", proxy.base)).await.unwrap();
    browser
        .run("svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('Came')")
        .await;
    wait_until_actions(&server, &["Came"]).await;
    let loaded =
        browser.run("return performance.getEntriesByType('resource').map(e => e.name)").await;
    let loaded = loaded.to_string();
    assert!(
        loaded.contains("/in/app-") && loaded.contains(&["/in", WASM_PATH].concat()),
        "{loaded}"
    );
    browser.close().await;
    server.kill().await;
}

/// Writes a page with what `svctrack script` prints for it.
async fn write_page(folder: &Path, base: &str) {
    let mut command = command(folder);
    command.args(["script", "--json", "--pinned", "--tenant", TENANT, "--public-url", base]);
    let output = command.args(FLAGS).output().await.unwrap();
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let policy = ["script-src", "connect-src"].map(|directive| {
        let sources = printed["policy"][directive].as_array().unwrap().iter();
        let sources: Vec<_> = sources.map(|source| source.as_str().unwrap()).collect();
        format!("{directive} {}; ", sources.join(" "))
    });
    let page = format!(
        "<!doctype html><head><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; {}\">\n{}</head>",
        policy.concat(),
        printed["snippet"].as_str().unwrap()
    );
    fs::write(folder.join("site/index.html"), page).unwrap();
}

/// Waits until these are the actions of all events, newest first.
async fn wait_until_actions(server: &Server, expect: &[&str]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = server.client.actions().await;
        if found == expect {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
