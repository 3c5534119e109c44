//! Health of the service, for load balancers and people.

use poem::{Request, Response, http::StatusCode};
use serde::Serialize;
use svctrack_store::{ClockState, Health, ScrubReport, StoreStatus};

use super::respond::json;
use crate::{app::App, backup_folder::BackupStatus, error::Error};

#[derive(Serialize)]
struct HealthResponse {
    status: &'static str,
    damaged: u64,
    checked: Option<ScrubReport>,
    clock: Option<ClockState>,
    backup: Option<BackupStatus>,
    version: &'static str,
}

/// The version of the server.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `GET /health`: takes the same time whatever is stored.
pub(crate) async fn health(app: &App, _: &mut Request) -> Result<Response, Error> {
    let StoreStatus { health, damaged, checked, clock } = app.store.status();
    let (status, backup) = (health.name(), app.backups.done());
    let body = HealthResponse { status, damaged, checked, clock, backup, version: VERSION };
    let body = serde_json::to_string(&body);
    let mut response = json(body.map_err(|error| Error::Internal(error.to_string()))?);
    if health != Health::Ok {
        response.set_status(StatusCode::SERVICE_UNAVAILABLE);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use svctrack_core::value::Timestamp;

    use super::*;

    #[test]
    fn the_time_of_the_last_look_is_written_as_all_times_are() {
        let at = Timestamp::parse("2026-11-20T12:30:00Z").unwrap();
        let checked = Some(ScrubReport { at, rows: 1, damaged: 0 });
        let status = Health::Ok.name();
        let (clock, backup) = (None, None);
        let body = HealthResponse { status, damaged: 0, checked, clock, backup, version: VERSION };
        let body = serde_json::to_value(body).unwrap();
        assert_eq!(body["checked"]["at"], "2026-11-20T12:30:00.000Z");
    }
}
