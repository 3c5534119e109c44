//! Companies by the ids that other systems know them by, and little more (R28).

use poem::{Request, Response};
use svctrack_core::{
    resources::company::{self, COMPANY},
    schema::ListQuery,
};

use super::{name_ignored, page, query_pairs, strict::Strictness};
use crate::{app::App, auth::authenticate, error::Error};

/// `GET /leancompanies`: `externalId`, `sourceId` and `status` can stand several times.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authenticate(app, request)?;
    caller.require("companies:read")?;
    let mut read = ListQuery::parse(&COMPANY, &query_pairs(request)).map_err(Error::BadRequest)?;
    Strictness::of(request).check_parameters(&read.ignored)?;
    let lean = [company::NAME.name, company::EXTERNAL_ID.name, company::SOURCE_ID.name];
    read.query.select = Some(lean.map(str::to_owned).to_vec());
    let found = app.store.list(&caller.tenant, &COMPANY, read.query).await?;
    let mut response = page(app, request, found)?;
    name_ignored(&mut response, &read.ignored);
    Ok(response)
}
