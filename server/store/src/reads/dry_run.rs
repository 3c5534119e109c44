//! Validates bodies without writing: each is planned over a snapshot and the planned changes of those before it.

use svctrack_core::{
    plan::{
        Ctx,
        upsert::{self, UpsertOutcome},
    },
    schema::{BodyOrigin, UnknownMemberPolicy},
    value::{IdSequence, TenantId, Timestamp},
};

use crate::{
    DryRunState, StoreError, Upserts,
    rows::{SUPPRESSED, Snapshot},
    rules::{open_tables::RecordTables, tenant_view::TenantView},
};

/// Five bytes of ids that are never returned.
const NO_STORE: [u8; 5] = [0xff; 5];

/// Plans bodies, each after those before it.
pub(crate) fn dry_run(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    dry_run: &mut DryRunState,
    upserts: &Upserts,
    now: Timestamp,
) -> Result<Vec<UpsertOutcome>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let suppressed = snapshot.open(SUPPRESSED)?;
    let view = TenantView::of_snapshot(tenant, &tables).with_suppressed(&suppressed);
    let ids = dry_run.ids.take().unwrap_or_else(|| IdSequence::new(NO_STORE));
    let mut ctx = Ctx::new(now, ids, None);
    ctx.origin = BodyOrigin::Row;
    let mut outcomes = Vec::with_capacity(upserts.items.len());
    for (index, item) in upserts.items.iter().enumerate() {
        let planned = {
            let lookup = dry_run.overlay.over(&view);
            upsert::upsert(
                upserts.def,
                index,
                item,
                upserts.access,
                UnknownMemberPolicy::Lenient,
                &lookup,
                &mut ctx,
            )?
        };
        dry_run.overlay.apply(&planned.changes);
        outcomes.push(planned.outcome);
    }
    dry_run.ids = Some(ctx.ids);
    Ok(outcomes)
}
