//! The passage of a request: its route, which `routes::route_table` has, and what every response gets.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, future};
use poem::{
    Endpoint, Request, Response,
    http::{HeaderName, HeaderValue, Method, Uri, header},
};
use svctrack_web::{Addresses, DEFAULT_SCRIPT_PATH, DEFAULT_TRACKING_PREFIX, without_version};

use super::{
    dispatch::{Api, Methods, ResourceHandler, ServedMethod},
    path_tree::PathTree,
    served_parts::{NAMES_OF_PAGES, ServerPart, is_page},
};
use crate::{
    app::App,
    bodies::compression::AcceptedCodings,
    error::Error,
    observe::{
        running_request::{RequestStart, RunningRequest},
        trace,
    },
    pages::Pages,
    routes::{self, route_table},
};

/// The routes, by path.
///
/// # Errors
/// When a configured path is one of the service's own.
fn by_path(addresses: &Addresses) -> Result<BTreeMap<String, Methods>, String> {
    let mut paths = route_table::own_paths();
    let (script, prefix) = (addresses.script_path(), addresses.tracking_prefix());
    let (folder, _) = script.rsplit_once('/').unwrap_or_default();
    if is_taken(&paths, folder) || paths.contains_key(script) {
        return Err(format!("script-path: the service has a route of its own at `{script}`"));
    }
    if script != DEFAULT_SCRIPT_PATH && svctrack_web::asset(script).is_some() {
        return Err(format!("script-path: the service has a file of its own at `{script}`"));
    }
    if prefix != DEFAULT_TRACKING_PREFIX {
        if is_taken(&paths, prefix) {
            return Err(format!(
                "tracking-prefix: the service has routes of its own at `{prefix}`"
            ));
        }
        let tracking = paths.clone().into_iter().filter_map(|(path, methods)| {
            let rest = path.strip_prefix(DEFAULT_TRACKING_PREFIX)?;
            Some(([prefix, rest].concat(), methods))
        });
        paths.extend(tracking);
    }
    for path in addresses.files().into_keys() {
        let serve = ResourceHandler::Alone(|app, mut request| {
            Box::pin(async move { routes::static_files::read(app, &mut request).await })
        });
        let methods = vec![(Method::GET, ServedMethod { serve, has_parameters: false })];
        paths.insert(path, methods);
    }
    Ok(paths)
}

/// Whether script and events can have the paths that were chosen.
///
/// # Errors
/// When a path is one of the service's own.
pub(crate) fn check(addresses: &Addresses) -> Result<(), String> {
    by_path(addresses).map(drop)
}

/// Whether there are routes at a path, or below its first name.
fn is_taken(paths: &BTreeMap<String, Methods>, path: &str) -> bool {
    let first = |path: &str| path.split('/').nth(1).map(str::to_owned);
    first(path).is_some_and(|name| {
        NAMES_OF_PAGES.contains(&name.as_str())
            || paths.keys().any(|known| first(known).as_ref() == Some(&name))
    })
}

/// The whole application as one endpoint, which returns a response for every request.
///
/// # Errors
/// When two routes conflict, or a configured path is one of the service's own.
pub fn endpoint(app: &Arc<App>) -> Result<impl Endpoint<Output = Response> + use<>, String> {
    let mut routes = PathTree::default();
    for (path, methods) in by_path(&app.addresses)? {
        let names = methods.iter().map(|(name, _)| name);
        let metrics = app.observe.requests.add_route(&without_version(&path), names);
        routes.add(&path, (methods, metrics))?;
    }
    let api = Arc::new(Api { app: app.clone(), routes });
    let pages = Pages::new(app.clone(), api.clone())?;
    Ok(RequestLayer { app: app.clone(), api, pages })
}

/// Outermost layer of every request: its id, the limits of its address, and the responses of errors.
struct RequestLayer {
    app: Arc<App>,
    api: Arc<Api>,
    pages: Pages,
}

/// Adds the headers of every response.
pub(crate) fn complete(response: &mut Response, request_id: &str) {
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Browsers do not take a response for another type than its own.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// What the error of a call without room for its response adds, where the call may have had an effect.
const IS_PROCESSED: &str = "the call was processed, and there is no room for its response: check its effect before you send it again";

impl RequestLayer {
    /// Whether a person opens an address in a browser, and not a program or the script of a page. Where nothing has the
    /// address, they get a page that says so.
    fn is_opened_by_a_person(&self, request: &Request, for_any_page: bool) -> bool {
        matches!(*request.method(), Method::GET | Method::HEAD)
            && !for_any_page
            && routes::prefers(request, "text/html")
            && !request.headers().contains_key(header::AUTHORIZATION)
            && self.app.parts.have(ServerPart::Pages)
    }

    /// The response, if there is room for it in memory; else an error.
    fn admit(&self, response: Response, is_read: bool, request_id: &str) -> Response {
        let is_page = response.content_type().is_some_and(|kind| kind.starts_with("text/html"));
        self.app.response_budget.admit(response).unwrap_or_else(|error| {
            let error = match is_read {
                true => error,
                false => Error::PartDone(Box::new(error), IS_PROCESSED.to_owned()),
            };
            let error = if is_page { Error::OnPage(Box::new((error, None))) } else { error };
            error.into_response(request_id)
        })
    }
}

impl Endpoint for RequestLayer {
    type Output = Response;

    // Here and below a future that only passes the request on is not `async`: it would hold a copy, of half a KiB, for
    // as long as a response is waited for.
    fn call(&self, mut request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        ignore_slash_at_end(&mut request);
        let (request_id, arrived) =
            (self.app.request_ids.next(), RequestStart::from_request(&request));
        let accepted = AcceptedCodings::from_headers(request.headers());
        let for_any_page = routes::cors::is_for_any_page(&self.app, request.uri().path());
        let is_read = request.method().is_safe();
        let path = request.uri().path();
        let is_file = || self.app.files.contains_key(path);
        let by_a_person = || self.is_opened_by_a_person(&request, for_any_page);
        let (route, served) = match self.app.parts.serve(path, &self.app.addresses, is_file) {
            true if is_page(path) => self.pages.route(request),
            true if by_a_person() && self.api.routes.find(path).is_none() => {
                self.pages.route(request)
            }
            true => self.api.route(request),
            false if by_a_person() => self.pages.route(request),
            false => (None, future::err(Error::RouteNotFound).boxed()),
        };
        let running = RunningRequest::new(&self.app.observe, request_id.clone(), arrived, route);
        let served = AssertUnwindSafe(served).catch_unwind();
        trace::scope(
            request_id,
            served.map(move |served| {
                let panicked = |_| Err(Error::Internal("a handler panicked".to_owned()));
                let served = served.unwrap_or_else(panicked);
                let response =
                    served.unwrap_or_else(|error| error.into_response(running.request_id()));
                let response = self.admit(response, is_read, running.request_id());
                let mut response = self.app.compressions.compress(response, accepted);
                if for_any_page {
                    routes::cors::allow_any_origin(response.headers_mut());
                }
                complete(&mut response, running.request_id());
                running.respond(&mut response);
                Ok(response)
            }),
        )
    }
}

/// `/products/` is `/products` (R50).
fn ignore_slash_at_end(request: &mut Request) {
    let uri = request.uri();
    let Some(path) = uri.path().strip_suffix('/').filter(|path| !path.is_empty()) else { return };
    let path = match uri.query() {
        Some(query) => format!("{path}?{query}").parse(),
        None => path.parse(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path.ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

#[cfg(test)]
mod tests {
    use poem::http::StatusCode;

    use super::*;
    use crate::routing::dispatch::Handler;

    #[tokio::test]
    async fn a_handler_that_panics_gets_a_response() {
        let folder = tempfile::tempdir().unwrap();
        let handler: Handler = |_, _| Box::pin(async { panic!("on purpose") });
        let mut routes = PathTree::default();
        let app = App::for_test(folder.path());
        let metrics = app.observe.requests.add_route("/x", [Method::GET].iter());
        let served = ServedMethod { serve: ResourceHandler::Alone(handler), has_parameters: false };
        routes.add("/x", (vec![(Method::GET, served)], metrics)).unwrap();
        let api = Arc::new(Api { app: app.clone(), routes });
        let pages = Pages::new(app.clone(), api.clone()).unwrap();
        let request = Request::builder().uri("/x".parse().unwrap()).header(header::HOST, "x");
        let response = RequestLayer { app, api, pages }.call(request.finish()).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.headers().contains_key(REQUEST_ID));
    }
}
