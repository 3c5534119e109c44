//! Rows that are derived from records, and the note which of them a store has: index entries of ordered fields, and the
//! facts of licenses. A program of another version may lack some of them, and then notes those that it writes.

use svctrack_core::value::TenantId;

use super::{license_facts, range_index};
use crate::{
    StoreError,
    rows::{Bytes as _, LICENSE_FACTS, Rows, WriteRows, meta::META_DERIVED, stored_value},
};

/// Names of the derived rows, in the form of the note.
fn noted() -> Vec<u8> {
    let mut names = range_index::names();
    names.push(LICENSE_FACTS.name().to_owned());
    stored_value::seal(META_DERIVED, names.join(" ").as_bytes())
}

/// Notes that all derived rows exist.
pub(crate) fn note(meta: &mut impl WriteRows) -> Result<(), StoreError> {
    meta.insert(META_DERIVED, &noted()).map(drop)
}

/// Whether a store notes that all derived rows exist.
pub(crate) fn are_noted(meta: &impl Rows) -> Result<bool, StoreError> {
    Ok(meta.get(META_DERIVED)?.is_some_and(|found| found.value() == noted()))
}

/// Derives the rows of a tenant again.
pub(crate) fn derive(
    tenant: TenantId,
    records: &impl Rows,
    (index, facts): (&mut impl WriteRows, &mut impl WriteRows),
) -> Result<(), StoreError> {
    for def in range_index::ordered() {
        range_index::add_of(tenant, def, records, index)?;
    }
    license_facts::derive(tenant, records, facts)
}
