//! Permits that a read may take besides its own.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Permits that a read may take besides its own, where there are any.
pub(crate) struct SparePermits(pub(crate) Arc<Semaphore>);

impl SparePermits {
    /// A permit, for as long as it is held; none where all are.
    pub(crate) fn take(&self) -> Option<SemaphorePermit<'_>> {
        self.0.try_acquire().ok()
    }
}
