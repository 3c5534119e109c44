//! A switch that makes reads and writes fail.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::StoreError;

const NEVER: u64 = u64::MAX;

/// Switch that makes reads and writes of a store fail, as a disk does; clones are the same switch.
#[derive(Clone, Debug)]
pub struct Faults(Arc<AtomicU64>);

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(NEVER)))
    }
}

impl Faults {
    /// The next `accesses` reads and writes of rows succeed, and every later one fails.
    pub fn fail_after(&self, accesses: u64) {
        self.0.store(accesses, Ordering::SeqCst);
    }

    /// No access fails from now on.
    pub fn clear(&self) {
        self.fail_after(NEVER);
    }

    /// A row is read or written.
    pub(super) fn meet(&self) -> Result<(), StoreError> {
        let next = |left: u64| (left != NEVER).then(|| left.saturating_sub(1));
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next) {
            Ok(0) => Err(StoreError::Unavailable("told to fail".to_owned())),
            _ => Ok(()),
        }
    }
}
