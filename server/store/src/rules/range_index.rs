//! Index entries of fields by whose ranges records are found, and the note which fields have entries.

use svctrack_core::{
    resources::REGISTRY,
    schema::{ResourceDef, index},
    value::{ObjectId, TenantId},
};

use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows, keys, meta::META_ORDERED, stored_value},
};

/// The resources with ordered rows.
pub(crate) fn ordered() -> impl Iterator<Item = &'static ResourceDef> {
    REGISTRY.iter().copied().filter(|def| def.fields.iter().any(|row| row.ordered))
}

/// Names of the ordered fields, in the form of the note.
fn names() -> String {
    let rows = ordered().flat_map(|def| {
        let rows = def.fields.iter().filter(|row| row.ordered);
        rows.map(|row| format!("{}.{}", def.path, row.name))
    });
    rows.collect::<Vec<_>>().join(" ")
}

/// Notes that all entries exist.
pub(crate) fn note(meta: &mut impl WriteRows) -> Result<(), StoreError> {
    meta.insert(META_ORDERED, stored_value::seal(META_ORDERED, names().as_bytes()).as_slice())?;
    Ok(())
}

/// Whether a store notes that all entries exist.
pub(crate) fn are_noted(meta: &impl Rows) -> Result<bool, StoreError> {
    let expected = stored_value::seal(META_ORDERED, names().as_bytes());
    Ok(meta.get(META_ORDERED)?.is_some_and(|noted| noted.value() == expected))
}

/// Adds the entries of a tenant's records. A corrupted record has none: it is reported when it is read.
pub(crate) fn add_of(
    tenant: TenantId,
    def: &ResourceDef,
    records: &impl Rows,
    entries: &mut impl WriteRows,
) -> Result<(), StoreError> {
    let key = |id| keys::record(tenant, def.code, id);
    let (first, last) = (key(ObjectId::MIN), key(ObjectId::MAX));
    for record in records.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = record?;
        let document = stored_value::unseal_record(key.value(), value.value())
            .and_then(stored_value::StoredRecord::document);
        let (Some(id), Ok(document)) = (keys::id_at_end(key.value()), document) else { continue };
        let ordered = |name: &str| def.field(name).is_some_and(|row| row.ordered);
        for entry in index::entries(def, &document).iter().filter(|entry| ordered(entry.row)) {
            let key = keys::index(tenant, def.code, entry.row, &entry.key, id);
            entries.insert(key.as_slice(), [].as_slice())?;
        }
    }
    Ok(())
}
