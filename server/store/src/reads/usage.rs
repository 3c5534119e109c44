//! Reports of usage: from tallied activities, and from the activities after these.

use std::{collections::HashMap, ops::Bound};

use svctrack_core::{
    resources::{
        company::COMPANY,
        end_user::{self, END_USER},
        settings,
    },
    revenue::{Report, ReportError, UsageDays},
    schema::Lookup as _,
    usage::{MalformedBlock, UsageCounting, UsageCounts},
    value::{ObjectId, TenantId, Timestamp},
};

use crate::{
    ReportJob, StoreError, WrittenReport,
    parallel::run_both,
    rows::{ACTIVITIES, Bytes as _, INDEX, Rows as _, Snapshot, USAGE, keys, stored_value},
    rules::{
        activity_history,
        open_tables::RecordTables,
        tenant_view::TenantView,
        usage::{self, LIMITS, TallyHead},
    },
};

/// Maximum number of activities that a report reads of the log, in some 20 ms: as many runs of them as a tenant with
/// many events has while one of its commits is running.
const MAX_READ: usize = 4 * LIMITS.activities;

/// Computes a report of usage; returns also the time until which it stays the same.
pub(crate) fn usage(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    job: &ReportJob,
    now: Timestamp,
) -> Result<(WrittenReport, Timestamp), StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let zone = settings::time_zone(&settings::of_tenant(&view)?);
    let company = match job.query.company() {
        Some(reference) => {
            let not_found = || ReportError::CompanyNotFound(reference.clone());
            Some(view.locate(&COMPANY, reference)?.ok_or_else(not_found)?)
        }
        None => None,
    };
    let options = job.query.options(now, zone, None, company)?;
    let plan = UsageDays::from_query(&job.query, &options)?;
    let companies = companies_of_users(snapshot, tenant, company)?;
    let counts = count(snapshot, tenant, plan.counting(), &|user| {
        company.is_none() || companies.contains_key(&user)
    })?;
    let company_of = |user| companies.get(&user).copied();
    let report = match plan.explanation(&counts, &company_of) {
        Some(explanation) => Report::UsageExplanation(explanation.into()),
        None => Report::Usage(plan.report(&counts, &company_of).into()),
    };
    let text = (job.write)(&report, &job.query)?;
    Ok((WrittenReport::new(text, 0), plan.until()))
}

/// Company of each user who has one; only of one company, where one is named.
pub(super) fn companies_of_users(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    only: Option<ObjectId>,
) -> Result<HashMap<ObjectId, ObjectId>, StoreError> {
    let bound = |company: ObjectId, user| {
        keys::index(tenant, END_USER.code, end_user::COMPANY_ID.name, &company.to_string(), user)
    };
    let first = bound(only.unwrap_or(ObjectId::MIN), ObjectId::MIN);
    let last = bound(only.unwrap_or(ObjectId::MAX), ObjectId::MAX);
    let mut companies = HashMap::new();
    for row in snapshot.open(INDEX)?.range(first.as_slice()..=last.as_slice())? {
        let (key, _) = row?;
        companies.extend(keys::user_of_company(key.value()));
    }
    Ok(companies)
}

fn count(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    counting: UsageCounting,
    is_included: &(dyn Fn(ObjectId) -> bool + Sync),
) -> Result<UsageCounts, StoreError> {
    let head = usage::head(&snapshot.open(USAGE)?, tenant)?;
    let mut counting = count_blocks(snapshot, tenant, counting, is_included)?;
    let (after, last) = (keys::log(tenant, head.to), keys::log(tenant, ObjectId::MAX));
    let ends = (Bound::Excluded(after.as_slice()), Bound::Included(last.as_slice()));
    for (number, row) in snapshot.open(ACTIVITIES)?.range(ends)?.enumerate() {
        if number == MAX_READ {
            return Err(counting_in_progress(snapshot, tenant, head)?);
        }
        let (key, value) = row?;
        activity_history::counted(key.value(), value.value(), |counted| {
            if is_included(counted.user) {
                counting.add(&counted);
            }
        })?;
    }
    Ok(counting.finish())
}

/// Counts the tallied activities. Two threads count blocks in turns, which takes most of the time of a report.
fn count_blocks(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    mut counting: UsageCounting,
    is_included: &(dyn Fn(ObjectId) -> bool + Sync),
) -> Result<UsageCounting, StoreError> {
    // Both parts must number actions alike.
    each_block(snapshot, tenant, |_| true, |block| counting.add_names(block))?;
    let count_part = |part: usize| {
        let mut counting = counting.clone();
        let is_own = |number: usize| number % 2 == part;
        each_block(snapshot, tenant, is_own, |block| counting.add_block(block, is_included))?;
        Ok::<_, StoreError>(counting)
    };
    let (other, own) = run_both("usage", || count_part(1), || count_part(0));
    let mut counted = own?;
    counted.join(other?);
    Ok(counted)
}

/// Passes the blocks of a tenant to `take` whose numbers are wanted.
fn each_block(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    is_wanted: impl Fn(usize) -> bool,
    mut take: impl FnMut(&[u8]) -> Result<(), MalformedBlock>,
) -> Result<(), StoreError> {
    let tallied = snapshot.open(USAGE)?;
    let (first, last) = (keys::usage_level(tenant, 0).0, keys::usage_level(tenant, u8::MAX - 1).1);
    for (number, row) in tallied.range(first.as_slice()..=last.as_slice())?.enumerate() {
        let (key, value) = row?;
        if is_wanted(number) {
            let block = stored_value::unseal(key.value(), value.value())?;
            take(block).map_err(usage::corrupted)?;
        }
    }
    Ok(())
}

/// Why a report cannot be computed yet: a store of an earlier version is being tallied.
fn counting_in_progress(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    head: TallyHead,
) -> Result<StoreError, StoreError> {
    let left = usage::left(snapshot, tenant, head)?;
    Ok(StoreError::Counting { counted: head.activities, of: head.activities.saturating_add(left) })
}
