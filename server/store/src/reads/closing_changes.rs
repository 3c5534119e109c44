//! Changes to closed months since they were closed, and their figures by company.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::ControlFlow,
};

use svctrack_core::{
    revenue::{ChangedLicense, ChangesSinceClosing, ClosedMonth, MonthDifference, Movements},
    value::TenantId,
};

use super::{
    as_of::{ReportData, each_replaced, settings_of},
    ledgers::{TenantLedger, currencies_of},
};
use crate::{
    StoreError,
    rows::{CLOSINGS, LICENSE_FACTS, Snapshot, revenue_version::ReplacedValue},
    rules::{
        closings::{self, ClosingRow},
        license_facts,
    },
};

/// Closed months of a tenant, and the data that is stored now.
pub(crate) struct ClosedMonths<'s, S> {
    pub(crate) snapshot: &'s S,
    pub(crate) tenant: TenantId,
    pub(crate) now: &'s ReportData,
}

impl<S: Snapshot> ClosedMonths<'_, S> {
    /// The closed months of a report, each as it was closed and as it is now. The change log is read once, from its end:
    /// the rows after the one up to which a month was closed are the changes since.
    pub(crate) fn compared(&self, report: &Movements) -> Result<Vec<MonthDifference>, StoreError> {
        let mut closed = closings::all(&self.snapshot.open(CLOSINGS)?, self.tenant)?;
        closed.retain(|row| row.closing.is_in(report));
        let facts = self.snapshot.open(LICENSE_FACTS)?;
        let mut since = ChangesSinceClosing {
            licenses: BTreeMap::new(),
            ledger: &self.now.ledger,
            rates: [self.now.rates.clone(), self.now.rates.clone()],
            time_zone_changed: false,
        };
        let mut months = Vec::new();
        let compared =
            |row: ClosingRow, since: &ChangesSinceClosing<'_>| row.closing.compared(report, since);
        each_replaced(self.snapshot, self.tenant, |sequence, _, replaced| {
            // The last closed month was closed up to the latest row.
            while let Some(row) = closed.pop_if(|row| sequence <= row.sequence) {
                months.push(compared(row, &since)?);
            }
            if closed.is_empty() {
                return Ok(ControlFlow::Break(()));
            }
            self.undo(replaced, &mut since, &facts)?;
            Ok(ControlFlow::Continue(()))
        })?;
        while let Some(row) = closed.pop() {
            months.push(compared(row, &since)?);
        }
        months.reverse();
        Ok(months)
    }

    /// Adds what a change has replaced. A license is read as it is now when its latest change is met.
    fn undo(
        &self,
        replaced: ReplacedValue,
        since: &mut ChangesSinceClosing<'_>,
        facts: &S::Table,
    ) -> Result<(), StoreError> {
        let zone = self.now.zone;
        let (id, then) = match replaced {
            ReplacedValue::NoLicense(id) => (id, None),
            ReplacedValue::License(facts) => (facts.id, Some(facts.ending_in(zone))),
            ReplacedValue::Settings(text) => {
                let (then, rates) = currencies_of(&settings_of(&text)?)?;
                since.rates[0] = rates;
                since.time_zone_changed = then != zone;
                return Ok(());
            }
        };
        match since.licenses.entry(id) {
            Entry::Occupied(mut known) => known.get_mut().then = then,
            Entry::Vacant(new) => {
                let now = license_facts::load(facts, self.tenant, id)?;
                new.insert(ChangedLicense { then, now: now.map(|facts| facts.ending_in(zone)) });
            }
        }
        Ok(())
    }
}

/// A closed month with the figures of each company, as they were closed.
///
/// # Errors
/// [`StoreError::NotFound`] where it is not closed.
pub(crate) fn by_company(
    tenant_ledger: &TenantLedger,
    snapshot: &impl Snapshot,
    tenant: TenantId,
    month: &str,
) -> Result<ClosedMonth, StoreError> {
    let row = closings::of_month(&snapshot.open(CLOSINGS)?, tenant, month)?;
    let row = row.ok_or(StoreError::NotFound)?;
    let past = ReportData::at(snapshot, tenant, tenant_ledger, row.sequence)?;
    Ok(row.closing.by_company(&past.ledger, past.rates)?)
}
