//! Entries in the index of rows by whose ranges records are found. A store that was last written before a row was
//! ordered has none of it: they are added when it is opened, in one transaction.

use redb::{Database, ReadableDatabase as _};
use svctrack_core::{
    resources::REGISTRY,
    schema::{ResourceDef, index},
    value::{ObjectId, TenantId},
};

use super::{
    open::META_ORDERED,
    tables::{ReadTable, WriteTable},
    writer::begin,
};
use crate::store::{
    StoreError,
    rows::{Bytes as _, INDEX, META, RECORDS, Rows, TENANTS, WriteRows as _, codec, keys},
};

/// The resources with ordered rows.
fn ordered() -> impl Iterator<Item = &'static ResourceDef> {
    REGISTRY.iter().copied().filter(|def| def.rows.iter().any(|row| row.ordered))
}

/// The rows that are ordered today, as the store notes them.
fn names() -> String {
    let rows = ordered().flat_map(|def| {
        let rows = def.rows.iter().filter(|row| row.ordered);
        rows.map(|row| format!("{}.{}", def.path, row.name))
    });
    rows.collect::<Vec<_>>().join(" ")
}

/// Notes that all entries are there.
pub(super) fn note(meta: &mut WriteTable<'_>) -> Result<(), StoreError> {
    meta.insert(META_ORDERED, codec::seal(META_ORDERED, names().as_bytes()).as_slice())?;
    Ok(())
}

/// Whether a store notes that all entries are there.
pub(super) fn are_noted(meta: &impl Rows) -> Result<bool, StoreError> {
    let expected = codec::seal(META_ORDERED, names().as_bytes());
    Ok(meta.get(META_ORDERED)?.is_some_and(|noted| noted.value() == expected))
}

/// Adds the entries that a store lacks.
pub(super) fn add_missing(database: &Database) -> Result<(), StoreError> {
    if are_noted(&ReadTable::open(&database.begin_read()?, META)?)? {
        return Ok(());
    }
    let transaction = begin(database)?;
    {
        let records = WriteTable::open(&transaction, RECORDS)?;
        let mut entries = WriteTable::open(&transaction, INDEX)?;
        for tenant in WriteTable::open(&transaction, TENANTS)?.iter()? {
            let Some(tenant) = keys::tenant_of(tenant?.0.value()) else { continue };
            for def in ordered() {
                add_of(tenant, def, &records, &mut entries)?;
            }
        }
        note(&mut WriteTable::open(&transaction, META)?)?;
    }
    transaction.commit()?;
    tracing::info!("the index of the store was brought up to that of today");
    Ok(())
}

/// Adds the entries of a tenant's records. A damaged record has none: it is reported when it is read.
fn add_of(
    tenant: TenantId,
    def: &ResourceDef,
    records: &impl Rows,
    entries: &mut WriteTable<'_>,
) -> Result<(), StoreError> {
    let key = |id| keys::record(tenant, def.code, id);
    let (first, last) = (key(ObjectId::MIN), key(ObjectId::MAX));
    for record in records.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = record?;
        let document =
            codec::unseal_record(key.value(), value.value()).and_then(codec::Stored::document);
        let (Some(id), Ok(document)) = (keys::id_at_end(key.value()), document) else { continue };
        let ordered = |name: &str| def.row(name).is_some_and(|row| row.ordered);
        for entry in index::entries(def, &document).iter().filter(|entry| ordered(entry.row)) {
            let key = keys::index(tenant, def.code, entry.row, &entry.key, id);
            entries.insert(key.as_slice(), [].as_slice())?;
        }
    }
    Ok(())
}
