//! Audit log as lists return it, newest entries first: all of a tenant, or the entries that changed one record, found
//! by its changes.

use svctrack_core::{
    audit::{AuditEntry, AuditQuery, ChangedProperties, RecordChange},
    schema::ResourceDef,
    value::{ObjectId, TenantId},
};

use super::logs::PageFill;
use crate::{
    Page, PageOptions, StoreError,
    rows::{
        AUDIT, AUDIT_RECORDS, Bytes as _, CHANGES, Rows, Snapshot, get_row, keys,
        stored_value::{self, ChangeKind, ChangeRow},
    },
    rules::{audit::path_of, open_tables::RecordTables, tenant_view::TenantView},
};

/// Maximum number of changed records of an entry whose changes are shown in a list without a record: a bulk call has
/// many.
const MAX_SHOWN: u64 = 10;

/// The tables of the log.
struct AuditLog<S: Snapshot> {
    tenant: TenantId,
    entries: S::Table,
    of_records: S::Table,
    changes: S::Table,
}

/// A page of the log.
pub(crate) fn list(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &AuditQuery,
    page_options: &PageOptions,
) -> Result<Page, StoreError> {
    let log = AuditLog::open(snapshot, tenant)?;
    let mut fill = PageFill::new(&query.page, page_options);
    // The first number that the log does not have any more before the page.
    let before = match query.page.after.filter(|_| !query.page.count) {
        Some(after) => AuditEntry::sequence_in(after),
        None => u64::MAX,
    };
    match &query.record {
        None => log.all(before, |sequence, entry| {
            if !query.matches(sequence, &entry) {
                return Ok(query.from.is_none_or(|from| entry.at >= from));
            }
            fill.take(entry.id(sequence), || {
                Ok(entry.to_response(sequence, &log.few_changes(sequence, &entry)?))
            })
        })?,
        Some((def, reference)) => {
            let tables = RecordTables::open(snapshot)?;
            let Some(id) = TenantView::of_snapshot(tenant, &tables).named(def, reference)? else {
                return Ok(fill.finish());
            };
            log.of_record((def, id), before, |sequence, entry, changes| {
                if !query.matches(sequence, &entry) {
                    return Ok(query.from.is_none_or(|from| entry.at >= from));
                }
                fill.take(entry.id(sequence), || Ok(entry.to_response(sequence, &changes)))
            })?;
        }
    }
    Ok(fill.finish())
}

impl<S: Snapshot> AuditLog<S> {
    fn open(snapshot: &S, tenant: TenantId) -> Result<Self, StoreError> {
        Ok(Self {
            tenant,
            entries: snapshot.open(AUDIT)?,
            of_records: snapshot.open(AUDIT_RECORDS)?,
            changes: snapshot.open(CHANGES)?,
        })
    }

    /// Passes the entries before a number to `take`, newest first, until it wants no more.
    fn all(
        &self,
        before: u64,
        mut take: impl FnMut(u64, AuditEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (first, end) = (keys::change(self.tenant, 1), keys::change(self.tenant, before));
        for row in self.entries.range(first.as_slice()..end.as_slice())?.rev() {
            let (key, value) = row?;
            let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
            if !take(sequence, stored_value::unseal_row(key.value(), value.value())?)? {
                break;
            }
        }
        Ok(())
    }

    /// Passes the entries that have changed a record to `take`, newest first, each with its changes of that record.
    fn of_record(
        &self,
        (def, id): (&ResourceDef, ObjectId),
        before: u64,
        mut take: impl FnMut(u64, AuditEntry, Vec<RecordChange>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let key = |sequence| keys::change_of_record(self.tenant, def.code, id, sequence);
        let (first, end) = (key(0), key(before));
        let mut found: Option<(u64, AuditEntry, Vec<RecordChange>)> = None;
        for row in self.of_records.range(first.as_slice()..end.as_slice())?.rev() {
            let (key, value) = row?;
            let number = keys::sequence_at_end(key.value()).unwrap_or_default();
            let change =
                self.change(number, stored_value::unseal_row(key.value(), value.value())?)?;
            if let Some((sequence, _, changes)) = &mut found
                && *sequence <= number
            {
                changes.extend(change);
                continue;
            }
            if let Some((sequence, entry, changes)) = found.take()
                && !take(sequence, entry, changes)?
            {
                return Ok(());
            }
            let entry = self.entry_of(number)?;
            found = entry.map(|(sequence, entry)| (sequence, entry, change.into_iter().collect()));
        }
        match found {
            Some((sequence, entry, changes)) => take(sequence, entry, changes).map(drop),
            None => Ok(()),
        }
    }

    /// The entry that a change is of.
    fn entry_of(&self, number: u64) -> Result<Option<(u64, AuditEntry)>, StoreError> {
        let (first, last) = (keys::change(self.tenant, 1), keys::change(self.tenant, number));
        let row = self.entries.range(first.as_slice()..=last.as_slice())?.next_back();
        let Some((key, value)) = row.transpose()? else { return Ok(None) };
        let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
        Ok(Some((sequence, stored_value::unseal_row(key.value(), value.value())?)))
    }

    /// Changes of the records by an entry, where these are few.
    fn few_changes(
        &self,
        sequence: u64,
        entry: &AuditEntry,
    ) -> Result<Vec<RecordChange>, StoreError> {
        let total = entry.records.total();
        let numbers = if total <= MAX_SHOWN { sequence..sequence + total } else { 0..0 };
        let mut changes = Vec::new();
        for number in numbers {
            let Some(row) = self.row(number)? else { continue };
            let key = keys::change_of_record(self.tenant, row.resource, row.id, number);
            if let Some(changed) = get_row(&self.of_records, &key)? {
                changes.push(shown(&row, changed));
            }
        }
        Ok(changes)
    }

    fn change(
        &self,
        number: u64,
        changed: ChangedProperties,
    ) -> Result<Option<RecordChange>, StoreError> {
        Ok(self.row(number)?.map(|row| shown(&row, changed)))
    }

    fn row(&self, number: u64) -> Result<Option<ChangeRow>, StoreError> {
        get_row(&self.changes, &keys::change(self.tenant, number))
    }
}

fn shown(row: &ChangeRow, changed: ChangedProperties) -> RecordChange {
    let change = match row.kind {
        ChangeKind::Created => "created",
        ChangeKind::Updated => "updated",
        ChangeKind::Deleted => "deleted",
    };
    let resource = path_of(row.resource).into_owned();
    RecordChange { resource, id: row.id.to_string(), change, changed }
}
