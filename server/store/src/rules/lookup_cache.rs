//! Cache of the writer's lookups, in this transaction and in later ones: most events are of users and companies
//! that have just been looked up.
//!
//! Invariant: the cache equals the tables. A change of these removes cached values here, and a transaction that is not
//! committed drops the whole cache.

use std::{
    cell::RefCell,
    collections::{HashMap, hash_map},
    hash::{BuildHasher, Hash},
};

use foldhash::fast;
use svctrack_core::{
    resources::{end_user::END_USER, settings::SETTINGS},
    schema::ResourceDef,
    tracking::intake::{KnownUser, TrackingSettings},
    value::{ObjectId, TenantId},
};

use crate::StoreError;

/// Maximum number of cached results of one kind, some 10 MB: more than the users that a busy tenant sees in an hour.
/// When the cache is full, it is cleared.
const MAX_KNOWN: usize = 50_000;

/// Cached values of the tables.
#[derive(Default)]
pub(crate) struct LookupCache {
    /// Callers choose the keys, so that they are hashed against floods.
    holders: CachedLookups<Vec<u8>, ObjectId, hash_map::RandomState>,
    users: CachedLookups<(TenantId, ObjectId), KnownUser>,
    settings: CachedLookups<TenantId, TrackingSettings>,
    /// Tenants for which commands are carried out.
    served: CachedLookups<TenantId, ()>,
    /// The last id in a window of messages, if there is one.
    last_messages: CachedLookups<(TenantId, u16), Option<Vec<u8>>>,
}

impl LookupCache {
    /// Holder of this key of `unique`.
    pub(crate) fn holder(
        &self,
        key: Vec<u8>,
        look_up: impl FnOnce(&[u8]) -> Result<Option<ObjectId>, StoreError>,
    ) -> Result<Option<ObjectId>, StoreError> {
        self.holders.get_or(key, |key| look_up(key))
    }

    /// Facts of a user that an event needs.
    pub(crate) fn user(
        &self,
        tenant: TenantId,
        id: ObjectId,
        look_up: impl FnOnce() -> Result<Option<KnownUser>, StoreError>,
    ) -> Result<Option<KnownUser>, StoreError> {
        self.users.get_or((tenant, id), |_| look_up())
    }

    /// Settings of a tenant for its events.
    pub(crate) fn settings(
        &self,
        tenant: TenantId,
        look_up: impl FnOnce() -> Result<TrackingSettings, StoreError>,
    ) -> Result<TrackingSettings, StoreError> {
        let set = self.settings.get_or(tenant, |_| look_up().map(Some))?;
        Ok(set.unwrap_or_default())
    }

    /// Whether commands of a tenant are carried out.
    pub(crate) fn is_served(
        &self,
        tenant: TenantId,
        look_up: impl FnOnce() -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let served = self.served.get_or(tenant, |_| Ok(look_up()?.then_some(())))?;
        Ok(served.is_some())
    }

    /// A tenant is deleted.
    pub(crate) fn forget_tenant(&self, tenant: TenantId) {
        self.served.forget(&tenant);
    }

    /// Whether a key comes after all messages of its window.
    pub(crate) fn is_behind_messages(
        &self,
        tenant: TenantId,
        window: u16,
        key: &[u8],
        look_up: impl FnOnce() -> Result<Option<Vec<u8>>, StoreError>,
    ) -> Result<bool, StoreError> {
        let is_behind = |last: &Option<Vec<u8>>| last.as_deref().is_none_or(|last| last < key);
        let last = self.last_messages.read_or((tenant, window), |_| look_up().map(Some), is_behind);
        Ok(last?.unwrap_or(true))
    }

    /// A key of `unique` changes hands.
    pub(crate) fn forget_holder(&self, key: &[u8]) {
        self.holders.forget(key);
    }

    /// Removes cached values that depend on a record that changes.
    pub(crate) fn forget_record(&self, tenant: TenantId, def: &ResourceDef, id: ObjectId) {
        if *def == END_USER {
            self.users.forget(&(tenant, id));
        } else if *def == SETTINGS {
            self.settings.forget(&tenant);
        }
    }

    pub(crate) fn add_message(&self, tenant: TenantId, window: u16, key: &[u8]) {
        if let Some(last) = self.last_messages.0.borrow_mut().get_mut(&(tenant, window))
            && last.as_deref().is_none_or(|last| last < key)
        {
            *last = Some(key.to_vec());
        }
    }

    /// Removes the last id of a window whose messages are removed.
    pub(crate) fn forget_messages(&self, tenant: TenantId, window: u16) {
        self.last_messages.forget(&(tenant, window));
    }
}

/// Results of lookups of one kind. A missing key is not cached: it may be invented.
struct CachedLookups<K, V, S = fast::RandomState>(RefCell<HashMap<K, V, S>>);

impl<K, V, S: Default> Default for CachedLookups<K, V, S> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Hash + Eq, V: Clone, S: BuildHasher> CachedLookups<K, V, S> {
    fn get_or(
        &self,
        key: K,
        look_up: impl FnOnce(&K) -> Result<Option<V>, StoreError>,
    ) -> Result<Option<V>, StoreError> {
        self.read_or(key, look_up, V::clone)
    }

    /// Result of `read` for the cached or looked-up value, if there is one.
    fn read_or<R>(
        &self,
        key: K,
        look_up: impl FnOnce(&K) -> Result<Option<V>, StoreError>,
        read: impl FnOnce(&V) -> R,
    ) -> Result<Option<R>, StoreError> {
        if let Some(known) = self.0.borrow().get(&key) {
            return Ok(Some(read(known)));
        }
        let Some(found) = look_up(&key)? else { return Ok(None) };
        let value = read(&found);
        let mut known = self.0.borrow_mut();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(key, found);
        Ok(Some(value))
    }

    fn forget<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: std::borrow::Borrow<Q>,
    {
        self.0.borrow_mut().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_looked_up_again_until_it_is_forgotten() {
        let known = LookupCache::default();
        let ask = |holder| known.holder(b"key".to_vec(), |_| Ok(holder)).unwrap();
        assert_eq!(ask(None), None);
        assert_eq!(ask(Some(ObjectId::MIN)), Some(ObjectId::MIN));
        assert_eq!(ask(None), Some(ObjectId::MIN));
        known.forget_holder(b"key");
        assert_eq!(ask(None), None);
    }

    /// An id of a tenant, a different one for each number.
    fn tenant(number: usize) -> TenantId {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        TenantId::from_bytes(bytes)
    }

    #[test]
    fn no_kind_of_lookup_grows_without_end() {
        let known = LookupCache::default();
        let (id, company) = (ObjectId::MIN, None);
        let user =
            KnownUser { id, company, has_external_id: true, has_email: false, has_name: false };
        for number in 0..=MAX_KNOWN {
            let tenant = tenant(number);
            let key = number.to_be_bytes().to_vec();
            known.holder(key, |_| Ok(Some(id))).unwrap();
            known.user(tenant, id, || Ok(Some(user.clone()))).unwrap();
            known.settings(tenant, || Ok(TrackingSettings::default())).unwrap();
            assert!(known.is_served(tenant, || Ok(true)).unwrap());
            known.is_behind_messages(tenant, 0, b"key", || Ok(None)).unwrap();
        }
        let LookupCache { holders, users, settings, served, last_messages } = known;
        let lens = [
            holders.0.borrow().len(),
            users.0.borrow().len(),
            settings.0.borrow().len(),
            served.0.borrow().len(),
            last_messages.0.borrow().len(),
        ];
        assert_eq!(lens, [1; 5]);
    }
}
