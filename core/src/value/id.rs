//! Ids: of records, of tenants, and the three forms in which a caller names a record (R2, R3).

use std::fmt;

#[cfg(feature = "records")]
use uuid::Uuid;

use super::{key::is_key, time::Timestamp};

/// Identifier of a record: 12 bytes, written as 24 lowercase hex digits (R3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "records", serde(transparent))]
pub struct ObjectId([u8; 12]);

impl ObjectId {
    /// The lowest id: the start of a range of ids.
    pub const MIN: Self = Self([0; 12]);
    /// The highest id: the end of a range of ids.
    pub const MAX: Self = Self([0xff; 12]);

    /// Id with these bytes.
    pub fn from_bytes(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }

    /// Bytes of the id; their order is the order of ids.
    pub fn as_bytes(&self) -> &[u8; 12] {
        &self.0
    }

    /// Time at which the id was created, to the second.
    pub fn created_at(&self) -> Timestamp {
        let [s0, s1, s2, s3, ..] = self.0;
        Timestamp::from_ms_clamped(i64::from(u32::from_be_bytes([s0, s1, s2, s3])) * 1_000)
    }

    /// The lowest id of the second of `time` or later.
    pub fn first_at(time: Timestamp) -> Self {
        let seconds = u32::try_from(time.as_ms() / 1_000).unwrap_or(u32::MAX);
        let mut bytes = Self::MIN.0;
        if let Some(front) = bytes.first_chunk_mut() {
            *front = seconds.to_be_bytes();
        }
        Self(bytes)
    }

    /// Reads 24 lowercase hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 12];
        if text.len() != 24 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = pair.iter().try_fold(0, |sum, digit| Some(sum << 4 | hex_digit(*digit)?))?;
        }
        Some(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let nibbles = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let mut text = [0; 2 * size_of::<Self>()];
        for (digit, nibble) in text.iter_mut().zip(nibbles) {
            *digit = DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// A tenant: the UUID in its snippet and its tracking calls. A public write key (R43).
#[cfg(feature = "records")]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct TenantId(Uuid);

#[cfg(feature = "records")]
impl TenantId {
    /// Tenant with the bytes of its UUID.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// A tenant from 16 random bytes, with the version and variant bits set (RFC 9562, version 4).
    pub fn from_random_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The bytes of the UUID.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Reads a UUID in its form with hyphens, in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let hyphenated = text.len() == uuid::fmt::Hyphenated::LENGTH;
        hyphenated.then(|| Uuid::try_parse(text).ok())?.map(Self)
    }
}

#[cfg(feature = "records")]
impl From<TenantId> for String {
    fn from(tenant: TenantId) -> Self {
        tenant.to_string()
    }
}

#[cfg(feature = "records")]
impl TryFrom<String> for TenantId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a tenant must be a UUID with hyphens")
    }
}

#[cfg(feature = "records")]
impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// Reference of a caller to a record: by `_id`, `extid-{externalId}` or `srcid-{sourceId}` (R2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordRef {
    /// By the service's own id.
    Id(ObjectId),
    /// By the caller's id, `externalId`.
    External(String),
    /// By the id of an integration, `sourceId`.
    Source(String),
}

impl RecordRef {
    /// The forms, for a person.
    pub const FORMS: &'static str = "24 hex digits, `extid-...` or `srcid-...`";

    /// Reads one of the three forms, already percent-decoded; split once, after the literal prefix.
    ///
    /// ```
    /// use svctrack_core::value::RecordRef;
    /// assert_eq!(RecordRef::parse("extid-extid-7"), Some(RecordRef::External("extid-7".into())));
    /// assert_eq!(RecordRef::parse("extid-"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(key) = text.strip_prefix("extid-") {
            return is_key(key).then(|| Self::External(key.to_owned()));
        }
        if let Some(key) = text.strip_prefix("srcid-") {
            return is_key(key).then(|| Self::Source(key.to_owned()));
        }
        ObjectId::parse(text).map(Self::Id)
    }

    /// Whether a text begins with the prefix of a form that names a key.
    pub fn is_prefixed(text: &str) -> bool {
        text.starts_with("extid-") || text.starts_with("srcid-")
    }
}

impl fmt::Display for RecordRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::External(key) => write!(f, "extid-{key}"),
            Self::Source(key) => write!(f, "srcid-{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_lowercase_hex_is_an_id() {
        assert!(ObjectId::parse("6553f1000102030405ffffff").is_some());
        for text in
            ["", "6553F1000102030405ffffff", "6553f1000102030405fffff", "zz53f1000102030405ffffff"]
        {
            assert_eq!(ObjectId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_tenant_is_a_uuid_with_hyphens() {
        let text = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert_eq!(TenantId::parse(text).unwrap().to_string(), text);
        assert_eq!(TenantId::parse(&text.to_uppercase()).unwrap().to_string(), text);
        assert_eq!(TenantId::parse("67e5504410b1426f9247bb680e5fe0c8"), None);
    }

    #[test]
    fn a_key_has_no_controls_and_an_end() {
        assert_eq!(RecordRef::parse("srcid-a b/%é"), Some(RecordRef::Source("a b/%é".into())));
        for text in ["srcid-", "extid-a\0", "extid-\n", "sourceId-1", "7"] {
            assert_eq!(RecordRef::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_id_is_read_back_and_its_text_has_its_order(a: [u8; 12], b: [u8; 12]) {
            let (a, b) = (ObjectId::from_bytes(a), ObjectId::from_bytes(b));
            prop_assert_eq!(ObjectId::parse(&a.to_string()), Some(a));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }
}
