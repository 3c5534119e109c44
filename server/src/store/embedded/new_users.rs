//! How many end users events have made within the hour, for tenants that limit them (R41). It is written
//! at once and not gathered, since the next event of the same transaction asks.

use redb::ReadableTable;
use svctrack_core::{
    tracking::intake::hour_of,
    value::{TenantId, Timestamp},
};

use super::{keys, tables::WriteTables};
use crate::store::StoreError;

/// The row of a tenant among the counters: the hour, and how many were made in it.
const NEW_USERS: &str = "new users";

/// How many were made in the hour of `now`.
pub(super) fn count(
    counters: &impl ReadableTable<&'static [u8], &'static [u8]>,
    tenant: TenantId,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let row = counters.get(keys::counter(tenant, NEW_USERS).as_slice())?;
    let counted = row.and_then(|row| {
        let (hour, count) = row.value().split_first_chunk()?;
        Some((i64::from_be_bytes(*hour), u64::from_be_bytes(*count.first_chunk()?)))
    });
    Ok(counted.filter(|(hour, _)| *hour == hour_of(now)).map_or(0, |(_, count)| count))
}

/// Counts one more.
pub(super) fn add(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let count = count(&tables.counters, tenant, now)?.saturating_add(1);
    let row = [hour_of(now).to_be_bytes(), count.to_be_bytes()].concat();
    tables.counters.insert(keys::counter(tenant, NEW_USERS).as_slice(), row.as_slice())?;
    Ok(())
}
