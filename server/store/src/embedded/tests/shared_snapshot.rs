//! The snapshot that reads share.

use redb::{Database, ReadableDatabase as _, backends::InMemoryBackend};

use super::*;
use crate::embedded::tables::redb_table::create_missing;

#[test]
fn a_shared_snapshot_is_shared_until_another_snapshot_is_and_one_of_before_does_not_stay() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let writing = database.begin_write().unwrap();
    create_missing(&writing).unwrap();
    writing.commit().unwrap();
    let take = || RedbSnapshot::new(database.begin_read().unwrap(), Arc::default());
    let latest = SnapshotCache::default();
    let moment = || latest.moment(|| Ok(take())).unwrap();
    assert!(!Arc::ptr_eq(&moment(), &moment()));
    latest.show(Some(take()), &CommitScope::ANYTHING);
    let first = moment();
    assert!(Arc::ptr_eq(&moment(), &first));
    latest.show(Some(take()), &CommitScope::ANYTHING);
    assert!(!Arc::ptr_eq(&moment(), &first));
    latest.show(None, &CommitScope::ANYTHING);
    let before = latest.moment(|| {
        latest.show(Some(take()), &CommitScope::ANYTHING);
        Ok(take())
    });
    assert!(!Arc::ptr_eq(&before.unwrap(), &moment()));
}

#[tokio::test]
async fn a_tenant_is_read_again_when_something_else_than_events_was_stored() {
    let world = World::new().await;
    let id = world.actor.tenant.id();
    let is_known = || world.store.shared.latest.known_tenant(id).is_some();
    assert!(!is_known());
    assert!(world.store.known_tenant(id).await.unwrap().is_some());
    world.track(Vec::new()).await;
    assert!(is_known());
    world.add_company("a").await;
    assert!(!is_known());
}
