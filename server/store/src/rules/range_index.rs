//! Index entries of fields by whose ranges records are found.

use svctrack_core::{
    resources::REGISTRY,
    schema::{ResourceDef, index},
    value::{ObjectId, TenantId},
};

use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows, keys, stored_value},
};

/// The resources with ordered rows.
pub(crate) fn ordered() -> impl Iterator<Item = &'static ResourceDef> {
    REGISTRY.iter().copied().filter(|def| def.fields.iter().any(|row| row.ordered))
}

/// Names of the ordered fields.
pub(crate) fn names() -> Vec<String> {
    let rows = ordered().flat_map(|def| {
        let rows = def.fields.iter().filter(|row| row.ordered);
        rows.map(|row| format!("{}.{}", def.path, row.name))
    });
    rows.collect()
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
