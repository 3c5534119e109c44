//! Heads of requests that are larger than most: a connection needs a place to read one, and keeps it, since its buffer
//! stays as large. An address takes no more places than it leaves to others; when there is none, connections with one that
//! wait for their client give way, as in [`crate::connections`].

use std::{
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use svctrack_store::shares::Share;
use tokio::time::{Sleep, sleep};

use crate::{
    connections::{Connections, Place, Waiting},
    limits::{CROWDED_CHECK_INTERVAL, READ_BYTES},
};

/// What a connection may read of a head.
pub(crate) struct HeadReads {
    connections: Connections,
    address: IpAddr,
    waiting: Arc<Waiting>,
    place: Option<Share<IpAddr>>,
    /// Until it asks again for a place.
    pause: Option<Pin<Box<Sleep>>>,
}

impl HeadReads {
    /// Those of the connection that has this place.
    pub(crate) fn of(connection: &Place) -> Self {
        let Place { connections, address, waiting, .. } = connection;
        let (connections, waiting) = (connections.clone(), waiting.clone());
        Self { connections, address: *address, waiting, place: None, pause: None }
    }

    /// How many bytes may be read at once, as soon as some may.
    pub(crate) fn poll_max(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        loop {
            match self.waiting.small_head_left() {
                Some(0) if self.place.is_none() => {}
                Some(left) if self.place.is_none() => return Poll::Ready(left.min(READ_BYTES)),
                _ => return Poll::Ready(READ_BYTES),
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            self.place = self.connections.enter_large_head(self.address, &self.waiting);
            if self.place.is_none() {
                self.pause = Some(Box::pin(sleep(CROWDED_CHECK_INTERVAL)));
            }
        }
    }

    /// Notes that some were read.
    pub(crate) fn note(&self, bytes: usize) {
        self.waiting.read_of_head(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::{
        limits::{MAX_LARGE_HEADS, MIN_WAIT_FOR_CLIENT, SMALL_HEAD_BYTES},
        proxies::Proxies,
    };

    /// A connection of an address, and what it may read.
    fn connect(connections: &Connections, address: &str) -> (Place, HeadReads) {
        let place = connections.enter(address.parse().unwrap()).now_or_never().flatten().unwrap();
        let reads = HeadReads::of(&place);
        (place, reads)
    }

    fn max(reads: &mut HeadReads) -> Option<usize> {
        match reads.poll_max(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(max) => Some(max),
            Poll::Pending => None,
        }
    }

    /// Reads as much of a head as any connection may.
    fn read_small(reads: &mut HeadReads) {
        reads.note(SMALL_HEAD_BYTES);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_head_is_read_without_a_place_and_a_head_up_to_its_size() {
        let connections = Connections::new(1, Proxies::default());
        let (place, mut reads) = connect(&connections, "192.0.2.1");
        place.waiting.begin_head();
        assert_eq!(max(&mut reads), Some(SMALL_HEAD_BYTES));
        reads.note(SMALL_HEAD_BYTES - 1);
        assert_eq!(max(&mut reads), Some(1));
        place.waiting.end_head();
        read_small(&mut reads);
        assert_eq!((max(&mut reads), reads.place.is_some()), (Some(READ_BYTES), false));
        place.waiting.begin_head();
        read_small(&mut reads);
        assert_eq!((max(&mut reads), reads.place.is_some()), (Some(READ_BYTES), true));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_leaves_places_for_large_heads_to_others_and_its_own_give_way() {
        let connections = Connections::new(2 * MAX_LARGE_HEADS, Proxies::default());
        let large = |address| {
            let (place, mut reads) = connect(&connections, address);
            read_small(&mut reads);
            (max(&mut reads).is_some(), place, reads)
        };
        let has_to_end =
            |place: &Place| place.waiting.has_to_end(&Context::from_waker(Waker::noop()));
        let half = MAX_LARGE_HEADS / 2;
        let mut held: Vec<_> = (0..half).map(|_| large("192.0.2.1")).collect();
        assert!(held.iter().all(|(has_place, ..)| *has_place));
        let (has_place, _other, _) = large("192.0.2.2");
        assert!(has_place);
        let (small, _) = connect(&connections, "192.0.2.1");
        held[3].1.waiting.begin();
        small.waiting.begin();
        std::thread::sleep(2 * MIN_WAIT_FOR_CLIENT);
        let (has_place, _place, mut reads) = large("192.0.2.1");
        assert!(!has_place);
        let ended: Vec<_> = (0..half).filter(|at| has_to_end(&held[*at].1)).collect();
        assert_eq!((ended, has_to_end(&small)), (vec![3], false));
        held.remove(3);
        assert_eq!(max(&mut reads), None, "it asks again after a pause");
        tokio::time::sleep(CROWDED_CHECK_INTERVAL).await;
        assert_eq!(max(&mut reads), Some(READ_BYTES));
    }
}
