//! An answer that its reader does not take holds up no stop.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::watch,
    time::sleep,
};

use crate::limits::STOP_STALL;

/// A connection on which a write that waits for its reader fails soon, once the server stops.
pub(crate) struct EndsWithStop<S> {
    stream: S,
    stopping: watch::Receiver<bool>,
    /// Is done when a write has waited for too long; there is none while no write waits.
    is_over: Option<BoxFuture<'static, ()>>,
}

impl<S> EndsWithStop<S> {
    /// A connection of a server; who stops that says so.
    pub(crate) fn new(stream: S, stopping: watch::Receiver<bool>) -> Self {
        Self { stream, stopping, is_over: None }
    }

    /// What has become of a write, which fails where its reader has had enough time.
    fn unless_over(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.is_over = None;
            return written;
        }
        let stopping = &self.stopping;
        let is_over = self.is_over.get_or_insert_with(|| {
            let mut stopping = stopping.clone();
            Box::pin(async move {
                // Where nobody can stop the server any more, it has stopped.
                let _ = stopping.wait_for(|stopping| *stopping).await;
                sleep(STOP_STALL).await;
            })
        });
        is_over.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for EndsWithStop<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for EndsWithStop<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_over(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.unless_over(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_waits_for_its_reader_until_the_server_stops_and_little_longer() {
        let stopping = watch::Sender::new(false);
        let (near, _far) = duplex(10);
        let mut near = EndsWithStop::new(near, stopping.subscribe());
        let writing = tokio::spawn(async move { near.write_all(&[0; 100]).await });
        tokio::time::sleep(100 * STOP_STALL).await;
        assert!(!writing.is_finished());
        let stopped = Instant::now();
        stopping.send_replace(true);
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(stopped.elapsed() < STOP_STALL + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_has_the_whole_answer() {
        let stopping = watch::Sender::new(true);
        let (near, mut far) = duplex(10);
        let mut near = EndsWithStop::new(near, stopping.subscribe());
        let writing = tokio::spawn(async move { near.write_all(&[0; 100]).await });
        for _ in 0..20 {
            tokio::time::sleep(STOP_STALL / 2).await;
            let _ = far.read(&mut [0; 10]).await.unwrap();
        }
        assert!(writing.await.unwrap().is_ok());
    }
}
