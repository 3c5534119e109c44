//! Validates bodies without writing: each is planned over a snapshot and what those before it would have changed, and
//! nothing is written.

use svctrack_core::{
    plan::{
        Ctx,
        upsert::{self, Outcome},
    },
    schema::{Handling, Origin},
    value::{IdSequence, TenantId, Timestamp},
};

use super::planned_rows::{Over, plan};
use crate::{
    StoreError, Upserts,
    rows::{SUPPRESSED, Snapshot, WriteRows},
    rules::{open_tables::RecordTables, view::View},
};

/// The five bytes of ids that are shown to nobody.
const NO_STORE: [u8; 5] = [0xff; 5];

/// Plans bodies, each after those before it, whose rows are in `planned`.
pub(crate) fn rehearse(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    planned: &mut impl WriteRows,
    ids: &mut Option<IdSequence>,
    upserts: &Upserts,
    now: Timestamp,
) -> Result<Vec<Outcome>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let suppressed = snapshot.open(SUPPRESSED)?;
    let below = View::of_snapshot(tenant, &tables).with_suppressed(&suppressed);
    let mut ctx = Ctx::new(now, ids.take().unwrap_or_else(|| IdSequence::new(NO_STORE)), None);
    ctx.origin = Origin::Row;
    let mut outcomes = Vec::with_capacity(upserts.items.len());
    for (index, item) in upserts.items.iter().enumerate() {
        let upserted = upsert::upsert(
            upserts.def,
            index,
            item,
            upserts.access,
            Handling::Lenient,
            &Over { planned: &*planned, below: &below },
            &mut ctx,
        )?;
        plan(planned, &upserted.changes)?;
        outcomes.push(upserted.outcome);
    }
    *ids = Some(ctx.ids);
    Ok(outcomes)
}
