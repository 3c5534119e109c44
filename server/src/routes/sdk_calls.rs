//! Calls of customer-data pipelines and their SDKs: `POST /dock/{pipeline}` (R33), and the `/v1` routes that SDKs call
//! (R47), where the tenant is their write key.

use std::sync::Arc;

use bytes::Bytes;
use poem::{Request, Response};
use svctrack_core::{
    plan::Route,
    tracking::{
        ReadEvent,
        bulk::MAX_BODY_BYTES,
        event::MAX_EVENT_BYTES,
        integration_issues,
        pipeline::{self, CONTEXT, ReadCall, SDK_CALLS},
    },
    value::{Document, Malformed, Timestamp, json_rows::Envelope},
};
use svctrack_store::Tracking;

use super::{
    respond::json,
    strict::Strictness,
    tracking::{ok, rejected, store},
    tracking_rows::{CallBatch, RowsFormat, RowsReader, take_rows},
};
use crate::{
    app::App,
    auth::{sender_of_basic, sender_of_write_key},
    error::Error,
    heavy_work,
    limits::MAX_UNNAMED_BODY_BYTES,
    routing::path_tree::{RoutedRequest, path_part},
    sender_limits::Sender,
};

/// The tenant, in a call or an envelope.
const WRITE_KEY: &str = "writeKey";

/// Forms of a body that a route accepts.
#[derive(Clone, Copy)]
enum AcceptedBody {
    /// A call, an array of calls, or an envelope.
    Any,
    Batch,
    /// A call of this type.
    One(&'static str),
}

/// `POST /dock/{pipeline}`: one call, an array of calls, or an envelope with a `batch` of them.
pub(crate) async fn dock(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    check_pipeline(request)?;
    take(app, request, AcceptedBody::Any, ok()).await
}

/// `POST /v1/batch`: an envelope, as SDKs send it.
pub(crate) async fn batch(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    check_pipeline(request)?;
    take(app, request, AcceptedBody::Batch, success()).await
}

/// `POST /v1/{call}`: one call, whose type is in the address.
pub(crate) async fn call(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    check_pipeline(request)?;
    let sent = path_part(request, "call").unwrap_or_default();
    let named = SDK_CALLS.into_iter().find(|name| sent == *name).ok_or(Error::RouteNotFound)?;
    take(app, request, AcceptedBody::One(named), success()).await
}

/// Rejects an invalid name of a pipeline, where the address has one.
fn check_pipeline(request: &RoutedRequest<'_>) -> Result<(), Error> {
    match path_part(request, "pipeline") {
        Some(name) if !pipeline::is_pipeline_name(&name) => Err(Error::RouteNotFound),
        _ => Ok(()),
    }
}

fn success() -> Response {
    json(r#"{"success":true}"#.to_owned())
}

async fn take(
    app: &App,
    request: &mut Request,
    form: AcceptedBody,
    response: Response,
) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let named = sender_of_basic(app, request).await?;
    // Until the sender is known, only a smaller body is read.
    let max = if named.is_some() { MAX_BODY_BYTES } else { MAX_UNNAMED_BODY_BYTES };
    let body = app.bodies.read(request, named.map(|sender| sender.tenant.id()), max).await?;
    let bytes = body.bytes.clone();
    let envelope = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => None,
        _ => Some(open(app, bytes.clone()).await),
    };
    // The key may be in the body, so its errors come first.
    let envelope = envelope.transpose()?;
    let sender = match named {
        Some(sender) => sender,
        None => {
            let key = envelope.as_ref().and_then(|envelope| envelope.members.text(WRITE_KEY));
            sender_of_write_key(app, request, key.as_deref()).await?
        }
    };
    let strictness = Strictness::from_request(request);
    let form = match (form, envelope) {
        (AcceptedBody::Any, None) => RowsFormat::Calls,
        (AcceptedBody::Any | AcceptedBody::Batch, Some(envelope)) if envelope.has_rows() => {
            form_of(envelope, strictness)?
        }
        (AcceptedBody::Any, Some(_)) => {
            let one = SingleCall { received_at, named: None, bytes };
            return one.take(app, request, sender, response).await;
        }
        (AcceptedBody::One(named), Some(envelope)) if !envelope.has_rows() => {
            let one = SingleCall { received_at, named: Some(named), bytes };
            return one.take(app, request, sender, response).await;
        }
        (AcceptedBody::Batch, _) => {
            return Err(expected("an object with `batch`, an array of calls"));
        }
        (AcceptedBody::One(_), _) => return Err(expected("one call, an object without `batch`")),
    };
    let reading = RowsReader { received_at, form, strictness };
    take_rows(app, request, sender, bytes, reading, response).await
}

fn expected(what: &str) -> Error {
    let message = format!("expected {what}");
    Error::Malformed(Malformed { code: "call_expected", message, offset: 0 })
}

/// Reads the members of an envelope that apply to all its calls. A large one is read where that blocks no other
/// request.
async fn open(app: &App, body: Bytes) -> Result<Envelope, Error> {
    let check = |body: &[u8]| Envelope::check(body, &[WRITE_KEY, CONTEXT]);
    if body.len() <= MAX_EVENT_BYTES {
        return Ok(check(&body)?);
    }
    let place = app.body_readers.acquire().await;
    let _place = place.map_err(|error| Error::Internal(error.to_string()))?;
    let checked = heavy_work::spawn(move || check(&body)).await;
    Ok(checked.map_err(|error| Error::Internal(error.to_string()))??)
}

/// Calls of an envelope; each call can be as large as its `context`.
fn form_of(envelope: Envelope, strictness: Strictness) -> Result<RowsFormat, Error> {
    let unread = pipeline::unread_of_envelope(&envelope);
    strictness.check_members(Route::Pipeline, &unread).map_err(Error::Invalid)?;
    let context = envelope.members.value(CONTEXT);
    if context.is_some_and(|context| context.text().len() > MAX_EVENT_BYTES) {
        return Err(Error::TooLarge(MAX_EVENT_BYTES));
    }
    let context = context.and_then(|context| context.to_document()).unwrap_or_default();
    Ok(RowsFormat::Batch(Arc::new(CallBatch { envelope, context, unread })))
}

/// A call that comes alone.
struct SingleCall {
    received_at: Timestamp,
    /// Type of the call, where the address has it.
    named: Option<&'static str>,
    bytes: Bytes,
}

impl SingleCall {
    async fn take(
        self,
        app: &App,
        request: &Request,
        sender: Sender,
        response: Response,
    ) -> Result<Response, Error> {
        if self.bytes.len() > MAX_EVENT_BYTES {
            return Err(Error::TooLarge(MAX_EVENT_BYTES));
        }
        let read = pipeline::read(&self.bytes, self.named, &Document::default())
            .map_err(|error| rejected(app, &sender, Route::Pipeline, self.received_at, error))?;
        let (taken, ignored) = match read {
            ReadCall::Taken(taken) => (Some(taken), None),
            ReadCall::Ignored(ignored) => (None, Some(ignored)),
        };
        let (event, unread) = taken.map(|ReadEvent { event, unread, .. }| (event, unread)).unzip();
        let events = event.into_iter().collect();
        let mut tracking = Tracking::without_findings(events, self.received_at, Route::Pipeline);
        let ignored = ignored
            .map(|call| integration_issues::ignored(Route::Pipeline, &call, self.received_at));
        tracking.findings.extend(ignored);
        store(app, request, sender, tracking, unread.unwrap_or_default(), &self.bytes, response)
            .await
    }
}
