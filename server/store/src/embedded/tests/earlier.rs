//! Stores that were last written by a program which had fewer tables, and rows in no order yet.

use svctrack_core::resources::license::{self, LICENSE};

use super::*;

/// Removes rows from a store that an earlier program would not have written.
fn age(folder: &Path) {
    let store_file = DiskFile::at(&folder.join(FILE_NAME));
    let database = open::open(&store_file, CACHE_BYTES).unwrap();
    let transaction = begin(&database).unwrap();
    assert!(transaction.delete_table(definition(rows::SUPPRESSED)).unwrap());
    {
        let mut meta = WriteTable::open(&transaction, rows::META).unwrap();
        meta.remove(rows::meta::META_ORDERED).unwrap();
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
async fn tables_and_entries_of_the_index_that_a_store_lacks_are_added_when_it_is_opened() {
    let world = World::new().await;
    world.add_company("acme").await;
    for number in ["1", "2"] {
        let license = format!(
            r#"{{"companyId":"extid-acme","externalId":"{number}","fromDate":"2026-01-01","toDate":"2027-01-01","fixedPeriod":true,"value":1}}"#
        );
        let body = CheckedBody::trusted(Document::parse(license.as_bytes()).unwrap());
        world.write(Command::Create { def: &LICENSE, body }).await;
    }
    let entries = world.rows(rows::INDEX);
    let world = world.reopened(|folder| {
        age(folder);
        assert!(verify(folder, CACHE_BYTES).unwrap().is_sound());
    });
    assert_eq!(world.rows(rows::INDEX), entries);
    assert_eq!(world.rows(rows::SUPPRESSED), 0);
    let world = world.reopened(|folder| assert!(verify(folder, CACHE_BYTES).unwrap().is_sound()));
    assert_eq!(world.rows(rows::INDEX), entries);
}
