//! One change to stored data, as any store can apply it.

use super::append::AppendedRow;
use crate::{
    schema::{IndexEntry, ResourceDef},
    value::{Document, Members, ObjectId},
};

/// One change to stored data. It is planned for the state in `before`; a store in another state must not apply it.
#[derive(Clone, Debug)]
pub enum Change {
    /// Stores a record, new or changed.
    Put {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Id of the record.
        id: ObjectId,
        /// Stored record before the change; none if the record is new.
        before: Option<Document>,
        /// Stored record after the change.
        document: Document,
        /// Index entries that the record gains; the unique ones are claims.
        added: Vec<IndexEntry>,
        /// Index entries that the record loses.
        removed: Vec<IndexEntry>,
    },
    /// Removes a record with its index entries.
    Delete {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Id of the record.
        id: ObjectId,
        /// Stored record before the change.
        before: Document,
        /// Index entries that the record loses: all that it has.
        removed: Vec<IndexEntry>,
    },
    /// Add to a log.
    Append(AppendedRow),
}

impl Change {
    /// Whether the change creates this record.
    pub(super) fn creates(&self, of: &ResourceDef, made: ObjectId) -> bool {
        matches!(self, Self::Put { def, id, before: None, .. } if *id == made && *def == of)
    }
}

/// The version (`__v`) of a stored record.
pub fn version_of(record: &dyn Members) -> i64 {
    record.get("__v").and_then(|value| value.as_number_text()?.parse().ok()).unwrap_or(0)
}
