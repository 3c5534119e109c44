//! The text of a filter: values with commas between them, and `\` before a comma that belongs to a value.

/// The texts between commas, unescaped.
pub fn texts_of(value: &str) -> Vec<String> {
    split_values(value).into_iter().map(unescaped).collect()
}

/// Values between commas that no `\` escapes.
pub(super) fn split_values(text: &str) -> Vec<&str> {
    let (mut values, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b',' && !escaped {
            values.extend(text.get(start..at));
            start = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    values.extend(text.get(start..));
    values
}

/// A text as the only value of a filter, where commas separate values.
///
/// ```
/// use svctrack_core::schema::filter_text::escaped;
/// assert_eq!(escaped(r"a, b\c"), r"a\, b\\c");
/// ```
pub fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace(',', r"\,")
}

/// Unescapes a value: `\,` is a comma and `\\` a backslash; any other backslash is literal.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = chars.next_if(|next| char == '\\' && matches!(next, ',' | '\\'));
        plain.push(escaped.unwrap_or(char));
    }
    plain
}
