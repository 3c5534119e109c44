//! Reads: each from a snapshot of its own, so that it sees one moment and holds up nobody.

use redb::ReadTransaction;
use svctrack_core::{
    plan::{self, Activity},
    resources::{company::COMPANY, end_user::END_USER},
    schema::{ListQuery, Lookup as _, ReadCtx, ResourceDef},
    tracking::activity::{self, ActivityQuery},
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};

use super::{
    codec, command, keys,
    tables::{ACTIVITIES, RecordTables},
    view::{View, read_document},
};
use crate::store::{Answer, Page, StoreError};

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
    let Some(id) = plan::locate(def, reference, &view)? else {
        return Ok(None);
    };
    let Some(stored) = view.record(def, id)? else {
        return Ok(None);
    };
    command::answer(def, id, &stored, &ReadCtx { now, lookup: &view }).map(Some)
}

/// A page of records, lowest id first.
pub(super) fn list(
    snapshot: &ReadTransaction,
    tenant: TenantId,
    def: &'static ResourceDef,
    query: &ListQuery,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = View::of_snapshot(tenant, &tables);
    let ctx = ReadCtx { now, lookup: &view };
    let first = keys::record(tenant, def.code, query.after.unwrap_or(ObjectId::MIN));
    let last = keys::record(tenant, def.code, ObjectId::MAX);
    let mut page = Page {
        items: Vec::new(),
        last: None,
        more: false,
    };
    let mut to_skip = query.offset;
    for row in tables.records.range(first.as_slice()..=last.as_slice())? {
        let (key, value) = row?;
        let Some(id) = keys::id_at_end(key.value()) else {
            continue;
        };
        if query.after == Some(id) {
            continue;
        }
        if to_skip > 0 {
            to_skip -= 1;
            continue;
        }
        if page.items.len() == query.limit {
            page.more = true;
            break;
        }
        let stored = read_document(key.value(), value.value())?;
        page.items
            .push(command::answer(def, id, &stored, &ctx)?.text);
        page.last = Some(id);
    }
    Ok(page)
}

/// A page of activities, newest stored first.
pub(super) fn activities(
    snapshot: &ReadTransaction,
    tenant: TenantId,
    query: &ActivityQuery,
) -> Result<Page, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = View::of_snapshot(tenant, &tables);
    let mut page = Page {
        items: Vec::new(),
        last: None,
        more: false,
    };
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
            page.more = true;
            break;
        }
        let user = view.record(&END_USER, found.end_user_id)?;
        page.items
            .push(activity::answer(&found, user.as_ref()).to_text());
        page.last = Some(found.id);
    }
    Ok(page)
}

/// The ids that a query's references name.
struct Filter {
    companies: Option<Vec<ObjectId>>,
    end_user: Option<ObjectId>,
}

impl Filter {
    /// `None` when a reference names nothing, so that nothing can match (R2).
    fn resolve(
        query: &ActivityQuery,
        view: &View<'_, super::tables::ReadTable>,
    ) -> Result<Option<Self>, StoreError> {
        let mut filter = Self {
            companies: None,
            end_user: None,
        };
        if let Some(references) = &query.companies {
            let mut ids = Vec::new();
            for reference in references {
                ids.extend(plan::locate(&COMPANY, reference, view)?);
            }
            filter.companies = Some(ids);
        }
        if let Some(reference) = &query.end_user {
            let Some(id) = plan::locate(&END_USER, reference, view)? else {
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
