//! Whether the service can be used, for load balancers and people.

use poem::{Request, Response, http::StatusCode};

use super::json;
use crate::{app::App, error::Error, store::Health};

/// `GET /health`: takes the same time whatever is stored.
pub(crate) async fn health(app: &App, _: Request) -> Result<Response, Error> {
    let health = app.store.health();
    let mut response = json(format!(r#"{{"status":"{}"}}"#, health.name()));
    if health != Health::Ok {
        response.set_status(StatusCode::SERVICE_UNAVAILABLE);
    }
    Ok(response)
}
