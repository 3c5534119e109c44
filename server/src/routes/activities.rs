//! Reading activities back (R38).

use poem::{Request, Response};
use svctrack_core::tracking::{activity::ActivityQuery, listed::ACTIVITY};

use super::{
    lists::Listed,
    request::{authorise, query_pairs},
    strict::Strictness,
};
use crate::{app::App, error::Error};

/// `GET /activities`: newest stored first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "activities:read").await?;
    let read = ActivityQuery::parse(&query_pairs(request)).map_err(Error::BadRequest)?;
    let ignored = Strictness::of(request).check_list(&read)?;
    let select = read.query.select.clone();
    let listed = Listed { def: &ACTIVITY, select: select.as_deref(), ignored: &ignored };
    let page_for = listed.page_for(app, request, &caller.tenant);
    let found = app.store.activities(&caller.tenant, read.query, page_for).await?;
    listed.answer(request, found)
}
