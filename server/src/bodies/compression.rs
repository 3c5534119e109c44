//! Compression of responses (R58) with the coding that the caller prefers, for text that is long enough. A short text
//! is compressed at once; a long one in pieces, on threads that block no request, and with only one piece of it in
//! memory. A text that many callers request is compressed once ([`CompressedText`]).
//!
//! Never compressed are streams of events and backups, files that have compressed forms, and responses with a secret. A
//! compressed response has a weak tag, since its bytes differ from those of the plain one.

use std::{
    io::{self, Write as _},
    sync::Arc,
};

use bytes::Bytes;
use flate2::write::GzEncoder;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use http_body_util::combinators::BoxBody;
use hyper::body::Body as _;
use poem::{
    Body, Response,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use crate::{
    heavy_work,
    limits::{
        ENCODER_PIECE_BYTES, MAX_COMPRESSED_AT_ONCE_BYTES, MAX_COMPRESSIONS, MIN_COMPRESSED_BYTES,
    },
};

/// Effort of each coding, measured on lists of companies: more costs several times as much for a tenth less. Brotli at
/// quality 2 takes 1.2 MiB of memory for more bytes than at 1, and at 5 it takes 3.6 MiB.
const GZIP_LEVEL: u32 = 1;
const BROTLI_QUALITY: u32 = 1;
const ZSTD_LEVEL: i32 = 1;
/// Window of each, as a power of two: 256 KiB and 128 KiB, which bounds their memory
/// ([`crate::limits::ENCODER_BYTES`]).
const BROTLI_WINDOW_BITS: u32 = 18;
const ZSTD_WINDOW_BITS: u32 = 17;
/// Buffer of brotli before it writes, in bytes.
const BROTLI_BUFFER_BYTES: usize = 16 * 1024;

/// Marks a response with a secret.
#[derive(Clone, Copy)]
pub(crate) struct HasSecret;

/// A coding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContentCoding {
    Zstd,
    Brotli,
    Gzip,
}

impl ContentCoding {
    /// All codings, the cheapest for its savings first.
    const ALL: [Self; 3] = [Self::Zstd, Self::Brotli, Self::Gzip];

    fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }
}

/// Weight of a coding, from 0, not acceptable, to 1; none where the header does not name it (RFC 9110, 12.5.3).
pub(crate) fn weight(headers: &HeaderMap, coding: &str) -> Option<f32> {
    let values = || {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter();
        let lists = values.filter_map(|value| value.to_str().ok());
        lists.flat_map(|list| list.split(',')).map(weighted)
    };
    let named = values().find(|(name, _)| name.eq_ignore_ascii_case(coding));
    named.or_else(|| values().find(|(name, _)| *name == "*")).map(|(_, weight)| weight)
}

/// Splits `br;q=0.5` into name and weight.
fn weighted(item: &str) -> (&str, f32) {
    let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
    let weight = parameters.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse);
    (name.trim(), weight.unwrap_or(0.0))
}

/// Codings that a caller accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedCodings {
    /// Preferred coding; none where plain is preferred, or none is requested.
    coding: Option<ContentCoding>,
    /// Whether a plain response will do.
    identity: bool,
}

impl AcceptedCodings {
    /// Codings that the headers of a request accept.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        if !headers.contains_key(header::ACCEPT_ENCODING) {
            return Self { coding: None, identity: true };
        }
        let identity = weight(headers, "identity");
        let mut best = (0.0, None);
        for coding in ContentCoding::ALL {
            let weight = weight(headers, coding.name()).unwrap_or(0.0);
            if weight > best.0 {
                best = (weight, Some(coding));
            }
        }
        let named = headers.get_all(header::ACCEPT_ENCODING).iter();
        let names_identity = named.filter_map(|value| value.to_str().ok()).any(|list| {
            list.split(',').any(|item| weighted(item).0.eq_ignore_ascii_case("identity"))
        });
        let prefers_identity = names_identity && identity.is_some_and(|weight| weight > best.0);
        Self {
            coding: best.1.filter(|_| !prefers_identity),
            identity: identity.is_none_or(|weight| weight > 0.0),
        }
    }
}

/// Permits for long responses that are compressed.
pub(crate) struct Compressions(Arc<Semaphore>);

impl Default for Compressions {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_COMPRESSIONS)))
    }
}

impl Compressions {
    /// The response, compressed where that is requested and worth it.
    pub(crate) fn compress(&self, mut response: Response, accepted: AcceptedCodings) -> Response {
        if !is_compressible(&response) {
            return response;
        }
        let body: BoxBody<Bytes, io::Error> = response.take_body().into();
        let at_once = body.size_hint().exact();
        let length = at_once.or_else(|| declared_length(&response));
        let is_short = length.is_some_and(|bytes| bytes <= MIN_COMPRESSED_BYTES);
        let is_unchanged = response.status() == StatusCode::NOT_MODIFIED;
        if !is_short || !accepted.identity || is_unchanged {
            let depends_on = HeaderValue::from_static("Accept-Encoding");
            response.headers_mut().insert(header::VARY, depends_on);
        }
        let wanted = accepted.coding.filter(|_| !is_short || !accepted.identity);
        let Some(coding) = wanted.filter(|_| length != Some(0)) else {
            response.set_body(Body::from(body));
            return response;
        };
        let compressed = match at_once.is_some_and(|bytes| bytes <= MAX_COMPRESSED_AT_ONCE_BYTES) {
            true => compressed_at_once(coding, body),
            false => self.compressed_in_pieces(coding, body),
        };
        match compressed {
            Ok(compressed) => {
                response.set_body(compressed);
                name_coding(response.headers_mut(), coding);
            }
            Err(plain) => response.set_body(plain),
        }
        response
    }

    /// A body that is compressed as it is sent; the plain one where there is no permit.
    fn compressed_in_pieces(
        &self,
        coding: ContentCoding,
        body: BoxBody<Bytes, io::Error>,
    ) -> Result<Body, Body> {
        let body = Body::from(body);
        let Ok(place) = self.0.clone().try_acquire_owned() else { return Err(body) };
        let Ok(encoder) = Encoder::new(coding) else { return Err(body) };
        let pieces = body.into_bytes_stream().map(|piece| piece.map(split)).boxed();
        let pieces = pieces.flat_map(|some| match some {
            Ok(pieces) => stream::iter(pieces.map(Ok)).left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        Ok(Body::from_bytes_stream(in_pieces(pieces.boxed(), encoder, place)))
    }
}

/// Parts of a piece for an encoder, whose memory grows with their size.
fn split(mut piece: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let part = piece.split_to(piece.len().min(ENCODER_PIECE_BYTES));
        (!part.is_empty()).then_some(part)
    })
}

fn in_pieces(
    pieces: stream::BoxStream<'static, io::Result<Bytes>>,
    encoder: Encoder,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(Some((pieces, encoder, place)), |state| async move {
        let Some((mut pieces, mut encoder, place)) = state else { return Ok(None) };
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            let (packed, back) =
                heavy_work::spawn(move || encoder.add(&piece).map(|out| (out, encoder)))
                    .await
                    .map_err(io::Error::other)??;
            encoder = back;
            if !packed.is_empty() {
                return Ok(Some((Bytes::from(packed), Some((pieces, encoder, place)))));
            }
        }
        Ok(Some((Bytes::from(encoder.finish()?), None)))
    })
}

/// A complete body, compressed.
fn compressed_at_once(
    coding: ContentCoding,
    body: BoxBody<Bytes, io::Error>,
) -> Result<Body, Body> {
    // The body is there as a whole, so nothing is waited for.
    let Some(Ok(plain)) = Body::from(body).into_bytes().now_or_never() else {
        return Err(Body::empty());
    };
    packed(coding, &plain).map(Body::from).map_err(|_| Body::from(plain))
}

fn packed(coding: ContentCoding, plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(coding)?;
    let mut packed = Vec::new();
    for piece in plain.chunks(ENCODER_PIECE_BYTES) {
        packed.extend(encoder.add(piece)?);
    }
    packed.extend(encoder.finish()?);
    Ok(packed)
}

/// A long text that is the same for many callers, and its compressed variants: each is compressed when it is first
/// requested, and cached.
pub(crate) struct CompressedText {
    plain: Bytes,
    packed: [OnceCell<Bytes>; ContentCoding::ALL.len()],
}

impl CompressedText {
    pub(crate) fn new(plain: Bytes) -> Arc<Self> {
        Arc::new(Self { plain, packed: Default::default() })
    }

    /// Response with this text, in the form that the caller prefers.
    pub(crate) async fn respond(
        self: Arc<Self>,
        request: &HeaderMap,
        mut response: Response,
    ) -> Response {
        let depends_on = HeaderValue::from_static("Accept-Encoding");
        response.headers_mut().insert(header::VARY, depends_on);
        let plain = self.plain.clone();
        let form = match AcceptedCodings::from_headers(request).coding {
            Some(coding) => self.packed(coding).await.ok().map(|packed| (coding, packed)),
            None => None,
        };
        match form {
            Some((coding, packed)) => {
                response.set_body(packed);
                name_coding(response.headers_mut(), coding);
            }
            None => response.set_body(plain),
        }
        response
    }

    async fn packed(self: Arc<Self>, coding: ContentCoding) -> io::Result<Bytes> {
        if let Some(packed) = self.cell(coding).get() {
            return Ok(packed.clone());
        }
        // A separate task completes though its caller goes away: two tasks never compress the same form.
        let made = tokio::spawn(async move {
            let pack = || async {
                let plain = self.plain.clone();
                let packed = heavy_work::spawn(move || packed(coding, &plain)).await;
                packed.map_err(io::Error::other)?.map(Bytes::from)
            };
            self.cell(coding).get_or_try_init(pack).await.cloned()
        });
        made.await.map_err(io::Error::other)?
    }

    fn cell(&self, coding: ContentCoding) -> &OnceCell<Bytes> {
        let [zstd, brotli, gzip] = &self.packed;
        match coding {
            ContentCoding::Zstd => zstd,
            ContentCoding::Brotli => brotli,
            ContentCoding::Gzip => gzip,
        }
    }
}

fn declared_length(response: &Response) -> Option<u64> {
    response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn name_coding(headers: &mut HeaderMap, coding: ContentCoding) {
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    let strong = headers.get(header::ETAG).and_then(|etag| etag.to_str().ok());
    let strong = strong.filter(|etag| !etag.starts_with("W/"));
    if let Some(weak) = strong.and_then(|etag| HeaderValue::try_from(format!("W/{etag}")).ok()) {
        headers.insert(header::ETAG, weak);
    }
}

/// Whether a text that all callers share is sent in one of its forms: of [`Forms`], or of a file.
pub(crate) fn has_forms(response: &Response) -> bool {
    let headers = response.headers();
    headers.contains_key(header::CONTENT_ENCODING) || headers.contains_key(header::VARY)
}

/// Whether a response is text without another form and without a secret.
fn is_compressible(response: &Response) -> bool {
    if response.status() == StatusCode::NOT_MODIFIED {
        return !has_forms(response);
    }
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    let is_text = matches!(
        kind,
        "application/json"
            | "application/problem+json"
            | "application/x-ndjson"
            | "text/csv"
            | "text/html"
    );
    is_text && !has_forms(response) && response.extensions().get::<HasSecret>().is_none()
}

/// Compresses the pieces that are added.
enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(coding: ContentCoding) -> io::Result<Self> {
        let out = Vec::new();
        Ok(match coding {
            ContentCoding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.window_log(ZSTD_WINDOW_BITS)?;
                Self::Zstd(encoder)
            }
            ContentCoding::Brotli => Self::Brotli(Box::new(brotli::CompressorWriter::new(
                out,
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                BROTLI_WINDOW_BITS,
            ))),
            ContentCoding::Gzip => {
                Self::Gzip(GzEncoder::new(out, flate2::Compression::new(GZIP_LEVEL)))
            }
        })
    }

    /// Adds a piece; returns the compressed bytes since the last one.
    fn add(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        Ok(std::mem::take(match self {
            Self::Zstd(encoder) => {
                encoder.write_all(piece)?;
                encoder.get_mut()
            }
            Self::Brotli(encoder) => {
                encoder.write_all(piece)?;
                encoder.get_mut()
            }
            Self::Gzip(encoder) => {
                encoder.write_all(piece)?;
                encoder.get_mut()
            }
        }))
    }

    /// The rest of the compressed form.
    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Brotli(encoder) => Ok(encoder.into_inner()),
            Self::Gzip(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn unpack(coding: &str, packed: &[u8]) -> String {
        let mut text = String::new();
        match coding {
            "gzip" => flate2::read::MultiGzDecoder::new(packed).read_to_string(&mut text),
            "br" => brotli::Decompressor::new(packed, 4_096).read_to_string(&mut text),
            _ => zstd::stream::read::Decoder::new(packed).unwrap().read_to_string(&mut text),
        }
        .unwrap();
        text
    }

    fn accepted(sent: &'static str) -> AcceptedCodings {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(sent));
        AcceptedCodings::from_headers(&headers)
    }

    fn response(body: impl Into<Body>) -> Response {
        let etag = (header::ETAG, "\"a-1\"");
        Response::builder().content_type("application/json").header(etag.0, etag.1).body(body)
    }

    #[test]
    fn the_coding_is_the_one_that_the_caller_likes_best() {
        let check = |sent: &'static str, coding: Option<ContentCoding>, identity| {
            assert_eq!(accepted(sent), AcceptedCodings { coding, identity }, "{sent}");
        };
        check("gzip, deflate, br, zstd", Some(ContentCoding::Zstd), true);
        check("gzip, br;q=0.9", Some(ContentCoding::Gzip), true);
        check("GZIP;q=0.1", Some(ContentCoding::Gzip), true);
        check("*", Some(ContentCoding::Zstd), true);
        check("zstd;q=0, *;q=0.5", Some(ContentCoding::Brotli), true);
        check("identity;q=0, gzip", Some(ContentCoding::Gzip), false);
        check("*;q=0, gzip", Some(ContentCoding::Gzip), false);
        check("gzip;q=0.5, identity", None, true);
        check("deflate", None, true);
        check("gzip;q=0", None, true);
        check("", None, true);
    }

    #[tokio::test]
    async fn what_is_compressed_is_the_same_when_it_is_unpacked() {
        let compressions = Compressions::default();
        let at_once = MAX_COMPRESSED_AT_ONCE_BYTES as usize;
        for bytes in [MIN_COMPRESSED_BYTES as usize + 1, at_once, at_once + 1, 4 * at_once] {
            let text: String = (0..)
                .flat_map(|at: u64| at.to_string().into_bytes())
                .map(char::from)
                .take(bytes)
                .collect();
            for coding in ["zstd", "br", "gzip"] {
                let pieces: Vec<_> = text
                    .as_bytes()
                    .chunks(10_000)
                    .map(|piece| Ok::<_, io::Error>(Bytes::copy_from_slice(piece)))
                    .collect();
                for body in
                    [Body::from(text.clone()), Body::from_bytes_stream(stream::iter(pieces))]
                {
                    let mut sent = compressions.compress(response(body), accepted(coding));
                    assert_eq!(sent.headers()[header::CONTENT_ENCODING], coding);
                    assert_eq!(sent.headers()[header::VARY], "Accept-Encoding");
                    assert_eq!(sent.headers()[header::ETAG], "W/\"a-1\"");
                    let packed = sent.take_body().into_bytes().await.unwrap();
                    assert!(packed.len() < bytes * 3 / 4, "{coding} {bytes}: {}", packed.len());
                    assert!(unpack(coding, &packed) == text, "{coding} {bytes}");
                }
            }
        }
        assert_eq!(compressions.0.available_permits(), MAX_COMPRESSIONS);
    }

    #[tokio::test]
    async fn what_is_not_compressed_is_sent_as_it_is() {
        let text = "x".repeat(MIN_COMPRESSED_BYTES as usize + 1);
        let compressions = Compressions::default();
        let short = "x".repeat(MIN_COMPRESSED_BYTES as usize);
        let mut secret = response(text.clone());
        secret.extensions_mut().insert(HasSecret);
        let events = Response::builder().content_type("text/event-stream").body(text.clone());
        let backup = Response::builder().content_type("application/gzip").body(text.clone());
        let packed = Response::builder()
            .content_type("application/json")
            .header(header::CONTENT_ENCODING, "br")
            .body(text.clone());
        for plain in [response(short.clone()), secret, events, backup, packed] {
            let sent = compressions.compress(plain, accepted("gzip"));
            let coding = sent.headers().get(header::CONTENT_ENCODING);
            assert!(coding.is_none_or(|coding| coding == "br"));
            assert!(sent.into_body().into_vec().await.unwrap().iter().all(|byte| *byte == b'x'));
        }
        let sent = compressions.compress(response(short), accepted("identity;q=0, gzip"));
        assert_eq!(sent.headers()[header::CONTENT_ENCODING], "gzip");
        let sent = compressions.compress(response(text), accepted("identity"));
        assert_eq!(sent.headers()[header::VARY], "Accept-Encoding");
        assert_eq!(sent.headers()[header::ETAG], "\"a-1\"");
    }
}
