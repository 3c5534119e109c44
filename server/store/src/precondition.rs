//! What a write demands of the stored record: one of the versions that `If-Match` names (R16).

use std::fmt::Display;

/// The versions of a record that a write applies to (R16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Any version of any record.
    Anything,
    /// One of these records must match, each in this version. An id is without hyphens, which separate the parts of a
    /// tag.
    OneOf(Vec<(String, i64)>),
}

impl Precondition {
    /// Whether a record in this version may be written.
    pub(crate) fn allows(&self, id: impl Display, version: i64) -> bool {
        match self {
            Self::Anything => true,
            Self::OneOf(versions) => versions.contains(&(id_in_tag(id), version)),
        }
    }
}

/// The form of an id in a tag.
pub fn id_in_tag(id: impl Display) -> String {
    id.to_string().replace('-', "")
}
