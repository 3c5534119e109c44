//! The audit log: who wrote what, when and from where.

use poem::{Request, Response};
use svctrack_core::audit::{AuditQuery, ENTRY};

use super::{
    lists::Listed,
    request::{authorise, query_pairs},
    strict::Strictness,
};
use crate::{app::App, error::Error};

/// `GET /audit`: newest entries first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "admin").await?;
    let read = AuditQuery::parse(&query_pairs(request)).map_err(Error::BadRequest)?;
    let ignored = Strictness::of(request).check_list(&read)?;
    let select = read.query.select.clone();
    let listed = Listed { def: &ENTRY, select: select.as_deref(), ignored: &ignored };
    let page_for = listed.page_for(app, request, &caller.tenant);
    let found = app.store.audit(&caller.tenant, read.query, page_for).await?;
    listed.answer(request, found)
}
