//! What a backup says of itself: from when it is, and what it holds.

use serde::{Deserialize, Serialize};
use svctrack_core::value::Timestamp;

/// What a backup says of itself before anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    /// The version of its format.
    pub(crate) svctrack_backup: u32,
    /// That of its rows.
    pub(crate) store_format: u32,
    pub(crate) at: Timestamp,
    /// Its place among those of its folder, for a scheduled backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<u64>,
}

/// What a backup holds, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    #[serde(flatten)]
    head: Head,
    /// The rows of all tables.
    pub rows: u64,
    /// The tables, in their order.
    pub tables: Vec<TableSum>,
}

impl Manifest {
    /// That of a backup with these tables.
    pub(crate) fn of(head: Head, tables: Vec<TableSum>) -> Self {
        Self { head, rows: tables.iter().map(|table| table.rows).sum(), tables }
    }

    /// The point in time of the backup, which has all that was acknowledged before.
    pub fn at(&self) -> Timestamp {
        self.head.at
    }
}

/// What a table of a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSum {
    /// Name of the table.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// SHA-256 of its rows, in hexadecimal digits.
    pub sha256: String,
}
