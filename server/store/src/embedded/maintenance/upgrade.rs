//! Upgrades a store of an older version when it is opened: adds missing tables, then missing index entries. Each step
//! is one transaction, so an interrupted start resumes with the missing ones.

use redb::{Database, ReadableDatabase as _, TableHandle as _};

use crate::{
    StoreError,
    embedded::{
        file::transaction::begin,
        tables::redb_table::{self, ReadTable, WriteTable},
    },
    rows::{ALL, INDEX, META, RECORDS, Rows as _, TENANTS, keys},
    rules::range_index,
};

/// Adds what a store of an older version lacks.
pub(crate) fn upgrade(database: &Database) -> Result<(), StoreError> {
    create_missing_tables(database)?;
    add_missing_entries(database)
}

fn create_missing_tables(database: &Database) -> Result<(), StoreError> {
    let snapshot = database.begin_read()?;
    let known: Vec<_> = snapshot.list_tables()?.map(|table| table.name().to_owned()).collect();
    if ALL.iter().all(|table| known.iter().any(|name| name == table.name())) {
        return Ok(());
    }
    let transaction = begin(database)?;
    redb_table::create_missing(&transaction)?;
    Ok(transaction.commit()?)
}

/// Adds the entries of the index that a store lacks, which was last written before a row was ordered.
fn add_missing_entries(database: &Database) -> Result<(), StoreError> {
    if range_index::are_noted(&ReadTable::open(&database.begin_read()?, META)?)? {
        return Ok(());
    }
    let transaction = begin(database)?;
    {
        let records = WriteTable::open(&transaction, RECORDS)?;
        let mut entries = WriteTable::open(&transaction, INDEX)?;
        for tenant in WriteTable::open(&transaction, TENANTS)?.iter()? {
            let Some(tenant) = keys::tenant_of(tenant?.0.value()) else { continue };
            for def in range_index::ordered() {
                range_index::add_of(tenant, def, &records, &mut entries)?;
            }
        }
        range_index::note(&mut WriteTable::open(&transaction, META)?)?;
    }
    transaction.commit()?;
    tracing::info!("index upgraded");
    Ok(())
}
