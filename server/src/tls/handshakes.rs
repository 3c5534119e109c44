//! Limits of handshakes: a signature takes as much of a processor as twenty requests or more, and any client may
//! request one.
//!
//! - An address may begin a limited number of them a second.
//! - Each worker computes one at a time, and its other tasks have their turn before the next one: whatever the number
//!   of unauthenticated clients, a request waits for one signature.

use std::net::IpAddr;

use governor::clock::{Clock, DefaultClock};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{limits::MAX_HANDSHAKES_PER_SECOND, rate_limit::Limiter, sender_limits::SenderAddress};

pub(super) struct Handshakes<C: Clock = DefaultClock> {
    of_address: Limiter<C>,
    turns: Semaphore,
}

impl Handshakes {
    /// Handshakes that a number of workers compute.
    pub(super) fn for_workers(workers: usize) -> Self {
        Self::with_clock(workers, &DefaultClock::default())
    }
}

impl<C: Clock + Clone> Handshakes<C> {
    fn with_clock(workers: usize, clock: &C) -> Self {
        let of_address = Limiter::new(MAX_HANDSHAKES_PER_SECOND, clock);
        Self { of_address, turns: Semaphore::new(workers.max(1)) }
    }

    /// Whether an address may begin one more handshake now; for IPv6 its network.
    pub(super) fn may_begin(&self, address: IpAddr) -> bool {
        self.of_address.count(SenderAddress::from(address).as_bytes()).is_ok()
    }

    /// Computes a part of a handshake, in its turn.
    pub(super) async fn compute<T>(&self, compute: impl FnOnce() -> T) -> T {
        let turn = self.turns.acquire().await;
        let computed = compute();
        // The next one begins when the tasks that are ready now have had their turn.
        yield_now().await;
        drop(turn);
        computed
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use futures_util::future::join_all;
    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn an_address_begins_a_number_of_handshakes_a_second_and_others_are_not_concerned() {
        let clock = FakeRelativeClock::default();
        let handshakes = Handshakes::with_clock(1, &clock);
        let begun = |address: &str| {
            let address = address.parse().unwrap();
            (0..10_000).take_while(|_| handshakes.may_begin(address)).count()
        };
        let most = usize::try_from(MAX_HANDSHAKES_PER_SECOND.get()).unwrap();
        assert_eq!(begun("192.0.2.1"), 2 * most);
        assert_eq!(begun("192.0.2.2"), 2 * most);
        assert_eq!(begun("2001:db8::1"), 2 * most);
        assert_eq!(begun("2001:db8::2"), 0, "it is of the same network");
        clock.advance(Duration::from_secs(1));
        assert_eq!(begun("192.0.2.1"), most);
    }

    #[tokio::test]
    async fn a_request_waits_for_one_handshake_and_not_for_all() {
        const WAITING: usize = 50;
        let (handshakes, computed) =
            (Arc::new(Handshakes::for_workers(1)), Arc::new(AtomicUsize::new(0)));
        let all = (0..WAITING).map(|_| {
            let (handshakes, computed) = (handshakes.clone(), computed.clone());
            tokio::spawn(async move {
                handshakes.compute(|| computed.fetch_add(1, Ordering::Relaxed)).await
            })
        });
        let all: Vec<_> = all.collect();
        let request = tokio::spawn({
            let computed = computed.clone();
            async move { computed.load(Ordering::Relaxed) }
        });
        assert!(request.await.unwrap() <= 1);
        join_all(all).await;
        assert_eq!(computed.load(Ordering::Relaxed), WAITING);
    }
}
