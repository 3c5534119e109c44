//! Reads: each sees one snapshot and blocks neither reads nor writes.

use std::ops::{Bound, Range};

use svctrack_core::{
    plan::{Activity, is_response_as_stored, version_of},
    resources::{self, company::COMPANY, end_user::END_USER, settings},
    schema::{self, ReadCtx, ResourceDef, list::selected},
    tracking::{
        activity,
        activity_query::{ActivityOrder, ActivityQuery},
        list_fields::ACTIVITY,
    },
    value::{Document, ObjectId, RecordRef, TenantId, Timestamp},
};

use super::{activities_by_date, pager::page_too_large};
use crate::{
    ActivityBatch, Page, PageOptions, PageStart, RateLimits, RecordResponse, ResponseMemory,
    StoreError,
    rows::{ACTIVITIES, ALL, Bytes as _, Rows, Snapshot, keys, stored_value::StoredRecord},
    rules::{
        activity_history::{self, History},
        command, date_ranges,
        open_tables::RecordTables,
        tenant_view::{Source, TenantView},
    },
};

pub(crate) fn record(
    tables: &RecordTables<impl Snapshot>,
    tenant: TenantId,
    def: &'static ResourceDef,
    reference: &RecordRef,
    now: Timestamp,
) -> Result<Option<RecordResponse>, StoreError> {
    let view = TenantView::of_snapshot(tenant, tables);
    let Some(id) = view.named(def, reference)? else { return Ok(None) };
    let ctx = ReadCtx::new(now, &view);
    view.read(def, id, |stored| read_response(def, id, stored, &ctx))
}

/// A stored record for a response; it is not parsed where nothing is computed.
fn read_response(
    def: &ResourceDef,
    id: ObjectId,
    stored: StoredRecord<'_>,
    ctx: &ReadCtx<'_>,
) -> Result<RecordResponse, StoreError> {
    if !is_response_as_stored(def) {
        return command::record_response(def, id, &stored.document()?, ctx);
    }
    let (version, text) = (version_of(&stored), stored.shown()?);
    Ok(RecordResponse {
        id,
        version,
        computed: None,
        text,
        ignored: Vec::new(),
        room: ResponseMemory::default(),
    })
}

/// Each table with the number of its rows.
pub(crate) fn table_rows(snapshot: &impl Snapshot) -> Result<Vec<(&'static str, u64)>, StoreError> {
    ALL.into_iter().map(|table| Ok((table.name(), snapshot.open(table)?.len()?))).collect()
}

/// Rate limits that a tenant has set for itself.
pub(crate) fn rate_limits(
    tables: &RecordTables<impl Snapshot>,
    tenant: TenantId,
) -> Result<RateLimits, StoreError> {
    let settings = settings::of_tenant(&TenantView::of_snapshot(tenant, tables))?;
    Ok(RateLimits {
        requests: settings::requests_per_second(&settings),
        tracking: settings::tracking_per_second(&settings),
    })
}

/// Whether a list of activities reads a limited number of them, whatever is stored.
pub(crate) fn is_short(query: &ActivityQuery) -> bool {
    let of_any = query.from.or(query.to).is_none() && query.passive.is_none();
    let of_one = query.end_user.is_none() || query.companies.is_none();
    let takes_all = of_any && query.actions.is_none() && query.page.filters.is_empty();
    takes_all && of_one && !query.page.count && query.order == ActivityOrder::NewestStored
}

/// Largest page of activities, in bytes: less than a tenant's share of the responses in memory, so that a page that is
/// too large is rejected as such; a page of the greatest limit has room for some 6 KB per activity.
const MAX_ACTIVITIES_BYTES: usize = 12 * 1024 * 1024;

/// Adds an activity to a page; a page that is too large is rejected, since a shorter one would look like the last.
pub(crate) fn add_to(
    page: &mut Page,
    page_options: &PageOptions,
    activity: &Document,
) -> Result<(), StoreError> {
    page.add(page_options, activity.to_text())?;
    if page.digest.bytes <= MAX_ACTIVITIES_BYTES {
        return Ok(());
    }
    Err(page_too_large("activities", MAX_ACTIVITIES_BYTES))
}

/// A page of activities.
pub(crate) fn activities(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &ActivityQuery,
    page_options: &PageOptions,
) -> Result<Page, StoreError> {
    if query.order == ActivityOrder::NewestDate {
        return activities_by_date::activities(snapshot, tenant, query, page_options);
    }
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let mut page = Page::empty(&page_options.room, query.page.count.then_some(0));
    let Some(filter) = ResolvedFilter::resolve(query, &view)? else {
        return Ok(page);
    };
    if query.page.count {
        page.total = Some(count(snapshot, query, &filter, &view)?);
    }
    let mut last_taken = None;
    let before = query.page.after.unwrap_or(ObjectId::MAX);
    for_each(snapshot, query, &filter, &view, before, |found| {
        if page.digest.records == query.page.limit {
            page.next = last_taken.map(PageStart::After);
            return Ok(false);
        }
        let response = selected(query.page.select.as_deref(), activity_response(&found, &view)?);
        add_to(&mut page, page_options, &response)?;
        last_taken = Some(found.id);
        Ok(true)
    })?;
    Ok(page)
}

/// Number of matching activities on all pages.
fn count(
    snapshot: &impl Snapshot,
    query: &ActivityQuery,
    filter: &ResolvedFilter,
    view: &TenantView<'_, impl Source>,
) -> Result<u64, StoreError> {
    let mut total = 0;
    for_each(snapshot, query, filter, view, ObjectId::MAX, |_| {
        total += 1;
        Ok(true)
    })?;
    Ok(total)
}

/// Passes the matching activities before one to `take`, newest first, until it wants no more.
fn for_each(
    snapshot: &impl Snapshot,
    query: &ActivityQuery,
    filter: &ResolvedFilter,
    view: &TenantView<'_, impl Source>,
    before: ObjectId,
    mut take: impl FnMut(Activity) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let tenant = view.tenant;
    let mut take = |found: Activity| Ok(!filter.matches(query, &found, view)? || take(found)?);
    let stretches = date_ranges::stretches(snapshot, tenant, query, before)?;
    if let Some(mut histories) = filter.histories(snapshot, tenant, before)? {
        return histories.look_through(&stretches, take);
    }
    let log = snapshot.open(ACTIVITIES)?;
    for stretch in stretches {
        let (first, end) = (keys::log(tenant, stretch.start), keys::log(tenant, stretch.end));
        for row in log.range(first.as_slice()..end.as_slice())?.rev() {
            let (key, value) = row?;
            let Some(found) = activity_history::unseal(key.value(), value.value())? else {
                continue;
            };
            if !take(found)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// An activity for a response, with the names that its user and its company have now.
pub(crate) fn activity_response(
    activity: &Activity,
    view: &TenantView<'_, impl Source>,
) -> Result<Document, StoreError> {
    let user = view
        .read(&END_USER, activity.end_user_id, |stored| Ok(activity::of_user(stored.members())))?;
    let of_company =
        |id| view.read(&COMPANY, id, |stored| Ok(activity::of_company(stored.members())));
    let company = activity.company_id.map(of_company).transpose()?.flatten();
    Ok(activity::to_response(activity, user.as_ref(), company.as_ref()))
}

/// Maximum number of activities in a batch of new ones, and the bytes after which it ends: with the one that exceeds
/// them, each listener may hold these.
const MAX_SINCE: usize = 500;
const MAX_SINCE_BYTES: usize = 32 * 1024;

/// Activities that were added to the log after `query.page.after`, oldest first; without it none, but the log's end.
pub(crate) fn activities_since(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &ActivityQuery,
) -> Result<ActivityBatch, StoreError> {
    let log = snapshot.open(ACTIVITIES)?;
    let (first, last) = keys::log_range(tenant);
    let Some(after) = query.page.after else {
        let end = log.range(first.as_slice()..=last.as_slice())?.next_back().transpose()?;
        let cursor = end.and_then(|(key, _)| keys::id_at_end(key.value()));
        return Ok(ActivityBatch {
            items: Vec::new(),
            cursor: cursor.unwrap_or(ObjectId::MIN),
            is_caught_up: true,
        });
    };
    let mut since = ActivityBatch { items: Vec::new(), cursor: after, is_caught_up: true };
    let mut bytes = 0;
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let filter = ResolvedFilter::resolve(query, &view)?;
    let begin = keys::log(tenant, after);
    let behind = (Bound::Excluded(begin.as_slice()), Bound::Included(last.as_slice()));
    for (taken, row) in log.range(behind)?.enumerate() {
        if taken == MAX_SINCE || bytes >= MAX_SINCE_BYTES {
            since.is_caught_up = false;
            break;
        }
        let (key, value) = row?;
        since.cursor = keys::id_at_end(key.value()).unwrap_or(since.cursor);
        let Some(found) = activity_history::unseal(key.value(), value.value())? else { continue };
        let Some(filter) = &filter else { continue };
        if filter.matches(query, &found, &view)? {
            let text =
                selected(query.page.select.as_deref(), activity_response(&found, &view)?).to_text();
            bytes += text.len();
            since.items.push((found.id, text));
        }
    }
    Ok(since)
}

/// The activities of some users or companies, newest first.
pub(crate) struct MergedHistories<T>(Vec<History<T>>);

impl<T: Rows> MergedHistories<T> {
    /// Passes the activities in some stretches of the log to `take`, until it wants no more.
    pub(crate) fn look_through(
        &mut self,
        stretches: &[Range<ObjectId>],
        mut take: impl FnMut(Activity) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for stretch in stretches {
            for history in &mut self.0 {
                history.skip_to(stretch.end)?;
            }
            while let Some(found) = self.next_from(stretch.start)? {
                if !take(found)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The newest activity, unless it is before `first`.
    fn next_from(&mut self, first: ObjectId) -> Result<Option<Activity>, StoreError> {
        let mut newest = None;
        for (at, history) in self.0.iter_mut().enumerate() {
            newest = newest.max(history.peek()?.map(|found| (found.id, at)));
        }
        let newest = newest.filter(|(id, _)| *id >= first);
        Ok(newest.and_then(|(_, at)| self.0.get_mut(at)?.take()))
    }
}

/// Filters of a query, with ids in place of references.
pub(crate) struct ResolvedFilter {
    companies: Option<Vec<ObjectId>>,
    end_user: Option<ObjectId>,
    others: Vec<schema::Filter>,
}

impl ResolvedFilter {
    /// Resolves references; `None` when none of them names a record, so that nothing can match (R2). Activities outlive
    /// their user and company, so that an `_id` matches whether or not it has a record.
    pub(crate) fn resolve(
        query: &ActivityQuery,
        view: &TenantView<'_, impl Source>,
    ) -> Result<Option<Self>, StoreError> {
        let mut filter =
            Self { companies: None, end_user: None, others: query.page.filters.clone() };
        resources::resolve(&mut filter.others, &ACTIVITY, view)?;
        if let Some(references) = &query.companies {
            let mut ids = Vec::new();
            for reference in references {
                ids.extend(view.named(&COMPANY, reference)?);
            }
            ids.sort_unstable();
            ids.dedup();
            if ids.is_empty() {
                return Ok(None);
            }
            filter.companies = Some(ids);
        }
        if let Some(reference) = &query.end_user {
            let Some(id) = view.named(&END_USER, reference)? else {
                return Ok(None);
            };
            filter.end_user = Some(id);
        }
        Ok(Some(filter))
    }

    /// Histories that can match, where the query names users or companies.
    pub(crate) fn histories<S: Snapshot>(
        &self,
        snapshot: &S,
        tenant: TenantId,
        before: ObjectId,
    ) -> Result<Option<MergedHistories<S::Table>>, StoreError> {
        let history = |def, id| History::before(snapshot, tenant, def, id, before);
        let histories = match (self.end_user, &self.companies) {
            (Some(user), _) => vec![history(&END_USER, user)?],
            (None, Some(companies)) => {
                companies.iter().map(|id| history(&COMPANY, *id)).collect::<Result<_, _>>()?
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(MergedHistories(histories)))
    }

    pub(crate) fn matches(
        &self,
        query: &ActivityQuery,
        activity: &Activity,
        view: &TenantView<'_, impl Source>,
    ) -> Result<bool, StoreError> {
        if !query.matches(activity, self.companies.as_deref(), self.end_user) {
            return Ok(false);
        }
        if self.others.is_empty() {
            return Ok(true);
        }
        let response = activity_response(activity, view)?;
        Ok(self.others.iter().all(|filter| filter.matches(&response)))
    }
}
