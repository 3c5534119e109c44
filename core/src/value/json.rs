//! JSON text: numbers and the order of keys stay as sent (R7).
//!
//! Invariant: a [`Json`] is well-formed JSON in compact form, so it can be spliced into a response. Two spellings of
//! one string are equal; numbers are compared as written.

use std::borrow::Cow;

use hifijson::{SliceLexer, str::LexAlloc as _};
use memchr::memchr;

use super::{
    document::Document,
    json_reader::{parse_stored, parse_value, stored_items},
    malformed::Malformed,
    number::Number,
};

/// Text that is mostly short: up to 24 bytes, it takes no allocation. The bundle of forms is small without it.
#[cfg(feature = "records")]
pub(super) type ShortText = compact_str::CompactString;
#[cfg(not(feature = "records"))]
pub(super) type ShortText = Box<str>;

/// One JSON value as compact text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(ShortText);

/// A borrowed [`Json`]: the text of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRef<'a>(&'a str);

impl Json {
    /// The value `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Self(if value { "true" } else { "false" }.into())
    }

    /// A whole number as JSON.
    pub fn integer(value: i64) -> Self {
        Self(value.to_string().into())
    }

    /// A decimal number as JSON.
    pub fn number(value: Number) -> Self {
        Self(value.to_string().into())
    }

    /// A string; characters that JSON requires to be escaped are escaped.
    pub fn string(value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + 2);
        push_string(&mut text, value);
        Self(text.into())
    }

    /// An array of strings.
    pub fn strings<'s>(values: impl IntoIterator<Item = &'s str>) -> Self {
        let mut text = String::from("[");
        for value in values {
            if text.len() > 1 {
                text.push(',');
            }
            push_string(&mut text, value);
        }
        text.push(']');
        Self(text.into())
    }

    /// An array of these values, in compact JSON.
    pub fn array(values: &[Json]) -> Self {
        let texts: Vec<&str> = values.iter().map(|value| value.as_ref().text()).collect();
        Self(format!("[{}]", texts.join(",")).into())
    }

    /// The members of a document as an object, in compact JSON.
    pub fn object(document: &Document) -> Self {
        Self(document.to_text().into())
    }

    /// Reads any JSON value.
    ///
    /// # Errors
    /// [`Malformed`] for JSON that R9 rejects.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        parse_value(bytes)
    }

    /// A value from text that is known to be compact JSON.
    pub(crate) fn of_text(text: impl Into<ShortText>) -> Self {
        Self(text.into())
    }

    /// Borrows the value, without a copy of its text.
    pub fn as_ref(&self) -> JsonRef<'_> {
        JsonRef(&self.0)
    }
}

impl<'a> JsonRef<'a> {
    /// A value in text that this crate has written: compact JSON, read back from the store.
    pub fn of_stored(text: &'a str) -> Self {
        Self(text)
    }

    /// The text of the value.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// A copy that borrows nothing.
    pub fn to_json(self) -> Json {
        Json(self.0.into())
    }

    /// Whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Whether the value is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// The boolean, if the value is one.
    pub fn as_bool(self) -> Option<bool> {
        self.0.parse().ok()
    }

    /// Text of the number as it was sent, if the value is one.
    pub fn as_number_text(self) -> Option<&'a str> {
        self.0.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then_some(self.0)
    }

    /// The number as a decimal, if the value is one within bounds.
    pub fn as_number(self) -> Option<Number> {
        self.as_number_text().and_then(Number::parse)
    }

    /// The string with its escapes decoded, if the value is one.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?;
        let plain =
            inner.strip_suffix('"').filter(|inner| memchr(b'\\', inner.as_bytes()).is_none());
        match plain {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => SliceLexer::new(inner.as_bytes()).str_string().ok(),
        }
    }

    /// Members of the object, if the value is one.
    pub fn to_document(self) -> Option<Document> {
        parse_stored(self.0.as_bytes()).ok()
    }

    /// Items of the array, if the value is one.
    pub fn items(self) -> Option<Vec<Json>> {
        stored_items(self.0.as_bytes()).ok()
    }
}

/// Writes a JSON string.
pub(crate) fn push_string(text: &mut String, value: &str) {
    if !has_escaped(value) {
        return push_plain(text, value);
    }
    text.push('"');
    value.chars().for_each(|character| push_escaped(text, character));
    text.push('"');
}

/// Writes a JSON string that needs no escapes.
pub(super) fn push_plain(text: &mut String, value: &str) {
    text.push('"');
    text.push_str(value);
    text.push('"');
}

/// Whether a string has bytes that JSON escapes. Eight are looked at together: how a loop over single bytes is compiled
/// depends on the profile of the build, and it took most of the time of reading a record.
pub(super) fn has_escaped(value: &str) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH_BITS: u64 = ONES << 7;
    let any_below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let any_is = |word: u64, byte: u8| any_below(word ^ (ONES * u64::from(byte)), 1);
    let (words, rest) = value.as_bytes().as_chunks();
    let in_words = words.iter().any(|word| {
        let word = u64::from_le_bytes(*word);
        let found = any_below(word, b' ') | any_is(word, b'"') | any_is(word, b'\\');
        found & HIGH_BITS != 0
    });
    in_words || rest.iter().any(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'))
}

/// Writes a character of a JSON string, with its short escape if it has one.
fn push_escaped(text: &mut String, character: char) {
    let short = match character {
        '"' | '\\' => character,
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\0'..'\u{20}' => return text.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => return text.push(character),
    };
    text.push('\\');
    text.push(short);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_escaped_wherever_it_is_in_a_string() {
        for (len, at) in (1..20_usize).flat_map(|len| (0..len).map(move |at| (len, at))) {
            for character in (0..=u8::MAX).map(char::from) {
                let other = |n: usize| if n.is_multiple_of(3) { 'é' } else { 'a' };
                let text: String =
                    (0..len).map(|n| if n == at { character } else { other(n) }).collect();
                let is_escaped = character < ' ' || matches!(character, '"' | '\\');
                assert_eq!(has_escaped(&text), is_escaped, "{text:?}");
            }
        }
    }
}
