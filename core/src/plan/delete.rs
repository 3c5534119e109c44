//! Deleting a record, which nothing may refer to (R15).

use super::{change::Change, planned::Rejection, references::referrer};
use crate::{
    schema::{Lookup, ResourceDef, index},
    value::{ObjectId, ValidationError},
};

/// Plans the removal of the record `id`.
///
/// # Errors
/// [`Rejection::NotFound`] when the record is not there, [`Rejection::Conflict`] while another record
/// refers to it (R29).
pub fn delete(
    def: &'static ResourceDef,
    id: ObjectId,
    lookup: &dyn Lookup,
) -> Result<Vec<Change>, Rejection> {
    let stored = lookup.record(def, id)?.ok_or(Rejection::NotFound)?;
    if let Some((other, row)) = referrer(def, id, lookup)? {
        let message = format!(
            "records of `{}` refer to this one by `{}`: change or delete them first",
            other.path, row.name
        );
        return Err(Rejection::Conflict(vec![ValidationError::of_body("referred_to", message)]));
    }
    let removed = index::entries(def, &stored);
    Ok(vec![Change::Delete { def, id, before: stored, removed }])
}
