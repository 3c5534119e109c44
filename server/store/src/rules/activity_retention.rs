//! Retention of activities: the oldest of the log are removed, a limited number of them in a command, with the marks on
//! them and their spans.
//!
//! A history ends at the first activity that was removed: earlier ones were removed before, since every history follows
//! the order of the log. Counts of activities stay.

use std::{collections::BTreeSet, ops::Bound};

use svctrack_core::{
    plan::Activity,
    resources::{company::COMPANY, end_user::END_USER, settings},
    tracking::activity::first_kept,
    value::{ObjectId, TenantId, Timestamp},
};

use super::{
    activity_history,
    command::MAX_SWEPT,
    date_ranges,
    open_tables::{Tables, Transaction},
    person_data::look_through_some,
    tenant_view::TenantView,
    usage,
};
use crate::{
    StoreError,
    rows::{
        AppendRows as _, Bytes as _, Rows as _, WriteRows as _, engagement::EngagementOwner, keys,
    },
};

/// Removes activities after the tenant's retention period; returns whether there may be more.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    settled: Timestamp,
) -> Result<bool, StoreError> {
    let settings = settings::of_tenant(&TenantView::in_transaction(tenant, tables))?;
    let Some(first_kept) = first_kept(&settings, settled) else {
        return Ok(false);
    };
    let (first_kept, is_cut) = tallied(tables, tenant, first_kept)?;
    let (begin, end) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, first_kept));
    let (begin, end) = (Bound::Included(begin.as_slice()), Bound::Excluded(end.as_slice()));
    let (mut owners, mut any) = (BTreeSet::new(), false);
    let log = tables.activities.written()?;
    let rows = log.range((begin, end))?;
    let read_to = look_through_some(rows, MAX_SWEPT, |key, value| {
        any = true;
        owners.extend(activity_in(key, value)?.iter().flat_map(|old| owners_of(tenant, old)));
        Ok(value.len())
    })?;
    if !any {
        return Ok(is_cut);
    }
    let last = read_to.map(|last| keys::log(tenant, last));
    let end = last.as_deref().map_or(end, Bound::Included);
    log.remove_range((begin, end))?;
    let gone_to = read_to.unwrap_or(first_kept);
    for owner in owners {
        remove_marks(tables, owner, gone_to)?;
    }
    date_ranges::remove_before(tables, tenant, gone_to)?;
    Ok(read_to.is_some() || is_cut)
}

/// First activity to retain, once those before it are tallied; where these are too many for one command, an earlier
/// one, and that it is.
fn tallied(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    first_kept: ObjectId,
) -> Result<(ObjectId, bool), StoreError> {
    let (begin, end) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, first_kept));
    let old = tables.activities.written()?.range(begin.as_slice()..end.as_slice())?.next_back();
    let Some(last) = old.transpose()?.and_then(|(key, _)| keys::id_at_end(key.value())) else {
        return Ok((first_kept, false));
    };
    let mut to = usage::head(&tables.usage, tenant)?.to;
    if last > to {
        to = usage::tally(tables, tenant, usage::LIMITS)?.to;
    }
    Ok(if last > to { (to, true) } else { (first_kept, false) })
}

/// Activity in a row of the log. A corrupted one is removed like the others.
fn activity_in(key: &[u8], row: &[u8]) -> Result<Option<Activity>, StoreError> {
    match activity_history::unseal(key, row) {
        Err(error @ StoreError::Corrupted { .. }) => {
            tracing::error!(cause = %error, "expired activity corrupted");
            Ok(None)
        }
        read => read,
    }
}

/// The owners of the histories that have an activity.
fn owners_of(tenant: TenantId, activity: &Activity) -> impl Iterator<Item = EngagementOwner> {
    let user = (tenant, END_USER.code, activity.end_user_id);
    let company = activity.company_id.map(|company| (tenant, COMPANY.code, company));
    [Some(user), company].into_iter().flatten()
}

/// Removes the marks of a history up to an activity.
fn remove_marks(
    tables: &mut Tables<impl Transaction>,
    (tenant, resource, id): EngagementOwner,
    gone_to: ObjectId,
) -> Result<(), StoreError> {
    let bound = |activity| keys::mark(tenant, resource, id, activity);
    let (first, last) = (bound(ObjectId::MIN), bound(gone_to));
    let marks = tables.activity_marks.range(first.as_slice()..=last.as_slice())?;
    let marks: Vec<_> =
        marks.map(|mark| Ok(mark?.0.value().to_vec())).collect::<Result<_, StoreError>>()?;
    for mark in marks {
        tables.activity_marks.remove(mark.as_slice())?;
    }
    Ok(())
}
