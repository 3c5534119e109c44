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
