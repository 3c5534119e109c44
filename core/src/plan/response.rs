//! The public form of a stored record: with the fields that are computed at read.

use super::record_update::{STAND_INS, stand_ins};
use crate::{
    resources,
    schema::{ComputedOnRead, FieldDef, Lookup, LookupError, ReadCtx, ResourceDef},
    value::{Document, Json, ObjectId},
};

/// Field with the name of a record, by which other records show it.
const NAME: &str = "name";

/// The record as it is returned: the stored fields, then those computed at read, but for those that have to be selected.
///
/// # Errors
/// When the store cannot read another record.
pub fn to_response(
    def: &ResourceDef,
    stored: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Document, LookupError> {
    response_fields(def, stored, &|field| !field.is_on_request(), ctx)
}

/// The record with the wanted ones of the fields computed at read: for callers that need few of them, since some fields
/// read other records.
///
/// # Errors
/// When the store cannot read another record.
pub fn response_fields(
    def: &ResourceDef,
    stored: &Document,
    wanted: &dyn Fn(&FieldDef) -> bool,
    ctx: &ReadCtx<'_>,
) -> Result<Document, LookupError> {
    let mut response = stored.clone();
    response.remove(STAND_INS);
    for field in def.fields.iter().filter(|field| wanted(field)) {
        let value = match field.computed_at_read() {
            None => None,
            Some(ComputedOnRead::Computed(compute)) => compute(stored, ctx)?,
            Some(ComputedOnRead::NameOf(reference)) => name_of(def, reference, stored, ctx.lookup)?,
            Some(ComputedOnRead::Derived) => {
                Some(Json::strings(stand_ins(stored).iter().map(String::as_str)))
            }
        };
        if let Some(value) = value {
            response.set(field.name, value);
        }
    }
    Ok(response)
}

/// Name of the record that the field `reference` refers to, if that record exists.
fn name_of(
    def: &ResourceDef,
    reference: &str,
    stored: &Document,
    lookup: &dyn Lookup,
) -> Result<Option<Json>, LookupError> {
    let refers = def.field(reference).and_then(|field| field.refers);
    let target = refers.and_then(|refers| resources::by_name(refers.resource));
    let id = stored.text(reference).and_then(|id| ObjectId::parse(&id));
    let (Some(target), Some(id)) = (target, id) else { return Ok(None) };
    let record = lookup.record(target, id)?;
    Ok(record.and_then(|record| record.value(NAME).map(|name| name.to_json())))
}

/// Text under which a record is stored, and the number of its bytes that a response has, without the closing brace.
pub fn stored_text(document: &Document) -> (String, usize) {
    let text = document.to_text();
    let hidden = document.iter().last().filter(|(name, _)| *name == STAND_INS);
    let tail = match hidden {
        Some((name, value)) => r#","":}"#.len() + name.len() + value.text().len(),
        None => "}".len(),
    };
    let shown = text.len().saturating_sub(tail);
    (text, shown)
}

/// Whether a record of this resource is returned as it is stored, with nothing computed at read.
pub fn is_response_as_stored(def: &ResourceDef) -> bool {
    def.fields.iter().all(|field| field.computed_at_read().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_separate_from_what_is_shown() {
        for (text, shown) in [
            (r#"{"_id":"1","type":"x","~":["type"]}"#, r#"{"_id":"1","type":"x""#),
            (r#"{"_id":"1"}"#, r#"{"_id":"1""#),
        ] {
            let document = Document::parse(text.as_bytes()).unwrap();
            assert_eq!(stored_text(&document), (text.to_owned(), shown.len()));
        }
    }
}
