//! Finds one member in the text of an object and skips the others unread: a list that is sorted or filtered reads one
//! property of every record, and most of the time of reading a record is spent on the others.
//!
//! Invariant: the text is compact JSON from the store. In any other text a wrong member or none is found, but nothing
//! breaks.

use memchr::{memchr, memchr2, memchr3, memmem};

use super::{document::Document, json::JsonRef};

/// A value with members: a document, or the text of an object.
pub trait Members {
    /// The value of a member.
    fn get(&self, name: &str) -> Option<JsonRef<'_>>;
}

impl Members for Document {
    fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        Document::get(self, name)
    }
}

impl<M: Members> Members for &M {
    fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        (**self).get(name)
    }
}

impl Members for JsonRef<'_> {
    fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        self.member(name)
    }
}

impl<'a> JsonRef<'a> {
    /// Value of a member, if this is an object with that member.
    pub fn member(self, name: &str) -> Option<Self> {
        member_in(self.text().as_bytes(), name)
    }
}

/// Some members of an object, found in one pass over its text.
#[derive(Clone, Copy, Debug)]
pub struct SelectedMembers<'a, const N: usize> {
    names: [&'static str; N],
    values: [Option<JsonRef<'a>>; N],
}

impl<const N: usize> Members for SelectedMembers<'_, N> {
    fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        let place = self.names.iter().position(|known| *known == name)?;
        *self.values.get(place)?
    }
}

impl<'a, const N: usize> SelectedMembers<'a, N> {
    /// The members with these names, fastest where they are in the order of the object.
    ///
    /// ```
    /// use svctrack_core::value::{Members, member::SelectedMembers};
    /// let picked = SelectedMembers::find(br#"{"a":1,"b":{"c":2},"c":3}"#, ["a", "c"]);
    /// assert_eq!(picked.get("c").unwrap().text(), "3");
    /// assert!(picked.get("b").is_none());
    /// ```
    pub fn find(object: &'a [u8], names: [&'static str; N]) -> Self {
        let mut picked = Self { names, values: [None; N] };
        // At the brace or comma before a key.
        let (mut at, mut next) = (0, 0);
        while let Some((key, value, end)) = member_at(object, at) {
            if let Some(place) = picked.place_of(&key, next) {
                let text = std::str::from_utf8(value).ok().map(JsonRef::of_stored);
                if let Some(slot) = picked.values.get_mut(place) {
                    *slot = text;
                }
                next = place + 1;
            }
            at = end;
        }
        picked
    }

    /// Members that are present, as a document of their own.
    pub fn to_document(&self) -> Document {
        let mut document = Document::default();
        for (name, value) in self.names.into_iter().zip(self.values) {
            if let Some(value) = value {
                document.set(name, value.to_json());
            }
        }
        document
    }

    /// Place of a key among the names: the next one, or else any.
    fn place_of(&self, key: &Key<'_>, next: usize) -> Option<usize> {
        if self.names.get(next).is_some_and(|name| key.is(name)) {
            return Some(next);
        }
        self.names.iter().position(|name| key.is(name))
    }
}

/// The key of a member.
struct Key<'a> {
    /// The JSON string, with its quotes.
    text: &'a [u8],
    /// What is between the quotes, where it has no escapes.
    plain: Option<&'a [u8]>,
}

impl Key<'_> {
    fn is(&self, name: &str) -> bool {
        match self.plain {
            Some(plain) => plain == name.as_bytes(),
            None => self.is_escaped(name),
        }
    }

    #[cold]
    fn is_escaped(&self, name: &str) -> bool {
        let text = std::str::from_utf8(self.text).ok().map(JsonRef::of_stored);
        text.and_then(JsonRef::as_str).as_deref() == Some(name)
    }
}

/// Key and value of the member after the brace or comma at `at`, and the end of the value.
fn member_at(object: &[u8], at: usize) -> Option<(Key<'_>, &[u8], usize)> {
    if !matches!(object.get(at)?, b'{' | b',') {
        return None;
    }
    let start = at + 1;
    let (len, has_escapes) = string_at(object.get(start..)?)?;
    let colon = start + len;
    let value = colon + 1;
    let end = value + value_len(object.get(value..)?)?;
    let inner = object.get(start + 1..colon - 1)?;
    let key = Key { text: object.get(start..colon)?, plain: (!has_escapes).then_some(inner) };
    Some((key, object.get(value..end)?, end))
}

/// The value of a member in the text of an object; only that value is checked as Unicode.
pub fn member_in<'a>(object: &'a [u8], name: &str) -> Option<JsonRef<'a>> {
    if object.first() != Some(&b'{') {
        return None;
    }
    // At the brace or comma before a key.
    let mut at = start_of(object, name)?;
    loop {
        let (key, value, end) = member_at(object, at)?;
        if key.is(name) {
            return Some(JsonRef::of_stored(std::str::from_utf8(value).ok()?));
        }
        at = end;
    }
}

/// Offset at which the search for a member starts: just before it, unless another object begins earlier; then at the
/// first member. `None` when the name is nowhere in the text.
fn start_of(object: &[u8], name: &str) -> Option<usize> {
    // A name that begins with a character that can follow a string would be found after one.
    let plain = name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    if !plain || name.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        return Some(0);
    }
    let is_key = |found: &usize| {
        let opens = object.get(found.saturating_sub(2)..*found);
        let colon = object.get(found + name.len()..).is_some_and(|rest| rest.starts_with(b"\":"));
        colon && matches!(opens, Some([b'{' | b',', b'"']))
    };
    let at = memmem::find_iter(object, name).find(is_key)?.checked_sub(2)?;
    let nested = object.get(1..=at).is_some_and(|before| memchr(b'{', before).is_some());
    Some(if nested { 0 } else { at })
}

/// Length of the value with which the bytes begin.
fn value_len(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' => Some(string_at(bytes)?.0),
        b'{' => nested_len(bytes, b'{', b'}'),
        b'[' => nested_len(bytes, b'[', b']'),
        _ => bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']')),
    }
}

/// Length of the string with which the bytes begin, its quotes included, and whether it has escapes.
fn string_at(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut has_escapes) = (1, false);
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some((at + 1, has_escapes));
        }
        has_escapes = true;
        at += 2;
    }
}

/// Length of the object or array with which the bytes begin. Its content is well-formed, so that brackets of the other
/// kind need not be counted.
fn nested_len(bytes: &[u8], open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        at += memchr3(b'"', open, close, bytes.get(at..)?)?;
        let rest = bytes.get(at..)?;
        let byte = *rest.first()?;
        if byte == b'"' {
            at += string_at(rest)?.0;
            continue;
        }
        at += 1;
        if byte == open {
            depth += 1;
        } else {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::Json;

    #[track_caller]
    fn check(text: &str, name: &str, expect: Option<&str>) {
        assert_eq!(JsonRef::of_stored(text).member(name).map(JsonRef::text), expect, "{text}");
    }

    #[test]
    fn a_member_is_found_among_others_of_every_kind() {
        let text =
            r#"{"a":"x\"}{","b":[{"c":"]"},[]],"d":{"c":{}},"e":-1.5,"f":true,"g":null,"c":7}"#;
        for (name, expect) in [
            ("a", r#""x\"}{""#),
            ("b", r#"[{"c":"]"},[]]"#),
            ("d", r#"{"c":{}}"#),
            ("e", "-1.5"),
            ("f", "true"),
            ("g", "null"),
            ("c", "7"),
        ] {
            check(text, name, Some(expect));
        }
        check(text, "x", None);
        check("{}", "a", None);
    }

    #[test]
    fn a_key_that_needs_escapes_is_found() {
        check(r#"{"a\"b":1,"\\":2}"#, "a\"b", Some("1"));
        check(r#"{"a\"b":1,"\\":2}"#, "\\", Some("2"));
        check(r#"{"a\"b":1,"\\":2}"#, "b", None);
        check(r#"{"a,":":x",":":0}"#, ":", Some("0"));
    }

    #[test]
    fn only_an_object_has_members() {
        for text in ["", "1", "[1]", r#""a":1"#, "{", r#"{"a"#, r#"{"a":"#, r#"{"a":[}"#] {
            check(text, "a", None);
        }
    }

    proptest! {
        #[test]
        fn every_member_of_a_document_is_found_in_its_text(members in proptest::collection::btree_map("[^\0]{0,6}", "[^\0]*", 0..8)) {
            let mut document = Document::default();
            for (name, value) in &members {
                document.set(name, Json::strings([value.as_str(), name]));
            }
            let text = document.to_text();
            for (name, value) in document.iter() {
                prop_assert_eq!(JsonRef::of_stored(&text).member(name), Some(value));
            }
            prop_assert_eq!(JsonRef::of_stored(&text).member("not there"), None);
            let names = ["a", "b", "", "not there"];
            let picked = SelectedMembers::find(text.as_bytes(), names);
            for name in names {
                prop_assert_eq!(Members::get(&picked, name), document.get(name));
            }
        }

        #[test]
        fn no_text_makes_the_search_panic(text in r#"[{}\[\]",:\\a]{0,40}"#) {
            let _ = JsonRef::of_stored(&text).member("a");
            let _ = SelectedMembers::find(text.as_bytes(), ["a"]);
        }
    }
}
