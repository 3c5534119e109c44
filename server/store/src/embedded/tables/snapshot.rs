//! State of the store after a commit.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use redb::ReadTransaction;

use super::redb_table::ReadTable;
use crate::{
    StoreError,
    embedded::engagement::{LogRead, SnapshotEngagement, SnapshotLog},
    rows::{Snapshot, Table},
};

/// A read transaction, and the cached log of engagement of those before it.
pub(crate) struct RedbSnapshot {
    transaction: ReadTransaction,
    log_read: Arc<LogRead>,
    log: OnceLock<Arc<SnapshotLog>>,
}

impl RedbSnapshot {
    /// A snapshot of the database that `log_read` was read from.
    pub(crate) fn new(transaction: ReadTransaction, log_read: Arc<LogRead>) -> Self {
        Self { transaction, log_read, log: OnceLock::new() }
    }

    /// Log of engagement of the snapshot.
    pub(crate) fn log(&self) -> Result<Arc<SnapshotLog>, StoreError> {
        if let Some(log) = self.log.get() {
            return Ok(log.clone());
        }
        let log = Arc::new(SnapshotLog::open(&self.transaction, self.log_read.clone())?);
        Ok(self.log.get_or_init(|| log).clone())
    }
}

impl Snapshot for RedbSnapshot {
    type Table = ReadTable;
    type Engagement = SnapshotEngagement;

    fn open(&self, table: Table) -> Result<ReadTable, StoreError> {
        Ok(ReadTable::open(&self.transaction, table)?)
    }

    fn engagement(&self) -> Result<SnapshotEngagement, StoreError> {
        SnapshotEngagement::open(self)
    }
}

impl Deref for RedbSnapshot {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.transaction
    }
}
