//! The API, as pages call it: in this process, for who is signed in.

use std::sync::Arc;

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, Method, header},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    auth::{Caller, SignedIn},
    dispatch,
    error::Error,
};

/// Calls the API for somebody.
#[derive(Clone)]
pub(super) struct Api {
    api: Arc<dispatch::Api>,
    caller: Caller,
}

/// The form in which something is asked for.
pub(super) const JSON: &str = "application/json";

impl Api {
    pub(super) fn new(api: Arc<dispatch::Api>, caller: Caller) -> Self {
        Self { api, caller }
    }

    /// Whether whoever is signed in may do what needs this scope.
    pub(super) fn may(&self, scope: &str) -> bool {
        self.caller.require(scope).is_ok()
    }

    /// What is at a path, in JSON.
    ///
    /// # Errors
    /// Those of the route.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        read(self.ask(path, JSON).await?).await
    }

    /// What is at a path, in the form of a media type.
    ///
    /// # Errors
    /// Those of the route.
    pub(super) async fn ask(&self, path: &str, form: &str) -> Result<Response, Error> {
        self.call(Method::GET, path, &[(header::ACCEPT, form)], String::new()).await
    }

    /// Sends a body to a route.
    ///
    /// # Errors
    /// Those of the route.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: &Value,
    ) -> Result<Value, Error> {
        read(self.call(method, path, headers, body.to_string()).await?).await
    }

    /// The response of a route.
    ///
    /// # Errors
    /// Those of the route.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: String,
    ) -> Result<Response, Error> {
        let uri = path.parse().map_err(|_| Error::RouteNotFound)?;
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::HOST, "localhost")
            .content_type(JSON)
            .body(body);
        for (name, value) in headers {
            let value = HeaderValue::try_from(*value).map_err(|_| Error::RouteNotFound)?;
            request.headers_mut().insert(name, value);
        }
        request.extensions_mut().insert(SignedIn(self.caller.clone()));
        self.api.serve(request).await
    }
}

/// The JSON of a response.
pub(super) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let body = text_of(response).await?;
    serde_json::from_str(&body).map_err(|error| Error::Internal(error.to_string()))
}

/// The text of a response.
pub(super) async fn text_of(response: Response) -> Result<String, Error> {
    let text = response.into_body().into_string().await;
    text.map_err(|error| Error::Internal(error.to_string()))
}
