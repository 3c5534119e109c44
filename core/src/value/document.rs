//! A document: the members of a JSON object in the order in which they were sent.
//!
//! Invariant: no name occurs twice.

use std::borrow::Cow;

use super::{
    json::{Json, JsonRef, ShortText, push_string},
    json_reader::parse_document,
    malformed::Malformed,
};

/// The members of a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    members: Vec<(ShortText, Json)>,
}

impl Document {
    /// Reads a JSON object.
    ///
    /// # Errors
    /// See [`parse_document`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        parse_document(bytes)
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        self.members.iter().find(|(known, _)| **known == *name).map(|(_, value)| value.as_ref())
    }

    /// Value of a member that is present and not `null`.
    pub fn value(&self, name: &str) -> Option<JsonRef<'_>> {
        self.get(name).filter(|value| !value.is_null())
    }

    /// A member that is present and not `null`, with its place among the others.
    pub(crate) fn placed(&self, name: &str) -> Option<(usize, JsonRef<'_>)> {
        let place = self.members.iter().position(|(known, _)| **known == *name)?;
        let value = self.members.get(place)?.1.as_ref();
        (!value.is_null()).then_some((place, value))
    }

    /// String of a member, if its value is one.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name)?.as_str()
    }

    /// Sets a member: in its place if it is present, else at the end.
    pub fn set(&mut self, name: &str, value: Json) {
        match self.members.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known = value,
            None => self.members.push((name.into(), value)),
        }
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.members.iter().position(|(known, _)| **known == *name)?;
        Some(self.members.remove(at).1)
    }

    /// The members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, JsonRef<'_>)> {
        self.members.iter().map(|(name, value)| (&**name, value.as_ref()))
    }

    /// Number of the document's members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Reserves capacity for this number of further members.
    pub(crate) fn reserve(&mut self, members: usize) {
        self.members.reserve(members);
    }

    /// Adds a member that is known to be absent.
    pub(crate) fn push(&mut self, name: Cow<'_, str>, value: Json) {
        self.members.push((name.into(), value));
    }

    /// Merges `patch` into this object, key by key: `null` removes a key, any other value replaces the present one (R5,
    /// for `custom`).
    ///
    /// ```
    /// use svctrack_core::value::Document;
    /// let mut custom = Document::parse(br#"{"a":1,"b":2}"#).unwrap();
    /// custom.merge(&Document::parse(br#"{"b":null,"c":3}"#).unwrap());
    /// assert_eq!(custom.to_text(), r#"{"a":1,"c":3}"#);
    /// ```
    pub fn merge(&mut self, patch: &Self) {
        for (name, value) in patch.iter() {
            if value.is_null() {
                self.remove(name);
            } else {
                self.set(name, value.to_json());
            }
        }
    }

    /// The document as compact JSON.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(64 * self.members.len() + 2);
        text.push('{');
        for (index, (name, value)) in self.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_string(&mut text, name);
            text.push(':');
            text.push_str(value.text());
        }
        text.push('}');
        text
    }
}

/// Writes the document as compact JSON, which is a body of the API.
impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_text())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_document() -> impl Strategy<Value = Document> {
        let value = prop_oneof![Just(Json::null()), any::<i64>().prop_map(Json::integer)];
        proptest::collection::vec(("[a-f]", value), 0..8).prop_map(|members| {
            let mut document = Document::default();
            for (name, value) in members {
                document.set(&name, value);
            }
            document
        })
    }

    proptest! {
        #[test]
        fn merging_twice_is_merging_once(base in any_document(), patch in any_document()) {
            let mut once = base.clone();
            once.merge(&patch);
            let mut twice = once.clone();
            twice.merge(&patch);
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn merging_leaves_alone_what_the_patch_does_not_name(base in any_document(), patch in any_document()) {
            let mut merged = base.clone();
            merged.merge(&patch);
            for (name, value) in base.iter().filter(|(name, _)| patch.get(name).is_none()) {
                prop_assert_eq!(merged.get(name), Some(value));
            }
        }

        #[test]
        fn a_document_is_read_back(document in any_document()) {
            prop_assert_eq!(Document::parse(document.to_text().as_bytes()).unwrap(), document);
        }
    }
}
