//! Usage (`usage`): activities tallied by user, quarter of an hour and action, from which reports count.
//!
//! An event costs nothing here: the log has it. Each time [`TallyLimits::activities`] have been added since the last tally,
//! the commit with the last of them tallies them as a run of blocks, in the order of their users, and [`TallyLimits::runs`]
//! runs of a level are joined to one of the next. A report adds the activities that are not tallied yet from the log of
//! its own snapshot, so that it is exact at any time.
//!
//! Invariant: every activity of the log up to [`TallyHead::to`] is in exactly one run, and none after it is in any. An
//! erased user is in no run once their last activity is removed; an activity is tallied before it is removed for its
//! age.

use std::ops::Bound;

use serde::{Deserialize, Serialize};
use svctrack_core::{
    usage::{Block, MalformedBlock, UsageTally},
    value::{ObjectId, TenantId},
};

use super::{
    activity_history,
    date_ranges::SPAN_ACTIVITIES,
    open_tables::{Tables, Transaction},
};
use crate::{
    StoreError,
    rows::{
        ACTIVITY_SPANS, AppendRows as _, Bytes as _, Rows, Snapshot, WriteRows, get_row, keys,
        put_row, stored_value,
    },
};

/// Levels of runs: those of the last are not joined any more, so that a commit never joins more than half a million
/// activities, for which it takes some 20 ms.
const LEVELS: u8 = 3;

/// Number of activities that are tallied at a time, and of runs that are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TallyLimits {
    /// Activities of a run: for the users of these, a run has some pages, and the rest of the log that a report reads
    /// takes a few milliseconds.
    pub(crate) activities: usize,
    /// Runs of a level that are joined.
    pub(crate) runs: usize,
}

pub(crate) const LIMITS: TallyLimits = TallyLimits { activities: 8 * 1_024, runs: 8 };

/// Progress of tallying a tenant's activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TallyHead {
    /// Last activity that is tallied.
    pub(crate) to: ObjectId,
    /// Number of activities in all runs, those of the erased included.
    pub(crate) activities: u64,
}

const NOTHING: TallyHead = TallyHead { to: ObjectId::MIN, activities: 0 };

/// Progress of tallying a tenant's activities.
pub(crate) fn head(usage: &impl Rows, tenant: TenantId) -> Result<TallyHead, StoreError> {
    Ok(get_row(usage, &keys::usage_head(tenant))?.unwrap_or(NOTHING))
}

/// About how many activities of the log are not tallied, by its spans.
pub(crate) fn left(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    head: TallyHead,
) -> Result<u64, StoreError> {
    let spans = spans_after(&snapshot.open(ACTIVITY_SPANS)?, tenant, head.to, usize::MAX)?;
    Ok(u64::try_from(spans).unwrap_or(u64::MAX).saturating_mul(SPAN_ACTIVITIES.into()))
}

/// Number of spans of the log that begin after an activity, up to a limit.
fn spans_after(
    spans: &impl Rows,
    tenant: TenantId,
    after: ObjectId,
    most: usize,
) -> Result<usize, StoreError> {
    let (after, last) = (keys::log(tenant, after), keys::log(tenant, ObjectId::MAX));
    let ends = (Bound::Excluded(after.as_slice()), Bound::Included(last.as_slice()));
    spans.range(ends)?.take(most).try_fold(0, |count, row| row.map(|_| count + 1))
}

/// Tallies activities of a tenant, if there are enough since the last time; returns whether there are still.
pub(crate) fn go_on(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
) -> Result<bool, StoreError> {
    let span = usize::try_from(SPAN_ACTIVITIES).unwrap_or(usize::MAX);
    // The last span is not full, and the last tallied activity may be in the middle of one.
    let due = LIMITS.activities / span + 1;
    let is_due = |tables: &Tables<_>| {
        let head = head(&tables.usage, tenant)?;
        Ok::<_, StoreError>(spans_after(&tables.activity_spans, tenant, head.to, due)? == due)
    };
    if !is_due(tables)? {
        return Ok(false);
    }
    tally(tables, tenant, LIMITS)?;
    is_due(tables)
}

/// Tallies the next activities of the log, up to a number.
pub(crate) fn tally(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    limits: TallyLimits,
) -> Result<TallyHead, StoreError> {
    let mut head = head(&tables.usage, tenant)?;
    let (after, last) = (keys::log(tenant, head.to), keys::log(tenant, ObjectId::MAX));
    let ends = (Bound::Excluded(after.as_slice()), Bound::Included(last.as_slice()));
    let (mut tally, before) = (UsageTally::default(), head.to);
    for row in tables.activities.written()?.range(ends)?.take(limits.activities) {
        let (key, value) = row?;
        match activity_history::counted(key.value(), value.value(), |counted| tally.add(&counted)) {
            // A corrupted activity is in no report.
            Err(error @ StoreError::Corrupted { .. }) => {
                tracing::error!(cause = %error, "activity corrupted");
            }
            counted => counted?,
        }
        head.to = keys::id_at_end(key.value()).unwrap_or(head.to);
        head.activities += 1;
    }
    if head.to == before {
        return Ok(head);
    }
    put_run(&mut tables.usage, (tenant, 0, head.to), tally)?;
    put_row(&mut tables.usage, &keys::usage_head(tenant), &head)?;
    for level in 0..LEVELS - 1 {
        join(&mut tables.usage, tenant, level, limits)?;
    }
    Ok(head)
}

/// A run: its tenant, its level, and the last activity in it.
type TallyRun = (TenantId, u8, ObjectId);

fn put_run(usage: &mut impl WriteRows, run: TallyRun, tally: UsageTally) -> Result<(), StoreError> {
    for (first, block) in tally.into_blocks() {
        let key = keys::usage(run, first);
        usage.insert(&key, &stored_value::seal(&key, &block))?;
    }
    Ok(())
}

/// Joins the runs of a level to one of the next, if there are enough.
fn join(
    usage: &mut impl WriteRows,
    tenant: TenantId,
    level: u8,
    limits: TallyLimits,
) -> Result<(), StoreError> {
    let runs = runs(usage, tenant, level)?;
    let Some(last) = runs.last().filter(|_| runs.len() >= limits.runs) else {
        return Ok(());
    };
    let mut joined = UsageTally::default();
    let (first, end) = keys::usage_level(tenant, level);
    for row in usage.range(first.as_slice()..=end.as_slice())? {
        let (key, value) = row?;
        joined
            .add_block(stored_value::unseal(key.value(), value.value())?, None)
            .map_err(corrupted)?;
    }
    usage.remove_range(first.as_slice()..=end.as_slice())?;
    put_run(usage, (tenant, level + 1, *last), joined)
}

/// The last activities of the runs of a level.
fn runs(usage: &impl Rows, tenant: TenantId, level: u8) -> Result<Vec<ObjectId>, StoreError> {
    let (mut after, end) = keys::usage_level(tenant, level);
    let mut found = Vec::new();
    loop {
        let ends = (Bound::Excluded(after.as_slice()), Bound::Included(end.as_slice()));
        let Some(row) = usage.range(ends)?.next() else { return Ok(found) };
        let run = keys::run_of_usage(row?.0.value());
        let run = run.ok_or_else(|| StoreError::corrupted("malformed key"))?;
        found.push(run);
        after = keys::usage((tenant, level, run), ObjectId::MAX);
    }
}

/// Removes an erased user from all runs.
pub(crate) fn erase(
    usage: &mut impl WriteRows,
    tenant: TenantId,
    user: ObjectId,
) -> Result<(), StoreError> {
    for level in 0..LEVELS {
        for run in runs(usage, tenant, level)? {
            erase_from(usage, (tenant, level, run), user)?;
        }
    }
    Ok(())
}

fn erase_from(usage: &mut impl WriteRows, run: TallyRun, user: ObjectId) -> Result<(), StoreError> {
    let (first, own) = (keys::usage(run, ObjectId::MIN), keys::usage(run, user));
    let row = usage.range(first.as_slice()..=own.as_slice())?.next_back().transpose()?;
    let Some((key, left)) = row
        .map(|(key, value)| {
            Ok::<_, StoreError>((key.value().to_vec(), without(key.value(), value.value(), user)?))
        })
        .transpose()?
    else {
        return Ok(());
    };
    let Some(left) = left else { return Ok(()) };
    usage.remove(&key)?;
    put_run(usage, run, left)
}

/// Rest of a block without a user, if the block has anything of them.
fn without(key: &[u8], value: &[u8], user: ObjectId) -> Result<Option<UsageTally>, StoreError> {
    let bytes = stored_value::unseal(key, value)?;
    let mut has_user = false;
    for part in Block::parse(bytes).map_err(corrupted)? {
        has_user |= part.map_err(corrupted)?.user == user;
    }
    let mut left = UsageTally::default();
    if has_user {
        left.add_block(bytes, Some(user)).map_err(corrupted)?;
    }
    Ok(has_user.then_some(left))
}

pub(crate) fn corrupted(error: MalformedBlock) -> StoreError {
    StoreError::corrupted(error)
}
