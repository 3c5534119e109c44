//! Versions in headers (R16, R58): `ETag` on single records and on lists, `If-Match` and `If-None-Match` of a request.

use std::fmt::Display;

use poem::{
    Request, Response,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
};
use svctrack_store::{Precondition, RecordResponse, Tenant, TenantRecord, TenantState, id_in_tag};

use super::respond::{json, json_body};
use crate::{app::App, error::Error};

/// Response of [`versioned`] for a record that was read; a large one takes room of its tenant.
///
/// # Errors
/// [`Error::Overloaded`] when there is no room.
pub(super) fn read_version(
    app: &App,
    request: &Request,
    tenant: &Tenant,
    record: RecordResponse,
) -> Result<Response, Error> {
    let (etag, bytes) = (etag(&record), record.text.len());
    tagged(request, etag, || {
        let mut response = json_body(app.response_budget.hold(tenant.id(), record.text)?);
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
        Ok(response)
    })
}

/// The record with its version; without a body when the caller has this version.
pub(super) fn versioned(request: &Request, record: RecordResponse) -> Response {
    tagged_json(request, etag(&record), record.text)
}

fn tagged_json(request: &Request, etag: String, text: String) -> Response {
    let mut response = if has_current(request, &etag) { not_modified() } else { json(text) };
    set_etag(&mut response, etag);
    response
}

/// A response with its tag; without a body where the caller has the same already.
///
/// # Errors
/// Errors of the response.
pub(super) fn tagged(
    request: &Request,
    etag: String,
    response: impl FnOnce() -> Result<Response, Error>,
) -> Result<Response, Error> {
    let mut response = if has_current(request, &etag) { not_modified() } else { response()? };
    set_etag(&mut response, etag);
    Ok(response)
}

fn set_etag(response: &mut Response, etag: String) {
    if let Ok(etag) = HeaderValue::try_from(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
}

/// Whether the caller already has the response with this tag.
fn has_current(request: &Request, etag: &str) -> bool {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    reads && names(request.headers(), etag)
}

/// Whether `If-None-Match` names a tag, or any. It is compared weakly: a proxy that compresses a response makes its tag
/// a weak one (RFC 9110, 13.1.2).
pub(super) fn names(headers: &HeaderMap, etag: &str) -> bool {
    let known = tags(headers, header::IF_NONE_MATCH);
    known.iter().any(|known| known == "*" || opaque(known) == opaque(etag))
}

fn not_modified() -> Response {
    Response::builder()
        .status(StatusCode::NOT_MODIFIED)
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .finish()
}

/// Opaque part of a tag, without the mark of a weak one.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

/// Tag of a list: a hash of its contents, and their length. It is a weak tag, since `If-Match` has no use for it.
pub(super) fn etag_of_list(bytes: usize, hash: u64) -> String {
    format!("W/\"{bytes:x}-{hash:016x}\"")
}

/// Tag `"<_id>-<__v>"`, with a hash of the properties computed at read where there are any.
fn etag(record: &RecordResponse) -> String {
    tag(record.id, record.version, record.computed)
}

fn tag(id: impl Display, version: i64, computed: Option<u32>) -> String {
    let id = id_in_tag(id);
    match computed {
        Some(hash) => format!("\"{id}-{version}-{hash:08x}\""),
        None => format!("\"{id}-{version}\""),
    }
}

/// Tag of a tenant, with the progress of its deletion.
pub(super) fn etag_of_tenant(tenant: &TenantRecord) -> String {
    let is_deleting = tenant.state == TenantState::Deleting;
    let removed = is_deleting.then(|| crc32fast::hash(&tenant.rows_removed.to_be_bytes()));
    tag(tenant.id, tenant.version(), removed)
}

/// Precondition of `If-Match` on the record that is to be written.
pub(super) fn precondition(request: &Request) -> Precondition {
    let tags = tags(request.headers(), header::IF_MATCH);
    if tags.is_empty() || tags.iter().any(|tag| tag == "*") {
        return Precondition::Anything;
    }
    // A tag of another server names no version, so the record cannot have it.
    Precondition::OneOf(tags.iter().filter_map(|tag| version_in(tag)).collect())
}

/// Record and version of a tag; the hash after them does not matter for a write.
fn version_in(tag: &str) -> Option<(String, i64)> {
    let mut parts = opaque(tag).split('-');
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?))
}

/// Tags in a header, `a, W/"b,c"`: a comma in quotes belongs to its tag.
fn tags(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let mut tags = Vec::new();
    for value in headers.get_all(name).iter().filter_map(|value| value.to_str().ok()) {
        let mut is_quoted = false;
        let parts = value.split(|char| {
            is_quoted ^= char == '"';
            char == ',' && !is_quoted
        });
        tags.extend(parts.map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned));
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let check = |sent: &'static str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(sent));
            assert_eq!(names(&headers, "\"a-1\""), expected, "{sent}");
            assert_eq!(names(&headers, "W/\"a-1\""), expected, "{sent}");
        };
        for same in [r#""a-1""#, r#"W/"a-1""#, r#""b", W/"a-1""#, "a-1", "*", r#""x,y","a-1""#] {
            check(same, true);
        }
        for other in [r#""a-2""#, r#"W/"b""#, "", r#""x,a-1""#, r#""*""#, r#"w"a-1""#] {
            check(other, false);
        }
    }
}
