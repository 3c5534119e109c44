//! The keys of the tables. `server/docs/storage.md` draws them all, with their values ("Layout on disk").
//!
//! Every key but those of `meta`, `tokens` and the log of engagement begins with the tenant, so that no range of one
//! tenant reaches into another's. Numbers are big-endian, so that the order of keys is the order of their values. Texts
//! in keys have no NUL, which ends them.

use svctrack_core::{
    plan::ParkedWait,
    value::{ObjectId, TenantId},
};

/// Bytes of a tenant at the front of a key.
pub(crate) const TENANT_BYTES: usize = 16;
/// Bytes of tenant and resource at the front of a key.
pub(crate) const OWNER_BYTES: usize = TENANT_BYTES + 1;
/// Bytes of a record's id.
pub(crate) const ID_BYTES: usize = 12;

fn tenant_key(tenant: TenantId, rest: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(TENANT_BYTES + rest);
    key.extend_from_slice(tenant.as_bytes());
    key
}

/// Key of a token among those of its tenant.
pub(crate) fn token_of_tenant(tenant: TenantId, token: &str) -> Vec<u8> {
    let mut key = tenant_key(tenant, token.len());
    key.extend_from_slice(token.as_bytes());
    key
}

pub(crate) fn record(tenant: TenantId, resource: u8, id: ObjectId) -> Vec<u8> {
    let mut key = tenant_key(tenant, 1 + ID_BYTES);
    key.push(resource);
    key.extend_from_slice(id.as_bytes());
    key
}

/// Key of a mark on an activity in the history of a record.
pub(crate) fn mark(tenant: TenantId, resource: u8, id: ObjectId, activity: ObjectId) -> Vec<u8> {
    let mut key = record(tenant, resource, id);
    key.extend_from_slice(activity.as_bytes());
    key
}

/// Key of a value that only one record may hold.
pub(crate) fn unique(tenant: TenantId, resource: u8, row: &str, value: &str) -> Vec<u8> {
    let mut key = tenant_key(tenant, 2 + row.len() + value.len());
    key.push(resource);
    key.extend_from_slice(row.as_bytes());
    key.push(0);
    key.extend_from_slice(value.as_bytes());
    key
}

/// The end of an index key, after tenant and resource as keys have them.
pub(crate) fn entry(owner: &[u8], row: &str, value: &str) -> Vec<u8> {
    [owner, row.as_bytes(), &[0], value.as_bytes()].concat()
}

/// Key of a value that several records may hold.
pub(crate) fn index(
    tenant: TenantId,
    resource: u8,
    row: &str,
    value: &str,
    id: ObjectId,
) -> Vec<u8> {
    let mut key = unique(tenant, resource, row, value);
    key.push(0);
    key.extend_from_slice(id.as_bytes());
    key
}

/// The ends of an index.
pub(crate) fn index_range(tenant: TenantId, resource: u8, row: &str) -> (Vec<u8>, Vec<u8>) {
    let first = unique(tenant, resource, row, "");
    // No text has this byte.
    let last = [first.as_slice(), &[u8::MAX]].concat();
    (first, last)
}

/// Value and record in the key of a row of an index that begins so.
pub(crate) fn entry_in<'k>(index: &[u8], key: &'k [u8]) -> Option<(&'k [u8], ObjectId)> {
    let (front, id) = key.strip_prefix(index)?.split_last_chunk::<ID_BYTES>()?;
    Some((front.strip_suffix(&[0])?, ObjectId::from_bytes(*id)))
}

/// The beginning of the rows after a value in an index that begins so.
pub(crate) fn after_value(index: &[u8], value: &[u8]) -> Vec<u8> {
    // No text has a byte below this one.
    [index, value, &[1]].concat()
}

/// User and company in the key of a row of `index` that names the company of a user.
pub(crate) fn user_of_company(key: &[u8]) -> Option<(ObjectId, ObjectId)> {
    let (front, user) = key.split_last_chunk::<ID_BYTES>()?;
    let (_, company) = front.strip_suffix(&[0])?.split_last_chunk::<{ 2 * ID_BYTES }>()?;
    let company = ObjectId::parse(str::from_utf8(company).ok()?)?;
    Some((ObjectId::from_bytes(*user), company))
}

/// Key of a row of a tenant's log, and of the facts of a license.
pub(crate) fn log(tenant: TenantId, id: ObjectId) -> Vec<u8> {
    let mut key = tenant_key(tenant, ID_BYTES);
    key.extend_from_slice(id.as_bytes());
    key
}

/// The ends of a tenant's log.
pub(crate) fn log_range(tenant: TenantId) -> (Vec<u8>, Vec<u8>) {
    (log(tenant, ObjectId::MIN), log(tenant, ObjectId::MAX))
}

/// Key of a parked event under an index entry that it waits for.
pub(crate) fn waiting(tenant: TenantId, wait: &ParkedWait, id: ObjectId) -> Vec<u8> {
    index(tenant, wait.resource, &wait.row, &wait.key, id)
}

/// Key of a mark on the events that wait for an index entry.
pub(crate) fn due(tenant: TenantId, wait: &ParkedWait) -> Vec<u8> {
    unique(tenant, wait.resource, &wait.row, &wait.key)
}

/// Ends of all keys of a tenant whose next byte is that of a resource.
pub(crate) fn all_of(tenant: TenantId) -> (Vec<u8>, Vec<u8>) {
    let mut last = tenant_key(tenant, 1);
    last.push(u8::MAX);
    (tenant_key(tenant, 0), last)
}

/// Encoding of the id of an event: a UUID as its 16 bytes, any other id as it was sent.
const AS_UUID: u8 = 1;
const AS_TEXT: u8 = 0;

/// Key of the id of an event that was received.
pub(crate) fn message(tenant: TenantId, week: u16, id: &str) -> Vec<u8> {
    let mut key = messages_from(tenant, week);
    match canonical_uuid(id) {
        Some(uuid) => {
            key.push(AS_UUID);
            key.extend_from_slice(uuid.as_bytes());
        }
        None => {
            key.push(AS_TEXT);
            key.extend_from_slice(id.as_bytes());
        }
    }
    key
}

/// Parses a UUID in its canonical form only (hyphens, lower case), so that two spellings stay two ids.
fn canonical_uuid(id: &str) -> Option<TenantId> {
    TenantId::parse(id).filter(|_| !id.bytes().any(|byte| byte.is_ascii_uppercase()))
}

/// Beginning of the ids of a week.
pub(crate) fn messages_from(tenant: TenantId, week: u16) -> Vec<u8> {
    let mut key = tenant_key(tenant, 3 + 16);
    key.extend_from_slice(&week.to_be_bytes());
    key
}

/// Key of the same id of an event in another week.
pub(crate) fn message_in(mut key: Vec<u8>, week: u16) -> Vec<u8> {
    if let Some(in_key) = key.get_mut(TENANT_BYTES..).and_then(<[u8]>::first_chunk_mut) {
        *in_key = week.to_be_bytes();
    }
    key
}

/// The week in the key of the id of an event.
pub(crate) fn window_of(key: &[u8]) -> Option<u16> {
    let week = key.get(TENANT_BYTES..)?.first_chunk()?;
    Some(u16::from_be_bytes(*week))
}

/// Bytes of the hash of a cause.
pub(crate) const CAUSE_BYTES: usize = 16;

/// Key of a cause of the report.
pub(crate) fn cause(tenant: TenantId, hash: &[u8; CAUSE_BYTES]) -> Vec<u8> {
    let mut key = tenant_key(tenant, CAUSE_BYTES);
    key.extend_from_slice(hash);
    key
}

/// Key of the outcome of a command that is carried out once.
pub(crate) fn once(tenant: TenantId, hash: &[u8; 32]) -> Vec<u8> {
    let mut key = tenant_key(tenant, hash.len());
    key.extend_from_slice(hash);
    key
}

/// Key of a hash of an erased person.
pub(crate) fn suppressed(tenant: TenantId, hash: &[u8; 32]) -> Vec<u8> {
    once(tenant, hash)
}

/// The tenant at the front of a key.
pub(crate) fn tenant_of(key: &[u8]) -> Option<TenantId> {
    key.first_chunk::<TENANT_BYTES>().map(|bytes| TenantId::from_bytes(*bytes))
}

/// Key of a row of the change log, and of the version that the change replaced.
pub(crate) fn change(tenant: TenantId, sequence: u64) -> Vec<u8> {
    let mut key = tenant_key(tenant, 8);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// Key of the properties that a change changed of a record, under its sequence.
pub(crate) fn change_of_record(
    tenant: TenantId,
    resource: u8,
    id: ObjectId,
    sequence: u64,
) -> Vec<u8> {
    let mut key = record(tenant, resource, id);
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// Key of a closed month, such as `2026-01`.
pub(crate) fn closing(tenant: TenantId, month: &str) -> Vec<u8> {
    counter(tenant, month)
}

/// Key of the progress of tallying activities of a tenant.
pub(crate) fn usage_head(tenant: TenantId) -> Vec<u8> {
    let mut key = tenant_key(tenant, 1);
    key.push(0);
    key
}

/// Key of a block of usage: of a run (its level, and the last activity in it), from a user on.
pub(crate) fn usage(
    (tenant, level, run): (TenantId, u8, ObjectId),
    first_user: ObjectId,
) -> Vec<u8> {
    mark(tenant, level + 1, run, first_user)
}

/// The ends of the blocks of a level.
pub(crate) fn usage_level(tenant: TenantId, level: u8) -> (Vec<u8>, Vec<u8>) {
    let end = |id| usage((tenant, level, id), id);
    (end(ObjectId::MIN), end(ObjectId::MAX))
}

/// The run in the key of a block of usage.
pub(crate) fn run_of_usage(key: &[u8]) -> Option<ObjectId> {
    let run = key.get(OWNER_BYTES..)?.first_chunk()?;
    Some(ObjectId::from_bytes(*run))
}

/// Key of a tenant's counter.
pub(crate) fn counter(tenant: TenantId, name: &str) -> Vec<u8> {
    let mut key = tenant_key(tenant, name.len());
    key.extend_from_slice(name.as_bytes());
    key
}

/// The id at the end of a key of `records`, `index`, `activities`, `activity_marks` or `parked`.
pub(crate) fn id_at_end(key: &[u8]) -> Option<ObjectId> {
    key.last_chunk::<ID_BYTES>().map(|bytes| ObjectId::from_bytes(*bytes))
}

/// The sequence number at the end of a key of `changes`, `audit` or `audit_records`.
pub(crate) fn sequence_at_end(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_layout_is_as_drawn() {
        let tenant = TenantId::from_bytes([0xaa; 16]);
        let id = ObjectId::from_bytes([0x11; 12]);
        let (t, i) = ("aa".repeat(16), "11".repeat(12));
        assert_eq!(hex(&record(tenant, 2, id)), format!("{t}02{i}"));
        assert_eq!(hex(&mark(tenant, 2, id, id)), format!("{t}02{i}{i}"));
        assert_eq!(hex(&unique(tenant, 2, "row", "v")), format!("{t}02726f770076"));
        assert_eq!(hex(&index(tenant, 2, "row", "v", id)), format!("{t}02726f77007600{i}"));
        assert_eq!(hex(&log(tenant, id)), format!("{t}{i}"));
        assert_eq!(hex(&change(tenant, 258)), format!("{t}0000000000000102"));
        let of_record = hex(&change_of_record(tenant, 2, id, 258));
        assert_eq!(of_record, format!("{t}02{i}0000000000000102"));
        let wait = ParkedWait { resource: 2, row: "row".to_owned(), key: "v".to_owned() };
        assert_eq!(waiting(tenant, &wait, id), index(tenant, 2, "row", "v", id));
        assert_eq!(hex(&message(tenant, 258, "m")), format!("{t}0102006d"));
        let uuid = "11111111-1111-1111-1111-11111111111a";
        assert_eq!(hex(&message(tenant, 258, uuid)), format!("{t}010201{}1a", "11".repeat(15)));
        assert_eq!(hex(&cause(tenant, &[0x22; 16])), format!("{t}{}", "22".repeat(16)));
        assert_eq!(tenant_of(&log(tenant, id)), Some(tenant));
        assert_eq!(id_at_end(&index(tenant, 2, "row", "v", id)), Some(id));
        assert_eq!(sequence_at_end(&change(tenant, 258)), Some(258));
    }

    #[test]
    fn the_id_of_an_event_is_a_uuid_only_as_it_is_written() {
        let uuid = "0123abcd-4567-89ab-cdef-0123456789ab";
        let spellings = [
            (uuid.to_owned(), true),
            (uuid.to_uppercase(), false),
            (uuid.replacen('a', "A", 1), false),
            (uuid.replace('-', ""), false),
            (format!("{{{uuid}}}"), false),
            (format!("urn:uuid:{uuid}"), false),
            (uuid.replace('-', "0"), false),
            (uuid.replacen("0123", "012g", 1), false),
            ("é".repeat(18), false),
        ];
        for (id, expected) in spellings {
            assert_eq!(canonical_uuid(&id).is_some(), expected, "{id}");
            let written_back = TenantId::parse(&id).is_some_and(|uuid| uuid.to_string() == id);
            assert_eq!(expected, written_back, "{id}");
        }
    }
}
