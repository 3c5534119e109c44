//! Errors of commands and reads. The server maps each to a response.

use std::time::Duration;

use svctrack_core::value::{ObjectId, ValidationError};

use crate::clock::WRONG_CLOCK;

/// Error of a command or a read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The record does not exist.
    #[error("the record does not exist")]
    NotFound,
    /// The tenant does not exist.
    #[error("the tenant does not exist")]
    TenantNotFound,
    /// What was sent breaks a rule.
    #[error("invalid request: {}", codes(.0))]
    Invalid(Vec<ValidationError>),
    /// Another record holds a unique key, or refers to this one.
    #[error("conflict: {}", codes(.0))]
    Conflict(Vec<ValidationError>),
    /// The record is in another version than the caller expects.
    #[error("the record has another version than expected")]
    Changed,
    /// The key of a call was sent with another body.
    #[error("the idempotency key was sent with another body")]
    KeyReused,
    /// The call with this key was carried out, and its reply was too large to be stored.
    #[error("the command was applied, and its reply was too large to be stored")]
    ReplyNotStored,
    /// The tenant has the maximum of keys; the time until one is free.
    #[error("the tenant has the maximum of idempotency keys and message ids")]
    KeysFull(Duration),
    /// The event would be parked, and the maximum is parked already.
    #[error("the tenant has the maximum of parked events")]
    ParkedFull,
    /// The token of the caller was revoked meanwhile.
    #[error("the token was revoked")]
    TokenRevoked,
    /// The tenant's queue is full.
    #[error("the tenant's queue of writes is full")]
    Busy,
    /// The store cannot write or read now.
    #[error("the store is not available: {0}")]
    Unavailable(String),
    /// A report cannot be computed before the activities of an earlier version of the store are counted.
    #[error("{counted} of about {of} activities are counted")]
    Counting {
        /// Number of rows that are counted so far.
        counted: u64,
        /// Approximate total of rows.
        of: u64,
    },
    /// The disk does not respond. A command may still be carried out once it does; the data of a read is not in memory.
    #[error("the disk does not respond")]
    Stalled,
    /// The clock shows a time that cannot be stored.
    #[error("{}", WRONG_CLOCK)]
    Clock,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// Stored data is corrupted.
    #[error("stored data is corrupted: {cause}")]
    Corrupted {
        /// Id of the record or activity, where it is known.
        id: Option<ObjectId>,
        /// Kind of the corruption.
        cause: String,
    },
    /// The response is too large for the memory that is free.
    #[error("memory limit reached")]
    NoRoom,
    /// An error of the store itself, such as a panic.
    #[error("internal error: {0}")]
    Internal(String),
}

/// The codes of issues. Their messages have values of the sender, which no log line may have.
fn codes(issues: &[ValidationError]) -> String {
    issues.iter().map(|issue| issue.code).collect::<Vec<_>>().join(", ")
}

impl StoreError {
    /// Error for corrupted data.
    pub(crate) fn corrupted(cause: impl ToString) -> Self {
        Self::Corrupted { id: None, cause: cause.to_string() }
    }

    /// Error for a new row with the key of an existing one.
    pub(crate) fn key_taken() -> Self {
        Self::Internal("a new row has the key of a stored one, which is retained".to_owned())
    }

    /// Adds the id of a record or an activity to the error.
    pub(crate) fn about(self, about: ObjectId) -> Self {
        match self {
            Self::Corrupted { id, cause } => Self::Corrupted { id: id.or(Some(about)), cause },
            other => other,
        }
    }
}
