//! The pages, and the description of the API.

use poem::{Request, Response, http::header};
use svctrack_core::value::TenantId;
use svctrack_web::{DemoTenant, Page};

use super::{json, query_pairs};
use crate::{app::App, error::Error, openapi};

/// `GET /openapi.json`: the description of this API.
pub(crate) async fn openapi(app: &App, _: &mut Request) -> Result<Response, Error> {
    Ok(json(openapi::document(app.addresses.base_url()).to_string()))
}

/// `GET /demo`: the snippet in use. The tenant is that of the query, else the only one there is.
pub(crate) async fn demo(app: &App, request: &mut Request) -> Result<Response, Error> {
    let asked = query_pairs(request).into_iter().find(|(name, _)| name == "tenant");
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
    Ok(html(svctrack_web::demo_page(&app.addresses, shown)))
}

/// `GET /docs`: the description of this API for people, who can try its calls there.
pub(crate) async fn docs(app: &App, _: &mut Request) -> Result<Response, Error> {
    Ok(html(svctrack_web::docs_page(&app.addresses)))
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
