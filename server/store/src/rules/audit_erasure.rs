//! Erasure of a person from the audit log: the names of properties that were changed stay, their values do not,
//! neither as values nor as hashes.

use svctrack_core::{
    audit::{ChangedProperties, ValueTrace},
    plan::KnownPerson,
    resources::ticket::TICKET,
    value::{ObjectId, TenantId},
};

use super::{
    open_tables::{Tables, Transaction},
    person_data::look_through_some,
};
use crate::{
    StoreError,
    rows::{AppendRows as _, Bytes as _, Rows as _, keys, stored_value},
};

/// Maximum number of rows that one command reads: others wait no longer than for a bulk call.
const MAX_ROWS_PER_COMMAND: usize = 500;

type ChangedRow = (Vec<u8>, ChangedProperties);

/// Clears the values of a record from a number of the change log on, a limited number of rows; returns the number to
/// continue with, none when there are no more.
pub(crate) fn clear(
    tables: &mut Tables<impl Transaction>,
    (tenant, resource, id): (TenantId, u8, ObjectId),
    from: u64,
) -> Result<Option<u64>, StoreError> {
    let key = |number| keys::change_of_record(tenant, resource, id, number);
    let (first, last) = (key(from), key(u64::MAX));
    let (mut found, mut next) = (Vec::new(), None);
    let rows = tables.audit_records.written()?.range(first.as_slice()..=last.as_slice())?;
    for (count, row) in rows.enumerate() {
        let (key, value) = row?;
        if count == MAX_ROWS_PER_COMMAND {
            next = keys::sequence_at_end(key.value());
            break;
        }
        found.push((key.value().to_vec(), stored_value::unseal_row(key.value(), value.value())?));
    }
    clear_all(tables, found)?;
    Ok(next)
}

/// Clears the values of tickets after one, a limited number of rows, where they name a person: also of tickets that
/// were deleted. Returns the ticket to continue after, none when there are no more.
pub(crate) fn clear_tickets(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    person: &KnownPerson,
    after: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let first = keys::change_of_record(tenant, TICKET.code, after, u64::MAX);
    let last = keys::change_of_record(tenant, TICKET.code, ObjectId::MAX, u64::MAX);
    let mut theirs = Vec::new();
    let rows = tables.audit_records.written()?.range(first.as_slice()..=last.as_slice())?;
    let (mut read_to, mut whole) = (None, None);
    let is_cut = look_through_some(rows, MAX_ROWS_PER_COMMAND, |key, value| {
        let before = std::mem::replace(&mut read_to, ticket_in(key));
        whole = before.filter(|before| Some(*before) != read_to).or(whole);
        let changed: ChangedProperties = stored_value::unseal_row(key, value)?;
        theirs.extend(read_to.filter(|_| names(&changed, person)));
        Ok(value.len())
    })?
    .is_some();
    theirs.dedup();
    for ticket in theirs {
        let mut from = Some(0);
        while let Some(number) = from {
            from = clear(tables, (tenant, TICKET.code, ticket), number)?;
        }
    }
    // The last ticket may have more rows; where there is no other, it has more than any ticket of a person.
    Ok(whole.or(read_to).filter(|_| is_cut))
}

/// The ticket in the key of a row.
fn ticket_in(key: &[u8]) -> Option<ObjectId> {
    let id = key.get(keys::OWNER_BYTES..)?.first_chunk()?;
    Some(ObjectId::from_bytes(*id))
}

fn names(changed: &ChangedProperties, person: &KnownPerson) -> bool {
    let traces = changed.properties.iter().flat_map(|property| [&property.before, &property.after]);
    traces.flatten().any(|trace| match trace {
        ValueTrace::Value(json) => person.is_in_response(json),
        ValueTrace::Hash(_) => false,
    })
}

fn clear_all(
    tables: &mut Tables<impl Transaction>,
    rows: Vec<ChangedRow>,
) -> Result<(), StoreError> {
    for (key, mut changed) in rows {
        for property in &mut changed.properties {
            (property.before, property.after) = (None, None);
        }
        let value = stored_value::seal_row(&key, &changed)?;
        tables.audit_records.put(&key, value)?;
    }
    Ok(())
}
