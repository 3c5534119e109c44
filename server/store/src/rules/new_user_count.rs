//! The number of end users that events created in the current hour, for tenants that limit them (R41). It is written
//! immediately, because the next event of the same transaction reads it.

use svctrack_core::{
    tracking::intake::hour_of,
    value::{TenantId, Timestamp},
};

use super::open_tables::{Tables, Transaction};
use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows as _, keys, stored_value},
};

/// Row of a tenant among the counters: the hour, and the number of users that were created in it.
const NEW_USERS: &str = "new users";

/// Number of users that were created in the hour of `now`.
pub(crate) fn count(
    counters: &impl Rows,
    tenant: TenantId,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let key = keys::counter(tenant, NEW_USERS);
    let row = counters.get(key.as_slice())?;
    let Some(row) = row else { return Ok(0) };
    let counted = u128::from_be_bytes(stored_value::unseal_exact(&key, row.value())?);
    let (hour, count) = ((counted >> u64::BITS) as i64, counted as u64);
    Ok(if hour == hour_of(now) { count } else { 0 })
}

pub(crate) fn add(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let count = count(&tables.counters, tenant, now)?.saturating_add(1);
    let key = keys::counter(tenant, NEW_USERS);
    let row = [hour_of(now).to_be_bytes(), count.to_be_bytes()].concat();
    let row = stored_value::seal(&key, &row);
    tables.counters.insert(key.as_slice(), row.as_slice())?;
    Ok(())
}
