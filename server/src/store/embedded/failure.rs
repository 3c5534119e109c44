//! What redb's errors mean to those who call the store.

use std::io;

use svctrack_core::{plan::Refusal, schema::LookupError};

use crate::store::StoreError;

impl From<redb::Error> for StoreError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) if error.kind() == io::ErrorKind::StorageFull => Self::Full,
            redb::Error::Io(error) => Self::Unavailable(error.to_string()),
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

/// Carries a store's error through the rules, which pass it on unseen.
pub(super) fn in_lookup(error: impl Into<StoreError>) -> LookupError {
    LookupError(Box::new(error.into()))
}

impl From<LookupError> for StoreError {
    fn from(error: LookupError) -> Self {
        match error.0.downcast::<Self>() {
            Ok(error) => *error,
            Err(other) => Self::Internal(other.to_string()),
        }
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::NotFound,
            Refusal::Invalid(issues) => Self::Invalid(issues),
            Refusal::Conflict(issues) => Self::Conflict(issues),
            Refusal::Lookup(error) => error.into(),
        }
    }
}

impl StoreError {
    /// Whether it concerns the file as a whole, not one command.
    pub(super) fn is_of_the_file(&self) -> bool {
        matches!(self, Self::Full | Self::Unavailable(_))
    }
}
