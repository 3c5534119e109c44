//! The audit log: who wrote what, when and from where.

use poem::{Request, Response};
use svctrack_core::audit::AuditQuery;

use super::list_response::respond_with_log;
use crate::{app::App, auth::authorize, error::Error};

/// `GET /audit`: newest entries first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "admin").await?;
    respond_with_log(app, request, &caller.tenant, AuditQuery::parse).await
}
