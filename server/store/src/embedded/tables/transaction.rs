//! All tables in a transaction of redb, and the writing of gathered rows before the commit.

use std::marker::PhantomData;

use redb::{TableError, WriteTransaction};

use super::{append_table::AppendTable, redb_table::WriteTable};
use crate::{
    StoreError,
    embedded::engagement::{EngagementCache, TransactionEngagement, UncommittedChanges},
    parallel::run_both,
    rows::*,
    rules::{
        lookup_cache::LookupCache,
        open_tables::{Tables, Transaction},
    },
};

/// Number of rows of engagement from which on another thread writes the gathered rows at the same time: the thread
/// costs as much as some forty rows.
const MIN_ROWS_BESIDE: usize = 100;

/// All tables, in a transaction of redb.
pub(crate) type WriteTables<'t> = Tables<Redb<'t>>;

/// Transaction of redb, which a command writes to.
pub(crate) struct Redb<'t>(PhantomData<&'t ()>);

impl<'t> Transaction for Redb<'t> {
    type Table = WriteTable<'t>;
    type Appended = AppendTable<'t>;
    type Engagement = TransactionEngagement<'t>;
}

impl<'t> WriteTables<'t> {
    /// Every table, opened when it is first used, but for one that each commit writes: where the catalog of tables is
    /// corrupted, that is found before a command is carried out, whose fault it is not.
    pub(crate) fn begin(
        transaction: &'t WriteTransaction,
        known: LookupCache,
        engagement: &'t mut EngagementCache,
    ) -> Result<Self, TableError> {
        let engagement = TransactionEngagement::open(transaction, engagement)?;
        Self::open_all(known, engagement, |table| match table == META {
            true => WriteTable::open(transaction, table),
            false => Ok(WriteTable::on_first_use(transaction, table)),
        })
    }

    fn appended(&mut self) -> [&mut AppendTable<'t>; 8] {
        [
            &mut self.records,
            &mut self.activities,
            &mut self.messages,
            &mut self.changes,
            &mut self.revenue_versions,
            &mut self.license_facts,
            &mut self.audit,
            &mut self.audit_records,
        ]
    }

    /// Writes gathered rows one by one from now on.
    pub(crate) fn avoid_runs(&mut self) {
        self.appended().into_iter().for_each(AppendTable::avoid_runs);
    }

    /// Whether writing gathered rows has failed; any command may have added the rows that failed.
    pub(crate) fn has_failed(&mut self) -> bool {
        self.appended().into_iter().any(|table| table.has_failed())
    }

    /// Writes gathered rows and engagement before the transaction is committed. Returns the lookup cache and the
    /// changes of cached engagement.
    pub(crate) fn finish(mut self) -> Result<(LookupCache, UncommittedChanges), StoreError> {
        for table in self.appended() {
            table.written()?;
        }
        Ok((self.known, self.engagement.write()?))
    }

    /// Finishes the transaction, and writes records and engagement at the same time where there are many rows: these
    /// are a third of the work of a bulk call.
    pub(crate) fn finish_bulk(self) -> Result<(LookupCache, UncommittedChanges), StoreError> {
        if self.engagement.touched() < MIN_ROWS_BESIDE {
            return self.finish();
        }
        let Self {
            known,
            records,
            activities,
            messages,
            changes,
            revenue_versions,
            license_facts,
            audit,
            audit_records,
            engagement,
            ..
        } = self;
        let mut gathered = [
            records,
            activities,
            messages,
            changes,
            revenue_versions,
            license_facts,
            audit,
            audit_records,
        ];
        let mut write_gathered =
            || gathered.iter_mut().try_for_each(|table| table.written().map(drop));
        let (written, engagement) =
            run_both("gathered", &mut write_gathered, || engagement.write_in_place());
        written?;
        Ok((known, engagement?))
    }
}
