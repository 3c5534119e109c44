//! The stream of a connection, between hyper and the socket. A connection that begins as HTTP/2, which hyper would
//! close without a response, appears as one of an unknown version. After a response that left some of its request unread,
//! the connection ends for its client only once that has sent the rest. Writes differ from those of the socket in three
//! ways:
//!
//! - A short response is sent in one piece: its head and its body are apart in memory, and copying them costs less than
//!   having the system collect them.
//! - A response of hyper's own gets the headers and the body that all others have.
//! - A write fails when the client accepts nothing of it for long, and soon once the server stops. Where places are
//!   short, a connection whose client reads slowly gives way to a new one.

use std::{
    io::{self, IoSlice},
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::future::BoxFuture;
use poem::{Endpoint, Response};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::watch,
    time::sleep,
};

use super::{
    linger::LingeringClose, malformed_requests::completed, open_connections::ConnectionWait,
};
use crate::limits::{ANSWER_STALL, SHORT_WRITE_BYTES, STOP_STALL};

/// Beginning of a connection of HTTP/2 (RFC 9113, 3.4), as far as it looks like a request.
const HTTP_2: &[u8; 16] = b"PRI * HTTP/2.0\r\n";
/// Version that hyper reads in its place, and rejects.
const UNKNOWN_VERSION: &[u8; 16] = b"PRI * HTTP/9.9\r\n";

/// The stream `S` of a connection to a client of the endpoint `E`.
pub(crate) struct ClientStream<S, E> {
    stream: S,
    endpoint: Arc<E>,
    /// Whether something was read.
    has_begun: bool,
    /// Rest of a response that is sent in place of one of hyper's own.
    owed: Vec<u8>,
    stopping: watch::Receiver<bool>,
    /// Timeout of a write that waits for its client; none while no write waits.
    stall: Option<BoxFuture<'static, ()>>,
    waiting: Arc<ConnectionWait>,
    /// What is left to the client after a response that left its request unread; none before.
    linger: Option<LingeringClose>,
}

impl<S, E> ClientStream<S, E> {
    /// A connection of a server for which `stopping` becomes true when it stops.
    pub(crate) fn new(
        stream: S,
        endpoint: Arc<E>,
        stopping: watch::Receiver<bool>,
        waiting: Arc<ConnectionWait>,
    ) -> Self {
        let (owed, stall, linger) = (Vec::new(), None, None);
        Self { stream, endpoint, has_begun: false, owed, stopping, stall, waiting, linger }
    }

    /// Outcome of a write of some bytes, as of [`Self::unless_stalled`].
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.waiting.write(bytes);
        }
        self.unless_stalled(context, written)
    }

    /// Outcome of a write, which is an error when its client has had enough time.
    fn unless_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.stall.take().is_some() {
                self.waiting.write(0);
            }
            return written;
        }
        self.waiting.begin_write();
        let (stopping, waiting) = (&self.stopping, &self.waiting);
        let stall =
            self.stall.get_or_insert_with(|| Box::pin(stalled(stopping.clone(), waiting.clone())));
        stall.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Waits for as long as a client may accept nothing of a write.
async fn stalled(mut stopping: watch::Receiver<bool>, waiting: Arc<ConnectionWait>) {
    let stopped = async {
        // A dropped sender also means that the server has stopped.
        let _ = stopping.wait_for(|stopping| *stopping).await;
        sleep(STOP_STALL).await;
    };
    tokio::select! {
        () = sleep(ANSWER_STALL) => {}
        () = stopped => {}
        () = waiting.reader_gives_way() => {}
    }
}

impl<S: AsyncWrite + Unpin, E> ClientStream<S, E> {
    fn poll_owed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.owed.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &self.owed))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.owed.drain(..sent);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }
}

/// Copies all pieces into `whole`, if they fit; returns their length.
fn gather(pieces: &[IoSlice<'_>], whole: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for piece in pieces {
        let end = length + piece.len();
        whole.get_mut(length..end)?.copy_from_slice(piece);
        length = end;
    }
    Some(length)
}

impl<S: AsyncRead + Unpin, E> AsyncRead for ClientStream<S, E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if read.is_ready() && !mem::replace(&mut self.has_begun, true) {
            let first = into.filled_mut().get_mut(before..).unwrap_or_default();
            if let Some(version) = first.first_chunk_mut().filter(|start| **start == *HTTP_2) {
                *version = *UNKNOWN_VERSION;
            }
        }
        read
    }
}

impl<S, E> AsyncWrite for ClientStream<S, E>
where
    S: AsyncRead + AsyncWrite + Unpin,
    E: Endpoint<Output = Response>,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut whole = [0; SHORT_WRITE_BYTES];
        let whole = gather(pieces, &mut whole).and_then(|length| whole.get(..length));
        if let Some(response) = whole
            && let Some(completed) = completed(&*self.endpoint, response)
        {
            self.owed = completed;
            self.waiting.leave_unread();
            return Poll::Ready(Ok(response.len()));
        }
        let stream = Pin::new(&mut self.stream);
        let written = match whole {
            Some(whole) => stream.poll_write(context, whole),
            None => stream.poll_write_vectored(context, pieces),
        };
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.poll_owed(context);
        self.unless_stalled(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(linger) = &mut this.linger {
            return linger.poll(&this.waiting, &mut this.stream, context).map(Ok);
        }
        ready!(Pin::new(&mut *this).poll_flush(context))?;
        // Over TLS a last message must be sent.
        let shut = Pin::new(&mut this.stream).poll_shutdown(context);
        ready!(this.unless_stalled(context, shut))?;
        if !this.waiting.has_unread() || *this.stopping.borrow() {
            return Poll::Ready(Ok(()));
        }
        let linger = this.linger.insert(LingeringClose::begin());
        linger.poll(&this.waiting, &mut this.stream, context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use poem::endpoint::make_sync;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
        task::JoinHandle,
        time::Instant,
    };

    use super::*;
    use crate::limits::MIN_WAIT_FOR_READER;

    /// Writes 100 bytes to a client that reads from the other end, which holds 10 of them.
    fn write(stopping: &watch::Sender<bool>) -> (JoinHandle<io::Result<()>>, DuplexStream) {
        write_on(stopping, Arc::new(ConnectionWait::new(std::time::Instant::now())))
    }

    /// The same, on a connection that may have to end.
    fn write_on(
        stopping: &watch::Sender<bool>,
        waiting: Arc<ConnectionWait>,
    ) -> (JoinHandle<io::Result<()>>, DuplexStream) {
        let (near, far) = duplex(10);
        let endpoint = Arc::new(make_sync(|_| Response::default()));
        let mut near = ClientStream::new(near, endpoint, stopping.subscribe(), waiting);
        (tokio::spawn(async move { near.write_all(&[0; 100]).await }), far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_waits_for_its_client_for_long_and_not_while_the_server_stops() {
        for (is_stopping, limit) in [(false, ANSWER_STALL), (true, STOP_STALL)] {
            let (begun, stopping) = (Instant::now(), watch::Sender::new(is_stopping));
            let (writing, _far) = write(&stopping);
            assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!((limit..limit + STOP_STALL).contains(&begun.elapsed()), "{is_stopping}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_when_the_server_stops_fails_soon() {
        let stopping = watch::Sender::new(false);
        let (writing, _far) = write(&stopping);
        sleep(ANSWER_STALL / 2).await;
        assert!(!writing.is_finished());
        let stopped = Instant::now();
        stopping.send_replace(true);
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(stopped.elapsed() < 2 * STOP_STALL);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_has_the_whole_response() {
        let stopping = watch::Sender::new(true);
        let (writing, mut far) = write(&stopping);
        for _ in 0..20 {
            sleep(STOP_STALL / 2).await;
            let _ = far.read(&mut [0; 10]).await.unwrap();
        }
        assert!(writing.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_fails_soon_where_its_place_is_needed() {
        for told_after in [Duration::ZERO, ANSWER_STALL / 2] {
            let stopping = watch::Sender::new(false);
            let waiting = Arc::new(ConnectionWait::new(std::time::Instant::now()));
            let (writing, _far) = write_on(&stopping, waiting.clone());
            sleep(told_after).await;
            assert!(!writing.is_finished());
            let told = Instant::now();
            waiting.tell_to_end();
            assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!(told.elapsed() < ANSWER_STALL / 2, "{told_after:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_on_has_the_whole_response_where_its_place_is_needed() {
        let stopping = watch::Sender::new(false);
        let waiting = Arc::new(ConnectionWait::new(std::time::Instant::now()));
        let (writing, mut far) = write_on(&stopping, waiting.clone());
        waiting.tell_to_end();
        for _ in 0..20 {
            sleep(MIN_WAIT_FOR_READER / 2).await;
            let _ = far.read(&mut [0; 10]).await.unwrap();
        }
        assert!(writing.await.unwrap().is_ok());
    }

    #[test]
    fn pieces_are_copied_in_order_while_they_fit() {
        let pieces = [b"head".as_slice(), b"", b"body"].map(IoSlice::new);
        for (room, expected) in [(9, Some(8)), (8, Some(8)), (7, None)] {
            let mut whole = vec![0; room];
            assert_eq!(gather(&pieces, &mut whole), expected, "room for {room}");
            assert!(expected.is_none_or(|length| whole.get(..length) == Some(b"headbody")));
        }
    }
}
