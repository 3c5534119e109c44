//! Revenue reports: from the tenant's ledger, and from companies, users and tickets where a report asks for them.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _},
    sync::Arc,
};

use foldhash::quality::FixedState;
use svctrack_core::{
    resources::{
        company::{COMPANY, NAME},
        end_user::{self, END_USER},
        ticket::{self, TICKET},
    },
    revenue::{Later, Options, Report, ReportError, ReportQuery, Sources, Usage, report},
    schema::{Lookup as _, ResourceDef},
    value::{Members as _, ObjectId, TenantId, Timestamp},
};

use super::{
    as_of::Past,
    closing_changes::Closed,
    ledgers::{Ledgers, rejected},
    usage,
};
use crate::{
    ReportJob, StoreError, WrittenReport,
    rows::{Bytes as _, Rows as _, Snapshot, codec, engagement::ReadRows as _, keys},
    rules::{open_tables::RecordTables, view::View},
};

/// Computes a report, or returns the cached one where nothing in it has changed.
pub(crate) fn revenue(
    ledgers: &Ledgers,
    snapshot: &impl Snapshot,
    tenant: TenantId,
    job: &ReportJob,
    now: Timestamp,
) -> Result<WrittenReport, StoreError> {
    if job.query.is_of_activities() {
        return usage::usage(snapshot, tenant, job, now);
    }
    let books = ledgers.of(snapshot, tenant)?;
    // Usage has no row in the change log.
    let is_kept = !job.query.needs_usage();
    if let Some(written) = books.written(&job.key, now).filter(|_| is_kept) {
        return Ok(written);
    }
    let past = match job.query.as_of() {
        Some(as_of) if as_of > now => return Err(rejected(ReportError::AsOfAhead)),
        Some(as_of) => Past::of(snapshot, tenant, &books, as_of)?,
        None => Past::none(&books),
    };
    let tables = RecordTables::open(snapshot)?;
    let closed = Closed { snapshot, tenant, zone: past.zone };
    let present = job.query.as_of().unwrap_or(now);
    let zone = job.query.zone(past.zone);
    let time = past.ledger.quiet_time(present, zone);
    let later = past.later.as_ref().filter(|_| job.query.needs_later());
    let later_time = later.map(|ledger| ledger.quiet_time(now, zone));
    let later = later.zip(later_time.as_ref());
    let later = later.map(|(ledger, time)| Later { ledger, now: time.start });
    let maker = Maker { tables, tenant, past: &past, closed, now, later };
    let text = maker.write(job, time.start)?;
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    let written =
        WrittenReport { text: Arc::from(text), hash: hasher.finish(), sequence: books.sequence };
    if is_kept {
        let time = match later_time {
            Some(time) => time,
            // As of a point in time it says the same for good, as far as time goes.
            None if past.history.is_some() => present..Timestamp::MAX,
            None => time,
        };
        books.keep(job.key.clone(), time, &written);
    }
    Ok(written)
}

/// What is read of a company.
#[derive(Default)]
struct Company {
    name: Option<String>,
    attributes: Vec<Option<String>>,
    usage: Usage,
}

type Companies = BTreeMap<ObjectId, Company>;

struct Maker<'b, S: Snapshot> {
    tables: RecordTables<S>,
    tenant: TenantId,
    past: &'b Past,
    closed: Closed<'b, S>,
    now: Timestamp,
    later: Option<Later<'b>>,
}

impl<S: Snapshot> Maker<'_, S> {
    /// Writes the report; `since` is the earliest point in time with the same report as now.
    fn write(&self, job: &ReportJob, since: Timestamp) -> Result<String, StoreError> {
        let (query, past) = (&job.query, self.past);
        let company = match query.company() {
            // One that is not there has no licenses (R2).
            Some(reference) => {
                Some(self.view().locate(&COMPANY, reference)?.unwrap_or(ObjectId::MAX))
            }
            None => None,
        };
        let options = query.options(since, past.zone, past.rates.clone(), company);
        let options = Options { history: past.history, ..options.map_err(rejected)? };
        let companies = self.companies(query)?;
        let of = |id: ObjectId| companies.get(&id);
        let sources = Sources {
            ledger: &past.ledger,
            later: self.later,
            attributes_of: &|id| of(id).map(|known| known.attributes.clone()).unwrap_or_default(),
            name_of: &|id| of(id).and_then(|known| known.name.clone()),
            usage_of: &|id| of(id).map(|known| known.usage.clone()).unwrap_or_default(),
        };
        let mut made = report(query, &options, sources).map_err(rejected)?;
        if let Report::Mrr(report) = &mut made
            && query.has_closings()
        {
            report.closings = self.closed.compared(report)?;
        }
        (job.write)(&made, query)
    }

    fn view(&self) -> View<'_, RecordTables<S>> {
        View::of_snapshot(self.tenant, &self.tables)
    }

    /// What the report reads of companies.
    fn companies(&self, query: &ReportQuery) -> Result<Companies, StoreError> {
        let mut companies = Companies::new();
        if query.needs_usage() || !query.attributes().is_empty() {
            self.for_each(&COMPANY, |id, company| {
                let name = company.get(NAME.name).and_then(|name| name.as_str());
                let attributes = query.attributes().iter();
                let attributes = attributes.map(|property| property.of(&company)).collect();
                let name = name.map(std::borrow::Cow::into_owned);
                companies.insert(id, Company { name, attributes, usage: Usage::default() });
                Ok(())
            })?;
        }
        if query.needs_usage() {
            self.add_usage(&mut companies)?;
        }
        Ok(companies)
    }

    fn add_usage(&self, companies: &mut Companies) -> Result<(), StoreError> {
        let engagement = |def, id| self.tables.engagement.engagement(self.tenant, def, id);
        for (id, company) in companies.iter_mut() {
            let engagement = engagement(&COMPANY, *id)?.unwrap_or_default();
            company.usage.add_company(&engagement, self.now);
        }
        let company_of =
            |record: &codec::Stored<'_>, name| ObjectId::parse(&record.get(name)?.as_str()?);
        self.for_each(&END_USER, |id, user| {
            let company = company_of(&user, end_user::COMPANY_ID.name);
            let company = company.and_then(|company| companies.get_mut(&company));
            if let (Some(company), Some(engagement)) = (company, engagement(&END_USER, id)?) {
                company.usage.add_user(&engagement, self.now);
            }
            Ok(())
        })?;
        self.for_each(&TICKET, |_, found| {
            let company = company_of(&found, ticket::COMPANY_ID.name);
            if let Some(company) = company.and_then(|company| companies.get_mut(&company)) {
                company.usage.add_ticket(&found, self.now);
            }
            Ok(())
        })
    }

    /// Visits all records of a resource.
    fn for_each(
        &self,
        def: &ResourceDef,
        mut look: impl FnMut(ObjectId, codec::Stored<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let first = keys::record(self.tenant, def.code, ObjectId::MIN);
        let last = keys::record(self.tenant, def.code, ObjectId::MAX);
        for row in self.tables.records.range(first.as_slice()..=last.as_slice())? {
            let (key, value) = row?;
            let Some(id) = keys::id_at_end(key.value()) else { continue };
            look(id, codec::unseal_record(key.value(), value.value())?)?;
        }
        Ok(())
    }
}
