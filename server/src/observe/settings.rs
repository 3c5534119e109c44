//! The settings of what an operator sees of a running server.

use serde::{Deserialize, Serialize};

use super::request_log::LogRequests;
use crate::log::LogFormat;

/// From how many milliseconds on a request is slow: people notice a second.
const DEFAULT_SLOW_MS: u32 = 1_000;

/// What may be given, by flag, environment or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct ObserveSettings {
    /// Format of log lines [default: text]
    #[arg(long, env = "SVCTRACK_LOG_FORMAT", value_name = "FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,
    /// Requests to log: off, failed (and slow ones), all, or a number N for failed, slow and one in N others
    /// [default: failed]
    #[arg(long, env = "SVCTRACK_LOG_REQUESTS", value_name = "WHICH")]
    pub log_requests: Option<LogRequests>,
    /// Milliseconds from which on a request is slow [default: 1000]
    #[arg(long, env = "SVCTRACK_LOG_SLOW_MS", value_name = "MS")]
    pub log_slow_ms: Option<u32>,
}

/// The settings in force.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObserveConfig {
    /// Format of log lines.
    pub log_format: LogFormat,
    /// Which requests are logged.
    pub log_requests: LogRequests,
    /// Milliseconds from which on a request is slow.
    pub log_slow_ms: u32,
}

impl ObserveSettings {
    /// What is in force when `self` wins over `file`.
    pub(crate) fn over(self, file: Self) -> ObserveConfig {
        ObserveConfig {
            log_format: self.log_format.or(file.log_format).unwrap_or_default(),
            log_requests: self.log_requests.or(file.log_requests).unwrap_or_default(),
            log_slow_ms: self.log_slow_ms.or(file.log_slow_ms).unwrap_or(DEFAULT_SLOW_MS),
        }
    }
}
