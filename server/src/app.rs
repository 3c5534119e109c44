//! What a request is served with: the store, the clock and the configuration.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use svctrack_core::value::Timestamp;

use crate::{body::BodyBudget, observe::RequestIds, store::Store};

/// Where now comes from.
pub trait Clock: Send + Sync {
    /// The time, as well as it is known.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms_clamped(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The application: one of it for all requests.
pub struct App {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) public_url: String,
    pub(crate) bodies: BodyBudget,
    pub(crate) request_ids: RequestIds,
}

impl App {
    /// An application over a store. `public_url` is how browsers reach it, without a slash at the end.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, public_url: &str) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            public_url: public_url.trim_end_matches('/').to_owned(),
            bodies: BodyBudget::default(),
            request_ids: RequestIds::default(),
        })
    }
}
