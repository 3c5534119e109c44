//! A search through the texts of records.

use memchr::memmem::Finder;

/// Text that is looked for in any case (R27). It is prepared once: a list looks for it in each of its records.
#[derive(Clone, Debug)]
pub struct Search(Finder<'static>);

impl Search {
    /// Looks for a text.
    pub fn of(text: &str) -> Self {
        Self(Finder::new(text.to_lowercase().as_bytes()).into_owned())
    }

    /// Whether it stands in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.find(text.to_lowercase().as_bytes()).is_some()
    }
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
        for (search, text, expect) in [
            ("", "", true),
            ("", "Ada", true),
            ("ADA", "is ada in?", true),
            ("ärger", "Kein ÄRGER", true),
            ("ada", "a da", false),
            ("ada", "", false),
        ] {
            assert_eq!(Search::of(search).is_in(text), expect, "{search} in {text}");
        }
        assert_eq!(Search::of("Ada"), Search::of("ADA"));
        assert_ne!(Search::of("Ada"), Search::of("Ida"));
    }
}
