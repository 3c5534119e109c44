//! Index of the search: the heading of each section of a page, and its words.

use std::{collections::BTreeSet, fmt::Write as _};

use super::markdown::Rendered;

/// A part of a page, from a heading to the next.
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) heading: String,
    pub(crate) level: usize,
    pub(crate) text: String,
}

/// Words of a text, in lower case, each once.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|char: char| !char.is_alphanumeric() && char != '_');
    let words: BTreeSet<&str> = words.filter(|word| word.len() > 1).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// The sections of a page, as an expression of Rust.
pub(crate) fn to_rust(done: &Rendered) -> String {
    let mut table = String::from("&[");
    for section in &done.sections {
        let _ = write!(
            table,
            "DocSection {{ id: {:?}, heading: {:?}, words: {:?} }},",
            section.id,
            section.heading,
            words(&section.text),
        );
    }
    table + "]"
}
