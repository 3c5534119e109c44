//! Runs two pieces of work in parallel.

use std::{
    panic::resume_unwind,
    thread::{self, Builder},
};

/// Runs `other` on a thread of this name while `own` runs on this one; after it, where the system has no room for a
/// thread.
pub(crate) fn run_both<A: Send, B>(
    name: &str,
    mut other: impl FnMut() -> A + Send,
    own: impl FnOnce() -> B,
) -> (A, B) {
    let (joined, own) = thread::scope(|scope| {
        let thread = Builder::new().name(name.to_owned()).spawn_scoped(scope, &mut other);
        let own = own();
        (thread.map(|thread| thread.join().unwrap_or_else(|thrown| resume_unwind(thrown))), own)
    });
    (joined.unwrap_or_else(|_| other()), own)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn both_are_done_once_and_a_panic_of_either_is_thrown() {
        let mut done = 0;
        let (other, own) = run_both("other", || done += 1, || thread::current().id());
        assert_eq!((other, own, done), ((), thread::current().id(), 1));
        let throws = |other: fn(), own: fn()| {
            catch_unwind(AssertUnwindSafe(|| run_both("other", other, own))).is_err()
        };
        assert!(throws(|| panic!("other"), || ()) && throws(|| (), || panic!("own")));
    }
}
