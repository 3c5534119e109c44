//! Revenue reports: from the tenant's ledger, and from companies, users and tickets where a report needs them.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _},
    ops::Range,
    sync::Arc,
};

use foldhash::quality::FixedState;
use svctrack_core::{
    resources::{
        self,
        company::{COMPANY, NAME},
        ticket::{self, TICKET},
    },
    revenue::{
        LaterLicenses, Movements, Report, ReportError, ReportOptions, ReportQuery, ReportSources,
        report,
    },
    schema::{Lookup as _, ResourceDef},
    value::{Members as _, ObjectId, RecordRef, TenantId, Timestamp},
};

use super::{
    as_of::ReportData,
    closing_changes::{self, ClosedMonths},
    customer_usage::UsageByCompany,
    ledgers::{Ledgers, TenantLedger},
    usage,
    written_reports::ReportValidity,
};
use crate::{
    ReportJob, StoreError, WrittenReport,
    rows::{Bytes as _, Rows as _, Snapshot, keys, stored_value},
    rules::{open_tables::RecordTables, tenant_view::TenantView},
};

/// Tenant and time of a report.
#[derive(Clone, Copy)]
pub(crate) struct ReportContext {
    pub(crate) tenant: TenantId,
    /// Version of the tenant from before the snapshot was taken.
    pub(crate) version: u64,
    pub(crate) now: Timestamp,
}

/// Computes a report, or returns the cached one where its data has not changed.
pub(crate) fn revenue(
    ledgers: &Ledgers,
    snapshot: &impl Snapshot,
    request: ReportContext,
    job: &ReportJob,
) -> Result<WrittenReport, StoreError> {
    let ReportContext { tenant, version, now } = request;
    if !job.query.is_of_activities() && !job.query.needs_usage() {
        return of_licenses(&*ledgers.tenant_ledger(snapshot, tenant)?, snapshot, request, job);
    }
    let key = format!("{tenant} {}", job.key);
    if let Some(written) = ledgers.of_usage.get(&key, version, now) {
        return Ok(written);
    }
    let (written, until) = match job.query.is_of_activities() {
        true => usage::usage(snapshot, tenant, job, now)?,
        false => of_customers(&*ledgers.tenant_ledger(snapshot, tenant)?, snapshot, request, job)?,
    };
    ledgers.of_usage.keep(key, ReportValidity { time: now..until, version }, &written);
    Ok(written)
}

/// A report of licenses alone.
fn of_licenses(
    tenant_ledger: &TenantLedger,
    snapshot: &impl Snapshot,
    request: ReportContext,
    job: &ReportJob,
) -> Result<WrittenReport, StoreError> {
    if let Some(written) = tenant_ledger.written.get(&job.key, 0, request.now) {
        return Ok(written);
    }
    let (text, time) = match job.query.closed_month() {
        Some(month) => {
            let month =
                closing_changes::by_company(tenant_ledger, snapshot, request.tenant, month)?;
            let text = (job.write)(&Report::ClosedMonth(month.into()), &job.query)?;
            (text, Timestamp::MIN..Timestamp::MAX)
        }
        None => of_history(tenant_ledger, snapshot, request, job)?,
    };
    let written = WrittenReport::new(text, tenant_ledger.sequence);
    tenant_ledger.written.keep(job.key.clone(), ReportValidity { time, version: 0 }, &written);
    Ok(written)
}

/// A report of the licenses at a point in time, and the time in which it stays the same.
fn of_history(
    tenant_ledger: &TenantLedger,
    snapshot: &impl Snapshot,
    ReportContext { tenant, now, .. }: ReportContext,
    job: &ReportJob,
) -> Result<(String, Range<Timestamp>), StoreError> {
    let past = match job.query.as_of() {
        Some(as_of) if as_of > now => return Err(ReportError::AsOfAhead.into()),
        Some(as_of) => ReportData::as_of(snapshot, tenant, tenant_ledger, as_of)?,
        None => ReportData::none(tenant_ledger),
    };
    let present = job.query.as_of().unwrap_or(now);
    let zone = job.query.zone(past.zone);
    let time = past.ledger.stable_range(present, zone);
    let later = past.later.as_ref().filter(|_| job.query.needs_later_licenses());
    let later_time = later.map(|ledger| ledger.stable_range(now, zone));
    let later = later.zip(later_time.as_ref());
    let later = later.map(|(ledger, time)| LaterLicenses { ledger, now: time.start });
    let builder = ReportBuilder::new(snapshot, tenant, &past, now)?;
    let made = builder.make(&job.query, time.start, &UsageByCompany::none(now), later)?;
    let text = (job.write)(&made, &job.query)?;
    let time = match later_time {
        Some(time) => time,
        // A report as of a point in time stays the same.
        None if past.history.is_some() => present..Timestamp::MAX,
        None => time,
    };
    Ok((text, time))
}

/// The report of customers, and the time until which it stays the same.
fn of_customers(
    tenant_ledger: &TenantLedger,
    snapshot: &impl Snapshot,
    ReportContext { tenant, now, .. }: ReportContext,
    job: &ReportJob,
) -> Result<(WrittenReport, Timestamp), StoreError> {
    let past = ReportData::none(tenant_ledger);
    let time = past.ledger.stable_range(now, job.query.zone(past.zone));
    let builder = ReportBuilder::new(snapshot, tenant, &past, now)?;
    let usage = builder.usage(&job.query)?;
    let made = builder.make(&job.query, time.start, &usage, None)?;
    let written = WrittenReport::new((job.write)(&made, &job.query)?, tenant_ledger.sequence);
    let until = time.end.min(usage.until);
    Ok((WrittenReport { next_offset: made.next_offset(&job.query), ..written }, until))
}

impl WrittenReport {
    pub(super) fn new(text: String, sequence: u64) -> Self {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(text.as_bytes());
        Self { text: Arc::from(text), hash: hasher.finish(), sequence, next_offset: None }
    }
}

/// Properties of a company that a report filters or groups by.
#[derive(Default)]
struct Company {
    attributes: Vec<Option<String>>,
    /// Whether the company meets the filters of the report.
    passes_filters: bool,
}

type Companies = BTreeMap<ObjectId, Company>;

struct ReportBuilder<'b, S: Snapshot> {
    tables: RecordTables<S>,
    tenant: TenantId,
    past: &'b ReportData,
    closed: ClosedMonths<'b, S>,
    now: Timestamp,
}

impl<'b, S: Snapshot> ReportBuilder<'b, S> {
    fn new(
        snapshot: &'b S,
        tenant: TenantId,
        past: &'b ReportData,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let closed = ClosedMonths { snapshot, tenant, now: past };
        Ok(Self { tables: RecordTables::open(snapshot)?, tenant, past, closed, now })
    }

    /// Computes the report; `since` is the earliest point in time with the same report as now.
    fn make(
        &self,
        query: &ReportQuery,
        since: Timestamp,
        usage: &UsageByCompany,
        later: Option<LaterLicenses<'_>>,
    ) -> Result<Report, StoreError> {
        let past = self.past;
        let companies = self.companies(query)?;
        let company = self.company(query)?;
        let options = query.options(since, past.zone, past.rates.clone(), company);
        let options = ReportOptions { history: past.history, ..options? };
        let facts_of = |id: ObjectId| companies.get(&id);
        let unread = Cell::new(None);
        let note = |error| unread.set(Some(error));
        let name = |id| self.name(id).map_err(note).unwrap_or_default();
        let compared = |report: &Movements| match query.has_closings() {
            true => self.closed.compared(report).map_err(note).unwrap_or_default(),
            false => Vec::new(),
        };
        let sources = ReportSources {
            ledger: &past.ledger,
            later,
            attributes_of: &|id| {
                facts_of(id).map(|known| known.attributes.clone()).unwrap_or_default()
            },
            company_filter: &|id| facts_of(id).is_some_and(|known| known.passes_filters),
            name_of: &name,
            usage_of: &|id| usage.of(id),
            has_usage: usage.is_known,
            closings_of: &compared,
        };
        let made = report(query, &options, sources)?;
        unread.take().map_or(Ok(made), Err)
    }

    fn view(&self) -> TenantView<'_, RecordTables<S>> {
        TenantView::of_snapshot(self.tenant, &self.tables)
    }

    /// Company of the report, if it has one. A deleted company is found by its `_id`, where a report of an earlier time
    /// has its licenses.
    fn company(&self, query: &ReportQuery) -> Result<Option<ObjectId>, StoreError> {
        let Some(reference) = query.company() else { return Ok(None) };
        let deleted = match reference {
            RecordRef::Id(id) if self.past.ledger.has_company(*id) => Some(*id),
            _ => None,
        };
        let found = self.view().locate(&COMPANY, reference)?.or(deleted);
        let not_found = || ReportError::CompanyNotFound(reference.clone());
        Ok(Some(found.ok_or_else(not_found)?))
    }

    /// The name of a company; no other property is read.
    fn name(&self, id: ObjectId) -> Result<Option<String>, StoreError> {
        let name = self.view().read(&COMPANY, id, |company| {
            let name = company.get(NAME.name).and_then(|name| name.as_str());
            Ok(name.map(Cow::into_owned))
        })?;
        Ok(name.flatten())
    }

    /// Properties of companies that the report filters or groups by.
    fn companies(&self, query: &ReportQuery) -> Result<Companies, StoreError> {
        let mut companies = Companies::new();
        if !query.attributes().is_empty() || !query.filters().is_empty() {
            let mut filters = query.filters().to_vec();
            resources::resolve(&mut filters, &COMPANY, &self.view())?;
            self.for_each(&COMPANY, self.company(query)?, |id, company| {
                let attributes = query.attributes().iter();
                let attributes = attributes.map(|property| property.segment_of(&company)).collect();
                let passes_filters = filters.iter().all(|filter| filter.matches(&company));
                companies.insert(id, Company { attributes, passes_filters });
                Ok(())
            })?;
        }
        Ok(companies)
    }

    /// Usage of companies, and open tickets.
    fn usage(&self, query: &ReportQuery) -> Result<UsageByCompany, StoreError> {
        let only = self.company(query)?;
        let mut usage = UsageByCompany::none(self.now);
        usage.add_engagement(self.closed.snapshot, &self.tables.engagement, self.tenant, only)?;
        let mut add_ticket = |ticket: stored_value::StoredRecord<'_>| {
            usage.add_ticket(&ticket);
            Ok(())
        };
        let Some(company) = only else {
            self.for_each(&TICKET, None, |_, ticket| add_ticket(ticket))?;
            return Ok(usage);
        };
        let view = self.view();
        let row = ticket::COMPANY_ID.name;
        for id in view.holders(&TICKET, row, &company.to_string(), usize::MAX)? {
            view.read(&TICKET, id, &mut add_ticket)?;
        }
        Ok(usage)
    }

    /// Visits all records of a resource, or one of them.
    fn for_each(
        &self,
        def: &ResourceDef,
        only: Option<ObjectId>,
        mut look: impl FnMut(ObjectId, stored_value::StoredRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let first = keys::record(self.tenant, def.code, only.unwrap_or(ObjectId::MIN));
        let last = keys::record(self.tenant, def.code, only.unwrap_or(ObjectId::MAX));
        for row in self.tables.records.range(first.as_slice()..=last.as_slice())? {
            let (key, value) = row?;
            let Some(id) = keys::id_at_end(key.value()) else { continue };
            look(id, stored_value::unseal_record(key.value(), value.value())?)?;
        }
        Ok(())
    }
}
