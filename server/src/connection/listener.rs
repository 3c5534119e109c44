//! Loop that accepts connections: with a timeout for heads and for readers, a limit of connections, a pause when
//! accepting fails, and a stop that lets requests in flight finish.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use hyper_util::server::graceful::GracefulShutdown;
use poem::{Endpoint, Response};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
    sync::watch,
};

use super::{
    http_connection::{Connection, ConnectionPeers},
    open_connections::Connections,
    workers::Workers,
};
use crate::{
    limits::{ACCEPT_PAUSE, MAX_CONNECTIONS, RESERVED_FILES},
    observe::connection_counts::{ConnectionCounts, RejectionCause},
    proxies::Proxies,
    shutdown,
    tls::acceptor::Tls,
};

/// Limits of the clients: the number of connections, the proxies that may have all of them and name clients, and the
/// counters.
pub struct ClientLimits {
    pub(crate) places: usize,
    pub(crate) proxies: Proxies,
    pub(crate) counts: Arc<ConnectionCounts>,
    /// TLS of their connections, if the server speaks it.
    pub(crate) tls: Option<Arc<Tls>>,
}

impl ClientLimits {
    /// As many clients as these workers can serve, without TLS.
    pub fn for_workers(workers: &Workers, proxies: Proxies, counts: Arc<ConnectionCounts>) -> Self {
        let places = max_connections(RESERVED_FILES + workers.files());
        Self { places, proxies, counts, tls: None }
    }
}

/// Serves `endpoint` on `listener` until `stop` is done, then lets requests in flight finish until the `workers` are
/// stopped.
///
/// # Errors
/// When the address of the listener cannot be read.
pub async fn serve<E>(
    listener: TcpListener,
    clients: ClientLimits,
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
    let connections = Connections::new(clients.places, clients.proxies.clone());
    let stopping = watch::Sender::new(false);
    let mut failed = LogThrottle::default();
    let mut stop = std::pin::pin!(stop);
    loop {
        // One connection is accepted at a time; the others wait in the backlog until it has a slot.
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
            clients.counts.reject(address_of(remote), &RejectionCause::Connections);
            continue;
        };
        let connection = Connection {
            peers: ConnectionPeers { local, remote, proxies: clients.proxies.clone() },
            endpoint: endpoint.clone(),
            waiting: place.waiting.clone(),
            stopping: stopping.subscribe(),
            watcher: graceful.watcher(),
            counts: clients.counts.clone(),
        };
        let (tls, counted) = (clients.tls.clone(), clients.counts.open());
        worker.spawn(async move {
            connection.serve(stream, tls).await;
            drop((place, counted));
        });
    }
    drop(listener);
    stopping.send_replace(true);
    shutdown::finish(graceful, &connections).await;
    Ok(())
}

/// Passes a connection to a worker, which owns it from then on.
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

/// Maximum number of connections: the files that the process may open, except those that it reserves for itself, within
/// the limit; where it may open few, half of them.
fn max_connections(reserved_files: usize) -> usize {
    let wanted = (MAX_CONNECTIONS + reserved_files) as u64;
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(DEFAULT_FILES);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files.saturating_sub(reserved_files).max(files / 2).clamp(1, MAX_CONNECTIONS)
}

/// Number of files that a process may open on most systems, where this one does not report it.
const DEFAULT_FILES: u64 = 1_024;

/// Log lines that are written once in a while and not each time.
#[derive(Default)]
struct LogThrottle {
    since_said: u32,
}

impl LogThrottle {
    /// One line is logged for the first of this many; at the pause between failures, ten seconds.
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
    use poem::{Body, endpoint::make_sync};
    use tokio::sync::oneshot;

    use super::*;
    use crate::limits::ANSWER_STALL;

    #[tokio::test]
    async fn a_response_that_nobody_takes_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The other end is notified when the memory of the response is released.
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
            let clients = ClientLimits { places: 1, proxies, counts, tls: None };
            serve(listener, clients, &mut workers, endpoint, std::future::pending()).await
        });
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let given_up = tokio::time::timeout(100 * ANSWER_STALL, gone).await;
        assert!(given_up.expect("the answer is still held").is_err());
    }

    #[test]
    fn the_first_of_every_hundred_is_logged() {
        let (mut throttle, mut said) = (LogThrottle::default(), Vec::new());
        (0..250).for_each(|number| throttle.log(|| said.push(number)));
        assert_eq!(said, [0, 100, 200]);
    }
}
