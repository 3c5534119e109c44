//! The loop that takes connections: with a timeout for heads and for readers, a cap on connections, a pause when accepting
//! fails, and a stop that lets requests in flight finish.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use http_body_util::combinators::BoxBody;
use hyper::{
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::TokioIo,
    server::graceful::{GracefulShutdown, Watcher},
};
use poem::{
    Body, Endpoint, Request, RequestParts, Response,
    http::{HeaderMap, HeaderValue, header, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
    sync::watch,
};

use crate::{
    client_stream::ClientStream,
    connections::{Connections, Waiting},
    keep_alive::HeadTimer,
    limits::{
        ACCEPT_PAUSE, HEAD_TIMEOUT, IDLE_TIMEOUT, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS,
        MAX_HEAD_BYTES, MAX_HEADERS, RESERVED_FILES, STOP_STALL, STOP_TIMEOUT,
    },
    observe::connection_counts::ConnectionCounts,
    proxies::Proxies,
    watched_body::WatchedBody,
    workers::Workers,
};

/// Who is served: how many connections there may be, which proxies may have all of them and name clients, and what counts
/// them.
pub struct Clients {
    pub(crate) places: usize,
    pub(crate) proxies: Proxies,
    pub(crate) counts: Arc<ConnectionCounts>,
}

impl Clients {
    /// As many as these workers can serve.
    pub fn of(workers: &Workers, proxies: Proxies, counts: Arc<ConnectionCounts>) -> Self {
        Self { places: max_connections(RESERVED_FILES + workers.files()), proxies, counts }
    }
}

/// Serves `endpoint` on `listener` until `stop` is done, then lets requests in flight finish until the `workers` are
/// stopped.
///
/// # Errors
/// When the address of the listener cannot be read.
pub async fn serve<E>(
    listener: TcpListener,
    Clients { places, proxies, counts }: Clients,
    workers: &mut Workers,
    endpoint: E,
    stop: impl Future<Output = ()>,
) -> io::Result<()>
where
    E: Endpoint<Output = Response> + 'static,
{
    let local = listener.local_addr()?;
    let endpoint = Arc::new(endpoint);
    let graceful = GracefulShutdown::new();
    let connections = Connections::new(places, proxies.clone());
    let stopping = watch::Sender::new(false);
    let (mut failed, mut turned_away) = (LogThrottle::default(), LogThrottle::default());
    let mut stop = std::pin::pin!(stop);
    loop {
        // One is taken at a time; the others wait in the backlog until it has a place.
        let next = async {
            let (stream, remote) = listener.accept().await?;
            Ok((stream, remote, connections.enter(address_of(remote)).await))
        };
        let accepted: io::Result<_> = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let taken = accepted.and_then(|(stream, remote, place)| {
            let (stream, worker) = hand_over(stream, workers)?;
            Ok((stream, remote, place, worker))
        });
        let (stream, remote, place, worker) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                failed.log(|| tracing::warn!(cause = %error, "accepting connections failed"));
                connections.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        failed = LogThrottle::default();
        let Some(place) = place else {
            counts.reject();
            let most = MAX_CONNECTIONS_PER_ADDRESS;
            turned_away.log(|| tracing::warn!(most, "connection limit per address reached"));
            continue;
        };
        let peers = Peers { local, remote, proxies: proxies.clone() };
        let (endpoint, watcher) = (endpoint.clone(), graceful.watcher());
        let (stream, counted) = ((stream, stopping.subscribe()), counts.open());
        worker.spawn(async move {
            connection(stream, peers, endpoint, place.waiting.clone(), watcher).await;
            drop((place, counted));
        });
    }
    drop(listener);
    stopping.send_replace(true);
    let mut finished = std::pin::pin!(graceful.shutdown());
    if tokio::time::timeout(STOP_STALL, &mut finished).await.is_ok() {
        return Ok(());
    }
    connections.end_waiting();
    if tokio::time::timeout(STOP_TIMEOUT, finished).await.is_err() {
        tracing::warn!(
            seconds = STOP_TIMEOUT.as_secs(),
            "requests in progress aborted at shutdown"
        );
    }
    Ok(())
}

/// Gives a connection to a worker, which owns it from then on.
fn hand_over(stream: TcpStream, workers: &mut Workers) -> io::Result<(TcpStream, Handle)> {
    let worker = workers.next();
    let stream = {
        let _inside = worker.enter();
        TcpStream::from_std(stream.into_std()?)?
    };
    Ok((stream, worker))
}

fn address_of(remote: SocketAddr) -> IpAddr {
    remote.ip().to_canonical()
}

/// The ends of a connection, and which proxies may speak for others.
struct Peers {
    local: SocketAddr,
    remote: SocketAddr,
    proxies: Proxies,
}

impl Peers {
    /// The client of a request, in the place of a proxy that passed it on.
    fn client_of(&self, headers: &HeaderMap) -> RemoteAddr {
        let mut client = self.remote;
        client.set_ip(self.proxies.client_of(client.ip(), headers));
        RemoteAddr(client.into())
    }
}

/// One connection, until it ends.
async fn connection<E>(
    (stream, stopping): (TcpStream, watch::Receiver<bool>),
    peers: Peers,
    endpoint: Arc<E>,
    waiting: Arc<Waiting>,
    watcher: Watcher,
) where
    E: Endpoint<Output = Response> + 'static,
{
    // Responses are small and written whole, so waiting for more to send only delays them.
    let _ = stream.set_nodelay(true);
    let stream = ClientStream::new(stream, endpoint.clone(), stopping);
    let timer = HeadTimer::new(waiting.clone(), IDLE_TIMEOUT - HEAD_TIMEOUT);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (endpoint, waiting) = (endpoint.clone(), waiting.clone());
        let peers = (LocalAddr(peers.local.into()), peers.client_of(request.headers()));
        async move { Ok::<_, Infallible>(answer(&*endpoint, request, peers, waiting).await.into()) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(timer)
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(cause = %error, "connection aborted");
    }
}

/// Responds to a request. Where its body is not read to its end, the response closes the connection, which can carry no
/// further request.
async fn answer(
    endpoint: &impl Endpoint<Output = Response>,
    request: hyper::Request<Incoming>,
    (local, remote): (LocalAddr, RemoteAddr),
    waiting: Arc<Waiting>,
) -> Response {
    let (head, body) = request.into_parts();
    // Who asks whether to send the body does not send it in vain.
    let is_asked_for = head.headers.contains_key(header::EXPECT);
    let body = (!body.is_end_stream()).then(|| WatchedBody::new(body, waiting));
    let sent = body.clone().map_or_else(Body::empty, |body| BoxBody::new(body).into());
    let head = RequestParts::from((head, local, remote, Scheme::HTTP));
    let answered = endpoint.call(Request::from_parts(head, sent)).await;
    let mut response = answered.unwrap_or_else(|error| error.into_response());
    if let Some(mut body) = body
        && !response.headers().contains_key(header::CONNECTION)
        && !body.can_be_passed(is_asked_for).await
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// How many connections there may be: as many as the process may open files for besides those that it reserves for
/// itself, within the cap; where it may open few, half of them.
fn max_connections(reserved_files: usize) -> usize {
    let wanted = (MAX_CONNECTIONS + reserved_files) as u64;
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(DEFAULT_FILES);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files.saturating_sub(reserved_files).max(files / 2).clamp(1, MAX_CONNECTIONS)
}

/// How many files a process may open on most systems, where this one does not say.
const DEFAULT_FILES: u64 = 1_024;

/// Log lines that are written once in a while and not each time.
#[derive(Default)]
struct LogThrottle {
    since_said: u32,
}

impl LogThrottle {
    /// One line for the first of this many; at the pause between failures, ten seconds.
    const SAID_EVERY: u32 = 100;

    fn log(&mut self, write: impl FnOnce()) {
        if self.since_said == 0 {
            write();
        }
        self.since_said = (self.since_said + 1) % Self::SAID_EVERY;
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, sync::Mutex};

    use futures_util::stream;
    use poem::endpoint::make_sync;
    use tokio::sync::oneshot;

    use super::*;
    use crate::limits::ANSWER_STALL;

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The other end hears when what the response holds is dropped.
        let (held, gone) = oneshot::channel::<()>();
        let held = Mutex::new(Some(held));
        let endpoint = make_sync(move |_| {
            let held = held.lock().unwrap().take();
            let endless = stream::unfold(held, |held| async move {
                Some((Ok::<_, io::Error>(vec![0; 1024 * 1024]), held))
            });
            Response::builder().body(Body::from_bytes_stream(endless))
        });
        let mut workers = Workers::start().unwrap();
        tokio::spawn(async move {
            let (proxies, counts) = (Proxies::default(), Arc::default());
            let clients = Clients { places: 1, proxies, counts };
            serve(listener, clients, &mut workers, endpoint, std::future::pending()).await
        });
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let given_up = tokio::time::timeout(100 * ANSWER_STALL, gone).await;
        assert!(given_up.expect("the answer is still held").is_err());
    }

    #[test]
    fn the_first_of_every_hundred_is_said() {
        let (mut throttle, mut said) = (LogThrottle::default(), Vec::new());
        (0..250).for_each(|number| throttle.log(|| said.push(number)));
        assert_eq!(said, [0, 100, 200]);
    }
}
