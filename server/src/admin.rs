//! What the command line does with tenants and tokens (R44): the calls of the API, sent to a running
//! server, or answered here over the store of one that is stopped.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use poem::{
    Endpoint, Request, Response,
    http::{Method, Uri, header},
};
use serde_json::Value;
use svctrack_core::value::TenantId;

use crate::{
    app::{App, SystemClock},
    auth::{ByFile, Tenant},
    config::Config,
    rate_limit::RateLimits,
    router,
    store::{Store, embedded::Embedded},
};

/// Whose things a command is about, on a store that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// The operator's.
    Operator,
    /// The only tenant's.
    OnlyTenant,
    /// Those of the tenant with this UUID.
    Tenant(&'a str),
}

/// Where the calls go.
pub enum Admin {
    /// To a running server, with a token.
    Running {
        /// Its address, without a slash at the end.
        server: String,
        /// The token.
        token: String,
    },
    /// To the store of a server that is stopped.
    Stopped {
        /// The application over it.
        app: Arc<App>,
        /// Whose calls they are.
        tenant: TenantId,
    },
}

impl Admin {
    /// Opens the store of a configuration.
    ///
    /// # Errors
    /// In words, when there is no store, when a server has it open, or when it is not said whose it is.
    pub fn stopped(config: &Config, whose: Whose<'_>) -> Result<Self, String> {
        let folder = config.data.display();
        if !Embedded::is_in(&config.data) {
            return Err(format!("there is no store in `{folder}`"));
        }
        let clock = Arc::new(SystemClock);
        let store = Embedded::open(&config.data, config.cache_bytes(), clock.clone());
        let store = store.map_err(|cause| {
            format!(
                "the store in `{folder}` cannot be opened: {cause}; a running server is reached with --server and --token"
            )
        })?;
        let tenant = find(&store, whose)?;
        let addresses = config.addresses(config.listen);
        Ok(Self::Stopped {
            app: App::new(Arc::new(store), clock, addresses, RateLimits::default()),
            tenant,
        })
    }

    /// Calls a route, and returns what it answers.
    ///
    /// # Errors
    /// In words, when the server cannot be reached or refuses the call.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, String> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let (ok, answered) = match self {
            Self::Running { server, token } => send(server, token, method, path, body).await?,
            Self::Stopped { app, tenant } => serve(app, *tenant, method, path, body).await?,
        };
        let answer: Value = serde_json::from_slice(&answered)
            .map_err(|_| "the answer is not one of svctrack's".to_owned())?;
        if ok { Ok(answer) } else { Err(reason(&answer)) }
    }
}

/// The tenant that is meant, if it is there.
fn find(store: &Embedded, whose: Whose<'_>) -> Result<TenantId, String> {
    match whose {
        Whose::Operator => Ok(Tenant::OPERATOR.id()),
        Whose::Tenant(text) => {
            let tenant = TenantId::parse(text).ok_or("a tenant must be a UUID")?;
            let there = store.has_tenant(tenant).map_err(|error| error.to_string())?;
            there.then_some(tenant).ok_or_else(|| "there is no tenant with this UUID".to_owned())
        }
        Whose::OnlyTenant => {
            let tenants = store.tenants(2).map_err(|error| error.to_string())?;
            match tenants.as_slice() {
                [only] => Ok(only.id),
                [] => Err("the store has no tenant yet: start the server once".to_owned()),
                _ => Err("the store has several tenants: name one with --tenant".to_owned()),
            }
        }
    }
}

/// Every problem that an answer names, in one line.
fn reason(answer: &Value) -> String {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let listed = answer.get("errors").and_then(Value::as_array).into_iter().flatten();
    let messages: Vec<String> = listed.filter_map(|error| text(error, "message")).collect();
    if messages.is_empty() {
        text(answer, "detail").unwrap_or_else(|| "the call was refused".to_owned())
    } else {
        messages.join("; ")
    }
}

async fn send(
    server: &str,
    token: &str,
    method: Method,
    path: &str,
    body: String,
) -> Result<(bool, Bytes), String> {
    let uri: Uri = format!("{}{path}", server.trim_end_matches('/')).parse().map_err(|_| {
        format!("--server must be an address such as http://127.0.0.1:8080; found `{server}`")
    })?;
    if uri.scheme_str() != Some("http") {
        return Err("--server must begin with http://: run this on the machine of the server, or through a tunnel to it".to_owned());
    }
    let request = hyper::Request::builder()
        .method(method)
        .uri(uri)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| "the token holds characters that no token has".to_owned())?;
    let failed = |cause: &dyn std::error::Error| format!("{server} cannot be reached: {cause}");
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request).await.map_err(|error| failed(&error))?;
    let ok = response.status().is_success();
    let body = response.into_body().collect().await.map_err(|error| failed(&error))?;
    Ok((ok, body.to_bytes()))
}

async fn serve(
    app: &Arc<App>,
    tenant: TenantId,
    method: Method,
    path: &str,
    body: String,
) -> Result<(bool, Bytes), String> {
    let uri: Uri = path.parse().map_err(|_| "this cannot be asked for".to_owned())?;
    let mut request =
        Request::builder().method(method).uri(uri).content_type("application/json").body(body);
    request.extensions_mut().insert(ByFile(tenant));
    let response: Response =
        router::endpoint(app)?.call(request).await.map_err(|error| error.to_string())?;
    let ok = response.is_success();
    let body = response.into_body().into_bytes().await.map_err(|error| error.to_string())?;
    Ok((ok, body))
}
