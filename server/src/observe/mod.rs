//! Observability: a log line for each failed, slow or sampled request, and Prometheus metrics on a separate address.
//!
//! Measuring a request takes no lock and no allocation, unless it is rejected or logged. Log lines and metrics never
//! have e-mails, tokens, bodies, query values or paths with ids.

pub(crate) mod admin_server;
pub mod connection_counts;
mod metrics_text;
pub(crate) mod recent_totals;
pub mod request_log;
pub(crate) mod request_metrics;
pub(crate) mod resources;
pub(crate) mod running_request;
pub mod settings;
pub(crate) mod trace;

use std::{path::PathBuf, sync::Arc, time::Duration};

use svctrack_core::value::Timestamp;
use svctrack_store::{Clock as _, SystemClock};

use self::{
    connection_counts::ConnectionCounts, recent_totals::RecentTotals, request_log::RequestLog,
    request_metrics::RequestMetrics, settings::ObserveConfig,
};
use crate::{log::LogLines, tls::acceptor::Tls};

/// The observation of a server.
pub struct Observability {
    pub(crate) log: RequestLog,
    pub(crate) requests: RequestMetrics,
    pub(crate) recent: RecentTotals,
    pub(crate) connections: Arc<ConnectionCounts>,
    /// The server's TLS, if it has one.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Directory of the store, whose disk has the free space.
    pub(crate) data: Option<PathBuf>,
    pub(crate) started: Timestamp,
}

impl Default for Observability {
    /// Observes without a request log.
    fn default() -> Self {
        Self {
            log: RequestLog::default(),
            requests: RequestMetrics::default(),
            recent: RecentTotals::default(),
            connections: Arc::default(),
            tls: None,
            data: None,
            started: SystemClock.now(),
        }
    }
}

impl Observability {
    /// Observes as configured; lines go to the log.
    pub(crate) fn new(config: &ObserveConfig, lines: LogLines) -> Self {
        let slow = Duration::from_millis(config.log_slow_ms.into());
        let log = RequestLog::new(lines, config.log_format, config.log_requests, slow);
        Self { log, ..Self::default() }
    }
}
