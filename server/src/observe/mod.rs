//! What an operator sees of a running server: a line for each request that failed, was slow or is sampled.
//!
//! The path of a request pays no lock and no allocation for it, unless its line is written. Neither e-mails nor tokens,
//! bodies, query values or paths with ids are ever part of it.

pub mod request_log;
pub mod settings;
pub(crate) mod trace;
pub(crate) mod watch;

use std::time::Duration;

use self::{request_log::RequestLog, settings::ObserveConfig};
use crate::log::Lines;

/// The observation of a server.
#[derive(Default)]
pub struct Observe {
    pub(crate) requests: RequestLog,
}

impl Observe {
    /// One as it is configured, whose lines go to the log.
    pub(crate) fn new(config: &ObserveConfig, lines: Lines) -> Self {
        let slow = Duration::from_millis(config.log_slow_ms.into());
        Self { requests: RequestLog::new(lines, config.log_format, config.log_requests, slow) }
    }
}
