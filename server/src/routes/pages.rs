//! The script's files and the pages.

use poem::{
    Request, Response,
    http::{HeaderMap, StatusCode, header},
};
use svctrack_core::value::TenantId;
use svctrack_web::{DemoTenant, Page};

use super::{json, query_pairs, tracking::allow_any_origin};
use crate::{app::App, error::Error, openapi};

/// `GET /svctrack.js` and the other files that a browser loads; any page may load them.
pub(crate) async fn asset(_: &App, request: Request) -> Result<Response, Error> {
    let asset = svctrack_web::asset(request.uri().path()).ok_or(Error::RouteNotFound)?;
    let packed = accepts_gzip(request.headers());
    // The two forms of a file differ byte for byte, so each has a tag of its own.
    let form = if packed { "-gzip\"" } else { "\"" };
    let etag = format!("{}{form}", asset.etag.trim_end_matches('"'));
    let mut response = Response::builder()
        .content_type(asset.content_type)
        .header(header::ETAG, etag.as_str())
        .header(header::CACHE_CONTROL, "public, no-cache")
        .header(header::VARY, "Accept-Encoding")
        .header("X-Content-Type-Options", "nosniff")
        .header("Cross-Origin-Resource-Policy", "cross-origin");
    if packed {
        response = response.header(header::CONTENT_ENCODING, "gzip");
    }
    let mut response = response.body(if packed { asset.gzip } else { asset.bytes });
    allow_any_origin(response.headers_mut());
    if is_known(request.headers(), &etag) {
        response.set_status(StatusCode::NOT_MODIFIED);
        response.set_body(());
    }
    Ok(response)
}

/// `GET /openapi.json`: the description of this API.
pub(crate) async fn openapi(app: &App, _: Request) -> Result<Response, Error> {
    Ok(json(openapi::document(&app.public_url).to_string()))
}

/// `GET /demo`: the snippet in use. The tenant is that of the query, else the only one there is.
pub(crate) async fn demo(app: &App, request: Request) -> Result<Response, Error> {
    let asked = query_pairs(&request).into_iter().find(|(name, _)| name == "tenant");
    let tenant = match &asked {
        Some((_, text)) => match TenantId::parse(text) {
            Some(id) => app.store.has_tenant(id)?.then_some(id),
            None => None,
        },
        None => match app.store.tenants(2)?.as_slice() {
            [only] => Some(only.id),
            _ => None,
        },
    };
    let tenant = tenant.map(|tenant| tenant.to_string());
    let shown = match (&tenant, asked) {
        (Some(tenant), _) => DemoTenant::Known(tenant),
        (None, Some(_)) => DemoTenant::Unknown,
        (None, None) => DemoTenant::NotAsked,
    };
    Ok(html(svctrack_web::demo_page(&app.public_url, shown)))
}

/// `GET /docs`: the description of this API for people, who can try its calls there.
pub(crate) async fn docs(app: &App, _: Request) -> Result<Response, Error> {
    Ok(html(svctrack_web::docs_page(&app.public_url)))
}

fn html(page: Page) -> Response {
    Response::builder()
        .content_type("text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, page.csp)
        .header(header::CACHE_CONTROL, "no-store")
        .header("X-Content-Type-Options", "nosniff")
        .header("Referrer-Policy", "no-referrer")
        .body(page.html)
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|list| {
        list.split(',').any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            name.trim().eq_ignore_ascii_case("gzip") && weight.trim() != "q=0"
        })
    })
}

fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|list| list.split(',').any(|known| known.trim() == etag))
}
