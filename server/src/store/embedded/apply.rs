//! Carries out what was planned, in the writer's transaction: records, their index entries, the logs,
//! and a row of the change log for every record that changes.

use std::collections::BTreeMap;

use redb::ReadableTable;
use svctrack_core::{
    plan::{Appended, Basis, Change, version_of},
    schema::{Entry, ResourceDef},
    value::{ObjectId, TenantId},
};

use super::{
    codec::{self, ChangeKind, ChangeRow},
    keys,
    tables::WriteTables,
};
use crate::store::{Actor, StoreError};

/// The next number of each tenant's change log, found once a transaction.
pub(super) type Sequences = BTreeMap<TenantId, u64>;

/// Carries out the changes of one command.
pub(super) fn apply(
    tables: &mut WriteTables<'_>,
    sequences: &mut Sequences,
    actor: &Actor,
    changes: &[Change],
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    for change in changes {
        match change {
            Change::Put {
                def,
                id,
                basis,
                document,
                added,
                removed,
            } => {
                remove_entries(tables, tenant, def, *id, removed)?;
                add_entries(tables, tenant, def, *id, added)?;
                let key = keys::record(tenant, def.code, *id);
                let value = codec::seal(&key, document.to_text().as_bytes());
                tables.records.insert(key.as_slice(), value.as_slice())?;
                let kind = match basis {
                    Basis::Absent => ChangeKind::Created,
                    Basis::Version(_) => ChangeKind::Updated,
                };
                log_change(
                    tables,
                    sequences,
                    actor,
                    def,
                    *id,
                    kind,
                    version_of(document),
                )?;
            }
            Change::Delete {
                def,
                id,
                basis,
                removed,
            } => {
                remove_entries(tables, tenant, def, *id, removed)?;
                tables
                    .records
                    .remove(keys::record(tenant, def.code, *id).as_slice())?;
                let version = match basis {
                    Basis::Absent => 0,
                    Basis::Version(version) => *version,
                };
                log_change(
                    tables,
                    sequences,
                    actor,
                    def,
                    *id,
                    ChangeKind::Deleted,
                    version,
                )?;
            }
            Change::Append(appended) => append(tables, tenant, appended)?,
        }
    }
    Ok(())
}

fn append(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    row: &Appended,
) -> Result<(), StoreError> {
    match row {
        Appended::Activity(activity) => {
            let key = keys::log(tenant, activity.id);
            let value = codec::seal_row(&key, activity)?;
            tables.activities.insert(key.as_slice(), value.as_slice())?;
        }
        Appended::Parked(event) => {
            let key = keys::log(tenant, event.id);
            let value = codec::seal_row(&key, event)?;
            tables.parked.insert(key.as_slice(), value.as_slice())?;
        }
    }
    Ok(())
}

fn add_entries(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    def: &ResourceDef,
    id: ObjectId,
    entries: &[Entry],
) -> Result<(), StoreError> {
    for entry in entries {
        if entry.unique {
            let key = keys::unique(tenant, def.code, entry.row, &entry.key);
            tables
                .unique
                .insert(key.as_slice(), id.as_bytes().as_slice())?;
        } else {
            let key = keys::index(tenant, def.code, entry.row, &entry.key, id);
            tables.index.insert(key.as_slice(), [].as_slice())?;
        }
    }
    Ok(())
}

fn remove_entries(
    tables: &mut WriteTables<'_>,
    tenant: TenantId,
    def: &ResourceDef,
    id: ObjectId,
    entries: &[Entry],
) -> Result<(), StoreError> {
    for entry in entries {
        if entry.unique {
            let key = keys::unique(tenant, def.code, entry.row, &entry.key);
            tables.unique.remove(key.as_slice())?;
        } else {
            let key = keys::index(tenant, def.code, entry.row, &entry.key, id);
            tables.index.remove(key.as_slice())?;
        }
    }
    Ok(())
}

fn log_change(
    tables: &mut WriteTables<'_>,
    sequences: &mut Sequences,
    actor: &Actor,
    def: &ResourceDef,
    id: ObjectId,
    kind: ChangeKind,
    version: i64,
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    let sequence = match sequences.get(&tenant) {
        Some(sequence) => *sequence,
        None => first_free(tables, tenant)?,
    };
    let row = ChangeRow {
        resource: def.code,
        id,
        kind,
        version,
        token: actor.token.clone(),
    };
    let key = keys::change(tenant, sequence);
    let value = codec::seal_row(&key, &row)?;
    tables.changes.insert(key.as_slice(), value.as_slice())?;
    sequences.insert(tenant, sequence + 1);
    Ok(())
}

fn first_free(tables: &WriteTables<'_>, tenant: TenantId) -> Result<u64, StoreError> {
    let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
    let latest = tables
        .changes
        .range(first.as_slice()..=last.as_slice())?
        .next_back();
    Ok(match latest {
        Some(row) => keys::sequence_at_end(row?.0.value()).map_or(1, |sequence| sequence + 1),
        None => 1,
    })
}
