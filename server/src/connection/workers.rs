//! Runtimes that serve connections, one for each processor, with one thread for requests each. A connection stays with
//! its runtime: the threads of a shared one take over each other's tasks, and spend more time fetching the data of
//! these than they save. In return, connections of the same runtime that happen to be busy together share one
//! processor.

use std::{
    io,
    num::NonZero,
    thread,
    time::{Duration, Instant},
};

use svctrack_store::support::panics::catch_panic;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::limits::{MAX_WORKERS, STOP_STALL};

/// How long an idle thread for blocking calls is retained: as long as its runtime.
const FOR_GOOD: Duration = Duration::from_secs(u32::MAX as u64);

/// A runtime with one thread for tasks. A second one, for blocking work, exists from the start and stays: where the
/// system gives no further threads, all blocking work waits for its turn on that one. Without any, tokio would panic.
///
/// # Errors
/// When the process may have no more threads, or open no more files.
pub fn runtime(name: &str) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name(name).enable_all().thread_keep_alive(FOR_GOOD);
    let started = catch_panic(|| {
        let runtime = builder.build()?;
        runtime.spawn_blocking(|| ());
        Ok(runtime)
    });
    started.unwrap_or_else(|_| Err(io::Error::other("cannot start a thread")))
}

/// Ends a runtime. Work that still blocks on its threads, as on a disk that does not respond, is not waited for any
/// longer than a stop waits for a reader.
pub fn end(runtime: Runtime) {
    runtime.shutdown_timeout(STOP_STALL);
}

/// Some runtimes for connections.
pub struct Workers {
    runtimes: Vec<Runtime>,
    /// Index at which the last search for a worker began.
    turn: usize,
}

impl Workers {
    /// Files that a runtime keeps open.
    const FILES_OF_EACH: usize = 4;

    /// Starts a worker for each processor that this process may use, up to a limit.
    ///
    /// # Errors
    /// As [`runtime`].
    pub fn start() -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self::start_some(processors.min(MAX_WORKERS))
    }

    /// No workers: their connections are served by the current runtime.
    pub(crate) fn none() -> Self {
        Self { runtimes: Vec::new(), turn: 0 }
    }

    fn start_some(count: usize) -> io::Result<Self> {
        let mut workers = Self::none();
        for _ in 0..count {
            // A runtime of one thread, but not of the current-thread kind: work that must wait can leave the others to
            // a new thread (`block_in_place`).
            workers.runtimes.push(runtime("requests")?);
        }
        Ok(workers)
    }

    /// Number of the workers.
    pub(crate) fn count(&self) -> usize {
        self.runtimes.len()
    }

    /// Number of files that the workers keep open.
    pub(crate) fn files(&self) -> usize {
        self.count() * Self::FILES_OF_EACH
    }

    /// A worker with the fewest tasks; workers with equally few take turns.
    pub(crate) fn next(&mut self) -> Handle {
        self.turn = (self.turn + 1) % self.runtimes.len().max(1);
        let (before, from_turn) = self.runtimes.split_at(self.turn);
        let in_turn = from_turn.iter().chain(before);
        let next = in_turn.min_by_key(|worker| worker.metrics().num_alive_tasks());
        next.map_or_else(Handle::current, |worker| worker.handle().clone())
    }

    /// Stops the workers one after the other: each ends its tasks where they next wait, and is waited for with their
    /// work on blocking threads, within this time in all. Returns whether that was enough.
    pub(crate) fn stop(mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        for worker in self.runtimes.drain(..) {
            worker.shutdown_timeout(until.saturating_duration_since(Instant::now()));
        }
        Instant::now() < until
    }
}

impl Drop for Workers {
    /// Does not wait for tasks to end, since that would block the thread that drops the workers.
    fn drop(&mut self) {
        self.runtimes.drain(..).for_each(Runtime::shutdown_background);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        future,
        sync::mpsc,
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const A_MOMENT: Duration = Duration::from_millis(100);

    #[test]
    fn long_tasks_are_shared_out_evenly_and_end_with_the_workers() {
        let mut workers = Workers::start_some(2).unwrap();
        let (begun, began) = mpsc::channel();
        for _ in 0..6 {
            let begun = begun.clone();
            workers.next().spawn(async move {
                begun.send(thread::current().id()).unwrap();
                future::pending::<()>().await;
            });
        }
        drop(begun);
        let mut of_thread = BTreeMap::new();
        for _ in 0..6 {
            let thread = began.recv_timeout(PATIENCE).unwrap();
            *of_thread.entry(format!("{thread:?}")).or_insert(0) += 1;
        }
        assert_eq!(of_thread.into_values().collect::<Vec<_>>(), [3, 3]);
        drop(workers);
        assert_eq!(began.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[test]
    fn workers_without_tasks_take_turns() {
        let mut workers = Workers::start_some(3).unwrap();
        let turns: Vec<_> = (0..6).map(|_| workers.next().id()).collect();
        assert_eq!(turns[..3], turns[3..]);
        assert_eq!(turns.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len(), 3);
    }

    #[test]
    fn a_stop_waits_for_what_blocks_but_not_indefinitely() {
        for (blocks_for, waits_for) in [(PATIENCE, A_MOMENT), (A_MOMENT, PATIENCE)] {
            let mut workers = Workers::start_some(2).unwrap();
            let (begun, began) = mpsc::channel();
            let (_go_on, goes_on) = mpsc::channel::<()>();
            workers.next().spawn_blocking(move || {
                begun.send(()).unwrap();
                goes_on.recv_timeout(blocks_for)
            });
            began.recv_timeout(PATIENCE).unwrap();
            assert_eq!(workers.stop(waits_for), waits_for == PATIENCE);
            let has_ended = began.try_recv() == Err(mpsc::TryRecvError::Disconnected);
            assert_eq!(has_ended, waits_for == PATIENCE);
        }
    }
}
