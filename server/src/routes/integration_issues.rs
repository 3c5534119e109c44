//! Report of possible integration issues (R42): list it, remove an entry, replay its parked events.

use poem::{Request, Response};
use svctrack_core::{
    tracking::integration_issues::IntegrationIssueQuery,
    value::{ObjectId, ValidationError, quoted::quoted},
};

use super::{
    list_response::respond_with_log,
    respond::{deleted_count, json},
};
use crate::{
    app::App,
    auth::{authorize, authorize_admin},
    error::Error,
    routing::path_tree::{RoutedRequest, path_part},
};

/// `GET /integrationissues`: newest entries first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "reports:read").await?;
    respond_with_log(app, request, &caller.tenant, IntegrationIssueQuery::parse).await
}

/// `DELETE /integrationissues/{id}`: for a missing entry it has no effect (R15).
pub(crate) async fn delete(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let was_there = app.store.delete_entry(caller.into(), id_in_path(request)?).await?;
    Ok(deleted_count(usize::from(was_there)))
}

/// `POST /integrationissues/{id}/replay`: the first events at once, the others after them.
pub(crate) async fn replay(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let count = app.store.replay_entry(caller.into(), id_in_path(request)?).await?;
    Ok(json(format!(r#"{{"replayed":{count}}}"#)))
}

fn id_in_path(request: &RoutedRequest<'_>) -> Result<ObjectId, Error> {
    let text = path_part(request, "id").unwrap_or_default();
    ObjectId::parse(&text).ok_or_else(|| {
        let message = format!("an id must be an `_id`; found {}", quoted(&text));
        Error::BadRequest(vec![ValidationError::of_body("invalid_id", message)])
    })
}
