//! Panics that are caught, and the log line of each unexpected one.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

thread_local! {
    /// Whether a panic of this thread is expected, caught and reported otherwise.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Logs every panic as one line, except those within [`catch_panic`]; where log lines have no target, as in tests, it
/// is printed as before.
pub fn log_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                return;
            }
            if !tracing::dispatcher::has_been_set() {
                return print(info);
            }
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, cause = panic_message(info.payload()), "panic");
        }));
    });
}

/// Runs `work`, which may panic, without a log line.
///
/// # Errors
/// The payload of the panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    done
}

/// Text of a panic's payload; `no message` if it is no string.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
