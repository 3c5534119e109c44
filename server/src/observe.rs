//! What is said about requests: their ids, and the causes of failures, once. Never an e-mail, a token,
//! a body or a query.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Gives every request an id that no other request of any start has.
pub(crate) struct RequestIds {
    start: String,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        let mut start = [0; 6];
        // Without randomness the ids still differ within this start.
        let _ = getrandom::fill(&mut start);
        Self { start: URL_SAFE_NO_PAD.encode(start), next: AtomicU64::new(1) }
    }
}

impl RequestIds {
    pub(crate) fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.start)
    }
}

thread_local! {
    /// Whether a panic of this thread is expected, caught and told otherwise.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Has every panic logged as one line, but for those within [`quietly`].
pub(crate) fn log_panics() {
    panic::set_hook(Box::new(|info| {
        if !QUIET.get() {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "a panic: {}", panic_message(info.payload()));
        }
    }));
}

/// Runs `work`, which may panic; about that nothing is said here.
///
/// # Errors
/// What was thrown.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    done
}

/// The words of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}
