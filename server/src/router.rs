//! Every route on one screen, in the order of the contract, and the way of a request through them.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{
    FutureExt as _, TryFutureExt as _,
    future::{self, BoxFuture, Either},
};
use poem::{
    Endpoint, Request, Response, Route,
    http::{HeaderName, HeaderValue, Method},
};
use svctrack_core::{access::OPERATOR, resources::REGISTRY, schema::ResourceDef};
use svctrack_web::{DEFAULT_SCRIPT_PATH, DEFAULT_TRACKING_PREFIX};

use crate::{
    app::App,
    error::Error,
    limits::MAX_URI_BYTES,
    openapi::{
        Access::{Anyone, OfResource, Scope, TenantAsUser},
        Kind, Says,
    },
    routes,
};

/// Handles one request.
type Handler = fn(Arc<App>, Request) -> BoxFuture<'static, Result<Response, Error>>;
/// Handles one request to any resource.
type RecordHandler =
    fn(Arc<App>, Request, &'static ResourceDef) -> BoxFuture<'static, Result<Response, Error>>;

/// A handler, with the resource that it serves.
#[derive(Clone, Copy)]
enum Serve {
    Alone(Handler),
    Record(RecordHandler, &'static ResourceDef),
}

macro_rules! alone {
    ($handler:path) => {
        |app, mut request| Box::pin(async move { $handler(&app, &mut request).await })
    };
}

macro_rules! record {
    ($handler:path) => {
        |app, mut request, def| Box::pin(async move { $handler(&app, &mut request, def).await })
    };
}

/// One route: what it is, for the API's description, and what handles it.
struct RouteDef<H> {
    method: Method,
    path: &'static str,
    says: Says,
    handler: H,
}

/// Writes a route on one line: method, path, who may call it, what it takes and gives, what it does.
macro_rules! route {
    ($method:ident $path:literal, $access:expr, $takes:ident => $gives:ident, $summary:literal, $handler:expr) => {
        RouteDef {
            method: Method::$method,
            path: $path,
            says: Says {
                summary: $summary,
                access: $access,
                takes: Kind::$takes,
                gives: Kind::$gives,
            },
            handler: $handler,
        }
    };
}

/// Routes that every resource has; `*` stands for its name in paths.
#[rustfmt::skip]
static RECORD_ROUTES: &[RouteDef<RecordHandler>] = &[
    route!(POST "/*", OfResource("create"), NewRecord => Record, "Create a record", record!(routes::records::create)),
    route!(GET "/*", OfResource("read"), Nothing => Records, "List records", record!(routes::records::list)),
    route!(PUT "/*", OfResource("update"), Items => BulkAnswer, "Create or change many records", record!(routes::records::upsert)),
    route!(GET "/*/:id", OfResource("read"), Nothing => Record, "Read a record", record!(routes::records::read)),
    route!(PUT "/*/:id", OfResource("update"), Record => Record, "Change a record", record!(routes::records::update)),
    route!(PATCH "/*/:id", OfResource("update"), Record => Record, "Change a record; the same as PUT", record!(routes::records::update)),
    route!(DELETE "/*/:id", OfResource("delete"), Nothing => Deleted, "Delete a record", record!(routes::records::delete)),
];

/// All other routes.
#[rustfmt::skip]
static ROUTES: &[RouteDef<Handler>] = &[
    route!(POST "/analytics/:tenant", Anyone, Event => Ok, "Take in an event", alone!(routes::tracking::realtime)),
    route!(OPTIONS "/analytics/:tenant", Anyone, Nothing => Nothing, "Say that any page may send events", alone!(routes::tracking::preflight)),
    route!(POST "/dock/:pipeline", TenantAsUser, Calls => Ok, "Take in calls of a customer-data pipeline", alone!(routes::tracking::pipeline)),
    route!(OPTIONS "/dock/:pipeline", Anyone, Nothing => Nothing, "Say that any page may send events", alone!(routes::tracking::preflight)),
    route!(POST "/analytics/bulk/:tenant", Anyone, Events => Ok, "Take in many events", alone!(routes::tracking::bulk)),
    route!(OPTIONS "/analytics/bulk/:tenant", Anyone, Nothing => Nothing, "Say that any page may send events", alone!(routes::tracking::preflight)),
    route!(GET "/activities", Scope("activities:read"), Nothing => Activities, "List what users did, newest first", alone!(routes::activities::list)),
    route!(GET "/integrationissues", Scope("reports:read"), Nothing => Report, "List what senders of events should mend, newest first", alone!(routes::integration_issues::list)),
    route!(DELETE "/integrationissues/:id", Scope("admin"), Nothing => Deleted, "Remove an entry of the report", alone!(routes::integration_issues::delete)),
    route!(POST "/integrationissues/:id/replay", Scope("admin"), Nothing => Object, "Let the events go on that wait behind an entry", alone!(routes::integration_issues::replay)),
    route!(GET "/activities/stream", Scope("activities:read"), Nothing => Stream, "Hear what users do, as it is stored", alone!(routes::activity_stream::listen)),
    route!(GET "/endusers/:id/export", Scope("endusers:read"), Nothing => Export, "Give everything that is known of a person", alone!(routes::people::export)),
    route!(POST "/endusers/unsuppress", Scope("admin"), Keys => Object, "Let people back who were erased", alone!(routes::people::unsuppress)),
    route!(GET "/leancompanies", Scope("companies:read"), Nothing => Objects, "List companies by the ids of other systems", alone!(routes::lean_companies::list)),
    route!(POST "/tokens", Scope("admin"), NewToken => Token, "Issue a token", alone!(routes::tokens::create)),
    route!(GET "/tokens", Scope("admin"), Nothing => Objects, "List tokens", alone!(routes::tokens::list)),
    route!(DELETE "/tokens/:id", Scope("admin"), Nothing => Deleted, "Revoke a token", alone!(routes::tokens::revoke)),
    route!(GET "/settings", Scope("admin"), Nothing => Settings, "Read how the service works for the tenant", alone!(routes::settings::read)),
    route!(PUT "/settings", Scope("admin"), Settings => Settings, "Change how the service works for the tenant", alone!(routes::settings::update)),
    route!(PATCH "/settings", Scope("admin"), Settings => Settings, "Change settings; the same as PUT", alone!(routes::settings::update)),
    route!(POST "/tenants", Scope(OPERATOR), NewTenant => Tenant, "Make a tenant, with its first token", alone!(routes::tenants::create)),
    route!(GET "/tenants", Scope(OPERATOR), Nothing => Objects, "List tenants", alone!(routes::tenants::list)),
    route!(GET "/backup", Scope(OPERATOR), Nothing => Archive, "Give all that is stored, of every tenant, as one file", alone!(routes::backup::download)),
    route!(GET "/openapi.json", Anyone, Nothing => Object, "Describe this API", alone!(routes::pages::openapi)),
    route!(GET "/docs", Anyone, Nothing => Page, "Show this description, and try calls", alone!(routes::pages::docs)),
    route!(GET "/demo", Anyone, Nothing => Page, "Show the snippet in use", alone!(routes::pages::demo)),
    route!(GET "/health", Anyone, Nothing => Health, "Say how the service is", alone!(routes::health::health)),
];

/// Every route with its path as the API writes it, for the API's description.
pub(crate) fn described() -> Vec<(Method, String, Says, Option<&'static ResourceDef>)> {
    let alone = ROUTES.iter().map(|route| {
        let of = REGISTRY.iter().find(|def| route.path.split('/').nth(1) == Some(def.path));
        (route.method.clone(), route.path.to_owned(), route.says, of.copied())
    });
    let of_records = REGISTRY.iter().flat_map(|def| {
        RECORD_ROUTES.iter().map(|route| {
            let path = route.path.replacen('*', def.path, 1);
            (route.method.clone(), path, route.says, Some(*def))
        })
    });
    of_records.chain(alone).collect()
}

type Methods = Vec<(Method, Serve)>;

/// The routes, by path.
///
/// # Errors
/// When a path that was chosen is one of the service's own.
fn by_path(app: &App) -> Result<BTreeMap<String, Methods>, String> {
    let mut paths = own_paths();
    let (script, prefix) = (app.addresses.script_path(), app.addresses.tracking_prefix());
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
    for path in app.files.keys() {
        let methods = vec![(Method::GET, Serve::Alone(alone!(routes::files::read)))];
        paths.insert(path.clone(), methods);
    }
    Ok(paths)
}

/// Whether there are routes at a path, or below its first name.
fn is_taken(paths: &BTreeMap<String, Methods>, path: &str) -> bool {
    let first = |path: &str| path.split('/').nth(1).map(str::to_owned);
    first(path).is_some_and(|name| paths.keys().any(|known| first(known).as_ref() == Some(&name)))
}

/// The routes at the paths that they always have.
fn own_paths() -> BTreeMap<String, Methods> {
    let mut paths: BTreeMap<String, Methods> = BTreeMap::new();
    for route in ROUTES {
        let serve = (route.method.clone(), Serve::Alone(route.handler));
        paths.entry(route.path.to_owned()).or_default().push(serve);
    }
    for def in REGISTRY {
        for route in RECORD_ROUTES {
            let path = route.path.replacen('*', def.path, 1);
            let serve = (route.method.clone(), Serve::Record(route.handler, def));
            paths.entry(path).or_default().push(serve);
        }
    }
    paths
}

/// The whole application as one endpoint, which answers every request with a response.
///
/// # Errors
/// When two routes cannot stand beside each other, or a path that was chosen is one of the service's own.
pub fn endpoint(app: &Arc<App>) -> Result<impl Endpoint<Output = Response> + use<>, String> {
    let mut router = Route::new();
    for (path, methods) in by_path(app)? {
        let ends = PathEndpoint { app: app.clone(), methods };
        router = router.try_at(&path, ends).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(Outermost { app: app.clone(), router })
}

/// What every request passes: an id, the limits of its address, and the way back for errors.
struct Outermost<R> {
    app: Arc<App>,
    router: R,
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl<R: Endpoint<Output = Response>> Endpoint for Outermost<R> {
    type Output = Response;

    // Here and below no future is `async` that only hands the request on: it would hold a copy, of half a KiB, for as
    // long as an answer is waited for.
    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let request_id = self.app.request_ids.next();
        let for_any_page = routes::tracking::is_for_any_page(&self.app, request.uri().path());
        let served = AssertUnwindSafe(self.serve(request)).catch_unwind();
        served.map(move |served| {
            let panicked = |_| Err(Error::Internal("a handler panicked".to_owned()));
            let served = served.unwrap_or_else(panicked);
            let mut response = served.unwrap_or_else(|error| error.into_response(&request_id));
            if for_any_page {
                routes::tracking::allow_any_origin(response.headers_mut());
            }
            if let Ok(value) = HeaderValue::try_from(request_id) {
                response.headers_mut().insert(REQUEST_ID, value);
            }
            Ok(response)
        })
    }
}

impl<R: Endpoint<Output = Response>> Outermost<R> {
    fn serve(&self, request: Request) -> impl Future<Output = Result<Response, Error>> + Send {
        let uri = request.uri();
        if uri.path().len() + uri.query().map_or(0, str::len) > MAX_URI_BYTES {
            return Either::Left(future::err(Error::UriTooLong));
        }
        // Nothing of it is done before it is polled, where a panic is caught.
        let answered =
            self.router.call(request).map_err(|error| match error.downcast::<Failure>() {
                Ok(Failure(error)) => error,
                Err(_) => Error::RouteNotFound,
            });
        Either::Right(answered)
    }
}

/// Carries an error through the router, which knows only its own kind.
#[derive(Debug, thiserror::Error)]
#[error("a request failed")]
struct Failure(Error);

impl Failure {
    fn carry(error: Error) -> poem::Error {
        poem::Error::new(Self(error), poem::http::StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The methods of one path.
struct PathEndpoint {
    app: Arc<App>,
    methods: Methods,
}

impl Endpoint for PathEndpoint {
    type Output = Response;

    fn call(&self, request: Request) -> impl Future<Output = poem::Result<Response>> + Send {
        let method = match *request.method() {
            Method::HEAD => &Method::GET, // The HTTP layer leaves the body out.
            ref other => other,
        };
        let app = self.app.clone();
        let answered = match self.methods.iter().find(|(known, _)| known == method) {
            Some((_, Serve::Alone(handler))) => handler(app, request),
            Some((_, Serve::Record(handler, def))) => handler(app, request, def),
            None => future::err(Error::MethodNotAllowed(self.allow())).boxed(),
        };
        answered.map_err(Failure::carry)
    }
}

impl PathEndpoint {
    fn allow(&self) -> String {
        self.methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use poem::{endpoint::make_sync, http::StatusCode};

    use super::*;

    #[tokio::test]
    async fn a_handler_that_panics_is_answered_for() {
        let folder = tempfile::tempdir().unwrap();
        let router = make_sync(|_| -> Response { panic!("on purpose") });
        let endpoint = Outermost { app: App::for_test(folder.path()), router };
        let answer = endpoint.call(Request::default()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.headers().contains_key(REQUEST_ID));
    }
}
