//! The npm package: what `svctrack script --npm` writes, its types and its calls.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    browser::Browser,
    docs,
    process::{Server, command},
    project,
    required_tools::{self, not_tried},
};
use svctrack_web::npm_package;
use tempfile::TempDir;

use crate::{
    browser::whole_way::{shown, wait_for_activity},
    proxy,
};

/// The compiler that checks the types.
const TYPESCRIPT: &str = "typescript@5.9.3";

/// The package, in a folder `svctrack` of the one that is returned.
async fn package() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    let output = command.args(["script", "--npm", "site/svctrack"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// The types, as they are in the package.
fn types() -> String {
    let package = npm_package();
    let (_, types) = package.into_iter().find(|(name, _)| *name == "index.d.ts").unwrap();
    String::from_utf8(types.into_owned()).unwrap()
}

fn source(path: &str) -> String {
    fs::read_to_string(project().join("web").join(path)).unwrap()
}

/// The names between `before` and `after`, anywhere in a text.
fn names_between(text: &str, before: &str, after: &str) -> BTreeSet<String> {
    let names = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
    names.map(|name| name.trim().to_owned()).collect()
}

/// The names of members in the block that begins with `start`: the text before a mark on each line.
fn members(text: &str, start: &str, marks: &[char]) -> BTreeSet<String> {
    let (_, block) = text.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    let (block, _) = block.split_once("\n}").unwrap();
    let lines = block.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| line.starts_with(char::is_alphabetic));
    lines.map(|line| line.split(marks).next().unwrap().to_owned()).collect()
}

/// The texts of the array that is declared as `name`.
fn array(text: &str, name: &str) -> BTreeSet<String> {
    let (_, array) = text.split_once(&format!("const {name} = [")).unwrap();
    array.split_once(']').unwrap().0.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn types_snippet_module_and_script_have_the_same_calls() {
    let calls = members(&source("script/tracker/main.js"), "const methods = {", &['(', ':']);
    assert!(calls.contains("track") && calls.contains("consent"), "{calls:?}");
    let types = types();
    assert_eq!(names_between(&types, "export function ", "("), calls);
    assert_eq!(names_between(&types, "typeof ", ";"), calls);
    let module = source("npm/index.js");
    assert_eq!(names_between(&module, "export const ", " ="), calls);
    assert_eq!(names_between(&module, "= call('", "'"), calls);
    assert_eq!(names_between(&source("script/snippet.js"), "stub(\"", "\""), calls);
}

#[test]
fn types_docs_and_script_have_the_same_options_and_members() {
    let types = types();
    let options = members(&types, "export interface Options {", &['?']);
    let page = docs::read("web/docs/tracking-script.md");
    let (_, table) = page.split_once("| Option | Meaning |\n|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    assert_eq!(names_between(&["\n", table].concat(), "\n| `", "`"), options);
    let whole = ["call", "consent", "console", "main", "pages"]
        .map(|part| source(&format!("script/tracker/{part}.js")))
        .concat();
    let mut read = names_between(&whole, "options.", "\n");
    read = read
        .iter()
        .map(|rest| rest.split(|c: char| !c.is_alphabetic()).next().unwrap().to_owned())
        .collect();
    assert_eq!(read, options);
    assert_eq!(members(&whole, "const options = {", &['(', ':']), options);

    let identity = members(&types, "export interface Identity {", &['?']);
    assert_eq!(identity, array(&whole, "IDENTITY"));
    let info = members(&types, "export interface EventInfo extends Identity {", &['?']);
    assert_eq!(info, array(&whole, "EVENT_INFO"));
}

#[tokio::test]
async fn the_package_has_all_its_files_and_runs_nothing_when_it_is_installed() {
    let folder = package().await;
    let folder = folder.path().join("site/svctrack");
    let package: Value =
        serde_json::from_slice(&fs::read(folder.join("package.json")).unwrap()).unwrap();
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    for name in ["scripts", "dependencies", "bin"] {
        assert_eq!(package.get(name), None, "{name}");
    }
    for file in package["files"].as_array().unwrap() {
        assert!(fs::metadata(folder.join(file.as_str().unwrap())).unwrap().len() > 0, "{file}");
    }
    assert!(!fs::read_to_string(folder.join("index.js")).unwrap().contains("{{"));
}

#[tokio::test]
async fn a_folder_of_another_package_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = || command(folder.path()).args(["script", "--npm", "."]).output();
    let manifest = folder.path().join("package.json");
    let foreign = r#"{"name": "shop"}"#;
    fs::write(&manifest, foreign).unwrap();
    let rejected = write().await.unwrap();
    let said = String::from_utf8_lossy(&rejected.stderr).into_owned();
    assert!(!rejected.status.success() && said.contains("files of another package"), "{said}");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), foreign);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    fs::remove_file(&manifest).unwrap();
    for _ in 0..2 {
        assert!(write().await.unwrap().status.success(), "our own package is written anew");
    }
}

/// A program that is run where it is installed; none otherwise.
fn run(program: &str, folder: &Path, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).current_dir(folder).output() else {
        not_tried(required_tools::TOOLS, &format!("`{program}` is not installed"));
        return None;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{program}: {said}");
    Some(said)
}

#[tokio::test]
async fn the_module_does_nothing_where_there_is_no_browser() {
    let folder = package().await;
    let code = "import * as s from './site/svctrack/index.js'; \
                s.load('https://a.example/analytics/1'); s.track('One'); console.log(Object.keys(s).length)";
    let Some(said) = run("node", folder.path(), &["--input-type=module", "--eval", code]) else {
        return;
    };
    assert_eq!(said.trim(), "6");
}

#[tokio::test]
async fn the_compiler_takes_right_calls_and_rejects_wrong_ones() {
    let folder = package().await;
    let tools = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("typescript");
    fs::create_dir_all(&tools).unwrap();
    let install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", "."];
    if run("npm", &tools, &[&install[..], &[TYPESCRIPT]].concat()).is_none() {
        return;
    }
    let modules = folder.path().join("node_modules");
    fs::create_dir(&modules).unwrap();
    fs::rename(folder.path().join("site/svctrack"), modules.join("svctrack")).unwrap();
    let of_docs = docs::block_with("web/docs/tracking-script.md", "js", "from \"svctrack\"");
    fs::write(folder.path().join("app.ts"), APP).unwrap();
    fs::write(folder.path().join("docs.ts"), of_docs).unwrap();
    let compiler = tools.join("node_modules/typescript/bin/tsc");
    let flags = [
        "--strict",
        "--noEmit",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "app.ts",
        "docs.ts",
    ];
    run("node", folder.path(), &[&[compiler.to_str().unwrap()], &flags[..]].concat());
}

/// Lines after `@ts-expect-error` must be rejected.
const APP: &str = r#"
import { consent, identify, init, load, reset, track, type Options } from 'svctrack';
const options: Options = { consent: 'pending', pageViews: true, debug: false, onWarning: (line) => line.trim() };
load('https://a.example/analytics/1', options);
init({});
identify(7, { email: 'ada@acme.example', companyExternalId: 'acme' });
identify(null, { email: 'ada@acme.example' });
track('Opened report', { info: { pages: [1, 2] }, weight: 2, passive: true });
track('Opened report', { pages: 3 });
init({ pageViews: 'hash' });
consent('granted');
reset();
window.svctrack.track('From a snippet');
// @ts-expect-error
load();
// @ts-expect-error
init({ consent: 'maybe' });
// @ts-expect-error
init({ pageView: true });
// @ts-expect-error
load('https://a.example/analytics/1', { onwarning: () => {} });
// @ts-expect-error
identify();
// @ts-expect-error
identify(7, { mail: 'ada@acme.example' });
// @ts-expect-error
identify(7, { weight: 2 });
// @ts-expect-error
init({ pageViews: 'path' });
// @ts-expect-error
identify(7, { companyExternalID: 'acme' });
// @ts-expect-error
track('Opened report', { weight: 'much' });
// @ts-expect-error
consent('pending please');
// @ts-expect-error
window.svctrack.follow('x');
"#;

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_page_with_the_module_reach_the_disk() {
    let folder = package().await;
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let server = Server::start_with_acme(&data, &Token::generate().unwrap()).await;
    let demo = json!({"name": "Demo", "externalId": "demo"});
    assert!(server.client.post("/companies", &demo).await.status.is_success());
    // The code of the docs, in a page that no bundler has resolved the name of the package for.
    let code = shown("js", "from \"svctrack\"", &server);
    let code = code.replace("\"svctrack\"", "\"./svctrack/index.js\"");
    let page = format!("<!doctype html><script type=module>{code}</script>");
    fs::write(folder.path().join("site/index.html"), page).unwrap();
    let Some(site) = proxy::start("nginx", folder.path(), "").await else {
        return;
    };
    let browser = Browser::start().await;
    browser.page.goto(&format!("{}/index.html", site.base)).await.unwrap();
    for action in ["Opened report", "Viewed page"] {
        let activity = wait_for_activity(&server, action).await;
        assert_eq!(
            (&activity["externalId"], &activity["companyName"]),
            (&json!("user-1"), &json!("Demo"))
        );
    }
    let loaded =
        browser.run("return performance.getEntriesByType('resource').map(e => e.name)").await;
    assert!(loaded.to_string().contains("/svctrack/svctrack_bg.wasm"), "{loaded}");
    browser.close().await;
    server.kill().await;
}
