//! Damage is told where it is met, and goes no further: a block that is not as it was written is thrown
//! past redb ([`DamagedBlock`]) and becomes the error of the one read or command that asked for it.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{blocks::DamagedBlock, open::OpenError};
use crate::store::{
    StoreError,
    panics::{panic_message, quietly},
};

/// Runs a read; what is thrown in it becomes its error.
pub(super) fn contained<T>(read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|thrown| Err(error_of(&*thrown)))
}

/// Runs what goes over the whole file; what is thrown in it says that the file is damaged.
pub(super) fn contained_open<T>(
    work: impl FnOnce() -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let done = quietly(work);
    done.unwrap_or_else(|thrown| Err(OpenError::Damaged(words_of(&*thrown))))
}

/// Drops a database. redb reads once more then, and of a damaged file it panics at times.
pub(super) fn drop_quietly<T>(value: T) {
    let _ = quietly(move || drop(value));
}

/// What was thrown, as an error.
pub(super) fn error_of(thrown: &(dyn Any + Send)) -> StoreError {
    match thrown.downcast_ref::<DamagedBlock>() {
        Some(damaged) => StoreError::corrupted(words(*damaged)),
        None => StoreError::Internal(panic_message(thrown).to_owned()),
    }
}

/// What was thrown while the file was opened, in words.
fn words_of(thrown: &(dyn Any + Send)) -> String {
    let damaged = thrown.downcast_ref::<DamagedBlock>();
    // A damaged file makes redb panic at times.
    damaged.map_or_else(|| "its pages do not fit together".to_owned(), |damaged| words(*damaged))
}

fn words(DamagedBlock(block): DamagedBlock) -> String {
    format!("block {block} is not as it was written")
}
