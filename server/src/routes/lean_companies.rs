//! Companies with their ids only (R28).

use poem::{Request, Response};
use svctrack_core::{
    resources::company::{self, COMPANY},
    schema::{ListLimits, ListQuery},
};

use super::{list_response::ListResponse, query_parameters::query_pairs, strict::Strictness};
use crate::{app::App, auth::authorize, error::Error};

/// Companies in the list: all, for callers with a table of ids (R50). They are some 7 MB.
pub(crate) const LIMITS: ListLimits = ListLimits { default: 50_000, max: 50_000 };

/// `GET /leancompanies`: `externalId`, `sourceId` and `status` can be repeated.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "companies:read").await?;
    let read = ListQuery::parse_within(&COMPANY, LIMITS, &query_pairs(request));
    let read = read.map_err(Error::BadRequest)?;
    let ignored = Strictness::from_request(request).check_list(&read)?;
    let mut query = read.query;
    let wanted = query.select.take();
    let is_wanted = |name: &&str| {
        wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted == name))
    };
    let lean = [company::NAME.name, company::EXTERNAL_ID.name, company::SOURCE_ID.name];
    let select: Vec<String> = lean.into_iter().filter(is_wanted).map(str::to_owned).collect();
    query.select = Some(select.clone());
    let listed = ListResponse { def: &COMPANY, select: Some(&select), ignored: &ignored };
    let page_options = listed.page_options(app, request, &caller.tenant);
    let found = app.store.list(&caller.tenant, &COMPANY, query, page_options).await?;
    listed.respond(request, found)
}
