//! Bodies: read under a cap that counts what is decoded, within deadlines, and within a budget for
//! the whole process.

use std::{
    future::Future,
    io::{self, Read as _},
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use hyper::body::Body as _;
use poem::{Request, http::header};
use svctrack_core::tracking::event::MAX_EVENT_BYTES;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    task::spawn_blocking,
    time::timeout,
};

use crate::{
    error::Error,
    limits::{
        BODY_BUDGET_WAIT, BODY_IDLE_TIMEOUT, BODY_TIMEOUT, LARGE_BODY_BUDGET_KIB,
        LARGE_BODY_BUDGET_WAIT, LARGE_BODY_IDLE_TIMEOUT, MAX_RECORD_BYTES,
        MIN_BODY_BYTES_PER_SECOND, MIN_LARGE_BODY_BYTES_PER_SECOND, PACKED_BODY_BUDGET_KIB,
        SMALL_BODY_BUDGET_KIB,
    },
};

/// What some editors and exporters write before a text, to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Largest packed body, in bytes.
const MAX_PACKED_BYTES: usize = PACKED_BODY_BUDGET_KIB as usize * 1024;

/// Room for all bodies that are being read or served, in KiB; a body that has outgrown the small ones
/// takes what it still needs of the room for large ones.
pub(crate) struct BodyBudget {
    small: Semaphore,
    large: Semaphore,
    packed: Semaphore,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self {
            small: Semaphore::new(SMALL_BODY_BUDGET_KIB as usize),
            large: Semaphore::new(LARGE_BODY_BUDGET_KIB as usize),
            packed: Semaphore::new(PACKED_BODY_BUDGET_KIB as usize),
        }
    }
}

/// A body, and its room in the budget for as long as it is held.
pub(crate) struct Body<'a> {
    pub(crate) bytes: Bytes,
    budget: &'a BodyBudget,
    rooms: Vec<SemaphorePermit<'a>>,
    /// For how many bytes there is room.
    roomy_bytes: usize,
    /// Whether it is still to be unpacked.
    is_packed: bool,
    /// Whether it holds room for which others wait.
    is_large: bool,
}

impl BodyBudget {
    /// Reads the body of a request, at most `max` bytes after decoding, without a byte-order mark before it (R50).
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::UnsupportedEncoding`] for another one than gzip, [`Error::BodyTimeout`], [`Error::BodyBroken`], [`Error::Overloaded`].
    pub(crate) async fn read(&self, request: &mut Request, max: usize) -> Result<Body<'_>, Error> {
        let gzip = is_gzip(request)?;
        let declared = declared_length(request).unwrap_or_default();
        if declared > max as u64 {
            return Err(Error::TooLarge(max));
        }
        let declared = usize::try_from(declared).unwrap_or(max);
        let mut body = Body {
            bytes: Bytes::new(),
            budget: self,
            rooms: Vec::new(),
            roomy_bytes: 0,
            is_packed: gzip,
            is_large: false,
        };
        let max_sent = if gzip { max.min(MAX_PACKED_BYTES) } else { max };
        if declared > max_sent {
            return Err(Error::TooLarge(max_sent));
        }
        if declared > MAX_RECORD_BYTES {
            // Room for all of it at once: senders that each held a part would wait for one another.
            body.make_room(declared).await?;
        }
        let arrived = within(BODY_TIMEOUT, receive(request, declared, max_sent, &mut body)).await?;
        body.bytes = if gzip { decode(arrived, max, &mut body).await? } else { arrived };
        if body.bytes.starts_with(BYTE_ORDER_MARK) {
            body.bytes = body.bytes.slice(BYTE_ORDER_MARK.len()..);
        }
        Ok(body)
    }
}

async fn receive(
    request: &mut Request,
    declared: usize,
    max: usize,
    body: &mut Body<'_>,
) -> Result<Bytes, Error> {
    let mut started = Instant::now();
    let mut sent: BoxBody<Bytes, io::Error> = request.take_body().into();
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while !sent.is_end_stream() {
        let frame = within(BODY_IDLE_TIMEOUT, async { Ok(sent.frame().await) }).await?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| Error::BodyBroken(broken(&error)))?;
        let Ok(chunk) = frame.into_data() else { continue };
        let arrived = first.len() + whole.len() + chunk.len();
        if arrived > max {
            return Err(Error::TooLarge(max));
        }
        if is_too_slow(arrived, started.elapsed(), body.is_large) {
            return Err(Error::BodyTimeout);
        }
        let waiting = Instant::now();
        body.make_room(arrived).await?;
        // For room it is not the sender who is waited for.
        started += waiting.elapsed();
        if first.is_empty() && whole.is_empty() {
            first = chunk;
        } else {
            // Most bodies come in one piece, which is not copied.
            if whole.is_empty() {
                whole.reserve(declared.max(arrived));
            }
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&chunk);
        }
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

/// Unpacks a body: it is measured first, so that there is room for it before it is held. The room for it as it
/// came is one of its own, or a small one: so nobody who holds it has what others of its kind wait for.
async fn decode(packed: Bytes, max: usize, body: &mut Body<'_>) -> Result<Bytes, Error> {
    let measured = packed.clone();
    let bytes = apart(packed.len(), move || unpack(&measured, max, &mut io::sink())).await?;
    (body.is_packed, body.roomy_bytes) = (false, 0);
    body.make_room(bytes).await?;
    let unpacked = apart(bytes, move || {
        let mut unpacked = Vec::with_capacity(bytes);
        unpack(&packed, max, &mut unpacked)?;
        Ok(unpacked)
    });
    Ok(unpacked.await?.into())
}

/// Unpacks `packed` into `out`; returns how many bytes it came to.
fn unpack(packed: &[u8], max: usize, out: &mut impl io::Write) -> Result<usize, Error> {
    let mut reader = MultiGzDecoder::new(packed).take(max as u64 + 1);
    let bytes = io::copy(&mut reader, out).map_err(|error| Error::BodyBroken(broken(&error)))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes > max { Err(Error::TooLarge(max)) } else { Ok(bytes) }
}

/// Does a work on so many bytes: a large one where it holds up no other request.
async fn apart<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if bytes <= MAX_EVENT_BYTES {
        return work();
    }
    spawn_blocking(work).await.map_err(|error| Error::Internal(error.to_string()))?
}

impl<'a> Body<'a> {
    /// Takes room until there is enough for so many bytes; waits for it, but not for ever.
    async fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        let BodyBudget { small, large, packed } = self.budget;
        let budget = match self.is_packed {
            true if bytes > MAX_EVENT_BYTES => packed,
            false if bytes > MAX_RECORD_BYTES => large,
            _ => return self.take(small, bytes, BODY_BUDGET_WAIT).await,
        };
        // Who holds a part of it already keeps others waiting, who may hold what is missing; and who holds a
        // small room, single events.
        let is_in_line = self.roomy_bytes == 0 && (self.is_large || self.rooms.is_empty());
        let wait = if is_in_line { LARGE_BODY_BUDGET_WAIT } else { BODY_BUDGET_WAIT };
        self.is_large = true;
        self.take(budget, bytes, wait).await
    }

    async fn take(
        &mut self,
        budget: &'a Semaphore,
        bytes: usize,
        wait: Duration,
    ) -> Result<(), Error> {
        let missing = bytes.saturating_sub(self.roomy_bytes).div_ceil(1024);
        if missing == 0 {
            return Ok(());
        }
        let kib = u32::try_from(missing).unwrap_or(u32::MAX);
        let permit = timeout(wait, budget.acquire_many(kib)).await;
        let permit = permit.map_err(|_| Error::Overloaded)?;
        let permit = permit.map_err(|error| Error::Internal(error.to_string()))?;
        self.roomy_bytes += missing * 1024;
        self.rooms.push(permit);
        Ok(())
    }
}

/// Whether a body drips: after a while it must have come at the least rate.
fn is_too_slow(arrived: usize, elapsed: Duration, is_large: bool) -> bool {
    let (rate, after) = match is_large {
        true => (MIN_LARGE_BODY_BYTES_PER_SECOND, LARGE_BODY_IDLE_TIMEOUT),
        false => (MIN_BODY_BYTES_PER_SECOND, BODY_IDLE_TIMEOUT),
    };
    let seconds = usize::try_from(elapsed.as_secs()).unwrap_or(usize::MAX);
    elapsed > after && arrived < seconds.saturating_mul(rate)
}

// No `async`, which would hold the work twice.
fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Error>> {
    timeout(limit, work).map(|done| done.map_err(|_| Error::BodyTimeout)?)
}

fn broken(error: &std::io::Error) -> String {
    format!("the body cannot be read: {error}")
}

fn declared_length(request: &Request) -> Option<u64> {
    request.header(header::CONTENT_LENGTH)?.parse().ok()
}

/// Whether the body is packed; only gzip is taken, and only UTF-8.
pub(crate) fn is_gzip(request: &Request) -> Result<bool, Error> {
    if parameter(request, "charset").is_some_and(|charset| !charset.eq_ignore_ascii_case("utf-8")) {
        return Err(Error::Unsupported("the charset must be utf-8".to_owned()));
    }
    match request.header(header::CONTENT_ENCODING).map(str::trim) {
        None | Some("identity") => Ok(false),
        Some(encoding) if encoding.eq_ignore_ascii_case("gzip") => Ok(true),
        Some(_) => Err(Error::UnsupportedEncoding),
    }
}

/// A parameter of the media type: `utf-8` in `text/plain; charset="utf-8"`.
fn parameter<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let parameters = request.content_type()?.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = pairs.find(|(known, _)| known.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().trim_matches('"'))
}

/// Refuses a body that is not said to be JSON, on routes that take nothing else.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn require_json(request: &Request) -> Result<(), Error> {
    let kind = request.content_type().and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind.is_none_or(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Error::Unsupported("the media type must be application/json".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_come_at_the_least_rate_and_faster_when_others_wait_for_its_room() {
        const KIB: usize = 1024;
        for (arrived, seconds, is_large, expected) in [
            (0, 10, false, false),
            (10 * KIB, 11, false, true),
            (11 * KIB, 11, false, false),
            (0, 3, true, false),
            (255 * KIB, 4, true, true),
            (256 * KIB, 4, true, false),
        ] {
            let found = is_too_slow(arrived, Duration::from_secs(seconds), is_large);
            assert_eq!(found, expected, "{arrived} bytes in {seconds} s, large: {is_large}");
        }
    }
}
