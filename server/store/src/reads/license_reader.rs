//! Reads the licenses of a tenant into a ledger.

use std::collections::{BTreeMap, BTreeSet};

use svctrack_core::{
    resources::settings,
    revenue::Ledger,
    value::{Document, ObjectId, TenantId, Zone},
};

use crate::{
    StoreError,
    rows::{LICENSE_FACTS, Snapshot},
    rules::{license_facts, open_tables::RecordTables, tenant_view::TenantView},
};

/// Reads licenses of a tenant.
pub(crate) struct LicenseReader<'s, S: Snapshot> {
    tenant: TenantId,
    facts: S::Table,
    snapshot: &'s S,
}

impl<'s, S: Snapshot> LicenseReader<'s, S> {
    pub(crate) fn open(snapshot: &'s S, tenant: TenantId) -> Result<Self, StoreError> {
        Ok(Self { tenant, facts: snapshot.open(LICENSE_FACTS)?, snapshot })
    }

    pub(crate) fn settings(&self) -> Result<Document, StoreError> {
        let tables = RecordTables::open(self.snapshot)?;
        Ok(settings::of_tenant(&TenantView::of_snapshot(self.tenant, &tables))?)
    }

    /// All licenses, on days of a zone.
    pub(crate) fn ledger(&self, zone: Zone) -> Result<Ledger, StoreError> {
        let mut failed = None;
        let mut rows = license_facts::all(&self.facts, self.tenant)?;
        let facts = std::iter::from_fn(|| match rows.next()? {
            Ok(facts) => Some(facts.ending_in(zone)),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        let ledger = Ledger::in_zone(zone, facts.fuse());
        match failed {
            Some(error) => Err(error),
            None => Ok(ledger?),
        }
    }

    /// The ledger with licenses that have changed.
    pub(crate) fn changed(
        &self,
        ledger: &Ledger,
        licenses: &BTreeSet<ObjectId>,
        zone: Zone,
    ) -> Result<Ledger, StoreError> {
        let mut changes = BTreeMap::new();
        for id in licenses {
            let facts = license_facts::load(&self.facts, self.tenant, *id)?;
            changes.insert(*id, facts.map(|facts| facts.ending_in(zone)));
        }
        Ok(ledger.changed(changes)?)
    }
}
