//! The index entries of a record, and values as keys of an index.

use std::collections::BTreeSet;

use super::{
    field::{FieldDef, FieldKind},
    resource::ResourceDef,
};
use crate::value::{Document, JsonRef, email};

/// One entry of a record in an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexEntry {
    /// Name of the field that is indexed.
    pub row: &'static str,
    /// Whether the entry is a claim: no other record of the tenant may hold it.
    pub unique: bool,
    /// The value in the form in which it is compared.
    pub key: String,
}

/// Form in which a value of `field` is compared: e-mails and domains in lower case, all others byte for byte.
pub fn key_of(field: &FieldDef, value: &str) -> String {
    if field.folded { email::folded(value) } else { value.to_owned() }
}

/// All index entries of a record.
pub fn entries(def: &ResourceDef, document: &Document) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    let is_indexed = |field: &&FieldDef| {
        field.unique || field.indexed || field.ordered || field.claims_as.is_some()
    };
    for field in def.fields.iter().filter(is_indexed) {
        let value = document.value(field.name);
        let keys =
            value.map(|value| keys_of(field, value)).unwrap_or_else(|| keys_of_nothing(field));
        let (name, unique) =
            (field.claims_as.unwrap_or(field.name), field.claims_as.is_some() || field.unique);
        // An e-mail may be in two fields; its entry is in the index once.
        let claimed = |key: &String| {
            entries.iter().any(|entry: &IndexEntry| entry.row == name && entry.key == *key)
        };
        let keys: Vec<String> = match field.claims_as {
            Some(_) => keys.into_iter().filter(|key| !claimed(key)).collect(),
            None => keys,
        };
        entries.extend(keys.into_iter().map(|key| IndexEntry { row: name, unique, key }));
    }
    entries
}

/// Keys of a record without a value, which comes first in an order (R13).
fn keys_of_nothing(field: &FieldDef) -> Vec<String> {
    field.ordered.then(String::new).into_iter().collect()
}

fn keys_of(field: &FieldDef, value: JsonRef<'_>) -> Vec<String> {
    let mut keys: Vec<String> = match field.kind {
        FieldKind::Texts => {
            let items = value.items().unwrap_or_default();
            items.iter().filter_map(|item| Some(key_of(field, &item.as_ref().as_str()?))).collect()
        }
        _ => value.as_str().map(|text| key_of(field, &text)).into_iter().collect(),
    };
    keys.sort();
    keys.dedup();
    keys
}

/// The entries of `of` that `other` does not have.
pub fn difference(of: &[IndexEntry], other: &[IndexEntry]) -> Vec<IndexEntry> {
    let other: BTreeSet<&IndexEntry> = other.iter().collect();
    of.iter().filter(|entry| !other.contains(entry)).cloned().collect()
}
