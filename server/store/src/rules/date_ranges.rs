//! Spans of the log of activities, and the dates of the activities in each. Senders choose dates, so the log is in no
//! order of dates; but most are sent soon, and so a list of a time skips most spans without reading them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde::{Deserialize, Serialize};
use svctrack_core::{
    plan::Activity,
    tracking::activity_query::ActivityQuery,
    value::{ObjectId, TenantId, Timestamp},
};

use super::open_tables::{Tables, Transaction};
use crate::{
    StoreError,
    rows::{
        ACTIVITY_SPANS, Bytes as _, Rows, Snapshot, WriteRows as _, keys, put_row, stored_value,
    },
};

/// Activities of a span: read in a few milliseconds, and its row costs each of them next to nothing.
pub(super) const SPAN_ACTIVITIES: u32 = 1_024;

/// Maximum number of ranges of dates of a span. One odd date is a range of its own; where there are many, the nearest
/// ones are joined.
const MAX_RANGES: usize = 8;

/// A row of spans, under the id of its first activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RangesRow {
    activities: u32,
    /// Ranges of the dates of activities, in their order.
    ranges: Vec<(Timestamp, Timestamp)>,
}

impl RangesRow {
    fn from_date(date: Timestamp) -> Self {
        Self { activities: 1, ranges: vec![(date, date)] }
    }

    fn add(&mut self, date: Timestamp) {
        self.activities += 1;
        if self.may_hold(date) {
            return;
        }
        let at = self.ranges.partition_point(|(from, _)| *from < date);
        self.ranges.insert(at, (date, date));
        if self.ranges.len() > MAX_RANGES {
            self.join_nearest();
        }
    }

    fn join_nearest(&mut self) {
        let gaps = self.ranges.windows(2).map(|pair| match pair {
            [(_, end), (begin, _)] => begin.as_ms() - end.as_ms(),
            _ => i64::MAX,
        });
        let nearest = gaps.enumerate().min_by_key(|(_, gap)| *gap).map_or(0, |(at, _)| at);
        let (_, end) = self.ranges.remove(nearest + 1);
        if let Some(range) = self.ranges.get_mut(nearest) {
            range.1 = end;
        }
    }

    /// Whether an activity of this date can be in the span.
    pub(crate) fn may_hold(&self, date: Timestamp) -> bool {
        self.ranges.iter().any(|(from, to)| (from..=to).contains(&&date))
    }

    fn may_match(&self, query: &ActivityQuery) -> bool {
        self.ranges.iter().any(|(earliest, latest)| {
            query.from.is_none_or(|from| *latest >= from)
                && query.to.is_none_or(|to| *earliest < to)
        })
    }
}

/// The latest span of each tenant that a transaction adds to.
#[derive(Default)]
pub(crate) struct LatestSpans {
    latest: BTreeMap<TenantId, (ObjectId, RangesRow)>,
    /// Tenants with a new span.
    begun: BTreeSet<TenantId>,
}

impl LatestSpans {
    /// Adds an activity, the newest of its tenant.
    pub(crate) fn add(
        &mut self,
        tables: &mut Tables<impl Transaction>,
        tenant: TenantId,
        activity: &Activity,
    ) -> Result<(), StoreError> {
        let known = match self.latest.remove(&tenant) {
            Some(known) => Some(known),
            None => latest(&tables.activity_spans, tenant)?,
        };
        let span = match known {
            Some((first, mut span)) if span.activities < SPAN_ACTIVITIES => {
                span.add(activity.date);
                (first, span)
            }
            full => {
                if let Some((first, span)) = full {
                    put(tables, tenant, first, &span)?;
                }
                self.begun.insert(tenant);
                (activity.id, RangesRow::from_date(activity.date))
            }
        };
        self.latest.insert(tenant, span);
        Ok(())
    }

    /// Writes the spans; returns the tenants with a new span.
    pub(crate) fn flush(
        self,
        tables: &mut Tables<impl Transaction>,
    ) -> Result<BTreeSet<TenantId>, StoreError> {
        for (tenant, (first, span)) in self.latest {
            put(tables, tenant, first, &span)?;
        }
        Ok(self.begun)
    }
}

fn put(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    first: ObjectId,
    span: &RangesRow,
) -> Result<(), StoreError> {
    put_row(&mut tables.activity_spans, &keys::log(tenant, first), span)
}

fn latest(
    spans: &impl Rows,
    tenant: TenantId,
) -> Result<Option<(ObjectId, RangesRow)>, StoreError> {
    covering(spans, tenant, ObjectId::MAX)
}

/// Span of an activity, and the first activity of the span.
pub(crate) fn covering(
    spans: &impl Rows,
    tenant: TenantId,
    activity: ObjectId,
) -> Result<Option<(ObjectId, RangesRow)>, StoreError> {
    let (first, last) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, activity));
    let row = spans.range(first.as_slice()..=last.as_slice())?.next_back().transpose()?;
    row.map(|(key, value)| unseal(key.value(), value.value())).transpose()
}

/// Removes the spans before that of an activity, whose activities were removed.
pub(crate) fn remove_before(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    activity: ObjectId,
) -> Result<(), StoreError> {
    let Some((first, _)) = covering(&tables.activity_spans, tenant, activity)? else {
        return Ok(());
    };
    let (begin, end) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, first));
    tables.activity_spans.remove_range(begin.as_slice()..end.as_slice())?;
    Ok(())
}

fn unseal(key: &[u8], value: &[u8]) -> Result<(ObjectId, RangesRow), StoreError> {
    let first = keys::id_at_end(key).ok_or_else(|| StoreError::corrupted("malformed key"))?;
    Ok((first, stored_value::unseal_row(key, value)?))
}

/// Stretches of a log before an activity in which matches of a query may be, newest first. Activities that were stored
/// before there were spans are one stretch.
pub(crate) fn stretches(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &ActivityQuery,
    before: ObjectId,
) -> Result<Vec<Range<ObjectId>>, StoreError> {
    if query.from.or(query.to).is_none() {
        return Ok(vec![ObjectId::MIN..before]);
    }
    let spans = snapshot.open(ACTIVITY_SPANS)?;
    let (first, end) = (keys::log(tenant, ObjectId::MIN), keys::log(tenant, before));
    let (mut stretches, mut end_of_span) = (Vec::new(), before);
    for row in spans.range(first.as_slice()..end.as_slice())?.rev() {
        let (key, value) = row?;
        let (first, span) = unseal(key.value(), value.value())?;
        if span.may_match(query) {
            join(&mut stretches, first..end_of_span);
        }
        end_of_span = first;
    }
    join(&mut stretches, ObjectId::MIN..end_of_span);
    Ok(stretches)
}

/// Adds a stretch that is before the others.
fn join(stretches: &mut Vec<Range<ObjectId>>, stretch: Range<ObjectId>) {
    match stretches.last_mut() {
        Some(next) if next.start == stretch.end => next.start = stretch.start,
        _ => stretches.push(stretch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(dates: &[i64]) -> RangesRow {
        let mut dates = dates.iter().map(|ms| Timestamp::from_ms_clamped(*ms));
        let mut span = RangesRow::from_date(dates.next().unwrap());
        dates.for_each(|date| span.add(date));
        span
    }

    fn ranges(dates: &[i64]) -> Vec<(i64, i64)> {
        span(dates).ranges.iter().map(|(from, to)| (from.as_ms(), to.as_ms())).collect()
    }

    #[test]
    fn odd_dates_have_ranges_of_their_own_and_the_nearest_are_joined() {
        assert_eq!(ranges(&[5, 5]), [(5, 5)]);
        assert_eq!(ranges(&[50, 5]), [(5, 5), (50, 50)]);
        let on_time: Vec<_> = (1_000_000..1_001_000).collect();
        assert_eq!(ranges(&[&on_time[..], &[0], &on_time[500..]].concat()).first(), Some(&(0, 0)));
        let joined = ranges(&[10, 20, 30, 40, 50, 60, 70, 81, 90]);
        assert_eq!(joined.len(), MAX_RANGES);
        assert_eq!(joined[6..], [(70, 70), (81, 90)]);
    }
}
