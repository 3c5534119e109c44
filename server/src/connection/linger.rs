//! The end of a connection after a response that came before the end of its request. Closing at once with unread data
//! makes the system reset the connection, and the client loses the response. So what the client still sends is
//! discarded for a while (RFC 9112, 9.6). The connection counts as waiting meanwhile: it ends where its place is
//! needed.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use super::open_connections::ConnectionWait;
use crate::limits::{LINGER_TIMEOUT, MAX_LINGER_BYTES};

/// Size of a read, in bytes.
const PIECE_BYTES: usize = 8 * 1024;

/// Time and bytes that are left to a client.
pub(crate) struct LingeringClose {
    time: Pin<Box<Sleep>>,
    bytes: usize,
}

impl LingeringClose {
    /// Begins the time of a client.
    pub(crate) fn begin() -> Self {
        Self { time: Box::pin(sleep(LINGER_TIMEOUT)), bytes: MAX_LINGER_BYTES }
    }

    /// Discards what arrives, until the client closes the connection or nothing is left to it.
    pub(crate) fn poll<S: AsyncRead + Unpin>(
        &mut self,
        waiting: &ConnectionWait,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut piece = [0; PIECE_BYTES];
        while self.bytes > 0 && Instant::now() < self.time.deadline() {
            let mut into = ReadBuf::new(&mut piece);
            match Pin::new(&mut *stream).poll_read(context, &mut into) {
                Poll::Ready(Ok(())) if !into.filled().is_empty() => {
                    let read = into.filled().len();
                    waiting.receive(read);
                    self.bytes = self.bytes.saturating_sub(read);
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    waiting.begin();
                    return match waiting.has_to_end(context) {
                        true => Poll::Ready(()),
                        false => self.time.as_mut().poll(context),
                    };
                }
            }
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::Arc};

    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    fn waiting() -> Arc<ConnectionWait> {
        Arc::new(ConnectionWait::new(std::time::Instant::now()))
    }

    /// Ends a connection to a client at the other end of this stream.
    async fn end(waiting: Arc<ConnectionWait>, mut stream: DuplexStream) {
        let mut linger = LingeringClose::begin();
        poll_fn(|context| linger.poll(&waiting, &mut stream, context)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_waited_for_until_its_time_is_over_or_its_place_is_needed() {
        let waiting = waiting();
        let (near, _far) = duplex(1);
        let begun = Instant::now();
        end(waiting.clone(), near).await;
        assert!((LINGER_TIMEOUT..2 * LINGER_TIMEOUT).contains(&begun.elapsed()));
        let (near, _far) = duplex(1);
        let ended = tokio::spawn(end(waiting.clone(), near));
        tokio::task::yield_now().await;
        waiting.tell_to_end();
        let before = Instant::now();
        ended.await.unwrap();
        assert!(before.elapsed() < LINGER_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_without_end_is_read_up_to_a_number_of_bytes() {
        let (near, mut far) = duplex(64 * 1024);
        let ended = tokio::spawn(end(waiting(), near));
        let (mut sent, piece) = (0, vec![0; 64 * 1024]);
        while far.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        ended.await.unwrap();
        assert!((MAX_LINGER_BYTES..MAX_LINGER_BYTES + 1024 * 1024).contains(&sent), "{sent}");
    }
}
