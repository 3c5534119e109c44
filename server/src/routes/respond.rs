//! Responses of handlers: JSON, and headers that several routes share.

use poem::{
    Body, Response,
    http::{HeaderName, HeaderValue, header},
};

use svctrack_store::RecordResponse;

use crate::{
    bodies::{compression::HasSecret, response_budget::held},
    limits::{MAX_IGNORED_BYTES, MAX_IGNORED_NAME_BYTES, MAX_IGNORED_NAMES},
};

/// Characters that are encoded in a list of names in a header.
const ENCODED_IN_NAMES: &percent_encoding::AsciiSet =
    &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'%').add(b',');

const IGNORED: HeaderName = HeaderName::from_static("svctrack-ignored");

/// A JSON response; it belongs to one caller, so it is not cached.
pub(super) fn json(text: String) -> Response {
    json_body(text.into())
}

pub(super) fn json_body(body: Body) -> Response {
    Response::builder()
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .body(body)
}

/// Response with a record, whose room is taken.
pub(super) fn record(record: RecordResponse) -> Response {
    let RecordResponse { text, room, .. } = record;
    let bytes = text.len();
    let mut response = json_body(held(room, text));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    response
}

/// A response with a secret: its compressed length may reveal it to an observer.
pub(crate) fn uncompressed(mut response: Response) -> Response {
    response.extensions_mut().insert(HasSecret);
    response
}

/// Lists ignored names in a header, besides those that it has already, so that they do not vanish without a trace (R6).
pub(crate) fn name_ignored(response: &mut Response, ignored: &[String]) {
    if ignored.is_empty() {
        return;
    }
    let named = response.headers().get(IGNORED).and_then(|value| value.to_str().ok());
    let mut text = named.unwrap_or_default().to_owned();
    if text.ends_with("...") {
        return;
    }
    let before = text.split_terminator(", ").count();
    for (count, name) in (before..).zip(ignored) {
        let name = encoded_start(name);
        let separator = if text.is_empty() { "" } else { ", " };
        if count == MAX_IGNORED_NAMES
            || text.len() + separator.len() + name.len() > MAX_IGNORED_BYTES
        {
            text.push_str(", ...");
            break;
        }
        text.push_str(separator);
        text.push_str(&name);
    }
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(IGNORED, value);
    }
}

/// The percent-encoded beginning of a name, cut between two characters.
fn encoded_start(name: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4];
    for char in name.chars() {
        let char =
            percent_encoding::utf8_percent_encode(char.encode_utf8(&mut buffer), ENCODED_IN_NAMES)
                .to_string();
        if text.len() + char.len() > MAX_IGNORED_NAME_BYTES {
            break;
        }
        text.push_str(&char);
    }
    text
}

/// Response with the number of deleted records.
pub(super) fn deleted_count(count: usize) -> Response {
    json(format!(r#"{{"n":{count},"ok":1,"deletedCount":{count}}}"#))
}
