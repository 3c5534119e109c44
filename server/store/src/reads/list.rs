//! Lists: which records are read, in what order, and which of their properties are returned (R13, R14).

use std::{
    collections::BTreeSet,
    ops::RangeInclusive,
    panic::resume_unwind,
    thread::{self, Scope, ScopedJoinHandle},
    vec,
};

use svctrack_core::{
    plan::{is_response_as_stored, response_fields},
    resources,
    schema::{
        FieldDef, FieldKind, Filter, FirstRecords, ListQuery, Lookup as _, ReadCtx, ResourceDef,
        Sort,
    },
    value::{Document, ObjectId, TenantId, Timestamp},
};

use super::{
    bidirectional_scan::{Direction, ScanCursor, ScanFrontier},
    pager::{PIECE_BYTES, PageWithIds, Pager},
};
use crate::{
    PageOptions, StoreError,
    page::RecordText,
    rows::{
        Bytes as _, CHANGES, Rows as _, Snapshot,
        engagement::ReadEngagement,
        keys,
        stored_value::{self, ChangeRow, StoredRecord},
    },
    rules::{open_tables::RecordTables, tenant_view::TenantView},
    support::tenant_permits::SparePermits,
};

/// Rows of a list that are read before another thread reads from its end: these take a millisecond, and a thread a
/// twentieth of one.
const ROWS_ALONE: usize = 1_000;
/// Maximum number of these rows that may match, where the end is read too: so few are among those at the end, which are
/// then read twice.
const MAX_ADMITTED_ALONE: usize = ROWS_ALONE / 8;

/// Maximum number of records that are found from the end of a list before its page is full, in ids of twelve bytes.
const MAX_FOUND: usize = 100_000;

/// Maximum number of rows that a list may skip and return to count as short: as many as the largest page has.
const MAX_SHORT_ROWS: usize = 10_000;

/// Text that sorts before any stored date; below is one that sorts after any.
const EARLIEST: &str = "0";
const LATEST: &str = "9999-12-31T23:59:59.999Z";
/// Text that sorts after the end of any text.
const LAST_CHAR: char = char::MAX;
/// Maximum number of records that are taken from a range of an index or from a log: among more, a page is soon full.
const MAX_IN_RANGE: usize = if cfg!(test) { 200 } else { 20_000 };

/// Whether a list reads a limited number of records, whatever is stored.
pub(crate) fn is_short(def: &ResourceDef, query: &ListQuery) -> bool {
    if values_of(query, |field| field.unique || field.kind == FieldKind::Id).is_some() {
        return true;
    }
    let takes_all = !query.is_filtered() && !query.count && def.left_out.is_none();
    let in_order = query.sort_by_value().is_none();
    takes_all && in_order && query.offset.saturating_add(query.limit) <= MAX_SHORT_ROWS
}

/// First filtered field for which `is` holds that is limited to some values, and these values.
fn values_of(
    query: &ListQuery,
    is: impl Fn(&FieldDef) -> bool,
) -> Option<(&'static FieldDef, Vec<&str>)> {
    let mut filters = query.filters.iter().filter(|filter| is(filter.field));
    filters.find_map(|filter| Some((filter.field, filter.texts()?)))
}

/// First filtered field for which `is` holds that is limited to a prefix, and this prefix.
fn beginning_of(
    query: &ListQuery,
    is: impl Fn(&FieldDef) -> bool,
) -> Option<(&'static FieldDef, &str)> {
    let mut filters = query.filters.iter().filter(|filter| is(filter.field));
    filters.find_map(|filter| Some((filter.field, filter.beginning()?)))
}

/// First filtered field for which `is` holds that is limited to a range of dates, and this range in stored form.
fn dates_of(
    query: &ListQuery,
    is: impl Fn(&FieldDef) -> bool,
) -> Option<(&'static FieldDef, RangeInclusive<&str>)> {
    let ends = |filter: &Filter| filter.dates() != (None, None);
    let field = query.filters.iter().find(|filter| is(filter.field) && ends(filter))?.field;
    let dates = query.filters.iter().filter(|filter| filter.field.name == field.name);
    let (mut first, mut last) = (EARLIEST, LATEST);
    for (from, to) in dates.map(Filter::dates) {
        first = from.map_or(first, |from| first.max(from));
        last = to.map_or(last, |to| last.min(to));
    }
    Some((field, first..=last))
}

fn is_computed(def: &ResourceDef, name: &str) -> bool {
    def.field(name).is_some_and(|field| field.computed_at_read().is_some())
}

/// Query of a list, for a tenant.
#[derive(Clone)]
pub(crate) struct ListRequest {
    pub(crate) tenant: TenantId,
    pub(crate) def: &'static ResourceDef,
    pub(crate) query: ListQuery,
    pub(crate) now: Timestamp,
    pub(crate) page_options: PageOptions,
}

/// A page of records.
pub(crate) fn list(
    snapshot: &impl Snapshot,
    asked: &ListRequest,
    spare: &SparePermits,
) -> Result<PageWithIds, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(asked.tenant, &tables);
    let mut query = asked.query.clone();
    resources::resolve(&mut query.filters, asked.def, &view)?;
    let listing = Listing::new(snapshot, &tables, &view, (asked.def, asked.now), &query);
    let page = Pager::new(&query, &asked.page_options, query.offset);
    match query.sort_by_value() {
        None => listing.by_id(page, spare),
        Some(sort) => match listing.ordered(sort) {
            Some((field, dates)) => listing.by_date(page, sort, field, dates),
            None => listing.by_value(sort, &asked.page_options),
        },
    }
}

/// Reads further records of a page, in their order; `longest` is the size of the longest one, in bytes.
pub(crate) fn read_on(
    asked: &ListRequest,
    snapshot: &impl Snapshot,
    ids: &mut vec::IntoIter<ObjectId>,
    longest: usize,
) -> Result<Vec<u8>, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(asked.tenant, &tables);
    let listing = Listing::new(snapshot, &tables, &view, (asked.def, asked.now), &asked.query);
    let mut piece = Vec::with_capacity(PIECE_BYTES + longest);
    while piece.len() < PIECE_BYTES {
        let Some(id) = ids.next() else { break };
        let add = |stored: StoredRecord<'_>| {
            asked.page_options.write(listing.response(stored)?)?.append_to(&mut piece);
            Ok(())
        };
        view.read(asked.def, id, add)?;
        if !ids.as_slice().is_empty() {
            piece.extend_from_slice(asked.page_options.separator().as_bytes());
        }
    }
    Ok(piece)
}

fn is_computed_filter(filter: &Filter) -> bool {
    filter.field.computed_at_read().is_some()
}

/// Dates by which records are found without an index.
const CREATED_AT: &str = "createdAt";
const UPDATED_AT: &str = "updatedAt";
const LAST_ACTIVE: &str = "lastActive";

/// Visits a stored record; returns whether more are wanted.
type Visitor<'v> = dyn FnMut(ObjectId, StoredRecord<'_>) -> Result<bool, StoreError> + 'v;

struct Listing<'a, S: Snapshot> {
    snapshot: &'a S,
    tables: &'a RecordTables<S>,
    view: &'a TenantView<'a, RecordTables<S>>,
    def: &'static ResourceDef,
    query: &'a ListQuery,
    /// Context of the whole list, so that data that its rows share is looked up once.
    ctx: ReadCtx<'a>,
    /// Whether the list filters by values that are computed at read.
    filters_computed: bool,
    /// Whether nothing of a record is computed at read, so that it is returned as it is stored.
    is_returned_as_stored: bool,
}

impl<'a, S: Snapshot> Listing<'a, S> {
    fn new(
        snapshot: &'a S,
        tables: &'a RecordTables<S>,
        view: &'a TenantView<'a, RecordTables<S>>,
        (def, now): (&'static ResourceDef, Timestamp),
        query: &'a ListQuery,
    ) -> Self {
        let ctx = ReadCtx::new(now, view);
        let filters_computed = query.filters.iter().any(is_computed_filter);
        let is_returned_as_stored = query.select.is_none() && is_response_as_stored(def);
        Self { snapshot, tables, view, def, query, ctx, filters_computed, is_returned_as_stored }
    }

    /// In the order of ids: records are read until the page is full.
    fn by_id(&self, mut page: Pager<'_>, spare: &SparePermits) -> Result<PageWithIds, StoreError> {
        if self.query.count {
            page.set_total(self.total()?);
        }
        let mut add = |id, stored: StoredRecord<'_>| page.add(id, || self.response(stored));
        let passes_over_some = self.query.is_filtered();
        match self.candidates()? {
            None if passes_over_some => self.for_each_from_both_ends(spare, &mut add)?,
            candidates => self.for_each(candidates, &mut add)?,
        }
        page.finish()
    }

    /// Number of records on all pages.
    fn total(&self) -> Result<u64, StoreError> {
        let query = &ListQuery { after: None, ..self.query.clone() };
        let ctx = ReadCtx::new(self.ctx.now, self.view);
        let listing = Listing { query, ctx, ..*self };
        let mut total = 0;
        listing.for_each(listing.candidates()?, &mut |_, _| {
            total += 1;
            Ok(true)
        })?;
        Ok(total)
    }

    /// Field of an order in which the index has all matching records, and the range of their dates.
    fn ordered(&self, sort: &Sort) -> Option<(&'static FieldDef, RangeInclusive<&str>)> {
        let query = self.query;
        let field = self.def.field(&sort.path).filter(|field| field.ordered)?;
        let is_near = query.offset.saturating_add(query.limit) <= MAX_SHORT_ROWS;
        if query.count || query.search.is_some() || query.updated_since.is_some() || !is_near {
            return None;
        }
        if query.filters.is_empty() {
            return Some((field, ""..=LATEST));
        }
        let of_field = |filter: &Filter| filter.field.name == field.name;
        let has_ends = |filter: &Filter| of_field(filter) && filter.dates() != (None, None);
        query.filters.iter().all(has_ends).then(|| dates_of(query, |one| one.name == field.name))?
    }

    /// In the order of an index: records are read until the page is full.
    fn by_date(
        &self,
        mut page: Pager<'_>,
        sort: &Sort,
        field: &FieldDef,
        dates: RangeInclusive<&str>,
    ) -> Result<PageWithIds, StoreError> {
        if dates.is_empty() {
            return page.finish();
        }
        let mut ids = self.view.in_range(self.def, field.name, dates.start(), dates.end())?;
        let mut next = || if sort.descending { ids.next_back() } else { ids.next() };
        while let Some(id) = next() {
            let id = id?;
            let add = |stored: StoredRecord<'_>| {
                Ok(!self.matches(stored)? || page.add(id, || self.response(stored))?)
            };
            if self.view.read(self.def, id, add)? == Some(false) {
                break;
            }
        }
        page.finish()
    }

    /// A page in another order: the first records are found among all that match, and those of the page are read.
    fn by_value(&self, sort: &Sort, page_options: &PageOptions) -> Result<PageWithIds, StoreError> {
        let query = self.query;
        // One record more than the page holds shows whether there is another page.
        let wanted = query.offset.saturating_add(query.limit).saturating_add(1);
        let mut first = FirstRecords::new(sort, wanted);
        let mut total = 0;
        let computed = is_computed(self.def, &sort.path);
        self.for_each(self.candidates()?, &mut |id, stored| {
            let key = if computed {
                sort.key(&self.computed(stored, &|field| field.name == sort.path)?)
            } else {
                sort.key(&stored)
            };
            total += 1;
            first.add(key, id).map_err(|issue| StoreError::Invalid(vec![issue]))?;
            Ok(true)
        })?;
        let mut page = Pager::new(query, page_options, 0);
        if query.count {
            page.set_total(total);
        }
        for id in first.into_ids().into_iter().skip(query.offset) {
            let add = |stored: StoredRecord<'_>| page.add(id, || self.response(stored));
            if self.view.read(self.def, id, add)? == Some(false) {
                break;
            }
        }
        page.finish()
    }

    /// A record as it is returned.
    fn response<'b>(&self, stored: StoredRecord<'b>) -> Result<RecordText<'b>, StoreError> {
        if self.is_returned_as_stored {
            let unclosed = stored.shown_without_brace()?;
            return Ok(RecordText::Stored { unclosed, checksum: stored.checksum() });
        }
        let Some(select) = &self.query.select else {
            let wanted = |field: &FieldDef| !field.is_on_request();
            return Ok(RecordText::Computed(self.computed(stored, &wanted)?.to_text()));
        };
        let selected = |field: &FieldDef| select.iter().any(|wanted| wanted == field.name);
        let selected = self.query.select(self.computed(stored, &selected)?);
        Ok(RecordText::Computed(selected.to_text()))
    }

    /// The record with the wanted fields that are computed at read.
    fn computed(
        &self,
        stored: StoredRecord<'_>,
        wanted: &dyn Fn(&FieldDef) -> bool,
    ) -> Result<Document, StoreError> {
        Ok(response_fields(self.def, &stored.document()?, wanted, &self.ctx)?)
    }

    /// Passes every matching record to `visit`, in the order of ids, until it returns `false`.
    fn for_each(
        &self,
        candidates: Option<BTreeSet<ObjectId>>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        let mut visit_admitted =
            |id, stored: StoredRecord<'_>| Ok(!self.matches(stored)? || visit(id, stored)?);
        match (candidates, self.direction()) {
            (Some(ids), Direction::Ascending) => {
                self.for_each_of(ids.into_iter(), &mut visit_admitted)
            }
            (Some(ids), Direction::Descending) => {
                self.for_each_of(ids.into_iter().rev(), &mut visit_admitted)
            }
            (None, direction) => self.for_each_stored(direction, &mut visit_admitted),
        }
    }

    /// Whether a record matches. A filter on a value that is computed at read is the only reason to read the record as
    /// a whole, once it passes the others.
    fn matches(&self, stored: StoredRecord<'_>) -> Result<bool, StoreError> {
        let is_read_as_stored = |field: &FieldDef| field.computed_at_read().is_none();
        if !self.query.matches_where(self.def, &stored, is_read_as_stored) {
            return Ok(false);
        }
        if !self.filters_computed {
            return Ok(true);
        }
        let filters = || self.query.filters.iter().filter(|filter| is_computed_filter(filter));
        let computed = self
            .computed(stored, &|field| filters().any(|filter| filter.field.name == field.name))?;
        Ok(filters().all(|filter| filter.matches(&computed)))
    }

    fn for_each_of(
        &self,
        ids: impl Iterator<Item = ObjectId>,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        for id in ids.filter(|id| self.is_after(*id)) {
            if self.view.read(self.def, id, |stored| visit(id, stored))? == Some(false) {
                break;
            }
        }
        Ok(())
    }

    /// Visits the records as [`Self::for_each`] does, where all are read: once most of the first ones were skipped,
    /// from both ends at a time, which takes half the time where a processor is idle.
    fn for_each_from_both_ends(
        &self,
        spare: &SparePermits,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        let meeting = ScanFrontier::default();
        let mut near = meeting.cursor(self.direction());
        let (mut wants_more, mut rows, mut admitted) = (true, 0, 0);
        let far = thread::scope(|scope| {
            let mut far = None;
            let ending = meeting.ends_with_this();
            let read = self.for_each_stored(self.direction(), &mut |id, stored| {
                if rows == ROWS_ALONE && admitted <= MAX_ADMITTED_ALONE {
                    far = self.start_far(scope, spare, &meeting);
                }
                rows += 1;
                if !near.goes_on_to(id) {
                    return Ok(false);
                }
                if self.matches(stored)? {
                    admitted += 1;
                    wants_more = visit(id, stored)?;
                }
                Ok(wants_more)
            });
            drop(ending);
            let far = far.map(ScopedJoinHandle::join);
            read.map(|()| far.filter(|_| near.has_met()))
        })?;
        // These records are few, and are read twice.
        let found =
            far.map_or(Ok(Vec::new()), |far| far.unwrap_or_else(|thrown| resume_unwind(thrown)));
        self.for_each_of(found?.into_iter().rev().filter(|id| near.has_not_come_to(*id)), visit)
    }

    /// Starts to read from the end, unless others need the processors, or the system has no room for a thread.
    fn start_far<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        spare: &'s SparePermits,
        meeting: &'s ScanFrontier,
    ) -> Option<ScopedJoinHandle<'s, Result<Vec<ObjectId>, StoreError>>> {
        let turn = spare.take()?;
        let far = meeting.cursor(self.direction().opposite());
        let &Self { snapshot, tables, view, def, query, .. } = self;
        let (tenant, now) = (view.tenant, self.ctx.now);
        let find = move || {
            let _turn = turn;
            // Each thread needs a view of its own.
            let view = &TenantView::of_snapshot(tenant, tables);
            let listing = Listing::new(snapshot, tables, view, (def, now), query);
            listing.find_backwards(far)
        };
        thread::Builder::new().name("list".to_owned()).spawn_scoped(scope, find).ok()
    }

    /// Finds records from the end of the list towards its beginning, up to [`MAX_FOUND`].
    fn find_backwards(&self, mut far: ScanCursor<'_>) -> Result<Vec<ObjectId>, StoreError> {
        let mut found = Vec::new();
        self.for_each_stored(self.direction().opposite(), &mut |id, stored| {
            if found.len() == MAX_FOUND || !far.goes_on_to(id) {
                return Ok(false);
            }
            if self.matches(stored)? {
                found.push(id);
            }
            Ok(true)
        })?;
        Ok(found)
    }

    fn for_each_stored(
        &self,
        direction: Direction,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        let key = |id| keys::record(self.view.tenant, self.def.code, id);
        let lowest = self.first_id();
        let (first, last) = match self.query.after {
            Some(after) if self.query.is_descending_by_id() => (lowest, after),
            Some(after) => (after.max(lowest), ObjectId::MAX),
            None => (lowest, ObjectId::MAX),
        };
        if first > last {
            return Ok(());
        }
        let (first, last) = (key(first), key(last));
        let mut rows = self.tables.records.range(first.as_slice()..=last.as_slice())?;
        while let Some(row) = direction.next_of(&mut rows) {
            let (key, value) = row?;
            let id = keys::id_at_end(key.value()).filter(|id| self.is_after(*id));
            let Some(id) = id else { continue };
            if !visit(id, stored_value::unseal_record(key.value(), value.value())?)? {
                break;
            }
        }
        Ok(())
    }

    /// In which order of ids the page is.
    fn direction(&self) -> Direction {
        match self.query.is_descending_by_id() {
            true => Direction::Descending,
            false => Direction::Ascending,
        }
    }

    fn is_after(&self, id: ObjectId) -> bool {
        match self.query.after {
            Some(after) if self.query.is_descending_by_id() => id < after,
            Some(after) => id > after,
            None => true,
        }
    }

    /// The only records that can match, where an index or the change log has them.
    fn candidates(&self) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        if let Some((_, ids)) = values_of(self.query, |field| field.kind == FieldKind::Id) {
            return Ok(Some(ids.into_iter().filter_map(ObjectId::parse).collect()));
        }
        if let Some((field, keys)) = values_of(self.query, |field| field.unique) {
            let found = keys.into_iter().map(|key| self.view.find(self.def, field.name, key));
            let found: Vec<_> = found.collect::<Result<_, _>>()?;
            return Ok(Some(found.into_iter().flatten().collect()));
        }
        if let Some((field, keys)) = values_of(self.query, |field| field.indexed) {
            let mut ids = BTreeSet::new();
            for key in keys {
                ids.extend(self.view.holders(self.def, field.name, key, usize::MAX)?);
            }
            return Ok(Some(ids));
        }
        if let Some((field, dates)) = dates_of(self.query, |field| field.ordered) {
            if dates.is_empty() {
                return Ok(Some(BTreeSet::new()));
            }
            return self.in_range(field, dates.start(), dates.end());
        }
        if let Some((field, start)) = beginning_of(self.query, |field| field.indexed) {
            return self.in_range(field, start, &format!("{start}{LAST_CHAR}"));
        }
        if let Some(times) = self.times_of(LAST_ACTIVE) {
            let of = (self.view.tenant, self.def.code);
            let ids = self.tables.engagement.active_between(of, &times, MAX_FOUND)?;
            return Ok(ids.map(BTreeSet::from_iter));
        }
        let updated = self.times_of(UPDATED_AT).map(|times| *times.start());
        match self.query.updated_since.max(updated) {
            Some(since) => self.changed_since(since),
            None => self.with_part(),
        }
    }

    /// Records with a part of a text that a filter asks for, where an index has the texts as the records do; none where
    /// they are too many.
    fn with_part(&self) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        // An index in lower case has others.
        let is_indexed = |field: &FieldDef| field.indexed && !field.folded;
        let mut filters = self.query.filters.iter();
        match filters.find(|filter| filter.is_on_part() && is_indexed(filter.field)) {
            Some(part) => {
                let meets = |text: &str| part.is_met_by(text);
                self.view.holders_where(self.def, part.field.name, MAX_IN_RANGE, meets)
            }
            None => Ok(None),
        }
    }

    /// Records that an index has in a range; none where they are too many.
    fn in_range(
        &self,
        field: &FieldDef,
        first: &str,
        last: &str,
    ) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        let ids = self.view.in_range(self.def, field.name, first, last)?;
        let ids: BTreeSet<_> = ids.take(MAX_IN_RANGE + 1).collect::<Result<_, _>>()?;
        Ok((ids.len() <= MAX_IN_RANGE).then_some(ids))
    }

    /// Range of times to which the filters limit a property.
    fn times_of(&self, name: &str) -> Option<RangeInclusive<Timestamp>> {
        let (_, dates) = dates_of(self.query, |field| field.name == name)?;
        let first = Timestamp::parse(dates.start()).unwrap_or(Timestamp::MIN);
        Some(first..=Timestamp::parse(dates.end())?)
    }

    /// The first id that a record may have: an id is not taken before the record is created, though it may be later
    /// after a clock was set back.
    fn first_id(&self) -> ObjectId {
        let created = self.times_of(CREATED_AT);
        created.map_or(ObjectId::MIN, |times| ObjectId::first_at(*times.start()))
    }

    /// Records that the change log names from `since` on; none where it names too many.
    fn changed_since(&self, since: Timestamp) -> Result<Option<BTreeSet<ObjectId>>, StoreError> {
        let log = self.snapshot.open(CHANGES)?;
        let tenant = self.view.tenant;
        let (first, last) = (keys::change(tenant, 0), keys::change(tenant, u64::MAX));
        let mut ids = BTreeSet::new();
        for row in log.range(first.as_slice()..=last.as_slice())?.rev() {
            let (key, value) = row?;
            let change: ChangeRow = stored_value::unseal_row(key.value(), value.value())?;
            if change.at < since {
                break;
            }
            if ids.len() > MAX_IN_RANGE {
                return Ok(None);
            }
            if change.resource == self.def.code {
                ids.insert(change.id);
            }
        }
        Ok(Some(ids))
    }
}
