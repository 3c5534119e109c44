//! Upgrades a store of an older version when it is opened: adds missing tables, then missing derived rows. Each step
//! is one transaction, so an interrupted start resumes with the missing ones.

use redb::{Database, ReadableDatabase as _, TableHandle as _};

use crate::{
    StoreError,
    embedded::{
        file::transaction::begin,
        tables::redb_table::{self, ReadTable, WriteTable},
    },
    rows::{ALL, INDEX, LICENSE_FACTS, META, RECORDS, Rows as _, TENANTS, keys},
    rules::derived_rows,
};

/// Adds what a store of an older version lacks.
pub(crate) fn upgrade(database: &Database) -> Result<(), StoreError> {
    create_missing_tables(database)?;
    derive_missing_rows(database)
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

/// Adds derived rows where the store was last written by a program that lacks some of them.
fn derive_missing_rows(database: &Database) -> Result<(), StoreError> {
    if derived_rows::are_noted(&ReadTable::open(&database.begin_read()?, META)?)? {
        return Ok(());
    }
    let transaction = begin(database)?;
    {
        let records = WriteTable::open(&transaction, RECORDS)?;
        let mut index = WriteTable::open(&transaction, INDEX)?;
        let mut facts = WriteTable::open(&transaction, LICENSE_FACTS)?;
        for tenant in WriteTable::open(&transaction, TENANTS)?.iter()? {
            let Some(tenant) = keys::tenant_of(tenant?.0.value()) else { continue };
            derived_rows::derive(tenant, &records, (&mut index, &mut facts))?;
        }
        derived_rows::note(&mut WriteTable::open(&transaction, META)?)?;
    }
    transaction.commit()?;
    tracing::info!("index and license facts upgraded");
    Ok(())
}
