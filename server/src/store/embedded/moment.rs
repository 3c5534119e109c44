//! What point reads see: one snapshot with its tables open, shared by all of them until the next commit,
//! since to take one costs more than to read a record from it.
//!
//! It is for reads that end at once. A list takes a snapshot of its own, which nobody else waits for.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use svctrack_core::value::TenantId;

use super::{
    snapshot::RedbSnapshot,
    tables::{ReadTable, RecordTables},
};
use crate::store::{
    KnownTenant, KnownToken, StoreError, TenantRecord, TenantState,
    reads::read,
    rows::{Snapshot, TENANTS, TOKENS},
    rules::tenants,
};

/// Most tokens, and most tenants, that are kept as they were read, some 500 bytes each.
const MAX_KNOWN: usize = 10_000;

/// The store as it was after a commit.
pub(super) struct Moment {
    pub(super) tables: RecordTables,
    tenants: ReadTable,
    tokens: ReadTable,
    known_tokens: ReadOnce<str, Arc<KnownToken>>,
    known_tenants: ReadOnce<TenantId, KnownTenant>,
}

impl Moment {
    fn of(snapshot: &RedbSnapshot) -> Result<Self, StoreError> {
        Ok(Self {
            tables: RecordTables::open(snapshot)?,
            tenants: snapshot.open(TENANTS)?,
            tokens: snapshot.open(TOKENS)?,
            known_tokens: ReadOnce::default(),
            known_tenants: ReadOnce::default(),
        })
    }

    /// A tenant, also one that is being deleted.
    pub(super) fn tenant(&self, tenant: TenantId) -> Result<Option<TenantRecord>, StoreError> {
        tenants::load(&self.tenants, tenant)
    }

    /// What requests need of a tenant, if there is such a tenant.
    pub(super) fn known_tenant(&self, tenant: TenantId) -> Result<Option<KnownTenant>, StoreError> {
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

    pub(super) fn token(&self, id: &str) -> Result<Option<Arc<KnownToken>>, StoreError> {
        self.known_tokens.get_or(id, || {
            let Some(record) = tenants::token(&self.tokens, id)? else { return Ok(None) };
            let tenant = match record.is_of_operator() {
                true => Some(KnownTenant::default()),
                false => self.known_tenant(record.tenant)?,
            };
            Ok(tenant.map(|tenant| Arc::new(KnownToken { record, tenant })))
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
        if let Some(known) = self.0.lock().get(key) {
            return Ok(Some(known.clone()));
        }
        let found = read()?;
        let mut known = self.0.lock();
        if let Some(found) = found.as_ref().filter(|_| known.len() < MAX_KNOWN) {
            known.insert(key.to_owned(), found.clone());
        }
        Ok(found)
    }
}

/// The moment that is shared, and how often one has been let go.
#[derive(Default)]
pub(super) struct Latest(Mutex<(u64, Option<Arc<Moment>>)>);

impl Latest {
    /// The store as it is now; `snapshot` is taken when none is shared.
    pub(super) fn moment(
        &self,
        snapshot: impl FnOnce() -> Result<RedbSnapshot, StoreError>,
    ) -> Result<Arc<Moment>, StoreError> {
        let forgotten = {
            let shared = self.0.lock();
            if let Some(moment) = &shared.1 {
                return Ok(moment.clone());
            }
            shared.0
        };
        let moment = Arc::new(Moment::of(&snapshot()?)?);
        let mut shared = self.0.lock();
        // What was taken before a commit must not stay behind it.
        if shared.0 == forgotten {
            shared.1 = Some(moment.clone());
        }
        Ok(moment)
    }

    /// Lets it go, since the store has changed or its file is closed.
    pub(super) fn forget(&self) {
        let mut shared = self.0.lock();
        shared.0 += 1;
        shared.1 = None;
    }
}

#[cfg(test)]
mod tests {
    use redb::{Database, ReadableDatabase as _, backends::InMemoryBackend};

    use super::*;
    use crate::store::{
        embedded::{engagement::RowsAtHand, tables::WriteTables},
        rules::known::Known,
    };

    #[test]
    fn a_moment_is_shared_until_it_is_forgotten_and_one_of_before_does_not_stay() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let writing = database.begin_write().unwrap();
        drop(WriteTables::open(&writing, Known::default(), &mut RowsAtHand::default()).unwrap());
        writing.commit().unwrap();
        let latest = Latest::default();
        let take = || Ok(RedbSnapshot::of(database.begin_read()?, Arc::default()));
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
