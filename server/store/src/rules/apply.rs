//! Applies planned changes in the writer's transaction: records, their index entries, the logs, and a row of the change
//! log for every record that changes.

use svctrack_core::{
    audit::ChangedProperties,
    plan::{AppendedRow, Change, awaits_auto_renewal, version_of},
    resources::{end_user::END_USER, license::LICENSE, settings::SETTINGS},
    schema::{IndexEntry, ResourceDef},
    tracking::{intake::wait_for_creation, integration_issues},
    value::{Document, ObjectId, TenantId, Timestamp},
};

use super::{
    activity_history, audit, engagement, integration_issues as issues_report, license_facts,
    message_ids, new_user_count,
    open_tables::{Tables, Transaction},
    parked,
    pending::Pending,
    revenue_versions,
};
use crate::{
    Actor, StoreError,
    rows::{
        AppendRows as _, WriteRows as _, keys,
        revenue_version::{ReplacedValue, VersionRow},
        stored_value::{self, ChangeKind, ChangeRow},
    },
};

/// Applies the changes of one command.
pub(crate) fn apply(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    now: Timestamp,
    changes: &[Change],
) -> Result<(), StoreError> {
    let tenant = actor.tenant.id();
    let mut applier = Applier { tables, pending, actor, tenant, now };
    for change in changes {
        match change {
            Change::Put { def, id, before, document, added, removed } => {
                applier.entries(def, *id, removed, added)?;
                applier.put(def, *id, before.as_ref(), document)?;
            }
            Change::Delete { def, id, before, removed } => {
                applier.entries(def, *id, removed, &[])?;
                applier.delete(def, *id, before)?;
            }
            Change::Append(appended) => applier.append(appended)?,
        }
    }
    Ok(())
}

struct Applier<'a, T: Transaction> {
    tables: &'a mut Tables<T>,
    pending: &'a mut Pending,
    actor: &'a Actor,
    tenant: TenantId,
    now: Timestamp,
}

impl<T: Transaction> Applier<'_, T> {
    fn put(
        &mut self,
        def: &ResourceDef,
        id: ObjectId,
        before: Option<&Document>,
        document: &Document,
    ) -> Result<(), StoreError> {
        let kind = match before {
            None => ChangeKind::Created,
            Some(_) => ChangeKind::Updated,
        };
        let what = LoggedChange { resource: def.code, id, kind, version: version_of(document) };
        self.log_change(what, def, (before, Some(document)))?;
        let key = keys::record(self.tenant, def.code, id);
        let value = stored_value::seal_record(&key, document);
        match before {
            None => self.tables.records.add(key, value)?,
            Some(_) => self.tables.records.put(&key, value)?,
        }
        self.tables.known.forget_record(self.tenant, def, id);
        self.settle_renewal(def, id, before, Some(document))?;
        if *def == SETTINGS {
            self.pending.traces.remove(&self.tenant);
        }
        if let Some(finding) = integration_issues::ticket_without_company(def, document, self.now) {
            self.pending.find(self.tenant, finding);
        }
        Ok(())
    }

    fn delete(
        &mut self,
        def: &ResourceDef,
        id: ObjectId,
        before: &Document,
    ) -> Result<(), StoreError> {
        let version = version_of(before);
        let what = LoggedChange { resource: def.code, id, kind: ChangeKind::Deleted, version };
        self.log_change(what, def, (Some(before), None))?;
        self.tables.records.remove(&keys::record(self.tenant, def.code, id))?;
        self.tables.known.forget_record(self.tenant, def, id);
        self.settle_renewal(def, id, Some(before), None)
    }

    /// Takes a license out of the report of issues once it is not to be renewed automatically any more.
    fn settle_renewal(
        &mut self,
        def: &ResourceDef,
        id: ObjectId,
        before: Option<&Document>,
        after: Option<&Document>,
    ) -> Result<(), StoreError> {
        let is_settled = *def == LICENSE
            && before.is_some_and(awaits_auto_renewal)
            && !after.is_some_and(awaits_auto_renewal);
        if is_settled {
            issues_report::settle_renewal(self.tables, self.pending, self.tenant, id)?;
        }
        Ok(())
    }

    /// Removes index entries and adds others.
    fn entries(
        &mut self,
        def: &ResourceDef,
        id: ObjectId,
        removed: &[IndexEntry],
        added: &[IndexEntry],
    ) -> Result<(), StoreError> {
        for entry in removed {
            if entry.unique {
                let key = self.unique_key(def, entry);
                self.tables.unique.remove(key.as_slice())?;
                self.tables.known.forget_holder(&key);
            } else {
                self.tables.index.remove(self.index_key(def, entry, id).as_slice())?;
            }
        }
        for entry in added {
            if entry.unique {
                let key = self.unique_key(def, entry);
                let holder = stored_value::seal(&key, id.as_bytes());
                self.tables.unique.insert(key.as_slice(), holder.as_slice())?;
                self.tables.known.forget_holder(&key);
            } else {
                let key = self.index_key(def, entry, id);
                self.tables.index.insert(key.as_slice(), [].as_slice())?;
            }
        }
        if *def == SETTINGS {
            parked::mark(self.tables, self.pending, self.actor, &wait_for_creation())?;
        }
        if *def == END_USER {
            engagement::follow(self.tables, self.pending, self.tenant, id, removed, added)?;
        }
        parked::wake(self.tables, self.pending, self.actor, def, added)?;
        parked::wake(self.tables, self.pending, self.actor, def, removed)
    }

    fn unique_key(&self, def: &ResourceDef, entry: &IndexEntry) -> Vec<u8> {
        keys::unique(self.tenant, def.code, entry.row, &entry.key)
    }

    fn index_key(&self, def: &ResourceDef, entry: &IndexEntry, id: ObjectId) -> Vec<u8> {
        keys::index(self.tenant, def.code, entry.row, &entry.key, id)
    }

    fn append(&mut self, appended: &AppendedRow) -> Result<(), StoreError> {
        let (tables, tenant) = (&mut *self.tables, self.tenant);
        match appended {
            AppendedRow::Activity(activity) => {
                activity_history::append(tables, self.pending, tenant, activity)
            }
            AppendedRow::Parked(event) => parked::park(tables, self.pending, tenant, event),
            AppendedRow::Engaged(engaged) => engagement::add(tables, tenant, engaged),
            AppendedRow::Finding(finding) => {
                self.pending.find(tenant, (**finding).clone());
                Ok(())
            }
            AppendedRow::Message(id, received_at, route) => {
                message_ids::remember(tables, self.pending, tenant, id, *received_at, *route)
            }
            AppendedRow::NewEndUser(at) => new_user_count::add(tables, tenant, *at),
        }
    }

    /// Logs a change of a record, with the parts of its earlier state that reports and the audit log store.
    fn log_change(
        &mut self,
        what: LoggedChange,
        def: &ResourceDef,
        (before, after): (Option<&Document>, Option<&Document>),
    ) -> Result<(), StoreError> {
        let Self { tables, pending, actor, tenant, now } = self;
        let replaced = if *def == LICENSE {
            license_facts::follow(&mut tables.license_facts, *tenant, what.id, (before, after))?
        } else if *def == SETTINGS {
            revenue_versions::replaced_settings(before, after)
        } else {
            None
        };
        let changed = audit::compared(tables, pending, *tenant, before, after)?;
        log_change(tables, pending, actor, *now, what, replaced, changed).map(drop)
    }
}

/// Change of a record, for the change log.
pub(crate) struct LoggedChange {
    pub(crate) resource: u8,
    pub(crate) id: ObjectId,
    pub(crate) kind: ChangeKind,
    pub(crate) version: i64,
}

/// Adds a row to the change log. Stores the replaced values that reports read, and, where the command is audited, the
/// changed properties; returns the number of the row.
pub(crate) fn log_change(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    actor: &Actor,
    now: Timestamp,
    what: LoggedChange,
    replaced: Option<ReplacedValue>,
    changed: ChangedProperties,
) -> Result<u64, StoreError> {
    let LoggedChange { resource, id, kind, version } = what;
    let tenant = actor.tenant.id();
    let (sequence, latest) = match pending.sequences.get(&tenant) {
        Some(next) => *next,
        None => end_of_log(tables, tenant)?,
    };
    let at = latest.max(now);
    let row = ChangeRow { resource, id, kind, version, at, token: actor.token.clone() };
    let key = keys::change(tenant, sequence);
    let value = stored_value::seal_row(&key, &row)?;
    if let Some(replaced) = replaced {
        let version = stored_value::seal_row(&key, &VersionRow { at, replaced })?;
        tables.revenue_versions.add(key.clone(), version)?;
    }
    tables.changes.add(key, value)?;
    pending.sequences.insert(tenant, (sequence + 1, at));
    audit::note(tables, pending, tenant, (sequence, &what), changed)?;
    Ok(sequence)
}

/// Next number of the change log, and the time of its latest row.
fn end_of_log(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<(u64, Timestamp), StoreError> {
    let (first, end) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
    let latest = tables.changes.last(&first, &end, |key, row| {
        let row: ChangeRow = stored_value::unseal_row(key, row)?;
        Ok((keys::sequence_at_end(key).unwrap_or(0) + 1, row.at))
    })?;
    latest.unwrap_or(Ok((1, Timestamp::MIN)))
}
