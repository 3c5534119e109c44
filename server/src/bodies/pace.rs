//! The pace that a sender of a body must keep: how many bytes must arrive in which time.

use std::time::Duration;

use tokio::time::Instant;

/// Minimum rate of a body: a number of bytes, or the rest of the body, within each period of this length.
pub(crate) struct MinimumRate {
    pub(crate) bytes: usize,
    pub(crate) within: Duration,
}

impl MinimumRate {
    /// Time in which a number of bytes must arrive.
    pub(crate) fn time_of(&self, bytes: usize) -> Duration {
        self.within.mul_f64(bytes as f64 / self.bytes as f64)
    }
}

/// Progress of a body that is arriving.
pub(crate) struct BodyProgress {
    /// Time at which the body last met its pace; at first, when it began.
    pub(crate) since: Instant,
    /// Bytes that have arrived since.
    bytes: usize,
    /// Time up to which the bytes that were read meet the pace, counted from when each was read: bytes that arrived
    /// while the server was stalled are read piece by piece after it.
    enough_until: Instant,
}

impl BodyProgress {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, bytes: 0, enough_until: now }
    }

    /// Time by which the body must meet its pace again.
    pub(crate) fn deadline(&self, pace: &MinimumRate) -> Instant {
        self.enough_until.max(self.since + pace.within)
    }

    pub(crate) fn count(&mut self, bytes: usize, pace: &MinimumRate) {
        let now = Instant::now();
        let enough_until = self.enough_until.max(now) + pace.time_of(bytes);
        self.enough_until = enough_until.min(now + pace.within);
        self.bytes += bytes;
        if self.bytes >= pace.bytes {
            (self.since, self.bytes) = (now, 0);
        }
    }

    /// Leaves out a time in which the body was not read.
    pub(crate) fn pause(&mut self, time: Duration) {
        self.since += time;
        self.enough_until += time;
    }
}
