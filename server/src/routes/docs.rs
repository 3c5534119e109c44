//! The documentation, as pages.

use poem::{
    Request, Response,
    http::{StatusCode, header},
};

use super::{pages::html, request::query_pairs};
use crate::{app::App, error::Error};

/// `GET /docs`: the overview.
pub(crate) async fn index(_: &App, request: &mut Request) -> Result<Response, Error> {
    Ok(match without_slash(request) {
        Some(there) => there,
        None => html(svctrack_web::doc_page("").ok_or(Error::RouteNotFound)?),
    })
}

/// `GET /docs/:page`: a page of Markdown.
pub(crate) async fn page(_: &App, request: &mut Request) -> Result<Response, Error> {
    let name = request.uri().path().rsplit('/').next().unwrap_or_default();
    let page = svctrack_web::doc_page(name).ok_or(Error::RouteNotFound)?;
    Ok(without_slash(request).unwrap_or_else(|| html(page)))
}

/// `GET /docs/api`: the description of this API for people, who can try its calls there.
pub(crate) async fn reference(app: &App, request: &mut Request) -> Result<Response, Error> {
    let page = html(svctrack_web::reference_page(&app.addresses));
    Ok(without_slash(request).unwrap_or(page))
}

/// `GET /docs/search`: what is found in the pages, for who has no script.
pub(crate) async fn search(_: &App, request: &mut Request) -> Result<Response, Error> {
    let asked = query_pairs(request).into_iter().find(|(name, _)| name == "q");
    let query = asked.map(|(_, text)| text).unwrap_or_default();
    let page = html(svctrack_web::doc_search_page(&query));
    Ok(without_slash(request).unwrap_or(page))
}

/// Leads from `/docs/` to `/docs`: links of a page count from its address.
fn without_slash(request: &Request) -> Option<Response> {
    let path = request.original_uri().path().strip_suffix('/')?;
    let name = path.rsplit('/').next()?;
    let response = Response::builder()
        .status(StatusCode::PERMANENT_REDIRECT)
        .header(header::LOCATION, format!("../{name}"));
    Some(response.finish())
}
