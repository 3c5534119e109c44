//! Taking events in (routes 1 and 2), from any origin (R40).

use poem::{
    Request, Response,
    http::{HeaderMap, HeaderValue, header},
};
use svctrack_core::{
    plan::Route,
    tracking::{event::MAX_EVENT_BYTES, realtime},
};

use super::path_part;
use crate::{
    app::App,
    auth::tenant_in_path,
    error::Error,
    store::{Actor, Command},
};

/// How long a browser may remember that it may send, in seconds: a day.
const PREFLIGHT_SECONDS: u32 = 24 * 60 * 60;

/// `POST /analytics/{tenant}`: `OK` means that the event is on disk (R31).
pub(crate) async fn realtime(app: &App, mut request: Request) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let tenant = tenant_in_path(app, path_part(&request, "tenant").unwrap_or_default())?;
    let body = app.bodies.read(&mut request, MAX_EVENT_BYTES).await?;
    let event = realtime::read(&body.bytes, received_at)?;
    let command = Command::Track { event: Box::new(event), received_at, route: Route::Realtime };
    app.store.write(Actor { tenant, token: None, user: None }, command).await?;
    Ok(Response::builder().content_type("text/plain").body("OK"))
}

/// `OPTIONS /analytics/{tenant}`: a browser asks whether it may send something other than plain text.
pub(crate) async fn preflight(_: &App, _: Request) -> Result<Response, Error> {
    Ok(Response::builder()
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, "POST")
        .header(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, Content-Encoding")
        .header(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS)
        .finish())
}

/// Whether a path is one that any web page may call or load.
pub(crate) fn is_for_any_page(path: &str) -> bool {
    path.starts_with("/analytics/") || svctrack_web::asset(path).is_some()
}

/// Lets a page of any origin read the answer, without credentials (R40).
pub(crate) fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}
