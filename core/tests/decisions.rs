//! Every decision that is cited has its heading in a page `core/docs/decisions*.md`, and every heading is cited in code
//! or tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic: that is how they fail")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Extensions of files in which a decision can be cited.
const CODE: [&str; 4] = ["rs", "js", "json", "toml"];
/// Extensions of files whose numbers must be those of a decision, but do not count as its implementation.
const PAGES: [&str; 1] = ["md"];
/// The first letters of the numbers.
const SERIES: [char; 2] = ['R', 'D'];
/// Folders with files from elsewhere.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Texts of all files with one of these extensions, with their paths.
fn texts(extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders = vec![project()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_left_out = name.starts_with('.') || LEFT_OUT.contains(&name.as_str());
                folders.extend((!is_left_out).then_some(path));
            } else if extensions.contains(&extension.as_str()) {
                let text = fs::read_to_string(&path).unwrap();
                texts.push((path, text));
            }
        }
    }
    texts
}

/// Decisions that a text cites: a letter and a number as a word, such as `R23`.
fn cited(text: &str) -> BTreeSet<&str> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| is_citation(word)).collect()
}

fn is_citation(word: &str) -> bool {
    let Some(number) = word.strip_prefix(SERIES) else { return false };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (1..=2).contains(&number.len()) && !number.starts_with('0')
}

/// The text of all pages of decisions.
fn pages() -> String {
    let files = fs::read_dir(project().join("core/docs")).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("decisions"))
    };
    paths.filter(is_page).map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Numbers of the headings of the pages, each with its number of occurrences.
fn headings() -> BTreeMap<String, usize> {
    let pages = pages();
    let mut headings = BTreeMap::new();
    for line in pages.lines().filter_map(|line| line.strip_prefix("### ")) {
        let number = line.split(' ').next().unwrap();
        assert!(is_citation(number), "a heading begins with its number: {line}");
        *headings.entry(number.to_owned()).or_default() += 1;
    }
    headings
}

#[test]
fn every_number_has_one_heading_and_none_is_left_out() {
    let headings = headings();
    assert!(headings.values().all(|count| *count == 1), "{headings:?}");
    for series in SERIES {
        let last = headings.keys().filter(|number| number.starts_with(series)).count();
        assert!(last > 0, "no heading of {series}");
        for number in 1..=last {
            assert!(headings.contains_key(&format!("{series}{number}")), "{series}{number}");
        }
    }
}

#[test]
fn every_citation_names_a_decision() {
    let headings = headings();
    let mut unknown = Vec::new();
    for (path, text) in texts(&[CODE.as_slice(), &PAGES].concat()) {
        let strange = cited(&text).into_iter().filter(|number| !headings.contains_key(*number));
        unknown.extend(strange.map(|number| format!("{number} in {}", path.display())));
    }
    assert!(unknown.is_empty(), "no heading in core/docs/decisions*.md: {unknown:?}");
}

#[test]
fn every_decision_is_cited_in_code_or_tests() {
    let texts = texts(&CODE);
    let own = Path::new(file!()).file_name().unwrap();
    let others = texts.iter().filter(|(path, _)| path.file_name() != Some(own));
    let cited: BTreeSet<&str> = others.flat_map(|(_, text)| cited(text)).collect();
    let headings = headings();
    let forgotten: Vec<_> =
        headings.keys().filter(|number| !cited.contains(number.as_str())).collect();
    assert!(forgotten.is_empty(), "cited nowhere: {forgotten:?}");
}

#[test]
fn a_citation_is_a_separate_word() {
    let found =
        cited("R1, (R23) R7-R9 and `D4`; not R012, R0, R100, xR5, R6a, R_8, r9, D, #R or Rs");
    assert_eq!(found, BTreeSet::from(["R1", "R23", "R7", "R9", "D4"]));
}
