//! Counters of open, accepted and rejected connections.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Connections: how many are open, were accepted, and were beyond a limit.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    open: AtomicU64,
    accepted: AtomicU64,
    rejected: AtomicU64,
}

/// An open connection, until it is dropped.
pub(crate) struct OpenConnection(Arc<ConnectionCounts>);

impl ConnectionCounts {
    /// Counts a connection that was accepted; it is open until the result is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(self.clone())
    }

    /// Counts one that has no place.
    pub(crate) fn reject(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// How many are open, were accepted, and were rejected.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.open), of(&self.accepted), of(&self.rejected))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
