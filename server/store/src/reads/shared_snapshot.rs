//! The snapshot that reads share: the snapshot of the last commit, until the next one. For point reads its tables are
//! open, since opening them costs more than reading a record.

use std::{collections::BTreeMap, mem, sync::Arc};

use parking_lot::Mutex;
use svctrack_core::value::TenantId;

use super::{
    read,
    versions::{CommitScope, TenantVersions},
};
use crate::{
    KnownTenant, KnownToken, StoreError, TenantRecord, TenantState,
    rows::{Snapshot, TENANTS, TOKENS},
    rules::{open_tables::RecordTables, tenants, tokens},
};

/// Maximum number of cached tokens, and of cached tenants, some 500 bytes each.
const MAX_KNOWN: usize = 10_000;

/// State of the store after a commit.
pub(crate) struct SharedSnapshot<S: Snapshot> {
    pub(crate) tables: RecordTables<S>,
    tenants: S::Table,
    tokens: S::Table,
    known_tokens: ValueCache<str, Arc<KnownToken>>,
    known_tenants: Arc<KnownTenants>,
}

/// Cache of tenants since one of them, or its settings, was last changed.
type KnownTenants = ValueCache<TenantId, KnownTenant>;

impl<S: Snapshot> SharedSnapshot<S> {
    fn read(snapshot: &S, known_tenants: Arc<KnownTenants>) -> Result<Self, StoreError> {
        Ok(Self {
            tables: RecordTables::open(snapshot)?,
            tenants: snapshot.open(TENANTS)?,
            tokens: snapshot.open(TOKENS)?,
            known_tokens: ValueCache::default(),
            known_tenants,
        })
    }

    /// A tenant, also one that is being deleted.
    pub(crate) fn tenant(&self, tenant: TenantId) -> Result<Option<TenantRecord>, StoreError> {
        tenants::load(&self.tenants, tenant)
    }

    /// Facts of a tenant that requests need, if there is such a tenant.
    pub(crate) fn known_tenant(&self, tenant: TenantId) -> Result<Option<KnownTenant>, StoreError> {
        self.known_tenants.get_or(&tenant, || {
            let record = self.tenant(tenant)?;
            let Some(record) = record.filter(|record| record.state != TenantState::Deleting) else {
                return Ok(None);
            };
            let is_suspended = record.state == TenantState::Suspended;
            let limits = read::rate_limits(&self.tables, tenant)?;
            Ok(Some(KnownTenant { is_suspended, limits }))
        })
    }

    pub(crate) fn token(&self, id: &str) -> Result<Option<Arc<KnownToken>>, StoreError> {
        self.known_tokens.get_or(id, || {
            let Some(record) = tokens::token(&self.tokens, id)? else { return Ok(None) };
            let tenant = match record.is_of_operator() {
                true => Some(KnownTenant::default()),
                false => self.known_tenant(record.tenant)?,
            };
            Ok(tenant.map(|tenant| Arc::new(KnownToken { record, tenant })))
        })
    }
}

/// Cache of values by key; an absent value is read each time.
struct ValueCache<K: ToOwned + ?Sized, V>(Mutex<BTreeMap<K::Owned, V>>);

impl<K: ToOwned<Owned: Ord> + ?Sized, V> Default for ValueCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: ToOwned<Owned: Ord> + Ord + ?Sized, V: Clone> ValueCache<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.0.lock().get(key).cloned()
    }

    fn get_or(
        &self,
        key: &K,
        read: impl FnOnce() -> Result<Option<V>, StoreError>,
    ) -> Result<Option<V>, StoreError> {
        if let Some(known) = self.get(key) {
            return Ok(Some(known));
        }
        let found = read()?;
        let mut known = self.0.lock();
        if let Some(found) = found.as_ref().filter(|_| known.len() < MAX_KNOWN) {
            known.insert(key.to_owned(), found.clone());
        }
        Ok(found)
    }
}

/// Snapshot of the last commit, and the shared one over it.
struct CurrentSnapshots<S: Snapshot> {
    snapshot: Option<Arc<S>>,
    /// None until the first reader.
    moment: Option<Arc<SharedSnapshot<S>>>,
    known_tenants: Arc<KnownTenants>,
    versions: TenantVersions,
}

/// The snapshot that reads share. The writer renews it, since an engine may allow no new snapshot while it waits for
/// its disk.
pub(crate) struct SnapshotCache<S: Snapshot>(Mutex<CurrentSnapshots<S>>);

impl<S: Snapshot> Default for SnapshotCache<S> {
    fn default() -> Self {
        Self(Mutex::new(CurrentSnapshots {
            snapshot: None,
            moment: None,
            known_tenants: Arc::default(),
            versions: TenantVersions::default(),
        }))
    }
}

impl<S: Snapshot> SnapshotCache<S> {
    /// The store as it is now; `take` takes a snapshot where none is shared.
    pub(crate) fn snapshot(
        &self,
        take: impl FnOnce() -> Result<S, StoreError>,
    ) -> Result<Arc<S>, StoreError> {
        let shared = self.0.lock().snapshot.clone();
        shared.map_or_else(|| take().map(Arc::new), Ok)
    }

    /// The shared snapshot with its tables open; `take` takes a snapshot where none is shared.
    pub(crate) fn moment(
        &self,
        take: impl FnOnce() -> Result<S, StoreError>,
    ) -> Result<Arc<SharedSnapshot<S>>, StoreError> {
        // Before a snapshot is taken: data that is read from it is no older than the other data of the shared one.
        let known_tenants = {
            let shown = self.0.lock();
            if let Some(moment) = &shown.moment {
                return Ok(moment.clone());
            }
            shown.known_tenants.clone()
        };
        let snapshot = self.snapshot(take)?;
        let moment = Arc::new(SharedSnapshot::read(&*snapshot, known_tenants)?);
        let mut shown = self.0.lock();
        // A snapshot from before a commit must not outlast it.
        if shown.snapshot.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, &snapshot)) {
            shown.moment = Some(moment.clone());
        }
        Ok(moment)
    }

    /// Facts of a tenant that requests need, if they were read before.
    pub(crate) fn known_tenant(&self, tenant: TenantId) -> Option<KnownTenant> {
        self.0.lock().known_tenants.get(&tenant)
    }

    /// Version of a tenant. A snapshot that is taken afterwards has at least this version.
    pub(crate) fn version(&self, tenant: TenantId) -> u64 {
        self.0.lock().versions.for_tenant(tenant)
    }

    /// Publishes a new snapshot to reads after a write; without one, each read takes a snapshot of its own.
    pub(crate) fn show(&self, snapshot: Option<S>, scope: &CommitScope) {
        let before = {
            let mut shown = self.0.lock();
            shown.versions.note(scope);
            let known_tenants = match scope.is_events {
                true => shown.known_tenants.clone(),
                false => Arc::default(),
            };
            let versions = mem::take(&mut shown.versions);
            let snapshot = snapshot.map(Arc::new);
            mem::replace(
                &mut *shown,
                CurrentSnapshots { snapshot, moment: None, known_tenants, versions },
            )
        };
        drop(before);
    }
}
