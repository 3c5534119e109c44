//! Events of a sender that were parked in a day.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Parked events of each sender today; clones count together.
#[derive(Clone, Debug, Default)]
pub struct ParkedToday(Arc<ParkedCounts>);

#[derive(Debug, Default)]
struct ParkedCounts {
    events: AtomicU64,
    bytes: AtomicU64,
}

impl ParkedToday {
    /// Number of parked events today.
    pub fn count(&self) -> u64 {
        self.0.events.load(Ordering::Relaxed)
    }

    /// Bytes of their texts.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Counts another event, whose text has this many bytes.
    pub fn add(&self, bytes: u64) {
        self.0.events.fetch_add(1, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
