//! The API calls of the command line (R44): sent to a running server, or carried out in this process on the store of a
//! stopped one.

pub mod health;
mod https;
pub mod script;

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyDataStream, BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use poem::{
    Body, Endpoint as _, EndpointExt as _, IntoResponse as _, Request, Response,
    endpoint::BoxEndpoint,
    http::{HeaderMap, Method, StatusCode, Uri, header},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use svctrack_core::value::TenantId;
use svctrack_store::{
    Actor, Clock as _, Command, Store as _, SystemClock, Tenant, TenantRecord, TenantState,
    TokenRecord, embedded::Embedded,
};

use crate::{
    address_file::AddressFile,
    app::{App, Limits},
    auth::{LocalAccess, Token},
    config::Config,
    open_error::explain_open_error,
    routing::router,
};

/// The owner that a command is about, on a stopped store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOwner<'a> {
    Operator,
    OnlyTenant,
    /// The tenant with this UUID.
    Tenant(&'a str),
}

impl<'a> CommandOwner<'a> {
    /// The named tenant, else the only one.
    pub fn named(tenant: Option<&'a str>) -> Self {
        tenant.map_or(Self::OnlyTenant, Self::Tenant)
    }
}

/// Target of the calls.
pub enum ApiClient {
    /// To a running server, with a token.
    Running(Box<RunningServer>),
    /// To the store of a server that is stopped.
    Stopped(OfflineStore),
}

/// The body of a call.
type UploadBody = UnsyncBoxBody<Bytes, io::Error>;

/// Size of a piece that is read of a file, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// Pieces of a file that is sent.
fn pieces(mut file: File) -> impl Iterator<Item = io::Result<Bytes>> + Send + 'static {
    std::iter::from_fn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        match file.read(&mut piece) {
            Ok(0) => None,
            Ok(count) => {
                piece.truncate(count);
                Some(Ok(piece.into()))
            }
            Err(error) => Some(Err(error)),
        }
    })
}

/// Address of a server on the same machine, for messages.
const SERVER: &str = "http://127.0.0.1:8080";
/// The media type of most calls.
const JSON: &str = "application/json";

/// A running server, and a token for it.
pub struct RunningServer {
    client: Client<HttpsConnector<HttpConnector>, UploadBody>,
    server: String,
    token: Option<String>,
}

/// The store of a stopped server, which handles the calls in this process, and the owner of the calls.
pub struct OfflineStore {
    store: Arc<Embedded>,
    endpoint: Arc<BoxEndpoint<'static, Response>>,
    tenant: TenantId,
}

pub struct ApiResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// Body of the response, which has not been read yet.
    pub body: Body,
}

impl ApiClient {
    /// Calls a running server with a token; its certificate may be in a file.
    ///
    /// # Errors
    /// A message, when the file cannot be read.
    pub fn running(server: &str, token: &str, ca_cert: Option<&Path>) -> Result<Self, String> {
        Self::running_for(server, Some(token.to_owned()), ca_cert)
    }

    /// Calls routes of a running server that need no token.
    ///
    /// # Errors
    /// As [`Self::running`].
    pub fn running_for_anyone(server: &str, ca_cert: Option<&Path>) -> Result<Self, String> {
        Self::running_for(server, None, ca_cert)
    }

    fn running_for(
        server: &str,
        token: Option<String>,
        ca_cert: Option<&Path>,
    ) -> Result<Self, String> {
        let client = Client::builder(TokioExecutor::new()).build(https::connector(ca_cert)?);
        let server = server.trim_end_matches('/').to_owned();
        Ok(Self::Running(Box::new(RunningServer { client, server, token })))
    }

    /// Opens the store of a configuration.
    ///
    /// # Errors
    /// A message, when there is no store, when a server has it open, or when the owner is not given.
    pub async fn stopped(config: &Config, whose: CommandOwner<'_>) -> Result<Self, String> {
        if !config.has_store() {
            return Err(format!(
                "there is no store in `{}`: name its directory with --data, or a running server with --server",
                config.data.display()
            ));
        }
        let store = open(config)?;
        let tenant = find(&store, whose).await?;
        Self::over(config, store, tenant)
    }

    fn over(config: &Config, store: Arc<Embedded>, tenant: TenantId) -> Result<Self, String> {
        let addresses = config.addresses(&config.own_url());
        let app = App::new(store.clone(), Arc::new(SystemClock), addresses, Limits::default());
        let endpoint = Arc::new(router::endpoint(&app)?.boxed());
        Ok(Self::Stopped(OfflineStore { store, endpoint, tenant }))
    }

    /// Access to another tenant of the same server or store: with its token, or with the store's file.
    pub fn for_tenant(&self, tenant: TenantId, token: &str) -> Self {
        match self {
            Self::Running(running) => {
                let (client, server) = (running.client.clone(), running.server.clone());
                Self::Running(Box::new(RunningServer {
                    client,
                    server,
                    token: Some(token.to_owned()),
                }))
            }
            Self::Stopped(OfflineStore { store, endpoint, .. }) => {
                let (store, endpoint) = (store.clone(), endpoint.clone());
                Self::Stopped(OfflineStore { store, endpoint, tenant })
            }
        }
    }

    /// Whether the store of a configuration has a tenant.
    ///
    /// # Errors
    /// A message, when the store cannot be opened.
    pub async fn has_tenant(config: &Config, tenant: TenantId) -> Result<bool, String> {
        open(config)?.has_tenant(tenant).await.map_err(|error| error.to_string())
    }

    /// Access to each tenant of the same store.
    ///
    /// # Errors
    /// A message, for a running server, which a caller sees only one tenant of.
    pub async fn of_each_tenant(&self) -> Result<Vec<(TenantRecord, Self)>, String> {
        let Self::Stopped(OfflineStore { store, endpoint, .. }) = self else {
            return Err("--all-tenants works only on the store of a stopped server".to_owned());
        };
        let tenants = store.tenants(usize::MAX).await.map_err(|error| error.to_string())?;
        let to_tenant = |record: TenantRecord| {
            let (store, endpoint, tenant) = (store.clone(), endpoint.clone(), record.id);
            (record, Self::Stopped(OfflineStore { store, endpoint, tenant }))
        };
        let there = tenants.into_iter().filter(|tenant| tenant.state != TenantState::Deleting);
        Ok(there.map(to_tenant).collect())
    }

    /// Opens the store of a configuration, creates it where it is missing, and adds the missing tenants. Returns the
    /// tokens of these.
    ///
    /// # Errors
    /// A message, when this fails.
    pub async fn with_tenants(
        config: &Config,
        tenants: Vec<TenantRecord>,
    ) -> Result<(Self, Vec<(TenantId, Token)>), String> {
        let store = open(config)?;
        let mut made = Vec::new();
        for tenant in tenants {
            if store.has_tenant(tenant.id).await.map_err(|error| error.to_string())? {
                continue;
            }
            let token = Token::generate().map_err(|error| error.to_string())?;
            made.push((tenant.id, token.clone()));
            let now = SystemClock.now();
            let record = TokenRecord::of_everything(token.digest(), tenant.id, "first token", now);
            let command = Command::AddTenant { tenant, token: Box::new(record) };
            let added = store.write(Actor::operator(), command).await;
            added.map_err(|error| error.to_string())?;
        }
        Ok((Self::over(config, store, Tenant::OPERATOR.id())?, made))
    }

    /// Calls a route; retries after a 429, when the response asks for it.
    ///
    /// # Errors
    /// A message, when the server cannot be reached.
    pub async fn send_again(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<ApiResponse, String> {
        self.send_again_as(method, path, JSON, body).await
    }

    /// Sends a body of this media type, and sends it again as [`Self::send_again`] does.
    ///
    /// # Errors
    /// As [`Self::send_again`].
    pub async fn send_again_as(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<ApiResponse, String> {
        loop {
            let response = self.send_as(method.clone(), path, kind, body.clone()).await?;
            match response.retry_after() {
                Some(wait) if response.status == StatusCode::TOO_MANY_REQUESTS => {
                    tokio::time::sleep(wait).await;
                }
                _ => return Ok(response),
            }
        }
    }

    /// Calls a route, and returns its response.
    ///
    /// # Errors
    /// A message, when the server cannot be reached or rejects the call.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, String> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(method, path, body.into()).await?.json().await
    }

    /// Calls a route.
    ///
    /// # Errors
    /// A message, when the server cannot be reached.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<ApiResponse, String> {
        self.send_as(method, path, JSON, body).await
    }

    async fn send_as(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<ApiResponse, String> {
        match self {
            Self::Running(running) => {
                let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
                running.send(method, path, kind, body).await
            }
            Self::Stopped(stopped) => stopped.send(method, path, kind, body.into()).await,
        }
    }

    /// Sends a file to a route, piece by piece.
    ///
    /// # Errors
    /// A message, when the server cannot be reached.
    pub async fn upload(&self, path: &str, kind: &str, file: File) -> Result<ApiResponse, String> {
        match self {
            Self::Running(running) => {
                let frames = pieces(file).map(|piece| piece.map(Frame::data));
                let body = StreamBody::new(stream::iter(frames)).boxed_unsync();
                running.send(Method::POST, path, kind, body).await
            }
            Self::Stopped(stopped) => {
                let body = Body::from_bytes_stream(stream::iter(pieces(file)));
                stopped.send(Method::POST, path, kind, body).await
            }
        }
    }
}

impl From<ApiResponse> for Response {
    fn from(ApiResponse { status, headers, body }: ApiResponse) -> Self {
        let mut response = status.into_response();
        *response.headers_mut() = headers;
        response.set_body(body);
        response
    }
}

impl ApiResponse {
    /// Time after which the call can be repeated, where the response has one.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The JSON of a response.
    ///
    /// # Errors
    /// A message, when the call was rejected.
    pub async fn json(self) -> Result<Value, String> {
        self.read().await
    }

    /// A response, read from its JSON.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub async fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        let body = self.body.into_bytes().await.map_err(|error| broken_off(&error))?;
        let foreign = |_| "the response is not from svctrack: check --server".to_owned();
        if self.status.is_success() {
            return serde_json::from_slice(&body).map_err(foreign);
        }
        let problem: Value = serde_json::from_slice(&body).map_err(foreign)?;
        Err(reason(&problem))
    }

    /// Writes a response into a file.
    ///
    /// # Errors
    /// A message, when the call was rejected, or the response was interrupted.
    pub async fn save_to(self, file: &mut File) -> Result<(), String> {
        if !self.status.is_success() {
            return self.json().await.map(drop);
        }
        let mut pieces = self.body.into_bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| broken_off(&error))?;
            file.write_all(&piece).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Root cause of an error, such as `Connection refused`.
fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

fn broken_off(error: &dyn std::error::Error) -> String {
    format!("the response was truncated: {error}")
}

/// The store of a configuration.
fn open(config: &Config) -> Result<Arc<Embedded>, String> {
    let store = Embedded::open(&config.data, config.cache_bytes(), Arc::new(SystemClock));
    let server = AddressFile::read(&config.data).unwrap_or_else(|| "URL".to_owned());
    let running = format!("; to use the running server, pass --server {server} and --token TOKEN");
    store.map(Arc::new).map_err(|cause| explain_open_error(config, "opened", &cause, &running))
}

/// Tenant that `whose` selects, if it exists.
async fn find(store: &Embedded, whose: CommandOwner<'_>) -> Result<TenantId, String> {
    match whose {
        CommandOwner::Operator => Ok(Tenant::OPERATOR.id()),
        CommandOwner::Tenant(text) => {
            let tenant = TenantId::parse(text).ok_or("--tenant must be a UUID")?;
            let there = store.has_tenant(tenant).await.map_err(|error| error.to_string())?;
            there.then_some(tenant).ok_or_else(|| {
                "there is no tenant with this UUID: see svctrack tenant list".to_owned()
            })
        }
        CommandOwner::OnlyTenant => {
            let mut tenants = store.tenants(usize::MAX).await.map_err(|error| error.to_string())?;
            tenants.retain(|tenant| tenant.state != TenantState::Deleting);
            match tenants.as_slice() {
                [only] => Ok(only.id),
                [] => Err("the store has no tenant yet: start the server once".to_owned()),
                _ => Err("the store has several tenants: name one with --tenant".to_owned()),
            }
        }
    }
}

/// Every problem in a response, in one line.
pub(crate) fn reason(problem: &Value) -> String {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let listed = problem.get("errors").and_then(Value::as_array).into_iter().flatten();
    let messages: Vec<String> = listed.filter_map(|error| text(error, "message")).collect();
    if messages.is_empty() {
        text(problem, "detail").unwrap_or_else(|| "the call was rejected".to_owned())
    } else {
        messages.join("; ")
    }
}

/// Message for a server that cannot be reached, with advice where its certificate is not trusted.
fn unreachable(error: &dyn std::error::Error) -> String {
    let cause = innermost(error);
    let advice = match cause.contains("invalid peer certificate") {
        true => {
            "; call the server by the name in its certificate, or name the certificate of its authority, or its own, \
                 with --ca-cert"
        }
        false => "",
    };
    format!("{cause}{advice}")
}

impl RunningServer {
    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: UploadBody,
    ) -> Result<ApiResponse, String> {
        let Self { client, server, token } = self;
        let uri: Uri = format!("{server}{path}").parse().map_err(|_| {
            format!("--server must be an address such as {SERVER}; found `{server}`")
        })?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(format!("--server must begin with http:// or https://; found `{server}`"));
        }
        let mut request = hyper::Request::builder().method(method).uri(uri);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .header(header::CONTENT_TYPE, kind)
            .body(body)
            .map_err(|_| "malformed token: check --token".to_owned())?;
        let response = client.request(request).await;
        let response = response
            .map_err(|error| format!("{server} cannot be reached: {}", unreachable(&error)))?;
        let (head, body) = response.into_parts();
        let pieces = BodyDataStream::new(body).map_err(io::Error::other);
        let body = Body::from_bytes_stream(pieces);
        Ok(ApiResponse { status: head.status, headers: head.headers, body })
    }
}

impl OfflineStore {
    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Body,
    ) -> Result<ApiResponse, String> {
        let uri: Uri = path.parse().map_err(|_| "invalid path".to_owned())?;
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::HOST, "localhost")
            .content_type(kind)
            .body(body);
        request.extensions_mut().insert(LocalAccess(self.tenant));
        let response = self.endpoint.call(request).await;
        let (head, body) = response.map_err(|error| error.to_string())?.into_parts();
        Ok(ApiResponse { status: head.status, headers: head.headers, body })
    }
}
