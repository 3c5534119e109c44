//! The report of possible integration issues (R42): list it, remove an entry, replay its parked events.

use poem::{Request, Response};
use svctrack_core::{
    tracking::{integration_issues::ReportQuery, listed::ENTRY},
    value::{Issue, ObjectId, issue::quoted},
};

use super::{
    lists::Listed,
    request::{authorise, query_pairs},
    respond::{deleted_count, json},
    strict::Strictness,
};
use crate::{app::App, error::Error, path_tree::path_part};

/// `GET /integrationissues`: newest entries first.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "reports:read").await?;
    let read = ReportQuery::parse(&query_pairs(request)).map_err(Error::BadRequest)?;
    let ignored = Strictness::of(request).check_list(&read)?;
    let select = read.query.select.clone();
    let listed = Listed { def: &ENTRY, select: select.as_deref(), ignored: &ignored };
    let page_for = listed.page_for(app, request, &caller.tenant);
    let found = app.store.report(&caller.tenant, read.query, page_for).await?;
    listed.answer(request, found)
}

/// `DELETE /integrationissues/{id}`: what is not there is deleted zero times (R15).
pub(crate) async fn delete(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "admin").await?;
    let was_there = app.store.delete_entry(caller.into(), id_in_path(request)?).await?;
    Ok(deleted_count(usize::from(was_there)))
}

/// `POST /integrationissues/{id}/replay`: the first of them at once, the others after it.
pub(crate) async fn replay(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "admin").await?;
    let count = app.store.replay_entry(caller.into(), id_in_path(request)?).await?;
    Ok(json(format!(r#"{{"replayed":{count}}}"#)))
}

fn id_in_path(request: &Request) -> Result<ObjectId, Error> {
    let text = path_part(request, "id").unwrap_or_default();
    ObjectId::parse(&text).ok_or_else(|| {
        let message = format!("an id must be an `_id`; found {}", quoted(&text));
        Error::BadRequest(vec![Issue::of_body("invalid_id", message)])
    })
}
