//! Automatic renewal of licenses, where the tenant has set `autoRenewal`: due licenses are found by their
//! `renewalDate`, a limited number in a command, and judged by the settled time, so that a clock that is wrong for a
//! while renews nothing.
//!
//! Invariant: a license and its successor are written in one transaction, and a license with a successor is not due. So
//! each is renewed once, however often a round is interrupted and restarted.

use std::ops::Bound;

use svctrack_core::{
    plan::{self, Ctx, Rejection},
    resources::{
        license::{LICENSE, RENEWAL_DATE},
        settings,
    },
    tracking::integration_issues::not_renewed,
    value::{ObjectId, TenantId, Timestamp, Zone, time::DAY_MS},
};

use super::{
    apply::apply,
    integration_issues,
    open_tables::{Tables, Transaction},
    pending::{MANY_CAUSES, Pending},
    tenant_view::TenantView,
};
use crate::{
    Actor, AutoRenewal, StoreError,
    rows::{Bytes as _, Rows as _, keys},
};

/// How long after its end a license is still renewed: one that was overdue for longer is left to its tenant.
const LATE_MS: i64 = 90 * DAY_MS;
/// How long before its end a license is renewed at the earliest: the longest notice that counts.
const AHEAD_MS: i64 = 366 * DAY_MS;
/// Maximum number of licenses that a command reads.
const MAX_LOOKED_AT: usize = 500;
/// Maximum number of licenses that a command renews: others wait a few milliseconds for it.
const MAX_TRIED: usize = 25;
/// Maximum number of licenses of a tenant that a round renews, so that other tenants have their turn.
const MAX_RENEWED: usize = 5_000;
/// Maximum number of licenses of a round that have an entry of their own in the report.
const MAX_REPORTED: usize = 100;

/// Renews further licenses; returns the progress of the round.
pub(crate) fn go_on(
    actor: &Actor,
    round: &AutoRenewal,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<AutoRenewal, StoreError> {
    let tenant = actor.tenant.id();
    let mut round = round.clone();
    let settings = settings::of_tenant(&TenantView::in_transaction(tenant, tables))?;
    if settings::AUTO_RENEWAL.get(&settings) != Some(true) {
        return Ok(AutoRenewal { is_over: true, ..round });
    }
    let zone = settings::time_zone(&settings);
    for id in due(tables, tenant, &mut round, ctx.settled, zone)? {
        let planned = plan::renew_due(id, &TenantView::in_transaction(tenant, tables), ctx);
        let issue = match planned {
            Ok(Some(planned)) => {
                apply(tables, pending, actor, ctx.now, &planned.changes)?;
                round.renewed += 1;
                continue;
            }
            Ok(None) | Err(Rejection::NotFound) => {
                integration_issues::settle_renewal(tables, pending, tenant, id)?;
                continue;
            }
            Err(Rejection::Invalid(issues) | Rejection::Conflict(issues)) => {
                issues.into_iter().next()
            }
            Err(rejection @ Rejection::Lookup(_)) => {
                skip_corrupted(id, rejection.into())?;
                continue;
            }
        };
        round.failed += 1;
        let Some(mut finding) = issue.map(|issue| not_renewed(id, &issue, ctx.now)) else {
            continue;
        };
        if round.failed > MAX_REPORTED {
            finding.cause = MANY_CAUSES.to_owned();
        }
        pending.find(tenant, finding);
    }
    round.is_over |= round.renewed >= MAX_RENEWED;
    Ok(round)
}

/// Next due licenses, by the day on which they end. The round is over where there are no more.
fn due(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    round: &mut AutoRenewal,
    settled: Timestamp,
    zone: Zone,
) -> Result<Vec<ObjectId>, StoreError> {
    let bound = |ms: i64, id| {
        let date = Timestamp::from_ms_clamped(settled.as_ms().saturating_add(ms)).to_string();
        keys::index(tenant, LICENSE.code, RENEWAL_DATE.name, &date, id)
    };
    let (first, last) = (bound(-LATE_MS, ObjectId::MIN), bound(AHEAD_MS, ObjectId::MAX));
    let first = match &round.after {
        Some(after) => Bound::Excluded(after.as_slice()),
        None => Bound::Included(first.as_slice()),
    };
    let entries = tables.index.range((first, Bound::Included(last.as_slice())))?;
    let view = TenantView::in_transaction(tenant, tables);
    let (mut due, mut looked_at) = (Vec::new(), 0);
    for entry in entries {
        if looked_at == MAX_LOOKED_AT || due.len() == MAX_TRIED {
            return Ok(due);
        }
        let (key, _) = entry?;
        let id =
            keys::id_at_end(key.value()).ok_or_else(|| StoreError::corrupted("malformed key"))?;
        looked_at += 1;
        round.after = Some(key.value().to_vec());
        match view.read(&LICENSE, id, |license| Ok(plan::is_due(&license, settled, zone))) {
            Ok(is_due) => due.extend((is_due == Some(true)).then_some(id)),
            Err(error) => skip_corrupted(id, error)?,
        }
    }
    round.is_over = true;
    Ok(due)
}

/// Skips a license that cannot be read, so that others are renewed.
fn skip_corrupted(id: ObjectId, error: StoreError) -> Result<(), StoreError> {
    match error {
        error @ StoreError::Corrupted { .. } => {
            tracing::error!(license = %id, cause = %error, "license not renewed: corrupted data");
            Ok(())
        }
        error => Err(error),
    }
}
