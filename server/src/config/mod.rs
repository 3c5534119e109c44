//! The configuration: a flag wins over its environment variable, which wins over `svctrack.toml`,
//! which wins over the default.

mod effective;
mod error;
mod file;
pub mod listen_address;
mod options;
pub(crate) mod setting_text;

use std::{
    num::{NonZeroU32, NonZeroU64},
    path::PathBuf,
};

use poem::http::uri::Scheme;
use serde::Serialize;
use svctrack_store::{RateLimits, embedded::Embedded};
use svctrack_web::{Addresses, DEFAULT_SCRIPT_PATH, DEFAULT_TRACKING_PREFIX, MAX_PATH_BYTES};

use self::listen_address::ListenAddress;
use crate::{
    app::Limits,
    backup_folder::{BackupInterval, Schedule},
    bootstrap::settings::BootstrapConfig,
    observe::settings::ObserveConfig,
    proxies::settings::ProxyConfig,
    routing::served_parts::{ServedParts, ServerPart},
    tls::settings::TlsFiles,
};

use self::options::{DEFAULT_BACKUP_KEEP, DEFAULT_RATE_LIMIT, DEFAULT_TRACKING_DAILY_MB};
pub use self::{
    error::ConfigError,
    file::{FILE_NAME, names_in_file},
    options::{AddressSettings, ConfigOverrides, Engine, StoreSettings},
};

/// Folder of backups in the data folder.
const BACKUPS: &str = "backups";

/// The configuration in force.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Storage engine of the data.
    pub store: Engine,
    /// Folder of the data.
    pub data: PathBuf,
    /// Memory for the store's cache, in MiB.
    pub cache_mb: u32,
    /// Host and port to listen on.
    pub listen: ListenAddress,
    /// Address at which browsers reach the server, if it is not the listen address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Path of the browser script.
    pub script_path: String,
    /// Prefix of the paths that the script sends events to.
    pub tracking_prefix: String,
    /// Files of the certificate, if the server speaks TLS.
    #[serde(flatten)]
    pub tls: Option<TlsFiles>,
    #[serde(flatten)]
    pub proxies: ProxyConfig,
    pub routes: Vec<ServerPart>,
    /// Requests a second of each token; 0 sets no limit.
    pub rate_limit: u32,
    /// Requests a second to the tracking routes of each tenant; 0 sets no limit.
    pub tracking_rate_limit: u32,
    /// Maximum size of the events that are sent to a tenant without a token, in MiB a day; 0 sets no limit.
    pub tracking_daily_mb: u32,
    /// Interval of backups, if they are scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_every: Option<BackupInterval>,
    /// Folder of these backups, if it is not in the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_to: Option<PathBuf>,
    /// Number of backups that are retained.
    pub backup_keep: u32,
    pub log: String,
    #[serde(flatten)]
    pub observe: ObserveConfig,
    /// Tenant and tokens of the first start.
    #[serde(skip)]
    pub bootstrap: Option<BootstrapConfig>,
}

impl ConfigOverrides {
    /// Settings in force when `self` wins over `file`.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for a value that cannot be used.
    pub fn over(self, file: Self) -> Result<Config, ConfigError> {
        let (files, of_file) = (self.files, file.files);
        let (addresses, in_file) = (self.addresses, file.addresses);
        let in_words = |message: &str| ConfigError::Value(message.to_owned());
        Ok(Config {
            store: self.store.or(file.store).unwrap_or_default(),
            data: files.data.or(of_file.data).unwrap_or_else(|| "./svctrack-data".into()),
            cache_mb: at_least_one("cache-mb", files.cache_mb.or(of_file.cache_mb), 256)?,
            listen: addresses.listen.or(in_file.listen).unwrap_or_default(),
            public_url: addresses.public_url.or(in_file.public_url).map(check_url).transpose()?,
            script_path: read_script_path(addresses.script_path.or(in_file.script_path))?,
            tracking_prefix: read_prefix(addresses.tracking_prefix.or(in_file.tracking_prefix))?,
            tls: self.tls.over(file.tls).map_err(in_words)?,
            proxies: self.proxies.over(file.proxies).map_err(in_words)?,
            routes: self.routes.or(file.routes).unwrap_or_else(|| ServerPart::ALL.to_vec()),
            rate_limit: self.rate_limit.or(file.rate_limit).unwrap_or(DEFAULT_RATE_LIMIT),
            tracking_rate_limit: self.tracking_rate_limit.or(file.tracking_rate_limit).unwrap_or(0),
            tracking_daily_mb: self
                .tracking_daily_mb
                .or(file.tracking_daily_mb)
                .unwrap_or(DEFAULT_TRACKING_DAILY_MB),
            backup_every: self.backup_every.or(file.backup_every),
            backup_to: self.backup_to.or(file.backup_to),
            backup_keep: at_least_one(
                "backup-keep",
                self.backup_keep.or(file.backup_keep),
                DEFAULT_BACKUP_KEEP,
            )?,
            log: self.log.or(file.log).unwrap_or_else(|| "info".to_owned()),
            observe: self.observe.over(file.observe),
            bootstrap: self.bootstrap.over(file.bootstrap).map_err(ConfigError::Value)?,
        })
    }
}

/// A setting of at least 1, or its default where it is not given.
fn at_least_one(name: &str, given: Option<u32>, default: u32) -> Result<u32, ConfigError> {
    match given.unwrap_or(default) {
        0 => Err(ConfigError::Value(format!("{name} must be at least 1"))),
        number => Ok(number),
    }
}

fn check_url(url: String) -> Result<String, ConfigError> {
    let plain = url::Url::parse(&url).is_ok_and(|parsed| {
        matches!(parsed.scheme(), "http" | "https")
            && parsed.has_host()
            && parsed.query().is_none()
            && parsed.fragment().is_none()
    });
    if plain {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    Err(ConfigError::Value(format!(
        "public-url must be an http or https address without `?` and `#`; found `{url}`"
    )))
}

fn read_script_path(path: Option<String>) -> Result<String, ConfigError> {
    let path = path.unwrap_or_else(|| DEFAULT_SCRIPT_PATH.to_owned());
    match Addresses::new("").with_script_path(&path) {
        Some(_) => Ok(path),
        None => Err(ConfigError::Value(format!(
            "script-path must be a path of letters, digits, `-`, `_`, `.` and `~` that ends with `.js`, such as \
             /lib/app.js, of at most {MAX_PATH_BYTES} bytes; found `{path}`"
        ))),
    }
}

fn read_prefix(prefix: Option<String>) -> Result<String, ConfigError> {
    let prefix = prefix.unwrap_or_else(|| DEFAULT_TRACKING_PREFIX.to_owned());
    match Addresses::new("").with_tracking_prefix(&prefix) {
        Some(_) => Ok(prefix),
        None => Err(ConfigError::Value(format!(
            "tracking-prefix must be a path of letters, digits, `-`, `_`, `.` and `~`, such as /in, of at most \
             {MAX_PATH_BYTES} bytes; found `{prefix}`"
        ))),
    }
}

impl Config {
    /// Addresses at which browsers reach the server, which programs on its machine reach at `own_url`.
    pub fn addresses(&self, own_url: &str) -> Addresses {
        let url = self.public_url.clone().unwrap_or_else(|| own_url.to_owned());
        let checked = Addresses::new(&url)
            .with_script_path(&self.script_path)
            .and_then(|addresses| addresses.with_tracking_prefix(&self.tracking_prefix));
        // Both paths were checked when the configuration was read.
        checked.unwrap_or_else(|| Addresses::new(&url))
    }

    /// Scheme of requests that come to the server directly.
    pub fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::HTTPS } else { Scheme::HTTP }
    }

    /// Address at which programs on this machine reach the server, as far as it is known before the server listens.
    pub fn own_url(&self) -> String {
        self.listen.own_url(&self.scheme())
    }

    /// Address at which programs on this machine, which reach it at `own_url`, call the server: with TLS its public URL,
    /// whose name is in the certificate.
    pub fn called_at<'a>(&'a self, own_url: &'a str) -> &'a str {
        let public_url = self.public_url.as_deref().filter(|url| url.starts_with("https://"));
        self.tls.as_ref().and(public_url).unwrap_or(own_url)
    }

    /// Where browsers open the pages of the server, which programs on its machine reach at `own_url`: at the public URL. A
    /// site with a path of its own for the server, the script or events passes on nothing else; then where programs do.
    pub fn pages_url<'a>(&'a self, own_url: &'a str) -> &'a str {
        let is_of_a_site = self.script_path != DEFAULT_SCRIPT_PATH
            || self.tracking_prefix != DEFAULT_TRACKING_PREFIX;
        let has_path = |url: &&str| url.splitn(4, '/').count() > 3;
        match &self.public_url {
            Some(url) if !is_of_a_site && !has_path(&url.as_str()) => url,
            _ => self.called_at(own_url),
        }
    }

    /// Whether there is a store in the data folder.
    pub fn has_store(&self) -> bool {
        Embedded::is_in(&self.data)
    }

    /// Memory for the store's cache, in bytes.
    pub fn cache_bytes(&self) -> usize {
        usize::try_from(self.cache_mb).unwrap_or(usize::MAX).saturating_mul(1024 * 1024)
    }

    /// Limits of what is served and stored.
    pub fn limits(&self) -> Limits {
        let rates = RateLimits {
            requests: NonZeroU32::new(self.rate_limit),
            tracking: NonZeroU32::new(self.tracking_rate_limit),
        };
        let daily_bytes = u64::from(self.tracking_daily_mb) * 1024 * 1024;
        let parts = ServedParts::new(&self.routes);
        Limits { rates, daily_bytes: NonZeroU64::new(daily_bytes), parts, connections: None }
    }

    /// Folder of the scheduled backups.
    pub(crate) fn backup_folder(&self) -> PathBuf {
        self.backup_to.clone().unwrap_or_else(|| self.data.join(BACKUPS))
    }

    /// The schedule of backups, if there is one.
    pub fn backups(&self) -> Option<Schedule> {
        let folder = self.backup_folder();
        let keep = usize::try_from(self.backup_keep).unwrap_or(usize::MAX).max(1);
        self.backup_every.map(|every| Schedule { folder, every, keep })
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use serde_json::Value;

    use super::{file::read_file, *};

    /// Flags without a default of their own, but for those of the first start.
    const WITHOUT_DEFAULT: [&str; 7] = [
        "public-url",
        "tls-cert",
        "tls-key",
        "trusted-proxies",
        "trusted-hops",
        "backup-every",
        "backup-to",
    ];

    #[test]
    fn the_help_of_each_flag_has_the_default_in_force() {
        let config = ConfigOverrides::default().over(ConfigOverrides::default()).unwrap();
        let in_force = serde_json::to_value(&config).unwrap();
        let command = ConfigOverrides::augment_args(clap::Command::new("svctrack"));
        let mut without = Vec::new();
        for flag in command.get_arguments() {
            let (name, help) = (flag.get_long().unwrap(), flag.get_help().unwrap().to_string());
            // Without what it depends on: `127.0.0.1:9090, if it is free`.
            let shown = help
                .rsplit_once(" [default: ")
                .and_then(|(_, default)| default.split([',', ']']).next());
            let expect = match in_force.get(name) {
                None => {
                    without.push(name.to_owned());
                    continue;
                }
                Some(Value::Array(parts)) if name == "routes" => {
                    assert_eq!(parts.len(), ServerPart::ALL.len());
                    "all".to_owned()
                }
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            assert_eq!(shown, Some(expect.as_str()), "{name}");
        }
        // Their defaults are derived from other settings, or they have none.
        let bootstrap = |name: &String| name.starts_with("bootstrap-");
        without.retain(|name| !bootstrap(name));
        assert_eq!(without, WITHOUT_DEFAULT);
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = read_file("cache-mb = 64\nlog = \"debug\"").unwrap();
        let flags = ConfigOverrides { log: Some("warn".into()), ..ConfigOverrides::default() };
        let config = flags.over(file).unwrap();
        assert_eq!((config.cache_mb, config.log.as_str()), (64, "warn"));
        assert_eq!(config.data, PathBuf::from("./svctrack-data"));
    }

    #[test]
    fn pages_are_at_the_public_url_unless_a_site_has_paths_of_its_own_for_events() {
        const OWN: &str = "http://127.0.0.1:8080";
        let check = |lines: &str, expect: &str| {
            let config = ConfigOverrides::default().over(read_file(lines).unwrap()).unwrap();
            assert_eq!(config.pages_url(OWN), expect, "{lines}");
        };
        check("", OWN);
        check("public-url = 'https://a.example/'", "https://a.example");
        check("public-url = 'https://a.example/svctrack'", OWN);
        check("public-url = 'https://a.example'\nscript-path = '/in/app.js'", OWN);
        let prefixed = "public-url = 'https://a.example'\ntracking-prefix = '/in'";
        check(prefixed, OWN);
        let of_itself = format!("{prefixed}\ntls-cert = 'cert.pem'\ntls-key = 'key.pem'");
        check(&of_itself, "https://a.example");
    }

    #[test]
    fn a_number_that_must_be_at_least_one_is_rejected_with_these_words() {
        for name in ["cache-mb", "backup-keep", "trusted-hops"] {
            let file = read_file(&format!("{name} = 0")).unwrap();
            let said = ConfigOverrides::default().over(file).unwrap_err().to_string();
            assert_eq!(said, format!("{name} must be at least 1"));
        }
    }

    #[test]
    fn values_that_cannot_be_used_are_rejected() {
        let check = |given: ConfigOverrides| {
            given.over(ConfigOverrides::default()).unwrap_err().to_string()
        };
        for url in ["ftp://x", "x", "http://x?y", "http://x#y"] {
            let public_url = Some(url.into());
            let addresses = AddressSettings { public_url, ..AddressSettings::default() };
            assert!(
                check(ConfigOverrides { addresses, ..ConfigOverrides::default() }).contains(url)
            );
        }
    }
}
