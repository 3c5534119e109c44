//! Converts redb's errors to those of the store.

use crate::{StoreError, disk_full::of_io};

impl From<redb::Error> for StoreError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => of_io(&error),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => {
                Self::Unavailable("an earlier operation failed".to_owned())
            }
            redb::Error::Corrupted(what) => Self::corrupted(what),
            other => Self::Internal(other.to_string()),
        }
    }
}

macro_rules! from_redb {
    ($($error:ty),*) => {
        $(
            impl From<$error> for StoreError {
                fn from(error: $error) -> Self {
                    redb::Error::from(error).into()
                }
            }
        )*
    };
}

from_redb!(
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::CursorError,
    redb::SetDurabilityError
);
