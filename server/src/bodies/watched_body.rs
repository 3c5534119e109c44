//! The body of a request as it arrives. The connection sees whether the handler waits for it, and after the
//! response how much is unread: the next request comes after its last byte.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::{
    connection::open_connections::ConnectionWait,
    limits::{DISCARD_TIMEOUT, MAX_DISCARDED_BYTES},
    observe::trace::note_received,
};

/// A body that is read by one task and watched by another.
#[derive(Clone)]
pub(crate) struct WatchedBody(Arc<Mutex<BodyState>>);

struct BodyState {
    body: Incoming,
    waiting: Arc<ConnectionWait>,
    is_read: bool,
}

impl WatchedBody {
    pub(crate) fn new(body: Incoming, waiting: Arc<ConnectionWait>) -> Self {
        Self(Arc::new(Mutex::new(BodyState { body, waiting, is_read: false })))
    }

    fn lock(&self) -> MutexGuard<'_, BodyState> {
        self.0.lock()
    }

    fn is_read(&self) -> bool {
        let watched = self.lock();
        watched.is_read || watched.body.is_end_stream()
    }

    /// Whether the next request can follow: all has been read, or little is left, which is read now and arrives soon.
    /// If the request `expects_continue`, its sender waits for a response before sending it.
    pub(crate) async fn can_be_passed(&mut self, expects_continue: bool) -> bool {
        if self.is_read() {
            return true;
        }
        if expects_continue
            || self.size_hint().exact().is_none_or(|left| left > MAX_DISCARDED_BYTES)
        {
            return false;
        }
        let rest = async { while let Some(Ok(_)) = self.frame().await {} };
        let _ = timeout(DISCARD_TIMEOUT, rest).await;
        self.is_read()
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let mut watched = self.lock();
        let frame = Pin::new(&mut watched.body).poll_frame(context);
        if frame.is_pending() {
            watched.waiting.begin();
            if watched.waiting.has_to_end(context) {
                return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
            }
        } else if let Poll::Ready(Some(Ok(frame))) = &frame {
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            watched.waiting.receive(bytes);
            note_received(bytes as u64);
        } else {
            watched.waiting.end();
            watched.is_read = matches!(frame, Poll::Ready(None));
        }
        frame.map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().body.size_hint()
    }
}

impl Drop for BodyState {
    fn drop(&mut self) {
        self.waiting.end();
    }
}
