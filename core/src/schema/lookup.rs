//! Access of rules to other records. The caller implements it over its store.

use std::rc::Rc;

use super::resource::ResourceDef;
use crate::value::{
    Document, IdsExhausted, ObjectId, RecordRef, Timestamp, Zone, engagement::Engagement,
};

/// Reads records of one tenant, as they are at the time of planning.
pub trait Lookup {
    /// The stored record with this id.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError>;

    /// The only record that holds `key` in the unique field `field`; `key` is in the form of [`super::index::key_of`].
    /// For stores that keep entries of unique fields apart.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn find(
        &self,
        def: &ResourceDef,
        field: &str,
        key: &str,
    ) -> Result<Option<ObjectId>, LookupError> {
        Ok(self.holders(def, field, key, 1)?.first().copied())
    }

    /// The records that hold `key` in the indexed field `field`, lowest id first, at most `limit`.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn holders(
        &self,
        def: &ResourceDef,
        field: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError>;

    /// Engagement of an end user, or of the users of a company; none where no user was ever active (R37).
    ///
    /// # Errors
    /// If the store cannot be read.
    fn engagement(
        &self,
        _def: &ResourceDef,
        _id: ObjectId,
    ) -> Result<Option<Engagement>, LookupError> {
        Ok(None)
    }

    /// Whether `key` in a field of an end user is that of an erased, suppressed person; `key` is in the form of
    /// [`super::index::key_of`].
    ///
    /// # Errors
    /// If the store cannot be read.
    fn is_suppressed(&self, _field: &str, _key: &str) -> Result<bool, LookupError> {
        Ok(false)
    }

    /// Id of the record that a reference names, if the record exists (R2).
    ///
    /// # Errors
    /// If the store cannot be read.
    fn locate(
        &self,
        def: &ResourceDef,
        reference: &RecordRef,
    ) -> Result<Option<ObjectId>, LookupError> {
        match reference {
            RecordRef::Id(id) => Ok(self.record(def, *id)?.map(|_| *id)),
            RecordRef::External(key) => self.find(def, "externalId", key),
            RecordRef::Source(key) => self.find(def, "sourceId", key),
        }
    }
}

/// Context in which a field is computed on write, besides its record.
#[derive(Clone, Copy, Debug)]
pub struct FillCtx {
    /// The time of the command.
    pub now: Timestamp,
    /// The tenant's time zone; UTC for a resource that does not need it.
    pub zone: Zone,
}

impl FillCtx {
    /// For a resource that does not ask for the time zone.
    pub fn in_utc(now: Timestamp) -> Self {
        Self { now, zone: Zone::UTC }
    }
}

/// Context in which a field is computed at read.
pub struct ReadCtx<'a> {
    /// The time of reading.
    pub now: Timestamp,
    /// Other records of the tenant.
    pub lookup: &'a dyn Lookup,
    referring: LastReferenceRead,
    shared: LastRecordRead,
}

#[expect(clippy::disallowed_types, reason = "it keeps what was read; no result depends on it")]
type LastReferenceRead = std::cell::RefCell<Option<(Reference, Option<Rc<[Document]>>)>>;

#[expect(clippy::disallowed_types, reason = "it keeps what was read; no result depends on it")]
type LastRecordRead = std::cell::RefCell<Option<((u8, ObjectId), Rc<Document>)>>;

/// Records of a resource, by its byte and a field, that refer to another record, and their greatest number.
type Reference = (u8, &'static str, ObjectId, usize);

impl<'a> ReadCtx<'a> {
    /// Context of fields that are read at this time.
    pub fn new(now: Timestamp, lookup: &'a dyn Lookup) -> Self {
        Self {
            now,
            lookup,
            referring: LastReferenceRead::default(),
            shared: LastRecordRead::default(),
        }
    }

    /// A record that fields of many records read, such as the tenant's settings; empty if it does not exist. The latest
    /// one is cached.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn shared(&self, def: &ResourceDef, id: ObjectId) -> Result<Rc<Document>, LookupError> {
        let known =
            self.shared.borrow().as_ref().filter(|known| known.0 == (def.code, id)).cloned();
        if let Some((_, record)) = known {
            return Ok(record);
        }
        let record = Rc::new(self.lookup.record(def, id)?.unwrap_or_default());
        self.shared.replace(Some(((def.code, id), record.clone())));
        Ok(record)
    }

    /// Records that refer to `id` in `row`, unless there are more than `most`. The latest ones are cached, since
    /// several fields of a record read the same.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn referring(
        &self,
        def: &ResourceDef,
        row: &'static str,
        id: ObjectId,
        most: usize,
    ) -> Result<Option<Rc<[Document]>>, LookupError> {
        let reference = (def.code, row, id, most);
        let known = self.referring.borrow().as_ref().filter(|known| known.0 == reference).cloned();
        if let Some((_, records)) = known {
            return Ok(records);
        }
        let ids = self.lookup.holders(def, row, &id.to_string(), most.saturating_add(1))?;
        let records = if ids.len() > most { None } else { Some(self.records(def, ids)?) };
        self.referring.replace(Some((reference, records.clone())));
        Ok(records)
    }

    fn records(
        &self,
        def: &ResourceDef,
        ids: Vec<ObjectId>,
    ) -> Result<Rc<[Document]>, LookupError> {
        let records = ids.into_iter().filter_map(|id| self.lookup.record(def, id).transpose());
        records.collect()
    }
}

/// The store could not be read; the cause is the store's own.
#[derive(Debug)]
pub struct LookupError(pub Box<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for LookupError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a record could not be looked up: {}", self.0)
    }
}

impl From<IdsExhausted> for LookupError {
    fn from(error: IdsExhausted) -> Self {
        Self(error.into())
    }
}

impl std::error::Error for LookupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
