//! Retention of the audit log: the oldest entries are removed, a limited number of them in a command, with their
//! changes of each record. The change log stays.

use svctrack_core::{
    audit::{AuditEntry, Target},
    resources::settings,
    value::{TenantId, Timestamp, time::DAY_MS},
};

use super::{
    audit::NO_RECORD,
    command::MAX_SWEPT,
    open_tables::{Tables, Transaction},
    tenant_view::TenantView,
};
use crate::{
    StoreError,
    rows::{
        AppendRows as _, Bytes as _, ReadRow as _, Rows as _, keys,
        stored_value::{self, ChangeRow},
    },
};

/// Removes entries after the tenant's retention period; returns whether there may be more.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    settled: Timestamp,
) -> Result<bool, StoreError> {
    let settings = settings::of_tenant(&TenantView::in_transaction(tenant, tables))?;
    let kept_ms = settings::audit_retention_days(&settings).saturating_mul(DAY_MS);
    let old = |entry: &AuditEntry| settled.as_ms().saturating_sub(entry.at.as_ms()) >= kept_ms;
    let mut removed = 0;
    while removed < MAX_SWEPT {
        let Some((sequence, entry)) = first(tables, tenant)?.filter(|(_, entry)| old(entry)) else {
            return Ok(false);
        };
        removed += remove(tables, tenant, sequence, &entry)?;
    }
    Ok(true)
}

/// Oldest entry of a tenant, with its number.
fn first(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<(u64, AuditEntry)>, StoreError> {
    let (first, end) = (keys::change(tenant, 1), keys::change(tenant, u64::MAX));
    let row =
        tables.audit.written()?.range(first.as_slice()..end.as_slice())?.next().transpose()?;
    let Some((key, value)) = row else { return Ok(None) };
    let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
    Ok(Some((sequence, stored_value::unseal_row(key.value(), value.value())?)))
}

/// Removes an entry, and its changes of records; returns the number of these rows.
fn remove(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    sequence: u64,
    entry: &AuditEntry,
) -> Result<usize, StoreError> {
    let mut removed = 1;
    // A closed month is no record, but has a row.
    for number in sequence..sequence + entry.records.total().max(1) {
        let key = keys::change(tenant, number);
        let row = tables
            .changes
            .read(&key, |value| stored_value::unseal_row::<ChangeRow>(&key, value))?;
        let Some(row) = row.transpose()? else { continue };
        let target = entry.target.as_ref().and_then(Target::record);
        let (resource, id) = match target.filter(|_| row.resource == NO_RECORD) {
            Some((def, id)) => (def.code, id),
            None => (row.resource, row.id),
        };
        let key = keys::change_of_record(tenant, resource, id, number);
        removed += usize::from(tables.audit_records.remove(&key)?);
    }
    tables.audit.remove(&keys::change(tenant, sequence))?;
    Ok(removed)
}
