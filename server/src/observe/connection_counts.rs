//! Counters of open, accepted and rejected connections.

use std::{
    fmt, io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::limits::{MAX_CONNECTIONS_PER_ADDRESS, MAX_HANDSHAKES_PER_SECOND};

/// Rejected connections of a cause for each one that is logged: a flood of them does not fill the log.
const REJECTED_PER_LINE: u64 = 100;

/// Why a connection was rejected.
#[derive(Debug)]
pub(crate) enum RejectionCause {
    /// The address has as many connections as it may have.
    Connections,
    /// A proxy sent no valid header of the PROXY protocol.
    ProxyHeader(io::Error),
    /// The address began as many TLS handshakes as it may.
    Handshakes,
}

impl RejectionCause {
    const COUNT: usize = 3;

    fn index(&self) -> usize {
        match self {
            Self::Connections => 0,
            Self::ProxyHeader(_) => 1,
            Self::Handshakes => 2,
        }
    }
}

impl fmt::Display for RejectionCause {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connections => {
                write!(to, "limit of {MAX_CONNECTIONS_PER_ADDRESS} connections per address")
            }
            Self::ProxyHeader(error) => write!(to, "PROXY protocol: {error}"),
            Self::Handshakes => write!(
                to,
                "limit of {MAX_HANDSHAKES_PER_SECOND} TLS handshakes per second and address"
            ),
        }
    }
}

/// Connections: how many are open, were accepted, and were rejected.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    open: AtomicU64,
    accepted: AtomicU64,
    /// By [`RejectionCause::index`].
    rejected: [AtomicU64; RejectionCause::COUNT],
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

    /// Counts a rejected connection of a client; logs the first of [`REJECTED_PER_LINE`] with this cause.
    pub(crate) fn reject(&self, client: IpAddr, cause: &RejectionCause) {
        let rejected = self.rejected_for(cause);
        if rejected % REJECTED_PER_LINE == 1 {
            tracing::warn!(%client, %cause, rejected, "connection rejected");
        }
    }

    /// Counts a rejected connection, and returns how many have this cause.
    fn rejected_for(&self, cause: &RejectionCause) -> u64 {
        let count = self.rejected.get(cause.index());
        count.map_or(0, |count| count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Numbers of open, accepted, and rejected connections.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let loaded = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (loaded(&self.open), loaded(&self.accepted), self.rejected.iter().map(loaded).sum())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_counted_separately_and_in_the_sum() {
        let counts = ConnectionCounts::default();
        let header = RejectionCause::ProxyHeader(io::Error::other("no header"));
        let causes = [RejectionCause::Connections, RejectionCause::Handshakes, header];
        for rejected in [1, 2] {
            let counted = causes.each_ref().map(|cause| counts.rejected_for(cause));
            assert_eq!(counted, [rejected; 3]);
        }
        assert_eq!(counts.counts(), (0, 0, 6));
    }
}
