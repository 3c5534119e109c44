//! Lists of activities (R38). [`ActivityQuery`] reads their filters.

use poem::{Request, Response};
use svctrack_core::tracking::activity_query::ActivityQuery;

use super::list_response::respond_with_log;
use crate::{app::App, auth::authorize, error::Error};

/// `GET /activities`: newest stored first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "activities:read").await?;
    respond_with_log(app, request, &caller.tenant, ActivityQuery::parse).await
}
