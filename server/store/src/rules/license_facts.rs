//! Facts of licenses, as reports read them: a tenth of the bytes of the records. They are written with each change of a
//! license that reports see.
//!
//! Invariant: each license has the facts of its record.

use svctrack_core::{
    resources::license::LICENSE,
    revenue::LicenseFacts,
    value::{Document, ObjectId, TenantId},
};

use crate::{
    StoreError,
    rows::{
        AppendRows, Bytes as _, LICENSE_FACTS, Rows, WriteRows, keys,
        revenue_version::ReplacedValue, stored_value,
    },
};

/// Version of the facts, which a store notes. A change of what [`LicenseFacts::as_written`] reads, or of the fields,
/// raises it: the facts of a store are derived again then.
const VERSION: u32 = 1;

/// Name of the facts in the note of a store.
pub(crate) fn name() -> String {
    format!("{}.{VERSION}", LICENSE_FACTS.name())
}

/// Facts of a license, if it exists.
pub(crate) fn load(
    facts: &impl Rows,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<LicenseFacts<'static>>, StoreError> {
    let key = keys::log(tenant, id);
    let row = facts.get(&key)?;
    row.map(|row| stored_value::unseal_row_with_id(&key, row.value())).transpose()
}

/// Facts of all licenses of a tenant.
pub(crate) fn all(
    facts: &impl Rows,
    tenant: TenantId,
) -> Result<impl Iterator<Item = Result<LicenseFacts<'static>, StoreError>>, StoreError> {
    let (first, last) = keys::log_range(tenant);
    let rows = facts.range(first.as_slice()..=last.as_slice())?;
    Ok(rows.map(|row| {
        let (key, value) = row?;
        stored_value::unseal_row_with_id(key.value(), value.value())
    }))
}

/// The row with the facts of a license.
pub(crate) fn row(
    tenant: TenantId,
    facts: &LicenseFacts<'_>,
) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
    let key = keys::log(tenant, facts.id);
    let value = stored_value::seal_row(&key, facts)?;
    Ok((key, value))
}

/// Writes the facts of a license that a change leads to; returns what they replace, if they differ. `before` is the
/// record until then, unless it is new, and `after` the record then, unless it is deleted.
pub(crate) fn follow(
    facts: &mut impl AppendRows,
    tenant: TenantId,
    id: ObjectId,
    (before, after): (Option<&Document>, Option<&Document>),
) -> Result<Option<ReplacedValue>, StoreError> {
    let then = before.and_then(LicenseFacts::as_written);
    let now = after.and_then(LicenseFacts::as_written);
    if then == now {
        return Ok(None);
    }
    match &now {
        None => drop(facts.remove(&keys::log(tenant, id))?),
        Some(now) => {
            let (key, value) = row(tenant, now)?;
            match before {
                None => facts.add(key, value)?,
                Some(_) => facts.put(&key, value)?,
            }
        }
    }
    Ok(Some(then.map_or(ReplacedValue::NoLicense(id), ReplacedValue::of_license)))
}

/// Derives the facts of the licenses of a tenant that has none yet. Those of a corrupted record cannot be read then: a
/// report fails instead of leaving a license out.
pub(crate) fn derive(
    tenant: TenantId,
    records: &impl Rows,
    facts: &mut impl WriteRows,
) -> Result<(), StoreError> {
    let key = |id| keys::record(tenant, LICENSE.code, id);
    let (first, last) = (key(ObjectId::MIN), key(ObjectId::MAX));
    for record in records.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = record?;
        let Some(id) = keys::id_at_end(key.value()) else { continue };
        let license = stored_value::unseal_record(key.value(), value.value())
            .and_then(stored_value::StoredRecord::document);
        let Ok(license) = license else {
            mark_unreadable(tenant, id, facts)?;
            continue;
        };
        if let Some(of_license) = LicenseFacts::as_written(&license) {
            let (key, value) = row(tenant, &of_license)?;
            facts.insert(&key, &value)?;
        }
    }
    Ok(())
}

/// Adds facts that cannot be read.
pub(crate) fn mark_unreadable(
    tenant: TenantId,
    id: ObjectId,
    facts: &mut impl WriteRows,
) -> Result<(), StoreError> {
    facts.insert(&keys::log(tenant, id), &[]).map(drop)
}
