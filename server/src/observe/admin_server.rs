//! The address for those who watch a server: `/metrics` for Prometheus, and `/ready` for what starts and stops servers.
//! It has few connections, each for one request of a few seconds, and runs next to the connections of clients.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode, body::Incoming, header, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use poem::http::HeaderValue;
use prometheus_client::registry::Registry;
use svctrack_store::Health;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::spawn_blocking,
    time::timeout,
};

use super::exposition::{self, MEDIA_TYPE};
use crate::{
    app::App,
    limits::{ACCEPT_PAUSE, ADMIN_TIMEOUT, HEAD_TIMEOUT, MAX_ADMIN_CONNECTIONS},
};

/// Serves the operator's address until the task is ended.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>) {
    let places = Arc::new(Semaphore::new(MAX_ADMIN_CONNECTIONS));
    let registry = Arc::new(exposition::registry(&app));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // One too many is closed.
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (app, registry) = (app.clone(), registry.clone());
        tokio::spawn(async move {
            let _ = timeout(ADMIN_TIMEOUT, connection(stream, app, registry)).await;
            drop(place);
        });
    }
}

async fn connection(
    stream: TcpStream,
    app: Arc<App>,
    registry: Arc<Registry>,
) -> Result<(), hyper::Error> {
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, registry) = (app.clone(), registry.clone());
        async move { Ok::<_, Infallible>(respond(&app, registry, &request).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn respond(
    app: &App,
    registry: Arc<Registry>,
    request: &Request<Incoming>,
) -> Response<Full<Bytes>> {
    match (request.method(), request.uri().path()) {
        (&(Method::GET | Method::HEAD), "/metrics") => metrics(registry).await,
        (&(Method::GET | Method::HEAD), "/ready") => ready(app),
        _ => text(StatusCode::NOT_FOUND, "GET /metrics or GET /ready\n".to_owned()),
    }
}

/// All figures. They are written on another thread: there are thousands of lines.
async fn metrics(registry: Arc<Registry>) -> Response<Full<Bytes>> {
    let written = spawn_blocking(move || exposition::write(&registry)).await;
    let failed = || text(StatusCode::INTERNAL_SERVER_ERROR, "metrics not written\n".to_owned());
    let Ok(Ok(written)) = written else { return failed() };
    let mut response = text(StatusCode::OK, written);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    response
}

/// 200 while requests are served and can be: not while the server stops, and not while the store takes no writes.
fn ready(app: &App) -> Response<Full<Bytes>> {
    let health = app.store.status().health;
    let (status, reason) = match *app.stopping.borrow() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        false if health == Health::Ok => (StatusCode::OK, health.name()),
        false => (StatusCode::SERVICE_UNAVAILABLE, health.name()),
    };
    text(status, format!("{reason}\n"))
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
