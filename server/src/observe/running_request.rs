//! Measures a request from its head to the end of its response.

use std::{
    borrow::Cow,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body as _, Frame, SizeHint};
use poem::{Body, Request, Response};
use svctrack_store::Tenant;

use super::{
    Observability,
    request_log::RequestLine,
    request_metrics::{RouteMetrics, name_of},
    trace::{self, RequestTrace},
};
use crate::request_id::RequestId;

/// Code of the problem for which a request was rejected, or its events are parked. An extension of a response.
#[derive(Clone, Debug)]
pub(crate) struct ProblemCode(pub(crate) Cow<'static, str>);

/// The status of a request whose client disconnected before there was a response, as proxies log it.
const CLIENT_GONE: u16 = 499;

/// Facts of a request before its route is known.
#[derive(Clone, Copy)]
pub(crate) struct RequestStart {
    method: &'static str,
    client: Option<IpAddr>,
    began: Instant,
}

impl RequestStart {
    pub(crate) fn from_request(request: &Request) -> Self {
        let client = request.remote_addr().as_socket_addr().map(|client| client.ip());
        let method = name_of(request.method());
        Self { method, client: client.map(|ip| ip.to_canonical()), began: Instant::now() }
    }
}

/// A running request. When it is dropped without a response, its client has disconnected.
pub(crate) struct RunningRequest<'a> {
    observe: &'a Arc<Observability>,
    request_id: RequestId,
    arrived: RequestStart,
    route: &'a Arc<RouteMetrics>,
    has_ended: bool,
}

impl<'a> RunningRequest<'a> {
    pub(crate) fn new(
        observe: &'a Arc<Observability>,
        request_id: RequestId,
        arrived: RequestStart,
        route: Option<&'a Arc<RouteMetrics>>,
    ) -> Self {
        observe.requests.begin();
        let route = route.unwrap_or(observe.requests.without_route());
        Self { observe, request_id, arrived, route, has_ended: false }
    }

    pub(crate) fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Notes the response. Where its length is not known, the line of the request is written when all of it has been
    /// read.
    pub(crate) fn respond(mut self, response: &mut Response) {
        self.has_ended = true;
        let took = self.arrived.began.elapsed();
        let status = response.status().as_u16();
        let cause: Option<ProblemCode> = response.extensions_mut().remove();
        let code = cause.as_ref().map(|ProblemCode(code)| &**code);
        let (route, tenant) = ((&**self.route, self.arrived.method), trace::current().tenant);
        self.observe.requests.respond(route, (status, code), tenant, took);
        let body: BoxBody<Bytes, io::Error> = response.take_body().into();
        let bytes = body.size_hint().exact();
        if let Some(bytes_out) = bytes {
            response.set_body(Body::from(body));
            self.log(status, code, bytes_out, took);
            return;
        }
        let ending = RequestEnd {
            observe: self.observe.clone(),
            arrived: self.arrived,
            route: self.route.clone(),
            trace: trace::current(),
            status,
            cause,
            bytes_out: 0,
        };
        response.set_body(Body::from(BoxBody::new(WatchedResponse { body, ending })));
    }

    fn log(&self, status: u16, cause: Option<&str>, bytes_out: u64, took: Duration) {
        let outcome = RequestOutcome { status, cause, bytes_out, took };
        log(self.observe, &self.arrived, self.route.template(), &trace::current(), &outcome);
    }
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.observe.requests.abort();
            self.log(CLIENT_GONE, Some("client_gone"), 0, self.arrived.began.elapsed());
        }
    }
}

/// A response of unknown length.
struct WatchedResponse {
    body: BoxBody<Bytes, io::Error>,
    ending: RequestEnd,
}

/// Writes the line of a request when its response has been sent, or its client has disconnected.
struct RequestEnd {
    observe: Arc<Observability>,
    arrived: RequestStart,
    route: Arc<RouteMetrics>,
    trace: RequestTrace,
    status: u16,
    cause: Option<ProblemCode>,
    bytes_out: u64,
}

impl Drop for RequestEnd {
    fn drop(&mut self) {
        let Self { observe, arrived, route, trace, .. } = self;
        let cause = self.cause.as_ref().map(|ProblemCode(code)| &**code);
        let took = arrived.began.elapsed();
        let outcome =
            RequestOutcome { status: self.status, cause, bytes_out: self.bytes_out, took };
        log(observe, arrived, route.template(), trace, &outcome);
    }
}

struct RequestOutcome<'a> {
    status: u16,
    cause: Option<&'a str>,
    bytes_out: u64,
    took: Duration,
}

/// Writes the line of a request, if it is to be logged.
fn log(
    observe: &Observability,
    arrived: &RequestStart,
    route: Option<&str>,
    trace: &RequestTrace,
    &RequestOutcome { status, cause, bytes_out, took }: &RequestOutcome<'_>,
) {
    let log = &observe.log;
    let request_id = trace.request_id.as_deref().unwrap_or_default();
    let Some(sample_rate) = log.sample_rate(request_id, status, took) else { return };
    log.write(&RequestLine {
        request_id,
        method: arrived.method,
        route,
        // An operator belongs to no tenant.
        tenant: trace.tenant.filter(|tenant| *tenant != Tenant::OPERATOR.id()),
        token: trace.token.as_ref().map(|token| token.record.id.as_str()),
        status,
        cause,
        scope: trace.missing_scope.as_deref(),
        bytes_in: trace.received,
        bytes_out,
        took,
        client: arrived.client,
        sample_rate,
    });
}

impl hyper::body::Body for WatchedResponse {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame {
            self.ending.bytes_out += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
