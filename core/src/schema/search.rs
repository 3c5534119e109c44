//! A search through the texts of records.

use memchr::{memchr, memmem::Finder};
use unicase::UniCase;

/// Text that is looked for in any case (R27, R56). It is prepared once: a list looks for it in each of its records.
#[derive(Clone, Debug)]
pub struct Search(Finder<'static>);

impl Search {
    /// Looks for a text.
    pub fn of(text: &str) -> Self {
        Self(Finder::new(folded(text).as_bytes()).into_owned())
    }

    /// Whether it stands in a text: case is folded as Unicode does, so `STRASSE` is in `Straße`.
    pub fn is_in(&self, text: &str) -> bool {
        if text.is_ascii() {
            return self.0.find(&text.as_bytes().to_ascii_lowercase()).is_some();
        }
        self.0.find(folded(text).as_bytes()).is_some()
    }

    /// Whether it may stand in one of the texts of a record, whose JSON is given. Most records of a list are passed over
    /// by this alone, since they have it nowhere; escapes, and what folds to more than one letter, are not looked into.
    pub fn may_be_in(&self, json: &[u8]) -> bool {
        let is_plain = json.is_ascii() && memchr(b'\\', json).is_none();
        !is_plain || self.0.find(&json.to_ascii_lowercase()).is_some()
    }
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
    fn a_text_is_found_in_any_case() {
        let long = format!("{}ADA", "x".repeat(1_000));
        for (search, text, expect) in [
            ("", "", true),
            ("", "Ada", true),
            ("ADA", "is ada in?", true),
            ("ärger", "Kein ÄRGER", true),
            ("STRASSE", "Lange Straße 1", true),
            ("straße", "STRASSE", true),
            ("ΣΊΣΥΦΟΣ", "Σίσυφος", true),
            ("kelvin", "\u{212a}elvin", true),
            ("ada", &long, true),
            ("ada", "a da", false),
            ("ada", "", false),
        ] {
            assert_eq!(Search::of(search).is_in(text), expect, "{search} in {text}");
        }
        assert_eq!(Search::of("Ada"), Search::of("ADA"));
        assert_ne!(Search::of("Ada"), Search::of("Ida"));
    }

    #[test]
    fn a_record_is_passed_over_only_where_none_of_its_texts_has_it() {
        for (search, json, expect) in [
            ("ADA", r#"{"a":"is ada in?"}"#, true),
            ("ada", r#"{"a":"a da"}"#, false),
            ("a \"b", r#"{"a":"A \"B"}"#, true),
            ("kelvin", "{\"a\":\"\u{212a}elvin\"}", true),
            ("strasse", r#"{"a":"Straße"}"#, true),
            ("ärger", r#"{"a":"Aerger"}"#, false),
        ] {
            assert_eq!(Search::of(search).may_be_in(json.as_bytes()), expect, "{search} in {json}");
        }
    }
}
