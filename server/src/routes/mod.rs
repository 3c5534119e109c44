//! The handlers, one file a group of routes. Each reads its request at the edge, asks the store, and
//! answers; no rule lives here.

pub(crate) mod activities;
pub(crate) mod health;
pub(crate) mod pages;
pub(crate) mod records;
pub(crate) mod tracking;

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, header},
};
use svctrack_core::value::{ObjectId, issue::quoted};

use crate::{
    error::Error,
    limits::{MAX_IGNORED_BYTES, MAX_IGNORED_NAME_BYTES, MAX_IGNORED_NAMES},
    store::Page,
};

/// What cannot stand for itself in a list of names in a header.
const ENCODED_IN_NAMES: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'%')
    .add(b',');

const IGNORED: HeaderName = HeaderName::from_static("svctrack-ignored");

/// The pairs of the query, decoded.
fn query_pairs(request: &Request) -> Vec<(String, String)> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// A JSON answer; what it says belongs to one caller, so nobody keeps it.
fn json(text: String) -> Response {
    Response::builder()
        .content_type("application/json")
        .header(header::CACHE_CONTROL, "no-store")
        .body(text)
}

/// A page of a list, with the way to the next one (R14). `after` is that of the page that was asked.
fn page(request_uri: &poem::http::Uri, page: Page) -> Response {
    let mut response = json(format!("[{}]", page.items.join(",")));
    let next = page
        .last
        .filter(|_| page.more)
        .map(|last| next_link(request_uri, last));
    if let Some(link) = next.and_then(|link| HeaderValue::try_from(link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

fn next_link(uri: &poem::http::Uri, last: ObjectId) -> String {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let kept = pairs.filter(|(name, _)| name != "after" && name != "offset");
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query
        .extend_pairs(kept)
        .append_pair("after", &last.to_string());
    format!("<{}?{}>; rel=\"next\"", uri.path(), query.finish())
}

/// Names what was sent and not known, so that it does not vanish without a trace (R6).
fn name_ignored(response: &mut Response, ignored: &[String]) {
    if ignored.is_empty() {
        return;
    }
    let mut text = String::new();
    for (index, name) in ignored.iter().enumerate() {
        let name = percent_encoding::utf8_percent_encode(name, ENCODED_IN_NAMES).to_string();
        let name = name.get(..MAX_IGNORED_NAME_BYTES).unwrap_or(&name);
        if index == MAX_IGNORED_NAMES || text.len() + name.len() > MAX_IGNORED_BYTES {
            text.push_str(", ...");
            break;
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
    }
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(IGNORED, value);
    }
}

/// A part of the path, percent-decoded once.
fn path_part<'r>(request: &'r Request, name: &str) -> Result<&'r str, Error> {
    request
        .raw_path_param(name)
        .ok_or_else(|| Error::Internal(format!("the route has no part {}", quoted(name))))
}
