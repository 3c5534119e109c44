//! How errors go from a store through the rules and back.

use std::io;

use svctrack_core::{plan::Refusal, schema::LookupError, value::IdsExhausted};

use super::StoreError;

/// Carries a store's error through the rules, which pass it on unseen.
pub(crate) fn in_lookup(error: impl Into<StoreError>) -> LookupError {
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

impl From<IdsExhausted> for StoreError {
    fn from(error: IdsExhausted) -> Self {
        Self::Internal(error.to_string())
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
    pub(crate) fn is_of_the_file(&self) -> bool {
        matches!(self, Self::Full | Self::Unavailable(_))
    }

    /// What those hear whose command a failing store did not take.
    pub(crate) fn unavailable(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// Whether there was no room for something: on the disk, of what its owner may have there, or in a file.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::StorageFull | K::QuotaExceeded | K::FileTooLarge)
}

/// What an operation of the file that failed means.
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
