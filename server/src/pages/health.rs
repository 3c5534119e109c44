//! The health of the service, and a backup of it.

use poem::{Request, Response};
use svctrack_core::access::OPERATOR;
use svctrack_web::pages::{HealthView, RequestRates, health_page};

use super::{respond::html, visit::Visit};
use crate::error::Error;

/// `GET /app/health`
pub(super) async fn health(visit: Visit, _: Request) -> Result<Response, Error> {
    let may_operate = visit.api.may(OPERATOR);
    let view = HealthView {
        health: visit.api.get("/health").await?,
        version: env!("CARGO_PKG_VERSION"),
        public_url: visit.app.addresses.base_url().to_owned(),
        may_back_up: may_operate,
        // Of all tenants together.
        requests: may_operate.then(|| requests(&visit)),
    };
    Ok(html(health_page(&visit.shell, &view)))
}

/// Current rates of requests.
fn requests(visit: &Visit) -> RequestRates {
    let observe = &visit.app.observe;
    let rates = observe.recent.rates(&observe.requests);
    RequestRates {
        seconds: rates.within.as_secs().max(1),
        requests: rates.requests,
        failed: rates.failed,
        p50_us: rates.p50_us,
        p99_us: rates.p99_us,
    }
}

/// `GET /app/backup`: all that is stored, as a file.
pub(super) async fn backup(visit: Visit, _: Request) -> Result<Response, Error> {
    visit.api.ask("/backup", "*/*").await
}
