//! What point reads see: one snapshot with its tables open, shared by all of them until the next commit,
//! since to take one costs more than to read a record from it.
//!
//! It is for reads that end at once. A list takes a snapshot of its own, which nobody else waits for.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use svctrack_core::value::TenantId;

use super::{
    read,
    snapshot::Snapshot,
    tables::{ReadTable, RecordTables, TENANTS, TOKENS},
    tenants,
};
use crate::{auth::KnownToken, rate_limit::RateLimits, store::StoreError};

/// Most tokens, and most tenants, that are kept as they were read, some 500 bytes each.
const MAX_KNOWN: usize = 10_000;

/// The store as it was after a commit.
pub(super) struct Moment {
    pub(super) tables: RecordTables,
    tenants: ReadTable,
    tokens: ReadTable,
    known_tokens: ReadOnce<str, Arc<KnownToken>>,
    known_limits: ReadOnce<TenantId, RateLimits>,
}

impl Moment {
    fn of(snapshot: &Snapshot) -> Result<Self, StoreError> {
        Ok(Self {
            tables: RecordTables::open(snapshot)?,
            tenants: snapshot.open_table(TENANTS)?,
            tokens: snapshot.open_table(TOKENS)?,
            known_tokens: ReadOnce::default(),
            known_limits: ReadOnce::default(),
        })
    }

    pub(super) fn has_tenant(&self, tenant: TenantId) -> Result<bool, StoreError> {
        Ok(self.tenants.get(tenant.as_bytes().as_slice())?.is_some())
    }

    /// The rate limits of a tenant, if there is such a tenant.
    pub(super) fn limits_of(&self, tenant: TenantId) -> Result<Option<RateLimits>, StoreError> {
        self.known_limits.get_or(&tenant, || match self.has_tenant(tenant)? {
            true => read::rate_limits(&self.tables, tenant).map(Some),
            false => Ok(None),
        })
    }

    pub(super) fn token(&self, id: &str) -> Result<Option<Arc<KnownToken>>, StoreError> {
        self.known_tokens.get_or(id, || {
            let Some(record) = tenants::token(&self.tokens, id)? else { return Ok(None) };
            let limits = read::rate_limits(&self.tables, record.tenant)?;
            Ok(Some(Arc::new(KnownToken { record, limits })))
        })
    }
}

/// What was read once; what is not there is asked for each time.
struct ReadOnce<K: ToOwned + ?Sized, V>(Mutex<BTreeMap<K::Owned, V>>);

impl<K: ToOwned<Owned: Ord> + ?Sized, V> Default for ReadOnce<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: ToOwned<Owned: Ord> + Ord + ?Sized, V: Clone> ReadOnce<K, V> {
    fn get_or(
        &self,
        key: &K,
        read: impl FnOnce() -> Result<Option<V>, StoreError>,
    ) -> Result<Option<V>, StoreError> {
        if let Some(known) = lock(&self.0).get(key) {
            return Ok(Some(known.clone()));
        }
        let found = read()?;
        let mut known = lock(&self.0);
        if let Some(found) = found.as_ref().filter(|_| known.len() < MAX_KNOWN) {
            known.insert(key.to_owned(), found.clone());
        }
        Ok(found)
    }
}

/// A panic while a lock is held cannot leave behind what is half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The moment that is shared, and how often one has been let go.
#[derive(Default)]
pub(super) struct Latest(Mutex<(u64, Option<Arc<Moment>>)>);

impl Latest {
    /// The store as it is now; `snapshot` is taken when none is shared.
    pub(super) fn moment(
        &self,
        snapshot: impl FnOnce() -> Result<Snapshot, StoreError>,
    ) -> Result<Arc<Moment>, StoreError> {
        let forgotten = {
            let shared = lock(&self.0);
            if let Some(moment) = &shared.1 {
                return Ok(moment.clone());
            }
            shared.0
        };
        let moment = Arc::new(Moment::of(&snapshot()?)?);
        let mut shared = lock(&self.0);
        // What was taken before a commit must not stay behind it.
        if shared.0 == forgotten {
            shared.1 = Some(moment.clone());
        }
        Ok(moment)
    }

    /// Lets it go, since the store has changed or its file is closed.
    pub(super) fn forget(&self) {
        let mut shared = lock(&self.0);
        shared.0 += 1;
        shared.1 = None;
    }
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableDatabase as _, backends::InMemoryBackend};

    use super::*;
    use crate::store::embedded::{engagement::Rows, known::Known, tables::WriteTables};

    #[test]
    fn a_moment_is_shared_until_it_is_forgotten_and_one_of_before_does_not_stay() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let writing = database.begin_write().unwrap();
        drop(WriteTables::open(&writing, Known::default(), &mut Rows::default()).unwrap());
        writing.commit().unwrap();
        let latest = Latest::default();
        let take = || Ok(Snapshot::of(database.begin_read()?, Arc::default()));
        let before = latest.moment(|| {
            let snapshot = take();
            latest.forget();
            snapshot
        });
        let first = latest.moment(take).unwrap();
        assert!(!Arc::ptr_eq(&before.unwrap(), &first));
        assert!(Arc::ptr_eq(&latest.moment(take).unwrap(), &first));
        latest.forget();
        assert!(!Arc::ptr_eq(&latest.moment(take).unwrap(), &first));
    }
}
