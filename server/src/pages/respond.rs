//! Responses of pages: HTML, or a redirect.

use poem::{
    Response,
    http::{HeaderValue, StatusCode, header},
};
use svctrack_web::{Page, pages::Problem};

use crate::limits::MAX_SENT_ADDRESS_BYTES;

/// Response with a page: it belongs to one reader, so it is not cached.
pub(crate) fn html(page: Page) -> Response {
    Response::builder()
        .content_type("text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, page.csp)
        .header(header::CACHE_CONTROL, "no-store")
        .header("Cross-Origin-Opener-Policy", "same-origin")
        .header("Cross-Origin-Resource-Policy", "same-origin")
        .header(header::REFERRER_POLICY, "same-origin")
        .header(
            "Permissions-Policy",
            "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        )
        .body(page.html)
}

/// Response with the page of a form that was rejected.
pub(super) fn rejected(page: Page) -> Response {
    let mut response = html(page);
    response.set_status(StatusCode::UNPROCESSABLE_ENTITY);
    response
}

/// Response with the page of a list or a report; its address is wrong where the page shows problems.
pub(super) fn shown(page: Page, problems: &[Problem]) -> Response {
    let mut response = html(page);
    if !problems.is_empty() {
        response.set_status(StatusCode::BAD_REQUEST);
    }
    response
}

/// An address that fits into a header: without its query where that is long.
pub(super) fn short(path: &str) -> &str {
    let plain = path.split('?').next().unwrap_or_default();
    let fits = |path: &&str| path.len() <= MAX_SENT_ADDRESS_BYTES;
    [path, plain].into_iter().find(fits).unwrap_or("/")
}

/// Leads to another page after an action.
pub(super) fn see(path: &str) -> Response {
    let mut response = Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::CACHE_CONTROL, "no-store")
        .finish();
    if let Ok(path) = HeaderValue::try_from(short(path)) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}
