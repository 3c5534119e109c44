//! Options of the server: each is a flag, a variable of the environment and a line of `svctrack.toml`. Those of TLS,
//! proxies, logging and the first start are in the `settings` of these modules.

use std::path::PathBuf;

use clap::Args as _;
use serde::{Deserialize, Serialize};

use super::{listen_address::ListenAddress, setting_text::whole_number};
use crate::{
    backup_folder::BackupInterval, bootstrap::settings::BootstrapSettings,
    observe::settings::ObserveSettings, proxies::settings::ProxySettings,
    routing::served_parts::ServerPart, tls::settings::TlsSettings,
};

/// Requests a second of a token: more than a program with bulk calls needs, fewer than would slow others.
pub(super) const DEFAULT_RATE_LIMIT: u32 = 150;

/// Default of the events of a tenant in a day, in MiB: some three million small ones, 35 a second. A disk of 20 GB
/// lasts for weeks with a sender at this limit, and fills in minutes without it.
pub(super) const DEFAULT_TRACKING_DAILY_MB: u32 = 1_024;

/// Backups that are retained: a week of daily ones.
pub(super) const DEFAULT_BACKUP_KEEP: u32 = 7;

/// Where the store is, and what it may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct StoreSettings {
    /// Data directory [default: ./svctrack-data]
    #[arg(long, env = "SVCTRACK_DATA", value_name = "DIRECTORY")]
    pub data: Option<PathBuf>,
    /// Memory for the store's cache, in MiB [default: 256]
    #[arg(long, env = "SVCTRACK_CACHE_MB", value_name = "MIB", value_parser = whole_number::<u32>)]
    pub cache_mb: Option<u32>,
}

/// Where the server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct AddressSettings {
    /// Address to listen on; a port alone means 127.0.0.1 [default: 127.0.0.1:8080]
    #[arg(long, env = "SVCTRACK_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<ListenAddress>,
    /// URL at which browsers reach the server [default: http:// or, with --tls-cert, https://, and the listen address]
    #[arg(long, env = "SVCTRACK_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Path of the browser script, to serve it under your own domain [default: /svctrack.js]
    #[arg(long, env = "SVCTRACK_SCRIPT_PATH", value_name = "PATH")]
    pub script_path: Option<String>,
    /// Path prefix to which the script sends events [default: /analytics]
    #[arg(long, env = "SVCTRACK_TRACKING_PREFIX", value_name = "PATH")]
    pub tracking_prefix: Option<String>,
}

/// Where the data is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// In the data directory
    #[default]
    Embedded,
    /// In memory, for trials: all data is lost when the server stops
    Memory,
}

/// Settings, by flag, environment or file; each line of the file has the name of its flag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct ConfigOverrides {
    #[command(flatten)]
    #[serde(skip)]
    pub files: StoreSettings,
    /// Storage engine [default: embedded]
    #[arg(long, env = "SVCTRACK_STORE", value_name = "ENGINE", value_enum)]
    pub store: Option<Engine>,
    #[command(flatten)]
    #[serde(skip)]
    pub addresses: AddressSettings,
    #[command(flatten)]
    #[serde(skip)]
    pub tls: TlsSettings,
    #[command(flatten)]
    #[serde(skip)]
    pub proxies: ProxySettings,
    /// Routes to serve, separated by commas; /health and the script are always served [default: all]
    #[arg(long, env = "SVCTRACK_ROUTES", value_name = "PARTS", value_enum, value_delimiter = ',')]
    pub routes: Option<Vec<ServerPart>>,
    /// Requests per second and token, with bursts of twice as many; 0 means no limit [default: 150]
    #[arg(long, env = "SVCTRACK_RATE_LIMIT", value_name = "PER_SECOND", value_parser = whole_number::<u32>)]
    pub rate_limit: Option<u32>,
    /// Requests per second to the tracking routes of a tenant; 0 means no limit [default: 0]
    #[arg(long, env = "SVCTRACK_TRACKING_RATE_LIMIT", value_name = "PER_SECOND", value_parser = whole_number::<u32>)]
    pub tracking_rate_limit: Option<u32>,
    /// MiB of events without a token per day and tenant; 0 means no limit [default: 1024]
    #[arg(long, env = "SVCTRACK_TRACKING_DAILY_MB", value_name = "MIB", value_parser = whole_number::<u32>)]
    pub tracking_daily_mb: Option<u32>,
    /// Interval of scheduled backups, such as 6h or 1day [default: never]
    #[arg(long, env = "SVCTRACK_BACKUP_EVERY", value_name = "INTERVAL")]
    pub backup_every: Option<BackupInterval>,
    /// Directory of scheduled backups; use it for nothing else [default: backups, in the data directory]
    #[arg(long, env = "SVCTRACK_BACKUP_TO", value_name = "DIRECTORY")]
    pub backup_to: Option<PathBuf>,
    /// Number of scheduled backups to retain [default: 7]
    #[arg(long, env = "SVCTRACK_BACKUP_KEEP", value_name = "NUMBER", value_parser = whole_number::<u32>)]
    pub backup_keep: Option<u32>,
    /// Log level: error, warn, info, debug, or a filter by module [default: info]
    #[arg(long, env = "SVCTRACK_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub observe: ObserveSettings,
    #[command(flatten)]
    #[serde(skip)]
    pub bootstrap: BootstrapSettings,
}

/// Names of all settings, which are those of their flags, in this order.
pub(super) fn names() -> Vec<String> {
    let command = ConfigOverrides::augment_args(clap::Command::new("svctrack"));
    command.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
}
