//! Corruption found while the file is opened or closed.

use std::any::Any;

use super::open::OpenError;
pub(crate) use crate::corruption::{CorruptedBlock, contained, error_of};
use crate::support::panics::catch_panic;

/// Runs an operation on the whole file; a panic in it means that the file is corrupted.
pub(crate) fn contained_open<T>(
    work: impl FnOnce() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let done = catch_panic(work);
    done.unwrap_or_else(|thrown| Err(OpenError::Corrupted(words_of(&*thrown))))
}

/// Drops a database. redb reads once more then, and panics at times if the file is corrupted.
pub(crate) fn drop_quietly<T>(value: T) {
    let _ = catch_panic(move || drop(value));
}

/// Message of a panic payload that was thrown while the file was opened.
fn words_of(thrown: &(dyn Any + Send)) -> String {
    let corrupted = thrown.downcast_ref::<CorruptedBlock>();
    // A corrupted file makes redb panic at times.
    corrupted.map_or_else(|| "its pages do not fit together".to_owned(), CorruptedBlock::to_string)
}
