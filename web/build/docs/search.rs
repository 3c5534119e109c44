//! The index of the search: what each section of a page is called, and the words in it.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{contents::Page, markdown::Rendered};

/// A part of a page, from a heading to the next.
pub(crate) struct Section {
    pub(crate) id: String,
    pub(crate) heading: String,
    pub(crate) level: usize,
    pub(crate) text: String,
}

/// The words of a text, in lower case, each once.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|char: char| !char.is_alphanumeric() && char != '_');
    let words: BTreeSet<&str> = words.filter(|word| word.len() > 1).collect();
    words.into_iter().collect::<Vec<_>>().join(" ")
}

/// The index for the script of the pages: `[[title, page, id, heading, words], ...]`.
pub(crate) fn to_json(rendered: &[(&Page, Rendered)]) -> String {
    let mut json = String::from("[");
    for (page, done) in rendered {
        for section in &done.sections {
            let comma = if json.len() > 1 { ",\n" } else { "" };
            // What Rust escapes in these texts, JSON does too: there is no control character among them.
            let _ = write!(
                json,
                "{comma}[{},{},{},{},{}]",
                quoted(&done.title),
                quoted(page.slug),
                quoted(&section.id),
                quoted(&section.heading),
                quoted(&words(&section.text)),
            );
        }
    }
    json + "]"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The same for the server, as an expression of Rust.
pub(crate) fn to_rust(done: &Rendered) -> String {
    let mut table = String::from("&[");
    for section in &done.sections {
        let _ = write!(
            table,
            "Section {{ id: {:?}, heading: {:?}, words: {:?} }},",
            section.id,
            section.heading,
            words(&section.text),
        );
    }
    table + "]"
}
