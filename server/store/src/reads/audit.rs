//! Audit log as lists return it, newest entries first: all of a tenant, or the entries of one record, found by its
//! changes. Entries of several targets are looked for in the whole log.

use std::collections::BTreeSet;

use svctrack_core::{
    audit::{AuditEntry, AuditQuery, AuditTargets, ChangedProperties, RecordChange},
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
    rules::{
        audit::{NO_RECORD, path_of},
        open_tables::RecordTables,
        tenant_view::TenantView,
    },
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
    let records = match &query.targets {
        Some(targets) => named(targets, snapshot, tenant)?,
        None => Vec::new(),
    };
    let mut take = |sequence, entry: &AuditEntry, changes: &dyn Fn() -> FoundChanges| {
        if !query.matches(sequence, entry) {
            return Ok(query.from.is_none_or(|from| entry.at >= from));
        }
        fill.take(entry.id(sequence), || Ok(entry.to_response(sequence, &changes()?)))
    };
    match &query.targets {
        None => log.all(before, |sequence, entry| {
            take(sequence, entry, &|| log.few_changes(sequence, entry))
        })?,
        Some(targets) if targets.only_record().is_some() => {
            for record in records {
                log.of_record(record, before, |sequence, entry, changes| {
                    take(sequence, entry, &|| Ok(changes.to_vec()))
                })?;
            }
        }
        Some(targets) => {
            let changed = log.changes_of(&records, before)?;
            log.all(before, |sequence, entry| {
                let of_entry = changed.range(sequence..sequence + entry.records.total().max(1));
                let is_target = entry.target.as_ref().is_some_and(|target| targets.is(target));
                if !is_target && of_entry.clone().next().is_none() {
                    return Ok(query.from.is_none_or(|from| entry.at >= from));
                }
                take(sequence, entry, &|| log.changes_at(of_entry.clone().copied()))
            })?;
        }
    }
    Ok(fill.finish())
}

type FoundChanges = Result<Vec<RecordChange>, StoreError>;

/// Records that a query names, as far as they exist; an `_id` is that of a deleted record too.
fn named(
    targets: &AuditTargets,
    snapshot: &impl Snapshot,
    tenant: TenantId,
) -> Result<Vec<(&'static ResourceDef, ObjectId)>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let mut records = Vec::new();
    for (def, reference) in &targets.records {
        records.extend(view.named(def, reference)?.map(|id| (*def, id)));
    }
    Ok(records)
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
        mut take: impl FnMut(u64, &AuditEntry) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (first, end) = (keys::change(self.tenant, 1), keys::change(self.tenant, before));
        for row in self.entries.range(first.as_slice()..end.as_slice())?.rev() {
            let (key, value) = row?;
            let sequence = keys::sequence_at_end(key.value()).unwrap_or_default();
            if !take(sequence, &stored_value::unseal_row(key.value(), value.value())?)? {
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
        mut take: impl FnMut(u64, &AuditEntry, &[RecordChange]) -> Result<bool, StoreError>,
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
                && !take(sequence, &entry, &changes)?
            {
                return Ok(());
            }
            let entry = self.entry_of(number)?;
            found = entry.map(|(sequence, entry)| (sequence, entry, change.into_iter().collect()));
        }
        match found {
            Some((sequence, entry, changes)) => take(sequence, &entry, &changes).map(drop),
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

    /// Numbers of the changes of some records before one, and of actions on them that changed nothing.
    fn changes_of(
        &self,
        records: &[(&ResourceDef, ObjectId)],
        before: u64,
    ) -> Result<BTreeSet<u64>, StoreError> {
        let mut numbers = BTreeSet::new();
        for (def, id) in records {
            let key = |sequence| keys::change_of_record(self.tenant, def.code, *id, sequence);
            for row in self.of_records.range(key(0).as_slice()..key(before).as_slice())? {
                numbers.extend(keys::sequence_at_end(row?.0.value()));
            }
        }
        Ok(numbers)
    }

    /// Changes of the records by an entry, where these are few.
    fn few_changes(&self, sequence: u64, entry: &AuditEntry) -> FoundChanges {
        let total = entry.records.total();
        self.changes_at(if total <= MAX_SHOWN { sequence..sequence + total } else { 0..0 })
    }

    /// Changes with these numbers, as far as they are of records.
    fn changes_at(&self, numbers: impl Iterator<Item = u64>) -> FoundChanges {
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

    /// A change of a record; none for an action on a record that changed nothing.
    fn change(
        &self,
        number: u64,
        changed: ChangedProperties,
    ) -> Result<Option<RecordChange>, StoreError> {
        let row = self.row(number)?.filter(|row| row.resource != NO_RECORD);
        Ok(row.map(|row| shown(&row, changed)))
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
