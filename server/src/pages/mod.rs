//! The pages of the web application. Each handler asks the API, in this process, for who is signed in, fills a plain
//! struct of `svctrack_web::pages`, and sends its HTML: a page can show and do nothing that the API would not.

mod api;
mod by_ids;
mod closings;
mod customers;
mod forms;
mod home;
mod import;
mod records;
mod renewals;
mod reports;
mod sign_in;
mod tickets;
mod timesheets;
mod visit;

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use poem::{
    Endpoint, Request, Response, Route,
    endpoint::BoxEndpoint,
    http::{HeaderValue, Method, StatusCode, header},
};
use svctrack_web::Page;

use self::visit::Visit;
use crate::{app::App, auth::session, error::Error, router::Failure};

pub(crate) use self::sign_in::OneTimeLink;

/// The API, as one endpoint.
pub(crate) type ApiEndpoint = Arc<BoxEndpoint<'static, Response>>;

/// Serves a page to anyone.
type Open = fn(Arc<App>, Request) -> BoxFuture<'static, Result<Response, Error>>;
/// Serves a page to somebody who is signed in.
type Closed = fn(Visit, Request) -> BoxFuture<'static, Result<Response, Error>>;

#[derive(Clone, Copy)]
enum Serve {
    Anyone(Open),
    SignedIn(Closed),
}

macro_rules! open {
    ($handler:path) => {
        Serve::Anyone(|app, request| Box::pin(async move { $handler(&app, request).await }))
    };
}

macro_rules! closed {
    ($handler:path) => {
        Serve::SignedIn(|visit, request| Box::pin(async move { $handler(visit, request).await }))
    };
}

/// Every page: its path, and what handles it by method.
#[rustfmt::skip]
const PAGES: &[(&str, &[(Method, Serve)])] = &[
    ("/", &[(Method::GET, closed!(home::home))]),
    ("/sign-in", &[(Method::GET, open!(sign_in::show)), (Method::POST, open!(sign_in::sign_in))]),
    ("/sign-out", &[(Method::POST, closed!(sign_in::sign_out))]),
    ("/app/customers", &[(Method::GET, closed!(customers::customers))]),
    ("/app/reports/:kind", &[(Method::GET, closed!(reports::report))]),
    ("/app/files/*path", &[(Method::GET, closed!(reports::file))]),
    ("/app/records/:resource", &[(Method::GET, closed!(records::list))]),
    ("/app/records/:resource/new", &[(Method::GET, closed!(records::new)), (Method::POST, closed!(records::create))]),
    ("/app/records/:resource/:id", &[(Method::GET, closed!(records::show))]),
    ("/app/records/:resource/:id/edit", &[(Method::GET, closed!(records::edit)), (Method::POST, closed!(records::update))]),
    ("/app/records/:resource/:id/delete", &[(Method::POST, closed!(records::delete))]),
    ("/app/renewals", &[(Method::GET, closed!(renewals::renewals))]),
    ("/app/licenses/:id/renew", &[(Method::GET, closed!(renewals::show_renewal)), (Method::POST, closed!(renewals::renew))]),
    ("/app/licenses/:id/lose", &[(Method::GET, closed!(renewals::show_loss)), (Method::POST, closed!(renewals::lose))]),
    ("/app/timesheets", &[(Method::GET, closed!(timesheets::list)), (Method::POST, closed!(timesheets::decide))]),
    ("/app/tickets", &[(Method::GET, closed!(tickets::list))]),
    ("/app/tickets/:id", &[(Method::GET, closed!(tickets::show)), (Method::POST, closed!(tickets::update))]),
    ("/app/import/:resource", &[(Method::GET, closed!(import::show)), (Method::POST, closed!(import::import))]),
    ("/app/closings", &[(Method::GET, closed!(closings::list)), (Method::POST, closed!(closings::close))]),
    ("/app/closings/:month/reopen", &[(Method::POST, closed!(closings::reopen))]),
    ("/app/*rest", &[]),
];

/// The first names of the paths of pages.
pub(crate) const FIRST_NAMES: &[&str] = &["app", "sign-in", "sign-out"];

/// Whether a path is that of a page.
pub(crate) fn is_page(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    first.is_empty() || FIRST_NAMES.contains(&first)
}

/// The pages, over the API.
///
/// # Errors
/// When two of them have the same path.
pub(crate) fn endpoint(app: &Arc<App>, api: &ApiEndpoint) -> Result<Route, String> {
    let mut route = Route::new();
    for (path, methods) in PAGES {
        let page = PageEndpoint { app: app.clone(), api: api.clone(), methods };
        route = route.try_at(*path, page).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(route)
}

/// The methods of a page.
struct PageEndpoint {
    app: Arc<App>,
    api: ApiEndpoint,
    methods: &'static [(Method, Serve)],
}

impl Endpoint for PageEndpoint {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let method = match *request.method() {
            Method::HEAD => &Method::GET,
            ref other => other,
        };
        let serve = self.methods.iter().find(|(known, _)| known == method).map(|(_, serve)| *serve);
        let is_changing = method != Method::GET;
        if is_changing && !session::is_from_own_page(request.headers()) {
            return Err(on_page(Error::CrossSite, None));
        }
        match serve {
            Some(Serve::Anyone(handler)) => {
                handler(self.app.clone(), request).await.map_err(|error| on_page(error, None))
            }
            Some(Serve::SignedIn(handler)) => self.signed_in(handler, request).boxed().await,
            None if self.methods.is_empty() => Err(on_page(Error::RouteNotFound, None)),
            None => Err(on_page(Error::MethodNotAllowed(self.allow()), None)),
        }
    }
}

impl PageEndpoint {
    async fn signed_in(&self, handler: Closed, request: Request) -> poem::Result<Response> {
        let session = session::of_request(&self.app, &request).await;
        let Some(session) = session.map_err(|error| on_page(error, None))? else {
            return Ok(sign_in::lead(&request));
        };
        let path = request.uri().path().to_owned();
        let visit = Visit::new(self.app.clone(), self.api.clone(), session, path).await;
        let visit = visit.map_err(|error| on_page(error, None))?;
        let shell = visit.shell.clone();
        handler(visit, request).await.map_err(|error| on_page(error, Some(shell)))
    }

    fn allow(&self) -> String {
        self.methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn on_page(error: Error, shell: Option<svctrack_web::pages::Shell>) -> poem::Error {
    Failure::carry(Error::OnPage(Box::new((error, shell))))
}

/// A page as it is sent: it belongs to one reader, so nobody caches it.
pub(crate) fn html(page: Page) -> Response {
    Response::builder()
        .content_type("text/html; charset=utf-8")
        .header(header::CONTENT_SECURITY_POLICY, page.csp)
        .header(header::CACHE_CONTROL, "no-store")
        .header("Cross-Origin-Opener-Policy", "same-origin")
        .header("Cross-Origin-Resource-Policy", "same-origin")
        .header(header::REFERRER_POLICY, "same-origin")
        .header(
            "Permissions-Policy",
            "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        )
        .body(page.html)
}

/// The same, for a form that was rejected.
fn rejected(page: Page) -> Response {
    let mut response = html(page);
    response.set_status(StatusCode::UNPROCESSABLE_ENTITY);
    response
}

/// Leads to another page after something was done.
fn see(path: &str) -> Response {
    let mut response = Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(header::CACHE_CONTROL, "no-store")
        .finish();
    if let Ok(path) = HeaderValue::try_from(path) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}
