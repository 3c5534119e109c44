//! Tenants and tokens, the few rows that are found without knowing a tenant.

use redb::{Database, ReadTransaction, ReadableTable, ReadableTableMetadata as _};
use svctrack_core::value::{TenantId, Timestamp};

use super::{
    tables::{TENANTS, TOKENS, WriteTables},
    writer::begin,
};
use crate::{auth::TokenRecord, store::StoreError};

pub(super) fn has_tenant(snapshot: &ReadTransaction, tenant: TenantId) -> Result<bool, StoreError> {
    Ok(snapshot.open_table(TENANTS)?.get(tenant.as_bytes().as_slice())?.is_some())
}

pub(super) fn list(snapshot: &ReadTransaction, limit: usize) -> Result<Vec<TenantId>, StoreError> {
    let table = snapshot.open_table(TENANTS)?;
    let mut tenants = Vec::new();
    for row in table.iter()?.take(limit) {
        tenants
            .extend(row?.0.value().first_chunk::<16>().map(|bytes| TenantId::from_bytes(*bytes)));
    }
    Ok(tenants)
}

pub(super) fn token(
    snapshot: &ReadTransaction,
    id: &str,
) -> Result<Option<TokenRecord>, StoreError> {
    let table = snapshot.open_table(TOKENS)?;
    let Some(row) = table.get(id.as_bytes())? else {
        return Ok(None);
    };
    let record = serde_json::from_slice(row.value());
    record.map(Some).map_err(|error| StoreError::Corrupted(error.to_string()))
}

/// Makes the first tenant and its token, unless there is a tenant already.
pub(super) fn found(
    database: &Database,
    token: &TokenRecord,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let internal = |error: serde_json::Error| StoreError::Internal(error.to_string());
    let transaction = begin(database)?;
    {
        let mut tables = WriteTables::open(&transaction)?;
        if !tables.tenants.is_empty()? {
            return Ok(false);
        }
        let tenant = serde_json::json!({ "createdAt": now.to_string() }).to_string();
        tables.tenants.insert(token.tenant.as_bytes().as_slice(), tenant.as_bytes())?;
        let row = serde_json::to_vec(token).map_err(internal)?;
        tables.tokens.insert(token.id.as_bytes(), row.as_slice())?;
    }
    transaction.commit()?;
    Ok(true)
}
