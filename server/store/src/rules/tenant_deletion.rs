//! Deletion of a tenant (R57). The first command marks it: from then on its tokens and its UUID are unknown, and none
//! of its commands is carried out. The others remove its rows, a limited number each; its own row is removed with the
//! last of them.
//!
//! The caller continues until then, and so does each cleanup. The first one follows a start, so no data is left after a
//! crash.

use std::ops::Bound;

use svctrack_core::value::{TenantId, ValidationError};

use super::{
    lookup_cache::LookupCache,
    open_tables::{Tables, Transaction},
    tenants, tokens,
};
use crate::{
    Precondition, StoreError, TenantRecord, TenantState,
    rows::{Bytes as _, WriteRows, engagement::WriteEngagement},
};

/// Maximum number of rows that one command removes: others wait no longer than for a bulk call.
const MAX_ROWS_PER_COMMAND: usize = 1_000;
/// Bytes of rows after which a command removes no more, so that a transaction stays small.
const MAX_BYTES_PER_COMMAND: usize = 2 * 1024 * 1024;

/// Marks a tenant as being deleted; for one that is marked already, returns its progress.
pub(crate) fn begin(
    tables: &mut Tables<impl Transaction>,
    id: TenantId,
    precondition: &Precondition,
) -> Result<Result<TenantRecord, StoreError>, StoreError> {
    let Some(mut tenant) = tenants::load(&tables.tenants, id)? else {
        return Ok(Err(StoreError::TenantNotFound));
    };
    if !precondition.allows(id, tenant.version()) {
        return Ok(Err(StoreError::Changed));
    }
    if tenant.state == TenantState::Deleting {
        return Ok(Ok(tenant));
    }
    if !tenants::is_another_served(&tables.tenants, id)? {
        return Ok(Err(StoreError::Conflict(vec![last_tenant()])));
    }
    tenant.state = TenantState::Deleting;
    tenants::put(tables, &tenant)?;
    tables.known.forget_tenant(id);
    Ok(Ok(tenant))
}

/// Issue of a deletion of the last tenant: a start without tenants is the first one, which creates one.
fn last_tenant() -> ValidationError {
    let message =
        "the last tenant cannot be deleted: create another one first, or remove the data directory";
    ValidationError::of_body("last_tenant", message)
}

/// Removes further rows of a tenant that is being deleted; returns whether there are more.
pub(crate) fn go_on(
    tables: &mut Tables<impl Transaction>,
    id: TenantId,
) -> Result<bool, StoreError> {
    let tenant = tenants::load(&tables.tenants, id)?;
    let Some(mut tenant) = tenant.filter(|tenant| tenant.state == TenantState::Deleting) else {
        return Ok(false);
    };
    tokens::remove_tokens(tables, id)?;
    tables.engagement.forget_tenant(id);
    let mut removal = Removal::default();
    for table in tables.of_tenants()? {
        removal.remove_from(table, id)?;
    }
    if removal.is_full() {
        tenant.rows_removed += removal.rows as u64;
        tenants::put(tables, &tenant)?;
    } else {
        tables.tenants.remove(id.as_bytes().as_slice())?;
        // The cache may have data of the tenant: a tenant with this UUID can be imported again.
        tables.known = LookupCache::default();
    }
    Ok(removal.is_full())
}

/// Rows that one command has removed.
#[derive(Default)]
struct Removal {
    rows: usize,
    bytes: usize,
}

impl Removal {
    fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS_PER_COMMAND || self.bytes >= MAX_BYTES_PER_COMMAND
    }

    /// Removes rows of a tenant, until the limits are reached.
    fn remove_from(
        &mut self,
        table: &mut impl WriteRows,
        tenant: TenantId,
    ) -> Result<(), StoreError> {
        let first = tenant.as_bytes().as_slice();
        let end = next_prefix(tenant);
        let end = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_slice()));
        let mut last = None;
        for row in table.range((Bound::Included(first), end))? {
            if self.is_full() {
                break;
            }
            let (key, value) = row?;
            self.rows += 1;
            self.bytes += key.value().len() + value.value().len();
            last = Some(key.value().to_vec());
        }
        if let Some(last) = last {
            let bounds = (Bound::Included(first), Bound::Included(last.as_slice()));
            table.remove_range(bounds)?;
        }
        Ok(())
    }
}

/// First key after all of a tenant, if there can be one.
fn next_prefix(tenant: TenantId) -> Option<[u8; 16]> {
    u128::from_be_bytes(*tenant.as_bytes()).checked_add(1).map(u128::to_be_bytes)
}
