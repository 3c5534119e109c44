//! A search through the texts of records.

use memchr::memmem::Finder;
use unicase::UniCase;

/// Texts up to this size, in bytes, are folded without an allocation: a list looks into many thousands.
const SHORT_TEXT_BYTES: usize = 512;

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
        let mut short = [0; SHORT_TEXT_BYTES];
        match short.get_mut(..text.len()) {
            Some(short) if text.is_ascii() => {
                short.copy_from_slice(text.as_bytes());
                short.make_ascii_lowercase();
                self.0.find(short).is_some()
            }
            _ => self.0.find(folded(text).as_bytes()).is_some(),
        }
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
        let long = format!("{}ADA", "x".repeat(SHORT_TEXT_BYTES));
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
}
