//! From what was stored and what was sent to the record that will be stored (R2, R4, R5), and what
//! its index entries claim.

use super::Refusal;
use crate::{
    resources,
    schema::{Entry, Fill, Kind, Lookup, LookupError, ResourceDef, Row, index},
    value::{Document, Issue, Json, ObjectId, RecordRef, issue::quoted},
};

/// Merges what was sent into a record: absent is left alone, `null` clears, free-form objects merge
/// key by key (R5).
pub(super) fn merge(def: &ResourceDef, mut patch: Document, into: &mut Document) {
    (def.prepare)(&mut patch);
    for (name, value) in patch.iter() {
        let row = def.row(name).map(|row| row.kind);
        match (row, value.to_document()) {
            _ if value.is_null() => {
                into.remove(name);
            }
            (Some(Kind::Object), Some(sent)) => {
                let mut merged = into
                    .value(name)
                    .and_then(|known| known.to_document())
                    .unwrap_or_default();
                merged.merge(&sent);
                into.set(name, Json::object(&merged));
            }
            _ => into.set(name, value.to_json()),
        }
    }
}

/// Replaces the references of a record by the ids of the records that they name; what names none is
/// an issue (R2).
pub(super) fn resolve_references(
    def: &ResourceDef,
    document: &mut Document,
    lookup: &dyn Lookup,
    issues: &mut Vec<Issue>,
) -> Result<(), LookupError> {
    for row in def.rows {
        let Some(target) = row.refers.and_then(resources::by_name) else {
            continue;
        };
        let Some(text) = document.text(row.name).map(|text| text.into_owned()) else {
            continue;
        };
        let found = match RecordRef::parse(&text) {
            Some(reference) => resolve(target, &reference, lookup)?,
            None => None,
        };
        match found {
            Some(id) => document.set(row.name, Json::string(&id.to_string())),
            None => issues.push(Issue::of_member(
                row.name,
                "reference_not_found",
                format!(
                    "`{}` must name a {} that exists; found {}",
                    row.name,
                    target.name,
                    quoted(&text)
                ),
            )),
        }
    }
    Ok(())
}

/// The id of the record that a reference names, if it is there.
///
/// # Errors
/// When the store cannot say.
pub(super) fn resolve(
    def: &ResourceDef,
    reference: &RecordRef,
    lookup: &dyn Lookup,
) -> Result<Option<ObjectId>, LookupError> {
    match reference {
        RecordRef::Id(id) => Ok(lookup.record(def, *id)?.map(|_| *id)),
        RecordRef::External(key) => lookup.find(def, "externalId", key),
        RecordRef::Source(key) => lookup.find(def, "sourceId", key),
    }
}

/// Computes the rows that are filled on every write, and puts the members in the order of the rows.
pub(super) fn fill(def: &ResourceDef, mut document: Document) -> Document {
    let mut filled = Document::default();
    for row in def.rows {
        if let Fill::OnWrite(compute) = row.fill {
            match compute(&document) {
                Some(value) => document.set(row.name, value),
                None => drop(document.remove(row.name)),
            }
        }
        if let Some(value) = document.value(row.name).filter(|_| row.is_stored()) {
            filled.set(row.name, value.to_json());
        }
    }
    filled
}

/// Checks that no other record holds what the entries claim.
///
/// # Errors
/// [`Refusal::Conflict`] with every value that is taken (R11).
pub(super) fn check_claims(
    def: &'static ResourceDef,
    id: Option<ObjectId>,
    added: &[Entry],
    lookup: &dyn Lookup,
) -> Result<(), Refusal> {
    let mut taken = Vec::new();
    for entry in added.iter().filter(|entry| entry.unique) {
        let holder = lookup.find(def, entry.row, &entry.key)?;
        if holder.is_some() && holder != id {
            let message = format!(
                "`{}` {} is taken by another record",
                entry.row,
                quoted(&entry.key)
            );
            taken.push(Issue::of_member(entry.row, "taken", message));
        }
    }
    if taken.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Conflict(taken))
    }
}

/// The first resource and row through which another record refers to this one.
///
/// # Errors
/// When the store cannot say.
pub(super) fn referrer(
    def: &ResourceDef,
    id: ObjectId,
    lookup: &dyn Lookup,
) -> Result<Option<(&'static ResourceDef, &'static Row)>, LookupError> {
    for other in resources::REGISTRY {
        for row in other.rows.iter().filter(|row| row.refers == Some(def.name)) {
            if !lookup
                .holders(other, row.name, &index::key_of(row, &id.to_string()), 1)?
                .is_empty()
            {
                return Ok(Some((other, row)));
            }
        }
    }
    Ok(None)
}
