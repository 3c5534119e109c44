//! The end of a connection after a response that came before the end of its request. Closing at once with unread data
//! makes the system reset the connection, and the client loses the response. So what the client still sends is
//! discarded for a while (RFC 9112, 9.6). The connection counts as waiting meanwhile: it ends where its place is
//! needed.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use crate::{
    connections::ConnectionWait,
    limits::{LINGER_TIMEOUT, MAX_LINGER_BYTES},
};

/// How the connection of `waiting` ends.
#[derive(Clone)]
pub(crate) struct Linger {
    waiting: Arc<ConnectionWait>,
    is_due: Arc<AtomicBool>,
}

/// Time and bytes that are left to a client.
pub(crate) struct Rest {
    time: Pin<Box<Sleep>>,
    bytes: usize,
}

impl Rest {
    /// Begins the time of a client.
    pub(crate) fn begin() -> Self {
        Self { time: Box::pin(sleep(LINGER_TIMEOUT)), bytes: MAX_LINGER_BYTES }
    }
}

impl Linger {
    /// Size of a read, in bytes.
    const PIECE_BYTES: usize = 8 * 1024;

    pub(crate) fn new(waiting: Arc<ConnectionWait>) -> Self {
        Self { waiting, is_due: Arc::default() }
    }

    /// Notes that the client may send more than is read.
    pub(crate) fn leave_unread(&self) {
        self.is_due.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    /// Discards what arrives, until the client closes the connection or none of the `rest` is left.
    pub(crate) fn poll<S: AsyncRead + Unpin>(
        &self,
        rest: &mut Rest,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut piece = [0; Self::PIECE_BYTES];
        while rest.bytes > 0 && Instant::now() < rest.time.deadline() {
            let mut into = ReadBuf::new(&mut piece);
            match Pin::new(&mut *stream).poll_read(context, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => {
                    let read = into.filled().len();
                    self.waiting.receive(read);
                    rest.bytes = rest.bytes.saturating_sub(read);
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    self.waiting.begin();
                    return match self.waiting.has_to_end(context) {
                        true => Poll::Ready(()),
                        false => rest.time.as_mut().poll(context),
                    };
                }
            }
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    /// Ends a connection to a client at the other end of this stream.
    async fn end(linger: Linger, mut stream: DuplexStream) {
        let mut rest = Rest::begin();
        poll_fn(|context| linger.poll(&mut rest, &mut stream, context)).await;
    }

    fn linger() -> (Linger, DuplexStream, DuplexStream) {
        let waiting = Arc::new(ConnectionWait::new(std::time::Instant::now()));
        let (near, far) = duplex(64 * 1024);
        (Linger::new(waiting), near, far)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_waited_for_until_its_time_is_over_or_its_place_is_needed() {
        let (linger, near, _far) = linger();
        let begun = Instant::now();
        end(linger.clone(), near).await;
        assert!((LINGER_TIMEOUT..2 * LINGER_TIMEOUT).contains(&begun.elapsed()));
        let (near, _far) = duplex(1);
        let ended = tokio::spawn(end(linger.clone(), near));
        tokio::task::yield_now().await;
        linger.waiting.tell_to_end();
        let before = Instant::now();
        ended.await.unwrap();
        assert!(before.elapsed() < LINGER_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_without_end_is_read_up_to_a_number_of_bytes() {
        let (linger, near, mut far) = linger();
        let ended = tokio::spawn(end(linger, near));
        let (mut sent, piece) = (0, vec![0; 64 * 1024]);
        while far.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        ended.await.unwrap();
        assert!((MAX_LINGER_BYTES..MAX_LINGER_BYTES + 1024 * 1024).contains(&sent), "{sent}");
    }
}
