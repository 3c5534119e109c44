//! Open connections: their limits, and which of them end where another one needs a place: those that wait for their
//! client, to send something or to read a response, of the address that has the most first, and those that have waited
//! longest.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    future::{pending, poll_fn},
    net::IpAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::task::AtomicWaker;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    limits::{
        CROWDED_CHECK_INTERVAL, MAX_CONNECTIONS_PER_ADDRESS, MIN_WAIT_FOR_CLIENT,
        MIN_WAIT_FOR_READER, TRANSFERRED_BYTE_US,
    },
    proxies::Proxies,
};

/// All connections of a server.
#[derive(Clone)]
pub(crate) struct Connections(Arc<SharedConnections>);

struct SharedConnections {
    places: usize,
    proxies: Proxies,
    started: Instant,
    open: Mutex<OpenConnections>,
    /// Notified when a connection has ended.
    left: Notify,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    all: BTreeMap<u64, (IpAddr, Arc<ConnectionWait>)>,
    of_address: HashMap<IpAddr, usize>,
}

/// Slot of an open connection; it is released when dropped.
pub(crate) struct ConnectionSlot {
    connections: Connections,
    id: u64,
    address: IpAddr,
    pub(crate) waiting: Arc<ConnectionWait>,
}

/// Whether a connection waits for its client, and whether it has to end if so.
#[derive(Debug)]
pub(crate) struct ConnectionWait {
    started: Instant,
    for_sender: WaitTime,
    for_reader: WaitTime,
    has_to_end: AtomicBool,
    /// Whether the last response left some of its request unread.
    has_unread: AtomicBool,
    waker: AtomicWaker,
}

/// How long a connection has waited for its client in one direction. Times are microseconds after the start of the
/// server.
#[derive(Debug, Default)]
struct WaitTime {
    /// Time since when the connection waits; 0 while it does not.
    since: AtomicU64,
    /// Earlier waits for bytes that were transferred since, beyond the time that these should take: a client that
    /// transfers a byte now and then is still waited for.
    overdue_us: AtomicU64,
}

impl WaitTime {
    /// Notes that the connection waits, unless it does already.
    fn begin(&self, now: u64) {
        let overdue = self.overdue_us.load(Ordering::Relaxed);
        let since = now.saturating_sub(overdue).max(1);
        let _ = self.since.compare_exchange(0, since, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that some bytes were transferred: until the next wait begins, the connection does not wait.
    fn transfer(&self, now: impl FnOnce() -> u64, bytes: usize) {
        let waited = match self.since.swap(0, Ordering::Relaxed) {
            0 => self.overdue_us.load(Ordering::Relaxed),
            since => now().saturating_sub(since),
        };
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let should_take = bytes.saturating_mul(TRANSFERRED_BYTE_US);
        self.overdue_us.store(waited.saturating_sub(should_take), Ordering::Relaxed);
    }

    /// Notes that the connection does not wait any more.
    fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
        self.overdue_us.store(0, Ordering::Relaxed);
    }

    /// How long the connection has waited.
    fn waited(&self, now: u64) -> Duration {
        match self.since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_micros(now.saturating_sub(since)),
        }
    }

    /// Time since when the connection waits, if it has for at least this long.
    fn since(&self, now: u64, min: Duration) -> Option<u64> {
        let since = self.since.load(Ordering::Relaxed);
        (since > 0 && self.waited(now) >= min).then_some(since)
    }
}

impl ConnectionWait {
    pub(crate) fn new(started: Instant) -> Self {
        let (for_sender, for_reader) = (WaitTime::default(), WaitTime::default());
        let (has_to_end, has_unread) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { started, for_sender, for_reader, has_to_end, has_unread, waker: AtomicWaker::new() }
    }

    /// Notes that the client may send more of its request than is read.
    pub(crate) fn leave_unread(&self) {
        self.has_unread.store(true, Ordering::Relaxed);
    }

    /// Whether the client may send more of its request than is read.
    pub(crate) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Relaxed)
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Notes that the connection waits for its client to send something, unless it does already.
    pub(crate) fn begin(&self) {
        self.for_sender.begin(self.now_us());
    }

    /// Notes that some bytes of a body arrived: until more are requested, the connection does not wait for them.
    pub(crate) fn receive(&self, bytes: usize) {
        self.for_sender.transfer(|| self.now_us(), bytes);
    }

    /// Notes that the connection does not wait for something to be sent any more.
    pub(crate) fn end(&self) {
        self.for_sender.end();
    }

    /// Notes that a write waits for the client to read, unless it does already.
    pub(crate) fn begin_write(&self) {
        self.for_reader.begin(self.now_us());
    }

    /// Notes that the client accepted some bytes of a response.
    pub(crate) fn write(&self, bytes: usize) {
        self.for_reader.transfer(|| self.now_us(), bytes);
    }

    /// Waits until the connection has to end, and its write has waited for long enough to give way.
    pub(crate) async fn reader_gives_way(&self) {
        self.unless_it_has_to_end(pending::<()>()).await;
        let waited = self.for_reader.waited(self.now_us());
        sleep(MIN_WAIT_FOR_READER.saturating_sub(waited)).await;
    }

    /// Whether the connection has to end; else the task is woken when it has to.
    pub(crate) fn has_to_end(&self, context: &Context<'_>) -> bool {
        self.waker.register(context.waker());
        self.has_to_end.load(Ordering::SeqCst)
    }

    /// Time since when the connection waits, if it has for long enough to give way and was not asked to end before.
    fn since(&self) -> Option<u64> {
        if self.has_to_end.load(Ordering::SeqCst) {
            return None;
        }
        let now = self.now_us();
        let for_sender = self.for_sender.since(now, MIN_WAIT_FOR_CLIENT);
        let for_reader = self.for_reader.since(now, MIN_WAIT_FOR_READER);
        for_sender.into_iter().chain(for_reader).min()
    }

    /// Outcome of work that waits for the client; none where the connection had to end before.
    pub(crate) async fn for_client<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.begin();
        let done = self.unless_it_has_to_end(work).await;
        self.end();
        done
    }

    /// Outcome of `work`; none where the connection had to end before.
    pub(crate) async fn unless_it_has_to_end<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if self.has_to_end(context) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    pub(crate) fn tell_to_end(&self) {
        self.has_to_end.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

impl Connections {
    /// Connections with a number of slots (`places`); proxies may have all of them.
    pub(crate) fn new(places: usize, proxies: Proxies) -> Self {
        Self::started(Instant::now(), places, proxies)
    }

    fn started(started: Instant, places: usize, proxies: Proxies) -> Self {
        let (open, left) = (Mutex::default(), Notify::new());
        Self(Arc::new(SharedConnections { places, proxies, started, open, left }))
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.open.lock()
    }

    /// Waits for a slot; `None` if the address has the maximum of connections, and all of them are busy. A proxy
    /// connects for many clients and may have all slots.
    pub(crate) async fn enter(&self, address: IpAddr) -> Option<ConnectionSlot> {
        while self.is_full() {
            self.make_room();
            // Connections that are busy may wait by then.
            let _ = timeout(CROWDED_CHECK_INTERVAL, self.0.left.notified()).await;
        }
        let mut open = self.lock();
        let of_address = open.of_address.get(&address).copied().unwrap_or(0);
        let is_at_cap = of_address >= MAX_CONNECTIONS_PER_ADDRESS && !self.0.proxies.have(address);
        if is_at_cap && open.end_longest_waiting(1, |other| other == address) == 0 {
            return None;
        }
        let waiting = Arc::new(ConnectionWait::new(self.0.started));
        open.next += 1;
        let id = open.next;
        open.all.insert(id, (address, waiting.clone()));
        *open.of_address.entry(address).or_default() += 1;
        Some(ConnectionSlot { connections: self.clone(), id, address, waiting })
    }

    /// Ends all connections that wait for their client, and later ones as well.
    pub(crate) fn end_waiting(&self) {
        self.lock().all.values().for_each(|(_, waiting)| waiting.tell_to_end());
    }

    fn is_full(&self) -> bool {
        self.lock().all.len() >= self.0.places
    }

    /// Ends some of the connections that wait, if there are any: several at a time, since more slots are needed soon.
    pub(crate) fn make_room(&self) {
        let count = 1 + self.0.places / Self::PARTS;
        self.lock().end_longest_waiting(count, |_| true);
    }

    /// Share of the slots that is released at a time.
    const PARTS: usize = 64;
}

impl OpenConnections {
    /// Ends up to `count` connections of some addresses: those that have waited longest and were not asked to end
    /// before. Returns how many.
    fn end_longest_waiting(&self, count: usize, is_of: impl Fn(IpAddr) -> bool) -> usize {
        let of_these = self.all.values().filter(|(address, _)| is_of(*address));
        let mut waiting: Vec<_> = of_these
            .filter_map(|(address, waiting)| {
                let of_address = self.of_address.get(address).copied().unwrap_or(0);
                Some((Reverse(of_address), waiting.since()?, waiting))
            })
            .collect();
        waiting.sort_unstable_by_key(|(of_address, since, _)| (*of_address, *since));
        waiting.iter().take(count).map(|(.., waiting)| waiting.tell_to_end()).count()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.all.remove(&self.id);
        if let Some(count) = open.of_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.of_address.remove(&self.address);
            }
        }
        drop(open);
        self.connections.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use futures_util::FutureExt as _;

    use super::*;

    const MANY: usize = 1_000;

    /// Connections a while after the start, so that one that has waited since then gives way.
    fn connections(places: usize, proxies: Proxies) -> Connections {
        let started = Instant::now().checked_sub(2 * MIN_WAIT_FOR_CLIENT).unwrap();
        Connections::started(started, places, proxies)
    }

    fn enter(connections: &Connections, address: &str) -> Option<ConnectionSlot> {
        connections.enter(address.parse().unwrap()).now_or_never().expect("it has to wait")
    }

    fn has_to_end(place: &ConnectionSlot) -> bool {
        place.waiting.has_to_end(&Context::from_waker(Waker::noop()))
    }

    /// Places of `count` connections, which began to wait one after the other.
    fn waiting(connections: &Connections, address: &str, count: u64) -> Vec<ConnectionSlot> {
        (1..=count)
            .map(|since| {
                let place = enter(connections, address).unwrap();
                place.waiting.for_sender.since.store(since, Ordering::Relaxed);
                place
            })
            .collect()
    }

    /// One direction of a connection, in a test: how a wait begins, and how bytes are transferred.
    type Direction =
        (fn(&ConnectionWait) -> &WaitTime, fn(&ConnectionWait), fn(&ConnectionWait, usize));

    const DIRECTIONS: [Direction; 2] = [
        (|waiting| &waiting.for_sender, ConnectionWait::begin, ConnectionWait::receive),
        (|waiting| &waiting.for_reader, ConnectionWait::begin_write, ConnectionWait::write),
    ];

    #[test]
    fn a_client_of_a_byte_now_and_then_is_waited_for_and_one_as_fast_as_a_line_is_not() {
        let started = Instant::now().checked_sub(20 * MIN_WAIT_FOR_CLIENT).unwrap();
        for (direction, begin, transfer) in DIRECTIONS {
            let waits_after = |pieces: usize, bytes: usize| {
                let waiting = ConnectionWait::new(started);
                direction(&waiting).since.store(1, Ordering::Relaxed);
                for _ in 0..pieces {
                    transfer(&waiting, bytes);
                    assert_eq!(waiting.since(), None, "nobody waits for its client meanwhile");
                    begin(&waiting);
                }
                waiting.since().is_some()
            };
            assert!(waits_after(0, 0) && waits_after(33, 1) && waits_after(1, 1_000));
            assert!(!waits_after(1, 80 * 1024) && !waits_after(80, 1024));
        }
        let waiting = ConnectionWait::new(started);
        waiting.for_sender.since.store(1, Ordering::Relaxed);
        waiting.end();
        waiting.begin();
        assert_eq!(waiting.since(), None, "what is over is no part of the next wait");
    }

    #[test]
    fn an_address_has_a_cap_but_a_proxy_has_none() {
        let proxies = Proxies::from(vec!["203.0.113.0/24".parse().unwrap()]);
        let connections = connections(MANY, proxies);
        let enter = |address| enter(&connections, address);
        let mut held: Vec<_> =
            (0..MAX_CONNECTIONS_PER_ADDRESS).map(|_| enter("192.0.2.1")).collect();
        assert!(held.iter().all(Option::is_some) && enter("192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some());
        held.pop();
        assert!(enter("192.0.2.1").is_some());
        for proxy in ["127.0.0.1", "203.0.113.7"] {
            let held: Vec<_> = (0..=MAX_CONNECTIONS_PER_ADDRESS).map(|_| enter(proxy)).collect();
            assert!(held.iter().all(Option::is_some), "{proxy}");
        }
    }

    #[test]
    fn at_its_cap_an_address_gets_a_place_for_the_one_of_its_own_that_has_waited_longest() {
        let connections = connections(MANY, Proxies::default());
        let other = waiting(&connections, "192.0.2.2", 1);
        let held = waiting(&connections, "192.0.2.1", MAX_CONNECTIONS_PER_ADDRESS as u64);
        held[0].waiting.end();
        assert!(enter(&connections, "192.0.2.1").is_some());
        assert!(has_to_end(&held[1]));
        let others = held.iter().enumerate().filter(|(at, _)| *at != 1);
        assert!(!others.map(|(_, place)| place).chain(&other).any(has_to_end));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_place_left_the_one_of_the_largest_address_that_has_waited_longest_ends() {
        let connections = connections(4, Proxies::default());
        let first = waiting(&connections, "192.0.2.1", 1);
        let more = waiting(&connections, "192.0.2.2", 3);
        more[0].waiting.end();
        let mut next = Box::pin(connections.enter("192.0.2.3".parse().unwrap()));
        assert!(futures_util::poll!(&mut next).is_pending());
        let [busy, longest, newest] = <[ConnectionSlot; 3]>::try_from(more).ok().unwrap();
        assert!(has_to_end(&longest) && ![&first[0], &busy, &newest].into_iter().any(has_to_end));
        drop(longest);
        assert!(next.await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_one_comes_in_once_a_busy_one_begins_to_wait() {
        let connections = connections(1, Proxies::default());
        let busy = enter(&connections, "192.0.2.1").unwrap();
        let ends = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            busy.waiting.begin();
            while !has_to_end(&busy) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(busy);
        };
        let (entered, ()) = tokio::join!(connections.enter("192.0.2.2".parse().unwrap()), ends);
        assert!(entered.is_some());
    }
}
