//! What the README says is true: its commands do what it shows, and its table points at what is there.

use std::{fs, process::Command};

use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, process::Server, project};

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).unwrap()
}

#[test]
fn the_table_of_places_points_at_what_is_there() {
    let readme = readme();
    let table = readme.split_once("## Where is ...?").expect("the section is there").1;
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 15, "{} rows", rows.len());
    for row in rows {
        let paths: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        assert!(!paths.is_empty(), "{row}");
        for path in paths {
            assert!(project().join(path).exists(), "{path}: {row}");
        }
    }
}

#[test]
fn every_file_of_the_top_level_is_one_that_the_readme_or_the_design_names() {
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

/// Every block marked `sh` that begins with `curl` is run, in order, and must answer what the block
/// marked `json` or `text` after it shows. `<...>` in what is shown stands for anything.
#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_readme_answer_what_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let operator = Token::generate().unwrap();
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let readme = readme();
    let mut blocks = readme.split("\n```").skip(1).step_by(2);
    let mut ran = 0;
    while let Some(block) = blocks.next() {
        let Some(command) = block.strip_prefix("sh\n").filter(|block| block.contains("curl"))
        else {
            continue;
        };
        let shown = blocks.next().unwrap_or_else(|| panic!("no answer is shown for {command}"));
        let shown = shown.split_once('\n').unwrap().1;
        let run = Command::new("sh")
            .args(["-euc", command])
            .env("BASE", &server.base)
            .env("TENANT", TENANT)
            .env("TOKEN", token.reveal())
            .env("OPERATOR", operator.reveal())
            .output()
            .unwrap();
        let answered = String::from_utf8(run.stdout).unwrap();
        assert!(matches(shown, &answered), "{command}\nanswers\n{answered}\nand not\n{shown}");
        ran += 1;
    }
    assert!(ran >= 6, "{ran} commands");
    server.kill().await;
}

/// Whether `text` is `pattern`, where `<...>` in it stands for anything and blanks do not count.
fn matches(pattern: &str, text: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let (pattern, text) = (squeeze(pattern), squeeze(text));
    let mut parts = pattern.split("<...>");
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut ends_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        ends_open = part.is_empty();
    }
    rest.is_empty() || ends_open
}

#[test]
fn a_shown_answer_matches_only_its_like() {
    assert!(matches(r#"{"_id": "<...>", "n": 1}"#, r#"{"_id":"5f","n":1}"#));
    assert!(!matches(r#"{"_id": "<...>", "n": 1}"#, r#"{"_id":"5f","n":2}"#));
    assert!(!matches("OK", "OK!") && matches("<...>", "x") && !matches("", "x"));
}
