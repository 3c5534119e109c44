//! What is said about requests: their ids, and the causes of failures, once. Never an e-mail, a token,
//! a body or a query.

use std::sync::atomic::{AtomicU64, Ordering};

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
        Self {
            start: URL_SAFE_NO_PAD.encode(start),
            next: AtomicU64::new(1),
        }
    }
}

impl RequestIds {
    pub(crate) fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number:x}", self.start)
    }
}

/// Sends log lines to standard error, filtered by `filter` (`info`, `debug`, `warn,svctrack_server=debug`).
///
/// # Errors
/// When the filter cannot be read, with the reason.
pub(crate) fn start_logging(filter: &str) -> Result<(), String> {
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|error| format!("`log` must be a filter such as `info`; {error}"))?;
    // A second start in one process, as tests make it, keeps the first one's logging.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
    Ok(())
}
