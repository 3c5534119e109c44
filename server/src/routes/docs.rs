//! The docs as pages.

use std::sync::Arc;

use poem::{
    Request, Response,
    http::{StatusCode, header},
};
use svctrack_web::{DOC_PAGES, doc_page, doc_search_page, missing_doc_page, reference_page};

use super::{
    accept_header::prefers,
    pages::{html, lasting},
    query_parameters::query_pairs,
};
use crate::{
    app::{App, DescribeApi, ReferenceTexts},
    error::Error,
    heavy_work,
    observe::running_request::ProblemCode,
};

/// Where the reference is; no page of Markdown has this address.
const REFERENCE: &str = "/docs/api";

/// `GET /docs`: the overview.
pub(crate) async fn index(app: &App, request: &mut Request) -> Result<Response, Error> {
    of_markdown(app, request, "").await
}

/// `GET /docs/:page`: a page of Markdown.
pub(crate) async fn page(app: &App, request: &mut Request) -> Result<Response, Error> {
    let name = request.uri().path().rsplit('/').next().unwrap_or_default();
    of_markdown(app, request, name).await
}

async fn of_markdown(app: &App, request: &Request, name: &str) -> Result<Response, Error> {
    let known = DOC_PAGES.iter().find(|page| page.slug == name);
    let Some((known, page)) = known.and_then(|known| Some((known, doc_page(known.slug)?))) else {
        return missing(request);
    };
    Ok(match without_slash(request) {
        Some(there) => there,
        None => lasting(app, request, (known.slug, page)).await,
    })
}

/// Response where there is no page: a page of the docs for browsers.
fn missing(request: &Request) -> Result<Response, Error> {
    if !prefers(request, "text/html") {
        return Err(Error::RouteNotFound);
    }
    let mut response = html(missing_doc_page());
    response.set_status(StatusCode::NOT_FOUND);
    response.extensions_mut().insert(ProblemCode("route_not_found".into()));
    Ok(response)
}

/// The reference; writing it takes too long for a thread that serves requests.
async fn written(app: &Arc<App>, describe: DescribeApi) -> Result<&ReferenceTexts, Error> {
    if !app.texts.has_reference() {
        let shared = app.clone();
        let writing = heavy_work::spawn(move || {
            shared.texts.reference(&shared.addresses, describe).map(drop)
        });
        writing.await.map_err(|error| Error::Internal(error.to_string()))??;
    }
    app.texts.reference(&app.addresses, describe)
}

/// `GET /docs/api` and `GET /docs/api/:group`: the reference of the API.
pub(crate) async fn reference(
    app: &Arc<App>,
    request: &Request,
    describe: DescribeApi,
) -> Result<Response, Error> {
    let path = request.uri().path();
    let group = path.strip_prefix(REFERENCE).and_then(|rest| rest.strip_prefix('/'));
    let reference = written(app, describe).await?;
    let page = reference.pages.get(group.unwrap_or_default()).ok_or(Error::RouteNotFound)?;
    Ok(match without_slash(request) {
        Some(there) => there,
        None => {
            let response = html(reference_page(String::new()));
            page.clone().respond(request.headers(), response).await
        }
    })
}

/// `GET /docs/search`: what is found in the pages.
pub(crate) async fn search(
    app: &Arc<App>,
    request: &Request,
    describe: DescribeApi,
) -> Result<Response, Error> {
    let asked = query_pairs(request).into_iter().find(|(name, _)| name == "q");
    let query = asked.map(|(_, text)| text).unwrap_or_default();
    let reference = written(app, describe).await?;
    let page = html(doc_search_page(&query, &reference.index));
    Ok(without_slash(request).unwrap_or(page))
}

/// Redirects from `/docs/` to `/docs`: links of a page are relative to its address.
fn without_slash(request: &Request) -> Option<Response> {
    let path = request.original_uri().path().strip_suffix('/')?;
    let name = path.rsplit('/').next()?;
    let response = Response::builder()
        .status(StatusCode::PERMANENT_REDIRECT)
        .header(header::LOCATION, format!("../{name}"));
    Some(response.finish())
}
