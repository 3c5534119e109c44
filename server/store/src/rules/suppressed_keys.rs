//! Hashes of the keys of erased persons: enough to keep them out, not to read who they were.

use sha2::{Digest as _, Sha256};
use svctrack_core::value::{TenantId, Timestamp};

use super::open_tables::{Tables, Transaction};
use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows as _, keys, stored_value},
};

/// Hash of a key of a person, another one for each tenant and field.
fn hash_of(tenant: TenantId, row: &str, key: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tenant.as_bytes());
    hasher.update(row);
    hasher.update([0]);
    hasher.update(key);
    hasher.finalize().into()
}

/// Whether a key, in the form in which it is compared, is suppressed.
pub(crate) fn holds(
    table: &impl Rows,
    tenant: TenantId,
    row: &str,
    key: &str,
) -> Result<bool, StoreError> {
    // Most stores have no suppressed keys, and every event is checked.
    if table.len()? == 0 {
        return Ok(false);
    }
    let key = keys::suppressed(tenant, &hash_of(tenant, row, key));
    let row = table.get(key.as_slice())?;
    Ok(row.map(|row| stored_value::unseal(&key, row.value()).map(drop)).transpose()?.is_some())
}

/// Suppresses a key from now on.
pub(crate) fn keep_out(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    row: &str,
    key: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = keys::suppressed(tenant, &hash_of(tenant, row, key));
    let value = stored_value::seal(&key, &now.as_ms().to_be_bytes());
    tables.suppressed.insert(key.as_slice(), value.as_slice())?;
    Ok(())
}

/// Lifts the suppression of a key; returns whether it was suppressed.
pub(crate) fn let_in(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    row: &str,
    key: &str,
) -> Result<bool, StoreError> {
    let key = keys::suppressed(tenant, &hash_of(tenant, row, key));
    let known = tables.suppressed.remove(key.as_slice())?;
    Ok(known.is_some())
}
