//! The runtimes that serve connections, as many as there are processors, each with one thread that serves requests. A
//! connection stays with the runtime that it was given to: the threads of a shared one take over each other's tasks, and
//! spend more time fetching what these hold than they save. For that, connections that happen to be busy together and
//! have the same runtime share one processor.

use std::{
    io,
    num::NonZero,
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::{Builder, Runtime};

use crate::limits::MAX_WORKERS;

/// Some runtimes for connections.
pub struct Workers {
    runtimes: Vec<Runtime>,
    /// Which of those with as many tasks is next.
    turn: usize,
}

impl Workers {
    /// Files that a runtime keeps open.
    const FILES_OF_EACH: usize = 4;

    /// Starts one for each processor that this process may use.
    ///
    /// # Errors
    /// When the process may open no more files.
    pub fn start() -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self::start_some(processors.min(MAX_WORKERS))
    }

    fn start_some(count: usize) -> io::Result<Self> {
        let mut workers = Self { runtimes: Vec::new(), turn: 0 };
        for _ in 0..count {
            // Of one thread, but not of the kind that has the current one: what must wait can leave the others to a
            // new thread (`block_in_place`).
            let mut worker = Builder::new_multi_thread();
            worker.worker_threads(1).thread_name("requests").enable_all();
            workers.runtimes.push(worker.build()?);
        }
        Ok(workers)
    }

    /// How many files they keep open.
    pub(crate) fn files(&self) -> usize {
        self.runtimes.len() * Self::FILES_OF_EACH
    }

    /// Gives a task to one that has the fewest, in turn.
    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.turn = (self.turn + 1) % self.runtimes.len().max(1);
        let (before, from_turn) = self.runtimes.split_at(self.turn);
        let in_turn = from_turn.iter().chain(before);
        if let Some(worker) = in_turn.min_by_key(|worker| worker.metrics().num_alive_tasks()) {
            worker.spawn(task);
        }
    }

    /// Ends tasks where they next wait, and waits until they have ended, and with them what they have put on threads
    /// that may block: for so long at the most.
    pub(crate) fn stop(mut self, within: Duration) {
        let until = Instant::now() + within;
        for worker in self.runtimes.drain(..) {
            worker.shutdown_timeout(until.saturating_duration_since(Instant::now()));
        }
    }
}

impl Drop for Workers {
    /// Does not wait for tasks to end, since that would block who drops them.
    fn drop(&mut self) {
        self.runtimes.drain(..).for_each(Runtime::shutdown_background);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, future, sync::mpsc};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn tasks_that_go_on_are_shared_out_evenly_and_end_with_the_workers() {
        let mut workers = Workers::start_some(2).unwrap();
        let (begun, began) = mpsc::channel();
        for _ in 0..6 {
            let begun = begun.clone();
            workers.spawn(async move {
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
    fn a_stop_waits_for_what_blocks_but_not_for_ever() {
        for (blocks_for, waits_for) in [(PATIENCE, Duration::ZERO), (Duration::ZERO, PATIENCE)] {
            let mut workers = Workers::start_some(1).unwrap();
            let (begun, began) = mpsc::channel();
            let (go_on, goes_on) = mpsc::channel::<()>();
            let (ended, end) = mpsc::channel();
            workers.spawn(async move {
                let blocks = move || {
                    begun.send(()).unwrap();
                    let _ = goes_on.recv_timeout(blocks_for);
                    ended.send(()).unwrap();
                };
                tokio::task::spawn_blocking(blocks).await.unwrap();
            });
            began.recv_timeout(PATIENCE).unwrap();
            workers.stop(waits_for);
            assert_eq!(end.try_recv().is_ok(), blocks_for.is_zero());
            drop(go_on);
        }
    }
}
