//! The loop that takes connections: with a timeout for heads and for readers, a cap on connections, a pause when accepting
//! fails, and a stop that lets requests in flight finish.

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::TokioIo,
    server::graceful::{GracefulShutdown, Watcher},
};
use poem::{
    Endpoint, Response,
    http::uri::Scheme,
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
    sync::Semaphore,
};
use tokio_io_timeout::TimeoutStream;

use crate::{
    head_timer::HeadTimer,
    limits::{
        ACCEPT_PAUSE, ANSWER_STALL, FREE_FOR_IDLE_PERCENT, HEAD_TIMEOUT, IDLE_TIMEOUT,
        MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS, MAX_HEAD_BYTES, RESERVED_FILES, STOP_TIMEOUT,
    },
    short_writes::ShortWrites,
    workers::Workers,
};

/// Serves `endpoint` on `listener` until `stop` is done, then lets requests in flight finish. What does not finish in
/// time goes on until the `workers` are stopped.
///
/// # Errors
/// When the listener cannot say its address.
pub async fn serve<E>(
    listener: TcpListener,
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
    let places = max_connections(RESERVED_FILES + workers.files());
    let open = Arc::new(Semaphore::new(places));
    let counts = AddressCounts::default();
    let (mut failed, mut turned_away) = (Seldom::default(), Seldom::default());
    let mut stop = std::pin::pin!(stop);
    loop {
        // A connection is taken only when there is room for it; others wait in the backlog.
        let next = async {
            let room = open.clone().acquire_owned().await;
            (room, accept(&listener, workers).await)
        };
        let (room, accepted) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let (stream, remote, worker) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                failed.say(|| tracing::warn!(cause = %error, "connections cannot be taken"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        failed = Seldom::default();
        let address = remote.ip().to_canonical();
        let Some(count) = counts.enter(address) else {
            let most = MAX_CONNECTIONS_PER_ADDRESS;
            turned_away.say(|| tracing::warn!(most, "connections of one address are turned away"));
            continue;
        };
        let timer = timer(places, open.clone(), address, counts.clone());
        let (peers, endpoint, watcher) = ((local, remote), endpoint.clone(), graceful.watcher());
        worker.spawn(async move {
            connection(stream, peers, endpoint, timer, watcher).await;
            drop((room, count));
        });
    }
    drop(listener);
    if tokio::time::timeout(STOP_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(seconds = STOP_TIMEOUT.as_secs(), "requests in flight did not end in time");
    }
    Ok(())
}

/// The next connection, and the worker whose it is.
async fn accept(
    listener: &TcpListener,
    workers: &mut Workers,
) -> io::Result<(TcpStream, SocketAddr, Handle)> {
    let (stream, remote) = listener.accept().await?;
    let worker = workers.next();
    let stream = {
        let _inside = worker.enter();
        TcpStream::from_std(stream.into_std()?)?
    };
    Ok((stream, remote, worker))
}

/// One connection, until it ends.
async fn connection<E>(
    stream: TcpStream,
    (local, remote): (SocketAddr, SocketAddr),
    endpoint: Arc<E>,
    timer: HeadTimer,
    watcher: Watcher,
) where
    E: Endpoint<Output = Response> + 'static,
{
    // Answers are small and written whole, so waiting for more to send only delays them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let endpoint = endpoint.clone();
        let (local, remote) = (LocalAddr(local.into()), RemoteAddr(remote.into()));
        let request = poem::Request::from((request, local, remote, Scheme::HTTP));
        async move {
            let answered = endpoint.call(request).await;
            let answered = answered.unwrap_or_else(|error| error.into_response());
            Ok::<_, Infallible>(hyper::Response::from(answered))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(timer).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    let mut stream = TimeoutStream::new(ShortWrites(stream));
    stream.set_write_timeout(Some(ANSWER_STALL));
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(cause = %error, "a connection broke off");
    }
}

/// How many connections there may be: as many as the process may open files for beside those that it keeps for itself,
/// within the cap.
fn max_connections(reserved_files: usize) -> usize {
    let wanted = (MAX_CONNECTIONS + reserved_files) as u64;
    let files = rlimit::increase_nofile_limit(wanted).unwrap_or(DEFAULT_FILES);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    files.saturating_sub(reserved_files).clamp(1, MAX_CONNECTIONS)
}

/// How long a connection is kept: while there is room, of all `places` and of its address.
fn timer(places: usize, open: Arc<Semaphore>, address: IpAddr, counts: AddressCounts) -> HeadTimer {
    HeadTimer::new((HEAD_TIMEOUT, IDLE_TIMEOUT), move || {
        has_room(open.available_permits(), places) && counts.have_room(address)
    })
}

/// Whether enough places are free for one that is idle to be kept.
fn has_room(free: usize, places: usize) -> bool {
    free * 100 >= places * FREE_FOR_IDLE_PERCENT
}

/// How many files a process may open on most systems, where this one does not say.
const DEFAULT_FILES: u64 = 1_024;

/// What is said once a while and not each time.
#[derive(Default)]
struct Seldom {
    since_said: u32,
}

impl Seldom {
    /// One line for the first of every so many; at the pause between failures, ten seconds.
    const SAID_EVERY: u32 = 100;

    fn say(&mut self, say: impl FnOnce()) {
        if self.since_said == 0 {
            say();
        }
        self.since_said = (self.since_said + 1) % Self::SAID_EVERY;
    }
}

/// Open connections of each address.
#[derive(Clone, Default)]
struct AddressCounts(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One counted connection; it is taken off when dropped.
struct Counted(AddressCounts, IpAddr);

impl AddressCounts {
    /// Counts a connection, unless its address has as many as it may.
    fn enter(&self, address: IpAddr) -> Option<Counted> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= MAX_CONNECTIONS_PER_ADDRESS && !address.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Counted(self.clone(), address))
    }

    /// Whether those of an address that are idle are kept.
    fn have_room(&self, address: IpAddr) -> bool {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = counts.get(&address).copied().unwrap_or(0);
        let free = MAX_CONNECTIONS_PER_ADDRESS.saturating_sub(taken);
        address.is_loopback() || has_room(free, MAX_CONNECTIONS_PER_ADDRESS)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures_util::stream;
    use poem::{Body, endpoint::make_sync};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The other end hears when what the answer holds is dropped.
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
            serve(listener, &mut workers, endpoint, std::future::pending()).await
        });
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let given_up = tokio::time::timeout(100 * ANSWER_STALL, gone).await;
        assert!(given_up.expect("the answer is still held").is_err());
    }

    #[test]
    fn an_address_has_a_cap_but_a_proxy_on_the_same_machine_has_none() {
        let counts = AddressCounts::default();
        let enter = |text: &str| counts.enter(text.parse().unwrap());
        let mut held: Vec<_> =
            (0..MAX_CONNECTIONS_PER_ADDRESS).map(|_| enter("192.0.2.1")).collect();
        assert!(held.iter().all(Option::is_some) && enter("192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some());
        held.pop();
        assert!(enter("192.0.2.1").is_some());
        let local: Vec<_> = (0..=MAX_CONNECTIONS_PER_ADDRESS).map(|_| enter("127.0.0.1")).collect();
        assert!(local.iter().all(Option::is_some));
    }

    #[test]
    fn the_first_of_every_hundred_is_said() {
        let (mut seldom, mut said) = (Seldom::default(), Vec::new());
        (0..250).for_each(|number| seldom.say(|| said.push(number)));
        assert_eq!(said, [0, 100, 200]);
    }

    #[test]
    fn an_idle_connection_is_kept_while_a_quarter_is_free_in_all_and_of_its_address() {
        for (free, places, expect) in [(16, 64, true), (15, 64, false), (1, 1, true), (0, 1, false)]
        {
            assert_eq!(has_room(free, places), expect, "{free} of {places}");
        }
        let counts = AddressCounts::default();
        let address = |text: &str| text.parse().unwrap();
        let mut held: Vec<_> = (0..MAX_CONNECTIONS_PER_ADDRESS * 3 / 4)
            .map(|_| counts.enter(address("192.0.2.1")))
            .collect();
        assert!(counts.have_room(address("192.0.2.1")));
        held.push(counts.enter(address("192.0.2.1")));
        assert!(!counts.have_room(address("192.0.2.1")) && counts.have_room(address("192.0.2.2")));
        let local: Vec<_> =
            (0..MAX_CONNECTIONS_PER_ADDRESS).map(|_| counts.enter(address("127.0.0.1"))).collect();
        assert!(local.len() > held.len() && counts.have_room(address("127.0.0.1")));
    }
}
