//! Manifest of a backup: its store, its point in time, and its contents.

use std::fmt;

use serde::{Deserialize, Serialize};
use svctrack_core::value::Timestamp;

/// Id of a store: five random bytes, which stay the same when the store is compacted or restored (R3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreId([u8; 5]);

impl StoreId {
    /// Id of a store whose record ids contain these bytes.
    pub const fn from_bytes(bytes: [u8; 5]) -> Self {
        Self(bytes)
    }
}

/// Writes the id as heads of backups have it: ten hexadecimal digits.
impl fmt::Display for StoreId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl From<StoreId> for String {
    fn from(id: StoreId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for StoreId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = u64::from_str_radix(&text, 16).map_err(|_| "expected hexadecimal digits")?;
        let [0, 0, 0, bytes @ ..] = number.to_be_bytes() else { return Err("it is too long") };
        let id = Self(bytes);
        if id.to_string() == text { Ok(id) } else { Err("expected ten hexadecimal digits") }
    }
}

/// The first line of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupHead {
    /// Version of the backup's format.
    pub(crate) svctrack_backup: u32,
    /// Version of the format of the rows.
    pub(crate) store_format: u32,
    /// The point in time of the backup, which has all that was acknowledged before.
    pub at: Timestamp,
    /// Store of the backup; none in a backup of a program that did not write it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreId>,
    /// Position among the scheduled backups of this store in its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
}

/// Contents of a backup, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    #[serde(flatten)]
    head: BackupHead,
    /// The rows of all tables.
    pub rows: u64,
    /// The tables, in their order.
    pub tables: Vec<TableSum>,
}

impl Manifest {
    /// Manifest of a backup with these tables.
    pub(crate) fn new(head: BackupHead, tables: Vec<TableSum>) -> Self {
        Self { head, rows: tables.iter().map(|table| table.rows).sum(), tables }
    }

    /// The point in time of the backup, which has all that was acknowledged before.
    pub fn at(&self) -> Timestamp {
        self.head.at
    }

    /// Store of the backup, if it names one.
    pub fn store(&self) -> Option<StoreId> {
        self.head.store
    }
}

/// Rows of a table of a backup, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSum {
    /// Name of the table.
    pub name: String,
    /// Number of rows in the table.
    pub rows: u64,
    /// SHA-256 of the rows, in hexadecimal digits.
    pub sha256: String,
}
