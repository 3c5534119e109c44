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
    rules::{closings, open_tables::RecordTables, view::TenantView},
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
pub(crate) struct Books {
    pub(crate) zone: Zone,
    pub(crate) rates: Option<ExchangeRates>,
    pub(crate) ledger: Arc<Ledger>,
    /// Position in the change log when the books were computed: their data has not changed since.
    pub(crate) sequence: u64,
    /// Bytes of the ledger, and of the reports that may be written of it.
    bytes: usize,
    /// Reports that were written of these books: they are of one version.
    pub(crate) written: WrittenReports,
}

impl Books {
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

/// The books of a tenant up to a row of the change log.
#[derive(Clone)]
struct CachedBooks {
    read_to: u64,
    /// Row at `read_to`: of a tenant that was deleted and created again, it is another one.
    last: Option<ChangeRow>,
    books: Arc<Books>,
}

/// Changes since the books were cached.
#[derive(Default)]
struct Since {
    licenses: BTreeSet<ObjectId>,
    has_settings: bool,
    has_companies: bool,
    has_closings: bool,
    read_to: u64,
    last: Option<ChangeRow>,
}

/// Relation of cached books to a snapshot.
enum CacheState {
    Behind(Since),
    /// The books are of a later snapshot.
    Ahead,
    /// The books are of another tenant, or too much has changed.
    Unknown,
}

/// The books of the tenants, and the reports that are computed from usage as well, which has no row in the change log.
pub(crate) struct Ledgers {
    /// Books of the tenants, those that were used last at the end.
    books: Mutex<Vec<(TenantId, CachedBooks)>>,
    /// Reports of usage, by tenant as well, and by its version.
    pub(crate) of_usage: WrittenReports,
}

impl Default for Ledgers {
    fn default() -> Self {
        Self { books: Mutex::default(), of_usage: WrittenReports::up_to(MAX_USAGE_BYTES) }
    }
}

impl Ledgers {
    /// Books of a tenant in a snapshot.
    pub(crate) fn books(
        &self,
        snapshot: &impl Snapshot,
        tenant: TenantId,
    ) -> Result<Arc<Books>, StoreError> {
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
                let kept = CachedBooks { read_to, last, books: reader.books(read_to)? };
                if matches!(standing, CacheState::Ahead) {
                    return Ok(kept.books);
                }
                kept
            }
        };
        let books = now.books.clone();
        self.put(tenant, now);
        Ok(books)
    }

    fn take(&self, tenant: TenantId) -> Option<CachedBooks> {
        let kept = self.books.lock();
        kept.iter().find(|(known, _)| *known == tenant).map(|(_, kept)| kept.clone())
    }

    fn put(&self, tenant: TenantId, now: CachedBooks) {
        let mut kept = self.books.lock();
        kept.retain(|(known, _)| *known != tenant);
        // If the books are of an earlier snapshot than another reader's, they are updated from there again.
        kept.push((tenant, now));
        let mut bytes: usize = kept.iter().map(|(_, kept)| kept.books.bytes).sum();
        while bytes > MAX_LEDGER_BYTES && !kept.is_empty() {
            bytes -= kept.remove(0).1.books.bytes;
        }
    }
}

impl CachedBooks {
    fn standing(
        &self,
        snapshot: &impl Snapshot,
        tenant: TenantId,
    ) -> Result<CacheState, StoreError> {
        let log = snapshot.open(CHANGES)?;
        let (first, last) = (keys::change(tenant, self.read_to), keys::change(tenant, u64::MAX));
        let mut since =
            Since { read_to: self.read_to, last: self.last.clone(), ..Since::default() };
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

    /// Applies the changes since to the cached books.
    fn follow(
        self,
        reader: &LicenseReader<'_, impl Snapshot>,
        since: Since,
    ) -> Result<Self, StoreError> {
        let Since { licenses, has_settings, has_companies, has_closings, read_to, last } = since;
        let books = if !has_settings && !has_companies && !has_closings && licenses.is_empty() {
            self.books
        } else {
            let (zone, rates) = reader.settings()?;
            if zone == self.books.zone {
                let ledger = match licenses.is_empty() {
                    true => self.books.ledger.clone(),
                    false => Arc::new(reader.changed(&self.books, &licenses)?),
                };
                Books::new(zone, rates, ledger, read_to)
            } else {
                // Licenses end at midnights of the zone.
                reader.books(read_to)?
            }
        };
        Ok(Self { read_to, last, books })
    }
}

impl Since {
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

    fn books(&self, read_to: u64) -> Result<Arc<Books>, StoreError> {
        let (zone, rates) = self.settings()?;
        Ok(Books::new(zone, rates, Arc::new(self.ledger(zone)?), read_to))
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
    fn changed(&self, books: &Books, licenses: &BTreeSet<ObjectId>) -> Result<Ledger, StoreError> {
        let view = self.view();
        let mut changes = BTreeMap::new();
        for id in licenses {
            let facts = view.read(&LICENSE, *id, |stored| {
                Ok(LicenseFacts::of_stored(stored.text(), books.zone))
            })?;
            changes.insert(*id, facts.flatten());
        }
        books.ledger.changed(&changes).map_err(rejected)
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

    fn books() -> Arc<Books> {
        Books::new(Zone::UTC, None, Arc::default(), 0)
    }

    #[test]
    fn ledgers_that_were_used_first_make_room() {
        let ledgers = Ledgers::default();
        let tenant = |number: u8| TenantId::from_bytes([number; 16]);
        let kept = CachedBooks { read_to: 0, last: None, books: books() };
        for number in 0..200 {
            ledgers.put(tenant(number), kept.clone());
            ledgers.put(tenant(0), kept.clone());
        }
        assert_eq!(ledgers.books.lock().len(), MAX_LEDGER_BYTES / MAX_REPORTS_BYTES);
        assert!(ledgers.take(tenant(0)).is_some() && ledgers.take(tenant(199)).is_some());
        assert!(ledgers.take(tenant(1)).is_none());
    }
}
