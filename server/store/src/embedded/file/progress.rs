//! Detects a disk that does not respond. Callers wait for the disk only while other operations complete.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use tokio::time::timeout;

use crate::histogram::{Histogram, TIMES_US};

/// Longest time of a step before the disk counts as hanging (D8). A commit takes milliseconds, and on a busy disk a
/// second or two; load balancers and senders mostly wait half a minute for a response.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// Interval in which callers that have waited that long check whether the disk responds.
const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// Interval in which a thread that stops checks whether another one has ended.
const LOOKS_WHILE_STOPPING: Duration = Duration::from_millis(1);
/// Maximum number of steps that are watched at once: more than the threads of a store. Further steps are not watched.
const MAX_STEPS: usize = 64;

/// Progress of the operations that need the disk.
pub(crate) struct DiskProgress {
    start: Instant,
    /// When each step began that is running, in milliseconds from the start; 0 where none is.
    began: [AtomicU64; MAX_STEPS],
    /// Number of slots used so far. Only these are scanned.
    used: AtomicUsize,
    /// Whether it has been logged that the disk does not respond.
    is_logged: AtomicBool,
    /// Durations of syncs, in microseconds.
    pub(crate) syncs: Histogram,
    /// Number of bytes that were written.
    written: AtomicU64,
}

impl Default for DiskProgress {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            began: [const { AtomicU64::new(0) }; MAX_STEPS],
            used: AtomicUsize::default(),
            is_logged: AtomicBool::default(),
            syncs: Histogram::new(TIMES_US),
            written: AtomicU64::new(0),
        }
    }
}

/// A running step that needs the disk; it ends when this is dropped.
pub(crate) struct DiskOperation<'p> {
    progress: &'p DiskProgress,
    began: Option<&'p AtomicU64>,
}

impl Drop for DiskOperation<'_> {
    fn drop(&mut self) {
        if let Some(began) = self.began {
            began.store(0, Ordering::Relaxed);
        }
        if self.progress.is_logged.load(Ordering::Relaxed) && !self.progress.is_stalled() {
            self.progress.is_logged.store(false, Ordering::Relaxed);
            tracing::info!("disk responds again");
        }
    }
}

impl DiskProgress {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins a step that needs the disk.
    pub(crate) fn begin(&self) -> DiskOperation<'_> {
        let now = self.now_ms().max(1);
        let is_free = |began: &AtomicU64| {
            began.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let place = self.began.iter().position(is_free);
        if let Some(place) = place {
            self.used.fetch_max(place + 1, Ordering::Relaxed);
        }
        DiskOperation { progress: self, began: place.and_then(|place| self.began.get(place)) }
    }

    /// Counts bytes that were written.
    pub(crate) fn count_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Number of bytes that were written to the file since the start.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether a step takes too long.
    pub(crate) fn is_stalled(&self) -> bool {
        let now = self.now_ms();
        self.began.iter().take(self.used.load(Ordering::Relaxed)).any(|began| {
            let began = began.load(Ordering::Relaxed);
            began > 0 && Duration::from_millis(now.saturating_sub(began)) >= STALLED_AFTER
        })
    }

    /// Awaits a future; none where the disk does not respond.
    pub(crate) async fn unless_stalled<T>(&self, awaited: impl Future<Output = T>) -> Option<T> {
        let mut awaited = pin!(awaited);
        let mut within = STALLED_AFTER;
        loop {
            if let Ok(done) = timeout(within, &mut awaited).await {
                return Some(done);
            }
            if self.is_stalled() {
                if !self.is_logged.swap(true, Ordering::Relaxed) {
                    tracing::error!("disk not responding: writes and uncached reads are rejected");
                }
                return None;
            }
            within = LOOKS_EVERY;
        }
    }

    /// Waits until `is_over`; returns whether it is, which it is not where the disk does not respond.
    pub(crate) fn wait_unless_stalled(&self, is_over: impl Fn() -> bool) -> bool {
        let started = Instant::now();
        while !is_over() {
            if started.elapsed() >= STALLED_AFTER && self.is_stalled() {
                return false;
            }
            thread::sleep(LOOKS_WHILE_STOPPING);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::{future, sync::Arc};

    use super::*;

    /// A progress that began `ago`.
    fn started(ago: Duration) -> DiskProgress {
        let mut progress = DiskProgress::default();
        progress.start = progress.start.checked_sub(ago).unwrap();
        progress
    }

    /// A progress with a step that began `ago` and is still running.
    fn begun(ago: Duration) -> DiskProgress {
        let progress = started(ago + Duration::from_millis(1));
        progress.began[0].store(1, Ordering::Relaxed);
        progress.used.store(1, Ordering::Relaxed);
        progress
    }

    #[test]
    fn a_step_that_takes_long_is_a_stall_until_it_ends() {
        assert!(!started(STALLED_AFTER).is_stalled());
        assert!(!begun(STALLED_AFTER / 2).is_stalled());
        let progress = begun(STALLED_AFTER);
        drop(progress.begin());
        assert!(progress.is_stalled());
        drop(DiskOperation { progress: &progress, began: progress.began.first() });
        assert!(!progress.is_stalled());
    }

    #[test]
    fn as_many_steps_are_watched_as_there_is_room_for() {
        let progress = started(2 * STALLED_AFTER);
        let steps: Vec<_> = (0..=MAX_STEPS).map(|_| progress.begin()).collect();
        assert_eq!(steps.iter().filter(|step| step.began.is_some()).count(), MAX_STEPS);
        drop(steps);
        assert!(progress.begin().began.is_some());
        progress.began[MAX_STEPS - 1].store(1, Ordering::Relaxed);
        assert!(progress.is_stalled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_continues_while_the_disk_responds_and_ends_when_it_does_not() {
        assert_eq!(begun(STALLED_AFTER).unless_stalled(future::ready(7)).await, Some(7));
        let stalled = begun(STALLED_AFTER).unless_stalled(future::pending::<()>()).await;
        assert_eq!(stalled, None);
        let progress = Arc::new(DiskProgress::default());
        let waited = tokio::spawn({
            let progress = progress.clone();
            async move {
                let replied = tokio::time::sleep(10 * STALLED_AFTER);
                progress.unless_stalled(replied).await
            }
        });
        assert_eq!(waited.await.unwrap(), Some(()));
    }
}
