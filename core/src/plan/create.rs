//! Create: a new record from a body, and the records that it needs, such as a ticket's submitter.

use super::{
    change::Change,
    context::Ctx,
    planned::{Planned, Rejection},
    record_update::{AssembledRecord, assemble},
    unique_keys::check_claims,
};
use crate::{
    schema::{CheckedBody, Lookup, ResourceDef, SideRecord, index},
    value::{Document, Json, ObjectId},
};

/// Plans a new record from a body that [`crate::schema::checked_body::check_create`] has checked.
///
/// # Errors
/// [`Rejection::Invalid`] with all problems of the body: its own issues, references to records that do not exist, and
/// rejections by the rules of the resource. [`Rejection::Conflict`] for a key that is taken.
pub fn create(
    def: &'static ResourceDef,
    body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let id = ctx.ids.next(ctx.now)?;
    create_as(def, id, body, lookup, ctx)
}

/// Plans a new record with an id that has been taken already.
///
/// # Errors
/// As [`create`].
pub fn create_as(
    def: &'static ResourceDef,
    id: ObjectId,
    body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let now = Json::string(&ctx.now.to_string());
    let mut base = Document::default();
    base.set("_id", Json::string(&id.to_string()));
    base.set("createdAt", now.clone());
    base.set("updatedAt", now);
    base.set("__v", Json::integer(0));
    let AssembledRecord { document, side_records, ignored, issues } =
        assemble(def, None, base, body, lookup, ctx)?;
    let added = index::entries(def, &document);
    check_claims(def, None, &added, issues, lookup)?;
    let mut changes = create_side_records(side_records, lookup, ctx)?;
    changes.push(Change::Put {
        def,
        id,
        before: None,
        document: document.clone(),
        added,
        removed: Vec::new(),
    });
    Ok(Planned { changes, id, document, ignored })
}

/// Plans the records that are created with another.
pub(super) fn create_side_records(
    side_records: Vec<SideRecord>,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, Rejection> {
    let mut changes = Vec::new();
    for SideRecord { def, id, patch } in side_records {
        changes.extend(create_as(def, id, CheckedBody::trusted(patch), lookup, ctx)?.changes);
    }
    Ok(changes)
}
