//! The store as it was after a commit.

use std::{ops::Deref, sync::Arc};

use redb::ReadTransaction;

use super::engagement::LogRead;

/// A transaction that reads, and what those before it have read of the log of engagement.
pub(super) struct Snapshot {
    transaction: ReadTransaction,
    pub(super) log_read: Arc<LogRead>,
}

impl Snapshot {
    /// A snapshot of a database of which `log_read` was read.
    pub(super) fn of(transaction: ReadTransaction, log_read: Arc<LogRead>) -> Self {
        Self { transaction, log_read }
    }
}

impl Deref for Snapshot {
    type Target = ReadTransaction;

    fn deref(&self) -> &ReadTransaction {
        &self.transaction
    }
}
