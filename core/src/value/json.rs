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

/// One JSON value as compact text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(Box<str>);

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
    pub(crate) fn of_text(text: impl Into<Box<str>>) -> Self {
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
    // All bytes are checked, which is faster than to stop at the first match.
    let is_escaped = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    if !value.bytes().fold(false, |found, byte| found | is_escaped(byte)) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push('"');
        value.chars().for_each(|character| push_escaped(text, character));
        text.push('"');
    }
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
