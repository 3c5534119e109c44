//! Ids of requests, by which they are found in the log.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The id of a request, in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

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
    /// Longest id, in bytes: six in Base64, a dash, and a number in hexadecimal.
    const MAX_BYTES: usize = 8 + 1 + 16;

    pub(crate) fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut id = String::with_capacity(Self::MAX_BYTES);
        // Writing to a `String` does not fail.
        let _ = write!(id, "{}-{number:x}", self.start);
        id.into()
    }
}
