//! The caller's text in messages: in backticks, and cut (R12).

use std::fmt::Write as _;

/// Maximum number of characters of the caller's text that a message repeats (R12).
pub const MAX_QUOTED_CHARS: usize = 64;

/// The caller's text in backticks, cut at [`MAX_QUOTED_CHARS`].
pub fn quoted(words: &str) -> String {
    format!("`{}`", shortened(words))
}

/// The caller's text, cut at [`MAX_QUOTED_CHARS`].
pub fn shortened(words: &str) -> String {
    let mut text: String = words.chars().take(MAX_QUOTED_CHARS).collect();
    if words.chars().nth(MAX_QUOTED_CHARS).is_some() {
        text.push_str("...");
    }
    text
}

/// A list of choices: `` `day`, `week`, `month` ``.
pub fn quoted_list(choices: &[&str]) -> String {
    choices.iter().enumerate().fold(String::new(), |mut text, (index, choice)| {
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}`{choice}`");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_words_are_cut() {
        assert_eq!(quoted("year"), "`year`");
        assert_eq!(quoted(&"ö".repeat(65)), format!("`{}...`", "ö".repeat(64)));
    }
}
