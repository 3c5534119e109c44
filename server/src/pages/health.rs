//! The health of the service, and a backup of it.

use poem::{Request, Response};
use svctrack_core::access::OPERATOR;
use svctrack_web::pages::{HealthView, health_page};

use super::{respond::html, visit::Visit};
use crate::error::Error;

/// `GET /app/health`
pub(super) async fn health(visit: Visit, _: Request) -> Result<Response, Error> {
    let view = HealthView {
        health: visit.api.get("/health").await?,
        version: env!("CARGO_PKG_VERSION"),
        public_url: visit.app.addresses.base_url().to_owned(),
        may_back_up: visit.api.may(OPERATOR),
    };
    Ok(html(health_page(&visit.shell, &view)))
}

/// `GET /app/backup`: all that is stored, as a file.
pub(super) async fn backup(visit: Visit, _: Request) -> Result<Response, Error> {
    visit.api.ask("/backup", "*/*").await
}
