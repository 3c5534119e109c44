//! Tokens, whose rows are found without a tenant: issued, rotated and revoked.

use std::collections::BTreeMap;

use svctrack_core::{
    access::{OPERATOR, allows},
    plan::{self, Change, Ctx, Rejection},
    value::{RecordRef, TenantId, Timestamp, ValidationError, quoted::quoted},
};

use super::{
    apply::apply,
    open_tables::{Tables, Transaction},
    pending::Pending,
    tenant_view::TenantView,
};
use crate::{
    Actor, Reply, RevocationScope, StoreError, TokenRecord, corruption, is_too_late,
    rows::{
        Bytes as _, Rows, Snapshot, TOKENS, TOKENS_OF_TENANT, WriteRows as _, keys,
        stored_value::{seal_json, unseal_json},
    },
};

/// Maximum number of tokens of a tenant: a list of them is returned as a whole.
const MAX_TOKENS: usize = 1_000;
/// Maximum number of tokens of a tenant with those that were rotated and have not expired: each may be there next to
/// its successor.
const MAX_TOKENS_AND_ROTATED: usize = 2 * MAX_TOKENS;
/// Maximum length of a chain of tokens, each issued by the one before: more than any deployment needs, and few enough
/// to be stored with each token.
const MAX_GENERATIONS: usize = 32;

pub(crate) fn token(table: &impl Rows, id: &str) -> Result<Option<TokenRecord>, StoreError> {
    table.get(id.as_bytes())?.map(|row| unseal_json(id.as_bytes(), row.value())).transpose()
}

/// First and last key of the tokens of a tenant.
fn tokens_of(tenant: TenantId) -> (Vec<u8>, Vec<u8>) {
    (keys::token_of_tenant(tenant, ""), keys::token_of_tenant(tenant, "\u{10ffff}"))
}

pub(crate) fn tokens(
    snapshot: &impl Snapshot,
    tenant: TenantId,
) -> Result<Vec<TokenRecord>, StoreError> {
    let table = snapshot.open(TOKENS)?;
    let ids = token_ids(&snapshot.open(TOKENS_OF_TENANT)?, tenant)?;
    let tokens = ids.iter().filter_map(|id| token(&table, id).transpose());
    tokens.collect()
}

fn token_ids(table: &impl Rows, tenant: TenantId) -> Result<Vec<String>, StoreError> {
    let mut ids = Vec::new();
    let (first, last) = tokens_of(tenant);
    for row in table.range(first.as_slice()..=last.as_slice())? {
        let (key, _) = row?;
        let id = key.value().get(tenant.as_bytes().len()..);
        ids.extend(id.and_then(|id| std::str::from_utf8(id).ok()).map(str::to_owned));
    }
    Ok(ids)
}

/// Removes the tokens of a tenant from the table that does not begin with the tenant.
pub(crate) fn remove_tokens(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<(), StoreError> {
    for id in token_ids(&tables.tokens_of_tenant, tenant)? {
        tables.tokens.remove(id.as_bytes())?;
    }
    Ok(())
}

/// Stores a token, with a user that it acts as (R43); an operator's token acts as no user.
pub(crate) fn add_token(
    actor: &Actor,
    token: &TokenRecord,
    user: Option<&RecordRef>,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    if let Some(rejected) = rejected_token(actor, tables, token, MAX_TOKENS, ctx.settled)? {
        return Ok(Err(rejected));
    }
    let mut token = token.clone();
    match plan_user(&mut token, user, tables, ctx).map_err(StoreError::from) {
        Ok(changes) => apply(tables, pending, actor, ctx.now, &changes)?,
        Err(error) => return rejected(error),
    }
    insert_token(tables, token)
}

/// Issues a token in the place of another, which ends soon (R57).
pub(crate) fn rotate_token(
    actor: &Actor,
    tables: &mut Tables<impl Transaction>,
    id: &str,
    successor: &TokenRecord,
    old_until: Timestamp,
    settled: Timestamp,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let known = token(&tables.tokens, id)?;
    let Some(mut old) = known.filter(|old| old.tenant == successor.tenant) else {
        return Ok(Err(StoreError::NotFound));
    };
    if let Some(replaced_by) = &old.replaced_by {
        let message = format!("the token was rotated already: rotate {}", quoted(replaced_by));
        return Ok(Err(StoreError::Conflict(vec![ValidationError::of_body(
            "token_rotated",
            message,
        )])));
    }
    let most = MAX_TOKENS_AND_ROTATED;
    if let Some(rejected) = rejected_token(actor, tables, successor, most, settled)? {
        return Ok(Err(rejected));
    }
    old.replaced_by = Some(successor.id.clone());
    old.expires_at = Some(old.expires_at.map_or(old_until, |end| end.min(old_until)));
    put_token(tables, &old)?;
    if let Some(end) = successor.expires_at {
        end_issued(tables, &old, old.expires_at.map_or(end, |of_old| of_old.max(end)))?;
    }
    insert_token(tables, successor.clone())
}

/// Has the tokens that a line of tokens has issued end no later than its last one (R44).
fn end_issued(
    tables: &mut Tables<impl Transaction>,
    of: &TokenRecord,
    end: Timestamp,
) -> Result<(), StoreError> {
    let line = of.line();
    for id in token_ids(&tables.tokens_of_tenant, of.tenant)? {
        let Some(mut token) = readable_token(tables, &id)? else { continue };
        let is_issued = token.line() != line && token.comes_from(line);
        if is_issued && token.expires_at.is_none_or(|own| own > end) {
            token.expires_at = Some(end);
            put_token(tables, &token)?;
        }
    }
    Ok(())
}

/// A token of a tenant; none where it cannot be read.
fn readable_token(
    tables: &Tables<impl Transaction>,
    id: &str,
) -> Result<Option<TokenRecord>, StoreError> {
    match corruption::contained(|| token(&tables.tokens, id)) {
        Err(error) if error.is_of_the_file() => Err(error),
        read => Ok(read.ok().flatten()),
    }
}

fn put_token(tables: &mut Tables<impl Transaction>, token: &TokenRecord) -> Result<(), StoreError> {
    let key = token.id.as_bytes();
    tables.tokens.insert(key, seal_json(key, token)?.as_slice())?;
    Ok(())
}

/// Reason for which a token cannot be added, if there is one; a tenant has at most `most` tokens. Expired ones are
/// removed first.
fn rejected_token(
    actor: &Actor,
    tables: &mut Tables<impl Transaction>,
    token: &TokenRecord,
    most: usize,
    settled: Timestamp,
) -> Result<Option<StoreError>, StoreError> {
    // A token that a revoked token has issued would outlive it.
    if let Some(issuer) = &actor.token
        && tables.tokens.get(issuer.as_bytes())?.is_none()
    {
        return Ok(Some(StoreError::TokenRevoked));
    }
    if token.generations() > MAX_GENERATIONS {
        let message = format!("a token can be derived from at most {MAX_GENERATIONS} others");
        return Ok(Some(StoreError::Invalid(vec![ValidationError::of_body(
            "too_many_issuers",
            message,
        )])));
    }
    if count_tokens(tables, token.tenant)? >= most {
        remove_expired(tables, token.tenant, settled)?;
    }
    let too_many = || too_many("too_many_tokens", "tokens", MAX_TOKENS as u64);
    Ok((count_tokens(tables, token.tenant)? >= most).then(too_many))
}

fn count_tokens(tables: &Tables<impl Transaction>, tenant: TenantId) -> Result<usize, StoreError> {
    let (first, last) = tokens_of(tenant);
    Ok(tables.tokens_of_tenant.range(first.as_slice()..=last.as_slice())?.count())
}

/// Removes the tokens of a tenant that have expired.
fn remove_expired(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    settled: Timestamp,
) -> Result<(), StoreError> {
    for id in token_ids(&tables.tokens_of_tenant, tenant)? {
        let Some(token) = token(&tables.tokens, &id)? else { continue };
        if token.expires_at.is_some_and(|end| end <= settled) {
            tables.tokens_of_tenant.remove(keys::token_of_tenant(tenant, &id).as_slice())?;
            tables.tokens.remove(id.as_bytes())?;
        }
    }
    Ok(())
}

fn insert_token(
    tables: &mut Tables<impl Transaction>,
    token: TokenRecord,
) -> Result<Result<Reply, StoreError>, StoreError> {
    put_token(tables, &token)?;
    let key = keys::token_of_tenant(token.tenant, &token.id);
    tables.tokens_of_tenant.insert(key.as_slice(), [].as_slice())?;
    Ok(Ok(Reply::TokenAdded(Box::new(token))))
}

/// Marks users that were created for tokens before marks existed (R57).
pub(crate) fn mark_users(
    actor: &Actor,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &Ctx,
) -> Result<(), StoreError> {
    for id in token_ids(&tables.tokens_of_tenant, actor.tenant.id())? {
        let Some(token) = token(&tables.tokens, &id)? else { continue };
        let Some(user) = token.user_id else { continue };
        let view = TenantView::in_transaction(token.tenant, tables);
        let marked = plan::mark_token_user(user, &token.label, token.created_at, &view, ctx.now);
        match marked.map_err(StoreError::from) {
            Ok(changes) => apply(tables, pending, actor, ctx.now, &changes)?,
            Err(error) if error.is_of_the_file() => return Err(error),
            Err(error) => {
                tracing::error!(token = id, %user, cause = %error, "user of a token unreadable");
            }
        }
    }
    Ok(())
}

fn plan_user(
    token: &mut TokenRecord,
    named: Option<&RecordRef>,
    tables: &Tables<impl Transaction>,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, Rejection> {
    if token.is_of_operator() {
        return Ok(Vec::new());
    }
    let lookup = TenantView::in_transaction(token.tenant, tables);
    let (user, changes) = plan::token_user(named, &token.label, &lookup, ctx)?;
    token.user_id = Some(user);
    Ok(changes)
}

/// Returns a rejection by a rule as an outcome; an error of the file ends the transaction.
pub(super) fn rejected(error: StoreError) -> Result<Result<Reply, StoreError>, StoreError> {
    if error.is_of_the_file() { Err(error) } else { Ok(Err(error)) }
}

pub(super) fn too_many(code: &'static str, what: &str, max: u64) -> StoreError {
    StoreError::Invalid(vec![ValidationError::of_body(
        code,
        format!("there can be at most {max} {what}"),
    )])
}

/// Scopes whose last token cannot be revoked: without one, no caller could issue a token or create a tenant.
const KEPT_SCOPES: [&str; 2] = ["admin", OPERATOR];

/// Removes a token of a tenant, and those that are to be revoked with it, unless that locks the tenant out.
pub(crate) fn revoke_token(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    id: &str,
    with: RevocationScope,
    now: Timestamp,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let ids = match with {
        RevocationScope::Alone => vec![id.to_owned()],
        RevocationScope::Line => line_of(tables, tenant, id)?,
    };
    if let Some(scope) = lost_scope(tables, tenant, &ids, now)? {
        let message = format!(
            "this is the last token with the scope `{scope}`: issue another one first, or rotate this one"
        );
        return Ok(Err(StoreError::Conflict(vec![ValidationError::of_body(
            "last_admin_token",
            message,
        )])));
    }
    let mut revoked = 0;
    for id in ids {
        let key = keys::token_of_tenant(tenant, &id);
        if tables.tokens_of_tenant.remove(key.as_slice())?.is_some() {
            tables.tokens.remove(id.as_bytes())?;
            revoked += 1;
        }
    }
    Ok(Ok(Reply::TokensRevoked(revoked)))
}

/// The scope of [`KEPT_SCOPES`] that tokens of a tenant have, but none would without those of these ids. A token with
/// an end does not replace one without. Expired tokens, rotated ones and those that cannot be read do not count.
fn lost_scope(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    ids: &[String],
    now: Timestamp,
) -> Result<Option<&'static str>, StoreError> {
    let (mut before, mut after) = ([ScopeValidity::None; 2], [ScopeValidity::None; 2]);
    for id in token_ids(&tables.tokens_of_tenant, tenant)? {
        let Some(token) = readable_token(tables, &id)? else { continue };
        let lasts = match token.expires_at {
            _ if token.replaced_by.is_some() => continue,
            None => ScopeValidity::Permanent,
            Some(end) if end > now => ScopeValidity::Temporary,
            Some(_) => continue,
        };
        let held = KEPT_SCOPES.map(|scope| allows(&token.scopes, scope));
        let is_kept = !ids.contains(&id);
        for ((before, after), _) in before.iter_mut().zip(&mut after).zip(held).filter(|of| of.1) {
            *before = lasts.max(*before);
            *after = if is_kept { lasts.max(*after) } else { *after };
        }
    }
    let lost = KEPT_SCOPES.into_iter().zip(before.into_iter().zip(after));
    Ok(lost.filter(|(_, (before, after))| after < before).map(|(scope, _)| scope).next())
}

/// How long tokens have a scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ScopeValidity {
    None,
    Temporary,
    Permanent,
}

/// Tokens of the line of a token, and all that come from it, also where that token was revoked before.
fn line_of(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    id: &str,
) -> Result<Vec<String>, StoreError> {
    let mut tokens = Vec::new();
    for id in token_ids(&tables.tokens_of_tenant, tenant)? {
        tokens.extend(token(&tables.tokens, &id)?);
    }
    let line = tokens.iter().find(|token| token.id == id).map_or(id, TokenRecord::line);
    let is_of_it =
        |token: &&TokenRecord| token.comes_from(line) || token.created_by.as_deref() == Some(id);
    Ok(tokens.iter().filter(is_of_it).map(|token| token.id.clone()).collect())
}

/// Writes when tokens were last used; one that was revoked meanwhile stays so, and a corrupted one prevents no write.
pub(crate) fn mark_used(
    tables: &mut Tables<impl Transaction>,
    uses: BTreeMap<String, Timestamp>,
) -> Result<(), StoreError> {
    for (id, used_at) in uses.into_iter().filter(|(_, used_at)| !is_too_late(*used_at)) {
        let key = id.as_bytes();
        let known = corruption::contained(|| {
            tables.tokens.get(key)?.map(|row| unseal_json(key, row.value())).transpose()
        });
        let mut token: TokenRecord = match known {
            Ok(Some(token)) => token,
            Ok(None) => continue,
            Err(error) if error.is_of_the_file() => return Err(error),
            Err(error) => {
                tracing::error!(token = id, cause = %error, "token corrupted");
                continue;
            }
        };
        token.last_used_at = token.last_used_at.max(Some(used_at));
        tables.tokens.insert(key, seal_json(key, &token)?.as_slice())?;
    }
    Ok(())
}
