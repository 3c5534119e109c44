//! Reads: each from a snapshot of its own, so that it sees one moment and holds up nobody.

use redb::ReadTransaction;
use svctrack_core::{
    plan::Activity,
    resources::{company::COMPANY, end_user::END_USER, settings},
    schema::{Lookup as _, ReadCtx, ResourceDef},
    tracking::activity::{self, ActivityQuery},
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};

use super::{
    codec, command, keys,
    tables::{ACTIVITIES, RecordTables},
    view::View,
};
use crate::{
    rate_limit::RateLimits,
    store::{Answer, Next, Page, StoreError},
};

/// One record.
pub(super) fn record(
    snapshot: &ReadTransaction,
    tenant: TenantId,
    def: &'static ResourceDef,
    reference: &RecordRef,
    now: Timestamp,
) -> Result<Option<Answer>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = View::of_snapshot(tenant, &tables);
    let Some(id) = view.locate(def, reference)? else {
        return Ok(None);
    };
    let Some(stored) = view.record(def, id)? else {
        return Ok(None);
    };
    command::answer(def, id, &stored, &ReadCtx { now, lookup: &view }).map(Some)
}

/// The rate limits that a tenant has set for itself.
pub(super) fn rate_limits(
    snapshot: &ReadTransaction,
    tenant: TenantId,
) -> Result<RateLimits, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let settings = settings::of_tenant(&View::of_snapshot(tenant, &tables))?;
    Ok(RateLimits {
        requests: settings::requests_per_second(&settings),
        tracking: settings::tracking_per_second(&settings),
    })
}

/// A page of activities, newest stored first.
pub(super) fn activities(
    snapshot: &ReadTransaction,
    tenant: TenantId,
    query: &ActivityQuery,
) -> Result<Page, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = View::of_snapshot(tenant, &tables);
    let mut page = Page { items: Vec::new(), next: None };
    let mut last_taken = None;
    let Some(filter) = Filter::resolve(query, &view)? else {
        return Ok(page);
    };
    let log = snapshot.open_table(ACTIVITIES)?;
    let first = keys::log(tenant, ObjectId::MIN);
    let last = keys::log(tenant, query.after.unwrap_or(ObjectId::MAX));
    for row in log.range(first.as_slice()..=last.as_slice())?.rev() {
        let (key, value) = row?;
        let found: Activity = codec::unseal_row(key.value(), value.value())?;
        if query.after == Some(found.id) || !filter.admits(query, &found) {
            continue;
        }
        if page.items.len() == query.limit {
            page.next = last_taken.map(Next::After);
            break;
        }
        let user = view.record(&END_USER, found.end_user_id)?;
        page.items.push(activity::answer(&found, user.as_ref()).to_text());
        last_taken = Some(found.id);
    }
    Ok(page)
}

/// The ids that a query's references name.
struct Filter {
    companies: Option<Vec<ObjectId>>,
    end_user: Option<ObjectId>,
}

impl Filter {
    /// `None` when no reference names anything, so that nothing can match (R2).
    fn resolve(
        query: &ActivityQuery,
        view: &View<'_, super::tables::ReadTable>,
    ) -> Result<Option<Self>, StoreError> {
        let mut filter = Self { companies: None, end_user: None };
        if let Some(references) = &query.companies {
            let mut ids = Vec::new();
            for reference in references {
                ids.extend(view.locate(&COMPANY, reference)?);
            }
            if ids.is_empty() {
                return Ok(None);
            }
            filter.companies = Some(ids);
        }
        if let Some(reference) = &query.end_user {
            let Some(id) = view.locate(&END_USER, reference)? else {
                return Ok(None);
            };
            filter.end_user = Some(id);
        }
        Ok(Some(filter))
    }

    fn admits(&self, query: &ActivityQuery, activity: &Activity) -> bool {
        query.admits(activity, self.companies.as_deref(), self.end_user)
    }
}
