//! The server in this process without connections: each request goes straight to its routes, over a store on a medium
//! of the test's. It is fast enough for thousands of starts.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use poem::{Endpoint as _, EndpointExt as _, Request, Response, endpoint::BoxEndpoint};
use serde_json::Value;
use svctrack_server::{
    app::{App, Limits},
    background_jobs,
    routing::router,
};
use svctrack_store::{
    Clock, Store, StoreError,
    embedded::{Embedded, LogLimits, OpenError, storage::StoreFile},
};
use svctrack_web::Addresses;

use crate::{tokens::Tokens, workload::Target};

/// Cache of a store, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// A log of engagement through which the few rows of a test go several times.
pub const SMALL_LOG: LogLimits =
    LogLimits { min_logged: 2, fold_from: 12, min_folded: 3, at_hand: 10 };

/// A server without connections.
pub struct Direct {
    pub store: Arc<Embedded>,
    endpoint: BoxEndpoint<'static, Response>,
    tokens: Tokens,
}

impl Direct {
    /// Creates the tenant of an empty store, and its tokens.
    pub async fn found(store_file: Box<dyn StoreFile>, clock: Arc<dyn Clock>) -> Tokens {
        let store = Embedded::open_file(store_file, CACHE_BYTES, SMALL_LOG, clock.clone()).unwrap();
        let tokens = Tokens::create(&store, clock.now(), |_| {}).await;
        store.close();
        tokens
    }

    /// Opens the store on a medium.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(
        store_file: Box<dyn StoreFile>,
        clock: Arc<dyn Clock>,
        tokens: Tokens,
    ) -> Result<Self, OpenError> {
        let store =
            Arc::new(Embedded::open_file(store_file, CACHE_BYTES, SMALL_LOG, clock.clone())?);
        let app = App::new(
            store.clone(),
            clock,
            Addresses::new("http://svctrack.example"),
            Limits::default(),
        );
        let endpoint = router::endpoint(&app).unwrap().boxed();
        Ok(Self { store, endpoint, tokens })
    }

    /// Sends a request; a key makes it one that is carried out once.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (StatusCode, Value) {
        let token = match path {
            "/tenants" => &self.tokens.operator,
            _ => &self.tokens.tenant,
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path.parse().unwrap())
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .content_type("application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.endpoint.call(request.body(body)).await.unwrap();
        let status = response.status();
        let body = response.into_body().into_bytes().await.unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        (status, serde_json::from_slice(&body).unwrap_or(Value::String(text)))
    }

    /// Reads a route, which must be there.
    pub async fn get(&self, path: &str) -> Value {
        let (status, response) = self.send(Method::GET, path, None, &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{path}: {response}");
        response
    }

    /// Removes data after its retention period.
    ///
    /// # Errors
    /// When the tenants cannot be read.
    pub async fn clean_up(&self) -> Result<(), StoreError> {
        let store: Arc<dyn Store> = self.store.clone();
        background_jobs::round(&store).await
    }
}

impl Target for Direct {
    async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (StatusCode, Value) {
        Self::send(self, method, path, key, body).await
    }

    async fn clean_up(&self) {
        // Where it fails, so does what is sent next.
        let _ = Self::clean_up(self).await;
    }
}
