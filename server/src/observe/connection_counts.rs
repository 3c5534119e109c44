//! Counters of open, accepted and rejected connections.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Rejected connections for each one that is logged: a flood of them does not fill the log.
const REJECTED_PER_LINE: u64 = 100;

/// Connections: how many are open, were accepted, and were rejected.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    open: AtomicU64,
    accepted: AtomicU64,
    rejected: AtomicU64,
}

/// An open connection, until it is dropped.
pub(crate) struct OpenConnection(Arc<ConnectionCounts>);

impl ConnectionCounts {
    /// Counts an accepted connection; it is open until the result is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(self.clone())
    }

    /// Counts a rejected connection of a client; logs the first of [`REJECTED_PER_LINE`].
    pub(crate) fn reject(&self, client: IpAddr, cause: fmt::Arguments<'_>) {
        let before = self.rejected.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(REJECTED_PER_LINE) {
            tracing::warn!(%client, %cause, rejected = before + 1, "connection rejected");
        }
    }

    /// Numbers of open, accepted, and rejected connections.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let loaded = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (loaded(&self.open), loaded(&self.accepted), loaded(&self.rejected))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
