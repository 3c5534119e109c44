//! Upgrades a store of an older version when it is opened: adds missing tables, then missing derived rows. Each step
//! is one transaction, so an interrupted start resumes with the missing ones.

use redb::{Database, ReadableDatabase as _, TableHandle as _};

use svctrack_core::value::{ObjectId, TenantId};

use crate::{
    StoreError,
    embedded::{
        file::{corruption, transaction::begin},
        tables::redb_table::{self, ReadTable, WriteTable},
    },
    rows::{ALL, INDEX, LICENSE_FACTS, META, RECORDS, Rows as _, TENANTS, WriteRows as _, keys},
    rules::{
        derived_rows::{self, MissingRows},
        license_facts, range_index,
    },
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
    let missing = MissingRows::of(&ReadTable::open(&database.begin_read()?, META)?)?;
    if !missing.index && !missing.facts {
        return Ok(());
    }
    let transaction = begin(database)?;
    {
        let records = WriteTable::open(&transaction, RECORDS)?;
        let mut index = WriteTable::open(&transaction, INDEX)?;
        let mut facts = WriteTable::open(&transaction, LICENSE_FACTS)?;
        if missing.facts {
            // A program without facts may have deleted licenses, and tenants.
            facts.remove_range(..)?;
        }
        for tenant in WriteTable::open(&transaction, TENANTS)?.iter()? {
            let Some(tenant) = keys::tenant_of(tenant?.0.value()) else { continue };
            if missing.index {
                for def in range_index::ordered() {
                    range_index::add_of(tenant, def, &records, &mut index)?;
                }
            }
            if missing.facts {
                derive_facts(tenant, &records, &mut facts)?;
            }
        }
        derived_rows::note(&mut WriteTable::open(&transaction, META)?)?;
    }
    transaction.commit()?;
    tracing::info!(index = missing.index, license_facts = missing.facts, "store upgraded");
    Ok(())
}

/// Derives the facts of a tenant's licenses. Where a part of the file with its licenses is corrupted, its reports fail,
/// and all else works.
fn derive_facts(
    tenant: TenantId,
    records: &WriteTable<'_>,
    facts: &mut WriteTable<'_>,
) -> Result<(), StoreError> {
    match corruption::contained(|| license_facts::derive(tenant, records, facts)) {
        Err(StoreError::Corrupted { .. }) => {
            license_facts::mark_unreadable(tenant, ObjectId::MIN, facts)
        }
        derived => derived,
    }
}
