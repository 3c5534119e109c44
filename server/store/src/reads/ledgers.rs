//! Ledgers of tenants that were requested lately, each brought up to date from the change log: only licenses that have
//! changed since are read again.
//!
//! Invariant: a ledger is used only after the change log of the reader's own snapshot was read to its end. The reports
//! of a ledger are dropped with it, so that no report is older than its licenses, its companies and its settings.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use svctrack_core::{
    resources::{
        company::COMPANY,
        license::LICENSE,
        settings::{self, Currencies, SETTINGS},
    },
    revenue::{ExchangeRates, Ledger},
    value::{Document, ObjectId, TenantId, Zone},
};

use super::{license_reader::LicenseReader, written_reports::WrittenReports};
use crate::{
    StoreError,
    rows::{
        Bytes, CHANGES, RowResult, Rows, Snapshot, keys,
        stored_value::{self, ChangeRow},
    },
    rules::closings,
};

/// Bytes of all cached ledgers, with their reports: half a million licenses. The least recently used are dropped first.
const MAX_LEDGER_BYTES: usize = 96 * 1024 * 1024;
/// Bytes of the cached reports of a ledger: the largest report of revenue that the server returns. Ten years of months
/// take 1 to 5 MiB with cohorts or segments.
const MAX_REPORTS_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that a ledger counts at least, so that a tenant's is found among few.
const MIN_LEDGER_BYTES: usize = 1024 * 1024;
/// Bytes of the cached reports of all tenants that are computed from usage as well.
const MAX_USAGE_BYTES: usize = 8 * 1024 * 1024;
/// Changes after which a ledger is read as a whole: applying more takes longer.
const MAX_CHANGES: usize = 20_000;

/// Locks of the tenants whose ledgers are being updated. Two tenants may share one.
const UPDATE_LOCKS: usize = 16;
/// How long a report waits for another one of its tenant to update the ledger, before it does so itself: as long as a
/// million licenses take. The disk of the other one may hang.
const UPDATE_WAIT: Duration = Duration::from_secs(3);

/// Licenses of a tenant, and the data to count them.
pub(crate) struct TenantLedger {
    pub(crate) zone: Zone,
    pub(crate) rates: Option<ExchangeRates>,
    pub(crate) ledger: Arc<Ledger>,
    /// Position in the change log when it was computed: its data has not changed since.
    pub(crate) sequence: u64,
    /// Bytes of the ledger.
    ledger_bytes: usize,
    /// Reports that were written of it: they are of one version.
    pub(crate) written: WrittenReports,
}

impl TenantLedger {
    /// Reads all licenses of a tenant.
    fn read(
        reader: &LicenseReader<'_, impl Snapshot>,
        sequence: u64,
    ) -> Result<Arc<Self>, StoreError> {
        let (zone, rates) = currencies_of(&reader.settings()?)?;
        Ok(Self::new(zone, rates, Arc::new(reader.ledger(zone)?), sequence))
    }

    fn new(
        zone: Zone,
        rates: Option<ExchangeRates>,
        ledger: Arc<Ledger>,
        sequence: u64,
    ) -> Arc<Self> {
        let ledger_bytes = ledger.bytes();
        let written = WrittenReports::up_to(MAX_REPORTS_BYTES);
        Arc::new(Self { zone, rates, ledger, sequence, ledger_bytes, written })
    }

    /// Bytes of the ledger, and of the reports that were written of it.
    fn bytes(&self) -> usize {
        (self.ledger_bytes + self.written.bytes()).max(MIN_LEDGER_BYTES)
    }
}

/// The ledger of a tenant up to a row of the change log.
#[derive(Clone)]
struct CachedLedger {
    read_to: u64,
    /// Row at `read_to`. It differs if the tenant was deleted and created again.
    last: Option<ChangeRow>,
    tenant_ledger: Arc<TenantLedger>,
}

/// Changes since a ledger was cached.
#[derive(Default)]
struct ChangesSince {
    licenses: BTreeSet<ObjectId>,
    has_settings: bool,
    has_companies: bool,
    has_closings: bool,
    read_to: u64,
    last: Option<ChangeRow>,
}

/// Relation of a cached ledger to a snapshot.
enum CacheState {
    Behind(ChangesSince),
    /// The ledger is of a later snapshot.
    Ahead,
    /// The ledger is of another tenant, or too much has changed.
    Unknown,
}

/// The ledgers of tenants, and reports that are computed from usage as well; usage has no row in the change log.
pub(crate) struct Ledgers {
    /// Ledgers of the tenants, the most recently used at the end.
    cached: Mutex<Vec<(TenantId, CachedLedger)>>,
    updates: [Mutex<()>; UPDATE_LOCKS],
    /// Reports of usage, by tenant as well, and by its version.
    pub(crate) of_usage: WrittenReports,
}

impl Default for Ledgers {
    fn default() -> Self {
        Self {
            cached: Mutex::default(),
            updates: Default::default(),
            of_usage: WrittenReports::up_to(MAX_USAGE_BYTES),
        }
    }
}

impl Ledgers {
    /// Ledger of a tenant in a snapshot. Of reports at the same time, as of a page, one updates it for all.
    pub(crate) fn tenant_ledger(
        &self,
        snapshot: &impl Snapshot,
        tenant: TenantId,
    ) -> Result<Arc<TenantLedger>, StoreError> {
        let _update = self.wait_for_update(tenant);
        let kept = self.take(tenant);
        let state = match &kept {
            Some(kept) => kept.state(snapshot, tenant)?,
            None => CacheState::Unknown,
        };
        let now = match (kept, state) {
            (Some(kept), CacheState::Behind(since)) => {
                kept.follow(&LicenseReader::open(snapshot, tenant)?, since)?
            }
            (_, state) => {
                let reader = LicenseReader::open(snapshot, tenant)?;
                let (read_to, last) = end_of_log(snapshot, tenant)?;
                let tenant_ledger = TenantLedger::read(&reader, read_to)?;
                let kept = CachedLedger { read_to, last, tenant_ledger };
                if matches!(state, CacheState::Ahead) {
                    return Ok(kept.tenant_ledger);
                }
                kept
            }
        };
        let tenant_ledger = now.tenant_ledger.clone();
        self.put(tenant, now);
        Ok(tenant_ledger)
    }

    /// Waits until no other report updates the ledger of a tenant, or for [`UPDATE_WAIT`].
    fn wait_for_update(&self, tenant: TenantId) -> Option<MutexGuard<'_, ()>> {
        let [number, ..] = *tenant.as_bytes();
        self.updates.get(usize::from(number) % UPDATE_LOCKS)?.try_lock_for(UPDATE_WAIT)
    }

    fn take(&self, tenant: TenantId) -> Option<CachedLedger> {
        let kept = self.cached.lock();
        kept.iter().find(|(known, _)| *known == tenant).map(|(_, kept)| kept.clone())
    }

    fn put(&self, tenant: TenantId, now: CachedLedger) {
        let mut kept = self.cached.lock();
        kept.retain(|(known, _)| *known != tenant);
        // If the ledger is of an earlier snapshot than another reader's, it is updated from there again.
        kept.push((tenant, now));
        // Reports that are written meanwhile count the next time.
        let mut bytes = 0;
        let recent = kept.iter().rev().take_while(|(_, kept)| {
            bytes += kept.tenant_ledger.bytes();
            bytes <= MAX_LEDGER_BYTES
        });
        let dropped = kept.len() - recent.count();
        kept.drain(..dropped);
    }
}

impl CachedLedger {
    fn state(&self, snapshot: &impl Snapshot, tenant: TenantId) -> Result<CacheState, StoreError> {
        let log = snapshot.open(CHANGES)?;
        let (first, last) = (keys::change(tenant, self.read_to), keys::change(tenant, u64::MAX));
        let mut since = ChangesSince {
            read_to: self.read_to,
            last: self.last.clone(),
            ..ChangesSince::default()
        };
        let mut rows = log.range(first.as_slice()..=last.as_slice())?;
        if self.last.is_some() {
            let Some(row) = rows.next() else { return Ok(CacheState::Ahead) };
            if change_of(row)? != (self.read_to, self.last.clone()) {
                return Ok(CacheState::Unknown);
            }
        }
        for (count, row) in rows.enumerate() {
            if count == MAX_CHANGES {
                return Ok(CacheState::Unknown);
            }
            (since.read_to, since.last) = change_of(row)?;
            since.note();
        }
        Ok(CacheState::Behind(since))
    }

    /// Applies the changes since to the cached ledger.
    fn follow(
        self,
        reader: &LicenseReader<'_, impl Snapshot>,
        since: ChangesSince,
    ) -> Result<Self, StoreError> {
        let ChangesSince { licenses, has_settings, has_companies, has_closings, read_to, last } =
            since;
        let tenant_ledger =
            if !has_settings && !has_companies && !has_closings && licenses.is_empty() {
                self.tenant_ledger
            } else {
                let (zone, rates) = currencies_of(&reader.settings()?)?;
                if zone == self.tenant_ledger.zone {
                    let ledger = match licenses.is_empty() {
                        true => self.tenant_ledger.ledger.clone(),
                        false => {
                            Arc::new(reader.changed(&self.tenant_ledger.ledger, &licenses, zone)?)
                        }
                    };
                    TenantLedger::new(zone, rates, ledger, read_to)
                } else {
                    // Licenses begin and end at midnights of the zone.
                    TenantLedger::read(reader, read_to)?
                }
            };
        Ok(Self { read_to, last, tenant_ledger })
    }
}

impl ChangesSince {
    fn note(&mut self) {
        let Some(row) = &self.last else { return };
        if row.resource == LICENSE.code {
            self.licenses.insert(row.id);
        }
        self.has_settings |= row.resource == SETTINGS.code;
        self.has_companies |= row.resource == COMPANY.code;
        self.has_closings |= row.resource == closings::CODE;
    }
}

pub(crate) fn change_of<B: Bytes>(
    row: RowResult<B>,
) -> Result<(u64, Option<ChangeRow>), StoreError> {
    let (key, value) = row?;
    let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
    Ok((sequence, Some(stored_value::unseal_row(key.value(), value.value())?)))
}

/// The last row of a tenant's change log.
fn end_of_log(
    snapshot: &impl Snapshot,
    tenant: TenantId,
) -> Result<(u64, Option<ChangeRow>), StoreError> {
    let log = snapshot.open(CHANGES)?;
    let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
    let row = log.range(first.as_slice()..=last.as_slice())?.next_back();
    row.map_or(Ok((0, None)), change_of)
}

/// The zone and the rates of settings.
pub(crate) fn currencies_of(
    settings: &Document,
) -> Result<(Zone, Option<ExchangeRates>), StoreError> {
    let rates = match Currencies::from_settings(settings) {
        Some(currencies) => Some(ExchangeRates::from_currencies(&currencies)?),
        None => Currencies::base_of(settings).map(ExchangeRates::new),
    };
    Ok((settings::time_zone(settings), rates))
}

#[cfg(test)]
mod tests {
    use svctrack_core::value::Timestamp;

    use super::*;
    use crate::{WrittenReport, reads::written_reports::ReportValidity};

    const REPORT_BYTES: usize = 4 * 1024 * 1024;

    /// Number of ledgers that are cached, with such a written report each.
    fn cached_with(report_bytes: usize) -> usize {
        let ledgers = Ledgers::default();
        let tenant = |number: u8| TenantId::from_bytes([number; 16]);
        let tenant_ledger = TenantLedger::new(Zone::UTC, None, Arc::default(), 0);
        let validity = ReportValidity { time: Timestamp::MIN..Timestamp::MAX, version: 0 };
        let report = WrittenReport::new("x".repeat(report_bytes), 0);
        tenant_ledger.written.keep(String::new(), validity, &report);
        let kept = CachedLedger { read_to: 0, last: None, tenant_ledger };
        for number in 0..200 {
            ledgers.put(tenant(number), kept.clone());
            ledgers.put(tenant(0), kept.clone());
        }
        assert!(ledgers.take(tenant(0)).is_some() && ledgers.take(tenant(199)).is_some());
        assert!(ledgers.take(tenant(1)).is_none());
        ledgers.cached.lock().len()
    }

    #[test]
    fn ledgers_that_were_used_first_make_room() {
        assert_eq!(cached_with(0), MAX_LEDGER_BYTES / MIN_LEDGER_BYTES);
        assert_eq!(cached_with(REPORT_BYTES), MAX_LEDGER_BYTES / REPORT_BYTES);
    }
}
