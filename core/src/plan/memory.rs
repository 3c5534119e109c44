//! A store in memory, for programs that keep their own records, and for tests of the rules.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    append::{Activity, AppendedRow, Finding, ParkedEvent},
    change::Change,
};
use crate::{
    schema::{IndexEntry, Lookup, LookupError, ResourceDef},
    value::{Document, ObjectId, Timestamp, engagement::Engagement},
};

/// Index entries: resource, field, key and record.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexEntries(BTreeSet<(u8, String, String, ObjectId)>);

impl IndexEntries {
    pub(super) fn insert(&mut self, def: &ResourceDef, id: ObjectId, entries: &[IndexEntry]) {
        self.0.extend(entries.iter().map(|entry| place(def, entry.row, &entry.key, id)));
    }

    pub(super) fn remove(&mut self, def: &ResourceDef, id: ObjectId, entries: &[IndexEntry]) {
        for entry in entries {
            self.0.remove(&place(def, entry.row, &entry.key, id));
        }
    }

    /// The records with entries of this key, lowest id first.
    pub(super) fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
    ) -> impl Iterator<Item = ObjectId> {
        let bound = |id| place(def, row, key, id);
        let holders = self.0.range(bound(ObjectId::MIN)..=bound(ObjectId::MAX));
        holders.map(|(_, _, _, id)| *id)
    }
}

fn place(def: &ResourceDef, row: &str, key: &str, id: ObjectId) -> (u8, String, String, ObjectId) {
    (def.code, row.to_owned(), key.to_owned(), id)
}

/// Records, index entries and logs of one tenant, in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    records: BTreeMap<(u8, ObjectId), Document>,
    entries: IndexEntries,
    /// The activities, in the order in which they were appended.
    pub activities: Vec<Activity>,
    /// The parked events, in the order in which they were appended.
    pub parked: Vec<ParkedEvent>,
    /// Findings for senders, in the order in which they were found.
    pub findings: Vec<Finding>,
    engagement: BTreeMap<ObjectId, Engagement>,
    pub(crate) messages: BTreeMap<String, Timestamp>,
    suppressed: BTreeSet<(String, String)>,
    /// When users were created by events, for the limit by the hour.
    pub(crate) new_end_users: Vec<Timestamp>,
}

impl Memory {
    /// Applies planned changes to the records and logs.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put { def, id, document, added, removed, .. } => {
                    self.entries.remove(def, *id, removed);
                    self.entries.insert(def, *id, added);
                    self.records.insert((def.code, *id), document.clone());
                }
                Change::Delete { def, id, removed, .. } => {
                    self.entries.remove(def, *id, removed);
                    self.records.remove(&(def.code, *id));
                }
                Change::Append(appended) => self.append(appended.clone()),
            }
        }
    }

    /// Suppresses an erased person, who had `key` in the field `row`.
    pub fn suppress(&mut self, row: &str, key: &str) {
        self.suppressed.insert((row.to_owned(), key.to_owned()));
    }

    /// Lifts the suppression of a person; returns whether they were suppressed.
    pub fn unsuppress(&mut self, row: &str, key: &str) -> bool {
        self.suppressed.remove(&(row.to_owned(), key.to_owned()))
    }

    fn append(&mut self, appended: AppendedRow) {
        match appended {
            AppendedRow::Activity(activity) => self.activities.push(*activity),
            AppendedRow::Parked(event) => self.parked.push(*event),
            AppendedRow::Engaged(engaged) => {
                let owners = [Some(engaged.end_user_id), engaged.company_id];
                for owner in owners.into_iter().flatten() {
                    self.engagement.entry(owner).or_default().add(&engaged);
                }
            }
            AppendedRow::Finding(finding) => self.findings.push(*finding),
            AppendedRow::Message(id, at, _) => {
                self.messages.insert(id, at);
            }
            AppendedRow::NewEndUser(at) => {
                self.new_end_users.push(at);
            }
        }
    }

    /// The records of a resource, lowest id first.
    pub fn records(&self, def: &ResourceDef) -> impl Iterator<Item = &Document> {
        self.records
            .range((def.code, ObjectId::MIN)..=(def.code, ObjectId::MAX))
            .map(|(_, document)| document)
    }
}

impl Lookup for Memory {
    fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
        Ok(self.records.get(&(def.code, id)).cloned())
    }

    fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        Ok(self.entries.holders(def, row, key).take(limit).collect())
    }

    fn engagement(&self, _: &ResourceDef, id: ObjectId) -> Result<Option<Engagement>, LookupError> {
        Ok(self.engagement.get(&id).cloned())
    }

    fn is_suppressed(&self, row: &str, key: &str) -> Result<bool, LookupError> {
        Ok(self.suppressed.contains(&(row.to_owned(), key.to_owned())))
    }
}
