//! `svctrack serve`: runs a server with a configuration until it is stopped.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use svctrack_store::{
    Clock as _, Store, StoreError, SystemClock, WRONG_CLOCK, embedded::Embedded, is_too_late,
    memory::Memory, support::panics,
};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    address_file::AddressFile,
    app::{App, Limits},
    background_jobs,
    backup_folder::{self, Schedule},
    bootstrap::{Bootstrap, GREETING, ServerAddresses},
    config::{
        Config, Engine,
        listen_address::{ListenAddress, own_url},
    },
    connection::{
        listener::{ClientLimits, serve},
        workers::Workers,
    },
    limits::STOP_TIMEOUT,
    log,
    observe::{
        Observability, admin_server,
        settings::{AdminListen, ObserveConfig},
    },
    open_error::explain_open_error,
    printer::Printer,
    routing::{router, served_parts::ServerPart},
    shutdown::ShutdownSignals,
    tls::{acceptor::Tls, reload::Reload},
};

/// Why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store cannot be opened.
    #[error("{0}")]
    Open(String),
    /// The first start failed.
    #[error("the first start failed: {0}")]
    Bootstrap(#[from] StoreError),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {cause}{advice}", cause = .1, advice = advice(.1))]
    Listen(ListenAddress, io::Error),
    /// The operator's address cannot be listened on.
    #[error(
        "cannot listen on {0} for /metrics: {1}; choose another address with --admin-listen, or `off`"
    )]
    AdminListen(ListenAddress, io::Error),
    /// The clock has not been set: no response could have a date, or nothing could be stored.
    #[error("{0}, and start again")]
    Clock(&'static str),
    /// Standard output cannot be written, so that nobody would see the tokens of a first start.
    #[error(
        "a first start prints tokens that are shown only once, and standard output cannot be written: {0}; send it to a \
         terminal or a file, or give both with --bootstrap-tenant and --bootstrap-token"
    )]
    Output(io::Error),
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(String),
    /// The machine rejected something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Advice where an address cannot be listened on.
fn advice(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "; stop the program that listens there, or choose another port with --listen"
        }
        io::ErrorKind::PermissionDenied => "; choose a port above 1023 with --listen",
        io::ErrorKind::AddrNotAvailable => "; --listen needs an address of this machine",
        _ => "",
    }
}

/// Printed at the start of a server whose data is lost when it stops.
const NOTHING_IS_KEPT: &str = "--store memory: all data is lost when the server stops";
/// Printed instead where backups of it are scheduled.
const BACKUPS_ARE_KEPT: &str = "--store memory: when the server stops, all data since the last scheduled backup is lost; \
     `svctrack restore` reads the backups, and a next start does not";
/// Advice where another process has the store.
const IN_USE: &str =
    "; if it is a server, stop it first, or choose another directory for this one with --data";

/// Serves until SIGTERM or SIGINT; requests in flight are finished first.
///
/// # Errors
/// [`RunError`], each cause with its own message.
pub async fn run(config: Config) -> Result<(), RunError> {
    let logging = log::start(&config.log, config.observe.log_format).map_err(RunError::Setting)?;
    panics::log_panics();
    check_clock()?;
    let mut signals = ShutdownSignals::listen()?;
    let (mut workers, printer) = (Workers::start()?, Printer::start()?);
    // Errors of the settings come before the store, which would be created or locked for nothing.
    let listener = TcpListener::bind(config.listen.as_str())
        .await
        .map_err(|cause| RunError::Listen(config.listen.clone(), cause))?;
    let admin = admin_listener(&config.observe).await?;
    let address = listener.local_addr()?;
    let own_url = own_url(&config.scheme(), address);
    let (tls, reload) = load_tls(&config, &workers)?.unzip();
    let addresses = config.addresses(&own_url);
    router::check(&addresses).map_err(RunError::Setting)?;
    let schedule = config.backups();
    schedule.as_ref().map_or(Ok(()), backup_folder::check).map_err(RunError::Setting)?;
    let store = open(&config)?;
    let (tls_of_log, data) = (tls.clone(), Some(config.data.clone()));
    let observe = Observability {
        tls: tls_of_log,
        data,
        ..Observability::new(&config.observe, logging.lines())
    };
    let (proxies, counts) = (config.proxies.clone().into(), observe.connections.clone());
    let clients = ClientLimits { tls, ..ClientLimits::for_workers(&workers, proxies, counts) };
    let limits = Limits { connections: Some(clients.places), ..config.limits() };
    let app = App::observed(store.clone(), Arc::new(SystemClock), addresses, limits, observe);
    let endpoint = router::endpoint(&app).map_err(RunError::Setting)?;
    let called_at = config.called_at(&own_url);
    start_first(&app, &config, &own_url, &printer).await?;
    let is_kept = config.store == Engine::Embedded;
    let address_file = is_kept.then(|| AddressFile::note(&config.data, called_at));
    printer.try_to_print(serving(&config, &own_url));
    if !is_kept {
        let notice = schedule.as_ref().map_or(NOTHING_IS_KEPT, |_| BACKUPS_ARE_KEPT);
        printer.try_to_print(notice.to_owned());
    }
    let admin = admin.unless_unavailable();
    let admin_address = admin.as_ref().and_then(|admin| admin.local_addr().ok());
    warn_of_reach(address, admin_address, &config, &own_url);
    tracing::info!(listen = %address, admin = admin_address.map(tracing::field::display), "serving");
    let stop = async {
        signals.stop().await;
        tracing::info!("stopping");
        app.stop();
    };
    let mut jobs = start_jobs(&app, schedule, admin, reload);
    serve(listener, clients, &mut workers, endpoint, stop).await?;
    jobs.abort_all();
    app.write_denials(true).await;
    let closing = tokio::task::spawn_blocking(move || close(store, workers));
    if !closing.await.map_err(io::Error::other)?
        && let Some(address_file) = address_file
    {
        // Removing the file would wait for the disk.
        address_file.stay();
    }
    Ok(())
}

/// TLS of the server and the task that reloads its certificate, if it has one.
fn load_tls(config: &Config, workers: &Workers) -> Result<Option<(Arc<Tls>, Reload)>, RunError> {
    let loaded = config.tls.as_ref().map(|files| Reload::load(files, workers.count()));
    loaded.transpose().map_err(RunError::Setting)
}

/// Starts the jobs that run next to requests until the server stops.
fn start_jobs(
    app: &Arc<App>,
    schedule: Option<Schedule>,
    admin: Option<TcpListener>,
    reload: Option<Reload>,
) -> JoinSet<()> {
    let (mut jobs, store) = (JoinSet::new(), &app.store);
    jobs.spawn(background_jobs::run(store.clone()));
    jobs.spawn(background_jobs::scrub(store.clone()));
    jobs.spawn(background_jobs::audit_denials(app.clone()));
    jobs.spawn(background_jobs::note_totals(app.observe.clone()));
    if let Some(schedule) = schedule {
        let (clock, status) = (app.clock.clone(), app.backups.clone());
        jobs.spawn(backup_folder::run(store.clone(), clock, status, schedule));
    }
    if let Some(admin) = admin {
        jobs.spawn(admin_server::serve(admin, app.clone()));
    }
    if let Some(reload) = reload {
        jobs.spawn(reload.run());
    }
    jobs
}

/// Admin address for the operator of the server.
enum AdminAddress {
    Off,
    Listening(TcpListener),
    /// The default address is not available, as where another server has it.
    Unavailable(ListenAddress, io::Error),
}

impl AdminAddress {
    /// Listener, where there is one; a warning where the default address is not available.
    fn unless_unavailable(self) -> Option<TcpListener> {
        match self {
            Self::Off => None,
            Self::Listening(listener) => Some(listener),
            Self::Unavailable(address, cause) => {
                tracing::warn!(
                    %address,
                    %cause,
                    hint = "choose another address with --admin-listen, or `off`",
                    "metrics not served"
                );
                None
            }
        }
    }
}

/// Listens on the operator's address.
///
/// # Errors
/// [`RunError::AdminListen`] where the address was set.
async fn admin_listener(config: &ObserveConfig) -> Result<AdminAddress, RunError> {
    let AdminListen::On(address) = &config.admin_listen else { return Ok(AdminAddress::Off) };
    match TcpListener::bind(address.as_str()).await {
        Ok(listener) => Ok(AdminAddress::Listening(listener)),
        Err(cause) if config.is_admin_asked_for => {
            Err(RunError::AdminListen(address.clone(), cause))
        }
        Err(cause) => Ok(AdminAddress::Unavailable(address.clone(), cause)),
    }
}

/// Checks that the clock shows a time that can be stored and sent.
fn check_clock() -> Result<(), RunError> {
    if SystemTime::now() < UNIX_EPOCH {
        return Err(RunError::Clock("the clock of this machine shows a time before 1970: set it"));
    }
    match is_too_late(SystemClock.now()) {
        true => Err(RunError::Clock(WRONG_CLOCK)),
        false => Ok(()),
    }
}

/// Warns where the server is reachable from elsewhere in a way that is hardly intended.
fn warn_of_reach(
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    config: &Config,
    own_url: &str,
) {
    let has_plain_url = config.public_url.as_ref().is_some_and(|url| url.starts_with("http://"));
    if config.tls.is_some() && has_plain_url {
        tracing::warn!(
            public_url = config.public_url,
            hint = "session cookies are sent in plain text: use an https:// URL",
            "TLS with an http:// --public-url"
        );
    }
    if address.ip().is_unspecified() && config.public_url.is_none() {
        tracing::warn!(
            %address,
            snippet = own_url,
            hint = "the snippet works only in browsers on this machine: set --public-url",
            "listening on all addresses without --public-url"
        );
    }
    if is_unprotected(address.ip(), config) {
        tracing::warn!(
            %address,
            hint = "tokens and events are sent in plain text: set --tls-cert, or behind a proxy with TLS \
                    --trusted-proxies or an https:// --public-url, or listen on 127.0.0.1",
            "listening without TLS"
        );
    }
    if let Some(address) = admin_address.filter(|address| !is_of_this_machine(address.ip())) {
        tracing::warn!(
            %address,
            hint = "they contain tenant ids: listen on a loopback or private address with --admin-listen",
            "metrics served without credentials"
        );
    }
}

fn is_of_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Whether other machines reach the server, and neither it nor a proxy before it has TLS.
fn is_unprotected(address: IpAddr, config: &Config) -> bool {
    let public_url = config.public_url.as_deref().unwrap_or_default();
    let is_proxied =
        public_url.starts_with("https://") || !config.proxies.trusted_proxies.is_empty();
    !is_of_this_machine(address) && config.tls.is_none() && !is_proxied
}

/// Line that reports that the server is ready.
fn serving(config: &Config, own_url: &str) -> String {
    let public_url = config.public_url.as_ref().map(|url| format!("public URL: {url}; "));
    let public_url = public_url.unwrap_or_default();
    let what = match config.limits().parts.have(ServerPart::Pages) {
        true => format!("sign in: {}/sign-in", config.pages_url(own_url)),
        false => format!(
            "routes: {}",
            config.routes.iter().map(ServerPart::name).collect::<Vec<_>>().join(", ")
        ),
    };
    format!("svctrack serves on {own_url}  ({public_url}{what})")
}

/// Closes the store, and waits for running reads: until they have ended, its file is as a crash leaves it. A backup
/// ends when the store is closed. Returns whether this succeeded; where the disk does not respond, it does not wait
/// further.
fn close(store: Arc<dyn Store>, workers: Workers) -> bool {
    let is_closed = store.close();
    let within = if is_closed { STOP_TIMEOUT } else { Duration::ZERO };
    let have_ended = workers.stop(within);
    if is_closed && !have_ended {
        tracing::warn!(seconds = STOP_TIMEOUT.as_secs(), "reads aborted at shutdown");
    }
    is_closed && have_ended
}

/// Carries out the first start. Its token is printed as soon as it is created, since nobody can read it later.
async fn start_first(
    app: &Arc<App>,
    config: &Config,
    own_url: &str,
    printer: &Printer,
) -> Result<(), RunError> {
    if !app.store.tenants(1).await?.is_empty() {
        if config.bootstrap.is_some() {
            tracing::info!("bootstrap settings ignored: the store has tenants");
        }
        return Ok(());
    }
    let first = Bootstrap::prepare(config).map_err(RunError::Setting)?;
    if config.bootstrap.is_some() {
        first.found(app).await?;
        // It may not be intended: the disk of the store may be missing.
        tracing::warn!(data = %config.data.display(), "data directory was empty: store created from bootstrap settings");
        return Ok(());
    }
    // Before anything is created, somebody must be able to see it.
    printer.print(GREETING.to_owned()).await.map_err(RunError::Output)?;
    first.found(app).await?;
    let reached = ServerAddresses {
        called_at: config.called_at(own_url),
        pages_at: config.pages_url(own_url),
    };
    if let Err(cause) = printer.print(first.details(app, &reached)).await {
        tracing::error!(%cause, "first tokens not printed: create one with `svctrack token create`");
    }
    first.make_demo_company(app).await?;
    Ok(())
}

fn open(config: &Config) -> Result<Arc<dyn Store>, RunError> {
    let clock = Arc::new(SystemClock);
    if config.store == Engine::Memory {
        let store = Memory::new(clock).map_err(|cause| RunError::Open(cause.to_string()))?;
        return Ok(Arc::new(store));
    }
    let store = Embedded::open(&config.data, config.cache_bytes(), clock);
    let store = store
        .map_err(|cause| RunError::Open(explain_open_error(config, "opened", &cause, IN_USE)))?;
    Ok(Arc::new(store))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{
        config::{AddressSettings, ConfigOverrides},
        proxies::settings::ProxySettings,
        tls::settings::TlsSettings,
    };
    use svctrack_store::Health;

    #[test]
    fn a_server_that_others_reach_without_tls_is_unprotected() {
        for (address, url, proxies, expect) in [
            ("127.0.0.1", None, None, false),
            ("::1", None, None, false),
            ("::ffff:127.0.0.1", None, None, false),
            ("0.0.0.0", None, None, true),
            ("::", None, None, true),
            ("192.0.2.1", Some("http://a.example"), None, true),
            ("192.0.2.1", Some("https://a.example"), None, false),
            ("0.0.0.0", None, Some("10.0.0.0/8"), false),
        ] {
            let trusted_proxies = proxies.map(|proxies| vec![proxies.parse().unwrap()]);
            let public_url = url.map(str::to_owned);
            let addresses = AddressSettings { public_url, ..AddressSettings::default() };
            let settings = ProxySettings { trusted_proxies, ..ProxySettings::default() };
            let given =
                ConfigOverrides { addresses, proxies: settings, ..ConfigOverrides::default() };
            let config = given.over(ConfigOverrides::default()).unwrap();
            let is_unprotected = is_unprotected(address.parse().unwrap(), &config);
            assert_eq!(is_unprotected, expect, "{address} {url:?} {proxies:?}");
        }
        let [tls_cert, tls_key] = ["cert.pem", "key.pem"].map(|file| Some(file.into()));
        let tls = TlsSettings { tls_cert, tls_key };
        let given = ConfigOverrides { tls, ..ConfigOverrides::default() };
        let config = given.over(ConfigOverrides::default()).unwrap();
        assert!(!is_unprotected("0.0.0.0".parse().unwrap(), &config));
    }

    #[test]
    fn a_store_is_closed_when_those_have_ended_who_read_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let store = Embedded::open(folder.path(), 1024 * 1024, Arc::new(SystemClock)).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let (read_from, held) = (store.clone(), Arc::downgrade(&store));
        let mut workers = Workers::start().unwrap();
        workers.next().spawn_blocking(move || {
            while read_from.status().health != Health::Stopped {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(100));
        });
        assert!(close(store, workers));
        assert_eq!(held.strong_count(), 0);
    }
}
