//! Bodies: read under a cap that counts what is decoded, within deadlines, and within a budget for
//! the whole process.

use std::{future::Future, io::Read as _};

use bytes::{Bytes, BytesMut};
use flate2::read::GzDecoder;
use futures_util::StreamExt as _;
use poem::{Request, http::header};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::{
    error::Error,
    limits::{BODY_BUDGET_KIB, BODY_BUDGET_WAIT, BODY_IDLE_TIMEOUT, BODY_TIMEOUT},
};

/// Room for all bodies that are being read or served, in KiB.
pub(crate) struct BodyBudget(Semaphore);

impl Default for BodyBudget {
    fn default() -> Self {
        Self(Semaphore::new(BODY_BUDGET_KIB as usize))
    }
}

/// A body, and its room in the budget for as long as it is held.
pub(crate) struct Body<'a> {
    pub(crate) bytes: Bytes,
    room: Option<SemaphorePermit<'a>>,
}

impl BodyBudget {
    /// Reads the body of a request, at most `max` bytes after decoding.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Unsupported`] for another encoding than gzip,
    /// [`Error::BodyTimeout`], [`Error::BodyBroken`], [`Error::Overloaded`].
    pub(crate) async fn read(&self, request: &mut Request, max: usize) -> Result<Body<'_>, Error> {
        let gzip = is_gzip(request)?;
        if declared_length(request).is_some_and(|length| length > max as u64) {
            return Err(Error::TooLarge(max));
        }
        let mut body = Body {
            bytes: Bytes::new(),
            room: None,
        };
        let arrived = within(BODY_TIMEOUT, self.receive(request, max, &mut body)).await?;
        body.bytes = if gzip {
            self.decode(&arrived, max, &mut body).await?
        } else {
            arrived
        };
        Ok(body)
    }

    async fn receive<'a>(
        &'a self,
        request: &mut Request,
        max: usize,
        body: &mut Body<'a>,
    ) -> Result<Bytes, Error> {
        let mut stream = request.take_body().into_bytes_stream();
        let mut first = Bytes::new();
        let mut whole = BytesMut::new();
        while let Some(chunk) = within(BODY_IDLE_TIMEOUT, async { Ok(stream.next().await) }).await?
        {
            let chunk = chunk.map_err(|error| Error::BodyBroken(broken(&error)))?;
            if first.len() + whole.len() + chunk.len() > max {
                return Err(Error::TooLarge(max));
            }
            self.make_room(body, chunk.len()).await?;
            if first.is_empty() && whole.is_empty() {
                first = chunk;
            } else {
                // Most bodies come in one piece, which is not copied.
                whole.extend_from_slice(&std::mem::take(&mut first));
                whole.extend_from_slice(&chunk);
            }
        }
        Ok(if whole.is_empty() {
            first
        } else {
            whole.freeze()
        })
    }

    async fn decode<'a>(
        &'a self,
        packed: &[u8],
        max: usize,
        body: &mut Body<'a>,
    ) -> Result<Bytes, Error> {
        let mut decoded = Vec::new();
        let mut reader = GzDecoder::new(packed).take(max as u64 + 1);
        reader
            .read_to_end(&mut decoded)
            .map_err(|error| Error::BodyBroken(broken(&error)))?;
        if decoded.len() > max {
            return Err(Error::TooLarge(max));
        }
        self.make_room(body, decoded.len()).await?;
        Ok(decoded.into())
    }

    /// Takes room for `length` more bytes; waits for it, but not for ever.
    async fn make_room<'a>(&'a self, body: &mut Body<'a>, length: usize) -> Result<(), Error> {
        let kib = u32::try_from(length.div_ceil(1024)).unwrap_or(u32::MAX);
        let permit = timeout(BODY_BUDGET_WAIT, self.0.acquire_many(kib)).await;
        let permit = permit.map_err(|_| Error::Overloaded)?;
        let permit = permit.map_err(|error| Error::Internal(error.to_string()))?;
        match &mut body.room {
            Some(room) => room.merge(permit),
            none => *none = Some(permit),
        }
        Ok(())
    }
}

async fn within<T>(
    limit: std::time::Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    timeout(limit, work).await.map_err(|_| Error::BodyTimeout)?
}

fn broken(error: &std::io::Error) -> String {
    format!("the body cannot be read: {error}")
}

fn declared_length(request: &Request) -> Option<u64> {
    request.header(header::CONTENT_LENGTH)?.parse().ok()
}

/// Whether the body is packed; only gzip is taken, and only UTF-8.
fn is_gzip(request: &Request) -> Result<bool, Error> {
    let charset = request
        .content_type()
        .and_then(|kind| kind.split_once("charset="));
    let charset = charset.map(|(_, charset)| charset.trim().trim_matches('"'));
    if charset.is_some_and(|charset| !charset.eq_ignore_ascii_case("utf-8")) {
        return Err(Error::Unsupported("the charset must be utf-8".to_owned()));
    }
    match request.header(header::CONTENT_ENCODING).map(str::trim) {
        None | Some("identity") => Ok(false),
        Some(encoding) if encoding.eq_ignore_ascii_case("gzip") => Ok(true),
        Some(_) => Err(Error::Unsupported("the encoding must be gzip".to_owned())),
    }
}

/// Refuses a body that is not said to be JSON, on routes that take nothing else.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn require_json(request: &Request) -> Result<(), Error> {
    let kind = request
        .content_type()
        .and_then(|kind| kind.split(';').next())
        .map(str::trim);
    match kind {
        None | Some("application/json") => Ok(()),
        Some(_) => Err(Error::Unsupported(
            "the media type must be application/json".to_owned(),
        )),
    }
}
