//! Memory budget for large responses, shared by tenants. A response is aborted when its reader is too slow, so that
//! clients that request much and read nothing cannot fill the memory.

use std::{
    io, iter, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use http_body_util::combinators::BoxBody;
use hyper::body::Body as _;
use parking_lot::Mutex;
use poem::{
    Body, Response,
    http::{HeaderValue, header},
};
use svctrack_core::value::TenantId;
use svctrack_store::{
    MAX_PIECE_BYTES, Page, RecordStream, ResponseMemory, ResponseMemoryBudget, StoreError, Tenant,
    UNCOUNTED_BYTES, support::fair_shares::Shares,
};
use tokio::{
    task::AbortHandle,
    time::{Instant, interval},
};

use super::compression::has_forms;
use crate::{
    error::Error,
    limits::{ANSWER_BUDGET_BYTES, ANSWER_LOOKS_EVERY, ANSWER_START, MIN_ANSWER_BYTES_PER_SECOND},
    observe::trace,
};

/// Memory for all large responses that are gathered or being sent, in bytes.
pub(crate) struct ResponseBudget(Arc<Shares<TenantId>>);

impl Default for ResponseBudget {
    fn default() -> Self {
        Self(Shares::new(ANSWER_BUDGET_BYTES))
    }
}

impl ResponseBudget {
    pub(crate) fn for_tenant(&self, tenant: TenantId) -> ResponseMemoryBudget {
        ResponseMemoryBudget::tenant(self.0.clone(), tenant)
    }

    /// The body of a response that is complete.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no free memory.
    pub(crate) fn hold(&self, tenant: TenantId, text: String) -> Result<Body, Error> {
        self.reserve(tenant, text.len())?.hold(text)
    }

    /// Reserves memory for a response of about this many bytes before its call is carried out: without free memory the
    /// call has no effect.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room.
    pub(crate) fn reserve(
        &self,
        tenant: TenantId,
        bytes: usize,
    ) -> Result<ResponseReservation, Error> {
        let mut room = self.for_tenant(tenant).empty();
        room.take(bytes)?;
        Ok(ResponseReservation(room))
    }

    /// A response as it leaves the server: where it is large, is held in memory, and has no room yet, it takes some of
    /// its tenant; all strangers share that of the operator.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room.
    pub(crate) fn admit(&self, mut response: Response) -> Result<Response, Error> {
        let body: BoxBody<Bytes, io::Error> = response.take_body().into();
        let bytes = body.size_hint().exact().unwrap_or(0);
        if bytes <= UNCOUNTED_BYTES as u64 || has_forms(&response) {
            response.set_body(Body::from(body));
            return Ok(response);
        }
        let tenant = trace::current().tenant.unwrap_or(Tenant::OPERATOR.id());
        // The body is there as a whole, so nothing is waited for.
        let text = Body::from(body).into_string().now_or_never().transpose();
        let text = text.map_err(|error| Error::Internal(error.to_string()))?.unwrap_or_default();
        response.set_body(self.hold(tenant, text)?);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
        Ok(response)
    }
}

/// ResponseMemory for a response that is not known yet.
pub(crate) struct ResponseReservation(ResponseMemory);

impl ResponseReservation {
    /// The body of the response.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when the text is longer, and there is no free memory for the rest.
    pub(crate) fn hold(self, text: String) -> Result<Body, Error> {
        let Self(mut room) = self;
        room.fit(text.len())?;
        Ok(held(room, text))
    }
}

/// The body of a response whose room is taken.
pub(crate) fn held(room: ResponseMemory, text: String) -> Body {
    if text.len() <= UNCOUNTED_BYTES {
        return text.into();
    }
    PageBody::new(Page::held(room, text), "", "").into_body()
}

/// Texts around the records of a page: before and after them.
pub(crate) struct PageBody {
    bytes: usize,
    before: String,
    after: &'static str,
    page: Page,
}

impl PageBody {
    pub(crate) fn new(page: Page, before: impl Into<String>, after: &'static str) -> Self {
        let before = before.into();
        let bytes = before.len() + page.digest.bytes + after.len();
        Self { bytes, before, after, page }
    }

    /// Length of the response in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The body: at once where it is small, else in pieces, as its reader accepts them.
    pub(crate) fn into_body(self) -> Body {
        let Self { bytes, before, after, page } = self;
        let Page { pieces, later, room, .. } = page;
        if bytes <= UNCOUNTED_BYTES && later.is_none() {
            let mut body = Vec::with_capacity(bytes);
            body.extend(before.into_bytes());
            pieces.iter().for_each(|piece| body.extend_from_slice(piece));
            body.extend_from_slice(after.as_bytes());
            return body.into();
        }
        let is_read_later = later.is_some();
        let later = later.unwrap_or_else(|| stream::empty().boxed());
        let held = iter::once(before.into_bytes()).chain(pieces).map(Ok);
        let end = stream::iter([Ok(after.as_bytes().to_vec())]);
        let pieces = stream::iter(held).chain(later).chain(end).boxed();
        let rest = RemainingResponse { pieces, is_read_later, piece: Vec::new(), sent: 0 };
        Body::from_bytes_stream(ReadResponse::begin(rest, room))
    }
}

/// The rest of a response.
struct RemainingResponse {
    pieces: RecordStream,
    /// Whether pieces are read as they are sent.
    is_read_later: bool,
    /// Piece that is being sent, and how many bytes of it have been.
    piece: Vec<u8>,
    sent: usize,
}

impl RemainingResponse {
    /// The next piece; an empty one is the end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, StoreError>> {
        while self.sent == self.piece.len() {
            let Some(next) = ready!(self.pieces.poll_next_unpin(context)) else {
                return Poll::Ready(Ok(Bytes::new()));
            };
            (self.piece, self.sent) = (next?, 0);
        }
        if self.sent == 0 && self.piece.len() <= MAX_PIECE_BYTES {
            return Poll::Ready(Ok(mem::take(&mut self.piece).into()));
        }
        // A copy, so that a reader that stops does not keep the whole piece in memory.
        let rest = self.piece.get(self.sent..).unwrap_or_default();
        let part = rest.get(..MAX_PIECE_BYTES).unwrap_or(rest).to_vec();
        self.sent += part.len();
        Poll::Ready(Ok(part.into()))
    }
}

/// A response that is read, piece by piece.
struct ReadResponse {
    rest: Arc<Mutex<RemainingPage>>,
    /// Task that checks the progress of the reader.
    watch: AbortHandle,
}

/// Rest of a response.
struct RemainingPage {
    /// None when the response was dropped.
    pieces: Option<RemainingResponse>,
    room: ResponseMemory,
    /// Bytes of the last piece, which are held by the connection until the next one is requested.
    handed_over: usize,
    /// Bytes of all pieces.
    taken: usize,
    /// Total wait for the reader, and the beginning of the current one: while a piece is read, the reader waits.
    waited: Duration,
    waits_since: Option<Instant>,
}

impl ReadResponse {
    fn begin(pieces: RemainingResponse, room: ResponseMemory) -> Self {
        let rest = Arc::new(Mutex::new(RemainingPage {
            pieces: Some(pieces),
            room,
            handed_over: 0,
            taken: 0,
            waited: Duration::ZERO,
            waits_since: None,
        }));
        let watch = tokio::spawn(give_up_if_slow(rest.clone())).abort_handle();
        Self { rest, watch }
    }
}

/// Drops a response that its reader does not accept.
async fn give_up_if_slow(rest: Arc<Mutex<RemainingPage>>) {
    let mut looks = interval(ANSWER_LOOKS_EVERY);
    loop {
        looks.tick().await;
        let mut rest = rest.lock();
        let late = rest.waited_in_all().saturating_sub(ANSWER_START).as_secs();
        let due = usize::try_from(late).unwrap_or(usize::MAX);
        if rest.taken < due.saturating_mul(MIN_ANSWER_BYTES_PER_SECOND) {
            let bytes = rest.taken;
            tracing::info!(bytes, "response aborted: slow reader");
            let handed_over = rest.handed_over;
            rest.let_go(handed_over);
            return;
        }
    }
}

impl RemainingPage {
    /// Drops pieces that are not being sent, and releases their budget.
    fn let_go(&mut self, on_its_way: usize) {
        self.pieces = None;
        self.room.shrink_to(on_its_way);
    }

    /// Total wait for the reader until now.
    fn waited_in_all(&self) -> Duration {
        self.waited + self.waits_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        (self.waited, self.waits_since) = (self.waited_in_all(), None);
        let Some(pieces) = &mut self.pieces else {
            return Poll::Ready(Some(Err(io::Error::other("slow reader"))));
        };
        let is_read_later = pieces.is_read_later;
        let piece = ready!(pieces.poll(context)).map_err(|error| {
            tracing::warn!(cause = %error, "response aborted");
            io::Error::other("the response is aborted")
        });
        let piece = piece?;
        if !is_read_later {
            self.room.release(self.handed_over);
        }
        self.waits_since = Some(Instant::now());
        self.handed_over = piece.len();
        self.taken += piece.len();
        Poll::Ready((!piece.is_empty()).then_some(Ok(piece)))
    }
}

impl Stream for ReadResponse {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.rest.lock().poll(context)
    }
}

impl Drop for ReadResponse {
    fn drop(&mut self) {
        // The task may end later.
        self.rest.lock().let_go(0);
        self.watch.abort();
    }
}

#[cfg(test)]
mod tests {
    use svctrack_store::PageOptions;

    use super::*;

    const ONE: TenantId = TenantId::from_bytes([1; 16]);
    const OTHER: TenantId = TenantId::from_bytes([2; 16]);

    #[tokio::test]
    async fn a_large_response_takes_room_until_it_is_taken_or_nobody_wants_it() {
        let budget = ResponseBudget::default();
        let half = "x".repeat(ANSWER_BUDGET_BYTES / 2);
        let first = budget.hold(ONE, half.clone()).unwrap();
        let large = "x".repeat(UNCOUNTED_BYTES + 1);
        assert!(matches!(budget.hold(ONE, large.clone()), Err(Error::Overloaded)));
        assert!(budget.hold(ONE, "x".repeat(UNCOUNTED_BYTES)).is_ok());
        assert!(budget.hold(OTHER, large).is_ok());
        assert!(first.into_string().await.unwrap() == half);
        let second = budget.hold(ONE, half.clone()).unwrap();
        drop(second);
        assert!(budget.hold(ONE, half).is_ok());
    }

    #[tokio::test]
    async fn records_are_sent_in_order_whether_they_are_held_or_read_later() {
        let texts = |bytes: usize| -> Vec<String> {
            (0..9).map(|number: usize| number.to_string().repeat(bytes)).collect()
        };
        for bytes in [1, 9_000, MAX_PIECE_BYTES / 2, MAX_PIECE_BYTES, MAX_PIECE_BYTES + 1] {
            let texts = texts(bytes);
            let expected = ["[", &texts.join(","), "]"].concat();
            let mut held = Page::default();
            for text in &texts {
                held.add(&PageOptions::default(), text.clone()).unwrap();
            }
            let later = Some(stream::iter(held.pieces.clone()).map(Ok).boxed());
            let later = Page { later, digest: held.digest.clone(), ..Page::default() };
            for page in [held, later] {
                let sent = PageBody::new(page, "[", "]");
                assert_eq!(sent.bytes(), expected.len(), "{bytes}");
                assert!(sent.into_body().into_string().await.unwrap() == expected, "{bytes}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_taken_too_slowly_is_given_up() {
        let budget = ResponseBudget::default();
        let half = || budget.hold(ONE, "x".repeat(ANSWER_BUDGET_BYTES / 2));
        for (pause, is_given_up) in [(ANSWER_START / 10, false), (2 * ANSWER_START, true)] {
            let mut pieces = half().unwrap().into_bytes_stream();
            let mut taken = 0;
            let given_up = loop {
                tokio::time::sleep(pause).await;
                match pieces.next().await {
                    Some(Ok(piece)) => taken += piece.len(),
                    Some(Err(_)) => break true,
                    None => break false,
                }
            };
            assert_eq!(given_up, is_given_up, "{pause:?}, {taken} bytes");
            // All but the piece that is being sent.
            let most = "x".repeat(ANSWER_BUDGET_BYTES / 4);
            assert!(budget.hold(ONE, most).is_ok());
            drop(pieces);
            assert!(half().is_ok());
        }
    }
}
