//! Stores that were last written by a program which had fewer tables, and fewer rows that are derived from records.

use svctrack_core::{
    resources::license::{self, LICENSE},
    revenue::LicenseFacts,
};

use super::*;
use crate::{
    rows::Bytes as _,
    rules::{license_facts, range_index},
};

fn change_facts(folder: &Path, by: impl FnOnce(&mut WriteTable<'_>)) {
    change(folder, rows::LICENSE_FACTS, by);
}

/// Changes a table of a stopped store.
fn change(folder: &Path, table: Table, by: impl FnOnce(&mut WriteTable<'_>)) {
    let store_file = DiskFile::at(&folder.join(FILE_NAME));
    let database = open::open(&store_file, CACHE_BYTES).unwrap();
    let transaction = begin(&database).unwrap();
    by(&mut WriteTable::open(&transaction, table).unwrap());
    transaction.commit().unwrap();
}

fn remove_first(facts: &mut WriteTable<'_>) {
    let first = facts.iter().unwrap().next().unwrap().unwrap().0.value().to_vec();
    facts.remove(&first).unwrap();
}

/// Adds facts of a license that does not exist.
fn add_of_none(facts: &mut WriteTable<'_>) {
    let tenant = keys::tenant_of(facts.iter().unwrap().next().unwrap().unwrap().0.value()).unwrap();
    let of_none = LicenseFacts::new(ObjectId::MAX, ObjectId::MAX);
    let (key, value) = license_facts::row(tenant, &of_none).unwrap();
    facts.insert(&key, &value).unwrap();
}

/// Adds facts of a tenant that an earlier program has deleted.
fn add_of_no_tenant(facts: &mut WriteTable<'_>) {
    let of_none = LicenseFacts::new(ObjectId::MAX, ObjectId::MAX);
    let (key, value) = license_facts::row(TenantId::from_bytes([0xee; 16]), &of_none).unwrap();
    facts.insert(&key, &value).unwrap();
}

/// Removes the monthly value from the facts of the second license.
fn remove_mrr(facts: &mut WriteTable<'_>) {
    let rows: Vec<_> = facts.iter().unwrap().map(|row| row.unwrap().0.value().to_vec()).collect();
    let first: LicenseFacts<'_> = rows::get_row(facts, &rows[0]).unwrap().unwrap();
    let other = LicenseFacts { id: keys::id_at_end(&rows[1]).unwrap(), mrr: None, ..first };
    let (key, value) = license_facts::row(keys::tenant_of(&rows[1]).unwrap(), &other).unwrap();
    facts.insert(&key, &value).unwrap();
}

/// A store with two licenses.
async fn with_licenses() -> World {
    let world = World::new().await;
    world.add_company("acme").await;
    for number in ["1", "2"] {
        let license = format!(
            r#"{{"companyId":"extid-acme","externalId":"{number}","fromDate":"2026-01-01","toDate":"2027-01-01","fixedPeriod":true,"value":1}}"#
        );
        let body = CheckedBody::trusted(Document::parse(license.as_bytes()).unwrap());
        world.write(Command::Create { def: &LICENSE, body }).await;
    }
    world
}

/// Removes rows from a store that an earlier program would not have written.
fn age(folder: &Path) {
    change_facts(folder, remove_first);
    change_facts(folder, add_of_none);
    change_facts(folder, add_of_no_tenant);
    let store_file = DiskFile::at(&folder.join(FILE_NAME));
    let database = open::open(&store_file, CACHE_BYTES).unwrap();
    let transaction = begin(&database).unwrap();
    assert!(transaction.delete_table(definition(rows::SUPPRESSED)).unwrap());
    {
        let mut meta = WriteTable::open(&transaction, rows::META).unwrap();
        meta.remove(rows::meta::META_DERIVED).unwrap();
        let mut index = WriteTable::open(&transaction, rows::INDEX).unwrap();
        let row = license::RENEWAL_DATE.name.as_bytes();
        let is_of_row = |key: &[u8]| key.windows(row.len()).any(|part| part == row);
        let entries = index.len().unwrap();
        let all = index.iter().unwrap().map(|row| row.unwrap().0.value().to_vec());
        let of_row: Vec<_> = all.filter(|key| is_of_row(key)).collect();
        of_row.iter().for_each(|key| drop(index.remove(key).unwrap()));
        assert_eq!(index.len().unwrap() + 2, entries);
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn tables_and_derived_rows_that_a_store_lacks_are_added_when_it_is_opened() {
    let world = with_licenses().await;
    let entries = world.rows(rows::INDEX);
    let world = world.reopened(|folder| {
        age(folder);
        assert!(verify(folder, CACHE_BYTES).unwrap().is_sound());
    });
    assert_eq!(world.rows(rows::INDEX), entries);
    assert_eq!((world.rows(rows::SUPPRESSED), world.rows(rows::LICENSE_FACTS)), (0, 2));
    let world = world.reopened(|folder| assert!(verify(folder, CACHE_BYTES).unwrap().is_sound()));
    assert_eq!((world.rows(rows::INDEX), world.rows(rows::LICENSE_FACTS)), (entries, 2));
}

#[tokio::test]
async fn facts_that_are_not_those_of_a_license_are_reported() {
    for change in [remove_first, add_of_none, remove_mrr] {
        let _ = with_licenses().await.reopened(|folder| {
            change_facts(folder, change);
            let problems = verify(folder, CACHE_BYTES).unwrap().problems;
            let [problem] = &*problems else { panic!("{problems:?}") };
            assert_eq!(problem.table, rows::LICENSE_FACTS.name());
        });
    }
}

/// The key and the value of a license's record.
fn last_license(records: &impl rows::Rows) -> (Vec<u8>, Vec<u8>) {
    let rows = records.iter().unwrap().map(|row| row.unwrap());
    let is_license = |key: &[u8]| key.get(keys::TENANT_BYTES) == Some(&LICENSE.code);
    let mut licenses = rows.filter(|(key, _)| is_license(key.value()));
    let (key, value) = licenses.next_back().unwrap();
    (key.value().to_vec(), value.value().to_vec())
}

/// Notes the derived rows of a program that has no facts of licenses.
fn forget_facts(folder: &Path) {
    let note = range_index::names().join(" ");
    let note = stored_value::seal(rows::meta::META_DERIVED, note.as_bytes());
    change(folder, rows::META, |meta| {
        meta.insert(rows::meta::META_DERIVED, &note).unwrap();
    });
}

/// The facts of licenses after an upgrade of a store that `spoil` has changed.
async fn upgraded(spoil: impl FnOnce(&Path, &[u8], &[u8])) -> Vec<Result<ObjectId, StoreError>> {
    let world = with_licenses().await;
    let snapshot = world.store.shared.snapshot().unwrap();
    let (key, value) = last_license(&snapshot.open(rows::RECORDS).unwrap());
    drop(snapshot);
    let world = world.reopened(|folder| {
        forget_facts(folder);
        spoil(folder, &key, &value);
    });
    let snapshot = world.store.shared.snapshot().unwrap();
    let facts = snapshot.open(rows::LICENSE_FACTS).unwrap();
    let all = license_facts::all(&facts, world.actor.tenant.id()).unwrap();
    all.map(|facts| facts.map(|facts| facts.id)).collect()
}

#[tokio::test]
async fn a_license_that_is_corrupted_at_the_upgrade_is_not_left_out_of_reports() {
    let read = upgraded(|folder, key, _| {
        change(folder, rows::RECORDS, |records| {
            records.insert(key, b"corrupted").unwrap();
        });
    })
    .await;
    assert!(matches!(&*read, [Ok(_), Err(StoreError::Corrupted { .. })]), "{read:?}");
    let read = upgraded(|folder, _, value| engagement_log::flip(folder, value)).await;
    assert!(matches!(&*read, [Err(StoreError::Corrupted { .. }), ..]), "{read:?}");
    let read = upgraded(|_, _, _| {}).await;
    assert!(matches!(&*read, [Ok(_), Ok(_)]), "{read:?}");
}
