//! How long a connection waits for the head of a request.
//!
//! hyper has one time for a head and for a connection that is kept for the next request, and asks for a sleep before
//! each head. A proxy keeps its connections for longer than a head may take, so after the first request there is more of
//! it while there is room for others. A later head may come as slowly: it holds no more than an idle connection does.

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

/// The timer of one connection, which waits for one head at a time.
#[derive(Debug)]
pub(crate) struct HeadTimer(Arc<Kept>);

/// For how long a connection is kept.
struct Kept {
    /// Whether there is room for others, which is looked at so often.
    has_room: Box<dyn Fn() -> bool + Send + Sync>,
    looks_every: Duration,
    /// For how long at the most.
    at_most: Duration,
    /// Whether a head was waited for before.
    has_waited: AtomicBool,
}

impl fmt::Debug for Kept {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Kept").field("at_most", &self.at_most).finish_non_exhaustive()
    }
}

/// Waits for a head.
struct Wait {
    sleep: Pin<Box<tokio::time::Sleep>>,
    /// When it is over however much room there is.
    at_most_until: Instant,
    kept: Arc<Kept>,
}

impl HeadTimer {
    /// After its first request a connection is kept for `at_most` so long, as long as it `has_room`.
    pub(crate) fn new(
        (looks_every, at_most): (Duration, Duration),
        has_room: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let (has_room, has_waited) = (Box::new(has_room), AtomicBool::new(false));
        Self(Arc::new(Kept { has_room, looks_every, at_most, has_waited }))
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let kept = self.0.clone();
        let at_most_until = match kept.has_waited.swap(true, Ordering::Relaxed) {
            true => deadline.max(self.now() + kept.at_most),
            false => deadline,
        };
        let sleep = Box::pin(tokio::time::sleep_until(deadline.into()));
        Box::pin(Wait { sleep, at_most_until, kept })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(context).is_ready() {
            let over = self.sleep.deadline().into_std();
            if over >= self.at_most_until || !(self.kept.has_room)() {
                return Poll::Ready(());
            }
            let next = (over + self.kept.looks_every).min(self.at_most_until);
            self.sleep.as_mut().reset(next.into());
        }
        Poll::Pending
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
    const AT_MOST: Duration = Duration::from_secs(125);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    /// The other end of a connection that answers nothing but its head.
    fn connect(has_room: impl Fn() -> bool + Send + Sync + 'static) -> DuplexStream {
        let (near, far) = duplex(1024);
        let answer = service_fn(|_: Request<Incoming>| async {
            Ok::<_, Infallible>(Response::new(String::new()))
        });
        let mut builder = http1::Builder::new();
        builder.timer(HeadTimer::new((HEAD, AT_MOST), has_room)).header_read_timeout(HEAD);
        tokio::spawn(builder.serve_connection(TokioIo::new(far), answer));
        near
    }

    /// Sends something; in how many seconds the connection ends then.
    async fn seconds(connection: &mut DuplexStream, sent: &[u8]) -> u64 {
        connection.write_all(sent).await.unwrap();
        let began = tokio::time::Instant::now();
        let _ = connection.read_to_end(&mut Vec::new()).await;
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_head_has_its_time_and_no_more() {
        assert_eq!(seconds(&mut connect(|| true), b"").await, 10);
        assert_eq!(seconds(&mut connect(|| true), b"GET / HT").await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_for_the_next_request_as_long_as_there_is_room() {
        assert_eq!(seconds(&mut connect(|| true), REQUEST).await, 125);
        assert_eq!(seconds(&mut connect(|| false), REQUEST).await, 10);
        let began = tokio::time::Instant::now();
        let crowded_from = Duration::from_secs(35);
        let mut crowded_later = connect(move || began.elapsed() < crowded_from);
        assert_eq!(seconds(&mut crowded_later, REQUEST).await, 40);
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_for_a_request_begins_anew() {
        let mut connection = connect(|| true);
        for _ in 0..3 {
            connection.write_all(REQUEST).await.unwrap();
            tokio::time::sleep(AT_MOST * 9 / 10).await;
        }
        assert_eq!(seconds(&mut connection, REQUEST).await, 125);
    }
}
