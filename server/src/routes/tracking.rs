//! Tracking single events and events in bulk (routes 1 and 4).

use poem::{
    Request, Response,
    http::{HeaderValue, header},
};
use svctrack_core::{
    plan::Route,
    tracking::{
        ReadEvent, Unreadable, bulk::MAX_BODY_BYTES, event::MAX_EVENT_BYTES, integration_issues,
        realtime, unknown_members::UnreadMembers,
    },
    value::Timestamp,
};
use svctrack_store::{IdempotentOutcome, TrackedEvents, Tracking};

use super::{
    idempotency_key::{IdempotentCall, Replayed, hash_of},
    respond::name_ignored,
    strict::Strictness,
    tracking_rows::{RowsFormat, RowsReader, TrackingOutcome, take_rows},
};
use crate::{
    app::App,
    auth::{Caller, sender_in_path},
    error::Error,
    routing::path_tree::RoutedRequest,
    sender_limits::Sender,
};

/// `POST /analytics/{tenant}`: `OK` means that the event is on disk (R31).
pub(crate) async fn realtime(
    app: &App,
    request: &mut RoutedRequest<'_>,
) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let sender = sender_in_path(app, request).await?;
    let body = app.bodies.read(request, Some(sender.tenant.id()), MAX_EVENT_BYTES).await?;
    let read = realtime::read(&body.bytes, received_at)
        .map_err(|error| rejected(app, &sender, Route::Realtime, received_at, error));
    let ReadEvent { event, unread, .. } = read?;
    let tracking = Tracking::without_findings(vec![event], received_at, Route::Realtime);
    store(app, request, sender, tracking, unread, &body.bytes, ok()).await
}

/// `POST /analytics/bulk/{tenant}`: an array of rows. Invalid rows do not affect valid ones (R31).
pub(crate) async fn bulk(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let sender = sender_in_path(app, request).await?;
    let body = app.bodies.read(request, Some(sender.tenant.id()), MAX_BODY_BYTES).await?;
    let strictness = Strictness::from_request(request);
    let reading = RowsReader { received_at, form: RowsFormat::Bulk, strictness };
    take_rows(app, request, sender, body.bytes.clone(), reading, ok()).await
}

/// Notes the reason for which a single event is rejected.
pub(super) fn rejected(
    app: &App,
    sender: &Sender,
    route: Route,
    at: Timestamp,
    error: Unreadable,
) -> Error {
    let finding = integration_issues::rejected(route, 0, &error.clone().into_issue(), at);
    app.rejected.note(sender.tenant.id(), finding);
    error.into()
}

/// Stores a single event or call, with its findings, and adds the outcome to the response.
pub(super) async fn store(
    app: &App,
    request: &Request,
    sender: Sender,
    mut tracking: Tracking,
    unread: Vec<String>,
    body: &[u8],
    mut response: Response,
) -> Result<Response, Error> {
    if !unread.is_empty() {
        let strictness = Strictness::from_request(request);
        strictness.check_members(tracking.route, &unread).map_err(Error::Invalid)?;
        name_ignored(&mut response, &unread);
        let mut names = UnreadMembers::default();
        names.add(unread);
        tracking.findings.extend(names.findings(tracking.route, tracking.received_at));
    }
    // A call without events is ignored, or its user is unknown.
    let is_counted = !tracking.events.is_empty();
    if is_counted {
        app.rates.count_tracking(&sender)?;
    }
    let stored = store_counted(app, request, &sender, tracking, body).await;
    if is_counted && stored.is_err() {
        app.rates.give_back_tracking(&sender);
    }
    let IdempotentOutcome { reply: tracked, is_repeated } = stored?;
    let mut outcome = TrackingOutcome::default();
    outcome.add(tracked);
    outcome.name_in(&mut response);
    Replayed(is_repeated).mark(&mut response);
    Ok(response)
}

/// Stores events whose bytes, and whose key, count only if they are not rejected and were not stored before.
async fn store_counted(
    app: &App,
    request: &Request,
    sender: &Sender,
    mut tracking: Tracking,
    body: &[u8],
) -> Result<IdempotentOutcome<TrackedEvents>, Error> {
    let (size, at) = ((tracking.events.len(), body.len()), tracking.received_at);
    tracking.sender = app.senders.take_events(sender, size, at)?;
    let stored = store_once(app, request, sender, tracking, body).await;
    if stored.as_ref().map_or(true, |stored| stored.is_repeated) {
        app.senders.give_back_events(sender, size, at);
    }
    stored
}

async fn store_once(
    app: &App,
    request: &Request,
    sender: &Sender,
    tracking: Tracking,
    body: &[u8],
) -> Result<IdempotentOutcome<TrackedEvents>, Error> {
    let once = IdempotentCall::of_sender(app, request, sender, || hash_of(body))?;
    let caller = Caller::of_events(sender.tenant);
    let stored = app.store.track(caller.into(), once.key(), tracking).await;
    if stored.as_ref().map_or(true, |stored| stored.is_repeated) {
        once.give_back_key();
    }
    Ok(stored?)
}

/// The response of routes 1, 3 and 4.
pub(super) fn ok() -> Response {
    let text = HeaderValue::from_static("text/plain");
    Response::builder().header(header::CONTENT_TYPE, text).body("OK")
}
