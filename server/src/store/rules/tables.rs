//! The tables of a transaction, and those of records in a snapshot.

use super::{known::Known, view::Source};
use crate::store::{
    StoreError,
    rows::{AppendRows, INDEX, RECORDS, Snapshot, UNIQUE, WriteRows, engagement::WriteEngagement},
};

/// What an engine gives a command to write to. All of it comes to disk with the commit, or nothing.
pub(crate) trait Transaction {
    /// A table.
    type Table: WriteRows;
    /// A table to which rows are added by the thousand.
    type Appended: AppendRows<Table = Self::Table>;
    /// Engagement.
    type Engagement: WriteEngagement<Table = Self::Table>;
}

/// All tables, in a transaction that writes, and what is known of them.
pub(crate) struct Tables<T: Transaction> {
    pub(crate) known: Known,
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
}

impl<T: Transaction> Tables<T> {
    /// Every table whose keys begin with a tenant. It names all fields, so that a table that is added is thought of.
    pub(crate) fn of_tenants(&mut self) -> Result<[&mut T::Table; 20], StoreError> {
        let Self {
            known: _,
            meta: _,
            tenants: _,
            tokens: _,
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
        } = self;
        Ok([
            tokens_of_tenant,
            records.written()?,
            unique,
            index,
            activities.written()?,
            engagement.table(),
            activity_marks,
            activity_spans,
            parked,
            waiting,
            due,
            messages.written()?,
            report,
            report_causes,
            changes.written()?,
            once,
            once_places,
            counters,
            suppressed,
            erasures,
        ])
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

/// The tables of records, in a snapshot.
pub(crate) struct RecordTables<S: Snapshot> {
    pub(crate) records: S::Table,
    unique: S::Table,
    index: S::Table,
    pub(crate) engagement: S::Engagement,
}

impl<S: Snapshot> RecordTables<S> {
    /// Opens them.
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
