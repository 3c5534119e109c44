//! Ledger of a tenant as of a point in time: the ledger of now, without the changes of licenses and settings since.
//!
//! Invariant: every change of data that reports read has stored what it replaced, since the first change that did so.
//! History reaches back to the change before that one, or is complete without such a change.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use svctrack_core::{
    revenue::{ExchangeRates, History, Ledger, LicenseFacts, ReportError},
    value::{Document, ObjectId, TenantId, Timestamp, Zone},
};

use super::{
    ledgers::{TenantLedger, change_of, currencies_of},
    license_reader::LicenseReader,
};
use crate::{
    StoreError,
    rows::{
        Bytes as _, CHANGES, REVENUE_VERSIONS, Rows as _, Snapshot, keys,
        revenue_version::{ReplacedValue, VersionRow},
        stored_value,
    },
};

/// Data that a report is computed from.
pub(crate) struct ReportData {
    pub(crate) zone: Zone,
    pub(crate) rates: Option<ExchangeRates>,
    pub(crate) ledger: Arc<Ledger>,
    /// Licenses that are stored now, where `ledger` has those of a point in time.
    pub(crate) later: Option<Arc<Ledger>>,
    /// The point in time of a report that is requested as of it; none of what is stored now, and of a closed month.
    pub(crate) history: Option<History>,
}

impl ReportData {
    /// Data as it is stored now.
    pub(crate) fn none(tenant_ledger: &TenantLedger) -> Self {
        Self {
            zone: tenant_ledger.zone,
            rates: tenant_ledger.rates.clone(),
            ledger: tenant_ledger.ledger.clone(),
            later: None,
            history: None,
        }
    }

    /// Data at a point in time, which is not ahead.
    pub(crate) fn as_of(
        snapshot: &impl Snapshot,
        tenant: TenantId,
        tenant_ledger: &TenantLedger,
        as_of: Timestamp,
    ) -> Result<Self, StoreError> {
        let since = since(snapshot, tenant)?;
        if let Some(since) = since.filter(|since| as_of < *since) {
            return Err(ReportError::NoHistory(since).into());
        }
        let undone = RevertedChanges::since(snapshot, tenant, |_, at| at <= as_of)?;
        let history = Some(History { as_of, since });
        Self::undone(snapshot, tenant, tenant_ledger, undone, history)
    }

    /// Data when a row of the change log was the last one.
    pub(crate) fn at(
        snapshot: &impl Snapshot,
        tenant: TenantId,
        tenant_ledger: &TenantLedger,
        sequence: u64,
    ) -> Result<Self, StoreError> {
        let undone = RevertedChanges::since(snapshot, tenant, |row, _| row <= sequence)?;
        Self::undone(snapshot, tenant, tenant_ledger, undone, None)
    }

    fn undone(
        snapshot: &impl Snapshot,
        tenant: TenantId,
        tenant_ledger: &TenantLedger,
        undone: RevertedChanges,
        history: Option<History>,
    ) -> Result<Self, StoreError> {
        let (zone, rates) = match &undone.settings {
            Some(settings) => currencies_of(settings)?,
            None => (tenant_ledger.zone, tenant_ledger.rates.clone()),
        };
        let later = if zone == tenant_ledger.zone {
            tenant_ledger.ledger.clone()
        } else {
            Arc::new(LicenseReader::open(snapshot, tenant)?.ledger(zone)?)
        };
        let ledger = match undone.licenses.is_empty() {
            true => later.clone(),
            false => Arc::new(later.changed(undone.licenses_in(zone))?),
        };
        Ok(Self { zone, rates, ledger, later: Some(later), history })
    }
}

/// Values that the changes since a point in time have replaced.
#[derive(Default)]
struct RevertedChanges {
    licenses: BTreeMap<ObjectId, Option<Box<LicenseFacts<'static>>>>,
    settings: Option<Document>,
}

impl RevertedChanges {
    /// The changes back to the first one that `is_before`, by its number in the change log and its time.
    fn since(
        snapshot: &impl Snapshot,
        tenant: TenantId,
        is_before: impl Fn(u64, Timestamp) -> bool,
    ) -> Result<Self, StoreError> {
        let mut undone = Self::default();
        each_replaced(snapshot, tenant, |sequence, at, replaced| {
            if is_before(sequence, at) {
                return Ok(ControlFlow::Break(()));
            }
            match replaced {
                ReplacedValue::NoLicense(id) => drop(undone.licenses.insert(id, None)),
                ReplacedValue::License(facts) => {
                    undone.licenses.insert(facts.id, Some(facts));
                }
                ReplacedValue::Settings(text) => undone.settings = Some(settings_of(&text)?),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(undone)
    }

    fn licenses_in(self, zone: Zone) -> BTreeMap<ObjectId, Option<LicenseFacts<'static>>> {
        let licenses = self.licenses.into_iter();
        licenses.map(|(id, facts)| (id, facts.map(|facts| facts.ending_in(zone)))).collect()
    }
}

/// Passes each replaced value to `undo`, with the number and the time of its change, from the latest change back until
/// `undo` breaks: a value that an earlier change replaced overrides one that a later change did.
pub(super) fn each_replaced(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    mut undo: impl FnMut(u64, Timestamp, ReplacedValue) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let versions = snapshot.open(REVENUE_VERSIONS)?;
    let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
    for row in versions.range(first.as_slice()..=last.as_slice())?.rev() {
        let (key, value) = row?;
        let VersionRow { at, replaced } = stored_value::unseal_row(key.value(), value.value())?;
        let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
        if undo(sequence, at, replaced)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Settings as a version has them.
pub(super) fn settings_of(text: &str) -> Result<Document, StoreError> {
    Document::parse(text.as_bytes()).map_err(|error| StoreError::corrupted(error.message))
}

/// The earliest point in time whose data is known; none if all of them are known.
fn since(snapshot: &impl Snapshot, tenant: TenantId) -> Result<Option<Timestamp>, StoreError> {
    let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
    let versions = snapshot.open(REVENUE_VERSIONS)?;
    let version = versions.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
    let end = version.map_or(last, |(key, _)| key.value().to_vec());
    let log = snapshot.open(CHANGES)?;
    let before = log.range(first.as_slice()..end.as_slice())?.next_back();
    let before = before.map(change_of).transpose()?;
    Ok(before.and_then(|(_, row)| row).map(|row| row.at))
}
