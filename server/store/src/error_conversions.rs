//! Conversions of errors between a store and the rules.

use svctrack_core::{
    plan::Rejection, revenue::ReportError, schema::LookupError, value::IdsExhausted,
};

use super::StoreError;

/// Wraps a store's error for the rules, which pass it on unseen.
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

impl From<ReportError> for StoreError {
    fn from(error: ReportError) -> Self {
        Self::Invalid(vec![error.into()])
    }
}

impl From<Rejection> for StoreError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NotFound => Self::NotFound,
            Rejection::Invalid(issues) => Self::Invalid(issues),
            Rejection::Conflict(issues) => Self::Conflict(issues),
            Rejection::Lookup(error) => error.into(),
        }
    }
}

impl StoreError {
    /// Whether the error concerns the file as a whole, not one command.
    pub(crate) fn is_of_the_file(&self) -> bool {
        matches!(self, Self::Full | Self::Unavailable(_))
    }

    /// The error of commands that a failing store rejects.
    pub(crate) fn unavailable(&self) -> Self {
        match self {
            Self::Full => Self::Full,
            other => Self::Unavailable(other.to_string()),
        }
    }
}
