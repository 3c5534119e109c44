//! Ids of the caller: `externalId`, `sourceId` (R2).

/// Longest key, in bytes: a person's or a system's id fits, and a key of the store stays small (R2).
pub const MAX_KEY_BYTES: usize = 512;

/// Whether `text` can be a key: 1 to [`MAX_KEY_BYTES`] bytes, no control characters (R2).
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_KEY_BYTES && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_no_controls_and_an_end() {
        assert!(is_key(&"x".repeat(MAX_KEY_BYTES)));
        assert!(is_key("a b/%é"));
        for text in ["", "a\0", "\n", "\u{85}", &"x".repeat(MAX_KEY_BYTES + 1)] {
            assert!(!is_key(text), "{text:?}");
        }
    }
}
