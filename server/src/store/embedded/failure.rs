//! What redb's errors mean to those who call the store.

use std::io;

use crate::store::StoreError;

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

/// Whether there was no room for something: on the disk, of what its owner may have there, or in a file.
pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::StorageFull | K::QuotaExceeded | K::FileTooLarge)
}

/// What an operation of the file that failed means.
pub(super) fn of_io(error: &io::Error) -> StoreError {
    if is_full(error) { StoreError::Full } else { StoreError::Unavailable(error.to_string()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_a_quota_and_a_file_are_full_and_a_disk_that_fails_is_not() {
        use io::ErrorKind as K;
        let full = [K::StorageFull, K::QuotaExceeded, K::FileTooLarge].map(|kind| (kind, true));
        for (kind, full) in full.into_iter().chain([(K::Other, false)]) {
            let error = of_io(&kind.into());
            assert_eq!(matches!(error, StoreError::Full), full, "{kind}");
        }
    }
}
