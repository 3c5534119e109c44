//! Taking events in (routes 1 to 4), from any origin (R40).

use std::iter::Peekable;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesOrdered};
use poem::{
    Request, Response,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};
use svctrack_core::{
    plan::{Finding, Route},
    tracking::{
        Event, Unreadable,
        bulk::{self, MAX_BODY_BYTES},
        event::MAX_EVENT_BYTES,
        pipeline, realtime, report,
    },
    value::{
        Timestamp,
        json_rows::{Row, Rows},
    },
};
use svctrack_web::DEFAULT_TRACKING_PREFIX;
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{
    once::{Once, Replayed, hash_of, is_asked},
    path_part,
};
use crate::{
    app::App,
    auth::{Caller, Tenant, tenant_in_path, tenant_of_pipeline},
    error::Error,
    limits::{MAX_PART_BYTES, MAX_PART_ROWS, MAX_PARTS_UNDER_WAY, MAX_REJECTED_INDEXES},
    store::{Actor, Command, Tracking},
};

/// How long a browser may remember that it may send, in seconds: a day.
const PREFLIGHT_SECONDS: u32 = 24 * 60 * 60;

const REJECTED_COUNT: HeaderName = HeaderName::from_static("svctrack-rejected-count");
const REJECTED: HeaderName = HeaderName::from_static("svctrack-rejected");

/// `POST /analytics/{tenant}`: `OK` means that the event is on disk (R31).
pub(crate) async fn realtime(app: &App, request: &mut Request) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let tenant = tenant_in_path(app, path_part(request, "tenant").unwrap_or_default())?;
    let body = app.bodies.read(request, MAX_EVENT_BYTES).await?;
    let event = realtime::read(&body.bytes, received_at)?;
    track(app, tenant, Tracking::of(vec![event], received_at, Route::Realtime)).await?;
    Ok(ok())
}

/// `POST /dock/{pipeline_name}`: one call, or an array of calls (R33).
pub(crate) async fn pipeline(app: &App, request: &mut Request) -> Result<Response, Error> {
    let received_at = app.clock.now();
    if !pipeline::is_pipeline_name(path_part(request, "pipeline").unwrap_or_default()) {
        return Err(Error::RouteNotFound);
    }
    let tenant = tenant_of_pipeline(app, request)?;
    let body = app.bodies.read(request, MAX_BODY_BYTES).await?;
    let is_array = body.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if is_array {
        let rows = Reading { received_at, route: Route::Pipeline, read: pipeline::read_row };
        return take_rows(app, request, tenant, body.bytes.clone(), rows).await;
    }
    if body.bytes.len() > MAX_EVENT_BYTES {
        return Err(Error::TooLarge(MAX_EVENT_BYTES));
    }
    let Some(event) = pipeline::read(&body.bytes)? else { return Ok(ok()) };
    let caller = Caller::of_events(tenant);
    let once = Once::begin(app, request, &caller, || hash_of(&body.bytes))?;
    let tracking = Tracking::of(vec![event], received_at, Route::Pipeline);
    let (_, replayed) = once.write(caller, Command::Track(tracking)).await?;
    let mut response = ok();
    replayed.mark(&mut response);
    Ok(response)
}

/// `POST /analytics/bulk/{tenant}`: an array of rows. Bad ones stop no good ones (R31).
pub(crate) async fn bulk(app: &App, request: &mut Request) -> Result<Response, Error> {
    let received_at = app.clock.now();
    let tenant = tenant_in_path(app, path_part(request, "tenant").unwrap_or_default())?;
    let body = app.bodies.read(request, MAX_BODY_BYTES).await?;
    let read = |row| bulk::read(row).map(Some);
    let rows = Reading { received_at, route: Route::Bulk, read };
    take_rows(app, request, tenant, body.bytes.clone(), rows).await
}

async fn track(app: &App, tenant: Tenant, tracking: Tracking) -> Result<(), Error> {
    let actor = Actor { tenant, token: None, user: None };
    app.store.write(actor, Command::Track(tracking)).await?;
    Ok(())
}

fn ok() -> Response {
    Response::builder().content_type("text/plain").body("OK")
}

/// How the rows of a body are read.
#[derive(Clone, Copy)]
struct Reading {
    received_at: Timestamp,
    route: Route,
    /// An event; none for a call that is ignored completely.
    read: fn(Row) -> Result<Option<Event>, Unreadable>,
}

/// Takes in the rows of a body: checked whole first, then stored in order, in parts. The next ones are read
/// while those before are on their way to the disk.
async fn take_rows(
    app: &App,
    request: &Request,
    tenant: Tenant,
    body: Bytes,
    reading: Reading,
) -> Result<Response, Error> {
    let caller = Caller::of_events(tenant);
    let place = app.body_readers.acquire().await;
    let _place = place.map_err(|error| Error::Internal(error.to_string()))?;
    let (bytes, keyed) = (body.clone(), is_asked(request));
    let hash = spawn_blocking(move || if keyed { hash_of(&bytes) } else { [0; 32] });
    let hash = hash.await.map_err(|error| Error::Internal(error.to_string()))?;
    let once = Once::begin(app, request, &caller, || hash)?;
    let (parts, mut next) = mpsc::channel(1);
    let reader = spawn_blocking(move || reading.send_parts(&body, &parts));
    let (mut rejected, mut replayed) = (Rejected::default(), Vec::new());
    let mut under_way = FuturesOrdered::new();
    let mut number = 0..;
    loop {
        tokio::select! {
            Some(part) = next.recv(), if under_way.len() < MAX_PARTS_UNDER_WAY => {
                rejected.add(&part);
                let command = Command::Track(part.tracking);
                let number = number.next().unwrap_or_default();
                under_way.push_back(once.write_part(number, caller.clone(), command));
            }
            Some(written) = under_way.next() => replayed.push(written?.1),
            else => break,
        }
    }
    reader.await.map_err(|error| Error::Internal(error.to_string()))??;
    let mut response = rejected.name_in(ok());
    Replayed::all(&replayed).mark(&mut response);
    Ok(response)
}

/// Rows that are stored by one command.
struct Part {
    tracking: Tracking,
    /// Indexes of those that were refused.
    refused: Vec<usize>,
}

impl Reading {
    /// Reads rows and hands them on in parts, until nobody takes them.
    fn send_parts(self, body: &[u8], parts: &mpsc::Sender<Part>) -> Result<(), Error> {
        let mut rows = Rows::check(body)?.enumerate().peekable();
        loop {
            let Some(part) = self.part(&mut rows) else { return Ok(()) };
            if parts.blocking_send(part).is_err() {
                return Ok(());
            }
        }
    }

    fn part(self, rows: &mut Peekable<impl Iterator<Item = (usize, Row)>>) -> Option<Part> {
        let mut refused = Vec::new();
        let mut tracking = Tracking::part(self.received_at, self.route);
        let (mut taken, mut bytes) = (0, 0);
        while taken < MAX_PART_ROWS && bytes < MAX_PART_BYTES {
            let Some((index, row)) = rows.next() else { break };
            taken += 1;
            bytes += row.bytes;
            match (self.read)(row) {
                Ok(event) => tracking.events.extend(event),
                Err(problem) => {
                    refused.push(index);
                    tracking.refused.push(self.finding(index, problem));
                }
            }
        }
        tracking.goes_on = rows.peek().is_some();
        (taken > 0).then_some(Part { tracking, refused })
    }

    fn finding(self, index: usize, problem: Unreadable) -> Finding {
        report::refused(self.route, index, &problem.into_issue(), self.received_at)
    }
}

/// Which rows were refused, for the headers of the answer.
#[derive(Default)]
struct Rejected {
    count: usize,
    indexes: Vec<usize>,
}

impl Rejected {
    fn add(&mut self, part: &Part) {
        self.count += part.refused.len();
        let room = MAX_REJECTED_INDEXES - self.indexes.len();
        self.indexes.extend(part.refused.iter().take(room));
    }

    fn name_in(self, mut response: Response) -> Response {
        if self.count == 0 {
            return response;
        }
        let mut names: Vec<String> = self.indexes.iter().map(usize::to_string).collect();
        if self.count > names.len() {
            names.push("...".to_owned());
        }
        let headers = response.headers_mut();
        headers.insert(REJECTED_COUNT, HeaderValue::from(self.count));
        if let Ok(names) = HeaderValue::try_from(names.join(",")) {
            headers.insert(REJECTED, names);
        }
        response
    }
}

/// `OPTIONS`: a browser asks whether it may send something other than plain text.
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

/// Whether a path is one that any web page may call or load.
pub(crate) fn is_for_any_page(app: &App, path: &str) -> bool {
    let prefixes = [DEFAULT_TRACKING_PREFIX, app.addresses.tracking_prefix(), "/dock"];
    let is_below = |prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
    prefixes.into_iter().any(is_below) || app.files.contains_key(path)
}

/// Lets a page of any origin read the answer, without credentials (R40).
pub(crate) fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let exposed = HeaderValue::from_static(
        "Idempotent-Replayed, Retry-After, Svctrack-Rejected, Svctrack-Rejected-Count, X-Request-Id",
    );
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_whether_another_one_follows() {
        let body = |rows| format!("[{}]", vec![r#"{"id":"7"}"#; rows].join(","));
        let read = |row| bulk::read(row).map(Some);
        let reading = Reading { received_at: Timestamp::MIN, route: Route::Bulk, read };
        for (rows, expected) in [
            (0, vec![]),
            (MAX_PART_ROWS, vec![false]),
            (2 * MAX_PART_ROWS + 1, vec![true, true, false]),
        ] {
            let (parts, mut sent) = mpsc::channel(9);
            reading.send_parts(body(rows).as_bytes(), &parts).unwrap();
            drop(parts);
            let sent = std::iter::from_fn(|| sent.blocking_recv());
            let goes_on: Vec<_> = sent.map(|part| part.tracking.goes_on).collect();
            assert_eq!(goes_on, expected, "{rows} rows");
        }
    }
}
