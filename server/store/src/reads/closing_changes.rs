//! Changes to closed months since they were closed, and their figures by company.

use std::collections::BTreeMap;

use svctrack_core::{
    resources::license::LICENSE,
    revenue::{ChangedLicense, LicenseFacts, MonthDifference, Movements, SinceClosing},
    value::{ObjectId, TenantId},
};

use super::{
    as_of::{Past, Undone},
    ledgers::{Ledgers, currencies_of, rejected},
};
use crate::{
    ClosedCompanies, StoreError,
    rows::{CLOSINGS, Snapshot},
    rules::{
        closings::{self, ClosingRow},
        open_tables::RecordTables,
        view::View,
    },
};

/// The closed months of a tenant, and what is stored now.
pub(crate) struct Closed<'s, S> {
    pub(crate) snapshot: &'s S,
    pub(crate) tenant: TenantId,
    pub(crate) now: &'s Past,
}

impl<S: Snapshot> Closed<'_, S> {
    /// Those that a report has, each as it was closed and as it is now.
    pub(crate) fn compared(&self, report: &Movements) -> Result<Vec<MonthDifference>, StoreError> {
        let mut months = Vec::new();
        for row in closings::all(&self.snapshot.open(CLOSINGS)?, self.tenant)? {
            if row.closing.is_in(report) {
                let since = self.since(&row)?;
                months.push(row.closing.compared(report, &since).map_err(rejected)?);
            }
        }
        Ok(months)
    }

    /// What was changed after a month was closed.
    fn since(&self, row: &ClosingRow) -> Result<SinceClosing<'_>, StoreError> {
        let is_before = |sequence, _| sequence <= row.sequence;
        let undone = Undone::since(self.snapshot, self.tenant, is_before)?;
        let (zone, rates) = match &undone.settings {
            Some(settings) => currencies_of(settings)?,
            None => (self.now.zone, self.now.rates.clone()),
        };
        let tables = RecordTables::open(self.snapshot)?;
        let view = View::of_snapshot(self.tenant, &tables);
        let mut licenses: BTreeMap<ObjectId, ChangedLicense> = BTreeMap::new();
        for (id, then) in undone.licenses {
            let now =
                view.read(&LICENSE, id, |stored| Ok(LicenseFacts::as_stored(stored.text())))?;
            let (then, now) = (then.map(|facts| *facts), now.flatten());
            if then != now {
                let ending = |facts: LicenseFacts<'static>| facts.ending_in(self.now.zone);
                let changed = ChangedLicense { then: then.map(ending), now: now.map(ending) };
                licenses.insert(id, changed);
            }
        }
        Ok(SinceClosing {
            licenses,
            ledger: &self.now.ledger,
            rates: [rates, self.now.rates.clone()],
            time_zone_changed: zone != self.now.zone,
        })
    }
}

/// The figures of each company in a closed month, as they were closed; none where it is not closed.
pub(crate) fn companies(
    ledgers: &Ledgers,
    snapshot: &impl Snapshot,
    tenant: TenantId,
    month: &str,
) -> Result<Option<ClosedCompanies>, StoreError> {
    let closed = closings::all(&snapshot.open(CLOSINGS)?, tenant)?;
    let Some(row) = closed.into_iter().find(|row| row.closing.month == month) else {
        return Ok(None);
    };
    let past = Past::at(snapshot, tenant, &*ledgers.of(snapshot, tenant)?, row.sequence)?;
    let companies = row.closing.companies(&past.ledger, past.rates).map_err(rejected)?;
    Ok(Some((row.closing, companies)))
}
