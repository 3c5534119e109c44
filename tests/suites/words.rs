//! The words of what people read: a term of `tests/words.txt` fails with the word that the field has for it. What is
//! read is a list of [`Text`]s: the docs, the help of each command, and the log.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use svctrack_tests::{
    docs::pages,
    help::{self, Help},
    project,
};

/// A text that people read, with where it is from.
struct Text {
    place: String,
    words: String,
}

/// A term, with what to say, and the phrases in which it is right.
struct Term {
    words: Vec<String>,
    /// Whether its last word may go on.
    is_open: bool,
    say: String,
    phrases: Vec<String>,
}

/// Files that people read besides the pages of the docs.
const FURTHER: [&str; 3] = ["core/README.md", "web/README.md", "web/npm/README.md"];

/// Pages whose words are those of the contract, or name what the wire has.
const LEFT_OUT: [&str; 1] = ["tests/bench.md"];

/// All that is read, line by line.
fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    let further = FURTHER.map(|file| (file, fs::read_to_string(project().join(file)).unwrap()));
    for (file, text) in pages().chain(further).filter(|(file, _)| !LEFT_OUT.contains(file)) {
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= line.starts_with("```");
            if !is_code {
                texts.push(Text { place: format!("{file}:{}", index + 1), words: prose(line) });
            }
        }
    }
    let logs: Vec<Text> = ["server/src", "server/store/src"]
        .iter()
        .flat_map(|folder| sources(&project().join(folder)))
        .flat_map(|file| log_of(&file))
        .collect();
    assert!(logs.len() >= 40, "{} texts of the log", logs.len());
    let help: Vec<Text> = help::all().iter().flat_map(help_of).collect();
    assert!(help.iter().any(|text| text.place == "svctrack token rotate --help"));
    texts.extend(logs);
    texts.extend(help);
    texts
}

/// The help of a command, line by line.
fn help_of(help: &Help) -> Vec<Text> {
    let place = format!("{} --help", help.command);
    help.text.lines().map(|line| Text { place: place.clone(), words: prose(line) }).collect()
}

/// The files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// The texts of the log: what the macros of `tracing` are given.
fn log_of(file: &Path) -> Vec<Text> {
    let tokens: TokenStream = fs::read_to_string(file).unwrap().parse().unwrap();
    let mut texts = Vec::new();
    read_log(tokens, &mut |words| texts.push(Text { place: file.display().to_string(), words }));
    texts
}

fn read_log(tokens: TokenStream, take: &mut impl FnMut(String)) {
    let mut since_tracing = usize::MAX;
    for token in tokens {
        since_tracing = since_tracing.saturating_add(1);
        match token {
            TokenTree::Ident(ident) if ident == "tracing" => since_tracing = 0,
            // tracing :: warn ! (...)
            TokenTree::Group(group) if since_tracing == 5 => {
                let literals = group.stream().into_iter().filter_map(|token| match token {
                    TokenTree::Literal(literal) => Some(literal.to_string()),
                    _ => None,
                });
                literals.for_each(|text| take(prose(&text)));
            }
            TokenTree::Group(group) => read_log(group.stream(), take),
            _ => {}
        }
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
            terms.push(Term { words, is_open, say: say.to_owned(), phrases: Vec::new() });
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

/// What is wrong with texts: where, which term, and what to say.
fn found(texts: &[Text]) -> Vec<String> {
    let terms = terms();
    let all = texts.iter().flat_map(|text| terms.iter().map(move |term| (text, term)));
    let wrong = all.filter(|(text, term)| term.is_in(&text.words));
    wrong
        .map(|(text, term)| format!("{}: `{}`: say {}", text.place, term.words.join(" "), term.say))
        .collect()
}

#[test]
fn what_people_read_has_the_words_of_the_field() {
    let found = found(&texts());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_term_is_found_with_its_endings_and_not_in_its_phrases() {
    let check = |words: &str| {
        let text = Text { place: "here".to_owned(), words: prose(words) };
        found(&[text])
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
