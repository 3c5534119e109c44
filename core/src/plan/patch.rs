//! Merges a body into a record.

use crate::{
    schema::{FieldKind, ResourceDef},
    value::{Document, Json, ValidationError, malformed::MAX_KEYS},
};

/// Merges a patch into a record: absent members are unchanged, `null` clears, free-form objects merge key by key (R5).
pub(super) fn merge(
    def: &ResourceDef,
    patch: &Document,
    into: &mut Document,
    issues: &mut Vec<ValidationError>,
) {
    for (name, value) in patch.iter() {
        if value.is_null() {
            into.remove(name);
            continue;
        }
        let is_object = def.field(name).is_some_and(|field| field.kind == FieldKind::Object);
        match is_object.then(|| value.to_document()).flatten() {
            Some(sent) => {
                let known = into.value(name).and_then(|known| known.to_document());
                let mut merged = known.unwrap_or_default();
                merged.merge(&sent);
                if merged.len() > MAX_KEYS {
                    let message = format!("`{name}` must have at most {MAX_KEYS} keys");
                    issues.push(ValidationError::of_member(name, "too_many_keys", message));
                }
                into.set(name, Json::object(&merged));
            }
            None => into.set(name, value.to_json()),
        }
    }
}
