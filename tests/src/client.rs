//! A small HTTP client over real connections.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{process::PATIENCE, tls};

/// The credentials of a token.
fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// A client of one server.
#[derive(Clone)]
pub struct Client {
    http: HttpClient<HttpsConnector<HttpConnector>, Full<Bytes>>,
    connector: HttpsConnector<HttpConnector>,
    base: String,
    authorization: Option<String>,
}

/// A response, read whole.
#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Response {
    /// The body as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }
}

/// A stream of server-sent events.
pub struct Events {
    body: hyper::body::Incoming,
    text: String,
}

impl Events {
    /// The next event that has data: its id and its data; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let (Some(id), Some(data)) = self.message().await? {
                return Some((id, serde_json::from_str(&data).unwrap()));
            }
        }
    }

    /// Id and data of the next message.
    pub async fn message(&mut self) -> Option<(Option<String>, Option<String>)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let message = (field("id: "), field("data: "));
                self.text = rest.to_owned();
                return Some(message);
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.unwrap()?.unwrap();
            self.text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }
}

impl Client {
    /// A client that sends `token` as its bearer token, if there is one.
    pub fn new(base: &str, token: Option<&str>) -> Self {
        Self::trusting(base, token, Vec::new())
    }

    /// The same, which trusts authorities with these certificates and no others.
    pub fn trusting(
        base: &str,
        token: Option<&str>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Self {
        let config = tls::client_config(authorities);
        let connector = HttpsConnectorBuilder::new().with_tls_config(config);
        let connector = connector.https_or_http().enable_http1().build();
        Self::with(connector, base, token.map(bearer))
    }

    /// One with connections of its own.
    fn with(
        connector: HttpsConnector<HttpConnector>,
        base: &str,
        authorization: Option<String>,
    ) -> Self {
        let http = HttpClient::builder(TokioExecutor::new()).build(connector.clone());
        Self { http, connector, base: base.to_owned(), authorization }
    }

    /// The same, with another token.
    pub fn with_token(&self, token: &str) -> Self {
        Self::with(self.connector.clone(), &self.base, Some(bearer(token)))
    }

    /// The same, without a token.
    pub fn without_token(&self) -> Self {
        Self::with(self.connector.clone(), &self.base, None)
    }

    /// Sends a request; an `Err` means that no whole response came.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response, String> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response = self.http.request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = response.into_parts();
        // A stream has no end to wait for.
        let is_stream =
            head.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let body = match is_stream {
            true => Bytes::new(),
            false => body.collect().await.map_err(|error| error.to_string())?.to_bytes(),
        };
        Ok(Response { status: head.status, headers: head.headers, body })
    }

    /// The same, as a pipeline of the test tenant.
    pub fn as_pipeline(&self) -> Self {
        let user = STANDARD.encode(format!("{}:", crate::TENANT));
        Self { authorization: Some(format!("Basic {user}")), ..self.clone() }
    }

    /// The `Authorization` that it sends.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// The response to `request`, written byte for byte on a connection of its own.
    pub async fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(request).await.unwrap();
        let mut response = Vec::new();
        let read = stream.read_to_end(&mut response);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        String::from_utf8(response).unwrap()
    }

    /// The server's address and port.
    pub fn address(&self) -> &str {
        self.base.split_once("://").map_or(&self.base, |(_, address)| address)
    }

    /// Opens a stream of server-sent events.
    pub async fn listen(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut request = Request::get(format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let response = self.http.request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { body: response.into_body(), text: String::new() }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, &[], "").await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        let json = [("content-type", "application/json")];
        self.send(Method::POST, path, &json, body.to_string()).await.unwrap()
    }

    /// Posts an event of the test tenant, as a browser does.
    pub async fn track(&self, event: &Value) -> Result<Response, String> {
        let path = format!("/analytics/{}", crate::TENANT);
        let text = [("content-type", "text/plain;charset=UTF-8")];
        self.send(Method::POST, &path, &text, event.to_string()).await
    }

    /// The actions of all activities, newest first, read page by page.
    pub async fn actions(&self) -> Vec<String> {
        let mut actions = Vec::new();
        let mut path = "/activities?limit=2000".to_owned();
        loop {
            let page = self.get(&path).await;
            assert_eq!(page.status, StatusCode::OK, "{}", page.text());
            for activity in page.json().as_array().unwrap() {
                actions.push(activity["action"].as_str().unwrap().to_owned());
            }
            let Some(link) = page.headers.get("link") else {
                return actions;
            };
            let link = link.to_str().unwrap();
            path = link.split(['<', '>']).nth(1).unwrap().to_owned();
        }
    }
}
