//! A store with planned changes on top that are not applied: a dry run plans its next item over them (D11).

use std::collections::BTreeSet;

use super::{
    change::Change,
    memory::{IndexEntries, Memory},
};
use crate::{
    schema::{Lookup, LookupError, ResourceDef},
    value::{Document, ObjectId, engagement::Engagement},
};

/// Changes that were not applied, over a read-only store.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    made: Memory,
    /// Records that were deleted.
    gone: BTreeSet<(u8, ObjectId)>,
    /// Index entries that were removed.
    lost: IndexEntries,
    bytes: usize,
}

impl Overlay {
    /// Treats changes as applied.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put { def, id, document, added, removed, .. } => {
                    self.lost.insert(def, *id, removed);
                    self.lost.remove(def, *id, added);
                    self.gone.remove(&(def.code, *id));
                    self.bytes += document.to_text().len();
                }
                Change::Delete { def, id, removed, .. } => {
                    self.lost.insert(def, *id, removed);
                    self.gone.insert((def.code, *id));
                }
                Change::Append(_) => {}
            }
        }
        self.made.apply(changes);
    }

    /// About how many bytes of memory the changes take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The store `below` with the planned changes applied.
    pub fn over<'a>(&'a self, below: &'a dyn Lookup) -> impl Lookup + 'a {
        OverlaidLookup { overlay: self, below }
    }
}

struct OverlaidLookup<'a> {
    overlay: &'a Overlay,
    below: &'a dyn Lookup,
}

impl Lookup for OverlaidLookup<'_> {
    fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
        if self.overlay.gone.contains(&(def.code, id)) {
            return Ok(None);
        }
        match self.overlay.made.record(def, id)? {
            Some(made) => Ok(Some(made)),
            None => self.below.record(def, id),
        }
    }

    fn find(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
    ) -> Result<Option<ObjectId>, LookupError> {
        if let Some(made) = self.overlay.made.find(def, row, key)? {
            return Ok(Some(made));
        }
        let found = self.below.find(def, row, key)?;
        Ok(found.filter(|id| self.overlay.lost.holders(def, row, key).all(|lost| lost != *id)))
    }

    fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        let lost: BTreeSet<ObjectId> = self.overlay.lost.holders(def, row, key).collect();
        let below = self.below.holders(def, row, key, limit.saturating_add(lost.len()))?;
        let made = self.overlay.made.holders(def, row, key, limit)?;
        let all: BTreeSet<ObjectId> =
            below.into_iter().filter(|id| !lost.contains(id)).chain(made).collect();
        Ok(all.into_iter().take(limit).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Ctx, create, delete, update},
        resources::company::COMPANY,
        schema::CheckedBody,
        value::{IdSequence, Timestamp},
    };

    fn patch(text: &str) -> CheckedBody {
        CheckedBody::trusted(Document::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn what_is_planned_over_an_overlay_sees_what_was_planned_before_and_changes_nothing_below() {
        let now = Timestamp::parse("2026-11-20").unwrap();
        let mut ctx = Ctx::new(now, IdSequence::new([0; 5]), None);
        let (mut below, mut overlay) = (Memory::default(), Overlay::default());
        let stored =
            create(&COMPANY, patch(r#"{"name":"A","externalId":"a"}"#), &below, &mut ctx).unwrap();
        below.apply(&stored.changes);
        let id = |overlay: &Overlay, key: &str| {
            overlay.over(&below).find(&COMPANY, "externalId", key).unwrap()
        };
        assert_eq!(id(&overlay, "a"), Some(stored.id));

        let renamed = update(
            &COMPANY,
            stored.id,
            patch(r#"{"externalId":"b"}"#),
            &overlay.over(&below),
            &mut ctx,
        );
        overlay.apply(&renamed.unwrap().changes);
        assert_eq!((id(&overlay, "a"), id(&overlay, "b")), (None, Some(stored.id)));
        let taken = create(
            &COMPANY,
            patch(r#"{"name":"B","externalId":"b"}"#),
            &overlay.over(&below),
            &mut ctx,
        );
        assert!(taken.is_err());
        let made = create(
            &COMPANY,
            patch(r#"{"name":"B","externalId":"a"}"#),
            &overlay.over(&below),
            &mut ctx,
        );
        overlay.apply(&made.unwrap().changes);
        assert!(id(&overlay, "a").is_some_and(|id| id != stored.id));

        let deleted = delete(&COMPANY, stored.id, &overlay.over(&below)).unwrap();
        overlay.apply(&deleted);
        assert_eq!(id(&overlay, "b"), None);
        assert!(overlay.over(&below).record(&COMPANY, stored.id).unwrap().is_none());
        assert!(below.record(&COMPANY, stored.id).unwrap().is_some() && overlay.bytes() > 0);
    }
}
