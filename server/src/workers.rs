//! The threads that serve connections: one a processor, each with a runtime of its own. A connection stays on the
//! thread that it was given to, and what it holds near one processor; threads that take over one another's tasks spend
//! more time fetching them from each other.

use std::{io, num::NonZero, thread};

use tokio::runtime::{Builder, Runtime};

/// A runtime for each processor.
pub(crate) struct Workers(Vec<Runtime>);

impl Workers {
    /// Starts as many as there are processors for this process.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        // Of one thread, but not the kind that runs on the current one: what must wait can leave the others to a
        // new thread (`block_in_place`).
        let start = |_| Builder::new_multi_thread().worker_threads(1).enable_all().build();
        (0..processors).map(start).collect::<Result<_, _>>().map(Self)
    }

    /// Gives a task to the worker that has the fewest.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let least_busy = self.0.iter().min_by_key(|worker| worker.metrics().num_alive_tasks());
        if let Some(worker) = least_busy {
            worker.spawn(task);
        }
    }
}

impl Drop for Workers {
    /// Ends tasks where they next wait. Waiting for that would block the thread that drops them.
    fn drop(&mut self) {
        self.0.drain(..).for_each(Runtime::shutdown_background);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, future, sync::mpsc};

    use super::*;

    #[test]
    fn tasks_that_go_on_are_shared_out_evenly_and_end_with_the_workers() {
        const EACH: usize = 3;
        let workers = Workers::start().unwrap();
        let (begun, began) = mpsc::channel();
        let tasks = workers.0.len() * EACH;
        for _ in 0..tasks {
            let begun = begun.clone();
            workers.spawn(async move {
                begun.send(thread::current().id()).unwrap();
                future::pending::<()>().await;
            });
        }
        drop(begun);
        let mut of_thread = BTreeMap::new();
        for thread in began.iter().take(tasks) {
            *of_thread.entry(format!("{thread:?}")).or_insert(0) += 1;
        }
        assert!(of_thread.values().all(|count| *count == EACH), "{of_thread:?}");
        drop(workers);
        assert!(began.recv().is_err());
    }
}
