//! Times of the store, however the machine's clock is set.
//!
//! Data never gets an earlier time than the newest stored time: readers who ask for changes since then would miss it.
//! Ages are judged by the settled time. It follows a clock that is set back at once, and one that is set forward only
//! when it has run for an hour: data that was deleted for a wrong clock does not come back.
//!
//! A clock that was ahead until it was settled, and is set right, leaves times that are far ahead. When it has been
//! earlier than them for a day, expiring data gets the settled time instead, so that it does not last until those times
//! come again.
//!
//! Both times are in the store, so that a start with a wrong clock is no different.

use std::time::Duration;

use serde::Serialize;
use svctrack_core::value::{Timestamp, time::DAY_MS};

use super::Clock;

/// Maximum difference between a clock and its expected time, in milliseconds: more than clocks drift, or are corrected
/// by, from one check to the next, and than a restart takes.
pub const MAX_DRIFT_MS: i64 = 60 * 1_000;
/// Maximum number of milliseconds by which a time may be ahead of the settled one before it counts as that of a wrong
/// clock.
const MAX_AHEAD_MS: i64 = DAY_MS;
/// How long a clock must have been earlier than the stored times before that is corrected: an operator who sets a clock
/// back by mistake notices.
const BEHIND_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a clock that was set forward must have run: time to set it right.
const STANDS_AFTER: Duration = Duration::from_secs(60 * 60);

/// Time of a clock, and how long the machine has been running then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockReading {
    pub(crate) now: Timestamp,
    running: Duration,
}

impl ClockReading {
    /// Reading of a clock that has just shown `now`.
    pub(crate) fn take(clock: &dyn Clock, now: Timestamp) -> Self {
        Self { now, running: clock.running(now) }
    }

    /// Difference between the clock and the running time of the machine: it changes when the clock is set.
    fn offset_ms(self) -> i64 {
        self.now.as_ms() - in_ms(self.running)
    }
}

/// Difference of a clock from the stored times, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockState {
    /// Seconds by which the clock is earlier than the newest stored time, which new data gets until then.
    pub behind_seconds: i64,
    /// Seconds by which the clock is ahead of the settled time, by which ages are judged.
    pub ahead_seconds: i64,
    /// Seconds that the clock must still run until ages are judged by it.
    pub held_seconds: i64,
}

/// The times by which ages are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettledTimes {
    pub(crate) time: Timestamp,
    /// Latest plausible time: data with a later one was stored by a wrong clock.
    pub(crate) latest: Timestamp,
}

/// A clock that was set forward.
#[derive(Clone, Copy, Debug)]
struct ClockStep {
    /// When that was seen, as the machine was running.
    since: Duration,
    offset_ms: i64,
}

impl ClockStep {
    fn from_reading(reading: ClockReading) -> Self {
        Self { since: reading.running, offset_ms: reading.offset_ms() }
    }
}

/// The times of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The newest time that is stored.
    stored: Timestamp,
    /// The settled time when the clock was last read.
    settled: Timestamp,
    /// Time of the last reading, as the machine was running.
    read_at: Duration,
    step: Option<ClockStep>,
    /// Time since when the clock has been earlier than the stored times, as the machine was running.
    behind_since: Option<Duration>,
}

impl Times {
    /// Times of a store that is opened, from those that are stored.
    pub(crate) fn resume(stored: Timestamp, settled: Timestamp, reading: ClockReading) -> Self {
        // A new store has no data yet that a wrong clock could delete.
        let settled = if stored == Timestamp::MIN { reading.now } else { settled };
        let is_ahead = reading.now.as_ms() - settled.as_ms() > MAX_DRIFT_MS;
        if is_ahead {
            // The clock may be right: the service was stopped, or its backup restored.
            tracing::info!(clock = %reading.now, %settled, "retention paused for an hour");
        }
        let (read_at, step) = (reading.running, is_ahead.then(|| ClockStep::from_reading(reading)));
        let mut times = Self { stored, settled, read_at, step, behind_since: None };
        times.settle(reading);
        times
    }

    pub(crate) fn stored(&self) -> Timestamp {
        self.stored
    }

    pub(crate) fn settled(&self) -> Timestamp {
        self.settled
    }

    /// The times by which ages are judged, of a clock that has just been read.
    pub(crate) fn judge(&mut self, reading: ClockReading) -> SettledTimes {
        let time = self.settle(reading);
        let stood = self.behind_since.map(|since| reading.running.saturating_sub(since));
        let latest = match stood.is_some_and(|stood| stood >= BEHIND_AFTER) {
            true => Timestamp::from_ms_clamped(time.as_ms().saturating_add(MAX_AHEAD_MS)),
            false => Timestamp::MAX,
        };
        SettledTimes { time, latest }
    }

    /// Notes that data is stored with this time.
    pub(crate) fn store(&mut self, time: Timestamp) {
        self.stored = self.stored.max(time);
    }

    /// The settled time, of a clock that has just been read.
    pub(crate) fn settle(&mut self, reading: ClockReading) -> Timestamp {
        let passed = in_ms(reading.running.saturating_sub(self.read_at));
        let expected = Timestamp::from_ms_clamped(self.settled.as_ms().saturating_add(passed));
        self.read_at = reading.running;
        let is_ahead = reading.now.as_ms() - expected.as_ms() > MAX_DRIFT_MS;
        if is_ahead && !self.has_stood(reading) {
            self.settled = expected;
        } else {
            self.settled = reading.now;
            if self.step.take().is_some() {
                tracing::info!(clock = %reading.now, "retention resumed");
            }
        }
        self.look_behind(reading);
        self.settled
    }

    /// Whether a clock that is ahead has not been set for long enough.
    fn has_stood(&mut self, reading: ClockReading) -> bool {
        let is_same =
            |step: &ClockStep| (reading.offset_ms() - step.offset_ms).abs() <= MAX_DRIFT_MS;
        if let Some(step) = self.step.filter(is_same) {
            return reading.running.saturating_sub(step.since) >= STANDS_AFTER;
        }
        self.step = Some(ClockStep::from_reading(reading));
        tracing::warn!(
            clock = %reading.now, settled = %self.settled,
            "clock set forward: retention uses the earlier time until the clock is steady for an hour"
        );
        false
    }

    fn look_behind(&mut self, reading: ClockReading) {
        let is_behind = self.stored.as_ms() - reading.now.as_ms() > MAX_DRIFT_MS;
        if is_behind && self.behind_since.is_none() {
            tracing::warn!(
                clock = %reading.now, stored = %self.stored,
                "clock behind stored data: new data gets the newest stored time until the clock has caught up"
            );
        }
        self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(reading.running));
    }

    /// Difference of the clock, which has just been read, from the stored times.
    pub(crate) fn state(&mut self, reading: ClockReading) -> Option<ClockState> {
        let settled = self.settle(reading);
        let held = self
            .step
            .map(|step| STANDS_AFTER.saturating_sub(reading.running.saturating_sub(step.since)));
        let seconds_from =
            |from: Timestamp, to: Timestamp| (to.as_ms() - from.as_ms()).max(0) / 1_000;
        (self.behind_since.is_some() || held.is_some()).then(|| ClockState {
            behind_seconds: seconds_from(reading.now, self.stored),
            ahead_seconds: seconds_from(settled, reading.now),
            held_seconds: in_ms(held.unwrap_or_default()) / 1_000,
        })
    }
}

fn in_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_S: i64 = 60 * 60;
    const DAY_S: i64 = 24 * HOUR_S;
    const START_S: i64 = 1_800_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms_clamped(seconds * 1_000)
    }

    /// A clock that shows `now`, on a machine that has been running for `running`, both in seconds, the first from the
    /// start.
    fn reading(now: i64, running: i64) -> ClockReading {
        ClockReading {
            now: at(START_S + now),
            running: Duration::from_secs(running.unsigned_abs()),
        }
    }

    fn times() -> Times {
        Times::resume(at(START_S), at(START_S), reading(0, 0))
    }

    /// Checks the settled time after these readings, in seconds from the start.
    fn check(readings: &[(i64, i64)], expect: &[i64]) {
        let mut times = times();
        let settled = readings.iter().map(|(now, running)| times.settle(reading(*now, *running)));
        let settled: Vec<_> = settled.map(|time| time.as_ms() / 1_000 - START_S).collect();
        assert_eq!(settled, expect, "{readings:?}");
    }

    #[test]
    fn a_clock_that_drifts_is_followed() {
        check(
            &[(600, 600), (1_230, 1_200), (1_200, 1_200), (3_700, 3_650)],
            &[600, 1_230, 1_200, 3_700],
        );
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed_at_once() {
        check(&[(-DAY_S, 10), (20 - DAY_S, 30)], &[-DAY_S, 20 - DAY_S]);
    }

    #[test]
    fn a_clock_that_is_set_forward_is_followed_when_it_has_stood_for_an_hour() {
        check(
            &[(DAY_S + 10, 10), (DAY_S + HOUR_S, HOUR_S), (DAY_S + HOUR_S + 10, HOUR_S + 10)],
            &[10, HOUR_S, DAY_S + HOUR_S + 10],
        );
        // A clock that is set right meanwhile is never followed.
        check(
            &[(DAY_S + 10, 10), (HOUR_S, HOUR_S), (2 * HOUR_S, 2 * HOUR_S)],
            &[10, HOUR_S, 2 * HOUR_S],
        );
        // A clock that is set again is timed from then on.
        check(
            &[
                (DAY_S, 0),
                (9 * DAY_S + HOUR_S, HOUR_S),
                (9 * DAY_S + 2 * HOUR_S - 1, 2 * HOUR_S - 1),
            ],
            &[0, HOUR_S, 2 * HOUR_S - 1],
        );
    }

    #[test]
    fn a_start_resumes_from_the_time_in_the_store() {
        let resumed = |now| {
            let mut times = Times::resume(at(START_S), at(START_S - 30), reading(now, 5));
            times.settle(reading(now, 5)).as_ms() / 1_000 - START_S
        };
        assert_eq!([resumed(20), resumed(90), resumed(-DAY_S)], [20, -30, -DAY_S]);
        let mut new = Times::resume(Timestamp::MIN, Timestamp::MIN, reading(0, 5));
        assert_eq!(new.settle(reading(0, 5)), at(START_S));
    }

    #[test]
    fn what_is_far_ahead_of_a_clock_that_was_set_back_is_known_after_a_day() {
        let mut times = times();
        let mut latest = |now: i64, running: i64| {
            let latest = times.judge(reading(now, running)).latest;
            (latest < Timestamp::MAX).then(|| latest.as_ms() / 1_000 - START_S)
        };
        let back = |running: i64| running - 9 * DAY_S;
        assert_eq!([latest(0, 0), latest(back(10), 10)], [None, None]);
        assert_eq!(latest(back(DAY_S + 9), DAY_S + 9), None);
        assert_eq!(latest(back(DAY_S + 10), DAY_S + 10), Some(back(DAY_S + 10) + DAY_S));
        // The clock is set right, and back again.
        let later = 2 * DAY_S;
        assert_eq!([latest(later, later), latest(back(later + 10), later + 10)], [None, None]);
    }

    #[test]
    fn a_state_is_reported_where_clock_and_store_differ() {
        assert_eq!(times().state(reading(30, 30)), None);
        assert_eq!(times().state(reading(-30, 30)), None);
        let state = |behind_seconds, ahead_seconds, held_seconds| {
            Some(ClockState { behind_seconds, ahead_seconds, held_seconds })
        };
        assert_eq!(times().state(reading(-DAY_S, 30)), state(DAY_S, 0, 0));
        assert_eq!(times().state(reading(DAY_S, 30)), state(0, DAY_S - 30, HOUR_S));
        let mut both = times();
        both.store(at(START_S + 2 * DAY_S));
        both.settle(reading(DAY_S, 0));
        assert_eq!(both.state(reading(DAY_S + 60, 60)), state(DAY_S - 60, DAY_S, HOUR_S - 60));
    }
}
