//! JSON text, read strictly and kept as text: numbers stay as they were sent and keys stay in their
//! order (R7), while duplicate keys, deep nesting, lone surrogates and NUL are refused (R9).
//!
//! Invariant: a [`Json`] holds well-formed JSON in compact form, so it can be spliced into an answer
//! as it is. Two texts of one string are equal; numbers are compared as they were written.

use std::{borrow::Cow, collections::BTreeSet};

use hifijson::{Expect, SliceLexer, num::LexWrite as _, str::LexAlloc as _, token::Lex as _};

use super::{Document, Number};

/// How deep objects and arrays may be nested (R9).
pub const MAX_DEPTH: usize = 64;
/// How many keys one object may have (R9).
pub const MAX_KEYS: usize = 500;
/// How long one string may be, in bytes after decoding (R9).
pub const MAX_STRING_BYTES: usize = 64 * 1024;

/// One JSON value as compact text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(Box<str>);

/// A borrowed [`Json`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonRef<'a>(&'a str);

/// Why a text is not taken as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Stable code, in snake_case.
    pub code: &'static str,
    /// What was expected, and what is wrong.
    pub message: String,
    /// How many bytes of the text were read before the problem was seen.
    pub offset: usize,
}

impl Json {
    /// The value `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Self(if value { "true" } else { "false" }.into())
    }

    /// A whole number.
    pub fn integer(value: i64) -> Self {
        Self(value.to_string().into())
    }

    /// A number.
    pub fn number(value: Number) -> Self {
        Self(value.to_string().into())
    }

    /// A string; what JSON wants escaped is escaped.
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

    /// An object from a document.
    pub fn object(document: &Document) -> Self {
        Self(document.to_text().into())
    }

    /// Reads any JSON value.
    ///
    /// # Errors
    /// [`Malformed`] for what R9 refuses.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut text = String::with_capacity(bytes.len());
        read(bytes, |next, lexer| copy_value(next, lexer, 0, &mut text))?;
        Ok(Self(text.into()))
    }

    /// The value, borrowed.
    pub fn as_ref(&self) -> JsonRef<'_> {
        JsonRef(&self.0)
    }
}

impl<'a> JsonRef<'a> {
    /// The text of the value.
    pub fn text(self) -> &'a str {
        self.0
    }

    /// A copy that stands for itself.
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

    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        self.0.parse().ok()
    }

    /// The text of the number as it was sent, if it is one.
    pub fn as_number_text(self) -> Option<&'a str> {
        self.0
            .starts_with(|first: char| first == '-' || first.is_ascii_digit())
            .then_some(self.0)
    }

    /// The number as a decimal, if it is one within bounds.
    pub fn as_number(self) -> Option<Number> {
        self.as_number_text().and_then(Number::parse)
    }

    /// The string with its escapes decoded, if it is one.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?;
        let plain = inner
            .strip_suffix('"')
            .filter(|inner| !inner.contains('\\'));
        match plain {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => SliceLexer::new(inner.as_bytes()).str_string().ok(),
        }
    }

    /// The members of the object, if it is one.
    pub fn to_document(self) -> Option<Document> {
        parse_document(self.0.as_bytes()).ok()
    }

    /// The items of the array, if it is one.
    pub fn items(self) -> Option<Vec<Json>> {
        parse_array(self.0.as_bytes()).ok()
    }
}

/// Reads a JSON object into its members, in the order in which they were sent.
///
/// # Errors
/// [`Malformed`] for what R9 refuses, and with `body_must_be_object` for any other JSON value.
pub fn parse_document(bytes: &[u8]) -> Result<Document, Malformed> {
    let mut document = Document::default();
    read(bytes, |next, lexer| {
        if next != b'{' {
            copy_value(next, lexer, 0, &mut String::new())?;
            return Err(Fault::NotAnObject);
        }
        object(lexer, |key, next, lexer| {
            let mut text = String::new();
            copy_value(next, lexer, 1, &mut text)?;
            document.push(key, Json(text.into()));
            Ok(())
        })
    })?;
    Ok(document)
}

/// Reads a JSON array into its items.
///
/// # Errors
/// [`Malformed`] for what R9 refuses, and with `body_must_be_array` for any other JSON value.
pub fn parse_array(bytes: &[u8]) -> Result<Vec<Json>, Malformed> {
    let mut items = Vec::new();
    read(bytes, |next, lexer| {
        if next != b'[' {
            copy_value(next, lexer, 0, &mut String::new())?;
            return Err(Fault::NotAnArray);
        }
        lexer
            .discarded()
            .seq(b']', SliceLexer::ws_peek, |next, lexer| {
                let mut text = String::new();
                copy_value(next, lexer, 1, &mut text)?;
                items.push(Json(text.into()));
                Ok(())
            })
    })?;
    Ok(items)
}

/// Writes a JSON string.
pub(crate) fn push_string(text: &mut String, value: &str) {
    if value
        .bytes()
        .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
    {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(value).to_string());
    }
}

/// Reads exactly one value with `f` and turns a fault into words.
fn read(
    bytes: &[u8],
    f: impl FnOnce(u8, &mut SliceLexer<'_>) -> Result<(), Fault>,
) -> Result<(), Malformed> {
    let mut lexer = SliceLexer::new(bytes);
    lexer.exactly_one(SliceLexer::ws_peek, f).map_err(|fault| {
        let offset = bytes.len() - lexer.as_slice().len();
        fault.into_malformed(offset)
    })
}

/// Copies the value that begins with `next` to `text` in compact form.
fn copy_value(
    next: u8,
    lexer: &mut SliceLexer<'_>,
    depth: usize,
    text: &mut String,
) -> Result<(), Fault> {
    match next {
        b'{' | b'[' if depth >= MAX_DEPTH => Err(Fault::TooDeep),
        b'{' => copy_object(lexer, depth + 1, text),
        b'[' => copy_array(lexer, depth + 1, text),
        b'"' => {
            push_string(text, &string(lexer.discarded())?);
            Ok(())
        }
        b'-' | b'0'..=b'9' => {
            let (number, _) = lexer.num_string().validated().map_err(|_| Fault::Syntax)?;
            text.push_str(number);
            Ok(())
        }
        _ => {
            let word = lexer.null_or_bool().ok_or(Fault::Syntax)?;
            text.push_str(word.map_or("null", |value| if value { "true" } else { "false" }));
            Ok(())
        }
    }
}

fn copy_object(lexer: &mut SliceLexer<'_>, depth: usize, text: &mut String) -> Result<(), Fault> {
    text.push('{');
    let start = text.len();
    object(lexer, |key, next, lexer| {
        if text.len() > start {
            text.push(',');
        }
        push_string(text, &key);
        text.push(':');
        copy_value(next, lexer, depth, text)
    })?;
    text.push('}');
    Ok(())
}

fn copy_array(lexer: &mut SliceLexer<'_>, depth: usize, text: &mut String) -> Result<(), Fault> {
    text.push('[');
    let start = text.len();
    lexer
        .discarded()
        .seq(b']', SliceLexer::ws_peek, |next, lexer| {
            if text.len() > start {
                text.push(',');
            }
            copy_value(next, lexer, depth, text)
        })?;
    text.push(']');
    Ok(())
}

/// Reads an object, calling `member` with each key and the first byte of its value.
fn object<'a>(
    lexer: &mut SliceLexer<'a>,
    mut member: impl FnMut(Cow<'a, str>, u8, &mut SliceLexer<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut keys = BTreeSet::new();
    lexer
        .discarded()
        .seq(b'}', SliceLexer::ws_peek, |next, lexer| {
            if next != b'"' {
                return Err(Fault::Syntax);
            }
            let key = string(lexer.discarded())?;
            if !keys.insert(key.clone()) {
                return Err(Fault::DuplicateKey(key.into_owned()));
            }
            if keys.len() > MAX_KEYS {
                return Err(Fault::TooManyKeys);
            }
            lexer
                .expect(SliceLexer::ws_peek, b':')
                .ok_or(Fault::Syntax)?;
            let next = lexer.ws_peek().ok_or(Fault::Syntax)?;
            member(key, next, lexer)
        })
}

/// Reads the rest of a string whose quote has been taken.
fn string<'a>(lexer: &mut SliceLexer<'a>) -> Result<Cow<'a, str>, Fault> {
    let value = lexer.str_string().map_err(|error| {
        if error.is_unicode_error() {
            Fault::NotUnicode
        } else {
            Fault::Syntax
        }
    })?;
    if value.len() > MAX_STRING_BYTES {
        return Err(Fault::StringTooLong);
    }
    if value.contains('\0') {
        return Err(Fault::Nul);
    }
    Ok(value)
}

/// The faults of a text, before they are put into words.
enum Fault {
    Syntax,
    NotUnicode,
    Nul,
    TooDeep,
    TooManyKeys,
    StringTooLong,
    DuplicateKey(String),
    NotAnObject,
    NotAnArray,
}

impl From<Expect> for Fault {
    fn from(_: Expect) -> Self {
        Self::Syntax
    }
}

impl Fault {
    fn into_malformed(self, offset: usize) -> Malformed {
        let (code, message) = match self {
            Self::Syntax => (
                "json_malformed",
                format!("expected JSON; it breaks at byte {offset}"),
            ),
            Self::NotUnicode => (
                "json_not_unicode",
                format!("expected Unicode text; it breaks at byte {offset}"),
            ),
            Self::Nul => ("json_nul", "strings must be without U+0000".to_owned()),
            Self::TooDeep => (
                "json_too_deep",
                format!("objects and arrays must be at most {MAX_DEPTH} deep"),
            ),
            Self::TooManyKeys => (
                "json_too_many_keys",
                format!("an object must have at most {MAX_KEYS} keys"),
            ),
            Self::StringTooLong => (
                "json_string_too_long",
                format!("a string must be at most {MAX_STRING_BYTES} bytes long"),
            ),
            Self::DuplicateKey(key) => (
                "json_duplicate_key",
                format!(
                    "a key must stand once in an object; found {} twice",
                    super::issue::quoted(&key)
                ),
            ),
            Self::NotAnObject => ("body_must_be_object", "expected a JSON object".to_owned()),
            Self::NotAnArray => ("body_must_be_array", "expected a JSON array".to_owned()),
        };
        Malformed {
            code,
            message,
            offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let found = Json::parse(text.as_bytes());
        let found = found
            .as_ref()
            .map(|json| json.as_ref().text())
            .map_err(|error| error.code);
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn numbers_and_key_order_come_back_as_they_were_sent() {
        check(
            " { \"b\" : 1.10 , \"a\" : [ -0 , 1e400 ] } ",
            Ok(r#"{"b":1.10,"a":[-0,1e400]}"#),
        );
        check(r#""\u00e9\/\"""#, Ok(r#""é/\"""#));
        check("[true,false,null,{},[]]", Ok("[true,false,null,{},[]]"));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{'a':1}",
            "01",
            "+1",
            "1.",
            ".5",
            "-",
            "NaN",
            "nul",
            "truefalse",
            "1 2",
            "\u{feff}1",
            "\"\t\"",
            "\"\\x\"",
            "[1//x\n]",
            "{\"a\" 1}",
            "{1:1}",
        ] {
            check(text, Err("json_malformed"));
        }
    }

    #[test]
    fn what_is_json_but_not_taken_says_why() {
        check(r#"{"a":1,"\u0061":2}"#, Err("json_duplicate_key"));
        check(r#""\ud800""#, Err("json_not_unicode"));
        check(r#""a\u0000""#, Err("json_nul"));
        check(
            &format!("{}{}", "[".repeat(64), "]".repeat(64)),
            Ok(&format!("{}{}", "[".repeat(64), "]".repeat(64))),
        );
        check(
            &format!("{}{}", "[".repeat(65), "]".repeat(65)),
            Err("json_too_deep"),
        );
        check(
            &format!("\"{}\"", "x".repeat(MAX_STRING_BYTES + 1)),
            Err("json_string_too_long"),
        );
        let keys = |count: usize| {
            (0..count)
                .map(|n| format!("\"{n}\":0"))
                .collect::<Vec<_>>()
                .join(",")
        };
        check(
            &format!("{{{}}}", keys(MAX_KEYS + 1)),
            Err("json_too_many_keys"),
        );
        assert!(Json::parse(format!("{{{}}}", keys(MAX_KEYS)).as_bytes()).is_ok());
        assert_eq!(
            Json::parse(b"\"\xff\"").unwrap_err().code,
            "json_not_unicode"
        );
    }

    #[test]
    fn a_body_of_another_kind_says_which_kind_is_expected() {
        assert_eq!(
            parse_document(b"[1]").unwrap_err().code,
            "body_must_be_object"
        );
        assert_eq!(parse_document(b"[1").unwrap_err().code, "json_malformed");
        assert_eq!(parse_array(b"{}").unwrap_err().code, "body_must_be_array");
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[^\0]*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("[^\0]*", inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_read_as_another_reader_reads_it(value in any_json()) {
            let json = Json::parse(serde_json::to_string_pretty(&value).unwrap().as_bytes()).unwrap();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(json.as_ref().text()).unwrap(), value);
        }

        #[test]
        fn a_string_is_read_back(value in "[^\0]*") {
            let json = Json::string(&value);
            let parsed = Json::parse(json.as_ref().text().as_bytes()).unwrap();
            prop_assert_eq!(parsed.as_ref().as_str().unwrap(), value);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let _ = Json::parse(&bytes);
        }
    }
}
