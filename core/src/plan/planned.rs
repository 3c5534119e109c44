//! The result of planning: a command that can be applied, or the reasons of its rejection.

use std::fmt;

use super::change::Change;
use crate::{
    schema::LookupError,
    value::{Document, IdsExhausted, ObjectId, ValidationError, validation_error::write_all},
};

/// A command that can be carried out.
#[derive(Debug)]
pub struct Planned {
    /// Changes to write, in order; empty when nothing changes.
    pub changes: Vec<Change>,
    /// The record that the command was about.
    pub id: ObjectId,
    /// The record as it will be stored.
    pub document: Document,
    /// Names of properties that were sent and are not stored (R6, R49).
    pub ignored: Vec<String>,
}

/// Why a command cannot be carried out.
#[derive(Debug)]
pub enum Rejection {
    /// The record does not exist.
    NotFound,
    /// The body, or the merged record, is invalid.
    Invalid(Vec<ValidationError>),
    /// Another record holds a unique key, or refers to this record.
    Conflict(Vec<ValidationError>),
    /// The store could not be read.
    Lookup(LookupError),
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("the record does not exist"),
            Self::Invalid(issues) | Self::Conflict(issues) => write_all(issues, f),
            Self::Lookup(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Rejection {}

impl From<LookupError> for Rejection {
    fn from(error: LookupError) -> Self {
        Self::Lookup(error)
    }
}

impl From<IdsExhausted> for Rejection {
    fn from(error: IdsExhausted) -> Self {
        Self::Lookup(error.into())
    }
}
