//! Classifies failed operations of the file: a full disk, quota or file rejects writes until there is space again; any
//! other failure is a failing disk.
//!
//! Writes are rejected until `reopen_after_error` of the engine succeeds.

use std::io;

use crate::StoreError;

/// Whether there was no room: on the disk, in its owner's quota, or in a file.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::StorageFull | K::QuotaExceeded | K::FileTooLarge)
}

/// Store error of a failed file operation.
pub(crate) fn of_io(error: &io::Error) -> StoreError {
    if is_full(error) { StoreError::Full } else { StoreError::Unavailable(error.to_string()) }
}

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
