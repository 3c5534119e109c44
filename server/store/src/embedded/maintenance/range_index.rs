//! A store that was last written before a row was ordered has no entries of it in the index: they are added when it is
//! opened, in one transaction.

use redb::{Database, ReadableDatabase as _};

use crate::{
    StoreError,
    embedded::{
        file::transaction::begin,
        tables::redb_table::{ReadTable, WriteTable},
    },
    rows::{INDEX, META, RECORDS, Rows as _, TENANTS, keys},
    rules::range_index,
};

/// Adds the entries that a store lacks.
pub(crate) fn add_missing(database: &Database) -> Result<(), StoreError> {
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
