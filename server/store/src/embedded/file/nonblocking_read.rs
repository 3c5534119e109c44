//! Reads on threads that serve requests, which must not block. A read that would wait for the disk, or for a thread
//! that may wait for it, is abandoned by a panic through redb, as for corruption ([`super::corruption`]), and retried
//! on a thread that may wait.

use std::{cell::Cell, panic};

use parking_lot::{RwLock, RwLockReadGuard};

thread_local! {
    static READ: Cell<CachedRead> = const { Cell::new(CachedRead::MayWait) };
}

/// How long the reads of a thread may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CachedRead {
    /// A read may take as long as it needs.
    MayWait,
    /// A read must end at once.
    AtOnce,
    /// The read would block, and was abandoned.
    GivenUp,
}

/// The panic payload of an abandoned read.
struct WouldBlock;

/// Runs a read; none where it would have to wait.
pub(crate) fn read<T>(read: impl FnOnce() -> T) -> Option<T> {
    /// However the read ends, the next one may wait.
    struct ResetOnDrop;
    impl Drop for ResetOnDrop {
        fn drop(&mut self) {
            READ.set(CachedRead::MayWait);
        }
    }
    READ.set(CachedRead::AtOnce);
    let _until = ResetOnDrop;
    let done = read();
    (READ.get() == CachedRead::AtOnce).then_some(done)
}

/// Whether this thread may wait.
pub(crate) fn may_wait() -> bool {
    READ.get() == CachedRead::MayWait
}

/// Called before a wait for the disk: abandons a read that must end at once.
pub fn before_waiting() {
    if !may_wait() {
        READ.set(CachedRead::GivenUp);
        panic::resume_unwind(Box::new(WouldBlock));
    }
}

/// Locks a lock that others may hold, or wait for, while they wait for the disk.
pub(crate) fn lock_shared<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.try_read().unwrap_or_else(|| {
        before_waiting();
        lock.read()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StoreError, corruption};

    #[test]
    fn a_read_that_would_wait_is_given_up_and_the_next_one_may_wait() {
        let waits = || {
            before_waiting();
            Ok::<_, StoreError>(7)
        };
        assert!(read(|| corruption::contained(waits)).is_none());
        assert!(matches!(corruption::contained(waits), Ok(7)));
        assert!(matches!(read(|| corruption::contained(|| Ok(7))), Some(Ok(7))));
    }

    #[test]
    fn a_lock_that_another_holds_is_waited_for_only_by_who_may_wait() {
        let lock = RwLock::new(7);
        let locked = || corruption::contained(|| Ok(*lock_shared(&lock)));
        let held = lock.write();
        assert!(read(locked).is_none());
        drop(held);
        assert!(matches!(read(locked), Some(Ok(7))));
    }
}
