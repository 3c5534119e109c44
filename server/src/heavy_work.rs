//! CPU-bound work, such as parsing a large body or compressing a response. It runs at a lower priority than requests,
//! so that these do not wait for it, however much of it there is.

use tokio::task::{JoinHandle, spawn_blocking};

/// Difference in niceness to a thread that serves requests: with both on one processor the work gets a
/// third of the time of that thread.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Runs `work` on a thread for blocking work.
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    spawn_blocking(|| {
        give_way();
        work()
    })
}

/// Lowers the priority of this thread, once and permanently: raising it again takes a privilege. In Linux threads have
/// priorities of their own.
#[cfg(target_os = "linux")]
fn give_way() {
    use std::cell::Cell;

    thread_local!(static GIVES_WAY: Cell<bool> = const { Cell::new(false) });
    if !GIVES_WAY.replace(true) {
        // Where the system does not allow it, as some sandboxes do not, the work is done all the same.
        let _ = rustix::process::nice(NICENESS);
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use rustix::process::getpriority_process;
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn heavy_work_gives_way_to_the_thread_that_asked_for_it() {
        let niceness = || getpriority_process(None).unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let before = niceness();
        for _ in 0..3 {
            let of_work = runtime.block_on(async { spawn(niceness).await.unwrap() });
            assert_eq!(of_work, (before + NICENESS).min(19));
        }
        assert_eq!(niceness(), before);
        assert_eq!(runtime.block_on(runtime.spawn(async move { niceness() })).unwrap(), before);
    }
}
