//! API calls of pages, in this process, with the permissions of the session.

use std::{sync::Arc, time::Duration};

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, Method, header},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    auth::{Caller, SignedIn},
    error::Error,
    routes::WholeList,
    routing::dispatch,
};

/// Calls the API with the permissions of a session.
#[derive(Clone)]
pub(super) struct Api {
    api: Arc<dispatch::Api>,
    caller: Caller,
}

/// Longest total wait of a call for another one with its key.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// How long such a call waits before it looks again.
const WAIT: Duration = Duration::from_millis(50);
/// Media type of most calls.
pub(super) const JSON: &str = "application/json";

impl Api {
    pub(super) fn new(api: Arc<dispatch::Api>, caller: Caller) -> Self {
        Self { api, caller }
    }

    /// Routes for a job that continues after the page that began it.
    pub(super) fn routes(&self) -> Arc<dispatch::Api> {
        self.api.clone()
    }

    /// Whether the signed-in user has this scope.
    pub(super) fn may(&self, scope: &str) -> bool {
        self.caller.may(scope)
    }

    /// Response of a path, in JSON.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        read(self.ask(path, JSON).await?).await
    }

    /// The record at a path, and its version.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn record(&self, path: &str) -> Result<(Map<String, Value>, String), Error> {
        let response = self.ask(path, JSON).await?;
        let etag = response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok());
        let etag = etag.unwrap_or_default().to_owned();
        Ok((read(response).await?, etag))
    }

    /// Response of a path, in a media type.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn ask(&self, path: &str, form: &str) -> Result<Response, Error> {
        self.call(Method::GET, path, &[(header::ACCEPT, form)], String::new()).await
    }

    /// All of a list, in a media type, as one response.
    ///
    /// # Errors
    /// Errors of the route: `page_too_far` and `page_too_large` are among them.
    pub(super) async fn ask_all(&self, path: &str, form: &str) -> Result<Response, Error> {
        let accept = [(header::ACCEPT, form)];
        let mut request = self.request(Method::GET, path, &accept, String::new())?;
        request.extensions_mut().insert(WholeList);
        self.api.serve(request).await
    }

    /// Sends a body to a route. When a form is sent twice at once, the second call waits for the outcome of the first.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: &impl ToString,
    ) -> Result<Value, Error> {
        let mut waited = Duration::ZERO;
        loop {
            match self.call(method.clone(), path, headers, body.to_string()).await {
                Err(Error::StillRunning) if waited < MAX_WAIT => {
                    waited += WAIT;
                    tokio::time::sleep(WAIT).await;
                }
                done => return read(done?).await,
            }
        }
    }

    /// Sends a text of a media type to a route.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn send_text<T: DeserializeOwned>(
        &self,
        path: &str,
        media_type: &str,
        text: String,
    ) -> Result<T, Error> {
        let headers = [(header::CONTENT_TYPE, media_type)];
        read(self.call(Method::POST, path, &headers, text).await?).await
    }

    /// The response of a route.
    ///
    /// # Errors
    /// Errors of the route.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: String,
    ) -> Result<Response, Error> {
        self.api.serve(self.request(method, path, headers, body)?).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &str)],
        body: String,
    ) -> Result<Request, Error> {
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
        Ok(request)
    }
}

/// The JSON of a response.
pub(super) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let body = text_of(response).await?;
    serde_json::from_str(&body).map_err(|error| Error::Internal(error.to_string()))
}

pub(super) async fn text_of(response: Response) -> Result<String, Error> {
    let text = response.into_body().into_string().await;
    text.map_err(|error| Error::Internal(error.to_string()))
}
