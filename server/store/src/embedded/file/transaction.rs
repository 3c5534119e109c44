//! Begins write transactions of redb.

use redb::WriteTransaction;

use crate::StoreError;

/// The only place where a write begins: every commit is durable, and leaves a file that opens at once after a crash.
pub(crate) fn begin(database: &redb::Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(redb::Durability::Immediate)?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}
