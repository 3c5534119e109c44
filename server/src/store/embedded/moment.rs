//! What reads see: the snapshot of the last commit, shared by all of them until the next one, and for point reads
//! with its tables open, since to open them costs more than to read a record.

use std::{collections::BTreeMap, mem, sync::Arc};

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

/// The snapshot of the last commit, and the moment over it.
#[derive(Default)]
struct Shown {
    snapshot: Option<Arc<RedbSnapshot>>,
    /// None until somebody asks for it.
    moment: Option<Arc<Moment>>,
}

/// What reads see. The writer takes the snapshot, since redb lets nobody take one while it makes a file larger, for as
/// long as the disk needs.
#[derive(Default)]
pub(super) struct Latest(Mutex<Shown>);

impl Latest {
    /// The store as it is now; `take` takes a snapshot where none is shared.
    pub(super) fn snapshot(
        &self,
        take: impl FnOnce() -> Result<RedbSnapshot, StoreError>,
    ) -> Result<Arc<RedbSnapshot>, StoreError> {
        let shared = self.0.lock().snapshot.clone();
        shared.map_or_else(|| take().map(Arc::new), Ok)
    }

    /// The same, with its tables open.
    pub(super) fn moment(
        &self,
        take: impl FnOnce() -> Result<RedbSnapshot, StoreError>,
    ) -> Result<Arc<Moment>, StoreError> {
        if let Some(moment) = &self.0.lock().moment {
            return Ok(moment.clone());
        }
        let snapshot = self.snapshot(take)?;
        let moment = Arc::new(Moment::of(&snapshot)?);
        let mut shown = self.0.lock();
        // What was opened before a commit must not stay behind it.
        if shown.snapshot.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, &snapshot)) {
            shown.moment = Some(moment.clone());
        }
        Ok(moment)
    }

    /// Has reads see this, since the store has changed; each a snapshot of its own where it is none.
    pub(super) fn show(&self, snapshot: Option<RedbSnapshot>) {
        let shown = Shown { snapshot: snapshot.map(Arc::new), moment: None };
        let before = mem::replace(&mut *self.0.lock(), shown);
        drop(before);
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
    fn a_moment_is_shared_until_another_snapshot_is_and_one_of_before_does_not_stay() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        let writing = database.begin_write().unwrap();
        drop(WriteTables::open(&writing, Known::default(), &mut RowsAtHand::default()).unwrap());
        writing.commit().unwrap();
        let take = || RedbSnapshot::of(database.begin_read().unwrap(), Arc::default());
        let latest = Latest::default();
        let moment = || latest.moment(|| Ok(take())).unwrap();
        assert!(!Arc::ptr_eq(&moment(), &moment()));
        latest.show(Some(take()));
        let first = moment();
        assert!(Arc::ptr_eq(&moment(), &first));
        latest.show(Some(take()));
        assert!(!Arc::ptr_eq(&moment(), &first));
        latest.show(None);
        let before = latest.moment(|| {
            latest.show(Some(take()));
            Ok(take())
        });
        assert!(!Arc::ptr_eq(&before.unwrap(), &moment()));
    }
}
