//! The tables of a transaction, and those of records in a snapshot.

use super::{lookup_cache::LookupCache, tenant_view::Source};
use crate::{
    StoreError,
    rows::{engagement::WriteEngagement, *},
};

/// Transaction of an engine, which a command writes to. All of it comes to disk with the commit, or nothing.
pub(crate) trait Transaction {
    type Table: WriteRows;
    /// A table to which rows are added in bulk.
    type Appended: AppendRows<Table = Self::Table>;
    type Engagement: WriteEngagement<Table = Self::Table>;
}

/// All tables in a write transaction, and the cache of lookups.
pub(crate) struct Tables<T: Transaction> {
    pub(crate) known: LookupCache,
    pub(crate) meta: T::Table,
    pub(crate) tenants: T::Table,
    pub(crate) tokens: T::Table,
    pub(crate) tokens_of_tenant: T::Table,
    pub(crate) records: T::Appended,
    pub(crate) unique: T::Table,
    pub(crate) index: T::Table,
    pub(crate) activities: T::Appended,
    pub(crate) engagement: T::Engagement,
    pub(crate) activity_marks: T::Table,
    pub(crate) activity_spans: T::Table,
    pub(crate) parked: T::Table,
    pub(crate) waiting: T::Table,
    pub(crate) due: T::Table,
    pub(crate) messages: T::Appended,
    pub(crate) report: T::Table,
    pub(crate) report_causes: T::Table,
    pub(crate) changes: T::Appended,
    pub(crate) once: T::Table,
    pub(crate) once_places: T::Table,
    pub(crate) counters: T::Table,
    pub(crate) suppressed: T::Table,
    pub(crate) erasures: T::Table,
    pub(crate) revenue_versions: T::Appended,
    pub(crate) license_facts: T::Appended,
    pub(crate) closings: T::Table,
    pub(crate) usage: T::Table,
    pub(crate) audit: T::Appended,
    pub(crate) audit_records: T::Appended,
}

/// Tables whose keys do not begin with a tenant.
const OF_NO_TENANT: [Table; 3] = [META, TENANTS, TOKENS];

impl<T: Transaction> Tables<T> {
    /// Every table, made by `open`.
    pub(crate) fn open_all<E>(
        known: LookupCache,
        engagement: T::Engagement,
        open: impl Fn(Table) -> Result<T::Table, E>,
    ) -> Result<Self, E>
    where
        T::Appended: From<T::Table>,
    {
        Ok(Self {
            known,
            meta: open(META)?,
            tenants: open(TENANTS)?,
            tokens: open(TOKENS)?,
            tokens_of_tenant: open(TOKENS_OF_TENANT)?,
            records: open(RECORDS)?.into(),
            unique: open(UNIQUE)?,
            index: open(INDEX)?,
            activities: open(ACTIVITIES)?.into(),
            engagement,
            activity_marks: open(ACTIVITY_MARKS)?,
            activity_spans: open(ACTIVITY_SPANS)?,
            parked: open(PARKED)?,
            waiting: open(WAITING)?,
            due: open(DUE)?,
            messages: open(MESSAGES)?.into(),
            report: open(REPORT)?,
            report_causes: open(REPORT_CAUSES)?,
            changes: open(CHANGES)?.into(),
            once: open(ONCE)?,
            once_places: open(ONCE_PLACES)?,
            counters: open(COUNTERS)?,
            suppressed: open(SUPPRESSED)?,
            erasures: open(ERASURES)?,
            revenue_versions: open(REVENUE_VERSIONS)?.into(),
            license_facts: open(LICENSE_FACTS)?.into(),
            closings: open(CLOSINGS)?,
            usage: open(USAGE)?,
            audit: open(AUDIT)?.into(),
            audit_records: open(AUDIT_RECORDS)?.into(),
        })
    }

    /// Every table, with all rows in it. All fields are named, so that a new table is not forgotten.
    #[expect(clippy::too_many_lines, reason = "a line for each table")]
    pub(crate) fn all(&mut self) -> Result<[(Table, &mut T::Table); 29], StoreError> {
        let Self {
            known: _,
            meta,
            tenants,
            tokens,
            tokens_of_tenant,
            records,
            unique,
            index,
            activities,
            engagement,
            activity_marks,
            activity_spans,
            parked,
            waiting,
            due,
            messages,
            report,
            report_causes,
            changes,
            once,
            once_places,
            counters,
            suppressed,
            erasures,
            revenue_versions,
            license_facts,
            closings,
            usage,
            audit,
            audit_records,
        } = self;
        Ok([
            (META, meta),
            (TENANTS, tenants),
            (TOKENS, tokens),
            (TOKENS_OF_TENANT, tokens_of_tenant),
            (RECORDS, records.written()?),
            (UNIQUE, unique),
            (INDEX, index),
            (ACTIVITIES, activities.written()?),
            (ENGAGEMENT, engagement.table()),
            (ACTIVITY_MARKS, activity_marks),
            (ACTIVITY_SPANS, activity_spans),
            (PARKED, parked),
            (WAITING, waiting),
            (DUE, due),
            (MESSAGES, messages.written()?),
            (REPORT, report),
            (REPORT_CAUSES, report_causes),
            (CHANGES, changes.written()?),
            (ONCE, once),
            (ONCE_PLACES, once_places),
            (COUNTERS, counters),
            (SUPPRESSED, suppressed),
            (ERASURES, erasures),
            (REVENUE_VERSIONS, revenue_versions.written()?),
            (LICENSE_FACTS, license_facts.written()?),
            (CLOSINGS, closings),
            (USAGE, usage),
            (AUDIT, audit.written()?),
            (AUDIT_RECORDS, audit_records.written()?),
        ])
    }

    /// Every table whose keys begin with a tenant.
    pub(crate) fn of_tenants(&mut self) -> Result<impl Iterator<Item = &mut T::Table>, StoreError> {
        let of_tenants = |(table, rows)| (!OF_NO_TENANT.contains(&table)).then_some(rows);
        Ok(self.all()?.into_iter().filter_map(of_tenants))
    }
}

impl<T: Transaction> Source for Tables<T> {
    type Table = T::Table;
    type Records = T::Appended;
    type Engagement = T::Engagement;

    fn records(&self) -> &Self::Records {
        &self.records
    }

    fn unique(&self) -> &Self::Table {
        &self.unique
    }

    fn index(&self) -> &Self::Table {
        &self.index
    }

    fn engagement(&self) -> &Self::Engagement {
        &self.engagement
    }
}

pub(crate) struct RecordTables<S: Snapshot> {
    pub(crate) records: S::Table,
    unique: S::Table,
    index: S::Table,
    pub(crate) engagement: S::Engagement,
}

impl<S: Snapshot> RecordTables<S> {
    pub(crate) fn open(snapshot: &S) -> Result<Self, StoreError> {
        Ok(Self {
            records: snapshot.open(RECORDS)?,
            unique: snapshot.open(UNIQUE)?,
            index: snapshot.open(INDEX)?,
            engagement: snapshot.engagement()?,
        })
    }
}

impl<S: Snapshot> Source for RecordTables<S> {
    type Table = S::Table;
    type Records = S::Table;
    type Engagement = S::Engagement;

    fn records(&self) -> &Self::Records {
        &self.records
    }

    fn unique(&self) -> &Self::Table {
        &self.unique
    }

    fn index(&self) -> &Self::Table {
        &self.index
    }

    fn engagement(&self) -> &Self::Engagement {
        &self.engagement
    }
}
