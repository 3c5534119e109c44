//! Sizes of the pages of lists: by default, and at most (R13).

#[cfg(feature = "records")]
use super::filter::unreadable;
#[cfg(feature = "records")]
use crate::value::ValidationError;

/// Numbers of records in a list (R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Records of a page without a `limit`.
    pub default: usize,
    /// The greatest `limit` that is accepted.
    pub max: usize,
}

/// Reads a `limit` from 1 to the maximum. A larger one is rejected: a shorter page than requested would end a caller's
/// paging loop early (R13).
#[cfg(feature = "records")]
pub(crate) fn parse_limit(value: &str, limits: ListLimits) -> Result<usize, ValidationError> {
    let limit = value.parse().ok().filter(|limit| (1..=limits.max).contains(limit));
    limit.ok_or_else(|| {
        unreadable("limit", &format!("a whole number from 1 to {}", limits.max), value)
    })
}
