//! Cross-origin requests (CORS): a page of any origin may send events and load the script, without credentials (R40).

use poem::{
    Request, Response,
    http::{HeaderMap, HeaderValue, header},
};
use svctrack_web::DEFAULT_TRACKING_PREFIX;

use crate::{app::App, error::Error};

/// How long a browser may cache the permission to send, in seconds: a day.
const PREFLIGHT_SECONDS: u32 = 24 * 60 * 60;

// Constants are checked when they are compiled, and not for each response.
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Idempotent-Replayed, Retry-After, Svctrack-Ignored, Svctrack-Parked, Svctrack-Rejected, Svctrack-Rejected-Count, X-Request-Id",
);

/// Whether any web page may call or load a path.
pub(crate) fn is_for_any_page(app: &App, path: &str) -> bool {
    let prefixes = [DEFAULT_TRACKING_PREFIX, app.addresses.tracking_prefix(), "/dock", "/v1"];
    let is_below = |prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
    prefixes.into_iter().any(is_below) || app.files.contains_key(path)
}

/// Lets a page of any origin read the response, without credentials (R40).
pub(crate) fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
}

/// `OPTIONS`: a browser asks whether it may send a type other than plain text.
pub(crate) async fn preflight(_: &App, _: &mut Request) -> Result<Response, Error> {
    Ok(Response::builder()
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, "POST")
        .header(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Content-Encoding, Idempotency-Key",
        )
        .header(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)
        .finish())
}
