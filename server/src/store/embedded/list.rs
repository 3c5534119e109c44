//! Lists: which records are looked at, in what order, and what of them is returned (R13, R14).

use std::collections::BTreeSet;

use redb::ReadTransaction;
use svctrack_core::{
    plan::is_answered_as_stored,
    resources,
    schema::{
        Fill, ListQuery, Lookup as _, ReadCtx, ResourceDef, SortKey,
        index::key_of,
        list::{Filter, sort_key},
    },
    value::{Document, Issue, ObjectId, RecordRef, TenantId, Timestamp},
};

use super::{
    codec::{self, ChangeRow},
    command, keys,
    tables::{CHANGES, ReadTable, RecordTables},
    view::{View, read_document},
};
use crate::store::{Next, Page, StoreError};

/// Largest page, in bytes; a page of the greatest limit holds records of some ten KB each.
const MAX_PAGE_BYTES: usize = 64 * 1024 * 1024;

/// A page of records.
pub(super) fn list(
    snapshot: &ReadTransaction,
    tenant: TenantId,
    def: &'static ResourceDef,
    mut query: ListQuery,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = View::of_snapshot(tenant, &tables);
    resolve_references(def, &mut query.filters, &view)?;
    let listing = Listing { snapshot, tables: &tables, view: &view, def, query: &query, now };
    match query.sort_by_value() {
        None if listing.is_plain() => listing.spliced(),
        None => listing.by_id(),
        Some(_) => listing.by_value(),
    }
}

/// Replaces the references of filters by ids; one that names nothing stays and matches nothing (R2).
fn resolve_references(
    def: &ResourceDef,
    filters: &mut [Filter],
    view: &View<'_, ReadTable>,
) -> Result<(), StoreError> {
    for filter in filters {
        let target = def.row(filter.name).and_then(|row| resources::by_name(row.refers?.resource));
        let Some(target) = target else { continue };
        for value in &mut filter.values {
            if let Some(reference) = RecordRef::parse(value)
                && let Some(id) = view.locate(target, &reference)?
            {
                *value = id.to_string();
            }
        }
    }
    Ok(())
}

/// Looks at a stored row; says whether more are wanted.
type RowVisitor<'v> = dyn FnMut(ObjectId, &[u8], &[u8]) -> Result<bool, StoreError> + 'v;

struct Listing<'a> {
    snapshot: &'a ReadTransaction,
    tables: &'a RecordTables,
    view: &'a View<'a, ReadTable>,
    def: &'static ResourceDef,
    query: &'a ListQuery,
    now: Timestamp,
}

impl Listing<'_> {
    fn ctx(&self) -> ReadCtx<'_> {
        ReadCtx { now: self.now, lookup: self.view }
    }

    /// Whether the stored texts, put side by side, are the answer.
    fn is_plain(&self) -> bool {
        let query = self.query;
        query.filters.is_empty()
            && query.updated_since.is_none()
            && query.search.is_none()
            && query.select.is_none()
            && is_answered_as_stored(self.def)
    }

    /// In the order of ids, without reading what the records hold.
    fn spliced(&self) -> Result<Page, StoreError> {
        let mut page = Pager::new(self.query);
        self.for_each_row(&mut |id, key, bytes| {
            page.add(id, || {
                let (_, shown) = codec::unseal_record(key, bytes)?;
                Ok([shown, "}"].concat())
            })
        })?;
        page.finish()
    }

    /// In the order of ids: records are read until the page is full.
    fn by_id(&self) -> Result<Page, StoreError> {
        let mut page = Pager::new(self.query);
        self.for_each(|id, stored| page.add(id, || self.answer(id, stored)))?;
        page.finish()
    }

    /// In another order: the keys of all that are asked for are sorted, and the page's records read.
    fn by_value(&self) -> Result<Page, StoreError> {
        let Some(sort) = self.query.sort_by_value() else {
            return self.by_id();
        };
        let computed = self.is_computed(&sort.path);
        let mut keyed: Vec<(SortKey, ObjectId)> = Vec::new();
        self.for_each(|id, stored| {
            let key = if computed {
                sort_key(sort, &self.computed(stored)?)
            } else {
                sort_key(sort, stored)
            };
            keyed.push((key, id));
            Ok(true)
        })?;
        keyed.sort_by(|a, b| sort.compare(a, b));
        let mut page = Pager::new(self.query);
        for (_, id) in keyed {
            let Some(stored) = self.view.record(self.def, id)? else {
                continue;
            };
            if !page.add(id, || self.answer(id, &stored))? {
                break;
            }
        }
        page.finish()
    }

    fn answer(&self, id: ObjectId, stored: &Document) -> Result<String, StoreError> {
        if self.query.select.is_none() {
            return Ok(command::answer(self.def, id, stored, &self.ctx())?.text);
        }
        Ok(self.query.select(self.computed(stored)?).to_text())
    }

    /// The record with the rows that are computed at read.
    fn computed(&self, stored: &Document) -> Result<Document, StoreError> {
        Ok(svctrack_core::plan::answer(self.def, stored, &self.ctx())?)
    }

    fn is_computed(&self, name: &str) -> bool {
        self.def.row(name).is_some_and(|row| matches!(row.fill, Fill::OnRead(_)))
    }

    /// Calls `visit` with every record that is asked for, in the order of ids, until it says `false`.
    fn for_each(
        &self,
        mut visit: impl FnMut(ObjectId, &Document) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let computes = self.query.filters.iter().any(|filter| self.is_computed(filter.name));
        let mut visit_admitted = |id: ObjectId, stored: Document| {
            let admitted = if computes {
                self.query.admits(self.def, &self.computed(&stored)?)
            } else {
                self.query.admits(self.def, &stored)
            };
            if admitted { visit(id, &stored) } else { Ok(true) }
        };
        match self.candidates()? {
            Some(ids) => self.for_each_of(&ids, &mut visit_admitted),
            None => self.for_each_stored(&mut visit_admitted),
        }
    }

    fn for_each_of(
        &self,
        ids: &BTreeSet<ObjectId>,
        visit: &mut dyn FnMut(ObjectId, Document) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let descending = self.query.is_descending_by_id();
        let ids: Box<dyn Iterator<Item = &ObjectId>> =
            if descending { Box::new(ids.iter().rev()) } else { Box::new(ids.iter()) };
        for id in ids.filter(|id| self.is_after(**id)) {
            let Some(stored) = self.view.record(self.def, *id)? else {
                continue;
            };
            if !visit(*id, stored)? {
                break;
            }
        }
        Ok(())
    }

    fn for_each_stored(
        &self,
        visit: &mut dyn FnMut(ObjectId, Document) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        self.for_each_row(&mut |id, key, bytes| visit(id, read_document(key, bytes)?))
    }

    /// Calls `visit` with the id, key and bytes of every record, until it says `false`.
    fn for_each_row(&self, visit: &mut RowVisitor<'_>) -> Result<(), StoreError> {
        let key = |id| keys::record(self.view.tenant, self.def.code, id);
        let descending = self.query.is_descending_by_id();
        let (first, last) = match (self.query.after, descending) {
            (Some(after), false) => (key(after), key(ObjectId::MAX)),
            (Some(after), true) => (key(ObjectId::MIN), key(after)),
            (None, _) => (key(ObjectId::MIN), key(ObjectId::MAX)),
        };
        let mut rows = self.tables.records.range(first.as_slice()..=last.as_slice())?;
        while let Some(row) = if descending { rows.next_back() } else { rows.next() } {
            let (key, value) = row?;
            let id = keys::id_at_end(key.value()).filter(|id| self.is_after(*id));
            let Some(id) = id else { continue };
            if !visit(id, key.value(), value.value())? {
                break;
            }
        }
        Ok(())
    }

    fn is_after(&self, id: ObjectId) -> bool {
        match self.query.after {
            Some(after) if self.query.is_descending_by_id() => id < after,
            Some(after) => id > after,
            None => true,
        }
    }

    /// The only records that can be asked for, where an index or the change log tells.
    fn candidates(&self) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        for filter in &self.query.filters {
            let Some(row) = self.def.row(filter.name) else {
                continue;
            };
            let mut ids = BTreeSet::new();
            for value in &filter.values {
                let key = key_of(row, value);
                if row.unique {
                    ids.extend(self.view.find(self.def, row.name, &key)?);
                } else if row.indexed {
                    ids.extend(self.view.holders(self.def, row.name, &key, usize::MAX)?);
                }
            }
            if row.unique || row.indexed {
                return Ok(Some(ids));
            }
        }
        self.query.updated_since.map(|since| self.changed_since(since)).transpose()
    }

    /// The records that the change log names from `since` on.
    fn changed_since(&self, since: Timestamp) -> Result<BTreeSet<ObjectId>, StoreError> {
        let log = self.snapshot.open_table(CHANGES)?;
        let tenant = self.view.tenant;
        let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
        let mut ids = BTreeSet::new();
        for row in log.range(first.as_slice()..=last.as_slice())?.rev() {
            let (key, value) = row?;
            let change: ChangeRow = codec::unseal_row(key.value(), value.value())?;
            if change.at < since {
                break;
            }
            if change.resource == self.def.code {
                ids.insert(change.id);
            }
        }
        Ok(ids)
    }
}

/// Fills a page: passes over the first records, takes as many as are asked for, and sees whether there
/// is one more.
struct Pager<'q> {
    query: &'q ListQuery,
    page: Page,
    to_skip: usize,
    last: Option<ObjectId>,
    bytes: usize,
}

impl<'q> Pager<'q> {
    fn new(query: &'q ListQuery) -> Self {
        let page = Page { items: Vec::new(), next: None };
        Self { query, page, to_skip: query.offset, last: None, bytes: 0 }
    }

    /// Takes the next record; says whether more are wanted.
    fn add(
        &mut self,
        id: ObjectId,
        answer: impl FnOnce() -> Result<String, StoreError>,
    ) -> Result<bool, StoreError> {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return Ok(true);
        }
        if self.page.items.len() == self.query.limit {
            self.page.next = match self.query.sort_by_value() {
                Some(_) => Some(Next::Offset(self.query.offset + self.query.limit)),
                None => self.last.map(Next::After),
            };
            return Ok(false);
        }
        let text = answer()?;
        self.bytes += text.len();
        self.page.items.push(text);
        self.last = Some(id);
        Ok(self.bytes <= MAX_PAGE_BYTES)
    }

    /// The page; one that is too large is refused, since a shorter one would look like the last.
    fn finish(self) -> Result<Page, StoreError> {
        if self.bytes <= MAX_PAGE_BYTES {
            return Ok(self.page);
        }
        let message =
            format!("a page must be at most {MAX_PAGE_BYTES} bytes; ask for fewer records");
        Err(StoreError::Invalid(vec![Issue::of_member("limit", "page_too_large", message)]))
    }
}
