//! Reads JSON strictly and keeps it as text: duplicate keys, deep nesting, lone surrogates and NUL are rejected (R9).
//! JSON from the store is read leniently, since it was checked before.

use std::{borrow::Cow, collections::BTreeSet};

use hifijson::{SliceLexer, num::LexWrite as _, str::LexAlloc as _, token::Lex as _};

use super::{
    document::Document,
    json::{Json, push_plain, push_string},
    malformed::{
        FaultPolicy, MAX_DEPTH, MAX_KEYS, MAX_MEMBER_BYTES, MAX_STRING_BYTES, Malformed, TextFault,
    },
};

/// Reads any JSON value.
///
/// # Errors
/// [`Malformed`] for JSON that R9 rejects.
pub(super) fn parse_value(bytes: &[u8]) -> Result<Json, Malformed> {
    let mut text = String::with_capacity(bytes.len());
    read(bytes, |next, lexer| copy_value(next, lexer, 0, &mut text, &mut FaultPolicy::strict()))?;
    Ok(Json::of_text(text))
}

/// Reads a JSON object into its members, in the order in which they were sent.
///
/// # Errors
/// [`Malformed`] for JSON that R9 rejects, and with `body_must_be_object` for any other JSON value.
pub fn parse_document(bytes: &[u8]) -> Result<Document, Malformed> {
    let mut document = Document::default();
    read(bytes, |next, lexer| {
        if next != b'{' {
            copy_value(next, lexer, 0, &mut String::new(), &mut FaultPolicy::strict())?;
            return Err(TextFault::NotAnObject);
        }
        read_members(lexer, 1, &mut document, &mut FaultPolicy::strict())
    })?;
    Ok(document)
}

/// Reads the members of an object from the store. The limits do not apply: a record that was accepted once may grow
/// past them by merging.
///
/// # Errors
/// [`Malformed`] when the text is not a JSON object.
pub fn parse_stored(bytes: &[u8]) -> Result<Document, Malformed> {
    let mut document = Document::default();
    read(bytes, |next, lexer| match next {
        b'{' => read_members(lexer, 0, &mut document, &mut FaultPolicy::of_stored()),
        _ => Err(TextFault::NotAnObject),
    })?;
    Ok(document)
}

/// Reads the items of an array of our own.
pub(super) fn stored_items(bytes: &[u8]) -> Result<Vec<Json>, Malformed> {
    let mut items = Vec::new();
    read(bytes, |next, lexer| {
        read_items(next, lexer, |next, lexer| {
            let mut text = String::new();
            copy_value(next, lexer, 0, &mut text, &mut FaultPolicy::of_stored())?;
            items.push(Json::of_text(text));
            Ok(())
        })
    })?;
    Ok(items)
}

/// Reads a JSON array of objects. Broken JSON and nesting that is too deep reject the whole; any other fault belongs to
/// its item (R9).
///
/// # Errors
/// [`Malformed`], with `body_must_be_array` for another JSON value or another kind of item.
#[cfg(test)]
pub(super) fn parse_documents(bytes: &[u8]) -> Result<Vec<Result<Document, Malformed>>, Malformed> {
    let mut items = Vec::new();
    read(bytes, |next, lexer| {
        read_items(next, lexer, |next, lexer| {
            let mut faults = FaultPolicy::lenient();
            if next != b'{' {
                copy_value(next, lexer, 1, &mut String::new(), &mut faults)?;
                return Err(TextFault::NotAnArray);
            }
            let mut document = Document::default();
            read_members(lexer, 2, &mut document, &mut faults)?;
            let offset = bytes.len() - lexer.as_slice().len();
            items.push(match faults.found {
                Some(fault) => Err(fault.into_malformed(offset)),
                None => Ok(document),
            });
            Ok(())
        })
    })?;
    Ok(items)
}

/// Reads exactly one value with `f` and converts a fault into a message.
pub(super) fn read(
    bytes: &[u8],
    f: impl FnOnce(u8, &mut SliceLexer<'_>) -> Result<(), TextFault>,
) -> Result<(), Malformed> {
    let mut lexer = SliceLexer::new(bytes);
    lexer.exactly_one(SliceLexer::ws_peek, f).map_err(|fault| {
        let offset = bytes.len() - lexer.as_slice().len();
        fault.into_malformed(offset)
    })
}

/// Skips the value that begins with `next`; only a fault that leaves the text unreadable counts.
pub(super) fn skip_value(
    next: u8,
    lexer: &mut SliceLexer<'_>,
    depth: usize,
) -> Result<(), TextFault> {
    match next {
        b'{' | b'[' if depth >= MAX_DEPTH => Err(TextFault::TooDeep),
        b'{' => lexer.discarded().seq(b'}', SliceLexer::ws_peek, |next, lexer| {
            if next != b'"' {
                return Err(TextFault::Syntax);
            }
            string(lexer.discarded(), MAX_STRING_BYTES, &mut FaultPolicy::lenient())?;
            lexer.expect(SliceLexer::ws_peek, b':').ok_or(TextFault::Syntax)?;
            let next = lexer.ws_peek().ok_or(TextFault::Syntax)?;
            skip_value(next, lexer, depth + 1)
        }),
        b'[' => lexer
            .discarded()
            .seq(b']', SliceLexer::ws_peek, |next, lexer| skip_value(next, lexer, depth + 1)),
        b'"' => string(lexer.discarded(), MAX_STRING_BYTES, &mut FaultPolicy::lenient()).map(drop),
        b'-' | b'0'..=b'9' => {
            lexer.num_string().validated().map(drop).map_err(|_| TextFault::Syntax)
        }
        _ => lexer.null_or_bool().map(drop).ok_or(TextFault::Syntax),
    }
}

/// Reads the items of an array, calling `item` with the first byte of each.
pub(super) fn read_items<'a>(
    next: u8,
    lexer: &mut SliceLexer<'a>,
    item: impl FnMut(u8, &mut SliceLexer<'a>) -> Result<(), TextFault>,
) -> Result<(), TextFault> {
    if next != b'[' {
        copy_value(next, lexer, 0, &mut String::new(), &mut FaultPolicy::strict())?;
        return Err(TextFault::NotAnArray);
    }
    lexer.discarded().seq(b']', SliceLexer::ws_peek, item)
}

/// Reads the members of an object at `depth`.
pub(super) fn read_members(
    lexer: &mut SliceLexer<'_>,
    depth: usize,
    document: &mut Document,
    faults: &mut FaultPolicy,
) -> Result<(), TextFault> {
    // All members share one buffer, and each has no more room than it needs.
    let mut text = String::with_capacity(USUAL_BYTES);
    document.reserve(USUAL_MEMBERS);
    object(lexer, depth, faults, |key, next, lexer, faults| {
        text.clear();
        match next {
            b'"' => copy_string(string(lexer.discarded(), MAX_MEMBER_BYTES, faults)?, &mut text),
            _ => copy_value(next, lexer, depth, &mut text, faults)?,
        }
        document.push(key, Json::of_text(text.as_str()));
        Ok(())
    })
}

/// Copies the value that begins with `next` to `text` in compact form.
pub(super) fn copy_value(
    next: u8,
    lexer: &mut SliceLexer<'_>,
    depth: usize,
    text: &mut String,
    faults: &mut FaultPolicy,
) -> Result<(), TextFault> {
    match next {
        b'{' | b'[' if depth >= MAX_DEPTH => Err(TextFault::TooDeep),
        b'{' => copy_object(lexer, depth + 1, text, faults),
        b'[' => copy_array(lexer, depth + 1, text, faults),
        b'"' => {
            copy_string(string(lexer.discarded(), MAX_STRING_BYTES, faults)?, text);
            Ok(())
        }
        b'-' | b'0'..=b'9' => {
            let (number, _) = lexer.num_string().validated().map_err(|_| TextFault::Syntax)?;
            text.push_str(number);
            Ok(())
        }
        _ => {
            let word = lexer.null_or_bool().ok_or(TextFault::Syntax)?;
            text.push_str(word.map_or("null", |value| if value { "true" } else { "false" }));
            Ok(())
        }
    }
}

fn copy_object(
    lexer: &mut SliceLexer<'_>,
    depth: usize,
    text: &mut String,
    faults: &mut FaultPolicy,
) -> Result<(), TextFault> {
    text.push('{');
    let start = text.len();
    object(lexer, depth, faults, |key, next, lexer, faults| {
        if text.len() > start {
            text.push(',');
        }
        copy_string(key, text);
        text.push(':');
        copy_value(next, lexer, depth, text, faults)
    })?;
    text.push('}');
    Ok(())
}

fn copy_array(
    lexer: &mut SliceLexer<'_>,
    depth: usize,
    text: &mut String,
    faults: &mut FaultPolicy,
) -> Result<(), TextFault> {
    text.push('[');
    let start = text.len();
    lexer.discarded().seq(b']', SliceLexer::ws_peek, |next, lexer| {
        if text.len() > start {
            text.push(',');
        }
        copy_value(next, lexer, depth, text, faults)
    })?;
    text.push(']');
    Ok(())
}

/// Initial capacity for the value of a member, in bytes.
const USUAL_BYTES: usize = 128;
/// Initial capacity for the members of an object; forms have few objects, and their bundle is small.
const USUAL_MEMBERS: usize = if cfg!(feature = "records") { 8 } else { 0 };
/// Maximum number of keys that are compared one by one, which is faster than to order them.
const FEW_KEYS: usize = 16;

/// Keys of an object, so that none occurs twice.
struct ObjectKeys<'a> {
    first: Vec<Cow<'a, str>>,
    others: BTreeSet<Cow<'a, str>>,
}

impl<'a> ObjectKeys<'a> {
    /// Adds a key; returns whether it is new.
    fn insert(&mut self, key: Cow<'a, str>) -> bool {
        if self.first.contains(&key) {
            return false;
        }
        if self.first.len() < FEW_KEYS {
            self.first.push(key);
            return true;
        }
        self.others.insert(key)
    }

    fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }
}

/// Reads an object whose values are at `depth`, calling `member` with each key and the first byte of its value. Once
/// the object is rejected, the rest is skipped, so that it takes no more memory.
pub(super) fn object<'a>(
    lexer: &mut SliceLexer<'a>,
    depth: usize,
    faults: &mut FaultPolicy,
    mut member: impl FnMut(
        Cow<'a, str>,
        u8,
        &mut SliceLexer<'a>,
        &mut FaultPolicy,
    ) -> Result<(), TextFault>,
) -> Result<(), TextFault> {
    let mut keys = ObjectKeys { first: Vec::with_capacity(USUAL_MEMBERS), others: BTreeSet::new() };
    lexer.discarded().seq(b'}', SliceLexer::ws_peek, |next, lexer| {
        if next != b'"' {
            return Err(TextFault::Syntax);
        }
        let key = string(lexer.discarded(), MAX_STRING_BYTES, faults)?;
        if !faults.are_final() && !keys.insert(key.clone()) {
            faults.note(TextFault::DuplicateKey(key.clone().into_owned()))?;
        }
        if keys.len() > MAX_KEYS {
            faults.note(TextFault::TooManyKeys)?;
        }
        lexer.expect(SliceLexer::ws_peek, b':').ok_or(TextFault::Syntax)?;
        let next = lexer.ws_peek().ok_or(TextFault::Syntax)?;
        if faults.are_final() {
            return skip_value(next, lexer, depth);
        }
        member(key, next, lexer, faults)
    })
}

/// Reads the rest of a string after its opening quote.
fn string<'a>(
    lexer: &mut SliceLexer<'a>,
    max_bytes: usize,
    faults: &mut FaultPolicy,
) -> Result<Cow<'a, str>, TextFault> {
    // Forms have few strings, and their bundle is small.
    #[cfg(feature = "records")]
    if let Some(value) = plain_string(lexer, max_bytes) {
        return Ok(Cow::Borrowed(value));
    }
    let value = lexer.str_string().map_err(|error| {
        if error.is_unicode_error() { TextFault::NotUnicode } else { TextFault::Syntax }
    })?;
    if value.len() > max_bytes {
        faults.note(TextFault::StringTooLong(max_bytes))?;
    }
    if value.contains('\0') {
        faults.note(TextFault::Nul)?;
    }
    Ok(value)
}

/// Writes a string that was read.
fn copy_string(value: Cow<'_, str>, text: &mut String) {
    match value {
        // It had no escapes, and needs none.
        Cow::Borrowed(plain) => push_plain(text, plain),
        Cow::Owned(value) => push_string(text, &value),
    }
}

/// Reads the string up to the next quote, where it has no escapes and no fault, as most have.
#[cfg(feature = "records")]
fn plain_string<'a>(lexer: &mut SliceLexer<'a>, max_bytes: usize) -> Option<&'a str> {
    use super::json::has_escaped;

    let rest = lexer.as_slice();
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    let (plain, after) = (rest.get(..end)?, rest.get(end..)?.strip_prefix(b"\"")?);
    if end > max_bytes {
        return None;
    }
    let text = std::str::from_utf8(plain).ok().filter(|text| !has_escaped(text))?;
    *lexer = SliceLexer::new(after);
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let found = Json::parse(text.as_bytes());
        let found = found.as_ref().map(|json| json.as_ref().text()).map_err(|error| error.code);
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn numbers_and_key_order_come_back_as_they_were_sent() {
        check(" { \"b\" : 1.10 , \"a\" : [ -0 , 1e400 ] } ", Ok(r#"{"b":1.10,"a":[-0,1e400]}"#));
        check(r#""\u00e9\/\"""#, Ok(r#""é/\"""#));
        check("[true,false,null,{},[]]", Ok("[true,false,null,{},[]]"));
    }

    #[test]
    fn what_is_not_json_is_rejected() {
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
    fn json_that_is_not_accepted_is_rejected_with_the_reason() {
        check(r#"{"a":1,"\u0061":2}"#, Err("json_duplicate_key"));
        check(r#""\ud800""#, Err("json_not_unicode"));
        check(r#""a\u0000""#, Err("json_nul"));
        check(
            &format!("{}{}", "[".repeat(64), "]".repeat(64)),
            Ok(&format!("{}{}", "[".repeat(64), "]".repeat(64))),
        );
        check(&format!("{}{}", "[".repeat(65), "]".repeat(65)), Err("json_too_deep"));
        check(&format!("\"{}\"", "x".repeat(MAX_STRING_BYTES + 1)), Err("json_string_too_long"));
        let keys =
            |count: usize| (0..count).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
        check(&format!("{{{}}}", keys(MAX_KEYS + 1)), Err("json_too_many_keys"));
        assert!(Json::parse(format!("{{{}}}", keys(MAX_KEYS)).as_bytes()).is_ok());
        assert_eq!(Json::parse(b"\"\xff\"").unwrap_err().code, "json_not_unicode");
    }

    #[test]
    fn what_is_stored_is_read_whatever_it_has_grown_to() {
        let long = format!("{{\"a\":[\"{}\"]}}", "x".repeat(2 * MAX_STRING_BYTES));
        assert!(parse_document(long.as_bytes()).is_err());
        assert_eq!(parse_stored(long.as_bytes()).unwrap().to_text(), long);
        assert!(parse_stored(b"{").is_err() && parse_stored(b"[]").is_err());
    }

    #[test]
    fn a_key_of_many_occurs_once() {
        for (last, expect) in
            [(3, Some("json_duplicate_key")), (30, Some("json_duplicate_key")), (40, None)]
        {
            let members = (0..40).chain([last]).map(|key| format!("\"{key}\":0"));
            let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
            assert_eq!(parse_document(text.as_bytes()).err().map(|fault| fault.code), expect);
        }
    }

    #[test]
    fn a_member_of_a_document_may_be_a_longer_string() {
        for (bytes, expect) in
            [(MAX_MEMBER_BYTES, None), (MAX_MEMBER_BYTES + 1, Some("json_string_too_long"))]
        {
            let text = format!("{{\"a\":\"{}\"}}", "x".repeat(bytes));
            let code = |fault: Malformed| fault.code;
            assert_eq!(parse_document(text.as_bytes()).err().map(code), expect);
            let items = parse_documents(format!("[{text}]").as_bytes()).unwrap();
            assert_eq!(items.into_iter().next().unwrap().err().map(code), expect);
        }
    }

    #[test]
    fn a_fault_of_an_item_belongs_to_that_item() {
        let codes = |text: &str| {
            let items = parse_documents(text.as_bytes()).map_err(|error| error.code)?;
            Ok(items
                .iter()
                .map(|item| item.as_ref().err().map(|error| error.code))
                .collect::<Vec<_>>())
        };
        assert_eq!(
            codes(r#"[{"a":1,"a":2},{"b":"\u0000"},{"c":{}}]"#),
            Ok(vec![Some("json_duplicate_key"), Some("json_nul"), None])
        );
        assert_eq!(codes("[]"), Ok(vec![]));
        for (text, code) in [
            ("[{}", "json_malformed"),
            ("{}", "body_must_be_array"),
            ("[1]", "body_must_be_array"),
            (r#"[{"a":"\ud800"}]"#, "json_not_unicode"),
        ] {
            assert_eq!(codes(text), Err(code), "{text}");
        }
        let deep = format!("[{{}},{{\"a\":{}{}}}]", "[".repeat(63), "]".repeat(63));
        assert_eq!(codes(&deep), Err("json_too_deep"));
    }

    #[test]
    fn a_body_of_another_kind_is_rejected_with_the_expected_kind() {
        assert_eq!(parse_document(b"[1]").unwrap_err().code, "body_must_be_object");
        assert_eq!(parse_document(b"[1").unwrap_err().code, "json_malformed");
        assert_eq!(parse_documents(b"{}").unwrap_err().code, "body_must_be_array");
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
