//! From a request to the handler of its route.

use std::sync::Arc;

use futures_util::{
    FutureExt as _, TryFutureExt as _,
    future::{self, BoxFuture},
};
use poem::{Request, Response, http::Method};
use svctrack_core::schema::ResourceDef;

use super::path_tree::{PathTree, RoutedRequest};
use crate::{
    app::App,
    connection::request_head,
    error::Error,
    observe::request_metrics::RouteMetrics,
    routes::{respond::name_ignored, unread_names},
};

/// A pending response of a handler.
pub(crate) type HandlerFuture<'a> = BoxFuture<'a, Result<Response, Error>>;
pub(crate) type Handler = for<'a> fn(&'a Arc<App>, RoutedRequest<'a>) -> HandlerFuture<'a>;
/// Handles one request to any resource.
pub(crate) type RecordHandler =
    for<'a> fn(&'a Arc<App>, RoutedRequest<'a>, &'static ResourceDef) -> HandlerFuture<'a>;

/// A handler, with the resource that it serves.
#[derive(Clone, Copy)]
pub(crate) enum ResourceHandler {
    Alone(Handler),
    Record(RecordHandler, &'static ResourceDef),
}

/// Handler of a method of a route.
#[derive(Clone, Copy)]
pub(crate) struct ServedMethod {
    pub(crate) serve: ResourceHandler,
    /// Whether the handler has parameters in the query.
    pub(crate) has_parameters: bool,
}

/// The handlers of a path, by method.
pub(crate) type Methods = Vec<(Method, ServedMethod)>;

/// All routes that are no pages.
pub(crate) struct Api {
    pub(crate) app: Arc<App>,
    pub(crate) routes: PathTree<(Methods, Arc<RouteMetrics>)>,
}

/// A pending response, and the metrics of its route, if it has one.
pub(crate) type RoutedResponse<'a> = (Option<&'a Arc<RouteMetrics>>, HandlerFuture<'a>);

impl Api {
    /// The response of a route.
    pub(crate) fn serve(&self, request: Request) -> HandlerFuture<'_> {
        self.route(request).1
    }

    /// Starts nothing before it is polled, where a panic is caught.
    pub(crate) fn route(&self, request: Request) -> RoutedResponse<'_> {
        if let Err(error) = request_head::check(&request) {
            return (None, future::err(error).boxed());
        }
        let Some((pattern, (methods, metrics))) = self.routes.find(request.uri().path()) else {
            return (None, future::err(Error::RouteNotFound).boxed());
        };
        let (served, app) = (served_method(request.method(), methods), &self.app);
        let request = RoutedRequest { request, pattern };
        let handled = match served {
            Ok(ServedMethod { serve, has_parameters: false })
                if request.uri().query().is_some() =>
            {
                serve_unread(serve, app, request)
            }
            Ok(ServedMethod { serve, .. }) => serve.handle(app, request),
            Err(error) => future::err(error).boxed(),
        };
        (Some(metrics), handled)
    }
}

impl ResourceHandler {
    fn handle<'a>(self, app: &'a Arc<App>, request: RoutedRequest<'a>) -> HandlerFuture<'a> {
        match self {
            Self::Alone(handler) => handler(app, request),
            Self::Record(handler, def) => handler(app, request, def),
        }
    }
}

/// Response of a route without parameters to a request that has some: it names them (R6).
fn serve_unread<'a>(
    serve: ResourceHandler,
    app: &'a Arc<App>,
    request: RoutedRequest<'a>,
) -> HandlerFuture<'a> {
    let names = match unread_names(&request) {
        Ok(names) => names,
        Err(error) => return future::err(error).boxed(),
    };
    let name = move |mut response| {
        name_ignored(&mut response, &names);
        response
    };
    serve.handle(app, request).map_ok(name).boxed()
}

/// Handler of a method of a route.
fn served_method(method: &Method, methods: &Methods) -> Result<ServedMethod, Error> {
    let method = match *method {
        Method::HEAD => &Method::GET, // The HTTP layer leaves the body out.
        ref other => other,
    };
    let served = methods.iter().find(|(known, _)| known == method).map(|(_, served)| *served);
    served.ok_or_else(|| Error::MethodNotAllowed(allow(methods)))
}

fn allow(methods: &Methods) -> String {
    methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
}
