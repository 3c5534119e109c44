//! Report of possible integration issues (R42): one row a cause, into which repeated findings are folded.

use sha2::{Digest as _, Sha256};
use svctrack_core::{
    plan::{Finding, KnownPerson, MAX_REPORTED, REPORTED_DAYS, Route},
    tracking::{
        integration_issues::{AUTO_RENEWAL_FAILED, ReportEntry},
        unknown_members::{self, MAX_NAMES, MEMBER_UNKNOWN},
    },
    value::{ObjectId, TenantId, Timestamp, time::DAY_MS},
};

use super::{
    counters::Counter,
    open_tables::{Tables, Transaction},
    pending::Pending,
};
use crate::{
    StoreError,
    rows::{Bytes as _, Rows as _, WriteRows as _, get_row, keys, put_row, stored_value},
};

/// Folds a finding into the entry of its cause, or adds one, which replaces the oldest.
pub(crate) fn fold(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    finding: &Finding,
    next_id: impl FnOnce() -> Result<ObjectId, StoreError>,
) -> Result<(), StoreError> {
    let cause = cause_key(tenant, finding.route, finding.code, &finding.cause);
    let people = finding.people.iter().map(|key| hash_of_person(key)).collect();
    if let Some(mut entry) = known(tables, tenant, &cause)? {
        entry.fold(finding, people);
        return put(tables, tenant, &entry);
    }
    if finding.code == MEMBER_UNKNOWN && !finding.cause.is_empty() {
        if pending.count(tables, tenant, Counter::UnknownMembers)? >= MAX_NAMES as u64 {
            let many = unknown_members::many(finding.route, finding.count, finding.at);
            return fold(tables, pending, tenant, &many, next_id);
        }
        pending.add(tables, tenant, Counter::UnknownMembers, 1)?;
    }
    let entry = ReportEntry::from_finding(finding, next_id()?, people);
    let id = stored_value::seal(&cause, entry.id.as_bytes());
    tables.report_causes.insert(cause.as_slice(), id.as_slice())?;
    put(tables, tenant, &entry)?;
    if pending.add(tables, tenant, Counter::Reported, 1)? > MAX_REPORTED
        && let Some(oldest) = oldest(tables, tenant)?
    {
        remove(tables, pending, tenant, oldest)?;
    }
    Ok(())
}

/// Removes the entry of a license that could not be renewed automatically: that is settled.
pub(crate) fn settle_renewal(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    license: ObjectId,
) -> Result<(), StoreError> {
    let cause = cause_key(tenant, Route::Renewals, AUTO_RENEWAL_FAILED, &license.to_string());
    if let Some(entry) = known(tables, tenant, &cause)? {
        remove(tables, pending, tenant, entry.id)?;
    }
    Ok(())
}

/// The entry of a cause.
fn known(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    cause: &[u8],
) -> Result<Option<ReportEntry>, StoreError> {
    let Some(id) = tables.report_causes.get(cause)? else { return Ok(None) };
    let id = stored_value::unseal_exact(cause, id.value())?;
    load(tables, tenant, ObjectId::from_bytes(id))
}

/// Key of a cause: a hash, since a cause can be long.
fn cause_key(tenant: TenantId, route: Route, code: &str, cause: &str) -> Vec<u8> {
    let digest = Sha256::digest(format!("{}\0{code}\0{cause}", route.name()));
    keys::cause(tenant, digest.first_chunk().unwrap_or(&[0; keys::CAUSE_BYTES]))
}

/// Hash of a person's key: enough to find them, not to identify them.
fn hash_of_person(key: &str) -> u64 {
    let digest = Sha256::digest(key);
    digest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)).unwrap_or_default()
}

fn put(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    entry: &ReportEntry,
) -> Result<(), StoreError> {
    put_row(&mut tables.report, &keys::log(tenant, entry.id), entry)
}

/// Entry with this id.
pub(crate) fn load(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<ReportEntry>, StoreError> {
    get_row(&tables.report, &keys::log(tenant, id))
}

/// Removes an entry; returns whether it existed.
pub(crate) fn remove(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    id: ObjectId,
) -> Result<bool, StoreError> {
    let Some(entry) = load(tables, tenant, id)? else {
        return Ok(false);
    };
    let cause = cause_key(tenant, entry.route, &entry.code, &entry.cause);
    tables.report_causes.remove(cause.as_slice())?;
    tables.report.remove(keys::log(tenant, id).as_slice())?;
    pending.add(tables, tenant, Counter::Reported, -1)?;
    if entry.code == MEMBER_UNKNOWN && !entry.cause.is_empty() {
        pending.add(tables, tenant, Counter::UnknownMembers, -1)?;
    }
    Ok(true)
}

fn oldest(
    tables: &Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<Option<ObjectId>, StoreError> {
    let (first, last) = keys::log_range(tenant);
    let oldest = tables.report.range(first.as_slice()..=last.as_slice())?.next().transpose()?;
    Ok(oldest.and_then(|(key, _)| keys::id_at_end(key.value())))
}

/// Removes entries that were last seen too long ago.
pub(crate) fn sweep(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    settled: Timestamp,
) -> Result<(), StoreError> {
    let (first, last) = keys::log_range(tenant);
    let mut old = Vec::new();
    for row in tables.report.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = row?;
        let entry: ReportEntry = stored_value::unseal_row(key.value(), value.value())?;
        if settled.as_ms() - entry.at.as_ms() > REPORTED_DAYS * DAY_MS {
            old.push(entry.id);
        }
    }
    for id in old {
        remove(tables, pending, tenant, id)?;
    }
    Ok(())
}

/// Removes the entries that name a person; a report is small enough to be scanned at once.
pub(crate) fn erase(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    person: &KnownPerson,
) -> Result<(), StoreError> {
    let (first, last) = keys::log_range(tenant);
    let mut theirs = Vec::new();
    for row in tables.report.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = row?;
        let entry: ReportEntry = stored_value::unseal_row(key.value(), value.value())?;
        theirs.extend(names(&entry, person).then_some(entry.id));
    }
    for id in theirs {
        remove(tables, pending, tenant, id)?;
    }
    Ok(())
}

pub(crate) fn names(entry: &ReportEntry, person: &KnownPerson) -> bool {
    person.keys.iter().any(|(_, key)| entry.people.contains(&hash_of_person(key)))
}
