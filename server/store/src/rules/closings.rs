//! Closed months (`closings`): each with its figures, in their order and without a gap. Only the last one can be
//! reopened.
//!
//! The figures are computed beforehand, over a snapshot. A month is closed only if no license and no setting that
//! reports read was changed since, so that the figures are those of the data at that time.

use serde::{Deserialize, Serialize};
use svctrack_core::{
    audit::ChangedProperties,
    revenue::{Closing, ListedMonth, ReopenedMonth, Reopening},
    value::{ObjectId, TenantId, Timestamp, ValidationError, quoted::quoted},
};

use super::{
    apply::{LoggedChange, log_change},
    open_tables::{Tables, Transaction},
    pending::Pending,
};
use crate::{
    Actor, NewClosing, Precondition, Reply, StoreError,
    rows::{
        AppendRows as _, Bytes as _, CLOSINGS, Rows, Snapshot, WriteRows as _, keys,
        stored_value::{self, ChangeKind},
    },
};

/// Code of closed months in the change log; no resource has it.
pub(crate) const CODE: u8 = u8::MAX;

/// Stored form of a closed month.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClosingRow {
    /// Position in the change log up to which the figures are computed.
    pub(crate) sequence: u64,
    pub(crate) closing: Closing,
    /// Whether it was reopened: when and why is stored, and no figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_open: bool,
}

/// Closed months of a tenant, in their order.
pub(crate) fn all(table: &impl Rows, tenant: TenantId) -> Result<Vec<ClosingRow>, StoreError> {
    let mut closings = with_open(table, tenant)?;
    closings.retain(|row| !row.is_open);
    Ok(closings)
}

/// A closed month of a tenant.
pub(crate) fn of_month(
    table: &impl Rows,
    tenant: TenantId,
    month: &str,
) -> Result<Option<ClosingRow>, StoreError> {
    let key = keys::closing(tenant, month);
    let row = table.get(&key)?.map(|value| read(&key, value.value())).transpose()?;
    Ok(row.filter(|row| !row.is_open))
}

/// The months that were closed, with those that were reopened.
fn with_open(table: &impl Rows, tenant: TenantId) -> Result<Vec<ClosingRow>, StoreError> {
    let (first, last) = (keys::closing(tenant, ""), keys::closing(tenant, "\u{7f}"));
    let mut closings = Vec::new();
    for row in table.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = row?;
        closings.push(read(key.value(), value.value())?);
    }
    Ok(closings)
}

/// The closed and the reopened months of a tenant in a snapshot.
pub(crate) fn listed(
    snapshot: &impl Snapshot,
    tenant: TenantId,
) -> Result<Vec<ListedMonth>, StoreError> {
    let listed = |row: ClosingRow| match (row.is_open, row.closing) {
        (true, Closing { month, reopened, .. }) => {
            ListedMonth::Reopened(ReopenedMonth { month, reopened })
        }
        (false, closing) => ListedMonth::Closed(closing.into()),
    };
    let rows = with_open(&snapshot.open(CLOSINGS)?, tenant)?;
    Ok(rows.into_iter().map(listed).collect())
}

fn read(key: &[u8], value: &[u8]) -> Result<ClosingRow, StoreError> {
    serde_json::from_slice(stored_value::unseal(key, value)?).map_err(StoreError::corrupted)
}

/// Closes a month; one that is closed with the same options stays as it is.
pub(crate) fn close(
    actor: &Actor,
    new: &NewClosing,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let tenant = actor.tenant.id();
    let closed_at = now.max(new.closing.closed_at);
    let (open, known): (Vec<_>, Vec<_>) =
        with_open(&tables.closings, tenant)?.into_iter().partition(|row| row.is_open);
    let before = open.into_iter().find(|row| row.closing.month == new.closing.month);
    let reopened = before.map(|row| row.closing.reopened).unwrap_or_default();
    let closed_by = actor.token.clone();
    let closing = Closing { closed_at, closed_by, reopened, ..new.closing.clone() };
    if let Some(known) = known.iter().find(|known| known.closing.month == closing.month) {
        let others = known.closing.other_options(&closing);
        if others.is_empty() {
            return Ok(Ok(Reply::Closed(Some(Box::new(known.closing.clone())))));
        }
        let message = format!(
            "the month is closed with another `{}`: reopen it first, with `{}`",
            others.join("` and another `"),
            reopening(&closing.month)
        );
        return Ok(Err(conflict("month_closed", message)));
    }
    let last = known.last().map(|last| &last.closing);
    if let Some(next) = last.and_then(Closing::next_month).filter(|next| *next != closing.month) {
        let message = format!("months must be closed in order; the next one is {}", quoted(&next));
        return Ok(Err(conflict("not_the_next_month", message)));
    }
    if is_changed_since(tables, tenant, new.sequence)? {
        return Ok(Ok(Reply::Closed(None)));
    }
    let row = ClosingRow { sequence: new.sequence, closing, is_open: false };
    put(tables, tenant, &row)?;
    log(actor, &row.closing.month, ChangeKind::Created, tables, pending, now)?;
    Ok(Ok(Reply::Closed(Some(Box::new(row.closing)))))
}

fn put(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    row: &ClosingRow,
) -> Result<(), StoreError> {
    let key = keys::closing(tenant, &row.closing.month);
    let json = serde_json::to_vec(row).map_err(|error| StoreError::Internal(error.to_string()))?;
    tables.closings.insert(&key, &stored_value::seal(&key, &json))?;
    Ok(())
}

/// Whether data that reports read was changed after a row of the change log.
fn is_changed_since(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    sequence: u64,
) -> Result<bool, StoreError> {
    let (first, end) = (keys::change(tenant, sequence), keys::change(tenant, u64::MAX));
    let last = tables.revenue_versions.last(&first, &end, |key, _| keys::sequence_at_end(key))?;
    Ok(last.flatten().is_some_and(|last| last > sequence))
}

/// Reopens the last closed month in a version, with a reason; returns whether it was closed.
pub(crate) fn reopen(
    actor: &Actor,
    (month, reason, precondition): (&str, &str, &Precondition),
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let tenant = actor.tenant.id();
    let mut closed = all(&tables.closings, tenant)?;
    let Some(named) = closed.iter().find(|row| row.closing.month == month) else {
        return Ok(Ok(Reply::Reopened(false)));
    };
    if !precondition.allows(month, named.closing.version()) {
        return Ok(Err(StoreError::Changed));
    }
    let Some(mut row) = closed.pop() else { return Ok(Ok(Reply::Reopened(false))) };
    let last = &row.closing.month;
    if last != month {
        let message = format!(
            "only the last closed month can be reopened: reopen the later ones first, beginning with `{}`",
            reopening(last)
        );
        return Ok(Err(conflict("not_the_last_month", message)));
    }
    let (by, reason) = (actor.token.clone(), reason.to_owned());
    row.closing.reopen(Reopening { at: now, by, reason });
    row.is_open = true;
    put(tables, tenant, &row)?;
    log(actor, month, ChangeKind::Deleted, tables, pending, now)?;
    Ok(Ok(Reply::Reopened(true)))
}

/// The call that opens a month again.
fn reopening(month: &str) -> String {
    format!("DELETE /reports/closings/{month}")
}

/// Logs in the change log who closed or reopened a month: reports are computed again then.
fn log(
    actor: &Actor,
    month: &str,
    kind: ChangeKind,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut id = [0; keys::ID_BYTES];
    id.iter_mut().zip(month.bytes()).for_each(|(to, byte)| *to = byte);
    let id = ObjectId::from_bytes(id);
    let what = LoggedChange { resource: CODE, id, kind, version: 0 };
    log_change(tables, pending, actor, now, what, None, ChangedProperties::default()).map(drop)
}

fn conflict(code: &'static str, message: impl Into<String>) -> StoreError {
    StoreError::Conflict(vec![ValidationError::of_member("month", code, message)])
}
