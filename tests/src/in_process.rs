//! The server in this process: the same application and the same loop, over a store and a clock that a
//! test can give.

use std::{
    env,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use svctrack_core::value::Timestamp;
use svctrack_server::{
    app::{App, Limits},
    connection::{
        listener::{ClientLimits, serve},
        workers::Workers,
    },
    proxies::Proxies,
    routing::router,
};
use svctrack_store::{
    Clock, Store, SystemClock, TokenRecord,
    embedded::{Embedded, storage::StoreFile},
    memory::Memory,
};
use svctrack_web::Addresses;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot};

use crate::{client::Client, direct::SMALL_LOG, tokens::Tokens};

/// Cache of a test's store, in bytes.
const CACHE_BYTES: usize = 16 * 1024 * 1024;
/// The default of a server.
const USUAL_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// A clock that moves only when it is set.
pub struct StillClock(AtomicI64);

impl StillClock {
    /// A clock that shows this time.
    pub fn at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.as_ms()))
    }

    pub fn set(&self, time: Timestamp) {
        self.0.store(time.as_ms(), Ordering::SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms_clamped(self.0.load(Ordering::SeqCst))
    }
}

/// A clock that a test sets, of a machine that runs on meanwhile; both in milliseconds.
pub struct SetClock {
    shown: AtomicI64,
    running: AtomicI64,
}

impl SetClock {
    /// A clock that shows this time.
    pub fn at(time: Timestamp) -> Self {
        Self { shown: AtomicI64::new(time.as_ms()), running: AtomicI64::new(0) }
    }

    pub fn pass(&self, ms: i64) {
        self.shown.fetch_add(ms, Ordering::SeqCst);
        self.running.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the clock forward, or back.
    pub fn set_by(&self, ms: i64) {
        self.shown.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms_clamped(self.shown.load(Ordering::SeqCst))
    }

    fn running(&self, _: Timestamp) -> Duration {
        Duration::from_millis(self.running.load(Ordering::SeqCst).unsigned_abs())
    }
}

/// Whether servers on an empty store have it in memory: who sets `SVCTRACK_STORE`, as `svctrack serve` reads it, runs a
/// suite on that engine.
pub fn is_in_memory() -> bool {
    env::var("SVCTRACK_STORE").is_ok_and(|engine| engine == "memory")
}

/// An empty store, and the folder that it is in.
fn empty_store(clock: Arc<dyn Clock>) -> (Arc<dyn Store>, Option<TempDir>) {
    if is_in_memory() {
        return (Arc::new(Memory::new(clock).unwrap()), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(folder.path(), CACHE_BYTES, clock).unwrap();
    (Arc::new(store), Some(folder))
}

/// A running server; it stops when dropped.
pub struct InProcess {
    /// A client with its token.
    pub client: Client,
    /// A client with an operator's token.
    pub operator: Client,
    /// A client with no token.
    pub anonymous: Client,
    pub base: String,
    pub store: Arc<dyn Store>,
    pub app: Arc<App>,
    _stop: oneshot::Sender<()>,
    _folder: Option<TempDir>,
}

impl InProcess {
    /// Starts a server on an empty store.
    pub async fn start() -> Self {
        Self::with_clock(Arc::new(SystemClock)).await
    }

    /// Starts a server on an empty store, with a clock of the test's.
    pub async fn with_clock(clock: Arc<dyn Clock>) -> Self {
        let (store, folder) = empty_store(clock.clone());
        Self::serve(store, clock, folder, |_| {}).await
    }

    /// Starts a server on a folder that is empty, with a clock of the test's and a cache as it usually is.
    pub async fn in_folder(folder: &Path, clock: Arc<dyn Clock>) -> Self {
        let store = Embedded::open(folder, USUAL_CACHE_BYTES, clock.clone()).unwrap();
        Self::serve(Arc::new(store), clock, None, |_| {}).await
    }

    /// Starts a server on an empty store, with a token that `change` has changed.
    pub async fn with_token(change: impl FnOnce(&mut TokenRecord)) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (store, folder) = empty_store(clock.clone());
        Self::serve(store, clock, folder, change).await
    }

    /// Starts a server on a medium of the test's.
    pub async fn with_file(store_file: Box<dyn StoreFile>) -> Self {
        Self::with_file_and_cache(store_file, CACHE_BYTES).await
    }

    /// Starts a server on a medium and with a cache of the test's.
    pub async fn with_file_and_cache(store_file: Box<dyn StoreFile>, cache_bytes: usize) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = Embedded::open_file(store_file, cache_bytes, SMALL_LOG, clock.clone()).unwrap();
        Self::serve(Arc::new(store), clock, None, |_| {}).await
    }

    async fn serve(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        folder: Option<TempDir>,
        change: impl FnOnce(&mut TokenRecord),
    ) -> Self {
        let tokens = Tokens::create(&*store, SystemClock.now(), change).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = App::new(store.clone(), clock, Addresses::new(&base), Limits::default());
        let endpoint = router::endpoint(&app).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let mut workers = Workers::start().unwrap();
        tokio::spawn(async move {
            let stop = async { drop(stopped.await) };
            let clients = ClientLimits::for_workers(&workers, Proxies::default(), Arc::default());
            serve(listener, clients, &mut workers, endpoint, stop).await
        });
        Self {
            client: Client::new(&base, Some(&tokens.tenant)),
            operator: Client::new(&base, Some(&tokens.operator)),
            anonymous: Client::new(&base, None),
            base,
            store,
            app,
            _stop: stop,
            _folder: folder,
        }
    }
}
