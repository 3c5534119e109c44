//! The tables of the store in redb, opened for writing or for reading.

use std::{
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    panic::resume_unwind,
    thread,
};

use redb::{
    AccessGuard, CursorMut, Database, ReadTransaction, ReadableDatabase as _, ReadableTable,
    ReadableTableMetadata, TableDefinition, TableError, TableHandle as _, WriteTransaction,
};

use super::{
    append_table::AppendTable,
    engagement::{Changes, RowsAtHand, TransactionEngagement},
    snapshot::RedbSnapshot,
    writer::begin,
};
use crate::store::{
    StoreError,
    rows::*,
    rules::{
        self,
        known::Known,
        tables::{Tables, Transaction},
    },
};

/// From how many rows of engagement on another thread writes what was gathered meanwhile: it costs as much as some
/// forty.
const MIN_ROWS_BESIDE: usize = 100;

type Inner<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;
type InnerRead = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A table as redb is asked for it.
pub(super) const fn definition(
    table: Table,
) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

impl Bytes for AccessGuard<'_, &'static [u8]> {
    fn value(&self) -> &[u8] {
        AccessGuard::value(self)
    }
}

/// Rows in the order of their keys.
pub(super) struct Range<'r>(redb::Range<'r, &'static [u8], &'static [u8]>);

impl<'r> Iterator for Range<'r> {
    type Item = Row<AccessGuard<'r, &'static [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(StoreError::from))
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        Some(self.0.next_back()?.map_err(StoreError::from))
    }
}

/// A table in a snapshot.
pub(super) struct ReadTable(InnerRead);

/// A table in a transaction that writes.
pub(super) struct WriteTable<'t>(Inner<'t>);

macro_rules! rows_of {
    ($table:ty) => {
        impl Rows for $table {
            type Bytes<'r>
                = AccessGuard<'r, &'static [u8]>
            where
                Self: 'r;
            type Range<'r>
                = Range<'r>
            where
                Self: 'r;

            fn get(&self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
                Ok(ReadableTable::get(&self.0, key)?)
            }

            fn range<'k>(
                &self,
                keys: impl RangeBounds<&'k [u8]> + 'k,
            ) -> Result<Self::Range<'_>, StoreError> {
                Ok(Range(ReadableTable::range(&self.0, keys)?))
            }

            fn len(&self) -> Result<u64, StoreError> {
                Ok(ReadableTableMetadata::len(&self.0)?)
            }
        }
    };
}

impl ReadRow for ReadTable {
    fn read<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        Ok(self.get(key)?.map(|value| read(value.value())))
    }
}

rows_of!(ReadTable);
rows_of!(WriteTable<'_>);

impl WriteRows for WriteTable<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
        Ok(self.0.insert(key, value)?)
    }

    fn remove(&mut self, key: &[u8]) -> Result<Option<Self::Bytes<'_>>, StoreError> {
        Ok(self.0.remove(key)?)
    }

    fn remove_range<'k>(
        &mut self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<(), StoreError> {
        Ok(self.0.retain_in(keys, |_, _| false)?)
    }
}

impl<'t> WriteTable<'t> {
    /// Opens a table, and makes it where it is missing.
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        table: Table,
    ) -> Result<Self, TableError> {
        Ok(Self(transaction.open_table(definition(table))?))
    }

    /// A cursor behind a key.
    pub(super) fn behind(
        &mut self,
        key: &[u8],
    ) -> Result<CursorMut<'_, &'static [u8], &'static [u8]>, StoreError> {
        Ok(self.0.lower_bound_mut(Bound::Excluded(key))?)
    }
}

impl ReadTable {
    /// Opens a table.
    pub(super) fn open(snapshot: &ReadTransaction, table: Table) -> Result<Self, TableError> {
        Ok(Self(snapshot.open_table(definition(table))?))
    }
}

/// A table in a snapshot; none in a store that was last written before there was such a table.
pub(super) fn open_if_there(
    snapshot: &ReadTransaction,
    table: Table,
) -> Result<Option<ReadTable>, TableError> {
    match ReadTable::open(snapshot, table) {
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
    drop(WriteTables::open(&transaction, Known::default(), &mut RowsAtHand::default())?);
    Ok(transaction.commit()?)
}

/// All tables, in a transaction of redb.
pub(super) type WriteTables<'t> = Tables<Redb<'t>>;

/// The tables of records in a snapshot of redb.
pub(super) type RecordTables = rules::tables::RecordTables<RedbSnapshot>;

/// What redb gives a command to write to.
pub(super) struct Redb<'t>(PhantomData<&'t ()>);

impl<'t> Transaction for Redb<'t> {
    type Table = WriteTable<'t>;
    type Appended = AppendTable<'t>;
    type Engagement = TransactionEngagement<'t>;
}

impl<'t> WriteTables<'t> {
    /// Opens every table, making those that are missing.
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        known: Known,
        engagement: &'t mut RowsAtHand,
    ) -> Result<Self, TableError> {
        Ok(Self {
            known,
            meta: WriteTable::open(transaction, META)?,
            tenants: WriteTable::open(transaction, TENANTS)?,
            tokens: WriteTable::open(transaction, TOKENS)?,
            tokens_of_tenant: WriteTable::open(transaction, TOKENS_OF_TENANT)?,
            records: AppendTable::of(WriteTable::open(transaction, RECORDS)?),
            unique: WriteTable::open(transaction, UNIQUE)?,
            index: WriteTable::open(transaction, INDEX)?,
            activities: AppendTable::of(WriteTable::open(transaction, ACTIVITIES)?),
            engagement: TransactionEngagement::open(transaction, engagement)?,
            activity_marks: WriteTable::open(transaction, ACTIVITY_MARKS)?,
            activity_spans: WriteTable::open(transaction, ACTIVITY_SPANS)?,
            parked: WriteTable::open(transaction, PARKED)?,
            waiting: WriteTable::open(transaction, WAITING)?,
            due: WriteTable::open(transaction, DUE)?,
            messages: AppendTable::of(WriteTable::open(transaction, MESSAGES)?),
            report: WriteTable::open(transaction, REPORT)?,
            report_causes: WriteTable::open(transaction, REPORT_CAUSES)?,
            changes: AppendTable::of(WriteTable::open(transaction, CHANGES)?),
            once: WriteTable::open(transaction, ONCE)?,
            once_places: WriteTable::open(transaction, ONCE_PLACES)?,
            counters: WriteTable::open(transaction, COUNTERS)?,
            suppressed: WriteTable::open(transaction, SUPPRESSED)?,
            erasures: WriteTable::open(transaction, ERASURES)?,
        })
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
