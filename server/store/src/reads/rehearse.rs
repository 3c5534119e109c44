//! Validates bodies without writing: each is planned over a snapshot and the planned changes of those before it.

use svctrack_core::{
    plan::{
        Ctx,
        upsert::{self, UpsertOutcome},
    },
    schema::{Handling, Origin},
    value::{IdSequence, TenantId, Timestamp},
};

use crate::{
    DryRunState, StoreError, Upserts,
    rows::{SUPPRESSED, Snapshot},
    rules::{open_tables::RecordTables, view::TenantView},
};

/// Five bytes of ids that are never returned.
const NO_STORE: [u8; 5] = [0xff; 5];

/// Plans bodies, each after those before it.
pub(crate) fn rehearse(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    rehearsal: &mut DryRunState,
    upserts: &Upserts,
    now: Timestamp,
) -> Result<Vec<UpsertOutcome>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let suppressed = snapshot.open(SUPPRESSED)?;
    let view = TenantView::of_snapshot(tenant, &tables).with_suppressed(&suppressed);
    let ids = rehearsal.ids.take().unwrap_or_else(|| IdSequence::new(NO_STORE));
    let mut ctx = Ctx::new(now, ids, None);
    ctx.origin = Origin::Row;
    let mut outcomes = Vec::with_capacity(upserts.items.len());
    for (index, item) in upserts.items.iter().enumerate() {
        let planned = {
            let lookup = rehearsal.overlay.over(&view);
            upsert::upsert(
                upserts.def,
                index,
                item,
                upserts.access,
                Handling::Lenient,
                &lookup,
                &mut ctx,
            )?
        };
        rehearsal.overlay.apply(&planned.changes);
        outcomes.push(planned.outcome);
    }
    rehearsal.ids = Some(ctx.ids);
    Ok(outcomes)
}
