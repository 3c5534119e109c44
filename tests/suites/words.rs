//! The words of what people read: a term of `tests/words.txt` fails with the word that the field has for it. What is
//! read is a list of [`Text`]s: the docs, the help of each command, the messages of errors, of the log and of the
//! browser's console, the comments of the code, and the OpenAPI description. The names of cases and of tests are
//! sentences, too.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;
use svctrack_tests::{docs::pages, process::binary, project};

/// A text that people read, with where it is from.
struct Text {
    place: String,
    words: String,
}

/// A term, with what to say, and the phrases in which it is right.
struct Term {
    words: Vec<String>,
    /// Whether its last word may have any ending.
    is_open: bool,
    /// Whether it is right in all but the names of cases and of tests.
    is_for_names: bool,
    say: String,
    phrases: Vec<String>,
}

/// Files that people read besides the pages of the docs.
const FURTHER: [&str; 3] = ["core/README.md", "web/README.md", "web/npm/README.md"];

/// Folders of sources whose messages people read.
const SOURCES: [&str; 6] = [
    "core/src",
    "server/src",
    "server/store/src",
    "svctrack-wasm/forms/src",
    "svctrack-wasm/src",
    "web/src",
];

/// Folders of sources whose comments are checked.
const COMMENTED: [&str; 5] = ["core", "server", "svctrack-wasm", "tests", "web"];

/// Folders of scripts whose messages people read.
const SCRIPTS: [&str; 2] = ["web/script", "web/static"];

/// Members of the OpenAPI description that are texts.
const TEXTS: [&str; 5] = ["description", "summary", "title", "detail", "message"];

/// All that is read, line by line.
fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let further = FURTHER.map(|file| (file, fs::read_to_string(project().join(file)).unwrap()));
    for (file, text) in pages().chain(further) {
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= line.starts_with("```");
            if !is_code {
                texts.push(Text { place: format!("{file}:{}", index + 1), words: prose(line) });
            }
        }
    }
    let literals: Vec<Text> = SOURCES
        .iter()
        .flat_map(|folder| files(&project().join(folder), "rs"))
        .filter(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs"))
        .flat_map(|file| literals_of(&file))
        .collect();
    assert!(literals.len() >= 800, "{} texts of sources", literals.len());
    let sources = COMMENTED.iter().flat_map(|folder| files(&project().join(folder), "rs"));
    let comments: Vec<Text> = sources.flat_map(|file| comments_of(&file)).collect();
    assert!(comments.len() >= 5_000, "{} comments", comments.len());
    let scripts = SCRIPTS.iter().flat_map(|folder| files(&project().join(folder), "js"));
    let console: Vec<Text> = scripts.flat_map(|file| script_of(&file)).collect();
    assert!(console.len() >= 1_000, "{} lines of scripts", console.len());
    let description = description();
    assert!(description.len() >= 900, "{} texts of the description", description.len());
    let help = help_of(&[]);
    assert!(help.iter().any(|text| text.place == "svctrack token rotate --help"));
    texts.extend([literals, comments, console, description, help].into_iter().flatten());
    texts
}

/// The names of all cases and tests.
fn names() -> Vec<Text> {
    let place = |file: &Path| file.strip_prefix(project()).unwrap().display().to_string();
    let cases: Vec<Text> = files(&project().join("tests/cases"), "json")
        .iter()
        .map(|file| Text {
            place: place(file),
            words: words_of(file.file_stem().unwrap().to_str().unwrap()),
        })
        .collect();
    assert!(cases.len() >= 1_500, "{} cases", cases.len());
    let sources = COMMENTED.iter().flat_map(|folder| files(&project().join(folder), "rs"));
    let tests: Vec<Text> = sources
        .flat_map(|file| {
            let found = tests_of(&fs::read_to_string(&file).unwrap()).into_iter();
            found
                .map(move |(line, words)| Text { place: format!("{}:{line}", place(&file)), words })
        })
        .collect();
    assert!(tests.len() >= 1_000, "{} tests", tests.len());
    [cases, tests].into_iter().flatten().collect()
}

fn words_of(name: &str) -> String {
    name.replace('_', " ")
}

/// The names of the tests of a file of Rust, as words, each with its line.
fn tests_of(source: &str) -> Vec<(usize, String)> {
    let mut is_test = false;
    let mut tests = Vec::new();
    for (index, line) in source.lines().map(str::trim_start).enumerate() {
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
        } else if let Some((_, name)) = line.split_once("fn ").filter(|_| is_test) {
            is_test = false;
            tests.push((index + 1, words_of(name.split('(').next().unwrap())));
        }
    }
    tests
}

/// The help of a command and of those below it, line by line.
fn help_of(command: &[String]) -> Vec<Text> {
    let output = Command::new(binary()).args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    let place = format!("svctrack {} --help", command.join(" "));
    let mut texts: Vec<Text> =
        help.lines().map(|line| Text { place: place.clone(), words: prose(line) }).collect();
    let below = help.split_once("\nCommands:\n").map_or("", |(_, below)| below);
    let names = below.lines().take_while(|line| !line.is_empty());
    // A line that continues another one has no name.
    for name in names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
        if !name.is_empty() && name != "help" {
            texts.extend(help_of(&[command, &[name.to_owned()]].concat()));
        }
    }
    texts
}

/// The files below a folder whose names end like this.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below =
        entries.flat_map(|path| if path.is_dir() { files(&path, ending) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

/// The sentences among the literals of a file of Rust: messages of errors, of the log and of the command line.
fn literals_of(file: &Path) -> Vec<Text> {
    let tokens: TokenStream = fs::read_to_string(file).unwrap().parse().unwrap();
    let mut texts = Vec::new();
    read_literals(tokens, &mut |literal| texts.extend(sentence(file, literal)));
    texts
}

/// Reads the literals outside tests and attributes; of these, only the messages of `thiserror`.
fn read_literals(tokens: TokenStream, take: &mut impl FnMut(&str)) {
    let (mut is_attribute, mut is_test) = (false, false);
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => is_attribute = true,
            TokenTree::Punct(punct) if punct.as_char() == '!' && is_attribute => {}
            TokenTree::Group(group) if is_attribute => {
                is_attribute = false;
                let attribute = group.stream().to_string();
                is_test |= attribute.starts_with("cfg") && attribute.contains("(test)");
                if attribute.starts_with("error") {
                    read_literals(group.stream(), take);
                }
            }
            TokenTree::Group(group) if is_test && group.delimiter() == Delimiter::Brace => {
                is_test = false;
            }
            TokenTree::Group(group) => read_literals(group.stream(), take),
            TokenTree::Literal(literal) => take(&literal.to_string()),
            _ => is_attribute = false,
        }
    }
}

/// A script, line by line: what it logs and shows, and its comments, which the types of the npm package have too.
fn script_of(file: &Path) -> Vec<Text> {
    let script = fs::read_to_string(file).unwrap();
    let place =
        |index| format!("{}:{}", file.strip_prefix(project()).unwrap().display(), index + 1);
    let lines = script.lines().enumerate();
    lines.map(|(index, line)| Text { place: place(index), words: line.to_owned() }).collect()
}

/// The comments of a file of Rust, without their code.
fn comments_of(file: &Path) -> Vec<Text> {
    let source = fs::read_to_string(file).unwrap();
    let name = file.strip_prefix(project()).unwrap().display();
    let found = comments(&source, &["///", "//!", "//"]).into_iter();
    let text = |(line, comment): (_, String)| Text {
        place: format!("{name}:{line}"),
        words: prose(&comment),
    };
    found.map(text).collect()
}

/// A literal, if it is a sentence and no name. What is in braces is filled in.
fn sentence(file: &Path, literal: &str) -> Option<Text> {
    let mut depth = 0;
    let text: String = literal
        .chars()
        .filter(|&char| {
            depth += i32::from(char == '{') - i32::from(char == '}');
            depth == 0 && char != '}'
        })
        .collect();
    let place = format!("{}: {literal}", file.strip_prefix(project()).unwrap().display());
    text.trim().contains(' ').then(|| Text { place, words: prose(&text) })
}

/// The texts of the OpenAPI description, and the messages in its examples.
fn description() -> Vec<Text> {
    let golden = fs::read(project().join("tests/golden/openapi.json")).unwrap();
    let mut texts = Vec::new();
    read_description(&serde_json::from_slice(&golden).unwrap(), "", &mut texts);
    texts
}

fn read_description(value: &Value, place: &str, texts: &mut Vec<Text>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let place = format!("{place}/{name}");
                match value {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => {
                        texts.push(Text {
                            place: format!("openapi.json#{place}"),
                            words: prose(text),
                        });
                    }
                    value => read_description(value, &place, texts),
                }
            }
        }
        Value::Array(values) => {
            values.iter().for_each(|value| read_description(value, place, texts))
        }
        _ => {}
    }
}

/// A line without what is code.
fn prose(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn terms() -> Vec<Term> {
    let list = fs::read_to_string(project().join("tests/words.txt")).unwrap();
    let mut terms: Vec<Term> = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let of_name = line.strip_prefix("name: ");
        let (line, is_for_names) = (of_name.unwrap_or(line), of_name.is_some());
        if let Some((term, phrase)) = line.split_once(" ~ ") {
            let words = split(term.trim_end_matches('*'));
            let known = terms.iter_mut().find(|known| known.words == words);
            known
                .unwrap_or_else(|| panic!("{line}: no such term"))
                .phrases
                .push(phrase.to_lowercase());
        } else {
            let (term, say) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
            let (is_open, words) = (term.ends_with('*'), split(term.trim_end_matches('*')));
            let (say, phrases) = (say.to_owned(), Vec::new());
            terms.push(Term { words, is_open, is_for_names, say, phrases });
        }
    }
    terms
}

fn split(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

impl Term {
    fn is_in(&self, text: &str) -> bool {
        let mut text = text.to_lowercase();
        for phrase in &self.phrases {
            text = text.replace(phrase.as_str(), " ");
        }
        let words = split(&text);
        words.windows(self.words.len()).any(|found| self.fits(found))
    }

    fn fits(&self, found: &[String]) -> bool {
        let Some(((last, before), (found_last, found_before))) =
            self.words.split_last().zip(found.split_last())
        else {
            return false;
        };
        let ends = if self.is_open { found_last.starts_with(last) } else { found_last == last };
        ends && before == found_before
    }
}

/// What is wrong with texts, or with names: where, which term, and what to say.
fn found(texts: &[Text], are_names: bool) -> Vec<String> {
    let mut terms = terms();
    terms.retain(|term| are_names || !term.is_for_names);
    let all = texts.iter().flat_map(|text| terms.iter().map(move |term| (text, term)));
    let wrong = all.filter(|(text, term)| term.is_in(&text.words));
    wrong
        .map(|(text, term)| format!("{}: `{}`: say {}", text.place, term.words.join(" "), term.say))
        .collect()
}

#[test]
fn what_people_read_has_the_words_of_the_field() {
    let found = found(&texts(), false);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_names_of_cases_and_tests_have_the_words_of_the_field() {
    let found = found(&names(), true);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_name_is_read_as_words() {
    let source = "#[test]\n#[should_panic]\nfn a_key_is_stored() {}\nfn keep() {}\n    #[tokio::test(flavor = \"x\")]\n    async fn it_told(a: u8) {}\n#[cfg(test)]\nfn f() {}\n";
    let tests = tests_of(source);
    assert_eq!(tests, [(3, "a key is stored".to_owned()), (6, "it told".to_owned())]);
    let text = |words: &str| [Text { place: "here".to_owned(), words: words.to_owned() }];
    assert_eq!(found(&text(&tests[1].1), true), ["here: `told`: say reported, notified"]);
    assert!(found(&text(&tests[1].1), false).is_empty());
}

#[test]
fn a_term_is_found_with_its_endings_and_not_in_its_phrases() {
    let check = |words: &str| {
        let text = Text { place: "here".to_owned(), words: prose(words) };
        found(&[text], false)
    };
    assert_eq!(check("The call is refused."), ["here: `refus`: say reject"]);
    assert_eq!(
        check("an event goes on"),
        ["here: `goes on`: say is processed, is retried, continues"]
    );
    assert!(check("connection refused, `refused`, a forgoes on, ponder").is_empty());
}

#[test]
fn a_term_is_listed_once() {
    let terms = terms();
    let names: BTreeSet<_> = terms.iter().map(|term| &term.words).collect();
    assert_eq!(names.len(), terms.len());
}

/// Where doc comments are texts of fields and of the command line, which may have few words.
const LABELS: [&str; 4] =
    ["core/src/resources/", "core/src/tracking/event.rs", "server/src/cli", "server/src/main.rs"];

/// The marks of doc comments.
const DOC: [&str; 2] = ["///", "//!"];

/// The comments of a file that begin with one of `marks`, each with its first line.
fn comments(source: &str, marks: &[&str]) -> Vec<(usize, String)> {
    let mut comments: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (index, line) in source.lines().map(str::trim_start).enumerate() {
        let text = marks.iter().find_map(|mark| line.strip_prefix(mark));
        match (text, comments.last_mut()) {
            (Some(text), Some((_, comment))) if is_open => comment.push_str(text),
            (Some(text), _) => comments.push((index + 1, text.to_owned())),
            (None, _) => {}
        }
        is_open = text.is_some();
    }
    comments
}

/// Whether a doc comment has so few words that a name would say as much; what is code in it says more.
fn says_nothing(comment: &str) -> bool {
    comment.split_whitespace().count() <= 3 && !comment.contains(['`', '['])
}

#[test]
fn a_doc_comment_adds_to_a_name() {
    let sources = COMMENTED.iter().flat_map(|folder| files(&project().join(folder), "rs"));
    let mut found = Vec::new();
    for file in sources {
        let name = file.strip_prefix(project()).unwrap().display().to_string();
        if LABELS.iter().any(|label| name.starts_with(label)) {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        let short =
            comments(&source, &DOC).into_iter().filter(|(_, comment)| says_nothing(comment));
        found.extend(short.map(|(line, comment)| format!("{name}:{line}:{comment}")));
    }
    assert!(found.is_empty(), "leave these out, or say more:\n{}", found.join("\n"));
}

#[test]
fn a_comment_is_read_as_a_whole() {
    let source = "/// One\n/// and two.\nfn f() {}\n    /// Its name.\nlet x = 1;\n// Plain.\n";
    let lines = |marks: &[&str]| -> Vec<usize> {
        comments(source, marks).into_iter().map(|(line, _)| line).collect()
    };
    assert_eq!((lines(&DOC), lines(&["///", "//!", "//"])), (vec![1, 4], vec![1, 4, 6]));
    assert!(
        says_nothing(" Its name.") && !says_nothing(" See [`Kind`].") && !says_nothing(" A b c d.")
    );
}

/// The lines of re-exports that documentation shows without a summary: those of a public module, unless they are inlined.
fn without_summary(source: &str) -> Vec<&str> {
    let lines: Vec<&str> = source.lines().collect();
    let places = lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub use "));
    let is_bare = |at: usize| {
        let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        !attributes.into_iter().any(|line| *line == "#[doc(inline)]")
    };
    places.filter(|(at, _)| is_bare(*at)).map(|(_, line)| *line).collect()
}

#[test]
fn what_core_exports_again_is_documented_with_its_summary() {
    let modules = files(&project().join("core/src"), "rs").into_iter();
    let bare = modules.flat_map(|path| {
        let source = fs::read_to_string(&path).unwrap();
        let lines = without_summary(&source).into_iter();
        lines.map(|line| format!("{}: {line}", path.display())).collect::<Vec<_>>()
    });
    let bare: Vec<String> = bare.collect();
    assert!(bare.is_empty(), "add #[doc(inline)]:\n{}", bare.join("\n"));
}
