//! Admin address: `/metrics` for Prometheus, `/ready` for orchestrators, and the dashboard and alert rules that read these
//! metrics. It has a few connections of its own, and is served until the process ends.

use std::{future, sync::Arc};

use poem::{
    Endpoint, Request, Response,
    http::{Method, StatusCode},
};
use prometheus_client::registry::Registry;
use svctrack_store::Health;
use tokio::{net::TcpListener, task::spawn_blocking};

use super::metrics_text::{self, MEDIA_TYPE};
use crate::{
    app::App,
    connection::{
        listener::{self, ClientLimits},
        request_head,
        workers::Workers,
    },
    error::Error,
    limits::MAX_ADMIN_CONNECTIONS,
    proxies::Proxies,
    routing::router::complete,
};

/// Dashboard of Grafana, and alert rules of Prometheus.
const DASHBOARD: &str = include_str!("../../ops/dashboard.json");
const ALERTS: &str = include_str!("../../ops/alerts.yml");

/// Serves the operator's address until the task is ended.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>) {
    let registry = Arc::new(metrics_text::registry(&app));
    let (proxies, counts) = (Proxies::default(), Arc::default());
    let clients = ClientLimits { places: MAX_ADMIN_CONNECTIONS, proxies, counts, tls: None };
    let (endpoint, mut workers) = (AdminEndpoints { app, registry }, Workers::none());
    let served = listener::serve(listener, clients, &mut workers, endpoint, future::pending());
    if let Err(cause) = served.await {
        tracing::warn!(%cause, "metrics listener failed");
    }
}

/// Endpoints for the operator of the server.
struct AdminEndpoints {
    app: Arc<App>,
    registry: Arc<Registry>,
}

impl Endpoint for AdminEndpoints {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let request_id = self.app.request_ids.next();
        let response = self.respond(&request).await;
        let mut response = response.unwrap_or_else(|error| error.into_response(&request_id));
        complete(&mut response, &request_id);
        Ok(response)
    }
}

impl AdminEndpoints {
    async fn respond(&self, request: &Request) -> Result<Response, Error> {
        request_head::check(request)?;
        match (request.method(), request.uri().path()) {
            (&(Method::GET | Method::HEAD), "/metrics") => self.metrics().await,
            (&(Method::GET | Method::HEAD), "/ready") => Ok(self.ready()),
            (&(Method::GET | Method::HEAD), "/dashboard.json") => {
                Ok(Response::builder().content_type("application/json").body(DASHBOARD))
            }
            (&(Method::GET | Method::HEAD), "/alerts.yml") => {
                Ok(Response::builder().content_type("application/yaml").body(ALERTS))
            }
            _ => Err(Error::NotFound(
                "expected GET /metrics, /ready, /dashboard.json or /alerts.yml",
            )),
        }
    }

    /// All metrics. They are written on another thread: there are thousands of lines.
    async fn metrics(&self) -> Result<Response, Error> {
        let registry = self.registry.clone();
        let written = spawn_blocking(move || metrics_text::write(&registry)).await;
        let written = written.map_err(|error| Error::Internal(error.to_string()))?;
        let written = written.map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Response::builder().content_type(MEDIA_TYPE).body(written))
    }

    /// Status 200 while requests can be served: not while the server stops, and not while the store is read-only.
    fn ready(&self) -> Response {
        let health = self.app.store.status().health;
        let (status, reason) = match *self.app.stopping.borrow() {
            true => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
            false if health == Health::Ok => (StatusCode::OK, health.name()),
            false => (StatusCode::SERVICE_UNAVAILABLE, health.name()),
        };
        let response = Response::builder().status(status).content_type("text/plain; charset=utf-8");
        response.body(format!("{reason}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_stops_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let app = App::for_test(folder.path());
        let operator = AdminEndpoints { app: app.clone(), registry: Arc::default() };
        let ready = async || {
            let uri = "/ready".parse().unwrap();
            let request = Request::builder().uri(uri).header("Host", "x").finish();
            let response = operator.call(request).await.unwrap();
            (response.status(), response.into_body().into_string().await.unwrap())
        };
        assert_eq!(ready().await, (StatusCode::OK, "ok\n".to_owned()));
        app.stop();
        assert_eq!(ready().await, (StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned()));
    }
}
