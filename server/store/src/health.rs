//! Health of a store: whether it reads and writes, and the result of the last scrub of its data.

use serde::{Serialize, Serializer};
use svctrack_core::value::Timestamp;

use super::ClockState;

/// Whether a store reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The store reads and writes.
    Ok,
    /// The store reads, and takes no writes until its disk does.
    ReadOnly,
    /// The store reopens its file after an error.
    Recovering,
    /// A write does not end, since the disk does not respond.
    Stalled,
    /// The store has stopped and serves nothing.
    Stopped,
}

impl Health {
    /// Every state of a store.
    pub const ALL: [Self; 5] =
        [Self::Ok, Self::ReadOnly, Self::Recovering, Self::Stalled, Self::Stopped];

    /// Name of the state in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ReadOnly => "read_only",
            Self::Recovering => "recovering",
            Self::Stalled => "stalled",
            Self::Stopped => "stopped",
        }
    }
}

/// The progress of a scrub, which reads all that is stored.
#[derive(Clone, Debug, Default)]
pub struct ScrubProgress {
    /// Tables that have been read completely.
    pub(crate) tables: usize,
    /// The last key that was read of the next table.
    pub(crate) after: Option<Vec<u8>>,
    /// Rows that have been read.
    pub rows: u64,
    /// Corrupted rows among them.
    pub damaged: u64,
    /// Whether all tables have been read.
    pub is_over: bool,
}

/// The result of a scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScrubReport {
    /// When the scrub ended.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// Rows that were read.
    pub rows: u64,
    /// Corrupted rows among them.
    pub damaged: u64,
}

/// Serializes a time, or none, as text.
pub fn as_text<S: Serializer>(
    at: &(impl Into<Option<Timestamp>> + Copy),
    to: S,
) -> Result<S::Ok, S::Error> {
    (*at).into().map(|at| at.to_string()).serialize(to)
}

/// The health of a store, its data and its clock.
#[derive(Clone, Copy, Debug)]
pub struct StoreStatus {
    /// Whether the store reads and writes.
    pub health: Health,
    /// Number of times that requests have met corrupted data since the start.
    pub damaged: u64,
    /// The last scrub since the start.
    pub checked: Option<ScrubReport>,
    /// Difference of the clock from the stored times, if there is one.
    pub clock: Option<ClockState>,
}
