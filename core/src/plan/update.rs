//! Update: merges a body into a stored record (R4, R5). Absent members are unchanged, and `null` clears a member.

use super::{
    change::{Change, version_of},
    context::Ctx,
    create::create_side_records,
    planned::{Planned, Rejection},
    record_update::{AssembledRecord, assemble},
    unique_keys::check_claims,
};
use crate::{
    schema::{CheckedBody, Fill, Lookup, ResourceDef, index},
    value::{Document, Json, ObjectId, ValidationError},
};

/// Plans the merge of a body that [`crate::schema::checked_body::check_update`] has checked into the record `id`. If nothing
/// changes, there are no changes, and version and date stay (R4).
///
/// # Errors
/// [`Rejection::NotFound`] when the record does not exist; otherwise as [`super::create()`].
pub fn update(
    def: &'static ResourceDef,
    id: ObjectId,
    body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let stored = lookup.record(def, id)?.ok_or(Rejection::NotFound)?;
    update_stored(def, id, stored, body, lookup, ctx)
}

/// Updates a record that has been read already, as [`update`] does.
pub(super) fn update_stored(
    def: &'static ResourceDef,
    id: ObjectId,
    stored: Document,
    body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let passed: Vec<_> = def
        .fields
        .iter()
        .filter(|field| field.importable && field.at_read.is_some())
        .filter(|field| matches!(field.fill, Fill::Service))
        .filter(|field| body.patch.get(field.name).is_none())
        .collect();
    let AssembledRecord { mut document, side_records, ignored, issues } =
        assemble(def, Some(&stored), stored.clone(), body, lookup, ctx)?;
    if document == stored && issues.is_empty() {
        return Ok(Planned { changes: Vec::new(), id, document, ignored });
    }
    // Values that an import brought back were those of the record before it changed.
    passed.iter().for_each(|field| drop(document.remove(field.name)));
    let (put, document) = put(def, id, stored, (document, issues), lookup, ctx)?;
    let mut changes = create_side_records(side_records, lookup, ctx)?;
    changes.push(put);
    Ok(Planned { changes, id, document, ignored })
}

pub(super) fn put(
    def: &'static ResourceDef,
    id: ObjectId,
    stored: Document,
    (mut document, issues): (Document, Vec<ValidationError>),
    lookup: &dyn Lookup,
    ctx: &Ctx,
) -> Result<(Change, Document), Rejection> {
    let version = version_of(&stored);
    document.set("updatedAt", Json::string(&ctx.now.to_string()));
    document.set("__v", Json::integer(version + 1));
    let (before, after) = (index::entries(def, &stored), index::entries(def, &document));
    let added = index::difference(&after, &before);
    check_claims(def, Some(id), &added, issues, lookup)?;
    let change = Change::Put {
        def,
        id,
        before: Some(stored),
        document: document.clone(),
        added,
        removed: index::difference(&before, &after),
    };
    Ok((change, document))
}
