//! The configuration: what the server says of settings, files and variables.

use std::{
    fs::{self, File},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{self, PATIENCE, Server, command},
};

use crate::{
    backup::{run, text},
    startup::rejection,
};

#[tokio::test]
async fn settings_that_cannot_be_used_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let wrong = ["--bootstrap-tenant", "x", "--bootstrap-token", token.reveal()];
    assert!(rejection(folder.path(), &wrong).await.contains("bootstrap-tenant must be a UUID"));
    let wrong = ["--bootstrap-tenant", TENANT, "--bootstrap-token", "sesame"];
    let said = rejection(folder.path(), &wrong).await;
    assert!(said.contains("bootstrap-token must be") && !said.contains("sesame"), "{said}");
    let said = rejection(folder.path(), &["--trusted-hops", "0"]).await;
    assert_eq!(said, "svctrack: trusted-hops must be at least 1\n");
    fs::write(folder.path().join("svctrack.toml"), "colour = 'red'").unwrap();
    let mut command = command(folder.path());
    let output = command.arg("serve").stdout(Stdio::null()).output().await.unwrap();
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("line 1: there is no setting `colour`")
    );
    assert_eq!(output.status.code(), Some(1));
}

#[tokio::test]
async fn the_configuration_in_force_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "cache-mb = 64\nlisten = \"127.0.0.1:1\"\nstore = \"memory\"\n";
    fs::write(folder.path().join("svctrack.toml"), lines).unwrap();
    let mut command = command(folder.path());
    command
        .args(["serve", "--print-config", "--listen", "127.0.0.1:2"])
        .env("SVCTRACK_LOG", "warn");
    let output = command.output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said,
        r#"data = "./svctrack-data"  # default
cache-mb = 64  # file svctrack.toml
store = "memory"  # file svctrack.toml
listen = "127.0.0.1:2"  # flag --listen
# public-url: not set  # default
script-path = "/svctrack.js"  # default
tracking-prefix = "/analytics"  # default
# tls-cert: not set  # default
# tls-key: not set  # default
# trusted-proxies: not set  # default
# trusted-hops: not set  # default
client-address-from = "x-forwarded-for"  # default
routes = ["tracking", "api", "pages", "docs", "demo"]  # default
rate-limit = 150  # default
tracking-rate-limit = 0  # default
tracking-daily-mb = 1024  # default
# backup-every: not set  # default
# backup-to: not set  # default
backup-keep = 7  # default
log = "warn"  # environment SVCTRACK_LOG
log-format = "text"  # default
log-requests = "failed"  # default
log-slow-ms = 1000  # default
admin-listen = "127.0.0.1:9090"  # default
# bootstrap-tenant: not set  # default
# bootstrap-token: not set  # default
# bootstrap-token-file: not set  # default
# bootstrap-operator-token: not set  # default
# bootstrap-operator-token-file: not set  # default
"#
    );
    let output = command.arg("--json").output().await.unwrap();
    let settings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(settings["listen"], json!({"value": "127.0.0.1:2", "source": "flag --listen"}));
    assert_eq!(settings["public-url"], json!({"value": null, "source": "default"}));
}

#[tokio::test]
async fn a_variable_that_is_no_setting_is_named_with_the_one_that_may_be_meant() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    command.args(["serve", "--print-config"]);
    command.env("SVCTRACK_LISTN", "127.0.0.1:1").env("SVCTRACK_COLOUR", "red");
    command.env("SVCTRACK_PUBLIC_URL", "https://a.example").env("SVCTRACK_BUNDLE", "skip");
    command.env("SVCTRACK_LISTEN", "").env("SVCTRACK_CACHE_MB", "");
    command.env("SVCTRACK_SERVICE_HOST", "10.0.0.1").env("SVCTRACK_PORT", "tcp://10.0.0.1:80");
    let output = command.output().await.unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "svctrack: `SVCTRACK_COLOUR` in the environment is not a setting and is ignored\n\
         svctrack: `SVCTRACK_LISTN` in the environment is not a setting and is ignored; did you mean `SVCTRACK_LISTEN`?\n"
    );
    fs::write(folder.path().join("svctrack.toml"), "listen = 8080\n").unwrap();
    let mut command = process::command(folder.path());
    let output = command.args(["serve", "--print-config"]).output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("listen = \"127.0.0.1:8080\""), "{said}");
}

#[tokio::test]
async fn the_first_start_alone_reads_its_token_from_a_file_that_the_configuration_names() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let secret = folder.path().join("token");
    fs::write(&secret, format!("{}\n", token.reveal())).unwrap();
    let flags = ["--bootstrap-tenant", TENANT, "--bootstrap-token-file", secret.to_str().unwrap()];
    let mut command = command(folder.path());
    let output = command.arg("serve").args(flags).arg("--print-config").output().await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let of_file = format!("# bootstrap-token-file: {}  # flag", secret.display());
    assert!(said.contains(&of_file) && !said.contains(token.reveal()), "{said}");
    let (server, _) = Server::start_first(folder.path(), &flags).await;
    let client = Client::new(&server.base, Some(token.reveal()));
    assert_eq!(client.get("/companies").await.status, 200);
    server.stop().await;

    fs::remove_file(&secret).unwrap();
    let (server, _) = Server::start_first(folder.path(), &flags).await;
    let client = Client::new(&server.base, Some(token.reveal()));
    assert_eq!(client.get("/companies").await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_reported_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("file"), "once upon a time\n").unwrap();
    let (file, nowhere, data) = (path("file"), path("nowhere/x"), path("data"));
    for (arguments, expect) in [
        (&["serve", "--listen", "127.0.0.1:0", "--data", text(&file)][..], "is not a directory: "),
        (&["serve", "--cache-mb", "abc"], "'--cache-mb <MIB>': expected a whole number"),
        (&["serve", "--trusted-hops", "300"], "the number is too large"),
        (&["backup", "--to", text(&nowhere)], "nowhere`: create it, or name another with --to"),
        (&["restore", "--from", text(&file), "--data", text(&data)], "file`: the backup cannot"),
        (&["restore", "--from", text(&file), "--data", text(&data)], "it is not a svctrack backup"),
    ] {
        let (code, said) = run(folder.path(), arguments).await;
        assert!(code != Some(0) && said.contains(expect), "{arguments:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_does_not_stop_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (token, log) = (Token::generate().unwrap(), folder.path().join("log"));
    let written = File::create(&log).unwrap();
    let server = Server::start_with_log(folder.path(), &token, &[], written).await;
    let started = Instant::now();
    server.signal("HUP");
    while !fs::read_to_string(&log).unwrap().contains("SIGHUP ignored") {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.client.get("/companies").await.status, 200);
    server.stop().await;
}
