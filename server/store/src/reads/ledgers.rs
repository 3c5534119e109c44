//! Ledgers of tenants that were requested lately, each brought up to date from the change log: only licenses that have
//! changed since are read again.
//!
//! Invariant: a ledger is used only after the change log of the reader's own snapshot was read to its end. The reports
//! of a ledger are dropped with it, so that no report is older than its licenses, its companies and its settings.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::{Arc, mpsc},
    thread,
};

use parking_lot::Mutex;
use svctrack_core::{
    resources::{
        company::COMPANY,
        license::LICENSE,
        settings::{self, Currencies, SETTINGS},
    },
    revenue::{ExchangeRates, Ledger, LicenseFacts, ReportError},
    value::{Document, ObjectId, TenantId, Zone},
};

use super::written_reports::WrittenReports;
use crate::{
    StoreError,
    rows::{
        Bytes as _, CHANGES, Rows, Snapshot, keys,
        stored_value::{self, ChangeRow},
    },
    rules::{closings, open_tables::RecordTables, tenant_view::TenantView},
};

/// Bytes of all cached ledgers, with their reports: half a million licenses. The least recently used are dropped first.
const MAX_LEDGER_BYTES: usize = 96 * 1024 * 1024;
/// Bytes of the cached reports of a ledger.
const MAX_REPORTS_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the cached reports of all tenants that are computed from usage as well.
const MAX_USAGE_BYTES: usize = 8 * 1024 * 1024;
/// Threads that read all licenses of a tenant, each a run of rows in turn, and number of runs in advance.
const READERS: usize = 2;
const ROWS_OF_A_RUN: usize = 64;
const RUNS_AHEAD: usize = 16;
/// Changes after which a ledger is read as a whole: applying more takes longer.
const MAX_CHANGES: usize = 20_000;

/// Licenses of a tenant, and the data to count them.
pub(crate) struct TenantLedger {
    pub(crate) zone: Zone,
    pub(crate) rates: Option<ExchangeRates>,
    pub(crate) ledger: Arc<Ledger>,
    /// Position in the change log when it was computed: its data has not changed since.
    pub(crate) sequence: u64,
    /// Bytes of the ledger, and of the reports that may be written of it.
    bytes: usize,
    /// Reports that were written of it: they are of one version.
    pub(crate) written: WrittenReports,
}

impl TenantLedger {
    fn new(
        zone: Zone,
        rates: Option<ExchangeRates>,
        ledger: Arc<Ledger>,
        sequence: u64,
    ) -> Arc<Self> {
        let bytes = ledger.bytes() + MAX_REPORTS_BYTES;
        let written = WrittenReports::up_to(MAX_REPORTS_BYTES);
        Arc::new(Self { zone, rates, ledger, sequence, bytes, written })
    }
}

/// The ledger of a tenant up to a row of the change log.
#[derive(Clone)]
struct CachedLedger {
    read_to: u64,
    /// Row at `read_to`: of a tenant that was deleted and created again, it is another one.
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

/// The ledgers of tenants, and the reports that are computed from usage as well, which has no row in the change log.
pub(crate) struct Ledgers {
    /// Ledgers of the tenants, the most recently used at the end.
    cached: Mutex<Vec<(TenantId, CachedLedger)>>,
    /// Reports of usage, by tenant as well, and by its version.
    pub(crate) of_usage: WrittenReports,
}

impl Default for Ledgers {
    fn default() -> Self {
        Self { cached: Mutex::default(), of_usage: WrittenReports::up_to(MAX_USAGE_BYTES) }
    }
}

impl Ledgers {
    /// Ledger of a tenant in a snapshot.
    pub(crate) fn tenant_ledger(
        &self,
        snapshot: &impl Snapshot,
        tenant: TenantId,
    ) -> Result<Arc<TenantLedger>, StoreError> {
        let kept = self.take(tenant);
        let standing = match &kept {
            Some(kept) => kept.standing(snapshot, tenant)?,
            None => CacheState::Unknown,
        };
        let now = match (kept, standing) {
            (Some(kept), CacheState::Behind(since)) => {
                kept.follow(&LicenseReader::open(snapshot, tenant)?, since)?
            }
            (_, standing) => {
                let reader = LicenseReader::open(snapshot, tenant)?;
                let (read_to, last) = end_of_log(snapshot, tenant)?;
                let kept =
                    CachedLedger { read_to, last, tenant_ledger: reader.tenant_ledger(read_to)? };
                if matches!(standing, CacheState::Ahead) {
                    return Ok(kept.tenant_ledger);
                }
                kept
            }
        };
        let tenant_ledger = now.tenant_ledger.clone();
        self.put(tenant, now);
        Ok(tenant_ledger)
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
        let mut bytes: usize = kept.iter().map(|(_, kept)| kept.tenant_ledger.bytes).sum();
        while bytes > MAX_LEDGER_BYTES && !kept.is_empty() {
            bytes -= kept.remove(0).1.tenant_ledger.bytes;
        }
    }
}

impl CachedLedger {
    fn standing(
        &self,
        snapshot: &impl Snapshot,
        tenant: TenantId,
    ) -> Result<CacheState, StoreError> {
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
                let (zone, rates) = reader.settings()?;
                if zone == self.tenant_ledger.zone {
                    let ledger = match licenses.is_empty() {
                        true => self.tenant_ledger.ledger.clone(),
                        false => Arc::new(reader.changed(&self.tenant_ledger, &licenses)?),
                    };
                    TenantLedger::new(zone, rates, ledger, read_to)
                } else {
                    // Licenses end at midnights of the zone.
                    reader.tenant_ledger(read_to)?
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

pub(crate) fn change_of<B: crate::rows::Bytes>(
    row: crate::rows::RowResult<B>,
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

/// Reads licenses of a tenant.
pub(crate) struct LicenseReader<'s, S: Snapshot> {
    tenant: TenantId,
    tables: RecordTables<S>,
    snapshot: &'s S,
}

impl<'s, S: Snapshot> LicenseReader<'s, S> {
    pub(crate) fn open(snapshot: &'s S, tenant: TenantId) -> Result<Self, StoreError> {
        Ok(Self { tenant, tables: RecordTables::open(snapshot)?, snapshot })
    }

    fn view(&self) -> TenantView<'_, RecordTables<S>> {
        TenantView::of_snapshot(self.tenant, &self.tables)
    }

    fn settings(&self) -> Result<(Zone, Option<ExchangeRates>), StoreError> {
        currencies_of(&settings::of_tenant(&self.view())?)
    }

    fn tenant_ledger(&self, read_to: u64) -> Result<Arc<TenantLedger>, StoreError> {
        let (zone, rates) = self.settings()?;
        Ok(TenantLedger::new(zone, rates, Arc::new(self.ledger(zone)?), read_to))
    }

    /// All licenses, with their ends in a zone. Two threads read them: finding the facts in their text takes long.
    pub(crate) fn ledger(&self, zone: Zone) -> Result<Ledger, StoreError> {
        let (send, runs) = mpsc::sync_channel(RUNS_AHEAD);
        // Both ends move into the closure, so that no reader waits for one that has ended.
        thread::scope(move |scope| {
            let mut readers = Vec::new();
            for part in 0..READERS {
                let send = send.clone();
                let read = move || self.each_run(zone, part, |run| send.send(run).is_ok());
                let reader = thread::Builder::new().name("licenses".to_owned());
                let reader = reader.spawn_scoped(scope, read);
                readers.push(reader.map_err(|error| StoreError::Unavailable(error.to_string()))?);
            }
            drop(send);
            let ledger = Ledger::new(runs.iter().flatten());
            for reader in readers {
                reader.join().unwrap_or_else(|thrown| resume_unwind(thrown))?;
            }
            ledger.map_err(rejected)
        })
    }

    /// Passes the facts of a part of the licenses to `take`, a run of rows at a time, as long as it takes them.
    fn each_run(
        &self,
        zone: Zone,
        part: usize,
        mut take: impl FnMut(Vec<LicenseFacts<'static>>) -> bool,
    ) -> Result<(), StoreError> {
        let (first, last) = (
            keys::record(self.tenant, LICENSE.code, ObjectId::MIN),
            keys::record(self.tenant, LICENSE.code, ObjectId::MAX),
        );
        let table = self.snapshot.open(crate::rows::RECORDS)?;
        let mut run = Vec::new();
        for (number, row) in table.range(first.as_slice()..=last.as_slice())?.enumerate() {
            let (key, value) = row?;
            if (number / ROWS_OF_A_RUN) % READERS == part {
                let stored = stored_value::unseal_record(key.value(), value.value())?;
                run.extend(LicenseFacts::of_stored(stored.text(), zone));
            } else if !run.is_empty() && !take(std::mem::take(&mut run)) {
                return Ok(());
            }
        }
        take(run);
        Ok(())
    }

    /// The ledger with licenses that have changed.
    fn changed(
        &self,
        tenant_ledger: &TenantLedger,
        licenses: &BTreeSet<ObjectId>,
    ) -> Result<Ledger, StoreError> {
        let view = self.view();
        let mut changes = BTreeMap::new();
        for id in licenses {
            let facts = view.read(&LICENSE, *id, |stored| {
                Ok(LicenseFacts::of_stored(stored.text(), tenant_ledger.zone))
            })?;
            changes.insert(*id, facts.flatten());
        }
        tenant_ledger.ledger.changed(&changes).map_err(rejected)
    }
}

/// The zone and the rates of settings.
pub(crate) fn currencies_of(
    settings: &Document,
) -> Result<(Zone, Option<ExchangeRates>), StoreError> {
    let rates = match Currencies::from_settings(settings) {
        Some(currencies) => Some(ExchangeRates::from_currencies(&currencies).map_err(rejected)?),
        None => Currencies::base_of(settings).map(ExchangeRates::new),
    };
    Ok((settings::time_zone(settings), rates))
}

/// Error of a rejected report query.
pub(crate) fn rejected(error: ReportError) -> StoreError {
    StoreError::Invalid(vec![error.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant_ledger() -> Arc<TenantLedger> {
        TenantLedger::new(Zone::UTC, None, Arc::default(), 0)
    }

    #[test]
    fn ledgers_that_were_used_first_make_room() {
        let ledgers = Ledgers::default();
        let tenant = |number: u8| TenantId::from_bytes([number; 16]);
        let kept = CachedLedger { read_to: 0, last: None, tenant_ledger: tenant_ledger() };
        for number in 0..200 {
            ledgers.put(tenant(number), kept.clone());
            ledgers.put(tenant(0), kept.clone());
        }
        assert_eq!(ledgers.cached.lock().len(), MAX_LEDGER_BYTES / MAX_REPORTS_BYTES);
        assert!(ledgers.take(tenant(0)).is_some() && ledgers.take(tenant(199)).is_some());
        assert!(ledgers.take(tenant(1)).is_none());
    }
}
