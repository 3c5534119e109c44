//! From a request to the handler of its route.

use std::sync::Arc;

use futures_util::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use poem::{Request, Response, http::Method};
use svctrack_core::schema::ResourceDef;

use crate::{
    app::App,
    error::Error,
    observe::request_metrics::RouteMetrics,
    path_tree::{PathTree, Pattern},
    request_head,
};

/// A response on its way.
pub(crate) type Handled = BoxFuture<'static, Result<Response, Error>>;
pub(crate) type Handler = fn(Arc<App>, Request) -> Handled;
/// Handles one request to any resource.
pub(crate) type RecordHandler = fn(Arc<App>, Request, &'static ResourceDef) -> Handled;

/// A handler, with the resource that it serves.
#[derive(Clone, Copy)]
pub(crate) enum Serve {
    Alone(Handler),
    Record(RecordHandler, &'static ResourceDef),
}

/// The handlers of a path, by method.
pub(crate) type Methods = Vec<(Method, Serve)>;

/// All routes that are no pages.
pub(crate) struct Api {
    pub(crate) app: Arc<App>,
    pub(crate) routes: PathTree<(Methods, Arc<RouteMetrics>)>,
}

/// A request on the way to its response, and what is counted of its route, if it has one.
pub(crate) type Routed<'a> = (Option<&'a Arc<RouteMetrics>>, Handled);

impl Api {
    /// The response of a route.
    pub(crate) fn serve(&self, request: Request) -> Handled {
        self.route(request).1
    }

    /// Nothing of it is done before it is polled, where a panic is caught.
    pub(crate) fn route(&self, mut request: Request) -> Routed<'_> {
        if let Err(error) = request_head::check(&request) {
            return (None, future::err(error).boxed());
        }
        let Some((pattern, (methods, metrics))) = self.routes.find(request.uri().path()) else {
            return (None, future::err(Error::RouteNotFound).boxed());
        };
        let app = self.app.clone();
        let handled = match handler(&mut request, pattern, methods) {
            Ok(Serve::Alone(handler)) => handler(app, request),
            Ok(Serve::Record(handler, def)) => handler(app, request, def),
            Err(error) => future::err(error).boxed(),
        };
        (Some(metrics), handled)
    }
}

/// What handles a request, which carries the path of its route from then on.
fn handler(request: &mut Request, pattern: &Pattern, methods: &Methods) -> Result<Serve, Error> {
    let method = match *request.method() {
        Method::HEAD => &Method::GET, // The HTTP layer leaves the body out.
        ref other => other,
    };
    let serve = methods.iter().find(|(known, _)| known == method).map(|(_, serve)| *serve);
    request.extensions_mut().insert(pattern.clone());
    serve.ok_or_else(|| Error::MethodNotAllowed(allow(methods)))
}

fn allow(methods: &Methods) -> String {
    methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
}
