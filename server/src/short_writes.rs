//! Short answers are sent in one piece. Their head and their body stand apart in memory, and what the system does to
//! collect them costs it more than copying them does. Those that hyper makes itself are completed here.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use poem::{Endpoint, Response};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::{bare_answers::completed, limits::SHORT_WRITE_BYTES};

/// A connection that copies what it is given at a time into one piece, if that is short.
pub(crate) struct ShortWrites<E> {
    stream: TcpStream,
    endpoint: Arc<E>,
    /// What is sent in place of an answer of hyper, as far as it has not been.
    owed: Vec<u8>,
}

impl<E> ShortWrites<E> {
    pub(crate) fn new(stream: TcpStream, endpoint: Arc<E>) -> Self {
        Self { stream, endpoint, owed: Vec::new() }
    }

    fn poll_owed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.owed.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &self.owed))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.owed.drain(..sent);
        }
        Poll::Ready(Ok(()))
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

impl<E> AsyncRead for ShortWrites<E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<E: Endpoint<Output = Response>> AsyncWrite for ShortWrites<E> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut whole = [0; SHORT_WRITE_BYTES];
        let whole = gather(pieces, &mut whole).and_then(|length| whole.get(..length));
        if let Some(answer) = whole
            && let Some(completed) = completed(&*self.endpoint, answer)
        {
            self.owed = completed;
            return Poll::Ready(Ok(answer.len()));
        }
        let stream = Pin::new(&mut self.stream);
        match whole {
            Some(whole) => stream.poll_write(context, whole),
            None => stream.poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_owed(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_owed(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
