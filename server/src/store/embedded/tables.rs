//! The tables of the store, opened for writing or for reading. The layout of their keys is drawn in
//! [`super::keys`].

use std::{panic::resume_unwind, thread};

use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase as _, ReadableTable, Table,
    TableDefinition, TableError, TableHandle as _, WriteTransaction,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    append_table::AppendTable,
    codec,
    engagement::{Changes, ReadEngagement, Rows, WriteEngagement},
    known::Known,
    snapshot::Snapshot,
    writer::begin,
};
use crate::store::StoreError;

/// From how many rows of engagement on another thread writes what was gathered meanwhile: it costs as much as some
/// forty.
const MIN_ROWS_BESIDE: usize = 100;

pub(super) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;
pub(super) type WriteTable<'t> = Table<'t, &'static [u8], &'static [u8]>;
pub(super) type ReadTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

pub(super) const META: Definition = TableDefinition::new("meta");
pub(super) const TENANTS: Definition = TableDefinition::new("tenants");
pub(super) const TOKENS: Definition = TableDefinition::new("tokens");
pub(super) const TOKENS_OF_TENANT: Definition = TableDefinition::new("tokens_of_tenant");
pub(super) const RECORDS: Definition = TableDefinition::new("records");
pub(super) const UNIQUE: Definition = TableDefinition::new("unique");
pub(super) const INDEX: Definition = TableDefinition::new("index");
pub(super) const ACTIVITIES: Definition = TableDefinition::new("activities");
pub(super) const ENGAGEMENT: Definition = TableDefinition::new("engagement");
pub(super) const ENGAGEMENT_LOG: Definition = TableDefinition::new("engagement_log");
pub(super) const ENGAGEMENT_LOG_TWIN: Definition = TableDefinition::new("engagement_log_twin");
pub(super) const ACTIVITY_MARKS: Definition = TableDefinition::new("activity_marks");
pub(super) const ACTIVITY_SPANS: Definition = TableDefinition::new("activity_spans");
pub(super) const PARKED: Definition = TableDefinition::new("parked");
pub(super) const WAITING: Definition = TableDefinition::new("waiting");
pub(super) const DUE: Definition = TableDefinition::new("due");
pub(super) const MESSAGES: Definition = TableDefinition::new("messages");
pub(super) const REPORT: Definition = TableDefinition::new("report");
pub(super) const REPORT_CAUSES: Definition = TableDefinition::new("report_causes");
pub(super) const CHANGES: Definition = TableDefinition::new("changes");
pub(super) const ONCE: Definition = TableDefinition::new("once");
pub(super) const ONCE_PLACES: Definition = TableDefinition::new("once_places");
pub(super) const COUNTERS: Definition = TableDefinition::new("counters");
pub(super) const SUPPRESSED: Definition = TableDefinition::new("suppressed");
pub(super) const ERASURES: Definition = TableDefinition::new("erasures");

pub(super) const ALL: [Definition; 25] = [
    META,
    TENANTS,
    TOKENS,
    TOKENS_OF_TENANT,
    RECORDS,
    UNIQUE,
    INDEX,
    ACTIVITIES,
    ENGAGEMENT,
    ENGAGEMENT_LOG,
    ENGAGEMENT_LOG_TWIN,
    ACTIVITY_MARKS,
    ACTIVITY_SPANS,
    PARKED,
    WAITING,
    DUE,
    MESSAGES,
    REPORT,
    REPORT_CAUSES,
    CHANGES,
    ONCE,
    ONCE_PLACES,
    COUNTERS,
    SUPPRESSED,
    ERASURES,
];

/// A table in a snapshot; none in a store that was last written before there was such a table.
pub(super) fn open_if_there(
    snapshot: &ReadTransaction,
    table: Definition,
) -> Result<Option<ReadTable>, TableError> {
    match snapshot.open_table(table) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Makes the tables that a store lacks, since they came after it was last written.
pub(super) fn make_missing(database: &Database) -> Result<(), StoreError> {
    let snapshot = database.begin_read()?;
    let known: Vec<_> = snapshot.list_tables()?.map(|table| table.name().to_owned()).collect();
    if ALL.iter().all(|table| known.iter().any(|name| name == table.name())) {
        return Ok(());
    }
    let transaction = begin(database)?;
    drop(WriteTables::open(&transaction, Known::default(), &mut Rows::default())?);
    Ok(transaction.commit()?)
}

/// The row under a key, if there is one.
pub(super) fn get_row<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<T>, StoreError> {
    let row = table.get(key)?;
    row.map(|row| codec::unseal_row(key, row.value())).transpose()
}

/// The first row from one key to another, if there is one.
pub(super) fn first_row<T: DeserializeOwned>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    (first, last): (Vec<u8>, Vec<u8>),
) -> Result<Option<T>, StoreError> {
    let row = table.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
    row.map(|(key, value)| codec::unseal_row(key.value(), value.value())).transpose()
}

/// Puts a row under a key.
pub(super) fn put_row<T: Serialize>(
    table: &mut WriteTable<'_>,
    key: &[u8],
    row: &T,
) -> Result<(), StoreError> {
    let value = codec::seal_row(key, row)?;
    table.insert(key, value.as_slice())?;
    Ok(())
}

/// All tables, in a transaction that writes, and what is known of them.
pub(super) struct WriteTables<'t> {
    pub(super) known: Known,
    pub(super) meta: WriteTable<'t>,
    pub(super) tenants: WriteTable<'t>,
    pub(super) tokens: WriteTable<'t>,
    pub(super) tokens_of_tenant: WriteTable<'t>,
    pub(super) records: AppendTable<'t>,
    pub(super) unique: WriteTable<'t>,
    pub(super) index: WriteTable<'t>,
    pub(super) activities: AppendTable<'t>,
    pub(super) engagement: WriteEngagement<'t>,
    pub(super) activity_marks: WriteTable<'t>,
    pub(super) activity_spans: WriteTable<'t>,
    pub(super) parked: WriteTable<'t>,
    pub(super) waiting: WriteTable<'t>,
    pub(super) due: WriteTable<'t>,
    pub(super) messages: AppendTable<'t>,
    pub(super) report: WriteTable<'t>,
    pub(super) report_causes: WriteTable<'t>,
    pub(super) changes: AppendTable<'t>,
    pub(super) once: WriteTable<'t>,
    pub(super) once_places: WriteTable<'t>,
    pub(super) counters: WriteTable<'t>,
    pub(super) suppressed: WriteTable<'t>,
    pub(super) erasures: WriteTable<'t>,
}

impl<'t> WriteTables<'t> {
    /// Opens every table, making those that are missing.
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        known: Known,
        engagement: &'t mut Rows,
    ) -> Result<Self, TableError> {
        Ok(Self {
            known,
            meta: transaction.open_table(META)?,
            tenants: transaction.open_table(TENANTS)?,
            tokens: transaction.open_table(TOKENS)?,
            tokens_of_tenant: transaction.open_table(TOKENS_OF_TENANT)?,
            records: AppendTable::of(transaction.open_table(RECORDS)?),
            unique: transaction.open_table(UNIQUE)?,
            index: transaction.open_table(INDEX)?,
            activities: AppendTable::of(transaction.open_table(ACTIVITIES)?),
            engagement: WriteEngagement::open(transaction, engagement)?,
            activity_marks: transaction.open_table(ACTIVITY_MARKS)?,
            activity_spans: transaction.open_table(ACTIVITY_SPANS)?,
            parked: transaction.open_table(PARKED)?,
            waiting: transaction.open_table(WAITING)?,
            due: transaction.open_table(DUE)?,
            messages: AppendTable::of(transaction.open_table(MESSAGES)?),
            report: transaction.open_table(REPORT)?,
            report_causes: transaction.open_table(REPORT_CAUSES)?,
            changes: AppendTable::of(transaction.open_table(CHANGES)?),
            once: transaction.open_table(ONCE)?,
            once_places: transaction.open_table(ONCE_PLACES)?,
            counters: transaction.open_table(COUNTERS)?,
            suppressed: transaction.open_table(SUPPRESSED)?,
            erasures: transaction.open_table(ERASURES)?,
        })
    }

    /// Every table whose keys begin with a tenant. It names all fields, so that a table that is added is thought of.
    pub(super) fn of_tenants(&mut self) -> Result<[&mut WriteTable<'t>; 20], StoreError> {
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

    fn appended(&mut self) -> [&mut AppendTable<'t>; 4] {
        [&mut self.records, &mut self.activities, &mut self.messages, &mut self.changes]
    }

    /// Has gathered rows written one by one.
    pub(super) fn avoid_runs(&mut self) {
        self.appended().into_iter().for_each(AppendTable::avoid_runs);
    }

    /// Whether writing gathered rows has failed, of which any command may have added those that did.
    pub(super) fn has_failed(&mut self) -> bool {
        self.appended().into_iter().any(|table| table.has_failed())
    }

    /// Writes what was gathered, and engagement, before the transaction is committed. Returns what is known, and what
    /// becomes of that which is known of engagement.
    pub(super) fn finish(mut self) -> Result<(Known, Changes), StoreError> {
        for table in self.appended() {
            table.written()?;
        }
        Ok((self.known, self.engagement.write()?))
    }

    /// The same, both at a time where there are many rows: they are a third of the work of bulk.
    pub(super) fn finish_bulk(self) -> Result<(Known, Changes), StoreError> {
        if self.engagement.touched() < MIN_ROWS_BESIDE {
            return self.finish();
        }
        let Self { known, records, activities, messages, changes, engagement, .. } = self;
        let mut gathered = [records, activities, messages, changes];
        let mut write_gathered =
            || gathered.iter_mut().try_for_each(|table| table.written().map(drop));
        let (written, engagement) = thread::scope(|scope| {
            let thread = thread::Builder::new().name("gathered".to_owned());
            let written = thread.spawn_scoped(scope, &mut write_gathered);
            let engagement = engagement.write_in_place();
            let joined =
                written.map(|thread| thread.join().unwrap_or_else(|thrown| resume_unwind(thrown)));
            (joined, engagement)
        });
        // The system may have no room for a thread.
        written.unwrap_or_else(|_| write_gathered())?;
        Ok((known, engagement?))
    }
}

/// The tables of records, in a snapshot.
pub(super) struct RecordTables {
    pub(super) records: ReadTable,
    pub(super) unique: ReadTable,
    pub(super) index: ReadTable,
    pub(super) engagement: ReadEngagement,
}

impl RecordTables {
    pub(super) fn open(snapshot: &Snapshot) -> Result<Self, StoreError> {
        Ok(Self {
            records: snapshot.open_table(RECORDS)?,
            unique: snapshot.open_table(UNIQUE)?,
            index: snapshot.open_table(INDEX)?,
            engagement: ReadEngagement::open(snapshot)?,
        })
    }
}
