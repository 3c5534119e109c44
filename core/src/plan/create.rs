//! Create: a new record from a body.

use super::{
    Basis, Change, Ctx, Planned, Refusal,
    merge::{check_claims, fill, merge, resolve_references},
};
use crate::{
    schema::{Lookup, ResourceDef, index},
    value::{Document, Json},
};

/// Plans a new record from `patch`, a body that [`crate::schema::shape::check_create`] has checked.
///
/// # Errors
/// [`Refusal::Invalid`] for a reference to nothing and what the resource's own rules refuse,
/// [`Refusal::Conflict`] for a key that is taken.
pub fn create(
    def: &'static ResourceDef,
    patch: Document,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Refusal> {
    let mut document = Document::default();
    merge(def, patch, &mut document);
    let mut issues = Vec::new();
    resolve_references(def, &mut document, lookup, &mut issues)?;
    if issues.is_empty() {
        (def.complete)(&mut document, lookup, &mut issues)?;
    }
    if !issues.is_empty() {
        return Err(Refusal::Invalid(issues));
    }

    let id = ctx.ids.next(ctx.now);
    let now = Json::string(&ctx.now.to_string());
    document.set("_id", Json::string(&id.to_string()));
    document.set("createdAt", now.clone());
    document.set("updatedAt", now);
    document.set("__v", Json::integer(0));
    let document = fill(def, document);
    let added = index::entries(def, &document);
    check_claims(def, None, &added, lookup)?;
    let change = Change::Put {
        def,
        id,
        basis: Basis::Absent,
        document: document.clone(),
        added,
        removed: Vec::new(),
    };
    Ok(Planned {
        changes: vec![change],
        id,
        document,
    })
}
