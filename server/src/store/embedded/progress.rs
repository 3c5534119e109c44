//! Whether the writer gets on. A disk that hangs holds up the writer's thread for as long as it does; those who wait
//! for the writer do so only while it gets on.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::time::timeout;

/// How long one step of the writer may take before the disk counts as hanging (D8). A commit takes milliseconds, and on a
/// busy disk a second or two; load balancers and senders mostly wait half a minute for a response.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// How often those who have waited that long look whether the writer gets on.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// How the writer gets on.
pub(super) struct Progress {
    start: Instant,
    /// When the step began that is under way, in milliseconds from the start; 0 where none is.
    step_began: AtomicU64,
    /// Whether it has been logged that the writer is stalled.
    is_logged: AtomicBool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            step_began: AtomicU64::new(0),
            is_logged: AtomicBool::default(),
        }
    }
}

impl Progress {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes that the writer begins something that needs the disk.
    pub(super) fn begin_step(&self) {
        self.step_began.store(self.now_ms().max(1), Ordering::Relaxed);
    }

    /// Notes that it has come to its end.
    pub(super) fn end_step(&self) {
        self.step_began.store(0, Ordering::Relaxed);
        if self.is_logged.load(Ordering::Relaxed) {
            self.is_logged.store(false, Ordering::Relaxed);
            tracing::info!("the disk responds again");
        }
    }

    /// Whether a step takes longer than any should.
    pub(super) fn is_stalled(&self) -> bool {
        let began = self.step_began.load(Ordering::Relaxed);
        let taken = || Duration::from_millis(self.now_ms().saturating_sub(began));
        began > 0 && taken() >= STALLED_AFTER
    }

    /// What the writer is to answer; none when it is stalled.
    pub(super) async fn unless_stalled<T>(&self, answered: impl Future<Output = T>) -> Option<T> {
        let mut answered = pin!(answered);
        let mut within = STALLED_AFTER;
        loop {
            if let Ok(answer) = timeout(within, &mut answered).await {
                return Some(answer);
            }
            if self.is_stalled() {
                if !self.is_logged.swap(true, Ordering::Relaxed) {
                    tracing::error!("the disk does not respond: writes are rejected");
                }
                return None;
            }
            within = LOOKS_EVERY;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future, sync::Arc};

    use super::*;

    /// A progress whose step began so long ago.
    fn begun(ago: Duration) -> Progress {
        let mut progress = Progress::default();
        progress.begin_step();
        let ago = ago + Duration::from_millis(1);
        progress.start = progress.start.checked_sub(ago).unwrap();
        progress
    }

    #[test]
    fn a_step_that_takes_long_is_a_stall_until_it_ends() {
        assert!(!Progress::default().is_stalled());
        assert!(!begun(STALLED_AFTER / 2).is_stalled());
        let progress = begun(STALLED_AFTER);
        assert!(progress.is_stalled());
        progress.end_step();
        assert!(!progress.is_stalled());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_goes_on_while_the_writer_gets_on_and_ends_when_it_is_stalled() {
        assert_eq!(begun(STALLED_AFTER).unless_stalled(future::ready(7)).await, Some(7));
        let stalled = begun(STALLED_AFTER).unless_stalled(future::pending::<()>()).await;
        assert_eq!(stalled, None);
        let progress = Arc::new(Progress::default());
        let waited = tokio::spawn({
            let progress = progress.clone();
            async move {
                let answered = tokio::time::sleep(10 * STALLED_AFTER);
                progress.unless_stalled(answered).await
            }
        });
        assert_eq!(waited.await.unwrap(), Some(()));
    }
}
