//! What has changed in closed months since they were closed.

use std::{collections::BTreeMap, ops::Range};

use svctrack_core::{
    resources::license::LICENSE,
    revenue::{ClosedMonth, LicenseFacts, Movements},
    value::{ObjectId, TenantId, Timestamp, Zone},
};

use crate::{
    StoreError,
    rows::{
        Bytes as _, CLOSINGS, REVENUE_VERSIONS, Rows as _, Snapshot, codec, keys,
        revenue_version::{Replaced, VersionRow},
    },
    rules::{closings, open_tables::RecordTables, view::View},
};

/// The closed months of a tenant.
pub(crate) struct Closed<'s, S> {
    pub(crate) snapshot: &'s S,
    pub(crate) tenant: TenantId,
    pub(crate) zone: Zone,
}

/// The facts of licenses before they were changed, none of one that was not there.
type Before = BTreeMap<ObjectId, Option<Box<LicenseFacts<'static>>>>;

impl<S: Snapshot> Closed<'_, S> {
    /// Those that a report has, each as it was closed and as it is now.
    pub(crate) fn compared(&self, report: &Movements) -> Result<Vec<ClosedMonth>, StoreError> {
        let mut months = Vec::new();
        for row in closings::all(&self.snapshot.open(CLOSINGS)?, self.tenant)? {
            if row.closing.compared(report, &[]).is_none() {
                continue;
            }
            let times = row.closing.times();
            let changed = times.map(|times| self.changed(row.sequence, &times));
            months.extend(row.closing.compared(report, &changed.transpose()?.unwrap_or_default()));
        }
        Ok(months)
    }

    /// The licenses that were changed after a row of the change log, and last within some time, then or now.
    fn changed(
        &self,
        sequence: u64,
        times: &Range<Timestamp>,
    ) -> Result<Vec<ObjectId>, StoreError> {
        let tables = RecordTables::open(self.snapshot)?;
        let view = View::of_snapshot(self.tenant, &tables);
        let mut changed = Vec::new();
        for (id, then) in self.before(sequence)? {
            let now =
                view.read(&LICENSE, id, |stored| Ok(LicenseFacts::as_stored(stored.text())))?;
            let (then, now) = (then.map(|facts| *facts), now.flatten());
            let lasts = |facts: &LicenseFacts<'_>| {
                let facts = facts.clone().ending_in(self.zone);
                facts.from.is_none_or(|from| from < times.end)
                    && facts.end.is_none_or(|end| end >= times.start)
            };
            if then != now && then.iter().chain(&now).any(lasts) {
                changed.push(id);
            }
        }
        Ok(changed)
    }

    /// What was stored of the licenses that were changed after a row of the change log.
    fn before(&self, sequence: u64) -> Result<Before, StoreError> {
        let mut before = Before::new();
        let versions = self.snapshot.open(REVENUE_VERSIONS)?;
        let (first, last) = (
            keys::change(self.tenant, sequence.saturating_add(1)),
            keys::change(self.tenant, u64::MAX),
        );
        for row in versions.range(first.as_slice()..=last.as_slice())? {
            let (key, value) = row?;
            let row: VersionRow = codec::unseal_row(key.value(), value.value())?;
            match row.replaced {
                Replaced::NoLicense(id) => drop(before.entry(id).or_insert(None)),
                Replaced::License(facts) => drop(before.entry(facts.id).or_insert(Some(facts))),
                Replaced::Settings(_) => {}
            }
        }
        Ok(before)
    }
}
