//! Records of one tenant for lookups by the rules, in a snapshot or in the middle of a transaction.

use std::collections::BTreeSet;

use svctrack_core::{
    plan::Ctx,
    resources::end_user::END_USER,
    schema::{Lookup, LookupError, ResourceDef},
    tracking::intake::{EventLookup, KnownUser, TrackingSettings},
    value::{
        Document, ObjectId, RecordRef, TenantId, Timestamp, engagement::Engagement,
        member::SelectedMembers,
    },
};

use super::{
    lookup_cache::LookupCache,
    message_ids, new_user_count,
    open_tables::{RecordTables, Tables, Transaction},
    suppressed_keys,
};
use crate::{
    StoreError,
    error_conversions::in_lookup,
    rows::{
        Bytes as _, ReadRow, Rows, Snapshot,
        engagement::ReadRows,
        keys,
        stored_value::{self, StoredRecord},
    },
};

/// Number of records with one text that are passed over in an index before the next text is looked up, which takes as
/// long as some of them.
const MAX_PASSED: usize = 16;

pub(crate) trait Source {
    type Table: Rows;
    /// The table of the records themselves.
    type Records: ReadRow;
    type Engagement: ReadRows;

    fn records(&self) -> &Self::Records;
    /// Table of the holders of unique keys.
    fn unique(&self) -> &Self::Table;
    /// Which records have a value.
    fn index(&self) -> &Self::Table;
    /// Engagement of users and companies.
    fn engagement(&self) -> &Self::Engagement;
}

/// Data that planning reads besides records.
trait Planning {
    /// Cache of the writer.
    fn known(&self) -> &LookupCache;

    /// Time at which an event with this id was last stored.
    fn last_received(
        &self,
        tenant: TenantId,
        message_id: &str,
        ctx: &Ctx,
    ) -> Result<Option<Timestamp>, StoreError>;

    /// Number of end users that events have created within the hour.
    fn new_end_users(&self, tenant: TenantId, now: Timestamp) -> Result<u64, StoreError>;
}

impl<T: Transaction> Planning for Tables<T> {
    fn known(&self) -> &LookupCache {
        &self.known
    }

    fn last_received(
        &self,
        tenant: TenantId,
        message_id: &str,
        ctx: &Ctx,
    ) -> Result<Option<Timestamp>, StoreError> {
        message_ids::last_received(&self.messages, &self.known, tenant, message_id, ctx)
    }

    fn new_end_users(&self, tenant: TenantId, now: Timestamp) -> Result<u64, StoreError> {
        new_user_count::count(&self.counters, tenant, now)
    }
}

/// The records of one tenant.
pub(crate) struct TenantView<'a, S: Source> {
    pub(crate) tenant: TenantId,
    source: &'a S,
    /// Hashes of erased persons, where something is planned.
    suppressed: Option<&'a S::Table>,
    /// Further data for planning, where something is planned.
    planning: Option<&'a dyn Planning>,
}

impl<'a, T: Transaction> TenantView<'a, Tables<T>> {
    /// The tables in the middle of a transaction.
    pub(crate) fn in_transaction(tenant: TenantId, tables: &'a Tables<T>) -> Self {
        Self {
            tenant,
            source: tables,
            suppressed: Some(&tables.suppressed),
            planning: Some(tables),
        }
    }
}

impl<'a, S: Snapshot> TenantView<'a, RecordTables<S>> {
    /// The tables when the snapshot was taken.
    pub(crate) fn of_snapshot(tenant: TenantId, tables: &'a RecordTables<S>) -> Self {
        Self { tenant, source: tables, suppressed: None, planning: None }
    }

    /// The view with the hashes of erased persons, to plan over.
    pub(crate) fn with_suppressed(self, suppressed: &'a S::Table) -> Self {
        Self { suppressed: Some(suppressed), ..self }
    }
}

impl<S: Source> TenantView<'_, S> {
    /// Result of `read` for a stored record, if it exists.
    pub(crate) fn read<R>(
        &self,
        def: &ResourceDef,
        id: ObjectId,
        read: impl FnOnce(StoredRecord<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let key = keys::record(self.tenant, def.code, id);
        let unsealed = |bytes: &[u8]| read(stored_value::unseal_record(&key, bytes)?);
        self.source.records().read(&key, unsealed)?.transpose()
    }

    /// Id of the record that a reference names. An `_id` names a record that was deleted as well.
    pub(crate) fn named(
        &self,
        def: &ResourceDef,
        reference: &RecordRef,
    ) -> Result<Option<ObjectId>, StoreError> {
        match reference {
            RecordRef::Id(id) => Ok(Some(*id)),
            RecordRef::External(_) | RecordRef::Source(_) => Ok(self.locate(def, reference)?),
        }
    }

    /// Settings of the tenant for its events.
    pub(crate) fn tracking_settings(&self) -> Result<TrackingSettings, StoreError> {
        let look_up = || Ok(TrackingSettings::of_tenant(self)?);
        match &self.planning {
            Some(planning) => planning.known().settings(self.tenant, look_up),
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
            let id = self.source.unique().get(key)?;
            id.map(|id| stored_value::unseal_exact(key, id.value()).map(ObjectId::from_bytes))
                .transpose()
        };
        let key = keys::unique(self.tenant, def.code, row, key);
        match &self.planning {
            Some(planning) => planning.known().holder(key, look_up),
            None => look_up(&key),
        }
    }

    /// Records with a value from `first` to `last` in an ordered field, in the order of these.
    pub(crate) fn in_range(
        &self,
        def: &ResourceDef,
        row: &str,
        first: &str,
        last: &str,
    ) -> Result<impl DoubleEndedIterator<Item = Result<ObjectId, StoreError>>, StoreError> {
        let first = keys::index(self.tenant, def.code, row, first, ObjectId::MIN);
        let last = keys::index(self.tenant, def.code, row, last, ObjectId::MAX);
        let entries = self.source.index().range(first.as_slice()..=last.as_slice())?;
        let no_key = || StoreError::corrupted("malformed key");
        Ok(entries.map(move |entry| keys::id_at_end(entry?.0.value()).ok_or_else(no_key)))
    }

    /// Records with a text in an indexed field that meets a condition, up to a number; none where they are more.
    pub(crate) fn holders_where(
        &self,
        def: &ResourceDef,
        row: &str,
        limit: usize,
        meets: impl Fn(&str) -> bool,
    ) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        let (first, last) = keys::index_range(self.tenant, def.code, row);
        let (mut holders, mut from) = (BTreeSet::new(), first.clone());
        // Records with the same text follow each other.
        let (mut text, mut is_met, mut passed) = (Vec::new(), meets(""), 0);
        'texts: loop {
            for entry in self.source.index().range(from.as_slice()..=last.as_slice())? {
                let (key, _) = entry?;
                let (found, id) = keys::entry_in(&first, key.value())
                    .ok_or_else(|| StoreError::corrupted("malformed key"))?;
                if found != text {
                    (text, passed) = (found.to_vec(), 0);
                    is_met = str::from_utf8(found).is_ok_and(&meets);
                }
                if is_met {
                    holders.insert(id);
                    if holders.len() > limit {
                        return Ok(None);
                    }
                    continue;
                }
                passed += 1;
                if passed == MAX_PASSED {
                    from = keys::after_value(&first, &text);
                    continue 'texts;
                }
            }
            return Ok(Some(holders));
        }
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
        for entry in self.source.index().range(first.as_slice()..=last.as_slice())?.take(limit) {
            holders.extend(keys::id_at_end(entry?.0.value()));
        }
        Ok(holders)
    }
}

impl<S: Source> Lookup for TenantView<'_, S> {
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
        self.source.engagement().engagement(self.tenant, def, id).map_err(in_lookup)
    }

    fn is_suppressed(&self, row: &str, key: &str) -> Result<bool, LookupError> {
        let Some(table) = self.suppressed else { return Ok(false) };
        suppressed_keys::holds(table, self.tenant, row, key).map_err(in_lookup)
    }
}

impl<S: Source> EventLookup for TenantView<'_, S> {
    fn last_received(&self, message_id: &str, ctx: &Ctx) -> Result<Option<Timestamp>, LookupError> {
        let Some(planning) = &self.planning else { return Ok(None) };
        planning.last_received(self.tenant, message_id, ctx).map_err(in_lookup)
    }

    fn user(&self, id: ObjectId) -> Result<Option<KnownUser>, LookupError> {
        let read = |stored: StoredRecord<'_>| {
            let members = SelectedMembers::find(stored.members(), KnownUser::MEMBERS);
            Ok(KnownUser::from_record(id, &members))
        };
        let look_up = || self.read(&END_USER, id, read);
        let user = match &self.planning {
            Some(planning) => planning.known().user(self.tenant, id, look_up),
            None => look_up(),
        };
        user.map_err(in_lookup)
    }

    fn new_end_users(&self, now: Timestamp) -> Result<u64, LookupError> {
        let Some(planning) = &self.planning else { return Ok(0) };
        planning.new_end_users(self.tenant, now).map_err(in_lookup)
    }
}
