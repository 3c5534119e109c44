//! How the server starts, and when it fails to start.

use std::{collections::BTreeSet, fs, path::Path, process::Stdio};

use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{PATIENCE, Server, binary, command, read_until, signal},
    project,
};
use tempfile::TempDir;
use tokio::{process::Child, time::timeout};

use crate::backup::{run, text};

pub(crate) const FILE: &str = "svctrack.redb";

/// A folder with a store in it, closed in good order.
async fn filled_folder() -> (TempDir, Token) {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    server.client.post("/companies", &json!({"name": "Acme"})).await;
    server.stop().await;
    (folder, token)
}

/// Starts a server that is to reject; returns its one line.
pub(crate) async fn rejection(folder: &Path, arguments: &[&str]) -> String {
    let mut command = command(folder);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder).args(arguments);
    let output = timeout(PATIENCE, command.output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
    said
}

#[tokio::test]
async fn a_file_that_is_no_sound_store_is_rejected_and_left_as_it_is() {
    let (folder, _) = filled_folder().await;
    let sound = fs::read(folder.path().join(FILE)).unwrap();
    let other_store = tempfile::NamedTempFile::new().unwrap();
    fs::remove_file(other_store.path()).unwrap();
    drop(redb::Database::create(other_store.path()).unwrap());
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("empty", Vec::new(), "the file is empty"),
        ("cut off in its first page", sound[..100].to_vec(), "it is corrupted"),
        ("cut in half", sound[..sound.len() / 2].to_vec(), "it is corrupted"),
        ("one byte short", sound[..sound.len() - 1].to_vec(), "it is corrupted"),
        ("text", b"once upon a time\n".repeat(1_000), "it is not a svctrack store"),
        ("zeros", vec![0; 100_000], "it is not a svctrack store"),
        ("of another program", fs::read(other_store.path()).unwrap(), "it is not a svctrack store"),
    ];
    for (name, bytes, expect) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::write(&path, &bytes).unwrap();
        let said = rejection(folder.path(), &[]).await;
        assert!(said.contains(expect) && said.contains("cannot be opened"), "{name}: {said}");
        assert!(fs::read(&path).unwrap() == bytes, "{name}: the file was changed");
    }
}

/// Where the bytes that its sum covers begin in each of the copies of a header.
const HEADER_AT: [usize; 4] = [40, 4_136, 8_232, 12_328];

/// Turns a bit of these bytes over.
fn flip(folder: &Path, places: impl IntoIterator<Item = usize>) {
    let path = folder.join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    places
        .into_iter()
        .filter(|at| *at < bytes.len())
        .collect::<Vec<_>>()
        .iter()
        .for_each(|at| bytes[*at] ^= 1);
    fs::write(&path, bytes).unwrap();
}

#[tokio::test]
async fn a_store_that_is_beyond_repair_is_rejected_with_the_command_that_restores_its_backup() {
    // The start of the file, the whole of a header, and all that it leads to, after the checksums of the blocks.
    let nothing_left = (0..4).map(|copy| copy * 4_096).collect();
    let blocks = (8..1_000).map(|block| block * 4_096 + 77).collect();
    for places in [nothing_left, HEADER_AT.to_vec(), blocks] {
        let (folder, token) = filled_folder().await;
        let data = text(folder.path());
        flip(folder.path(), places.iter().copied());
        let said = rejection(folder.path(), &[]).await;
        assert!(said.contains("svctrack restore --from 'BACKUP' --data '"), "{said}");
        flip(folder.path(), places.iter().copied());

        let backups = folder.path().join("backups");
        fs::create_dir(&backups).unwrap();
        let arguments = ["backup", "--data", data, "--to", text(&backups)];
        assert_eq!(run(folder.path(), &arguments).await.0, Some(0));
        flip(folder.path(), places);
        let said = rejection(folder.path(), &[]).await;
        for arguments in [["verify", "--data"], ["compact", "--data"], ["backup", "--data"]] {
            let (code, also) = run(folder.path(), &[arguments.as_slice(), &[data]].concat()).await;
            let advice = said.split_once("; restore a backup").unwrap().1;
            assert!(code == Some(1) && also.contains(advice), "{arguments:?}: {also}");
        }
        let command: Vec<_> = said.split('\'').skip(1).step_by(2).collect();
        let (backup, restored) = (command[0], Path::new(command[1]));
        let arguments = ["restore", "--from", backup, "--data", text(restored)];
        let (code, said) = run(folder.path(), &arguments).await;
        assert_eq!(code, Some(0), "{said}");
        let server = Server::start(restored, &token).await;
        let companies = server.client.get("/companies").await.json();
        assert_eq!(companies[0]["name"], "Acme");
        server.kill().await;
        fs::remove_dir_all(restored).unwrap();
    }
}

#[tokio::test]
async fn a_store_that_a_crash_left_is_rejected_when_it_is_truncated_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    for number in 0..200 {
        server.client.post("/companies", &json!({"name": format!("Company {number}")})).await;
    }
    server.kill().await;
    let left = fs::read(folder.path().join(FILE)).unwrap();
    // The end of a file may be free space, without which nothing is missing; half of it is not.
    for eighths in [1, 2, 4] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let bytes = &left[..left.len() * eighths / 8 / 4096 * 4096];
        fs::write(&path, bytes).unwrap();
        let said = rejection(folder.path(), &[]).await;
        assert!(said.contains("it is corrupted"), "{eighths}/8: {said}");
        assert!(fs::read(&path).unwrap() == bytes, "{eighths}/8: the file was changed");
    }
    let server = Server::start(folder.path(), &token).await;
    assert_eq!(
        server.client.get("/companies?limit=1000").await.json().as_array().unwrap().len(),
        200
    );
    server.kill().await;
}

#[tokio::test]
async fn the_log_holds_no_e_mail_and_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let log = folder.path().join("log");
    let server = Server::start_with_log(
        folder.path(),
        &token,
        &["--log", "debug"],
        fs::File::create(&log).unwrap(),
    )
    .await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Acme", "domains": ["canary.example"]})).await;
    client.track(&json!({"email": "canary@canary.example", "action": "x"})).await.unwrap();
    client.track(&json!({"email": "canary@", "action": "x"})).await.unwrap();
    client.post("/endusers", &json!({"email": "canary@elsewhere.example"})).await;
    client.get("/endusers/extid-canary%40canary.example?q=canary").await;
    server.kill().await;
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("INFO") || log.contains("DEBUG"), "nothing was logged");
    assert!(!log.contains("canary") && !log.contains(&token.reveal()[13..]), "{log}");
}

#[tokio::test]
async fn a_store_that_another_process_has_open_is_rejected() {
    let (folder, token) = filled_folder().await;
    let server = Server::start(folder.path(), &token).await;
    let said = rejection(folder.path(), &[]).await;
    assert!(said.contains("another process has it open; if it is a server, stop it"), "{said}");
    assert_eq!(server.client.get("/companies").await.json().as_array().unwrap().len(), 1);
    server.kill().await;
}

#[tokio::test]
async fn bootstrap_changes_nothing_on_a_store_that_is_filled() {
    let (folder, token) = filled_folder().await;
    let other = Token::generate().unwrap();
    let server = Server::start(folder.path(), &other).await;
    assert_eq!(server.client.get("/companies").await.status, 401);
    let first = Client::new(&server.base, Some(token.reveal()));
    assert_eq!(first.get("/companies").await.json().as_array().unwrap().len(), 1);
    server.kill().await;
}

#[tokio::test]
async fn the_first_start_prints_once_all_that_a_first_event_needs() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    // No command means `serve`.
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let said = read_until(&mut child, "serves on ").await;
    let word_after = |mark: &str| {
        let rest = said.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {said}")).1;
        rest.split_whitespace().next().unwrap().to_owned()
    };
    let (tenant, token) = (word_after("Tenant"), word_after("API token"));
    let base = word_after("serves on ");
    assert!(said.contains(&format!("{base}/analytics/{tenant}")), "{said}");

    // What the printed snippet and the lines after it send.
    let client = Client::new(&base, Some(&token));
    let event = r#"{"externalId":"user-1","companyExternalId":"demo","action":"Opened report"}"#;
    let path = format!("/analytics/{tenant}");
    let response = client.send(hyper::Method::POST, &path, &[], event).await.unwrap();
    assert_eq!(response.text(), "OK");
    assert_eq!(client.actions().await, ["Opened report"]);
    child.kill().await.unwrap();

    let mut again = command_again(folder.path());
    let mut child = again.spawn().unwrap();
    let said = read_until(&mut child, "serves on ").await;
    assert!(!said.contains("svt_") && !said.contains(&tenant), "{said}");
    child.kill().await.unwrap();
}

fn command_again(folder: &Path) -> tokio::process::Command {
    let mut command = command(folder);
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    command
}

#[tokio::test]
async fn a_start_that_broke_off_leaves_nothing_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("svctrack.new"), b"half a store").unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    assert_eq!(server.client.get("/companies").await.status, 200);
    server.kill().await;
}

#[tokio::test]
async fn a_command_offers_the_settings_that_it_uses_and_no_others() {
    const STORE: &[&str] = &["--data", "--cache-mb"];
    const ADDRESSES: &[&str] =
        &["--data", "--listen", "--public-url", "--script-path", "--tracking-prefix"];
    let folder = tempfile::tempdir().unwrap();
    for (command_line, settings, own) in [
        ("verify", STORE, &["--backup", "--backup-to", "--json"][..]),
        ("compact", STORE, &["--backup-to", "--json"]),
        ("restore", STORE, &["--from", "--json"]),
        (
            "script",
            ADDRESSES,
            &["--server", "--ca-cert", "--tenant", "--pinned", "--npm", "--json"],
        ),
    ] {
        let output = command(folder.path()).args([command_line, "--help"]).output().await.unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let flags = help.lines().filter_map(|line| {
            let line = line.trim_start().trim_start_matches("-h, ");
            line.starts_with("--").then(|| line.split_whitespace().next().unwrap())
        });
        let offered: BTreeSet<&str> = flags.collect();
        let expected = [settings, own, &["--help"]].concat().into_iter().collect();
        assert_eq!(offered, expected, "{command_line}");
    }
}

#[tokio::test]
async fn shells_complete_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = command(folder.path()).args(["completions", shell]).output().await.unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}");
        assert!(script.contains("compact") && script.contains("print-config"), "{script}");
    }
}

/// What git prints in a folder; none where it fails.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = std::process::Command::new("git");
    // What a user has configured, such as signed commits, is left out.
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.arg("-C").arg(folder).args(arguments).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| printed.trim().to_owned())
}

#[tokio::test]
async fn the_version_is_that_of_the_package_and_of_the_commit_if_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = command(folder.path()).arg("--version").output().await.unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let start = concat!("svctrack ", env!("CARGO_PKG_VERSION"), " (");
    let built_from = version.trim_end().strip_prefix(start).and_then(|rest| rest.strip_suffix(')'));
    match built_from.unwrap_or_else(|| panic!("{version}")) {
        "debug build" => assert!(!binary().components().any(|part| part.as_os_str() == "release")),
        // The tests of the program are part of its source.
        "unknown commit" => assert!(!project().join(".git").exists(), "{version}"),
        commit => {
            let (hash, date) = commit.split_once(' ').unwrap_or_else(|| panic!("{version}"));
            let known = git(&project(), &["show", "--no-patch", "--format=%cs", hash]);
            assert!(hash.len() == 10 && known.as_deref() == Some(date), "{version}");
        }
    }
}

#[test]
fn a_release_names_its_commit_or_that_it_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let package = source.join("server");
    fs::create_dir_all(&package).unwrap();
    let build = folder.path().join("build");
    let compiled = std::process::Command::new("rustc")
        .args(["--edition", "2024", "-o"])
        .arg(&build)
        .arg(project().join("server/build.rs"))
        .env("CARGO_PKG_VERSION", "1.2.3")
        .current_dir(project())
        .status();
    assert!(compiled.unwrap().success());
    let version = |profile: &str| {
        let mut build = std::process::Command::new(&build);
        let output = build.env("CARGO_MANIFEST_DIR", &package).env("PROFILE", profile).output();
        let printed = String::from_utf8(output.unwrap().stdout).unwrap();
        let set = printed.lines().find_map(|line| line.strip_prefix("cargo:rustc-env="));
        set.unwrap().strip_prefix("BUILD_VERSION=").unwrap().to_owned()
    };
    assert_eq!(version("debug"), "1.2.3 (debug build)");
    assert_eq!(version("release"), "1.2.3 (unknown commit)");

    git(folder.path(), &["init", "--quiet"]).unwrap();
    assert_eq!(version("release"), "1.2.3 (unknown commit)", "the repository is another one's");
    git(&source, &["init", "--quiet"]).unwrap();
    assert_eq!(version("release"), "1.2.3 (unknown commit)", "there is no commit yet");
    let author = ["-c", "user.name=Ada", "-c", "user.email=ada@acme.example"];
    let commit = ["commit", "--quiet", "--allow-empty", "--message", "x"];
    git(&source, &[&author[..], &commit].concat()).unwrap();
    let expect = git(&source, &["show", "--no-patch", "--abbrev=10", "--format=%h %cs"]).unwrap();
    assert!(expect.len() == "0123456789 2026-01-31".len(), "{expect}");
    assert_eq!(version("release"), format!("1.2.3 ({expect})"));
}

#[tokio::test]
async fn tokens_are_created_and_revoked_while_the_server_is_stopped() {
    let (folder, _) = filled_folder().await;
    let run = async |arguments: &[&str]| {
        let mut command = command(folder.path());
        command.arg("token").args(arguments).env("SVCTRACK_DATA", folder.path());
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, made, _) = run(&["create", "--json", "--label", "lost and found"]).await;
    assert_eq!(code, Some(0));
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let token = Token::parse(made["token"].as_str().unwrap()).unwrap();
    assert!(run(&["list"]).await.1.contains("lost and found"));
    let server = Server::start(folder.path(), &token).await;
    assert_eq!(server.client.get("/companies").await.status, 200);
    let (code, _, said) = run(&["list"]).await;
    assert!(code == Some(1) && said.contains("another process has it open"), "{said}");
    let reach = ["--server", &server.base, "--token", token.reveal()];
    let (code, listed, said) = run(&[&["list"], &reach[..]].concat()).await;
    assert!(code == Some(0) && listed.contains("lost and found"), "{listed}{said}");
    server.kill().await;

    let id = made["_id"].as_str().unwrap();
    assert_eq!(run(&["revoke", id]).await.0, Some(0));
    let (code, _, said) = run(&["revoke", id]).await;
    assert!(code == Some(1) && said.contains("there is no token with this id"), "{said}");
    let (code, _, said) = run(&["create", "--label", "x", "--scopes", "fly"]).await;
    assert!(code == Some(1) && said.contains("unknown scope"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let mut command = command(empty.path());
    let output = command.args(["token", "list"]).output().await.unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no store"));
}

#[tokio::test]
async fn the_command_line_makes_a_tenant_on_a_running_server_and_on_a_stopped_one() {
    let folder = tempfile::tempdir().unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let run = async |arguments: &[&str]| {
        let mut command = command(folder.path());
        command.arg("tenant").args(arguments).env("SVCTRACK_DATA", folder.path());
        let output = command.output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let reach = ["--server", &server.base, "--token", operator.reveal()];
    let (code, made, said) =
        run(&[&["create", "--json", "--name", "Globex"], &reach[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let of_globex = server.client.with_token(made["token"]["token"].as_str().unwrap());
    assert_eq!(of_globex.get("/companies").await.text(), "[]");
    let rejected = ["--server", &server.base, "--token", token.reveal()];
    let (code, _, said) = run(&[&["list"], &rejected[..]].concat()).await;
    assert!(code == Some(1) && said.contains("operator"), "{said}");
    server.kill().await;

    assert!(run(&["create", "--name", "Initech"]).await.1.contains("API token  svt_"));
    let listed = run(&["list"]).await.1;
    assert_eq!(listed.lines().count(), 4, "{listed}");
}

/// Starts a first server; what it prints, its address, and the process.
pub(crate) async fn first_start(folder: &Path, flags: &[&str]) -> (String, String, Child) {
    let mut command = command(folder);
    let mut child = command.arg("serve").args(flags).stdout(Stdio::piped()).spawn().unwrap();
    let said = read_until(&mut child, "serves on ").await;
    let base = word_after(&said, "serves on ");
    (said, base, child)
}

fn word_after(said: &str, mark: &str) -> String {
    let rest = said.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {said}")).1;
    rest.split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn the_first_start_behind_a_site_prints_lines_that_work_and_shows_the_site_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let site = "https://www.example.com";
    let flags = ["--listen", "127.0.0.1:0", "--public-url", site, "--script-path", "/in/app.js"];
    let flags = [&flags[..], &["--tracking-prefix", "/in"]].concat();
    let (said, base, mut child) = first_start(folder.path(), &flags).await;
    let (tenant, token) = (word_after(&said, "Tenant"), word_after(&said, "API token"));
    assert!(said.contains(&format!("{site}/in/app.js")), "{said}");
    assert!(said.contains(&format!("svctrack.load(\"{site}/in/{tenant}\")")), "{said}");
    assert!(said.contains(&format!("public URL: {site};")), "{said}");
    let shown = said.lines().filter(|line| line.contains(&token) || line.contains("sign-in"));
    let hold_site = |line: &str| line.replace(&format!("public URL: {site}"), "").contains(site);
    assert!(shown.clone().count() >= 4 && !shown.clone().any(hold_site), "{said}");
    assert!(base.starts_with("http://127.0.0.1:"), "{said}");

    let demo = word_after(&said, "Try it");
    let path = demo.strip_prefix(&base).unwrap().split('#').next().unwrap();
    let client = Client::new(&base, Some(&token));
    let page = client.get(path).await;
    assert_eq!(page.status, 200);
    // The page is used before the site's proxy is there.
    let (_, after) = page.text().split_once("<script>").map(|(_, b)| ((), b.to_owned())).unwrap();
    let (code, shown) = after.split_once("</script>").unwrap();
    assert!(code.contains(&format!("{base}/svctrack.js")) && !code.contains(site), "{code}");
    assert!(shown.contains(&format!("{site}/in/app.js")), "{shown}");
    let read_back = said.lines().find(|line| line.starts_with("Read back")).unwrap();
    let path = read_back.rsplit(' ').next().unwrap().strip_prefix(&base).unwrap();
    assert_eq!(client.get(path).await.text(), "[]");
    // The site's proxy passes no calls of the API on.
    assert_eq!(client.get("/openapi.json").await.json()["servers"][0]["url"], "/");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn the_first_start_under_a_public_url_prints_the_public_sign_in_link_first() {
    let folder = tempfile::tempdir().unwrap();
    let public = "https://svctrack.example.com";
    let flags = ["--listen", "127.0.0.1:0", "--public-url", public];
    let (said, base, mut child) = first_start(folder.path(), &flags).await;
    let links: Vec<&str> = said.lines().filter(|line| line.contains("once=")).collect();
    let [first, second] = links[..] else { panic!("{said}") };
    let path = first.trim().strip_prefix(public).unwrap();
    assert_eq!(second.trim(), format!("{base}{path}   (on this machine)"));
    assert_eq!(Client::new(&base, None).get(path).await.status, 200);
    assert!(said.contains(&format!("sign in: {public}/sign-in)")), "{said}");
    // Calls with a token go to the server itself.
    let token = word_after(&said, "API token");
    let curl = said.lines().find(|line| line.starts_with("Read back")).unwrap();
    assert!(curl.contains(&token) && curl.contains(&base) && !curl.contains(public), "{curl}");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn names_and_ports_are_listened_on_and_what_is_neither_is_explained() {
    for listen in ["0", "localhost:0", "127.0.0.1:0"] {
        let folder = tempfile::tempdir().unwrap();
        let (_, base, mut child) = first_start(folder.path(), &["--listen", listen]).await;
        assert_eq!(Client::new(&base, None).get("/health").await.status, 200, "{listen}");
        child.kill().await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    for (listen, expect) in [
        (":8080", "name the host: 127.0.0.1:8080 for this machine alone"),
        ("localhost", "the port is missing: localhost:8080"),
        ("http://localhost:8080", "leave out the scheme: localhost:8080"),
    ] {
        let mut command = command(folder.path());
        let output = command.args(["serve", "--listen", listen]).output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expect) && !output.status.success(), "{listen}: {said}");
    }
    let arguments = ["serve", "--admin-listen", "nowhere"];
    let (code, said) = run(folder.path(), &arguments).await;
    assert!(code != Some(0) && said.contains("the port is missing: nowhere:9090"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let mut command = command(folder.path());
    let output = command.args(["serve", "--listen", &listen]).output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("choose another port with --listen"), "{said}");
    for wrong in [["--tracking-prefix", "/companies"], ["--script-path", "/users/app.js"]] {
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let (code, said) = run(folder.path(), &[&serve[..], &wrong].concat()).await;
        assert!(code == Some(1) && said.contains("of its own at"), "{said}");
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "a store was created");
}

#[tokio::test]
async fn a_backup_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = run(folder.path(), &["restore", "--from", "nowhere.gz"]).await;
    assert!(code == Some(1) && said.contains("the backup `nowhere.gz` cannot be opened"), "{said}");
}

#[tokio::test]
async fn a_server_on_all_addresses_warns_when_it_has_no_public_url_and_when_it_has_no_tls() {
    for (flags, is_warned, is_plain, is_watched) in [
        (&["--admin-listen", "off"][..], true, true, false),
        (
            &["--public-url", "http://a.example", "--admin-listen", "127.0.0.1:0"],
            false,
            true,
            false,
        ),
        (&["--public-url", "https://a.example", "--admin-listen", "0.0.0.0:0"], false, false, true),
        (&["--trusted-proxies", "10.0.0.0/8,192.0.2.1"], true, false, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let flags = [&["--listen", "0.0.0.0:0"], flags].concat();
        let mut command = command(folder.path());
        command.arg("serve").args(flags).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = read_until(&mut child, "serves on ").await;
        let base = word_after(&said, "serves on ");
        assert!(base.starts_with("http://127.0.0.1:") && !said.contains("0.0.0.0"), "{said}");
        assert_eq!(Client::new(&base, None).get("/health").await.status, 200);
        signal(&child, "TERM");
        let output = child.wait_with_output().await.unwrap();
        let logged = String::from_utf8(output.stderr).unwrap();
        assert_eq!(logged.contains("without --public-url"), is_warned, "{logged}");
        assert_eq!(logged.contains("without TLS"), is_plain, "{logged}");
        assert_eq!(logged.contains("without credentials"), is_watched, "{logged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_command_takes_the_settings_of_the_running_server() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let site = "https://www.example.com";
    let flags = ["--public-url", site, "--script-path", "/in/app.js", "--tracking-prefix", "/in"];
    let server = Server::start_with(folder.path(), &token, &flags).await;
    let data = text(folder.path());
    let other = "0192f0c1-2345-7abc-8def-0123456789ab";
    let script = async |arguments: &[&str]| {
        let mut command = command(folder.path());
        let output = command.arg("script").args(arguments).output().await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for reach in [["--data", data], ["--server", &server.base]] {
        let (code, printed, said) = script(&[&["--tenant", TENANT], &reach[..]].concat()).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(printed.contains(&format!("svctrack.load(\"{site}/in/{TENANT}\")")), "{printed}");
        assert!(printed.contains(&format!("{site}/in/app.js")), "{printed}");
        assert!(said.contains(&format!("the settings of the server at {}", server.base)), "{said}");
        let (code, _, said) = script(&[&["--tenant", other], &reach[..]].concat()).await;
        assert!(code == Some(1) && said.contains("tenant"), "{said}");
    }
    let given = ["--data", data, "--tenant", TENANT, "--public-url", "https://b.example"];
    let (_, printed, said) = script(&given).await;
    assert!(printed.contains(&format!("\"https://b.example/in/{TENANT}\"")), "{printed}");
    assert!(said.contains("except those given here"), "{said}");
    let (code, _, said) = script(&["--tenant", TENANT, "--server", "http://127.0.0.1:1"]).await;
    let expect = "svctrack: http://127.0.0.1:1 cannot be reached: Connection refused";
    assert!(code == Some(1) && said.starts_with(expect), "{said}");
    server.signal("TERM");
    assert_eq!(server.wait().await, Some(0));

    let (code, printed, said) = script(&["--data", data, "--tenant", TENANT]).await;
    assert!(code == Some(0) && said.contains("no running server was found"), "{said}");
    assert!(
        printed.contains(&format!("\"http://127.0.0.1:8080/analytics/{TENANT}\"")),
        "{printed}"
    );
    assert!(!said.contains("not checked"), "{said}");
    let (code, _, said) = script(&["--data", data, "--tenant", other]).await;
    assert!(code == Some(1) && said.contains(&format!("there is no tenant {other}")), "{said}");
    let nowhere = ["--data", "nowhere", "--listen", "127.0.0.1:1", "--tenant", TENANT];
    let (code, _, said) = script(&nowhere).await;
    assert!(code == Some(0) && said.contains("was not checked"), "{said}");
}
