//! The rooms of the store and of the rules: which may name which. Each uses only those before it, so that there is no
//! circle; one engine alone knows redb, and none of them knows of HTTP.

use std::{
    fs,
    path::{Path, PathBuf},
};

use svctrack_tests::project;

/// A room, and those that it may name. A room is a folder, or a file next to the folders.
type Room = (&'static str, &'static [&'static str]);

/// The store: files next to the rooms are its contract, which all of them may name.
const STORE: (&str, &[Room]) = (
    "server/store/src",
    &[
        ("rows", &[]),
        ("rules", &["rows"]),
        ("reads", &["rows", "rules"]),
        ("queueing", &["rules", "reads"]),
        ("embedded", &["rows", "rules", "reads", "queueing"]),
        ("memory", &["rows", "rules", "reads", "queueing"]),
    ],
);
const CORE: (&str, &[Room]) = (
    "core/src",
    &[
        ("value", &[]),
        ("schema", &["value"]),
        ("resources", &["value", "schema"]),
        ("plan", &["value", "schema", "resources"]),
        ("tracking", &["value", "schema", "resources", "plan"]),
        ("access", &["value", "schema", "resources"]),
        ("audit", &["value", "schema", "resources"]),
        ("usage", &["value"]),
        ("revenue", &["value", "schema", "resources", "usage"]),
    ],
);
/// The room that knows redb.
const ENGINE: &str = "embedded";

/// The files of a package, each with its room, if it has one.
fn files((source, rooms): (&str, &[Room])) -> Vec<(PathBuf, Option<Room>)> {
    let source = project().join(source);
    let mut files = Vec::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let first = path.strip_prefix(&source).unwrap().iter().next().unwrap();
            let first = Path::new(first).file_stem().unwrap();
            let room = rooms.iter().copied().find(|(room, _)| *room == first);
            files.push((path, room));
        }
    }
    files
}

/// The text of a file without comments, and without its tests, which may name whatever they test it with.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = program.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
}

/// What is named of the crate itself: the first name of every path from its root, of a list each.
fn named(path: &Path, code: &str) -> Vec<String> {
    let below_source = path.iter().rev().take_while(|part| *part != "src").count();
    let above = below_source - usize::from(path.ends_with("mod.rs"));
    let roots = ["crate::".to_owned(), "super::".repeat(above)];
    let rests = roots.iter().flat_map(|root| code.split(root.as_str()).skip(1));
    rests.flat_map(first_names).map(str::to_owned).collect()
}

fn first_names(rest: &str) -> Vec<&str> {
    let Some(list) = rest.strip_prefix('{') else { return words(rest).take(1).collect() };
    let (mut depth, mut names, mut from) = (1, Vec::new(), 0);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && character == ',') {
            names.extend(words(list[from..at].trim()).next());
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    names
}

fn check((source, rooms): (&str, &[Room])) {
    for (at, (room, may)) in rooms.iter().enumerate() {
        let before = |other: &&str| rooms[..at].iter().any(|(known, _)| known == other);
        assert!(may.iter().all(before), "{room} names what comes after it");
    }
    let exports = format!("{source}/lib.rs");
    let mut looked_at = 0;
    for (path, room) in files((source, rooms)) {
        let (own, may) = room.unwrap_or(("contract", &[]));
        for name in named(&path, &code(&path)) {
            looked_at += 1;
            let is_room = rooms.iter().any(|(room, _)| *room == name);
            let is_free = !is_room || name == own || may.contains(&name.as_str());
            assert!(is_free || path.ends_with(&exports), "{} names {name}", path.display());
        }
    }
    assert!(looked_at > 100, "only {looked_at} names in {source}");
}

#[test]
fn each_room_of_the_store_names_those_before_it_alone() {
    check(STORE);
}

#[test]
fn each_room_of_the_rules_names_those_before_it_alone() {
    check(CORE);
}

#[test]
fn one_engine_alone_names_redb() {
    for (path, room) in files(STORE) {
        let is_engine = room.is_some_and(|(room, _)| room == ENGINE);
        let names_redb = words(&code(&path)).any(|word| word == "redb");
        assert!(is_engine || !names_redb, "{}", path.display());
    }
}

#[test]
fn the_store_is_built_without_http() {
    let manifest = fs::read_to_string(project().join("server/store/Cargo.toml")).unwrap();
    for http in ["poem", "hyper", "clap", "governor", "svctrack-server"] {
        let is_named = manifest.lines().any(|line| line.split(['.', ' ']).next() == Some(http));
        assert!(!is_named, "{http}");
    }
    assert!(manifest.contains("redb.workspace"));
}

#[test]
fn no_folder_of_the_engine_is_long_and_no_file_of_the_store() {
    let mut folders = std::collections::BTreeMap::<PathBuf, usize>::new();
    for (path, room) in files(STORE) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
        if room.is_some_and(|(room, _)| room == ENGINE) {
            *folders.entry(path.parent().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(folders.len() > 5 && folders.values().all(|files| *files <= 14), "{folders:?}");
}
