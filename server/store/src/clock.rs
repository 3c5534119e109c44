//! The clock of a store.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use svctrack_core::value::Timestamp;

/// The last millisecond of the year 2100. A clock that is later is wrong, and the ids of records end in 2106 (R3).
const LATEST_MS: i64 = 4_133_980_799_999;

/// The message for a clock after the year 2100.
pub const WRONG_CLOCK: &str = "the clock of this machine shows a time after the year 2100: set it";

/// Whether nothing can be stored with this time of a clock.
pub fn is_too_late(now: Timestamp) -> bool {
    now.as_ms() > LATEST_MS
}

/// The source of the current time.
pub trait Clock: Send + Sync {
    /// The current time, as the clock shows it. It changes when the clock is set.
    fn now(&self) -> Timestamp;

    /// How long the machine has been running when the clock shows `now`; this cannot be set. Where it is not known,
    /// the clock counts as never set.
    fn running(&self, now: Timestamp) -> Duration {
        Duration::from_millis(now.as_ms().unsigned_abs())
    }
}

/// The clock of the machine, in UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms_clamped(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn running(&self, _: Timestamp) -> Duration {
        static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
        STARTED.elapsed()
    }
}
