//! Versions in headers (R16): `ETag` on single records, `If-Match` and `If-None-Match` of a request.

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, StatusCode, header},
};
use svctrack_core::value::ObjectId;

use super::json;
use crate::store::{Answer, Expected};

/// The record with its version; without a body when the caller has just this one.
pub(super) fn versioned(request: &Request, answer: Answer) -> Response {
    let etag = etag(&answer);
    let known = tags(request, header::IF_NONE_MATCH).iter().any(|tag| tag == "*" || *tag == etag);
    let mut response = if known { Response::default() } else { json(answer.text) };
    if known {
        response.set_status(StatusCode::NOT_MODIFIED);
    }
    if let Ok(etag) = HeaderValue::try_from(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// `"<_id>-<__v>"`, with a hash of the properties computed at read where there are any.
fn etag(answer: &Answer) -> String {
    match answer.computed {
        Some(hash) => format!("\"{}-{}-{hash:08x}\"", answer.id, answer.version),
        None => format!("\"{}-{}\"", answer.id, answer.version),
    }
}

/// What `If-Match` says about the record that is to be written.
pub(super) fn expected(request: &Request) -> Expected {
    let tags = tags(request, header::IF_MATCH);
    if tags.is_empty() || tags.iter().any(|tag| tag == "*") {
        return Expected::Anything;
    }
    // A tag that is none of ours names no version, so the record cannot have it.
    Expected::OneOf(tags.iter().filter_map(|tag| version_in(tag)).collect())
}

/// Record and version of a tag; the hash behind them does not matter for a write.
fn version_in(tag: &str) -> Option<(ObjectId, i64)> {
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    let mut parts = tag.trim_matches('"').split('-');
    Some((ObjectId::parse(parts.next()?)?, parts.next()?.parse().ok()?))
}

fn tags(request: &Request, name: HeaderName) -> Vec<String> {
    let values = request.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|tag| tag.trim().to_owned()).collect()
}
