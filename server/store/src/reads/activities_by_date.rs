//! Activities of one user or company in the order of their dates (R38), which is not the order in which they are
//! stored: all activities of the owner are scanned, and only the positions of a page's are held.

use std::{cmp::Reverse, collections::BinaryHeap};

use svctrack_core::{
    plan::Activity,
    schema::list::selected,
    tracking::activity_query::ActivityQuery,
    value::{ObjectId, TenantId, Timestamp, ValidationError},
};

use super::read::{ResolvedFilter, activity_response, add_to};
use crate::{
    Page, PageOptions, PageStart, StoreError,
    rows::{ACTIVITIES, Snapshot},
    rules::{
        activity_history::load, date_ranges, open_tables::RecordTables, tenant_view::TenantView,
    },
};

/// Position of an activity: of two with the same date, the one that was stored last comes first.
type ActivityPosition = (Timestamp, ObjectId);

/// A page of activities, the latest dates first.
pub(crate) fn activities(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &ActivityQuery,
    page_options: &PageOptions,
) -> Result<Page, StoreError> {
    let mut page = Page::empty(&page_options.room, query.page.count.then_some(0));
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let Some(filter) = ResolvedFilter::resolve(query, &view)? else {
        return Ok(page);
    };
    let log = snapshot.open(ACTIVITIES)?;
    let behind = match query.page.after {
        Some(id) => Some(place_of_last(load(&log, tenant, id)?)?),
        None => None,
    };
    let Some(mut histories) = filter.histories(snapshot, tenant, ObjectId::MAX)? else {
        return Ok(page);
    };
    let mut newest: BinaryHeap<Reverse<ActivityPosition>> = BinaryHeap::new();
    let mut total = 0;
    let stretches = date_ranges::stretches(snapshot, tenant, query, ObjectId::MAX)?;
    histories.look_through(&stretches, |found| {
        let place = (found.date, found.id);
        let is_behind = behind.is_none_or(|behind| place < behind);
        if (is_behind || query.page.count) && filter.matches(query, &found, &view)? {
            total += 1;
            if is_behind {
                newest.push(Reverse(place));
            }
        }
        // One activity more than the page holds shows that there is another page.
        if newest.len() > query.page.limit.saturating_add(1) {
            newest.pop();
        }
        Ok(true)
    })?;
    page.total = query.page.count.then_some(total);
    let places = newest.into_sorted_vec();
    for Reverse((_, id)) in places.iter().take(query.page.limit) {
        let Some(found) = load(&log, tenant, *id)? else { continue };
        let response = selected(query.page.select.as_deref(), activity_response(&found, &view)?);
        add_to(&mut page, page_options, &response)?;
        page.next = (places.len() > query.page.limit).then_some(PageStart::After(*id));
    }
    Ok(page)
}

/// Position after which a page begins. Without the activity it is not known, and an empty page would look like the last
/// one.
fn place_of_last(last: Option<Activity>) -> Result<ActivityPosition, StoreError> {
    let last = last.ok_or_else(|| {
        let message = "with `sort=-date`, `after` must be the `_id` of an existing activity";
        StoreError::Invalid(vec![ValidationError::of_member(
            "after",
            "activity_not_found",
            message,
        )])
    })?;
    Ok((last.date, last.id))
}
