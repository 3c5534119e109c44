//! A customer's web site: it serves pages, and passes everything else on to a server. What goes to the
//! server is written down, and can be made to fail.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, body::Incoming, header::HeaderValue, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{client::Client, process::Server};

/// A page: its HTML, and the content security policy that it is sent with.
#[derive(Clone, Debug, Default)]
pub struct Page {
    pub html: String,
    /// The policy; none when empty.
    pub csp: String,
}

/// An event on its way to the server.
#[derive(Clone, Debug)]
pub struct Call {
    pub message: Value,
    /// The status of the response; none when the connection was cut instead.
    pub status: Option<u16>,
    pub at: Instant,
}

/// How the way to the server is.
#[derive(Debug, Default)]
pub struct Weather {
    /// Whether events find no server.
    pub is_offline: bool,
    /// Paths that never get a response.
    pub slow: Vec<String>,
    /// Paths that are not there.
    pub missing: Vec<String>,
    /// The responses to the next events, which are not passed on: a status and a `Retry-After`.
    pub responses: VecDeque<(u16, u64)>,
    /// Why the events that are passed on are parked, as the server says in `Svctrack-Parked`.
    pub parked: Option<&'static str>,
}

/// A running web site.
pub struct Site {
    pub base: String,
    inner: Arc<Inner>,
    task: JoinHandle<()>,
}

struct Inner {
    server: Client,
    pages: Mutex<HashMap<String, Page>>,
    weather: Mutex<Weather>,
    calls: Mutex<Vec<Call>>,
}

impl Site {
    /// Starts a site that is a proxy before a server.
    pub async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner {
            server: Client::new(&server.base, None),
            pages: Mutex::default(),
            weather: Mutex::default(),
            calls: Mutex::default(),
        });
        let task = tokio::spawn(serve(listener, inner.clone()));
        Self { base, inner, task }
    }

    /// Serves a page at a path.
    pub fn put(&self, path: &str, page: Page) {
        self.inner.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    /// How the way to the server is from now on.
    pub fn weather(&self) -> MutexGuard<'_, Weather> {
        self.inner.weather.lock().unwrap()
    }

    /// All events that came, in their order.
    pub fn calls(&self) -> Vec<Call> {
        self.inner.calls.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, inner: Arc<Inner>) {
    while let Ok((stream, _)) = listener.accept().await {
        let inner = inner.clone();
        let response = service_fn(move |request| {
            let inner = inner.clone();
            async move { inner.response(request).await }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), response));
    }
}

/// No response: the connection is cut.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is cut")
    }
}

impl std::error::Error for Cut {}

impl Inner {
    async fn response(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Cut> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let page = self.pages.lock().unwrap().get(&path).cloned();
        if let Some(page) = page {
            return Ok(of_page(page));
        }
        if self.weather.lock().unwrap().missing.contains(&path) {
            return Ok(of_status(404, 0));
        }
        if self.weather.lock().unwrap().slow.contains(&path) {
            std::future::pending::<()>().await;
        }
        // A page that is left may take the rest of a body with it.
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        let is_event = head.method == Method::POST && path.starts_with("/analytics/");
        if !is_event {
            return self.pass(head.method, &path, body).await;
        }
        let message = serde_json::from_slice(&body).unwrap_or_default();
        let at = Instant::now();
        let response = self.respond_to_event(&path, body).await;
        let status = response.as_ref().ok().map(|response| response.status().as_u16());
        self.calls.lock().unwrap().push(Call { message, status, at });
        response
    }

    async fn respond_to_event(
        &self,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Full<Bytes>>, Cut> {
        let (planned, parked) = {
            let mut weather = self.weather.lock().unwrap();
            if weather.is_offline {
                return Err(Cut);
            }
            (weather.responses.pop_front(), weather.parked)
        };
        if let Some((status, retry_after)) = planned {
            return Ok(of_status(status, retry_after));
        }
        let mut response = self.pass(Method::POST, path, body).await?;
        if let Some(code) = parked {
            response.headers_mut().insert("svctrack-parked", HeaderValue::from_static(code));
        }
        Ok(response)
    }

    async fn pass(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Full<Bytes>>, Cut> {
        let found = self.server.send(method, path, &[], body).await.map_err(|_| Cut)?;
        let mut response = Response::builder().status(found.status);
        for (name, value) in &found.headers {
            if name != "content-length" && name != "transfer-encoding" && name != "connection" {
                response = response.header(name, value);
            }
        }
        Ok(response.body(Full::new(found.body)).unwrap())
    }
}

fn of_page(page: Page) -> Response<Full<Bytes>> {
    let mut response = Response::builder().header("content-type", "text/html; charset=utf-8");
    if !page.csp.is_empty() {
        response = response.header("content-security-policy", page.csp);
    }
    response.body(Full::new(page.html.into())).unwrap()
}

fn of_status(status: u16, retry_after: u64) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("access-control-allow-origin", "*")
        .header("access-control-expose-headers", "Retry-After")
        .header("retry-after", retry_after)
        .body(Full::default())
        .unwrap()
}
