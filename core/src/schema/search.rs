//! A case-insensitive search through the texts of records, for `[contains]` and `[prefix]`.

use memchr::{memchr2_iter, memmem::Finder};
use unicase::UniCase;

/// Text to search for in any case (R27, R56). It is prepared once: a list searches it in each of its records.
#[derive(Clone, Debug)]
pub struct Search(Finder<'static>);

impl Search {
    /// Prepares a text for a search.
    pub fn new(text: &str) -> Self {
        Self(Finder::new(folded(text).as_bytes()).into_owned())
    }

    /// Whether a text has the phrase: case is folded as Unicode does, so `STRASSE` is in `Straße`.
    pub fn is_in(&self, text: &str) -> bool {
        match text.is_ascii() {
            // A text that is not ASCII cannot be in one that is, and its bytes have no case.
            true => is_in_ascii(self.0.needle(), text.as_bytes()),
            false => self.0.find(folded(text).as_bytes()).is_some(),
        }
    }

    /// Whether a text begins with the phrase.
    pub fn is_prefix_of(&self, text: &str) -> bool {
        let start = self.0.needle();
        match text.is_ascii() {
            true => text
                .as_bytes()
                .get(..start.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(start)),
            false => folded(text).as_bytes().starts_with(start),
        }
    }
}

/// Whether folded text is in an ASCII text, which is not copied for it: a list searches many thousands.
fn is_in_ascii(needle: &[u8], text: &[u8]) -> bool {
    let Some(first) = needle.first() else { return true };
    let starts = memchr2_iter(*first, first.to_ascii_uppercase(), text);
    starts
        .filter_map(|at| text.get(at..at + needle.len()))
        .any(|found| found.eq_ignore_ascii_case(needle))
}

fn folded(text: &str) -> String {
    UniCase::new(text).to_folded_case()
}

impl PartialEq for Search {
    fn eq(&self, other: &Self) -> bool {
        self.0.needle() == other.0.needle()
    }
}

impl Eq for Search {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_and_begins_in_any_case() {
        let long = format!("{}ADA", "x".repeat(600));
        for (search, text, is_in, begins) in [
            ("", "", true, true),
            ("", "Ada", true, true),
            ("ADA", "is ada in?", true, false),
            ("ada", "ADA Lovelace", true, true),
            ("ada", "Ad", false, false),
            ("ärger", "Kein ÄRGER", true, false),
            ("STRASSE", "Lange Straße 1", true, false),
            ("STRASSE", "Straße AG", true, true),
            ("straße", "STRASSE", true, true),
            ("ΣΊΣΥΦΟΣ", "Σίσυφος", true, true),
            ("kelvin", "\u{212a}elvin", true, true),
            ("ada", &long, true, false),
            ("ada", "a da", false, false),
            ("ada", "", false, false),
        ] {
            let found = Search::new(search);
            assert_eq!(
                (found.is_in(text), found.is_prefix_of(text)),
                (is_in, begins),
                "{search}, {text}"
            );
        }
        assert_eq!(Search::new("Ada"), Search::new("ADA"));
        assert_ne!(Search::new("Ada"), Search::new("Ida"));
    }
}
