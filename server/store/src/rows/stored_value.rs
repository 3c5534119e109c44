//! The bytes of a stored value: a format byte, a checksum over the key and the rest, and the value itself. A value that
//! is not what was written under its key is reported, never served.
//!
//! Rows of logs are postcard: fields are only ever added at the end, and variants of an enum after the others, since
//! both are identified by their position.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use svctrack_core::{
    plan::stored_text,
    value::{Document, JsonRef, Members, json_reader::parse_stored, member::member_in},
};

use super::keys;
use crate::StoreError;

/// The only format: CRC-32 in four bytes, then JSON (records) or postcard (logs).
const FORMAT: u8 = 1;
/// Bytes before the value.
const HEADER_BYTES: usize = 5;

/// Initial capacity for a row of a log, in bytes: few need more, and are moved while they are written.
const ROW_BYTES: usize = 128;

/// Bytes of the length of a record's visible text.
const SHOWN_BYTES: usize = 4;

/// One row of the change log (`changes`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangeRow {
    pub(crate) resource: u8,
    pub(crate) id: svctrack_core::value::ObjectId,
    pub(crate) kind: ChangeKind,
    /// Version of the record after the change; before it for a delete.
    pub(crate) version: i64,
    /// Time of the change; never before that of the previous row.
    pub(crate) at: svctrack_core::value::Timestamp,
    /// Id of the caller's token; none for an event.
    pub(crate) token: Option<String>,
}

/// Kind of a change of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ChangeKind {
    Created,
    Updated,
    Deleted,
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize().to_be_bytes()
}

/// The stored bytes of `value` under `key`.
pub(crate) fn seal(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + value.len());
    bytes.push(FORMAT);
    bytes.extend_from_slice(&checksum(key, value));
    bytes.extend_from_slice(value);
    bytes
}

/// Value in `bytes`, if they are what was written under `key`.
pub(crate) fn unseal<'b>(key: &[u8], bytes: &'b [u8]) -> Result<&'b [u8], StoreError> {
    match bytes.split_at_checked(HEADER_BYTES) {
        Some(([FORMAT, sum @ ..], value)) if *sum == checksum(key, value) => Ok(value),
        _ => Err(StoreError::corrupted(format!(
            "a value of {} bytes fails its checksum",
            bytes.len()
        ))),
    }
}

/// Value of a known length in `bytes`, if they are what was written under `key`.
pub(crate) fn unseal_exact<const N: usize>(
    key: &[u8],
    bytes: &[u8],
) -> Result<[u8; N], StoreError> {
    let value = unseal(key, bytes)?;
    value
        .try_into()
        .map_err(|_| StoreError::corrupted(format!("a value of {N} bytes has {}", value.len())))
}

/// Stored bytes of a record: the length of its visible text, and the text.
pub(crate) fn seal_record(key: &[u8], document: &Document) -> Vec<u8> {
    let (text, shown) = stored_text(document);
    let mut value = Vec::with_capacity(SHOWN_BYTES + text.len());
    value.extend_from_slice(&u32::try_from(shown).unwrap_or(u32::MAX).to_be_bytes());
    value.extend_from_slice(text.as_bytes());
    seal(key, &value)
}

/// A stored record: its members are found without parsing it as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredRecord<'b> {
    text: &'b [u8],
    /// Length of the visible text, without the closing brace.
    shown: usize,
    /// Checksum of key and bytes.
    checksum: u32,
}

/// Record in `bytes`, if they are what was written under `key`.
pub(crate) fn unseal_record<'b>(
    key: &[u8],
    bytes: &'b [u8],
) -> Result<StoredRecord<'b>, StoreError> {
    let value = unseal(key, bytes).map_err(|error| about(key, error))?;
    let (shown, text) = value.split_first_chunk::<SHOWN_BYTES>().ok_or_else(broken)?;
    let (_, checksum) = bytes.split_first_chunk::<1>().ok_or_else(broken)?;
    let checksum = checksum.first_chunk().copied().map(u32::from_be_bytes).ok_or_else(broken)?;
    let shown = usize::try_from(u32::from_be_bytes(*shown)).map_err(|_| broken())?;
    Ok(StoredRecord { text, shown, checksum })
}

fn broken() -> StoreError {
    StoreError::corrupted("malformed record")
}

impl<'b> StoredRecord<'b> {
    /// Text of the visible members, with the byte that ends the last one: no search passes over the hidden ones.
    pub(crate) fn members(self) -> &'b [u8] {
        self.text.get(..=self.shown).unwrap_or(self.text)
    }

    /// The whole record, read.
    pub(crate) fn document(self) -> Result<Document, StoreError> {
        parse_stored(self.text).map_err(|error| StoreError::corrupted(error.message))
    }

    /// Checksum that identifies this state of the record.
    pub(crate) fn checksum(self) -> u32 {
        self.checksum
    }

    /// Visible text, as an object.
    pub(crate) fn shown(self) -> Result<String, StoreError> {
        let shown = std::str::from_utf8(self.shown_without_brace()?);
        Ok([shown.map_err(|_| broken())?, "}"].concat())
    }

    /// Visible text, without the closing brace.
    pub(crate) fn shown_without_brace(self) -> Result<&'b [u8], StoreError> {
        self.text.get(..self.shown).ok_or_else(broken)
    }
}

impl Members for StoredRecord<'_> {
    fn get(&self, name: &str) -> Option<JsonRef<'_>> {
        member_in(self.members(), name)
    }
}

/// The stored value of a row as JSON.
pub(crate) fn unseal_json<T: DeserializeOwned>(key: &[u8], row: &[u8]) -> Result<T, StoreError> {
    let json = unseal(key, row)?;
    serde_json::from_slice(json).map_err(StoreError::corrupted)
}

/// The stored bytes of a row of JSON.
pub(crate) fn seal_json(key: &[u8], record: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let json = serde_json::to_vec(record);
    let json = json.map_err(|error| StoreError::Internal(error.to_string()))?;
    Ok(seal(key, &json))
}

/// The stored bytes of a row of a log.
pub(crate) fn seal_row<T: Serialize>(key: &[u8], row: &T) -> Result<Vec<u8>, StoreError> {
    let mut header = Vec::with_capacity(ROW_BYTES);
    header.extend_from_slice(&[FORMAT, 0, 0, 0, 0]);
    let mut bytes = postcard::to_extend(row, header)
        .map_err(|error| StoreError::Internal(error.to_string()))?;
    if let Some((header, value)) = bytes.split_first_chunk_mut::<HEADER_BYTES>() {
        let [_, sum @ ..] = header;
        *sum = checksum(key, value);
    }
    Ok(bytes)
}

/// Row of a log in `bytes`, whose key ends with an id.
pub(crate) fn unseal_row_with_id<T: DeserializeOwned>(
    key: &[u8],
    bytes: &[u8],
) -> Result<T, StoreError> {
    unseal_row(key, bytes).map_err(|error| about(key, error))
}

/// Error of a value whose key ends with its id.
fn about(key: &[u8], error: StoreError) -> StoreError {
    match keys::id_at_end(key) {
        Some(id) => error.about(id),
        None => error,
    }
}

/// The row of a log in `bytes`.
pub(crate) fn unseal_row<T: DeserializeOwned>(key: &[u8], bytes: &[u8]) -> Result<T, StoreError> {
    let value = unseal(key, bytes)?;
    postcard::from_bytes(value).map_err(StoreError::corrupted)
}

/// Beginning of the row of a log in `bytes`, as far as `T` reads it; it may borrow from them.
pub(crate) fn unseal_front<'b, T: Deserialize<'b>>(
    key: &[u8],
    bytes: &'b [u8],
) -> Result<T, StoreError> {
    let value = unseal(key, bytes).map_err(|error| about(key, error))?;
    postcard::take_from_bytes(value).map(|(row, _)| row).map_err(StoreError::corrupted)
}

/// Reads a row, and the fields that later versions appended; a row of an earlier version has none of these.
pub(crate) fn unseal_row_with_more<T: DeserializeOwned, M: DeserializeOwned + Default>(
    key: &[u8],
    bytes: &[u8],
) -> Result<(T, M), StoreError> {
    let (row, more) =
        postcard::take_from_bytes(unseal(key, bytes)?).map_err(StoreError::corrupted)?;
    if more.is_empty() {
        return Ok((row, M::default()));
    }
    Ok((row, postcard::from_bytes(more).map_err(StoreError::corrupted)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_back_under_its_own_key_only() {
        let bytes = seal(b"key", b"value");
        assert_eq!(unseal(b"key", &bytes).unwrap(), b"value");
        assert!(unseal(b"kez", &bytes).is_err());
    }

    #[test]
    fn the_part_of_a_record_that_is_shown_is_read_back() {
        let document = Document::parse(br#"{"_id":"1","n":2,"~":["x"]}"#).unwrap();
        let bytes = seal_record(b"key", &document);
        let stored = unseal_record(b"key", &bytes).unwrap();
        assert_eq!(stored.document().unwrap(), document);
        assert_eq!(stored.shown().unwrap(), r#"{"_id":"1","n":2}"#);
        for name in ["_id", "n", "none"] {
            assert_eq!(stored.get(name), document.get(name), "{name}");
        }
        assert_eq!(stored.get("~"), None);
    }

    #[test]
    fn no_flipped_bit_goes_unseen() {
        let bytes = seal(b"key", b"value");
        for at in 0..bytes.len() * 8 {
            let mut corrupted = bytes.clone();
            corrupted[at / 8] ^= 1 << (at % 8);
            assert!(unseal(b"key", &corrupted).is_err(), "bit {at}");
        }
        assert!(unseal(b"key", &bytes[..4]).is_err());
    }
}
