//! The server as its users run it: the built binary, in a process of its own.

use std::{
    fs::{self, File},
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command as Build, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use rustix::process::{Resource, geteuid, getrlimit};
use serde_json::Value;
use svctrack_server::auth::Token;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{TENANT, client::Client, project, workload::Target};

/// How long a test waits for something that ought to happen at once, before it says that it does not: long enough for
/// a machine that is busy with other work.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A user who has no other processes.
const USER: u32 = 61_234;

/// The binary: the one that `SVCTRACK_BINARY` names by its path in the project or from the root, else it is built,
/// since another package's tests cannot ask cargo for it.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(named) = std::env::var_os("SVCTRACK_BINARY").filter(|named| !named.is_empty()) {
            return project().join(named);
        }
        // A measurement is of a release build, as the program that asks for it is one itself.
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let build = cargo()
            .args(["build", "--package", "svctrack-server", "--message-format", "json"])
            .args(["--profile", profile])
            .current_dir(project())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(build.status.success(), "the server does not build");
        let lines = String::from_utf8(build.stdout).unwrap();
        let messages =
            lines.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut executables =
            messages.filter_map(|message| Some(message["executable"].as_str()?.to_owned()));
        executables.find(|path| path.ends_with("/svctrack")).unwrap().into()
    })
}

/// Cargo as a developer calls it: without what it says to tests about their package, which some build scripts note and
/// which would make cargo build these crates again.
pub fn cargo() -> Build {
    let mut cargo = Build::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// A command that runs the binary with an empty environment of its own settings.
pub fn command(folder: &Path) -> Command {
    prepared(Command::new(binary()), folder)
}

fn prepared(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder).kill_on_drop(true).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SVCTRACK_") {
            command.env_remove(name);
        }
    }
    command
}

/// The clock of a process, which differs from the machine's by what a file says (`libfaketime`). The uptime of the
/// machine cannot be set.
pub struct FakeClock(PathBuf);

impl FakeClock {
    /// A clock that is set by a file.
    pub fn in_file(path: PathBuf, offset: &str) -> Self {
        let clock = Self(path);
        clock.set(offset);
        clock
    }

    /// Sets it, as `-1d` or `+1y`.
    pub fn set(&self, offset: &str) {
        // Never half of it: the process may read it at the same time.
        let new = self.0.with_extension("new");
        std::fs::write(&new, offset).unwrap();
        std::fs::rename(new, &self.0).unwrap();
    }

    /// Has a process go by it.
    pub fn show_to(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", "/usr/$LIB/faketime/libfaketimeMT.so.1")
            .env("FAKETIME_TIMESTAMP_FILE", &self.0)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}

pub struct Server {
    child: Child,
    pub base: String,
    /// A client with its token.
    pub client: Client,
}

impl Server {
    /// Starts a server on a folder, with a tenant and a token that are given to it.
    pub async fn start(folder: &Path, token: &Token) -> Self {
        Self::start_with(folder, token, &[]).await
    }

    /// The same, with more flags.
    pub async fn start_with(folder: &Path, token: &Token, flags: &[&str]) -> Self {
        Self::start_by(command(folder), folder, token, flags).await
    }

    /// The same, by another binary.
    pub async fn start_binary(binary: &Path, folder: &Path, token: &Token) -> Self {
        Self::start_by(prepared(Command::new(binary), folder), folder, token, &[]).await
    }

    /// The same, on a folder alone, with a limit of open files.
    pub async fn start_with_files(folder: &Path, token: &Token, files: usize) -> Self {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={files}:{files}")).arg(binary());
        Self::start_by(prepared(limited, folder), folder, token, &[]).await
    }

    /// The same, with its log in a file or a pipe.
    pub async fn start_with_log(
        folder: &Path,
        token: &Token,
        flags: &[&str],
        log: impl Into<Stdio>,
    ) -> Self {
        let mut command = command(folder);
        command.stderr(log);
        Self::start_by(command, folder, token, flags).await
    }

    /// The same, with a clock of the test's.
    pub async fn start_with_clock(
        folder: &Path,
        token: &Token,
        log: impl Into<Stdio>,
        clock: &FakeClock,
        flags: &[&str],
    ) -> Self {
        let mut command = command(folder);
        command.stderr(log);
        clock.show_to(&mut command);
        Self::start_by(command, folder, token, flags).await
    }

    /// The same, as a user of its own where this is root, who has no limit on its threads, with its log in a file.
    pub async fn start_unprivileged(folder: &Path, token: &Token, log: File) -> Self {
        // Others may not get at the binary where it lies.
        let program = folder.join("svctrack");
        // By another process: what this one has open to write, a child that is just being started has open too, and a
        // file that is open to write cannot be run.
        assert!(Build::new("cp").arg(binary()).arg(&program).status().unwrap().success());
        let mut command = prepared(Command::new(&program), folder);
        command.stderr(log);
        if geteuid().is_root() {
            chown(folder, Some(USER), Some(USER)).unwrap();
            command.uid(USER).gid(USER);
        }
        Self::start_by(command, folder, token, &[]).await
    }

    /// Gives the server no more of something than this, by the name that `prlimit` has for it, or as much as it may
    /// have.
    pub fn limit(&self, name: &str, resource: Resource, most: Option<u64>) {
        let most = most.or(getrlimit(resource).maximum);
        let most = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
        let id = self.id().to_string();
        let mut tool = Build::new("prlimit");
        tool.args(["--pid", &id, &format!("--{name}={most}:")]);
        // Who is not the owner of a process may need more than to be root.
        let owner = fs::metadata(format!("/proc/{id}")).unwrap();
        if geteuid().as_raw() != owner.uid() {
            tool.uid(owner.uid()).gid(owner.gid());
        }
        assert!(tool.status().unwrap().success());
    }

    async fn start_by(mut command: Command, folder: &Path, token: &Token, flags: &[&str]) -> Self {
        command.args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--data"]);
        command.arg(folder).args(flags);
        // Flags of a test go before these. Servers side by side do not share an address.
        command.env("SVCTRACK_TRACKING_DAILY_MB", "0").env("SVCTRACK_ADMIN_LISTEN", "off");
        command.args(["--bootstrap-tenant", TENANT, "--bootstrap-token", token.reveal()]);
        let (child, base, _) = listening(command).await;
        let client = Client::new(&base, Some(token.reveal()));
        Self { child, base, client }
    }

    /// Starts a server for the first time as its users do, in a folder; returns what it prints, and no token for its
    /// client.
    pub async fn start_first(folder: &Path, flags: &[&str]) -> (Self, String) {
        let mut command = command(folder);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags);
        command.env("SVCTRACK_ADMIN_LISTEN", "off");
        let (child, base, printed) = listening(command).await;
        let client = Client::new(&base, None);
        (Self { child, base, client }, printed)
    }

    /// The same, with an operator's token too.
    pub async fn start_with_operator(
        folder: &Path,
        token: &Token,
        operator: &Token,
        flags: &[&str],
    ) -> Self {
        let flags = [&["--bootstrap-operator-token", operator.reveal()], flags].concat();
        Self::start_with(folder, token, &flags).await
    }

    /// Starts a server with one company, whose `externalId` is `acme`.
    pub async fn start_with_acme(folder: &Path, token: &Token) -> Self {
        let server = Self::start(folder, token).await;
        let acme = serde_json::json!({"name": "Acme", "externalId": "acme"});
        assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
        server
    }

    /// Waits until the server responds; returns how long that took.
    pub async fn ready(&self) -> Duration {
        let started = Instant::now();
        loop {
            let response = self.client.send(hyper::Method::GET, "/health", &[], "").await;
            if response.is_ok_and(|response| response.status == StatusCode::OK) {
                return started.elapsed();
            }
            assert!(started.elapsed() < PATIENCE, "the server does not get ready");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends the server as a crash would.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Stops the server and waits until it has ended.
    pub async fn stop(self) {
        self.signal("TERM");
        assert_eq!(self.wait().await, Some(0));
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the end; returns the exit code.
    pub async fn wait(mut self) -> Option<i32> {
        tokio::time::timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap().code()
    }
}

/// Sends a signal to a process, by its name.
pub fn signal(child: &Child, name: &str) {
    let id = child.id().unwrap().to_string();
    assert!(Build::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// Starts a server, and waits until it listens; returns its address and what it prints until then.
async fn listening(mut command: Command) -> (Child, String, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let printed = read_until(&mut child, "serves on ").await;
    let (_, after) = printed.rsplit_once("serves on ").unwrap();
    let base = after.split_whitespace().next().unwrap().to_owned();
    (child, base, printed)
}

/// A running server as senders use it, with an operator's token for what only that may do.
#[derive(Clone)]
pub struct Remote {
    /// A client with the tenant's token.
    pub client: Client,
    /// A client with an operator's token.
    pub operator: Client,
}

impl Remote {
    /// A server that was started with this operator's token.
    pub fn for_server(server: &Server, operator: &Token) -> Self {
        let operator = server.client.with_token(operator.reveal());
        Self { client: server.client.clone(), operator }
    }
}

impl Target for Remote {
    async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (StatusCode, Value) {
        let client = if path == "/tenants" { &self.operator } else { &self.client };
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        match client.send(method, path, &headers, body).await {
            Ok(response) => {
                let text = || Value::String(String::from_utf8_lossy(&response.body).into_owned());
                (response.status, serde_json::from_slice(&response.body).unwrap_or_else(|_| text()))
            }
            Err(error) => (StatusCode::SERVICE_UNAVAILABLE, Value::String(error)),
        }
    }

    async fn clean_up(&self) {
        // A server that is a separate process ends automatically.
    }
}

/// Peak memory of a process, in bytes.
pub fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

/// What a process says up to the line that has `mark` in it.
pub async fn read_until(child: &mut Child, mark: &str) -> String {
    let said = try_read_until(child, mark).await;
    said.unwrap_or_else(|said| panic!("it ended, having said: {said}"))
}

/// The same.
///
/// # Errors
/// All that it said, where it ended before.
pub async fn try_read_until(child: &mut Child, mark: &str) -> Result<String, String> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = String::new();
    loop {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
        let Some(line) = line else { return Err(said) };
        said.push_str(&line);
        said.push('\n');
        if line.contains(mark) {
            // What it says later is read and dropped, so that it never waits for a reader.
            tokio::spawn(async move {
                let mut rest = Vec::new();
                lines.into_inner().read_to_end(&mut rest).await
            });
            return Ok(said);
        }
    }
}
