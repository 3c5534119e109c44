//! A connection: from its first bytes, over TLS where the server speaks it, to requests and their responses.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use http_body_util::combinators::BoxBody;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{rt::TokioIo, server::graceful::Watcher};
use poem::{
    Body, Endpoint, Request, RequestParts, Response,
    http::{HeaderMap, HeaderValue, StatusCode, header, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
};

use super::{
    client_stream::ClientStream, keep_alive::RequestHeadTimer, open_connections::ConnectionWait,
    request_head::WithoutTls,
};
use crate::{
    bodies::watched_body::WatchedBody,
    limits::{HEAD_TIMEOUT, IDLE_TIMEOUT, MAX_HEAD_BYTES},
    observe::connection_counts::{ConnectionCounts, RejectionCause},
    proxies::Proxies,
    tls::acceptor::{AcceptedConnection, Tls},
};

/// Both addresses of a connection, and the proxies that may name other clients.
pub(crate) struct ConnectionPeers {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) proxies: Proxies,
}

impl ConnectionPeers {
    /// Client of a request, in the place of a proxy that passed it on.
    fn client_of(&self, headers: &HeaderMap) -> RemoteAddr {
        let mut client = self.remote;
        client.set_ip(self.proxies.client_of(client.ip(), headers));
        RemoteAddr(client.into())
    }

    /// The address of the client, as far as the connection names it.
    fn address(&self) -> IpAddr {
        self.remote.ip().to_canonical()
    }

    /// Whether the client may begin one more handshake now; a proxy may always.
    fn may_begin_handshake(&self, tls: &Tls) -> bool {
        self.proxies.have(self.address()) || tls.may_begin(self.address())
    }
}

/// Protocol of the requests of a connection.
#[derive(Clone, Copy)]
enum Transport {
    Tcp,
    Tls,
    /// Plain HTTP, where the server speaks TLS.
    TcpInsteadOfTls,
}

impl Transport {
    fn scheme(self) -> Scheme {
        match self {
            Self::Tls => Scheme::HTTPS,
            Self::Tcp | Self::TcpInsteadOfTls => Scheme::HTTP,
        }
    }
}

/// A connection that was accepted.
pub(crate) struct Connection<E> {
    pub(crate) peers: ConnectionPeers,
    pub(crate) endpoint: Arc<E>,
    pub(crate) waiting: Arc<ConnectionWait>,
    /// Becomes true when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) watcher: Watcher,
    pub(crate) counts: Arc<ConnectionCounts>,
}

impl<E> Connection<E>
where
    E: Endpoint<Output = Response> + 'static,
{
    /// Serves the connection until it ends.
    pub(crate) async fn serve(mut self, mut stream: TcpStream, tls: Option<Arc<Tls>>) {
        // Responses are small and written whole, so waiting for more to send only delays them.
        let _ = stream.set_nodelay(true);
        if self.peers.proxies.expect_header(self.peers.address()) {
            let read = self.peers.proxies.read_header(&mut stream, self.peers.remote);
            match self.waiting.for_client(read).await {
                Some(Ok(client)) => self.peers.remote = client,
                Some(Err(error)) => {
                    let cause = RejectionCause::ProxyHeader(error);
                    return self.counts.reject(self.peers.address(), &cause);
                }
                None => return,
            }
        }
        match tls {
            None => self.serve_http(stream, Transport::Tcp).await,
            // Boxed, so that a connection without TLS takes none of the memory of one with it.
            Some(tls) => Box::pin(self.serve_tls(stream, tls)).await,
        }
    }

    async fn serve_tls(self, stream: TcpStream, tls: Arc<Tls>) {
        if !self.peers.may_begin_handshake(&tls) {
            return self.counts.reject(self.peers.address(), &RejectionCause::Handshakes);
        }
        let client = self.peers.address();
        match tls.open(stream, &self.waiting).await {
            Ok(AcceptedConnection::Tls(stream)) => self.serve_http(stream, Transport::Tls).await,
            Ok(AcceptedConnection::PlainHttp(stream)) => {
                self.serve_http(stream, Transport::TcpInsteadOfTls).await
            }
            Err(error) => tracing::debug!(%client, cause = %error, "TLS handshake failed"),
        }
    }

    async fn serve_http<S>(self, stream: S, over: Transport)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Self { peers, endpoint, waiting, stopping, watcher, .. } = self;
        let stream = ClientStream::new(stream, endpoint.clone(), stopping, waiting.clone());
        let timer = RequestHeadTimer::new(waiting.clone(), IDLE_TIMEOUT - HEAD_TIMEOUT);
        // Requests count references to this, and not to the endpoint, whose count all threads would share.
        let served = Arc::new(ServedConnection { peers, endpoint, over, waiting });
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let served = served.clone();
            async move { Ok::<_, Infallible>(served.respond(request).await.into()) }
        });
        let mut builder = http1::Builder::new();
        // hyper's default is `MAX_HEADERS`. Where it is set, hyper fills two arrays of headers for each request.
        builder.timer(timer).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(cause = %error, "connection aborted");
        }
    }
}

/// What the requests of a connection need.
struct ServedConnection<E> {
    peers: ConnectionPeers,
    endpoint: Arc<E>,
    over: Transport,
    waiting: Arc<ConnectionWait>,
}

impl<E: Endpoint<Output = Response>> ServedConnection<E> {
    /// Responds to a request. Where its body is not read to its end, the response closes the connection, which cannot
    /// have a further request.
    async fn respond(&self, request: hyper::Request<Incoming>) -> Response {
        let (mut head, body) = request.into_parts();
        if matches!(self.over, Transport::TcpInsteadOfTls) {
            head.extensions.insert(WithoutTls);
        }
        // A client that asks whether to send the body does not send it in vain.
        let expects_continue = head.headers.contains_key(header::EXPECT);
        let body = (!body.is_end_stream()).then(|| WatchedBody::new(body, self.waiting.clone()));
        let sent = body.clone().map_or_else(Body::empty, |body| BoxBody::new(body).into());
        let local = LocalAddr(self.peers.local.into());
        let remote = self.peers.client_of(&head.headers);
        let head = RequestParts::from((head, local, remote, self.over.scheme()));
        let result = self.endpoint.call(Request::from_parts(head, sent)).await;
        let mut response = result.unwrap_or_else(|error| error.into_response());
        if let Some(mut body) = body
            && !body.can_be_passed(expects_continue).await
        {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            // A client that was too slow gets no more time.
            if response.status() != StatusCode::REQUEST_TIMEOUT {
                self.waiting.leave_unread();
            }
        }
        response
    }
}
