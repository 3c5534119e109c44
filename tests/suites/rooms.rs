//! The rooms of the store: which may name which. Each uses only those before it, the engine alone knows redb, and none
//! knows of HTTP.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use svctrack_tests::project;

/// The rooms, each with those that it may name.
const ROOMS: [(&str, &[&str]); 5] = [
    ("contract", &[]),
    ("rows", &[]),
    ("rules", &["rows"]),
    ("reads", &["rows", "rules"]),
    ("embedded", &["rows", "rules", "reads"]),
];
/// The room that knows redb.
const ENGINE: &str = "embedded";

/// The files of the store, each with its room.
fn files() -> BTreeMap<PathBuf, &'static str> {
    let store = project().join("server/src/store");
    let mut files = BTreeMap::new();
    let mut folders = vec![store.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let first = path.strip_prefix(&store).unwrap().iter().next().unwrap();
            let room = ROOMS.into_iter().find(|(room, _)| *room == first);
            files.insert(path, room.map_or("contract", |(room, _)| room));
        }
    }
    files
}

/// The text of a file without what is said about it.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
}

/// Paths that begin at the crate, each up to where its statement ends.
fn paths(code: &str) -> impl Iterator<Item = &str> {
    let starts = code.match_indices("crate::").filter_map(|(at, _)| code.get(at..));
    starts.filter_map(|path| path.split([';', '(', '<', '>']).next())
}

#[test]
fn each_room_of_the_store_names_those_before_it_alone() {
    for (path, room) in files() {
        let (_, may) = ROOMS.into_iter().find(|(known, _)| *known == room).unwrap();
        let code = code(&path);
        for named in paths(&code) {
            let other = ROOMS.into_iter().map(|(other, _)| other).find(|other| {
                *other != room && !may.contains(other) && words(named).any(|word| word == *other)
            });
            assert_eq!(other, None, "{}: {named}", path.display());
        }
    }
}

#[test]
fn the_store_names_nothing_of_http_and_its_engine_alone_names_redb() {
    for (path, room) in files() {
        let code = code(&path);
        let of_http = paths(&code).find(|named| {
            named.strip_prefix("crate::").and_then(|rest| words(rest).next()) != Some("store")
        });
        // A visibility is no path.
        assert_eq!(of_http, None, "{}", path.display());
        for known in ["poem", "hyper", "clap", "governor", "redb"] {
            let is_named = words(&code).any(|word| word == known);
            assert!(
                !is_named || (known == "redb" && room == ENGINE),
                "{}: {known}",
                path.display()
            );
        }
    }
}
