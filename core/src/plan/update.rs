//! Update: a body merged into a stored record.

use super::{
    Basis, Change, Ctx, Planned, Refusal,
    change::version_of,
    merge::{check_claims, fill, merge, resolve_references},
};
use crate::{
    schema::{Lookup, ResourceDef, index},
    value::{Document, Json, ObjectId},
};

/// Plans the merge of `patch`, a body that [`crate::schema::shape::check_update`] has checked, into
/// the record `id`. When nothing changes there are no changes, and version and date stay (R4).
///
/// # Errors
/// [`Refusal::NotFound`] when the record is not there; otherwise as [`super::create()`].
pub fn update(
    def: &'static ResourceDef,
    id: ObjectId,
    patch: Document,
    lookup: &dyn Lookup,
    ctx: &Ctx,
) -> Result<Planned, Refusal> {
    let stored = lookup.record(def, id)?.ok_or(Refusal::NotFound)?;
    let mut document = stored.clone();
    merge(def, patch, &mut document);
    let mut issues = Vec::new();
    resolve_references(def, &mut document, lookup, &mut issues)?;
    if issues.is_empty() {
        (def.complete)(&mut document, lookup, &mut issues)?;
    }
    if !issues.is_empty() {
        return Err(Refusal::Invalid(issues));
    }
    let document = fill(def, document);
    if document == stored {
        return Ok(Planned {
            changes: Vec::new(),
            id,
            document,
        });
    }
    put(def, id, &stored, document, lookup, ctx)
}

fn put(
    def: &'static ResourceDef,
    id: ObjectId,
    stored: &Document,
    mut document: Document,
    lookup: &dyn Lookup,
    ctx: &Ctx,
) -> Result<Planned, Refusal> {
    let version = version_of(stored);
    document.set("updatedAt", Json::string(&ctx.now.to_string()));
    document.set("__v", Json::integer(version + 1));
    let (before, after) = (index::entries(def, stored), index::entries(def, &document));
    let added = index::difference(&after, &before);
    check_claims(def, Some(id), &added, lookup)?;
    let change = Change::Put {
        def,
        id,
        basis: Basis::Version(version),
        document: document.clone(),
        added,
        removed: index::difference(&before, &after),
    };
    Ok(Planned {
        changes: vec![change],
        id,
        document,
    })
}
