//! From a request to the handler of its route.

use std::sync::Arc;

use futures_util::{
    FutureExt as _,
    future::{self, BoxFuture},
};
use poem::{Request, Response, http::Method};
use svctrack_core::schema::ResourceDef;

use crate::{app::App, error::Error, path_tree::PathTree, request_head};

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
    pub(crate) routes: PathTree<Methods>,
}

impl Api {
    /// Nothing of it is done before it is polled, where a panic is caught.
    pub(crate) fn serve(&self, mut request: Request) -> Handled {
        let app = self.app.clone();
        match self.route(&mut request) {
            Ok(Serve::Alone(handler)) => handler(app, request),
            Ok(Serve::Record(handler, def)) => handler(app, request, def),
            Err(error) => future::err(error).boxed(),
        }
    }

    /// What handles a request, which carries the path of its route from then on.
    fn route(&self, request: &mut Request) -> Result<Serve, Error> {
        request_head::check(request)?;
        let found = self.routes.find(request.uri().path());
        let (pattern, methods) = found.ok_or(Error::RouteNotFound)?;
        let method = match *request.method() {
            Method::HEAD => &Method::GET, // The HTTP layer leaves the body out.
            ref other => other,
        };
        let serve = methods.iter().find(|(known, _)| known == method).map(|(_, serve)| *serve);
        request.extensions_mut().insert(pattern.clone());
        serve.ok_or_else(|| Error::MethodNotAllowed(allow(methods)))
    }
}

fn allow(methods: &Methods) -> String {
    methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
}
