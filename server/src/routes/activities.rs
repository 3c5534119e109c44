//! Reading activities back (R38).

use poem::{Request, Response};
use svctrack_core::tracking::activity::ActivityQuery;

use super::{name_ignored, page, query_pairs, strict::Strictness};
use crate::{app::App, auth::authenticate, error::Error};

/// `GET /activities`: newest stored first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authenticate(app, request)?;
    caller.require("activities:read")?;
    let read = ActivityQuery::parse(&query_pairs(request)).map_err(Error::BadRequest)?;
    Strictness::of(request).check_parameters(&read.ignored)?;
    let found = app.store.activities(&caller.tenant, read.query).await?;
    let mut response = page(app, request, found)?;
    name_ignored(&mut response, &read.ignored);
    Ok(response)
}
