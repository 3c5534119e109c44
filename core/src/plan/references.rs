//! References of records to each other (R2): resolved when a record is written, and looked up when one is deleted.

use crate::{
    resources,
    schema::{
        FieldDef, FieldKind, Lookup, LookupError, OnMissing, ReferenceDef, ResourceDef, index,
    },
    value::{Document, Json, ObjectId, RecordRef, ValidationError, quoted::quoted},
};

/// Replaces the references of a record by ids; a reference to no record is an issue, but for a plain id in a field
/// whose record need not exist (R2).
pub(super) fn resolve_references(
    def: &ResourceDef,
    document: &mut Document,
    lookup: &dyn Lookup,
    issues: &mut Vec<ValidationError>,
) -> Result<(), LookupError> {
    for field in def.fields {
        let Some((refers, target)) = target_of(field) else {
            continue;
        };
        if refers.on_missing == OnMissing::Own {
            continue;
        }
        let Some(value) = document.value(field.name) else {
            continue;
        };
        let texts: Vec<String> = match value.items() {
            Some(items) => {
                items.iter().filter_map(|item| Some(item.as_ref().as_str()?.into_owned())).collect()
            }
            None => value.as_str().map(|text| text.into_owned()).into_iter().collect(),
        };
        let mut ids = Vec::with_capacity(texts.len());
        for text in texts {
            match resolve_text(refers, target, &text, lookup)? {
                Some(id) => ids.push(id),
                None => issues.push(ValidationError::of_member(
                    field.name,
                    target.not_found,
                    format!(
                        "`{}` must name a {} that exists; found {}",
                        field.name,
                        target.name,
                        quoted(&text)
                    ),
                )),
            }
        }
        let resolved = match (field.kind, ids.first()) {
            (FieldKind::References, _) => Json::strings(ids.iter().map(String::as_str)),
            (_, Some(id)) => Json::string(id),
            (_, None) => continue,
        };
        document.set(field.name, resolved);
    }
    Ok(())
}

pub(super) fn target_of(field: &FieldDef) -> Option<(ReferenceDef, &'static ResourceDef)> {
    let refers = field.refers?;
    Some((refers, resources::by_name(refers.resource)?))
}

/// The id that is stored for a reference, if it is valid.
pub(super) fn resolve_text(
    refers: ReferenceDef,
    target: &ResourceDef,
    text: &str,
    lookup: &dyn Lookup,
) -> Result<Option<String>, LookupError> {
    if refers.on_missing == OnMissing::Keep && !RecordRef::is_prefixed(text) {
        return Ok(Some(text.to_owned()));
    }
    let Some(reference) = RecordRef::parse(text) else {
        return Ok(None);
    };
    Ok(lookup.locate(target, &reference)?.map(|id| id.to_string()))
}

/// The first resource and field through which another record refers to this one.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn referrer(
    def: &ResourceDef,
    id: ObjectId,
    lookup: &dyn Lookup,
) -> Result<Option<(&'static ResourceDef, &'static FieldDef)>, LookupError> {
    for other in resources::REGISTRY {
        for field in other.fields.iter().filter(|field| must_refer_to(field, def)) {
            if !lookup
                .holders(other, field.name, &index::key_of(field, &id.to_string()), 1)?
                .is_empty()
            {
                return Ok(Some((other, field)));
            }
        }
    }
    Ok(None)
}

fn must_refer_to(field: &FieldDef, def: &ResourceDef) -> bool {
    field
        .refers
        .is_some_and(|refers| refers.on_missing != OnMissing::Keep && refers.resource == def.name)
}
