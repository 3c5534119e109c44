//! Timeouts for the head of a request on an open connection.
//!
//! hyper has one timeout for a head and for an idle connection, and starts a sleep before each head. A proxy keeps its
//! connections open for longer than a head may take, so after the first request the timeout is longer, unless the
//! connection's slot is needed. A later head may then be as slow: it holds no more than an idle connection does.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;

use super::open_connections::ConnectionWait;

/// Sleep of a connection between two heads: setting a new time is cheaper than registering a new timer.
type IdleSleep = Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>;

/// Timer of one connection, which waits for one head at a time.
pub(crate) struct RequestHeadTimer {
    waiting: Arc<ConnectionWait>,
    idle: IdleSleep,
    /// Additional time for a head after the first one.
    longer_by: Duration,
    /// Whether a head was waited for before.
    has_waited: AtomicBool,
}

impl fmt::Debug for RequestHeadTimer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("RequestHeadTimer")
            .field("longer_by", &self.longer_by)
            .finish_non_exhaustive()
    }
}

struct RequestHeadWait {
    /// There until it is dropped.
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    idle: IdleSleep,
    waiting: Arc<ConnectionWait>,
}

impl RequestHeadTimer {
    pub(crate) fn new(waiting: Arc<ConnectionWait>, longer_by: Duration) -> Self {
        Self { waiting, idle: IdleSleep::default(), longer_by, has_waited: AtomicBool::new(false) }
    }
}

impl Timer for RequestHeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let until = match self.has_waited.swap(true, Ordering::Relaxed) {
            true => deadline + self.longer_by,
            false => deadline,
        };
        self.waiting.begin();
        let sleep = match self.idle.lock().take() {
            Some(mut sleep) => {
                sleep.as_mut().reset(until.into());
                sleep
            }
            None => Box::pin(tokio::time::sleep_until(until.into())),
        };
        let (idle, waiting) = (self.idle.clone(), self.waiting.clone());
        Box::pin(RequestHeadWait { sleep: Some(sleep), idle, waiting })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Sleep for RequestHeadWait {}

impl Future for RequestHeadWait {
    type Output = ();

    // hyper checks first whether a head has arrived.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.waiting.has_to_end(context) {
            true => Poll::Ready(()),
            false => match &mut self.sleep {
                Some(sleep) => sleep.as_mut().poll(context),
                None => Poll::Pending,
            },
        }
    }
}

impl Drop for RequestHeadWait {
    fn drop(&mut self) {
        self.waiting.end();
        *self.idle.lock() = self.sleep.take();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    const HEAD: Duration = Duration::from_secs(10);
    const KEPT_FOR: Duration = Duration::from_secs(125);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    /// Other end of a connection that responds only to its head.
    fn connect() -> (DuplexStream, Arc<ConnectionWait>) {
        let (near, far) = duplex(1024);
        let service = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(String::new()))
        });
        let mut builder = http1::Builder::new();
        let waiting = Arc::new(ConnectionWait::new(Instant::now()));
        builder
            .timer(RequestHeadTimer::new(waiting.clone(), KEPT_FOR - HEAD))
            .header_read_timeout(HEAD);
        tokio::spawn(builder.serve_connection(TokioIo::new(far), service));
        (near, waiting)
    }

    /// Sends bytes; returns the seconds until the connection ends.
    async fn seconds(connection: &mut DuplexStream, sent: &[u8]) -> u64 {
        connection.write_all(sent).await.unwrap();
        let began = tokio::time::Instant::now();
        let _ = connection.read_to_end(&mut Vec::new()).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_head_has_its_time_and_no_more() {
        assert_eq!(seconds(&mut connect().0, b"").await, 10);
        assert_eq!(seconds(&mut connect().0, b"GET / HT").await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_stays_open_for_the_next_request_unless_it_has_to_end() {
        assert_eq!(seconds(&mut connect().0, REQUEST).await, 125);
        for sent in [b"".as_slice(), b"GET / HT", REQUEST] {
            let (mut connection, waiting) = connect();
            let ends = async {
                tokio::time::sleep(Duration::from_secs(5)).await;
                waiting.tell_to_end();
            };
            assert_eq!(tokio::join!(seconds(&mut connection, sent), ends).0, 5);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_for_a_request_starts_again() {
        let (mut connection, _) = connect();
        for _ in 0..3 {
            connection.write_all(REQUEST).await.unwrap();
            tokio::time::sleep(KEPT_FOR * 9 / 10).await;
        }
        assert_eq!(seconds(&mut connection, REQUEST).await, 125);
    }
}
