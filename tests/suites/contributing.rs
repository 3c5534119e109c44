//! The diffs of `tests/contributing.md` are what a contributor would write: applied to a copy of the project they
//! build, and the cases that they bring pass on the server that comes of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use svctrack_server::auth::Token;
use svctrack_tests::{
    case::{Case, CaseResponse, Step},
    client::Client,
    docs::{blocks, read},
    process::{Server, cargo},
    project,
};

use crate::coverage::{self, described_routes, without_case};

/// What the binary of the copy is called, so that it does not replace the one that is tested.
const BINARY: &str = "svctrack-contributed";

/// Files of the copy that are not those of the project: its binary has another name, and its packages another version,
/// or cargo would take what is built of one for what is built of the other in the target folder that they share.
const OWN: [&str; 3] = ["Cargo.toml", "Cargo.lock", "server/Cargo.toml"];
const VERSION: &str = "0.0.0-contributed";

/// A file of [`OWN`] as it is in the copy.
fn own(text: &str) -> String {
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    let mut written = String::new();
    let mut is_ours = true;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            is_ours = name.starts_with("\"svctrack");
        }
        let line = match line {
            "name = \"svctrack\"" => format!("name = \"{BINARY}\""),
            // A package's own version, or the one that another package needs of it.
            line if is_ours && (line == version || line.starts_with("svctrack-")) => {
                line.replace(&version, &format!("version = \"{VERSION}\""))
            }
            line => line.to_owned(),
        };
        written.push_str(&line);
        written.push('\n');
    }
    assert_ne!(written, text, "it is as it was");
    written
}

/// The paths of a diff after `mark`.
fn paths<'a>(diff: &'a str, mark: &str) -> Vec<&'a str> {
    diff.lines().filter_map(|line| line.strip_prefix(mark)).collect()
}

/// Writes a file of the copy, unless it is so already: what is built of it then need not be built again.
fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Removes files of a folder of the copy that it is not to have: those of an earlier run that were renamed since.
fn remove_others(copy: &Path, folder: &str, is_known: &dyn Fn(&str) -> bool) {
    for entry in fs::read_dir(copy.join(folder)).into_iter().flatten() {
        let entry = entry.unwrap();
        let path = format!("{folder}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => remove_others(copy, &format!("{path}/"), is_known),
            false if is_known(&path) => {}
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The files of the project, those that are not committed yet included.
fn files() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(project());
    let listed = String::from_utf8(run(&mut git).stdout).unwrap();
    let all = listed.lines().filter(|file| project().join(file).is_file());
    all.map(str::to_owned).collect()
}

/// The files that the diffs change, as they are after it.
fn changed(diffs: &[String]) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let (mut all, mut misfits) = (Vec::new(), Vec::new());
    for diff in diffs {
        for path in paths(diff, "--- a/") {
            write(&folder.path().join(path), &fs::read(project().join(path)).unwrap());
        }
        fs::write(folder.path().join("diff"), diff).unwrap();
        let mut git = Command::new("git");
        let applied = git.args(["apply", "diff"]).current_dir(folder.path()).output().unwrap();
        if !applied.status.success() {
            misfits.push(String::from_utf8(applied.stderr).unwrap());
            continue;
        }
        let paths = paths(diff, "+++ b/").into_iter();
        all.extend(
            paths.map(|path| (path.to_owned(), fs::read(folder.path().join(path)).unwrap())),
        );
    }
    let said =
        "diffs of tests/contributing.md do not fit; write the lines around them as they are now";
    assert!(misfits.is_empty(), "{said}:\n{}", misfits.concat());
    all
}

/// Builds the server of a copy with these files changed.
fn build(changed: &[(String, Vec<u8>)]) -> PathBuf {
    let target = project().join("target");
    let copy = target.join("contributed");
    let files = files();
    let is_known = |file: &str| {
        files.iter().any(|known| known == file) || changed.iter().any(|(path, _)| path == file)
    };
    remove_others(&copy, "", &is_known);
    for file in files.iter().filter(|file| !changed.iter().any(|(path, _)| path == *file)) {
        let mut bytes = fs::read(project().join(file)).unwrap();
        if OWN.contains(&file.as_str()) {
            bytes = own(&String::from_utf8(bytes).unwrap()).into_bytes();
        }
        write(&copy.join(file), &bytes);
    }
    changed.iter().for_each(|(file, bytes)| write(&copy.join(file), bytes));
    let mut cargo = cargo();
    cargo.args(["build", "--package", "svctrack-server", "--target-dir"]).arg(&target);
    run(cargo.current_dir(&copy).env("SVCTRACK_BUNDLE", "skip"));
    target.join("debug").join(BINARY)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_diffs_of_the_docs_build_and_their_cases_pass() {
    let page = read("tests/contributing.md");
    let diffs = blocks(&page).into_iter().filter(|block| block.language == "diff");
    let diffs: Vec<_> = diffs.map(|block| block.text).collect();
    assert_eq!(diffs.len(), 3);
    let changed = changed(&diffs);
    let binary = build(&changed);
    let has_case = |diff: &String| paths(diff, "+++ b/").iter().any(|path| is_case(path));
    assert!(diffs.iter().all(has_case), "each diff has its case");
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_binary(&binary, folder.path(), &token).await;
    let cases = changed.into_iter().filter(|(path, _)| is_case(path));
    let read = |(name, bytes): (String, Vec<u8>)| Case {
        name,
        says: serde_json::from_slice(&bytes).unwrap(),
    };
    let cases: Vec<Case> = cases.map(read).collect();
    for case in &cases {
        let runtime = tokio::runtime::Handle::current();
        let came_out = tokio::task::block_in_place(|| {
            case.run(|step| runtime.block_on(send(&server, &token, step)))
        });
        assert_eq!(came_out, Ok(()));
    }
    check_coverage(&server, cases).await;
}

fn is_case(path: &str) -> bool {
    path.starts_with("tests/cases/")
}

/// Checks that the cases which the diffs bring are all that `coverage::` asks for.
async fn check_coverage(server: &Server, brought: Vec<Case>) {
    let description = server.client.get("/openapi.json").await.json();
    let cases: Vec<Case> = Case::all().into_iter().chain(brought).collect();
    let mut routes = described_routes(&description);
    routes.retain(|route| !coverage::has_case(&cases, route));
    let partner = description["components"]["schemas"]["Partner"]["properties"].as_object();
    let fields = partner.unwrap().keys().map(String::as_str);
    let fields = without_case(&cases, "partners", fields);
    assert!(routes.is_empty() && fields.is_empty(), "no case for {routes:?} {fields:?}");
}

async fn send(server: &Server, token: &Token, step: &Step) -> CaseResponse {
    let token = (!step.is_anonymous()).then_some(token.reveal());
    let client = Client::new(&server.base, token);
    let method = step.method().parse().unwrap();
    let response = client.send(method, step.path(), &step.headers(), step.body()).await.unwrap();
    CaseResponse {
        status: response.status.as_u16(),
        headers: Vec::new(),
        text: String::from_utf8(response.body.to_vec()).unwrap(),
    }
}
