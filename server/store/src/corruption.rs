//! Confines a panic caused by corrupted data to the read or command that met it.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{StoreError, support::panics::panic_message};

/// A block that is not as it was written. An engine throws it past code that would take an error for one of the whole
/// file and reject all later operations; it is caught where a read or a command begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CorruptedBlock(pub(crate) u64);

impl fmt::Display for CorruptedBlock {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "block {} fails its checksum", self.0)
    }
}

/// Runs a read; a panic in it becomes its error.
pub(crate) fn contained<T>(read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|thrown| Err(error_of(&*thrown)))
}

/// Error of a panic payload.
pub(crate) fn error_of(thrown: &(dyn Any + Send)) -> StoreError {
    match thrown.downcast_ref::<CorruptedBlock>() {
        Some(corrupted) => StoreError::corrupted(corrupted),
        None => StoreError::Internal(panic_message(thrown).to_owned()),
    }
}
