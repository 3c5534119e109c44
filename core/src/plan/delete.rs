//! Delete, and how a path finds its record.

use super::{
    Basis, Change, Refusal,
    change::version_of,
    merge::{referrer, resolve},
};
use crate::{
    schema::{Lookup, LookupError, ResourceDef, index},
    value::{Issue, ObjectId, RecordRef},
};

/// The id of the record that a path names, if it is there (R2).
///
/// # Errors
/// When the store cannot say.
pub fn locate(
    def: &ResourceDef,
    reference: &RecordRef,
    lookup: &dyn Lookup,
) -> Result<Option<ObjectId>, LookupError> {
    resolve(def, reference, lookup)
}

/// Plans the removal of the record `id`.
///
/// # Errors
/// [`Refusal::NotFound`] when the record is not there, [`Refusal::Conflict`] while another record
/// refers to it (R29).
pub fn delete(
    def: &'static ResourceDef,
    id: ObjectId,
    lookup: &dyn Lookup,
) -> Result<Vec<Change>, Refusal> {
    let stored = lookup.record(def, id)?.ok_or(Refusal::NotFound)?;
    if let Some((other, row)) = referrer(def, id, lookup)? {
        let message = format!(
            "a record of `{}` refers to this one by `{}`",
            other.path, row.name
        );
        return Err(Refusal::Conflict(vec![Issue::of_body(
            "referred_to",
            message,
        )]));
    }
    let removed = index::entries(def, &stored);
    Ok(vec![Change::Delete {
        def,
        id,
        basis: Basis::Version(version_of(&stored)),
        removed,
    }])
}
