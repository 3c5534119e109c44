//! The configuration: a flag wins over its environment variable, which wins over `svctrack.toml`,
//! which wins over the default.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    num::{NonZeroU32, NonZeroU64},
    path::{Path, PathBuf},
};

use clap::Args as _;
use poem::http::uri::Scheme;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use svctrack_core::value::{TenantId, nearest};
use svctrack_store::{RateLimits, Tenant, embedded::Embedded};
use svctrack_web::{Addresses, DEFAULT_SCRIPT_PATH, DEFAULT_TRACKING_PREFIX, MAX_PATH_BYTES};

use crate::{
    app::Limits,
    auth::Token,
    backups::{Interval, Schedule},
    listen_address::Listen,
    observe::settings::{ObserveConfig, ObserveSettings},
    proxies::settings::{ProxyConfig, ProxySettings},
    served_parts::{Part, ServedParts},
    text_file,
    tls::settings::{TlsFiles, TlsSettings},
};

/// Name of the file in the working folder that is read when it is there.
pub const FILE_NAME: &str = "svctrack.toml";

/// Requests a second of a token: more than a program needs that uses bulk calls, fewer than would slow
/// others.
const DEFAULT_RATE_LIMIT: u32 = 150;

/// What events of a tenant may take in a day, in MiB: some three million small ones, 35 a second. A disk of 20 GB lasts
/// for weeks with a sender at this limit, and fills in minutes without it.
const DEFAULT_TRACKING_DAILY_MB: u32 = 1_024;

/// Backups that are retained: a week of daily ones.
const DEFAULT_BACKUP_KEEP: u32 = 7;
/// Folder of backups in the data folder.
const BACKUPS: &str = "backups";

/// Where the store is, and what it may take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct StoreSettings {
    /// Data directory [default: ./svctrack-data]
    #[arg(long, env = "SVCTRACK_DATA", value_name = "DIRECTORY")]
    pub data: Option<PathBuf>,
    /// Memory for the store's cache, in MiB [default: 256]
    #[arg(long, env = "SVCTRACK_CACHE_MB", value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub cache_mb: Option<u32>,
}

/// Where the server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct AddressSettings {
    /// Address to listen on; a port alone means 127.0.0.1 [default: 127.0.0.1:8080]
    #[arg(long, env = "SVCTRACK_LISTEN", value_name = "HOST:PORT")]
    pub listen: Option<Listen>,
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

/// What may be given, by flag, environment or file; each line of the file has the name of its flag.
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
    /// Routes to serve, separated by commas; /health is always served [default: all]
    #[arg(long, env = "SVCTRACK_ROUTES", value_name = "PARTS", value_enum, value_delimiter = ',')]
    pub routes: Option<Vec<Part>>,
    /// Requests per second and token, with bursts of twice as many; 0 means no limit [default: 150]
    #[arg(long, env = "SVCTRACK_RATE_LIMIT", value_name = "PER_SECOND")]
    pub rate_limit: Option<u32>,
    /// Requests per second to the tracking routes of a tenant; 0 means no limit [default: 0]
    #[arg(long, env = "SVCTRACK_TRACKING_RATE_LIMIT", value_name = "PER_SECOND")]
    pub tracking_rate_limit: Option<u32>,
    /// MiB of events without a token per day and tenant; 0 means no limit [default: 1024]
    #[arg(long, env = "SVCTRACK_TRACKING_DAILY_MB", value_name = "MIB")]
    pub tracking_daily_mb: Option<u32>,
    /// Interval of scheduled backups, such as 6h or 1day [default: never]
    #[arg(long, env = "SVCTRACK_BACKUP_EVERY", value_name = "INTERVAL")]
    pub backup_every: Option<Interval>,
    /// Directory of scheduled backups; use it for nothing else [default: backups, in the data directory]
    #[arg(long, env = "SVCTRACK_BACKUP_TO", value_name = "DIRECTORY")]
    pub backup_to: Option<PathBuf>,
    /// Number of scheduled backups to retain [default: 7]
    #[arg(long, env = "SVCTRACK_BACKUP_KEEP", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub backup_keep: Option<u32>,
    /// Log level: error, warn, info, debug, or a filter by module [default: info]
    #[arg(long, env = "SVCTRACK_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub observe: ObserveSettings,
    /// UUID of the tenant that the first start creates [default: random]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TENANT", value_name = "UUID")]
    pub bootstrap_tenant: Option<String>,
    /// API token that the first start creates; see `svctrack token generate` [default: random]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub bootstrap_token: Option<String>,
    /// Operator token that the first start creates [default: random; none with --bootstrap-token]
    #[arg(
        long,
        env = "SVCTRACK_BOOTSTRAP_OPERATOR_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    pub bootstrap_operator_token: Option<String>,
}

/// The configuration in force.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// Where the data is stored.
    pub store: Engine,
    /// Folder that holds the data.
    pub data: PathBuf,
    /// Memory for the store's cache, in MiB.
    pub cache_mb: u32,
    /// Host and port to listen on.
    pub listen: Listen,
    /// How browsers reach the server, if that is not the listen address.
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
    pub routes: Vec<Part>,
    /// Requests a second of each token; 0 sets no limit.
    pub rate_limit: u32,
    /// Requests a second to the tracking routes of each tenant; 0 sets no limit.
    pub tracking_rate_limit: u32,
    /// MiB that events sent without a token may take in a day, for each tenant; 0 sets no limit.
    pub tracking_daily_mb: u32,
    /// The interval of backups, if they are scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_every: Option<Interval>,
    /// Folder that holds these backups, if that is not in the data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_to: Option<PathBuf>,
    /// How many backups are retained.
    pub backup_keep: u32,
    pub log: String,
    #[serde(flatten)]
    pub observe: ObserveConfig,
    /// Tenant and token of the first start.
    #[serde(skip)]
    pub bootstrap: Option<BootstrapSettings>,
}

/// The tenant and the token that the first start creates, instead of random ones.
#[derive(Clone, Debug)]
pub struct BootstrapSettings {
    pub tenant: TenantId,
    pub token: Token,
    /// The operator's token, if one is to be created.
    pub operator: Option<Token>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there but cannot be read.
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, String),
    /// A value cannot be used.
    #[error("{0}")]
    Value(String),
}

impl ConfigOverrides {
    /// Reads a configuration file; one that is not there says nothing.
    ///
    /// # Errors
    /// [`ConfigError::File`] when it cannot be read, or has a line that is not known.
    pub fn of_file(path: &Path) -> Result<Self, ConfigError> {
        read_if_there(path, read_file)
    }

    /// What is in force when `self` wins over `file`.
    ///
    /// # Errors
    /// [`ConfigError::Value`] for a value that cannot be used.
    pub fn over(self, file: Self) -> Result<Config, ConfigError> {
        let (files, of_file) = (self.files, file.files);
        let (addresses, in_file) = (self.addresses, file.addresses);
        let tenant = self.bootstrap_tenant.or(file.bootstrap_tenant);
        let token = self.bootstrap_token.or(file.bootstrap_token);
        let operator = self.bootstrap_operator_token.or(file.bootstrap_operator_token);
        let in_words = |message: &str| ConfigError::Value(message.to_owned());
        Ok(Config {
            store: self.store.or(file.store).unwrap_or_default(),
            data: files.data.or(of_file.data).unwrap_or_else(|| "./svctrack-data".into()),
            cache_mb: files.cache_mb.or(of_file.cache_mb).unwrap_or(256),
            listen: addresses.listen.or(in_file.listen).unwrap_or_default(),
            public_url: addresses.public_url.or(in_file.public_url).map(check_url).transpose()?,
            script_path: read_script_path(addresses.script_path.or(in_file.script_path))?,
            tracking_prefix: read_prefix(addresses.tracking_prefix.or(in_file.tracking_prefix))?,
            tls: self.tls.over(file.tls).map_err(in_words)?,
            proxies: self.proxies.over(file.proxies).map_err(in_words)?,
            routes: self.routes.or(file.routes).unwrap_or_else(|| Part::ALL.to_vec()),
            rate_limit: self.rate_limit.or(file.rate_limit).unwrap_or(DEFAULT_RATE_LIMIT),
            tracking_rate_limit: self.tracking_rate_limit.or(file.tracking_rate_limit).unwrap_or(0),
            tracking_daily_mb: self
                .tracking_daily_mb
                .or(file.tracking_daily_mb)
                .unwrap_or(DEFAULT_TRACKING_DAILY_MB),
            backup_every: self.backup_every.or(file.backup_every),
            backup_to: self.backup_to.or(file.backup_to),
            backup_keep: self.backup_keep.or(file.backup_keep).unwrap_or(DEFAULT_BACKUP_KEEP),
            log: self.log.or(file.log).unwrap_or_else(|| "info".to_owned()),
            observe: self.observe.over(file.observe),
            bootstrap: read_bootstrap(tenant, token, operator)?,
        })
    }
}

/// The names of the settings that a configuration file has.
///
/// # Errors
/// As [`ConfigOverrides::of_file`].
pub fn names_in_file(path: &Path) -> Result<BTreeSet<String>, ConfigError> {
    read_if_there(path, |text| {
        let lines: BTreeMap<String, IgnoredAny> = parse(text)?;
        Ok(lines.into_keys().collect())
    })
}

/// The result of `read` for a file, or the default for a missing one.
fn read_if_there<T: Default>(
    path: &Path,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, ConfigError> {
    let failed = |cause: String| ConfigError::File(path.to_owned(), cause);
    match text_file::read(path) {
        Ok(text) => read(&text).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Reads lines of a file. An error has its line and the setting, but not the text of the line, which may be a secret.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let setting = setting_at(text, at).map(|name| format!("`{name}`: ")).unwrap_or_default();
        format!("line {}: {setting}{}", line_of(text, at), error.message())
    })
}

/// The setting whose value has a place in a file.
fn setting_at(text: &str, at: usize) -> Option<String> {
    let lines: BTreeMap<toml::Spanned<String>, IgnoredAny> = toml::from_str(text).ok()?;
    let before = lines.into_keys().filter(|name| name.span().start <= at);
    before.max_by_key(|name| name.span().start).map(toml::Spanned::into_inner)
}

/// The settings of a file.
fn read_file(text: &str) -> Result<ConfigOverrides, String> {
    let lines: BTreeMap<toml::Spanned<String>, IgnoredAny> = parse(text)?;
    let names = names();
    let unknown = lines.keys().find(|name| !names.contains(name.get_ref()));
    if let Some(unknown) = unknown {
        let (name, line) = (unknown.get_ref(), line_of(text, unknown.span().start));
        let near = nearest(name, names.iter().map(String::as_str));
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("line {line}: there is no setting `{name}`{near}"));
    }
    // Each group takes its own lines and leaves the others; read as one, an error would have lost its line.
    Ok(ConfigOverrides {
        files: parse(text)?,
        addresses: parse(text)?,
        tls: parse(text)?,
        proxies: parse(text)?,
        observe: parse(text)?,
        ..parse(text)?
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// The names of all settings, which are those of their flags, in the order of these.
fn names() -> Vec<String> {
    let command = ConfigOverrides::augment_args(clap::Command::new("svctrack"));
    command.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
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

fn read_bootstrap(
    tenant: Option<String>,
    token: Option<String>,
    operator: Option<String>,
) -> Result<Option<BootstrapSettings>, ConfigError> {
    let invalid = |text: &str| ConfigError::Value(text.to_owned());
    let (tenant, token) = match (tenant, token, &operator) {
        (None, None, None) => return Ok(None),
        (Some(tenant), Some(token), _) => (tenant, token),
        _ => return Err(invalid("set both bootstrap-tenant and bootstrap-token, or neither")),
    };
    let tenant = TenantId::parse(&tenant)
        .filter(|tenant| *tenant != Tenant::OPERATOR.id())
        .ok_or_else(|| invalid("bootstrap-tenant must be a UUID other than the nil UUID"))?;
    let token = read_token("bootstrap-token", &token)?;
    let operator =
        operator.map(|text| read_token("bootstrap-operator-token", &text)).transpose()?;
    if operator.as_ref().is_some_and(|operator| operator.reveal() == token.reveal()) {
        return Err(invalid("bootstrap-token and bootstrap-operator-token must differ"));
    }
    Ok(Some(BootstrapSettings { tenant, token, operator }))
}

/// A token is never repeated in an error: it is a secret.
fn read_token(name: &str, text: &str) -> Result<Token, ConfigError> {
    Token::parse(text).ok_or_else(|| {
        let message = format!("{name} must be a token from `svctrack token generate`");
        ConfigError::Value(message)
    })
}

impl Config {
    /// How browsers reach the server, which programs on its machine reach at `own_url`.
    pub fn addresses(&self, own_url: &str) -> Addresses {
        let url = self.public_url.clone().unwrap_or_else(|| own_url.to_owned());
        let checked = Addresses::new(&url)
            .with_script_path(&self.script_path)
            .and_then(|addresses| addresses.with_tracking_prefix(&self.tracking_prefix));
        // Both paths were checked when the configuration was read.
        checked.unwrap_or_else(|| Addresses::new(&url))
    }

    /// What requests begin with that come to the server itself.
    pub fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::HTTPS } else { Scheme::HTTP }
    }

    /// How programs on this machine reach the server, as far as that is known before it listens.
    pub fn own_url(&self) -> String {
        self.listen.own_url(&self.scheme())
    }

    /// Whether there is a store in the data folder.
    pub fn has_store(&self) -> bool {
        Embedded::is_in(&self.data)
    }

    /// Memory for the store's cache, in bytes.
    pub fn cache_bytes(&self) -> usize {
        usize::try_from(self.cache_mb).unwrap_or(usize::MAX).saturating_mul(1024 * 1024)
    }

    /// How much is served and stored, where that is limited.
    pub fn limits(&self) -> Limits {
        let rates = RateLimits {
            requests: NonZeroU32::new(self.rate_limit),
            tracking: NonZeroU32::new(self.tracking_rate_limit),
        };
        let daily_bytes = u64::from(self.tracking_daily_mb) * 1024 * 1024;
        let parts = ServedParts::of(&self.routes);
        Limits { rates, daily_bytes: NonZeroU64::new(daily_bytes), parts }
    }

    /// Folder that holds the backups of the schedule.
    pub(crate) fn backup_folder(&self) -> PathBuf {
        self.backup_to.clone().unwrap_or_else(|| self.data.join(BACKUPS))
    }

    /// The schedule of backups, if there is one.
    pub fn backups(&self) -> Option<Schedule> {
        let folder = self.backup_folder();
        let keep = usize::try_from(self.backup_keep).unwrap_or(usize::MAX).max(1);
        self.backup_every.map(|every| Schedule { folder, every, keep })
    }

    /// Every setting, as the lines of a configuration file, each with a comment that says where its value is from. What
    /// is not set, and what the first start creates, is a comment as a whole; secrets are not shown.
    pub fn to_toml(&self, source: impl Fn(&str) -> String) -> String {
        let values = toml::Table::try_from(self).unwrap_or_default();
        let line = |name: String| match values.get(&name) {
            Some(value) => format!("{name} = {value}  # {}\n", source(&name)),
            None => format!("# {name}: {}  # {}\n", self.in_words(&name), source(&name)),
        };
        names().into_iter().map(line).collect()
    }

    /// What a setting that has no line of its own is.
    fn in_words(&self, name: &str) -> String {
        let is_set = match (&self.bootstrap, name) {
            (Some(bootstrap), "bootstrap-tenant") => return bootstrap.tenant.to_string(),
            (Some(_), "bootstrap-token") => true,
            (Some(bootstrap), "bootstrap-operator-token") => bootstrap.operator.is_some(),
            _ => false,
        };
        if is_set { "set, not shown" } else { "not set" }.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = read_file("cache-mb = 64\nlog = \"debug\"").unwrap();
        let flags = ConfigOverrides { log: Some("warn".into()), ..ConfigOverrides::default() };
        let config = flags.over(file).unwrap();
        assert_eq!((config.cache_mb, config.log.as_str()), (64, "warn"));
        assert_eq!(config.data, PathBuf::from("./svctrack-data"));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, "log = \"info\"\nbootstrap-token = svt_secret\n").unwrap();
        let said = ConfigOverrides::of_file(&path).unwrap_err().to_string();
        assert!(said.contains("line 2") && !said.contains("secret"), "{said}");
    }

    #[test]
    fn bootstrap_settings_may_come_from_two_sources() {
        let file = ConfigOverrides {
            bootstrap_token: Some(Token::generate().unwrap().reveal().into()),
            ..ConfigOverrides::default()
        };
        let flags = ConfigOverrides {
            bootstrap_tenant: Some("67e55044-10b1-426f-9247-bb680e5fe0c8".into()),
            ..ConfigOverrides::default()
        };
        assert!(flags.over(file).unwrap().bootstrap.is_some());
    }

    #[test]
    fn a_line_that_is_not_known_is_refused_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        for (text, line) in [("cache = 64", "line 1:"), ("log = \"info\"\ncache = 64\n", "line 2:")]
        {
            fs::write(&path, text).unwrap();
            let said = ConfigOverrides::of_file(&path).unwrap_err().to_string();
            assert!(said.contains(line), "{said}");
            assert!(said.contains("there is no setting `cache`"), "{said}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused_with_the_name_of_its_setting() {
        for (text, expect) in [
            ("log = \"info\"\ncache-mb = \"64\"", "line 2: `cache-mb`: "),
            ("backup-every = 6\nlog = \"info\"", "line 1: `backup-every`: "),
            ("log-slow-ms = true", "line 1: `log-slow-ms`: "),
            ("admin-listen = 9090", "line 1: `admin-listen`: "),
            ("trusted-proxies = [\n\"10.0.0.1\",\n7]", "line 3: `trusted-proxies`: "),
        ] {
            let said = read_file(text).unwrap_err();
            assert!(said.starts_with(expect), "{said}");
        }
    }

    #[test]
    fn a_port_in_the_file_is_one_of_the_loopback_address() {
        let listen =
            |text: &str| read_file(text).map(|given| given.addresses.listen.unwrap().to_string());
        assert_eq!(listen("listen = 8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(listen("listen = \"localhost:8080\"").as_deref(), Ok("localhost:8080"));
        let said = listen("log = \"info\"\nlisten = \":80\"").unwrap_err();
        assert!(said.starts_with("line 2: `listen`: name the host"), "{said}");
        for (text, expect) in
            [("listen = true", "or a port"), ("listn = 1", "did you mean `listen`?")]
        {
            let said = listen(text).unwrap_err();
            assert!(said.starts_with("line 1: ") && said.contains(expect), "{said}");
        }
    }

    #[test]
    fn what_is_in_force_can_be_used_as_a_file_and_holds_no_secret() {
        let token = Token::generate().unwrap();
        let given = ConfigOverrides {
            bootstrap_tenant: Some("67e55044-10b1-426f-9247-bb680e5fe0c8".into()),
            bootstrap_token: Some(token.reveal().into()),
            ..ConfigOverrides::default()
        };
        let text =
            given.over(ConfigOverrides::default()).unwrap().to_toml(|name| format!("{name}'s"));
        assert!(read_file(&text).is_ok() && !text.contains("svt_"), "{text}");
        for line in [
            "# bootstrap-tenant: 67e55044-10b1-426f-9247-bb680e5fe0c8  # bootstrap-tenant's\n",
            "# bootstrap-token: set, not shown  # bootstrap-token's\n",
            "# bootstrap-operator-token: not set  # ",
            "# public-url: not set  # public-url's\n",
            "store = \"embedded\"  # store's\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let of_all = names().iter().all(|name| text.contains(&format!("{name}'s\n")));
        assert!(of_all && text.lines().count() == names().len(), "{text}");
        assert!(text.contains("cache-mb = 256  # cache-mb's\n"), "{text}");
    }

    #[test]
    fn values_that_cannot_be_used_are_refused() {
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
        let alone =
            ConfigOverrides { bootstrap_tenant: Some("x".into()), ..ConfigOverrides::default() };
        assert_eq!(
            check(alone.clone()),
            "set both bootstrap-tenant and bootstrap-token, or neither"
        );
        let both = ConfigOverrides { bootstrap_token: Some("secret".into()), ..alone };
        assert_eq!(check(both), "bootstrap-tenant must be a UUID other than the nil UUID");
        let token = Some(Token::generate().unwrap().reveal().to_owned());
        let same = ConfigOverrides {
            bootstrap_tenant: Some("11111111-1111-4111-8111-111111111111".into()),
            bootstrap_token: token.clone(),
            bootstrap_operator_token: token,
            ..ConfigOverrides::default()
        };
        assert_eq!(check(same), "bootstrap-token and bootstrap-operator-token must differ");
    }
}
