//! The pages, and the description of the API.

use poem::{
    Body, Request, Response,
    http::{HeaderValue, header},
};
use svctrack_core::value::{TenantId, ValidationError, quoted::quoted};
use svctrack_web::{Addresses, DemoTenant, Page, SnippetScript};

use super::{
    query_parameters::query_pairs,
    respond::{json, json_body},
};
use crate::{
    app::{App, DescribeApi},
    error::Error,
    pages::respond,
    script_info::to_json,
};

/// `GET /script.json`: snippet, policy and files of the script, as `svctrack script` prints them (D13).
pub(crate) async fn script(app: &App, request: &mut Request) -> Result<Response, Error> {
    let (mut tenant, mut loads) = (None, SnippetScript::Newest);
    for (name, text) in query_pairs(request) {
        match (name.as_str(), text.as_str()) {
            ("tenant", text) => {
                let id = TenantId::parse(text).ok_or(Error::TenantNotFound)?;
                let is_there = app.store.has_tenant(id).await?;
                tenant = Some(is_there.then_some(id).ok_or(Error::TenantNotFound)?);
            }
            ("pinned", "true") => loads = SnippetScript::ThisVersion,
            ("pinned", "false") => loads = SnippetScript::Newest,
            ("pinned", other) => {
                let message =
                    format!("`pinned` must be `true` or `false`; found {}", quoted(other));
                let issue = ValidationError::of_member("pinned", "invalid_value", message);
                return Err(Error::BadRequest(vec![issue]));
            }
            _ => {}
        }
    }
    Ok(json(to_json(&app.addresses, tenant, loads).to_string()))
}

/// `GET /openapi.json`: description of this API.
pub(crate) async fn openapi(
    app: &App,
    request: &Request,
    describe: DescribeApi,
) -> Result<Response, Error> {
    let text = app.texts.description(only_tenant(app).await?, &app.addresses, describe);
    Ok(text.respond(request.headers(), json_body(Body::empty())).await)
}

/// The tenant, where there is exactly one.
async fn only_tenant(app: &App) -> Result<Option<TenantId>, Error> {
    Ok(match app.store.tenants(2).await?.as_slice() {
        [only] => Some(only.id),
        _ => None,
    })
}

/// `GET /demo`: the snippet in use. The tenant is that of the query, else the only one.
pub(crate) async fn demo(app: &App, request: &mut Request) -> Result<Response, Error> {
    let asked = query_pairs(request).into_iter().find(|(name, _)| name == "tenant");
    let tenant = match &asked {
        Some((_, text)) => match TenantId::parse(text) {
            Some(id) => app.store.has_tenant(id).await?.then_some(id),
            None => None,
        },
        None => only_tenant(app).await?,
    };
    let tenant = tenant.map(|tenant| tenant.to_string());
    let shown = match (&tenant, asked) {
        (Some(tenant), _) => DemoTenant::Known(tenant),
        (None, Some(_)) => DemoTenant::Unknown,
        (None, None) => DemoTenant::NotAsked,
    };
    let own = own_addresses(app, request);
    Ok(html(svctrack_web::demo_page(&app.addresses, own.as_ref(), shown)))
}

/// Addresses of the server for a page that is visited under another name than the public one, such as the listen
/// address: the public one may not be reachable yet.
fn own_addresses(app: &App, request: &Request) -> Option<Addresses> {
    let host = request.headers().get(header::HOST)?.to_str().ok()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let is_public =
        app.addresses.origin().split_once("://").is_some_and(|(_, known)| known == host);
    let is_other = !host.is_empty() && host.bytes().all(is_plain) && !is_public;
    is_other.then(|| Addresses::new(&format!("http://{host}")))
}

/// A page that is the same for all callers.
pub(super) async fn lasting(
    app: &App,
    request: &Request,
    (name, page): (&'static str, Page),
) -> Response {
    let Page { html: text, csp } = page;
    let response = html(Page { html: String::new(), csp });
    app.texts.page(name, text).respond(request.headers(), response).await
}

/// Response with a page. It is not cached, since it belongs to this version of its files.
pub(super) fn html(page: Page) -> Response {
    let mut response = respond::html(page);
    let none = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::REFERRER_POLICY, none);
    response
}
