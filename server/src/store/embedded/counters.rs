//! Numbers that are kept beside a tenant's records.

use redb::ReadableTable;
use svctrack_core::value::TenantId;

use super::{keys, tables::WriteTables};
use crate::store::StoreError;

/// Moves a counter, which never goes below zero, and returns where it stands.
pub(super) fn add(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    name: &str,
    by: i64,
) -> Result<u64, StoreError> {
    let key = keys::counter(tenant, name);
    let known = tables.counters.get(key.as_slice())?;
    let known =
        known.and_then(|known| known.value().first_chunk().map(|bytes| u64::from_be_bytes(*bytes)));
    let count = known.unwrap_or(0).saturating_add_signed(by);
    if by != 0 {
        tables.counters.insert(key.as_slice(), count.to_be_bytes().as_slice())?;
    }
    Ok(count)
}
