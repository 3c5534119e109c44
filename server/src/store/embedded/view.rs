//! The records of one tenant as the rules look them up, in a snapshot or in the middle of a
//! transaction.

use std::ops::RangeInclusive;

use redb::ReadableTable;
use svctrack_core::{
    plan::Ctx,
    resources::end_user::END_USER,
    schema::{Lookup, LookupError, ResourceDef},
    tracking::intake::{EventLookup, KnownUser, TrackingSettings},
    value::{Document, ObjectId, TenantId, Timestamp, engagement::Engagement},
};

use super::{
    append_table::AppendTable,
    codec::{self, Stored},
    engagement::{ReadEngagement, ReadRows as _, WriteEngagement},
    failure::in_lookup,
    keys,
    known::Known,
    messages, new_users, suppressed,
    tables::{ReadTable, RecordTables, WriteTable, WriteTables},
};
use crate::store::StoreError;

/// The records of one tenant.
pub(super) struct View<'a, T> {
    pub(super) tenant: TenantId,
    records: Records<'a, T>,
    unique: &'a T,
    index: &'a T,
    engagement: Engagements<'a>,
    /// What erased persons were known by, where something is planned.
    suppressed: Option<&'a T>,
    /// What is needed where something is planned besides.
    planning: Option<Planning<'a, T>>,
}

/// Where the records themselves are.
enum Records<'a, T> {
    Snapshot(&'a T),
    Transaction(&'a AppendTable<'a>),
}

/// Where engagement is.
enum Engagements<'a> {
    Snapshot(&'a ReadEngagement),
    Transaction(&'a WriteEngagement<'a>),
}

/// What planning looks at besides records.
struct Planning<'a, T> {
    /// Ids of events that came in.
    messages: &'a AppendTable<'a>,
    /// Where the users are counted that events make.
    counters: &'a T,
    /// What the writer knows of the tables.
    known: &'a Known,
}

impl<'a, 't> View<'a, WriteTable<'t>> {
    /// As they are in the middle of a transaction.
    pub(super) fn in_transaction(tenant: TenantId, tables: &'a WriteTables<'t>) -> Self {
        Self {
            tenant,
            records: Records::Transaction(&tables.records),
            unique: &tables.unique,
            index: &tables.index,
            engagement: Engagements::Transaction(&tables.engagement),
            suppressed: Some(&tables.suppressed),
            planning: Some(Planning {
                messages: &tables.messages,
                counters: &tables.counters,
                known: &tables.known,
            }),
        }
    }
}

impl View<'_, ReadTable> {
    /// Who of a resource was last active between two times, both included; none where they are more than `max`.
    pub(super) fn active_between(
        &self,
        def: &ResourceDef,
        times: &RangeInclusive<Timestamp>,
        max: usize,
    ) -> Result<Option<Vec<ObjectId>>, StoreError> {
        match self.engagement {
            Engagements::Snapshot(table) => {
                table.active_between((self.tenant, def.code), times, max)
            }
            Engagements::Transaction(_) => Ok(None),
        }
    }
}

impl<'a> View<'a, ReadTable> {
    /// As they were when the snapshot was taken.
    pub(super) fn of_snapshot(tenant: TenantId, tables: &'a RecordTables) -> Self {
        Self {
            tenant,
            records: Records::Snapshot(&tables.records),
            unique: &tables.unique,
            index: &tables.index,
            engagement: Engagements::Snapshot(&tables.engagement),
            suppressed: None,
            planning: None,
        }
    }

    /// The same, to plan over.
    pub(super) fn with_suppressed(self, suppressed: &'a ReadTable) -> Self {
        Self { suppressed: Some(suppressed), ..self }
    }
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> View<'_, T> {
    /// What `read` makes of a record as it is stored, if it is there.
    pub(super) fn read<R>(
        &self,
        def: &ResourceDef,
        id: ObjectId,
        read: impl FnOnce(Stored<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let key = keys::record(self.tenant, def.code, id);
        let unsealed = |bytes: &[u8]| read(codec::unseal_record(&key, bytes)?);
        match &self.records {
            Records::Snapshot(records) => {
                records.get(key.as_slice())?.map(|bytes| unsealed(bytes.value())).transpose()
            }
            Records::Transaction(records) => records.read(&key, unsealed)?.transpose(),
        }
    }

    /// What the tenant has set for its events.
    pub(super) fn tracking_settings(&self) -> Result<TrackingSettings, StoreError> {
        let look_up = || Ok(TrackingSettings::of_tenant(self)?);
        match &self.planning {
            Some(planning) => planning.known.settings(self.tenant, look_up),
            None => look_up(),
        }
    }

    fn holder(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
    ) -> Result<Option<ObjectId>, StoreError> {
        let look_up = |key: &[u8]| -> Result<_, StoreError> {
            let id = self.unique.get(key)?;
            id.map(|id| codec::unseal_exact(key, id.value()).map(ObjectId::from_bytes)).transpose()
        };
        let key = keys::unique(self.tenant, def.code, row, key);
        match &self.planning {
            Some(planning) => planning.known.holder(key, look_up),
            None => look_up(&key),
        }
    }

    /// The records with a value from `first` to `last` in an ordered row, in the order of these.
    pub(super) fn in_range(
        &self,
        def: &ResourceDef,
        row: &str,
        first: &str,
        last: &str,
    ) -> Result<impl DoubleEndedIterator<Item = Result<ObjectId, StoreError>>, StoreError> {
        let first = keys::index(self.tenant, def.code, row, first, ObjectId::MIN);
        let last = keys::index(self.tenant, def.code, row, last, ObjectId::MAX);
        let entries = self.index.range(first.as_slice()..=last.as_slice())?;
        let no_key = || StoreError::corrupted("a key that is none");
        Ok(entries.map(move |entry| keys::id_at_end(entry?.0.value()).ok_or_else(no_key)))
    }

    fn all_holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, StoreError> {
        let bound = |id| keys::index(self.tenant, def.code, row, key, id);
        let (first, last) = (bound(ObjectId::MIN), bound(ObjectId::MAX));
        let mut holders = Vec::new();
        for entry in self.index.range(first.as_slice()..=last.as_slice())?.take(limit) {
            holders.extend(keys::id_at_end(entry?.0.value()));
        }
        Ok(holders)
    }
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> Lookup for View<'_, T> {
    fn record(&self, def: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
        self.read(def, id, |stored| stored.document()).map_err(in_lookup)
    }

    fn find(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
    ) -> Result<Option<ObjectId>, LookupError> {
        self.holder(def, row, key).map_err(in_lookup)
    }

    fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        self.all_holders(def, row, key, limit).map_err(in_lookup)
    }

    fn engagement(
        &self,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Engagement>, LookupError> {
        match self.engagement {
            Engagements::Snapshot(table) => table.engagement(self.tenant, def, id),
            Engagements::Transaction(table) => table.engagement(self.tenant, def, id),
        }
        .map_err(in_lookup)
    }

    fn is_suppressed(&self, row: &str, key: &str) -> Result<bool, LookupError> {
        let Some(table) = self.suppressed else { return Ok(false) };
        suppressed::holds(table, self.tenant, row, key).map_err(in_lookup)
    }
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> EventLookup for View<'_, T> {
    fn last_received(&self, message_id: &str, ctx: &Ctx) -> Result<Option<Timestamp>, LookupError> {
        let Some(planning) = &self.planning else { return Ok(None) };
        let Planning { messages, known, .. } = planning;
        messages::last_received(messages, known, self.tenant, message_id, ctx).map_err(in_lookup)
    }

    fn user(&self, id: ObjectId) -> Result<Option<KnownUser>, LookupError> {
        let look_up = || self.read(&END_USER, id, |stored| Ok(KnownUser::of(id, &stored)));
        let user = match &self.planning {
            Some(planning) => planning.known.user(self.tenant, id, look_up),
            None => look_up(),
        };
        user.map_err(in_lookup)
    }

    fn new_end_users(&self, now: Timestamp) -> Result<u64, LookupError> {
        let Some(planning) = &self.planning else { return Ok(0) };
        new_users::count(planning.counters, self.tenant, now).map_err(in_lookup)
    }
}
