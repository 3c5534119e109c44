//! Records as they would be after changes that were planned and not applied: a dry run plans its next body over them
//! (D11). The engine holds them in one table of its own, which is read by nobody else.
//!
//! Invariant: under the key of a record is what it would be, and nothing where it would be gone; under that of an index
//! entry, whether there would be one. What has no row here is as it is stored.

use std::collections::BTreeSet;

use svctrack_core::{
    plan::Change,
    schema::{Entry, Lookup, LookupError, ResourceDef},
    value::{Document, ObjectId, engagement::Engagement},
};

use crate::{
    StoreError,
    error_conversions::in_lookup,
    rows::{Bytes as _, Rows, WriteRows, codec, keys},
};

/// The first byte of a key.
const RECORD: u8 = 0;
const ENTRY: u8 = 1;
/// Values of index entries: one that would be there, and one that would be gone.
const GAINED: &[u8] = &[1];
const LOST: &[u8] = &[0];

/// Adds rows for changes.
pub(crate) fn plan(planned: &mut impl WriteRows, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Put { def, id, document, added, removed, .. } => {
                put_entries(planned, def, *id, removed, LOST)?;
                put_entries(planned, def, *id, added, GAINED)?;
                let key = record_key(def, *id);
                planned.insert(&key, &codec::seal_record(&key, document))?;
            }
            Change::Delete { def, id, removed, .. } => {
                put_entries(planned, def, *id, removed, LOST)?;
                planned.insert(&record_key(def, *id), &[])?;
            }
            Change::Append(_) => {}
        }
    }
    Ok(())
}

fn put_entries(
    planned: &mut impl WriteRows,
    def: &ResourceDef,
    id: ObjectId,
    entries: &[Entry],
    value: &[u8],
) -> Result<(), StoreError> {
    for entry in entries {
        planned.insert(&entry_key(def, entry.row, &entry.key, id), value)?;
    }
    Ok(())
}

fn record_key(def: &ResourceDef, id: ObjectId) -> Vec<u8> {
    [&[RECORD, def.code], id.as_bytes().as_slice()].concat()
}

fn entry_key(def: &ResourceDef, row: &str, key: &str, id: ObjectId) -> Vec<u8> {
    let mut entry = keys::entry(&[ENTRY, def.code], row, key);
    entry.push(0);
    entry.extend_from_slice(id.as_bytes());
    entry
}

/// The store that is `below` as it would be.
pub(crate) struct Over<'a, T> {
    pub(crate) planned: &'a T,
    pub(crate) below: &'a dyn Lookup,
}

impl<T: Rows> Over<'_, T> {
    /// The records that would have an index entry, the lowest `limit` of them, and those up to the last of these that
    /// would have it no more.
    fn changed(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<(BTreeSet<ObjectId>, BTreeSet<ObjectId>), StoreError> {
        let bound = |id| entry_key(def, row, key, id);
        let (first, last) = (bound(ObjectId::MIN), bound(ObjectId::MAX));
        let (mut gained, mut lost) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.planned.range(first.as_slice()..=last.as_slice())? {
            if gained.len() == limit {
                break;
            }
            let (key, value) = entry?;
            let Some(id) = keys::id_at_end(key.value()) else { continue };
            if value.value() == GAINED { &mut gained } else { &mut lost }.insert(id);
        }
        Ok((gained, lost))
    }

    /// A record that would be changed; none inside where it would be gone.
    fn planned_record(
        &self,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Option<Document>>, StoreError> {
        let key = record_key(def, id);
        let Some(row) = self.planned.get(&key)? else { return Ok(None) };
        match row.value() {
            [] => Ok(Some(None)),
            bytes => Ok(Some(Some(codec::unseal_record(&key, bytes)?.document()?))),
        }
    }
}

impl<T: Rows> Lookup for Over<'_, T> {
    fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
        match self.planned_record(def, id).map_err(in_lookup)? {
            Some(planned) => Ok(planned),
            None => self.below.record(def, id),
        }
    }

    fn find(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
    ) -> Result<Option<ObjectId>, LookupError> {
        let (gained, lost) = self.changed(def, row, key, 1).map_err(in_lookup)?;
        match gained.first() {
            Some(gained) => Ok(Some(*gained)),
            None => Ok(self.below.find(def, row, key)?.filter(|id| !lost.contains(id))),
        }
    }

    fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        let (mut holders, lost) = self.changed(def, row, key, limit).map_err(in_lookup)?;
        let below = self.below.holders(def, row, key, limit.saturating_add(lost.len()))?;
        holders.extend(below.into_iter().filter(|id| !lost.contains(id)));
        Ok(holders.into_iter().take(limit).collect())
    }

    fn engagement(
        &self,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Engagement>, LookupError> {
        self.below.engagement(def, id)
    }

    fn is_suppressed(&self, row: &str, key: &str) -> Result<bool, LookupError> {
        self.below.is_suppressed(row, key)
    }
}
