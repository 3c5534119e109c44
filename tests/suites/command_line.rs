//! The command line: every command has help whose examples run, whatever prints has JSON, and a flag without effect is
//! rejected.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    help::{self, Help},
    process::{PATIENCE, Server, binary, command},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use crate::startup::FILE;

/// What the examples name.
const SHOWN_BASE: &str = "http://127.0.0.1:8080";
const SHOWN_TENANT: &str = "8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11";
const SHOWN_TOKEN: &str = "P0ah3R3E";
const SHOWN_FOLDER: &str = "/etc/bash_completion.d";

/// A running server, and what an example finds in its folder: the store of a stopped one, a backup, an export and a
/// table.
struct Machine {
    server: Server,
    token: Token,
    operator: Token,
    store: Vec<u8>,
    backup: Vec<u8>,
    companies: Vec<u8>,
}

impl Machine {
    async fn prepare(folder: &Path) -> Self {
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let [running, stopped] = ["running", "stopped"].map(|name| folder.join(name));
        for data in [&running, &stopped] {
            fs::create_dir(data).unwrap();
        }
        Server::start_with_acme(&stopped, &token).await.stop().await;
        run(folder, &["backup", "--data", "stopped", "--to", "backup"]).await;
        run(folder, &["export", "--data", "stopped", "--to", "export"]).await;
        let read = |path: &str| fs::read(folder.join(path)).unwrap();
        Self {
            store: read(&format!("stopped/{FILE}")),
            backup: read("backup"),
            companies: read("export/companies.ndjson"),
            server: Server::start_with_operator(&running, &token, &operator, &[]).await,
            token,
            operator,
        }
    }

    /// Runs an example in a folder of its own.
    async fn run(&self, example: &str) -> Output {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write(&format!("svctrack-data/{FILE}"), &self.store);
        write("companies.csv", b"Company name,externalId\nGlobex,globex\n");
        match example.split(' ').nth(1) {
            Some("restore" | "verify") => {
                write("before-upgrade.backup.gz", &self.backup);
                let scheduled = "svctrack-2026-11-20T12-00-00.000Z.backup.gz";
                write(&format!("svctrack-data/backups/{scheduled}"), &self.backup);
            }
            Some("import") => write("export/companies.ndjson", &self.companies),
            // The last tenant cannot be deleted.
            Some("tenant") => drop(run(folder.path(), &["tenant", "create", "--name", "b"]).await),
            // Nor can the last token with `admin` be revoked.
            Some("token") => drop(run(folder.path(), &["token", "create", "--label", "b"]).await),
            _ => {}
        }
        let id = self.token.reveal().trim_start_matches("svt_");
        let mut line = example
            .replace(SHOWN_BASE, &self.server.base)
            .replace(SHOWN_TENANT, TENANT)
            .replace(SHOWN_TOKEN, &id[..SHOWN_TOKEN.len()])
            .replace(SHOWN_FOLDER, ".");
        if line.starts_with("svctrack serve ") {
            line.push_str(" --print-config");
        }
        if line.starts_with("svctrack tail ") {
            line.push_str(" --no-follow");
        }
        let path = std::env::var("PATH").unwrap();
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-euc", &line]).current_dir(folder.path());
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
            shell.env_remove(name);
        }
        shell
            .env("PATH", format!("{}:{path}", binary().parent().unwrap().display()))
            .env("TOKEN", self.token.reveal())
            .env("OPERATOR", self.operator.reveal());
        shell.output().await.unwrap()
    }
}

fn is_setting(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("SVCTRACK_")
}

/// What a command prints that succeeds.
pub(crate) async fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder).args(arguments).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_each_command_run() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::prepare(folder.path()).await;
    let mut examples = 0;
    for help in help::all() {
        assert!(!help.examples().is_empty(), "{} has no example", help.command);
        for example in help.examples() {
            assert!(example.starts_with(&help.command), "{}: {example}", help.command);
            let output = machine.run(example).await;
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example}\n{said}");
            examples += 1;
        }
    }
    assert!(examples >= 40, "{examples} examples");
    machine.server.stop().await;
}

/// How long the line of a command may be, in characters: with the longest name before it, a terminal of 100 columns
/// shows it whole.
const MAX_ABOUT_CHARS: usize = 85;
/// How long the details of a command may be, in characters: 12 lines of 80.
const MAX_DETAILS_CHARS: usize = 960;

#[test]
fn each_command_is_described_in_a_line_and_in_short_details() {
    let commands = help::all();
    assert!(commands.len() >= 24, "{} commands", commands.len());
    for help in &commands {
        let (about, details) = (help.about(), help.details());
        let length = about.chars().count();
        assert!((10..=MAX_ABOUT_CHARS).contains(&length), "{}: {about}", help.command);
        let shown = details.join("\n");
        let length = shown.chars().count();
        assert!((40..=MAX_DETAILS_CHARS).contains(&length), "{}: {shown}", help.command);
        assert!(shown.ends_with('.') && !about.ends_with('.'), "{}: {shown}", help.command);
    }
}

#[test]
fn every_command_that_prints_a_result_prints_json() {
    // A configuration is TOML, and completions are a script.
    const OTHERS: [&str; 2] = ["svctrack serve", "svctrack completions"];
    let commands = help::all();
    let ends = commands.iter().filter(|help| !help.is_group && !OTHERS.contains(&&*help.command));
    let without: Vec<&str> = ends
        .filter(|help: &&Help| !help.text.contains("--json"))
        .map(|help| &*help.command)
        .collect();
    assert!(commands.len() > OTHERS.len() && without.is_empty(), "{without:?}");
}

#[tokio::test]
async fn a_generated_token_and_a_written_package_are_json_where_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let json = async |arguments: &[&str]| -> Value {
        serde_json::from_str(&run(folder.path(), arguments).await).unwrap()
    };
    let generated = json(&["token", "generate", "--json"]).await;
    assert!(Token::parse(generated["token"].as_str().unwrap()).is_some(), "{generated}");
    let written = json(&["script", "--npm", "package", "--json"]).await;
    let path = Path::new(written["path"].as_str().unwrap());
    assert!(path.is_absolute() && path.join("package.json").exists(), "{written}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_an_exit_code() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let health = async |arguments: &[&str]| {
        let mut command = command(folder.path());
        let output = command.arg("health").args(arguments).output().await.unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), said)
    };
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let of_folder = ["--data", data.to_str().unwrap()];
    let server = Server::start(&data, &token).await;
    let ok = (Some(0), "ok\n".to_owned());
    assert_eq!(health(&of_folder).await, ok);
    assert_eq!(health(&["--server", &server.base]).await, ok);
    let (code, said) = health(&["--json", "--server", &server.base]).await;
    let shown: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, shown), (Some(0), server.client.get("/health").await.json()));
    server.stop().await;
    let (code, said) = health(&of_folder).await;
    assert!(code == Some(1) && said.contains("no running server was found in"), "{said}");

    for (body, expect) in [
        (r#"{"status":"read_only"}"#, "read_only\n"),
        ("<p>503</p>", "is not svctrack; it responded with 503"),
        ("", "did not respond within 5 seconds"),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = format!("http://{}", listener.local_addr().unwrap());
        let responds = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let _ = connection.read(&mut [0; 1024]).await.unwrap();
            let head = format!("HTTP/1.1 503 No\r\ncontent-length: {}\r\n\r\n", body.len());
            if !body.is_empty() {
                connection.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
            tokio::time::sleep(PATIENCE).await;
        });
        let (code, said) = health(&["--server", &other]).await;
        assert!(code == Some(1) && said.contains(expect), "{said}");
        responds.abort();
    }
}

#[tokio::test]
async fn a_flag_without_effect_is_rejected_and_a_variable_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = "http://127.0.0.1:1";
    let check = async |arguments: &[&str], variables: &[(&str, &str)], expect: &str| {
        let mut command = command(folder.path());
        command.args(arguments).envs(variables.iter().copied());
        let output = command.output().await.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(expect), "{arguments:?}: {said}");
    };
    let both = "`--data` has no effect with `--server`";
    let list = ["tenant", "list", "--token", "t"];
    check(&[&list[..], &["--server", nobody, "--data", "d"]].concat(), &[], both).await;
    check(&["script", "--server", nobody, "--data", "d"], &[], both).await;
    check(&["script", "--server", nobody, "--listen", "1"], &[], "`--listen` has no effect").await;
    check(&["script", "--npm", "p", "--data", "d"], &[], "no effect with `--npm`").await;
    check(&list, &[], "`--token` has no effect without `--server`").await;
    let of_operator = ["token", "create", "--label", "x", "--operator", "--user", "extid-x"];
    check(&of_operator, &[], "`--user` has no effect with `--operator`").await;
    let of_token =
        ["token", "create", "--label", "x", "--operator", "--server", nobody, "--token", "t"];
    let decided = "`--operator` has no effect with `--server`: the token decides";
    check(&of_token, &[], decided).await;
    let server = [("SVCTRACK_SERVER", nobody)];
    let by_variable = format!("{both}, which the environment sets");
    check(&[&list[..], &["--data", "d"]].concat(), &server, &by_variable).await;
    let data = [("SVCTRACK_DATA", "d"), ("SVCTRACK_TOKEN", "t")];
    check(&["tenant", "list", "--server", nobody], &data, "cannot be reached").await;
    check(&["tenant", "list"], &data, "there is no store in `d`").await;
}

#[tokio::test]
async fn a_flag_of_the_server_without_effect_is_rejected_and_a_lone_directory_of_backups_is_named()
{
    let folder = tempfile::tempdir().unwrap();
    let said = async |line: &str, variables: &[(&str, &str)]| {
        let mut command = command(folder.path());
        command.args(line.split(' ')).envs(variables.iter().copied());
        let output = timeout(PATIENCE, command.output()).await.unwrap().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let none = &[][..];
    let in_memory = &[("SVCTRACK_STORE", "memory")][..];
    let scheduled = &[("SVCTRACK_BACKUP_EVERY", "1day")][..];
    for (line, variables, expect) in [
        ("serve --store memory --data d", none, "`--data` has no effect with `--store memory`"),
        ("--store memory --cache-mb 8", none, "`--cache-mb` has no effect with `--store memory`"),
        ("serve --data d", in_memory, "`--data` has no effect with `--store memory`"),
        ("--backup-to b", none, "`--backup-to` has no effect without `--backup-every`"),
        ("serve --backup-keep 2", none, "`--backup-keep` has no effect without `--backup-every`"),
    ] {
        let (code, said) = said(line, variables).await;
        assert!(code == Some(2) && said.contains(expect), "{line}: {said}");
    }
    let has_effect = async |line: &str, variables: &[(&str, &str)]| {
        let mut command = command(folder.path());
        command.args(line.split(' ')).arg("--print-config").envs(variables.iter().copied());
        let output = command.output().await.unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
    };
    has_effect("--backup-to b --backup-keep 2", scheduled).await;
    has_effect("--data d --store memory", scheduled).await;
    has_effect("serve", &[("SVCTRACK_STORE", "memory"), ("SVCTRACK_DATA", "d")]).await;

    let mut command = command(folder.path());
    let serve = command.args(["--listen", "192.0.2.1:1"]).env("SVCTRACK_BACKUP_TO", "b");
    let said = String::from_utf8(serve.output().await.unwrap().stderr).unwrap();
    assert!(said.contains("`backup-to` is set without `backup-every`: no backup"), "{said}");
}
