//! What the docs say is true: each page's commands are run on a store of their own and print what it shows, its paths
//! exist, and its words are those of the field.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    docs::{Block, blocks, is_shown, pages, read, transcript},
    process::{Server, binary},
    project,
    required_tools::{self, not_tried},
};

/// What begins a command that is not run: it needs another machine, takes long, or is what runs the tests.
const ELSEWHERE: &[&str] = &[
    "cargo build",
    "cargo cyclonedx",
    "cargo deny",
    "cargo install",
    "cargo publish",
    "cargo test",
    "docker ",
    "git ",
    "kubectl ",
    "npm ",
    "server/",
    "sha256sum ",
    "ssh-keygen ",
    "sudo ",
    "tests/",
    "SVCTRACK_BUNDLE",
    "UPDATE=",
];
/// What begins a command that starts the server of the page.
const STARTS: &[&str] = &["cargo run --release", "svctrack serve"];
/// Programs that not every machine has, by the command that needs them.
const TOOLS: &[(&str, &str)] =
    &[("jq ", "jq"), ("node ", "node"), ("rustc ", "rustc"), ("python3 ", "python3")];
/// The address and the tenant that the docs show.
const SHOWN_BASE: &str = "http://127.0.0.1:8080";
const SHOWN_TENANT: &str = "8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11";

/// A page while its commands are run.
struct Run<'a> {
    page: &'a str,
    folder: &'a Path,
    servers: Vec<Server>,
    tenant: String,
    token: String,
    operator: String,
    commands: usize,
}

impl Run<'_> {
    fn base(&self) -> &str {
        &self.servers.last().expect("a server is started first").base
    }

    /// What was printed, as the docs would show it.
    fn as_shown(&self, printed: &str) -> String {
        printed.replace(self.base(), SHOWN_BASE)
    }

    /// Runs a command; a terminal would show what it prints on both ways, in its order.
    fn shell(&self, command: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let own = binary().parent().unwrap().display();
        Command::new("sh")
            .args(["-euc", &format!("exec 2>&1\n{}", command.replace(SHOWN_BASE, self.base()))])
            .current_dir(self.folder)
            .env("PATH", format!("{own}:{path}"))
            .env("BASE", self.base())
            .env("TENANT", &self.tenant)
            .env("TOKEN", &self.token)
            .env("OPERATOR", &self.operator)
            .output()
            .unwrap()
    }

    async fn take(&mut self, line: usize, command: &str, shown: Option<&str>) {
        let place = format!("{}:{line}: {command}", self.page);
        if let Some(start) = STARTS.iter().find(|start| command.starts_with(**start)) {
            let flags: Vec<_> = command.trim_start_matches(start).split_whitespace().collect();
            let (server, printed) = Server::start_first(self.folder, &flags).await;
            self.servers.push(server);
            let after = |mark: &str| {
                let rest = printed.split_once(mark).unwrap().1;
                rest.split_whitespace().next().unwrap().to_owned()
            };
            self.tenant = after("  Tenant ");
            self.token = after("  API token ");
            self.operator = after("  Operator token ");
            let printed = self.as_shown(&printed);
            assert!(
                shown.is_none_or(|shown| is_shown(shown, &printed)),
                "{place}\nprints\n{printed}"
            );
            self.commands += 1;
            return;
        }
        if ELSEWHERE.iter().any(|start| command.starts_with(start)) || self.lacks_a_tool(command) {
            return;
        }
        let output = self.shell(command);
        let printed = self.as_shown(&String::from_utf8_lossy(&output.stdout));
        // A command that shows what it prints may end with an exit code that says something was rejected.
        assert!(
            output.status.success() || shown.is_some(),
            "{place}\nends with {}: {printed}",
            output.status
        );
        if let Some(shown) = shown {
            assert!(is_shown(shown, &printed), "{place}\nprints\n{printed}\nand not\n{shown}");
        }
        self.commands += 1;
    }

    fn lacks_a_tool(&self, command: &str) -> bool {
        let needed = TOOLS.iter().find(|(start, _)| command.starts_with(start));
        let is_missing =
            needed.is_some_and(|(_, tool)| Command::new(tool).arg("--version").output().is_err());
        if is_missing {
            not_tried(required_tools::TOOLS, &format!("{}: {command}", self.page));
        }
        is_missing
    }

    fn write(&self, file: &str, text: &str) {
        let text = text.replace(SHOWN_BASE, self.base()).replace(SHOWN_TENANT, &self.tenant);
        fs::write(self.folder.join(file), text).unwrap();
    }
}

/// Runs the blocks of a page; returns how many commands there were.
async fn run(page: &str, blocks: &[Block]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("server-data");
    fs::create_dir(&data).unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let mut run = Run {
        page,
        folder: folder.path(),
        servers: Vec::new(),
        tenant: TENANT.to_owned(),
        token: token.reveal().to_owned(),
        operator: operator.reveal().to_owned(),
        commands: 0,
    };
    let starts_alone =
        blocks.iter().any(|block| block.text.starts_with(&format!("$ {}", STARTS[0])));
    if !starts_alone {
        run.servers.push(Server::start_with_operator(&data, &token, &operator, &[]).await);
    }
    let mut blocks = blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let is_output =
            |next: &&Block| next.file.is_none() && ["json", "text"].contains(&&*next.language);
        match (&block.file, &*block.language) {
            (Some(file), _) => run.write(file, &block.text),
            (None, "sh") => {
                let shown = blocks.next_if(|next| is_output(next)).map(|shown| &*shown.text);
                run.take(block.line, &block.text, shown).await;
            }
            (None, "console") => {
                for (command, shown) in transcript(&block.text) {
                    run.take(block.line, &command, shown.as_deref()).await;
                }
            }
            _ => {}
        }
    }
    let commands = run.commands;
    for server in run.servers {
        server.kill().await;
    }
    commands
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_each_page_print_what_it_shows() {
    let mut commands = 0;
    for (page, text) in pages() {
        let blocks = blocks(&text);
        let is_run = |block: &Block| ["sh", "console"].contains(&&*block.language);
        if blocks.iter().any(is_run) {
            commands += run(page, &blocks).await;
        }
    }
    assert!(commands >= 60, "{commands} commands");
}

#[test]
fn a_page_is_short_and_the_readme_shorter() {
    for (page, text) in pages() {
        let lines = text.lines().count();
        let most = match page {
            "README.md" => 160,
            "core/docs/specification.md" => usize::MAX,
            _ => 300,
        };
        assert!(lines <= most, "{page} has {lines} lines, and may have {most}");
    }
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = read("README.md");
    assert!(readme.contains("\n$ cargo run --release\n") && readme.contains("\n$ tests/run\n"));
}

#[test]
fn the_table_of_places_points_at_what_exists() {
    let page = read("server/docs/architecture.md");
    let (_, table) = page.split_once("## Where is ...?").expect("the section is there");
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 15, "{} rows", rows.len());
    for path in rows.iter().flat_map(|row| row.split('`').skip(1).step_by(2)) {
        assert!(project().join(path).exists(), "{path}");
    }
}

#[test]
fn the_top_level_has_what_the_design_names() {
    let output = Command::new("git").args(["ls-files"]).current_dir(project()).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let known = [
        "core",
        "svctrack-wasm",
        "web",
        "server",
        "tests",
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
    ];
    for file in listed.lines() {
        let top = file.split('/').next().unwrap();
        assert!(top.starts_with('.') || known.contains(&top), "{file}");
    }
}
