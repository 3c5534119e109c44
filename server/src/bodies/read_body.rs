//! Request bodies: read under a cap on the decoded bytes, a minimum rate, and a memory budget of the whole process.

use std::{
    io::{self, Read as _},
    time::Duration,
};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use hyper::body::{Body as _, Frame};
use poem::{
    Request,
    http::{Method, header},
};
use svctrack_core::{tracking::event::MAX_EVENT_BYTES, value::TenantId};
use tokio::time::{Instant, timeout_at};

use super::{
    memory::{BodyMemory, BodyMemoryNeed, BodyOwner, BodyReservation},
    pace::{BodyProgress, MinimumRate},
};
use crate::{
    error::Error,
    heavy_work,
    limits::{
        BODY_BUDGET_WAIT, BODY_TIMEOUT, FREE_BODY_BYTES, LARGE_BODY_BUDGET_BYTES,
        LARGE_BODY_BUDGET_WAIT, LARGE_BODY_PACE, LARGE_BODY_SHARE_BYTES, MAX_PACKED_BYTES,
        MAX_RECORD_BODY_BYTES, PACKED_BODY_BUDGET_BYTES, READ_AHEAD_BYTES, SMALL_BODY_BUDGET_BYTES,
        SMALL_BODY_PACE, SMALL_BODY_SHARE_BYTES,
    },
    sender_limits::SenderAddress,
};

/// Some editors and exporters write this mark before a text, to mark it as UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Media types that a form can have.
const FORM_TYPES: [&str; 3] =
    ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// Memory for all bodies that are being read or served.
pub(crate) struct BodyBudget {
    small: BodyMemory,
    large: BodyMemory,
    packed: BodyMemory,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self {
            small: BodyMemory::new(SMALL_BODY_BUDGET_BYTES, SMALL_BODY_SHARE_BYTES),
            large: BodyMemory::new(LARGE_BODY_BUDGET_BYTES, LARGE_BODY_SHARE_BYTES),
            packed: BodyMemory::new(PACKED_BODY_BUDGET_BYTES, MAX_PACKED_BYTES),
        }
    }
}

/// A body, and its place in the budget for as long as it is held.
pub(crate) struct Body<'a> {
    pub(crate) bytes: Bytes,
    _place: Option<BodyReservation<'a>>,
}

impl<'a> Body<'a> {
    /// Bytes of the body, for a caller that needs them only until they are parsed, and its place for the parsed values.
    pub(crate) fn into_parts(self) -> (Bytes, impl Send + use<'a>) {
        (self.bytes, self._place)
    }
}

impl BodyBudget {
    /// Reads the body of a request of a tenant, at most `max` bytes after decoding, without a leading byte-order mark
    /// (R50).
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::UnsupportedEncoding`] for an encoding other than gzip, [`Error::BodyTimeout`],
    /// [`Error::BodyBroken`], [`Error::Overloaded`].
    pub(crate) async fn read(
        &self,
        request: &mut Request,
        tenant: Option<TenantId>,
        max: usize,
    ) -> Result<Body<'_>, Error> {
        let is_packed = is_gzip(request)?;
        let max_sent = if is_packed { max.min(MAX_PACKED_BYTES) } else { max };
        let declared = match declared_length(request).map(usize::try_from) {
            Some(Ok(declared)) if declared <= max_sent => Some(declared),
            Some(_) => return Err(Error::TooLarge(max_sent)),
            None => None,
        };
        let owner = BodyOwner { tenant, address: SenderAddress::from_request(request) };
        let progress = BodyProgress::begin();
        let until = progress.since + BODY_TIMEOUT;
        let mut arriving = ArrivingBody {
            budget: self,
            owner,
            is_packed,
            declared,
            max_sent,
            progress,
            until,
            place: None,
        };
        let arrived = arriving.receive(request.take_body().into()).await?;
        let (mut bytes, place) = match is_packed {
            true => arriving.decode(arrived, max).await?,
            false => (arrived, arriving.place),
        };
        if bytes.starts_with(BYTE_ORDER_MARK) {
            bytes = bytes.slice(BYTE_ORDER_MARK.len()..);
        }
        Ok(Body { bytes, _place: place })
    }
}

struct ArrivingBody<'a> {
    budget: &'a BodyBudget,
    owner: BodyOwner,
    is_packed: bool,
    declared: Option<usize>,
    /// Maximum number of bytes that may be sent.
    max_sent: usize,
    progress: BodyProgress,
    /// Time by which the whole body must have arrived.
    until: Instant,
    place: Option<BodyReservation<'a>>,
}

impl<'a> ArrivingBody<'a> {
    async fn receive(&mut self, mut sent: BoxBody<Bytes, io::Error>) -> Result<Bytes, Error> {
        let mut first = Bytes::new();
        let mut whole = Vec::new();
        while !sent.is_end_stream() {
            let had = first.len() + whole.len();
            self.make_room_ahead(had, whole.capacity()).await?;
            let Some(frame) = self.next(&mut sent, had).await? else { break };
            let Ok(chunk) = frame.into_data() else { continue };
            let arrived = had + chunk.len();
            if arrived > self.max_sent {
                return Err(Error::TooLarge(self.max_sent));
            }
            self.progress.count(chunk.len(), self.pace(arrived));
            if had == 0 {
                // Most bodies arrive in one piece, which is not copied.
                self.make_room(arrived, arrived).await?;
                first = chunk;
                continue;
            }
            let capacity = match whole.capacity() {
                enough if enough >= arrived => enough,
                _ => self.buffer_capacity(arrived),
            };
            self.make_room(arrived, capacity).await?;
            whole.reserve_exact(capacity - whole.len());
            whole.extend_from_slice(&std::mem::take(&mut first));
            whole.extend_from_slice(&chunk);
        }
        self.place.as_ref().map_or(Ok(()), BodyReservation::complete)?;
        Ok(if whole.is_empty() { first } else { whole.into() })
    }

    /// Next piece after the first `had` bytes; none at the end of the body.
    async fn next(
        &self,
        sent: &mut BoxBody<Bytes, io::Error>,
        had: usize,
    ) -> Result<Option<Frame<Bytes>>, Error> {
        let frame = async {
            let Some(place) = &self.place else { return Ok(sent.frame().await) };
            tokio::select! {
                frame = sent.frame() => Ok(frame),
                () = place.has_to_give_way() => Err(Error::Overloaded),
            }
        };
        let deadline = self.until.min(self.progress.deadline(self.pace(had)));
        let frame = timeout_at(deadline, frame).await;
        let frame = frame.map_err(|_| Error::BodyTimeout)??;
        frame.transpose().map_err(|error| unread(&error, message_of(&error)))
    }

    /// Whether a body of `bytes` takes much of its memory, for which others may wait.
    fn is_large(&self, bytes: usize) -> bool {
        bytes > self.large_from()
    }

    fn large_from(&self) -> usize {
        if self.is_packed { MAX_EVENT_BYTES } else { MAX_RECORD_BODY_BYTES }
    }

    /// Minimum rate of a body with `arrived` bytes so far.
    fn pace(&self, arrived: usize) -> &'static MinimumRate {
        match self.is_large(self.declared.unwrap_or(arrived)) {
            true => &LARGE_BODY_PACE,
            false => &SMALL_BODY_PACE,
        }
    }

    /// Capacity in bytes of a buffer for `arrived` bytes, so that they are not copied at each piece: twice as many, but
    /// no more than may arrive. The buffer is held, so it counts.
    fn buffer_capacity(&self, arrived: usize) -> usize {
        self.at_most(arrived).min(2 * arrived).max(arrived)
    }

    /// Maximum size of the body, in bytes, when `arrived` have arrived.
    fn at_most(&self, arrived: usize) -> usize {
        match self.declared {
            Some(declared) => declared,
            None if self.is_large(arrived) => self.max_sent,
            None => self.max_sent.min(self.large_from()),
        }
    }

    /// Takes memory for the next piece before the connection reads it: a body that waits for memory holds nothing more
    /// meanwhile. Where no length is declared, little may arrive, so the first piece is read before.
    async fn make_room_ahead(&mut self, had: usize, capacity: usize) -> Result<(), Error> {
        if had == 0 && self.declared.is_none() {
            return Ok(());
        }
        let held = had.max(capacity) + READ_AHEAD_BYTES;
        self.make_room(had, held.min(self.at_most(had))).await
    }

    /// Takes memory for a buffer of `held` bytes, with `arrived` bytes in it.
    async fn make_room(&mut self, arrived: usize, held: usize) -> Result<(), Error> {
        if held <= FREE_BODY_BYTES {
            return Ok(());
        }
        let room = match self.is_packed {
            true => &self.budget.packed,
            false => self.budget.of_size(self.declared.unwrap_or(arrived)),
        };
        // Where the length is not known, a small body counts with its limit, and a large one as half there.
        let length = match self.declared {
            Some(declared) => declared,
            None if self.is_large(arrived) => self.max_sent.min(2 * arrived),
            None => self.max_sent.min(self.large_from()),
        };
        let patience = patience(self.declared.is_some_and(|declared| self.is_large(declared)));
        let (coming, progress) = (length.saturating_sub(held), self.progress.since);
        let place = match self.place.take_if(|place| place.is_in(room)) {
            Some(place) => place,
            None => room.enter(self.owner),
        };
        let asked = Instant::now();
        place.take(BodyMemoryNeed { held, coming, is_arriving: true, progress, patience }).await?;
        self.progress.pause(asked.elapsed());
        self.until += asked.elapsed();
        self.place = Some(place);
        Ok(())
    }

    /// Decompresses the body: measures its size, reserves memory for it, and then decodes it. Compressed bytes have a
    /// budget of their own, so that no body holds memory that others need for theirs.
    async fn decode(
        self,
        packed: Bytes,
        max: usize,
    ) -> Result<(Bytes, Option<BodyReservation<'a>>), Error> {
        let measured = packed.clone();
        let arrived = run_blocking(packed.len(), move || unpacked_bytes(&measured, max)).await?;
        let mut place = None;
        if arrived > FREE_BODY_BYTES {
            let taken = place.insert(self.budget.of_size(arrived).enter(self.owner));
            let (progress, patience) = (Instant::now(), patience(arrived > MAX_RECORD_BODY_BYTES));
            let need =
                BodyMemoryNeed { held: arrived, coming: 0, is_arriving: false, progress, patience };
            taken.take(need).await?;
        }
        let unpacked = run_blocking(arrived, move || {
            // The full length from the start: a growing buffer takes twice the memory while it is copied.
            let mut unpacked = vec![0; arrived];
            let read = MultiGzDecoder::new(&*packed).read_exact(&mut unpacked);
            read.map_err(|error| Error::BodyBroken(message_of(&error)))?;
            Ok(unpacked)
        });
        Ok((unpacked.await?.into(), place))
    }
}

impl BodyBudget {
    /// Memory for a body of `bytes`.
    fn of_size(&self, bytes: usize) -> &BodyMemory {
        if bytes > MAX_RECORD_BODY_BYTES { &self.large } else { &self.small }
    }
}

/// Longest wait of a body for memory.
fn patience(is_large: bool) -> Duration {
    if is_large { LARGE_BODY_BUDGET_WAIT } else { BODY_BUDGET_WAIT }
}

/// Number of bytes of `packed` after decompression.
fn unpacked_bytes(packed: &[u8], max: usize) -> Result<usize, Error> {
    let mut reader = MultiGzDecoder::new(packed).take(max as u64 + 1);
    let bytes = io::copy(&mut reader, &mut io::sink())
        .map_err(|error| Error::BodyBroken(message_of(&error)))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes > max { Err(Error::TooLarge(max)) } else { Ok(bytes) }
}

/// Runs `work` on `bytes`, on a thread for blocking work if there are many, so that no other request waits.
async fn run_blocking<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    if bytes <= MAX_EVENT_BYTES {
        return work();
    }
    heavy_work::spawn(work).await.map_err(|error| Error::Internal(error.to_string()))?
}

/// Error for a body that cannot be read, with a message unless this server is the cause.
pub(crate) fn unread(error: &io::Error, message: String) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionAborted => Error::BodyAborted,
        _ => Error::BodyBroken(message),
    }
}

fn message_of(error: &io::Error) -> String {
    format!("the body cannot be read: {error}")
}

fn declared_length(request: &Request) -> Option<u64> {
    request.header(header::CONTENT_LENGTH)?.parse().ok()
}

/// Rejects a body that is declared in another charset. Tracking routes ignore it, as they do the media type (R30): what
/// is not UTF-8 is not JSON either.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn require_utf8(request: &Request) -> Result<(), Error> {
    match parameter(request, "charset") {
        Some(charset) if !charset.eq_ignore_ascii_case("utf-8") => {
            Err(Error::Unsupported("the charset must be utf-8".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Whether the body is compressed; only gzip is accepted.
pub(crate) fn is_gzip(request: &Request) -> Result<bool, Error> {
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

/// Rejects a write that a page of another site can make a browser send with remembered HTTP Basic credentials: a form,
/// or a body without a type. For any other type or method the browser sends a CORS preflight, which is not allowed.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn reject_form(request: &Request) -> Result<(), Error> {
    let is_form = media_type(request)
        .is_none_or(|kind| FORM_TYPES.into_iter().any(|form| kind.eq_ignore_ascii_case(form)));
    if is_form && [Method::POST, Method::PUT, Method::PATCH].contains(request.method()) {
        let message = "with HTTP Basic a write needs a `Content-Type` that is not one of a form, such as application/json";
        return Err(Error::Unsupported(message.to_owned()));
    }
    Ok(())
}

fn media_type(request: &Request) -> Option<&str> {
    request.content_type()?.split(';').next().map(str::trim)
}

/// Rejects a body whose media type is not JSON, or whose charset is not UTF-8, on routes that accept nothing else.
///
/// # Errors
/// [`Error::Unsupported`].
pub(crate) fn require_json(request: &Request) -> Result<(), Error> {
    require_utf8(request)?;
    if media_type(request).is_none_or(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Error::Unsupported("the media type must be application/json".to_owned()))
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use poem::http::StatusCode;

    use super::*;

    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    /// Reads a body of pieces, each a delay in milliseconds and a size in bytes; returns its length or the status.
    async fn read(
        budget: &BodyBudget,
        declared: Option<usize>,
        pieces: impl IntoIterator<Item = (u64, usize)> + Send,
    ) -> Result<usize, StatusCode> {
        let pieces: Vec<_> = pieces.into_iter().collect();
        let pieces = stream::iter(pieces).then(|(after_ms, bytes)| async move {
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            Ok::<_, io::Error>(vec![b' '; bytes])
        });
        let mut request = Request::builder();
        if let Some(declared) = declared {
            request = request.header(header::CONTENT_LENGTH, declared);
        }
        let mut request = request.body(poem::Body::from_bytes_stream(pieces));
        let read = budget.read(&mut request, None, 32 * MIB).await;
        read.map(|body| body.bytes.len()).map_err(|error| error.into_response("").status())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_must_make_progress_all_the_time_and_more_when_others_may_wait_for_its_room() {
        let budget = BodyBudget::default();
        let timeout = Err(StatusCode::REQUEST_TIMEOUT);
        // A KiB a second, for at most a minute.
        let drips = |count| (0..count).map(|_| (1_000, KIB));
        assert_eq!(read(&budget, Some(50 * KIB), drips(50)).await, Ok(50 * KIB));
        assert_eq!(read(&budget, Some(70 * KIB), drips(70)).await, timeout);
        let slower = (0..50).map(|_| (1_100, KIB));
        assert_eq!(read(&budget, Some(50 * KIB), slower).await, timeout);
        // Earlier progress does not count.
        let stops = (0..50).map(|_| (1, KIB)).chain([(11_000, KIB)]);
        assert_eq!(read(&budget, Some(51 * KIB), stops).await, timeout);
        let large = 2 * MIB;
        let fast = (0..32).map(|_| (900, 64 * KIB));
        assert_eq!(read(&budget, Some(large), fast).await, Ok(large));
        let slow = (0..32).map(|_| (1_100, 64 * KIB));
        assert_eq!(read(&budget, Some(large), slow).await, timeout);
        let stops = [(1, large - KIB), (4_000, KIB)];
        assert_eq!(read(&budget, Some(large), stops).await, timeout);
        assert_eq!(read(&budget, None, stops).await, timeout);
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_in_which_the_server_did_not_run_does_not_count_against_a_sender() {
        const PIECE: usize = 8 * KIB;
        const PIECES: usize = 2 * MIB / PIECE;
        let (stops, stopped) = tokio::sync::oneshot::channel();
        let mut stops = Some(stops);
        // All pieces exist, and each arrives some time after it is requested, as from a connection.
        let pieces = stream::iter(0..PIECES).then(move |number| {
            let stops = if number == 10 { stops.take() } else { None };
            async move {
                stops.map(|stops| stops.send(()));
                tokio::task::yield_now().await;
                Ok::<_, io::Error>(vec![b' '; PIECE])
            }
        });
        let mut request = Request::builder()
            .header(header::CONTENT_LENGTH, 2 * MIB)
            .body(poem::Body::from_bytes_stream(pieces));
        let standstill = async {
            stopped.await.unwrap();
            tokio::time::advance(4 * LARGE_BODY_PACE.within).await;
        };
        let budget = BodyBudget::default();
        let read = budget.read(&mut request, None, 32 * MIB);
        let (read, ()) = tokio::join!(read, standstill);
        assert_eq!(read.map(|body| body.bytes.len()).ok(), Some(2 * MIB));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_whose_length_is_not_declared_moves_to_the_room_of_large_ones() {
        let budget = BodyBudget::default();
        let all = SMALL_BODY_BUDGET_BYTES / MIB * 2;
        let pieces = || (0..20).map(|_| (10, 64 * KIB));
        let reads = (0..all).map(|_| read(&budget, None, pieces()));
        for read in futures_util::future::join_all(reads).await {
            assert_eq!(read, Ok(20 * 64 * KIB));
        }
    }
}
