//! Tenants and tokens, the few rows that are found without knowing a tenant.

use std::collections::BTreeMap;

use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata as _};
use serde::de::DeserializeOwned;
use svctrack_core::{
    plan::{self, Change, Ctx, Refusal},
    value::{Issue, TenantId, Timestamp},
};

use super::{
    apply::apply,
    codec, damage, keys,
    pending::Pending,
    tables::{ReadTable, TENANTS, TOKENS, TOKENS_OF_TENANT, WriteTables},
    view::View,
};
use crate::{
    auth::{TenantRecord, TokenRecord, tenant_of_own},
    store::{Actor, Reply, StoreError},
};

/// Most tenants of a store: a list of them is answered whole.
const MAX_TENANTS: u64 = 10_000;
/// Most tokens of a tenant: a list of them is answered whole.
const MAX_TOKENS: usize = 1_000;

pub(super) fn list(
    snapshot: &ReadTransaction,
    limit: usize,
) -> Result<Vec<TenantRecord>, StoreError> {
    let table = snapshot.open_table(TENANTS)?;
    let mut tenants = Vec::new();
    for row in table.iter()?.take(limit) {
        let (key, value) = row?;
        tenants.push(read_row(key.value(), value.value())?);
    }
    Ok(tenants)
}

pub(super) fn token(table: &ReadTable, id: &str) -> Result<Option<TokenRecord>, StoreError> {
    table.get(id.as_bytes())?.map(|row| read_row(id.as_bytes(), row.value())).transpose()
}

fn read_row<T: DeserializeOwned>(key: &[u8], row: &[u8]) -> Result<T, StoreError> {
    let json = codec::unseal(key, row)?;
    serde_json::from_slice(json).map_err(StoreError::corrupted)
}

fn row_of(key: &[u8], record: &impl serde::Serialize) -> Result<Vec<u8>, StoreError> {
    let json = serde_json::to_vec(record);
    let json = json.map_err(|error| StoreError::Internal(error.to_string()))?;
    Ok(codec::seal(key, &json))
}

/// The first and the last key that a token of this tenant can have.
fn tokens_of(tenant: TenantId) -> (Vec<u8>, Vec<u8>) {
    (keys::token_of_tenant(tenant, ""), keys::token_of_tenant(tenant, "\u{10ffff}"))
}

/// The tokens of a tenant.
pub(super) fn tokens(
    snapshot: &ReadTransaction,
    tenant: TenantId,
) -> Result<Vec<TokenRecord>, StoreError> {
    let ids = snapshot.open_table(TOKENS_OF_TENANT)?;
    let table = snapshot.open_table(TOKENS)?;
    let mut tokens = Vec::new();
    let (first, last) = tokens_of(tenant);
    for row in ids.range(first.as_slice()..=last.as_slice())? {
        let (key, _) = row?;
        let id =
            key.value().get(tenant.as_bytes().len()..).and_then(|id| std::str::from_utf8(id).ok());
        if let Some(id) = id {
            tokens.extend(token(&table, id)?);
        }
    }
    Ok(tokens)
}

/// Makes a tenant: its row, its settings, and its first token. What is refused is refused before
/// anything is written.
pub(super) fn add_tenant(
    actor: &Actor,
    tenant: &TenantRecord,
    token: &TokenRecord,
    tables: &mut WriteTables<'_>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    if tables.tenants.len()? >= MAX_TENANTS {
        return Ok(Err(too_many("too_many_tenants", "tenants", MAX_TENANTS)));
    }
    let own = Actor { tenant: tenant_of_own(token), token: actor.token.clone(), user: None };
    let settings = plan::settings(&View::in_transaction(tenant.id, tables), ctx);
    let changes = match settings.map_err(StoreError::from) {
        Ok(changes) => changes,
        Err(error) => return refused(error),
    };
    apply(tables, pending, &own, ctx.now, &changes)?;
    let key = tenant.id.as_bytes().as_slice();
    tables.tenants.insert(key, row_of(key, tenant)?.as_slice())?;
    add_token(&own, token, tables, pending, ctx)
}

/// Keeps a token, with a user for it to act as (R43); an operator's acts as nobody.
pub(super) fn add_token(
    actor: &Actor,
    token: &TokenRecord,
    tables: &mut WriteTables<'_>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let (first, last) = tokens_of(token.tenant);
    let known = tables.tokens_of_tenant.range(first.as_slice()..=last.as_slice())?.count();
    if known >= MAX_TOKENS {
        return Ok(Err(too_many("too_many_tokens", "tokens", MAX_TOKENS as u64)));
    }
    let mut token = token.clone();
    match plan_user(&mut token, tables, ctx).map_err(StoreError::from) {
        Ok(changes) => apply(tables, pending, actor, ctx.now, &changes)?,
        Err(error) => return refused(error),
    }
    let key = token.id.as_bytes();
    tables.tokens.insert(key, row_of(key, &token)?.as_slice())?;
    let key = keys::token_of_tenant(token.tenant, &token.id);
    tables.tokens_of_tenant.insert(key.as_slice(), [].as_slice())?;
    Ok(Ok(Reply::TokenAdded(Box::new(token))))
}

fn plan_user(
    token: &mut TokenRecord,
    tables: &WriteTables<'_>,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, Refusal> {
    if token.is_of_operator() {
        return Ok(Vec::new());
    }
    let lookup = View::in_transaction(token.tenant, tables);
    let (user, changes) = plan::token_user(token.user_id, &token.label, &lookup, ctx)?;
    token.user_id = Some(user);
    Ok(changes)
}

/// What a rule refuses is an outcome; an error of the file ends the transaction.
fn refused(error: StoreError) -> Result<Result<Reply, StoreError>, StoreError> {
    if error.is_of_the_file() { Err(error) } else { Ok(Err(error)) }
}

fn too_many(code: &'static str, what: &str, max: u64) -> StoreError {
    StoreError::Invalid(vec![Issue::of_body(code, format!("there can be at most {max} {what}"))])
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

/// Writes when tokens were last used; one that was revoked meanwhile stays so, and one that is damaged keeps
/// nobody from writing.
pub(super) fn mark_used(
    tables: &mut WriteTables<'_>,
    uses: BTreeMap<String, Timestamp>,
) -> Result<(), StoreError> {
    for (id, used_at) in uses {
        let key = id.as_bytes();
        let known = damage::contained(|| {
            tables.tokens.get(key)?.map(|row| read_row(key, row.value())).transpose()
        });
        let mut token: TokenRecord = match known {
            Ok(Some(token)) => token,
            Ok(None) => continue,
            Err(error) if error.is_of_the_file() => return Err(error),
            Err(error) => {
                tracing::error!(token = id, cause = %error, "a token is damaged");
                continue;
            }
        };
        token.last_used_at = Some(used_at);
        tables.tokens.insert(key, row_of(key, &token)?.as_slice())?;
    }
    Ok(())
}
