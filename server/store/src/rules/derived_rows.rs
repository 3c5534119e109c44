//! Rows that are derived from records, and the note which of them a store has: index entries of ordered fields, and the
//! facts of licenses. A program of another version may lack some of them, and then notes those that it writes.

use super::{license_facts, range_index};
use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows, meta::META_DERIVED, stored_value},
};

/// Which derived rows a store lacks.
pub(crate) struct MissingRows {
    /// Whether entries of the index may be missing.
    pub(crate) index: bool,
    /// Whether facts of licenses may be missing.
    pub(crate) facts: bool,
}

impl MissingRows {
    /// Rows that the note of a store does not name.
    pub(crate) fn of(meta: &impl Rows) -> Result<Self, StoreError> {
        let note = meta.get(META_DERIVED)?;
        let note = note.as_ref().map(|note| stored_value::unseal(META_DERIVED, note.value()));
        let note = String::from_utf8_lossy(note.transpose()?.unwrap_or_default()).into_owned();
        let lacks = |name: &String| !note.split(' ').any(|noted| noted == name);
        Ok(Self {
            index: range_index::names().iter().any(lacks),
            facts: lacks(&license_facts::name()),
        })
    }
}

/// Notes that all derived rows exist.
pub(crate) fn note(meta: &mut impl WriteRows) -> Result<(), StoreError> {
    let mut names = range_index::names();
    names.push(license_facts::name());
    let note = stored_value::seal(META_DERIVED, names.join(" ").as_bytes());
    meta.insert(META_DERIVED, &note).map(drop)
}
