//! Data of a person besides their record and their activities, a limited number of rows at a time.

use std::ops::Bound;

use svctrack_core::{
    plan::{KnownPerson, ParkedEvent},
    resources::ticket::TICKET,
    schema::ReadCtx,
    tracking::{activity, integration_issues::ReportEntry},
    value::{Document, ObjectId, TenantId, Timestamp},
};

use super::{command, integration_issues, open_tables::RecordTables, tenant_view::TenantView};
use crate::{
    Page, PageOptions, PageStart, PersonData, StoreError,
    rows::{Bytes, PARKED, REPORT, RowResult, Rows as _, Snapshot, keys, stored_value},
};

/// Maximum number of rows of one scan: others wait no longer than for a bulk call.
const MAX_ROWS: usize = 1_000;
/// About how many bytes of rows one scan reads.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Passes rows to `visit`, which returns how many bytes it read, up to the limit of one scan; returns the id of the
/// last one, none when there are no more.
pub(crate) fn look_through(
    rows: impl Iterator<Item = RowResult<impl Bytes>>,
    visit: impl FnMut(&[u8], &[u8]) -> Result<usize, StoreError>,
) -> Result<Option<ObjectId>, StoreError> {
    look_through_some(rows, MAX_ROWS, visit)
}

/// Scans as [`look_through`] does, with another limit of rows.
pub(crate) fn look_through_some(
    rows: impl Iterator<Item = RowResult<impl Bytes>>,
    max_rows: usize,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<usize, StoreError>,
) -> Result<Option<ObjectId>, StoreError> {
    let (mut bytes, mut read_to) = (0, None);
    for (count, row) in rows.enumerate() {
        if count == max_rows || bytes > MAX_BYTES {
            return Ok(read_to);
        }
        let (key, value) = row?;
        bytes += visit(key.value(), value.value())?;
        read_to = keys::id_at_end(key.value());
    }
    Ok(None)
}

/// Tickets, and the last row that was read.
pub(crate) type Tickets = (Vec<(ObjectId, Document)>, Option<ObjectId>);

/// Tickets of a person among rows, and the last row that was read; none when there are no more.
pub(crate) fn tickets_of(
    person: &KnownPerson,
    rows: impl Iterator<Item = RowResult<impl Bytes>>,
) -> Result<Tickets, StoreError> {
    let mut tickets = Vec::new();
    let read_to = look_through(rows, |key, value| {
        let stored = stored_value::unseal_record(key, value)?;
        if let Some(id) = keys::id_at_end(key).filter(|_| person.is_on_ticket(&stored)) {
            tickets.push((id, stored.document()?));
        }
        Ok(value.len())
    })?;
    Ok((tickets, read_to))
}

/// Rows of a log, or of a resource, after one.
pub(crate) fn rest_of((begin, last): &(Vec<u8>, Vec<u8>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Excluded(begin.as_slice()), Bound::Included(last.as_slice()))
}

/// Range of the tickets of a tenant after one.
pub(crate) fn tickets_after(tenant: TenantId, after: ObjectId) -> (Vec<u8>, Vec<u8>) {
    let bound = |id| keys::record(tenant, TICKET.code, id);
    (bound(after), bound(ObjectId::MAX))
}

/// A page of the data of a person, oldest first.
pub(crate) fn read_page(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    person: &KnownPerson,
    part: PersonData,
    after: Option<ObjectId>,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let after = after.unwrap_or(ObjectId::MIN);
    let (items, read_to) = match part {
        PersonData::Tickets => tickets(snapshot, tenant, person, after, now)?,
        PersonData::Parked => parked(snapshot, tenant, person, after)?,
        PersonData::Report => reported(snapshot, tenant, person, after)?,
    };
    let mut page = Page { next: read_to.map(PageStart::After), ..Page::default() };
    for item in items {
        page.add(&PageOptions::default(), item)?;
    }
    Ok(page)
}

/// Items as JSON, and the last row that was read.
type PersonItems = (Vec<String>, Option<ObjectId>);

fn tickets(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    person: &KnownPerson,
    after: ObjectId,
    now: Timestamp,
) -> Result<PersonItems, StoreError> {
    let tables = RecordTables::open(snapshot)?;
    let view = TenantView::of_snapshot(tenant, &tables);
    let ends = tickets_after(tenant, after);
    let (found, read_to) = tickets_of(person, tables.records.range(rest_of(&ends))?)?;
    let ctx = ReadCtx::new(now, &view);
    let shown = |(id, ticket)| Ok(command::record_response(&TICKET, id, &ticket, &ctx)?.text);
    Ok((found.into_iter().map(shown).collect::<Result<_, StoreError>>()?, read_to))
}

fn parked(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    person: &KnownPerson,
    after: ObjectId,
) -> Result<PersonItems, StoreError> {
    let waits = person.waits();
    let ends = (keys::log(tenant, after), keys::log(tenant, ObjectId::MAX));
    let mut items = Vec::new();
    let table = snapshot.open(PARKED)?;
    let read_to = look_through(table.range(rest_of(&ends))?, |key, value| {
        let parked: ParkedEvent = stored_value::unseal_row(key, value)?;
        if waits.iter().any(|wait| parked.waits.contains(wait)) {
            items.push(activity::parked_response(&parked).to_text());
        }
        Ok(value.len())
    })?;
    Ok((items, read_to))
}

fn reported(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    person: &KnownPerson,
    after: ObjectId,
) -> Result<PersonItems, StoreError> {
    let ends = (keys::log(tenant, after), keys::log(tenant, ObjectId::MAX));
    let mut items = Vec::new();
    let table = snapshot.open(REPORT)?;
    let read_to = look_through(table.range(rest_of(&ends))?, |key, value| {
        let entry: ReportEntry = stored_value::unseal_row(key, value)?;
        if integration_issues::names(&entry, person) {
            items.push(entry.to_response().to_text());
        }
        Ok(value.len())
    })?;
    Ok((items, read_to))
}
