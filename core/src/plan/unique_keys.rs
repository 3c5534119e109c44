//! Keys that only one record of a tenant can have (R11).

use super::planned::Rejection;
use crate::{
    schema::{IndexEntry, Lookup, ResourceDef},
    value::{ObjectId, ValidationError, quoted::quoted},
};

/// Checks that a record has no issues, and that no other record holds the claims of its entries.
///
/// # Errors
/// [`Rejection::Conflict`] with every value that is taken, [`Rejection::Invalid`] with these and the other issues, if there
/// are any (R11).
pub(super) fn check_claims(
    def: &'static ResourceDef,
    id: Option<ObjectId>,
    added: &[IndexEntry],
    mut issues: Vec<ValidationError>,
    lookup: &dyn Lookup,
) -> Result<(), Rejection> {
    let mut taken = Vec::new();
    for entry in added.iter().filter(|entry| entry.unique) {
        let holder = lookup.find(def, entry.row, &entry.key)?;
        if holder.is_some() && holder != id {
            let message =
                format!("`{}` {} is taken by another record", entry.row, quoted(&entry.key));
            taken.push(ValidationError::of_member(entry.row, "taken", message));
        }
    }
    match (issues.is_empty(), taken.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(Rejection::Conflict(taken)),
        (false, _) => {
            issues.extend(taken);
            Err(Rejection::Invalid(issues))
        }
    }
}
