//! The settings of logging and metrics.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::request_log::LogRequests;
use crate::{
    config::{
        listen_address::ListenAddress,
        setting_text::{setting_as_text, whole_number},
    },
    log::LogFormat,
};

/// Default port of Prometheus itself, and of the metrics of many programs.
const DEFAULT_ADMIN_PORT: u16 = 9090;

/// Address of the metrics for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// No figures are offered.
    Off,
    /// The metrics are served at this address.
    On(ListenAddress),
}

setting_as_text!(AdminListen);

impl FromStr for AdminListen {
    type Err = String;

    /// # Errors
    /// A message with the expected form.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            address => ListenAddress::parse(address, DEFAULT_ADMIN_PORT).map(Self::On),
        }
    }
}

impl fmt::Display for AdminListen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On(address) => address.fmt(f),
        }
    }
}

/// Milliseconds from which on a request is slow: people notice a second.
const DEFAULT_SLOW_MS: u32 = 1_000;

/// Settings of logs and metrics, by flag, environment or file.
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
    /// Duration in milliseconds from which a request counts as slow [default: 1000]
    #[arg(long, env = "SVCTRACK_LOG_SLOW_MS", value_name = "MS", value_parser = whole_number::<u32>)]
    pub log_slow_ms: Option<u32>,
    /// Host and port for /metrics and /ready, or off [default: 127.0.0.1:9090, if it is free]
    #[arg(long, env = "SVCTRACK_ADMIN_LISTEN", value_name = "HOST:PORT")]
    pub admin_listen: Option<AdminListen>,
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
    /// Address of the metrics.
    pub admin_listen: AdminListen,
    /// Whether the address was set, so that it must be available.
    #[serde(skip)]
    pub is_admin_asked_for: bool,
}

impl ObserveSettings {
    /// Settings in force when `self` wins over `file`.
    pub(crate) fn over(self, file: Self) -> ObserveConfig {
        let admin_listen = self.admin_listen.or(file.admin_listen);
        ObserveConfig {
            is_admin_asked_for: admin_listen.is_some(),
            admin_listen: admin_listen
                .unwrap_or_else(|| AdminListen::On(ListenAddress::on_loopback(DEFAULT_ADMIN_PORT))),
            log_format: self.log_format.or(file.log_format).unwrap_or_default(),
            log_requests: self.log_requests.or(file.log_requests).unwrap_or_default(),
            log_slow_ms: self.log_slow_ms.or(file.log_slow_ms).unwrap_or(DEFAULT_SLOW_MS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_suggests_the_port_for_figures() {
        let said = |text: &str| text.parse::<AdminListen>().unwrap_err();
        assert_eq!(said("nowhere"), "the port is missing: nowhere:9090");
        assert!(said("::1").ends_with("[::1]:9090") && said("").contains("localhost:9090"));
        assert_eq!("9091".parse::<AdminListen>().unwrap().to_string(), "127.0.0.1:9091");
        let default = ObserveSettings::default().over(ObserveSettings::default());
        assert_eq!(default.admin_listen.to_string(), "127.0.0.1:9090");
    }
}
