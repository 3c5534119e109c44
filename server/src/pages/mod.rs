//! Pages of the web application. Each handler calls the API, in this process, for the signed-in user, fills a plain
//! struct of `svctrack_web::pages`, and sends its HTML: a page can show and do only what the API allows.

mod activity;
mod api;
mod audit;
mod by_ids;
mod closings;
mod columns;
mod company_sections;
mod currencies;
mod customers;
mod demo;
mod downloads;
mod erasure;
mod excluded_licenses;
mod explained_usage;
mod explanation;
mod health;
mod home;
mod import;
mod issues;
mod list_query;
mod live;
mod newest;
mod paging;
mod person_sections;
mod rates;
mod ratios;
mod records;
mod references;
mod renewals;
mod report_choices;
mod report_names;
mod reports;
pub(crate) mod respond;
mod save_record;
mod save_view;
mod saved_views;
mod search;
mod sections_by_resource;
mod settings;
mod setup;
mod sign_in;
mod submitted_form;
mod tenants;
mod tickets;
mod timesheets;
mod tokens;
mod visit;

use std::sync::Arc;

use self::visit::Visit;
use crate::{
    app::App,
    auth::{csrf, session},
    connection::request_head,
    error::Error,
    observe::request_metrics::RouteMetrics,
    routes::query_pairs,
    routing::{
        dispatch::{Api, HandlerFuture, RoutedResponse},
        path_tree::{PathTree, RoutedRequest},
    },
};
use futures_util::{FutureExt as _, TryFutureExt as _, future};
use poem::{Request, Response, http::Method};
use svctrack_core::schema::UnknownParameter;

/// Serves a page to any client, signed in or not.
type PublicPage = for<'a> fn(&'a Arc<App>, RoutedRequest<'a>) -> HandlerFuture<'a>;
/// Serves a page to a signed-in user.
type SignedInPage = for<'a> fn(Visit, RoutedRequest<'a>) -> HandlerFuture<'a>;

type Methods = &'static [(Method, PageHandler)];

#[derive(Clone, Copy)]
enum PageHandler {
    Anyone(PublicPage),
    /// With the parameters of its address, where all of them are known by name.
    SignedIn(SignedInPage, Option<&'static [&'static str]>),
}

macro_rules! open {
    ($handler:path) => {
        PageHandler::Anyone(|app, request| Box::pin(async move { $handler(app, request).await }))
    };
}

macro_rules! closed {
    ($handler:path) => {
        closed!($handler, None)
    };
    ($handler:path, $parameters:expr) => {
        PageHandler::SignedIn(
            |visit, request| Box::pin(async move { $handler(visit, request).await }),
            $parameters,
        )
    };
}

/// Every page: its path, and its handler by method.
#[rustfmt::skip]
const PAGES: &[(&str, Methods)] = &[
    ("/", &[(Method::GET, closed!(home::home))]),
    ("/sign-in", &[(Method::GET, open!(sign_in::show)), (Method::POST, open!(sign_in::sign_in))]),
    ("/sign-out", &[(Method::POST, closed!(sign_in::sign_out))]),
    ("/app", &[(Method::GET, open!(home::lead))]),
    ("/app/live", &[(Method::GET, closed!(live::live, Some(live::PARAMETERS)))]),
    ("/app/live/stream", &[(Method::GET, closed!(live::stream))]),
    ("/app/search", &[(Method::GET, closed!(search::search, Some(&["q"])))]),
    ("/app/suggestions/:resource", &[(Method::GET, closed!(references::suggestions))]),
    ("/app/records/endusers/:id/erase", &[(Method::POST, closed!(erasure::erase))]),
    ("/app/customers", &[(Method::GET, closed!(customers::customers, Some(customers::PARAMETERS)))]),
    ("/app/customers/views", &[(Method::POST, closed!(save_view::save_customers))]),
    ("/app/reports/:kind", &[(Method::GET, closed!(reports::report))]),
    ("/app/reports/:kind/explain", &[(Method::GET, closed!(explanation::explain))]),
    ("/app/files/:resource", &[(Method::GET, closed!(downloads::file))]),
    ("/app/files/reports/:kind", &[(Method::GET, closed!(downloads::file))]),
    ("/app/files/endusers/:id/export", &[(Method::GET, closed!(downloads::file))]),
    ("/app/records/:resource", &[(Method::GET, closed!(records::list))]),
    ("/app/records/:resource/new", &[(Method::GET, closed!(records::new)), (Method::POST, closed!(records::create))]),
    ("/app/records/:resource/views", &[(Method::POST, closed!(save_view::save))]),
    ("/app/records/:resource/:id", &[(Method::GET, closed!(records::show))]),
    ("/app/records/:resource/:id/edit", &[(Method::GET, closed!(records::edit)), (Method::POST, closed!(records::update))]),
    ("/app/records/:resource/:id/delete", &[(Method::POST, closed!(records::delete))]),
    ("/app/setup", &[(Method::GET, closed!(setup::setup))]),
    ("/app/issues", &[(Method::GET, closed!(issues::issues, Some(issues::PARAMETERS)))]),
    ("/app/issues/:id/replay", &[(Method::POST, closed!(issues::replay))]),
    ("/app/issues/:id/remove", &[(Method::POST, closed!(issues::remove))]),
    ("/app/audit", &[(Method::GET, closed!(audit::audit, Some(audit::PARAMETERS)))]),
    ("/app/tokens", &[(Method::GET, closed!(tokens::tokens))]),
    ("/app/tokens/new", &[(Method::GET, closed!(tokens::new)), (Method::POST, closed!(tokens::issue))]),
    ("/app/tokens/:id", &[(Method::GET, closed!(tokens::token))]),
    ("/app/tokens/:id/rotate", &[(Method::POST, closed!(tokens::rotate))]),
    ("/app/tokens/:id/revoke", &[(Method::POST, closed!(tokens::revoke))]),
    ("/app/demo", &[(Method::GET, closed!(demo::show)), (Method::POST, closed!(demo::create))]),
    ("/app/demo/open", &[(Method::POST, closed!(demo::open))]),
    ("/app/demo/leave", &[(Method::POST, closed!(demo::leave))]),
    ("/app/demo/delete", &[(Method::POST, closed!(demo::delete))]),
    ("/app/settings", &[(Method::GET, closed!(settings::settings)), (Method::POST, closed!(settings::save))]),
    ("/app/settings/rates", &[(Method::GET, closed!(rates::show)), (Method::POST, closed!(rates::save))]),
    ("/app/health", &[(Method::GET, closed!(health::health))]),
    ("/app/backup", &[(Method::GET, closed!(health::backup))]),
    ("/app/tenants", &[(Method::GET, closed!(tenants::tenants)), (Method::POST, closed!(tenants::create))]),
    ("/app/tenants/:id", &[(Method::GET, closed!(tenants::tenant))]),
    ("/app/tenants/:id/rename", &[(Method::POST, closed!(tenants::rename))]),
    ("/app/tenants/:id/suspend", &[(Method::POST, closed!(tenants::suspend))]),
    ("/app/tenants/:id/delete", &[(Method::POST, closed!(tenants::delete))]),
    ("/app/renewals", &[(Method::GET, closed!(renewals::renewals, Some(renewals::PARAMETERS)))]),
    ("/app/licenses/:id/renew", &[(Method::GET, closed!(renewals::show_renewal)), (Method::POST, closed!(renewals::renew))]),
    ("/app/licenses/:id/lose", &[(Method::GET, closed!(renewals::show_loss)), (Method::POST, closed!(renewals::lose))]),
    ("/app/timesheets", &[(Method::GET, closed!(timesheets::list, Some(timesheets::PARAMETERS))), (Method::POST, closed!(timesheets::decide))]),
    ("/app/tickets", &[(Method::GET, closed!(tickets::list, Some(tickets::PARAMETERS)))]),
    ("/app/tickets/:id", &[(Method::GET, closed!(tickets::show)), (Method::POST, closed!(tickets::update))]),
    ("/app/import/:resource", &[(Method::GET, closed!(import::show)), (Method::POST, closed!(import::import))]),
    ("/app/closings", &[(Method::GET, closed!(closings::list, Some(closings::PARAMETERS))), (Method::POST, closed!(closings::close))]),
    ("/app/closings/:month/reopen", &[(Method::POST, closed!(closings::reopen))]),
];

/// The pages, over the API.
pub(crate) struct Pages {
    app: Arc<App>,
    api: Arc<Api>,
    routes: PathTree<(Methods, Arc<RouteMetrics>)>,
}

impl Pages {
    /// # Errors
    /// When two of them have the same path.
    pub(crate) fn new(app: Arc<App>, api: Arc<Api>) -> Result<Self, String> {
        let mut routes = PathTree::default();
        for (path, methods) in PAGES {
            let names = methods.iter().map(|(name, _)| name);
            let metrics = app.observe.requests.add_route(path, names);
            routes.add(path, (*methods, metrics))?;
        }
        Ok(Self { app, api, routes })
    }

    /// Serves a request to a page. An error is a page as well.
    pub(crate) fn route(&self, request: Request) -> RoutedResponse<'_> {
        // A malformed request comes from no browser.
        if let Err(error) = request_head::check(&request) {
            return (None, future::err(error).boxed());
        }
        let Some((pattern, (methods, metrics))) = self.routes.find(request.uri().path()) else {
            return (None, no_page(self.app.clone(), self.api.clone(), request).boxed());
        };
        let served = served_page(&request, methods);
        let is_opened = matches!(*request.method(), Method::GET | Method::HEAD);
        if is_opened && matches!(served, Err(Error::MethodNotAllowed(_))) {
            let above = respond::see(self.page_above(request.uri().path()));
            return (Some(metrics), future::ok(above).boxed());
        }
        let request = RoutedRequest { request, pattern };
        let handled = match served {
            Ok(PageHandler::Anyone(handler)) => {
                handler(&self.app, request).map_err(|error| on_page(error, None)).boxed()
            }
            Ok(PageHandler::SignedIn(handler, parameters)) => {
                let (app, api) = (self.app.clone(), self.api.clone());
                signed_in(app, api, (handler, parameters), request).boxed()
            }
            Err(error) => future::err(on_page(error, None)).boxed(),
        };
        (Some(metrics), handled)
    }

    /// The nearest page above an address that takes only a form: a browser that opens it again is led there.
    fn page_above<'p>(&self, path: &'p str) -> &'p str {
        let above = std::iter::successors(Some(path), |path| Some(path.rsplit_once('/')?.0));
        let is_page = |path: &&str| {
            let found = self.routes.find(path);
            found.is_some_and(|(_, (methods, _))| {
                methods.iter().any(|(name, _)| name == Method::GET)
            })
        };
        above.skip(1).filter(|path| !path.is_empty()).find(is_page).unwrap_or("/")
    }
}

/// Handler of a request to a page.
fn served_page(request: &Request, methods: Methods) -> Result<PageHandler, Error> {
    let method = match *request.method() {
        Method::HEAD => &Method::GET,
        ref other => other,
    };
    if method != Method::GET && !csrf::is_from_own_page(request.headers()) {
        return Err(Error::CrossSite);
    }
    let serve = methods.iter().find(|(known, _)| known == method).map(|(_, serve)| *serve);
    serve.ok_or_else(|| Error::MethodNotAllowed(allow(methods)))
}

fn allow(methods: Methods) -> String {
    methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
}

async fn signed_in(
    app: Arc<App>,
    api: Arc<Api>,
    (handler, parameters): (SignedInPage, Option<&[&str]>),
    request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let session = session::of_request(&app, &request).await;
    let Some(session) = session.map_err(|error| on_page(error, None))? else {
        return Ok(sign_in::lead(&request));
    };
    let path = request.uri().path().to_owned();
    let visit = Visit::new(app, api, session, path).await;
    let visit = visit.map_err(|error| on_page(error, None))?;
    let shell = visit.shell.clone();
    if let Some(known) = parameters {
        check_parameters(&request, known).map_err(|error| on_page(error, Some(shell.clone())))?;
    }
    handler(visit, request).await.map_err(|error| on_page(error, Some(shell)))
}

/// Rejects an address that no page has; a signed-in user keeps the menu.
async fn no_page(app: Arc<App>, api: Arc<Api>, request: Request) -> Result<Response, Error> {
    let path = request.uri().path().to_owned();
    let session = session::of_request(&app, &request).await.ok().flatten();
    let shell = match session {
        Some(session) => Visit::new(app, api, session, path).await.ok().map(|visit| visit.shell),
        None => None,
    };
    Err(on_page(Error::RouteNotFound, shell))
}

/// Rejects an address with a parameter that the page does not have: what it shows would not be what was asked for.
fn check_parameters(request: &Request, known: &[&str]) -> Result<(), Error> {
    let is_unknown =
        |(name, value): &(String, String)| !value.is_empty() && !known.contains(&name.as_str());
    match query_pairs(request).into_iter().find(is_unknown) {
        Some((name, _)) => {
            let unknown = UnknownParameter::among(&name, known.iter().copied());
            Err(Error::BadRequest(vec![unknown.issue()]))
        }
        None => Ok(()),
    }
}

fn on_page(error: Error, shell: Option<svctrack_web::pages::Shell>) -> Error {
    Error::OnPage(Box::new((error, shell)))
}
