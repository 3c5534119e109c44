//! Tenants and tokens, the few rows that are found without knowing a tenant.

use redb::{Database, ReadTransaction, ReadableTable, ReadableTableMetadata as _};
use svctrack_core::value::{TenantId, Timestamp};

use super::{
    keys,
    tables::{TENANTS, TOKENS, TOKENS_OF_TENANT, WriteTables},
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

/// The tokens of a tenant.
pub(super) fn tokens(
    snapshot: &ReadTransaction,
    tenant: TenantId,
) -> Result<Vec<TokenRecord>, StoreError> {
    let ids = snapshot.open_table(TOKENS_OF_TENANT)?;
    let first = keys::token_of_tenant(tenant, "");
    let last = keys::token_of_tenant(tenant, "\u{10ffff}");
    let mut tokens = Vec::new();
    for row in ids.range(first.as_slice()..=last.as_slice())? {
        let (key, _) = row?;
        let id =
            key.value().get(tenant.as_bytes().len()..).and_then(|id| std::str::from_utf8(id).ok());
        if let Some(id) = id {
            tokens.extend(token(snapshot, id)?);
        }
    }
    Ok(tokens)
}

/// Keeps a token.
pub(super) fn add_token(
    tables: &mut WriteTables<'_>,
    token: &TokenRecord,
) -> Result<(), StoreError> {
    let row = serde_json::to_vec(token).map_err(|error| StoreError::Internal(error.to_string()))?;
    tables.tokens.insert(token.id.as_bytes(), row.as_slice())?;
    let key = keys::token_of_tenant(token.tenant, &token.id);
    tables.tokens_of_tenant.insert(key.as_slice(), [].as_slice())?;
    Ok(())
}

/// Removes a token of a tenant; says whether there was one.
pub(super) fn revoke_token(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    id: &str,
) -> Result<bool, StoreError> {
    let key = keys::token_of_tenant(tenant, id);
    let there = tables.tokens_of_tenant.remove(key.as_slice())?.is_some();
    if there {
        tables.tokens.remove(id.as_bytes())?;
    }
    Ok(there)
}

/// Makes the first tenant and its token, unless there is a tenant already.
pub(super) fn found(
    database: &Database,
    token: &TokenRecord,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let transaction = begin(database)?;
    {
        let mut tables = WriteTables::open(&transaction)?;
        if !tables.tenants.is_empty()? {
            return Ok(false);
        }
        let tenant = serde_json::json!({ "createdAt": now.to_string() }).to_string();
        tables.tenants.insert(token.tenant.as_bytes().as_slice(), tenant.as_bytes())?;
        add_token(&mut tables, token)?;
    }
    transaction.commit()?;
    Ok(true)
}
