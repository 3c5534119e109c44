//! `svctrack tenant` and `svctrack token`: each is a call of the API, of a running server or over the
//! store of one that is stopped (R44). `svctrack compact` and `svctrack verify` are for a stopped one alone;
//! `svctrack script` asks a running one where it can.

mod backup;
mod output;
mod print_config;
mod progress;
mod script;
mod target;
mod transfer;
mod variables;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bytes::Bytes;
use clap::{Args, Subcommand};
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::{
    admin::Whose,
    auth::Token,
    config::{Config, ConfigOverrides, StoreSettings},
    open_error::explain_open_error,
};
use svctrack_store::embedded::{Compacted, Problem, Verified, compact, verify};

pub(crate) use self::{
    backup::{Backup, Restore},
    output::{print_err, print_out},
    print_config::print_config,
    script::Script,
    target::configure,
    transfer::{Export, Import},
    variables::warn_of_unknown,
};

use self::{
    output::{table, text_at},
    target::TargetArgs,
};

#[derive(Subcommand)]
pub(crate) enum TenantCommand {
    /// Create a tenant and print its first token, which is shown only once
    Create {
        #[command(flatten)]
        at: TargetArgs,
        /// Name of the tenant
        #[arg(long)]
        name: String,
    },
    /// List the tenants
    List {
        #[command(flatten)]
        at: TargetArgs,
    },
    /// Rename a tenant
    Rename {
        #[command(flatten)]
        of: OneTenant,
        /// New name
        #[arg(long)]
        name: String,
    },
    /// Suspend a tenant: reject its calls and events until it is resumed
    Suspend {
        #[command(flatten)]
        of: OneTenant,
    },
    /// Resume a suspended tenant
    Resume {
        #[command(flatten)]
        of: OneTenant,
    },
    /// Delete a tenant with all its data, and wait until it is deleted; older backups still have it
    Delete {
        #[command(flatten)]
        of: OneTenant,
        /// Confirm the deletion
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args)]
pub(crate) struct OneTenant {
    #[command(flatten)]
    at: TargetArgs,
    /// UUID of the tenant
    #[arg(value_name = "UUID")]
    id: String,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Generate a token for --bootstrap-token; nothing is stored
    Generate,
    /// Create a token and print it; it is shown only once
    Create {
        #[command(flatten)]
        of: TokenOwnerArgs,
        /// Purpose of the token
        #[arg(long)]
        label: String,
        /// Scopes, separated by commas: products:read, tickets:create, admin, * [default: * or operator,admin]
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// Expiry date [default: none]
        #[arg(long, value_name = "DATE")]
        expires: Option<String>,
        /// User that the token acts as: `_id`, extid-... or srcid-... [default: a user of its own]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List the tokens; secrets are not stored
    List {
        #[command(flatten)]
        of: TokenOwnerArgs,
    },
    /// Rotate a token: print its successor once; the old one stays valid for a while
    Rotate {
        #[command(flatten)]
        of: TokenOwnerArgs,
        /// Token id: the eight characters after `svt_`
        id: String,
        /// How long the old token is valid, such as 10min, 24h or 0s
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = humantime::parse_duration)]
        keep_old_for: Duration,
        /// Expiry date of the successor [default: the lifetime of the old one]
        #[arg(long, value_name = "DATE")]
        expires: Option<String>,
    },
    /// Revoke a token, from the next request on
    Revoke {
        #[command(flatten)]
        of: TokenOwnerArgs,
        /// Token id: the eight characters after `svt_`
        id: String,
        /// Also revoke all tokens derived from it: issued by it, or rotated from it
        #[arg(long)]
        cascade: bool,
    },
}

#[derive(Args)]
pub(crate) struct TokenOwnerArgs {
    #[command(flatten)]
    at: TargetArgs,
    /// UUID of the tenant, on a stopped store [default: the only one]
    #[arg(long, value_name = "UUID", conflicts_with = "server")]
    tenant: Option<String>,
    /// The operator's tokens, which may create tenants, on a stopped store
    #[arg(long, conflicts_with_all = ["server", "tenant"])]
    operator: bool,
}

/// The store of a stopped server.
#[derive(Args)]
struct StoppedStore {
    #[command(flatten)]
    store: StoreSettings,
    /// Directory of scheduled backups; the newest is suggested when the store cannot be repaired [default: backups, in
    /// the data directory]
    #[arg(long, env = "SVCTRACK_BACKUP_TO", value_name = "DIRECTORY")]
    backup_to: Option<PathBuf>,
}

/// `svctrack compact`.
#[derive(Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print JSON: `bytesBefore` and `bytesAfter`
    #[arg(long)]
    json: bool,
}

/// What to do where a store cannot be taken.
const STOP: &str = "; the server must be stopped";

impl StoppedStore {
    /// The configuration, where there is a store in its data folder.
    fn config(self) -> Result<Config, String> {
        let Self { store, backup_to } = self;
        let config = configure(ConfigOverrides { store, backup_to, ..ConfigOverrides::default() })?;
        if !config.has_store() {
            return Err(format!("there is no store in `{}`", config.data.display()));
        }
        Ok(config)
    }
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.stopped.config()?;
        let done = compact(&config.data, config.cache_bytes());
        let done = done.map_err(|cause| explain_open_error(&config, "compacted", &cause, STOP))?;
        let Compacted { bytes_before, bytes_after } = done;
        if self.json {
            let bytes = json!({ "bytesBefore": bytes_before, "bytesAfter": bytes_after });
            return print_out(&bytes.to_string());
        }
        print_out(&format!("{bytes_before} bytes before, {bytes_after} bytes now"))
    }
}

/// `svctrack verify`.
#[derive(Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print JSON: `rows`, `problemCount` and `problems`
    #[arg(long)]
    json: bool,
}

/// The exit code that says that something is damaged.
const DAMAGED: u8 = 2;

impl Verify {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let config = self.stopped.config()?;
        let found = verify(&config.data, config.cache_bytes());
        let found = found.map_err(|cause| explain_open_error(&config, "verified", &cause, STOP))?;
        print_out(&if self.json { in_json(&found) } else { in_words(&found) })?;
        Ok(if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
    }
}

fn in_json(found: &Verified) -> String {
    let problem = |problem: &Problem| {
        let id = problem.id.map(|id| id.to_string());
        json!({ "table": problem.table, "id": id, "what": problem.what })
    };
    let problems: Vec<Value> = found.problems.iter().map(problem).collect();
    json!({ "rows": found.rows, "problemCount": found.problem_count, "problems": problems })
        .to_string()
}

fn in_words(found: &Verified) -> String {
    let problem = |problem: &Problem| {
        let id = problem.id.map(|id| format!(" {id}")).unwrap_or_default();
        format!("{}{id}: {}\n", problem.table, problem.what)
    };
    let problems: String = found.problems.iter().map(problem).collect();
    format!("{problems}{} rows, {} problems", found.rows, found.problem_count)
}

const TOKEN_COLUMNS: &[&str] = &["_id", "label", "scopes", "createdBy", "expiresAt", "lastUsedAt"];
const TENANT_COLUMNS: &[&str] = &["_id", "name", "state", "createdAt"];

/// Pause between two looks whether a tenant is gone.
const DELETION_POLL: Duration = Duration::from_millis(100);

impl TenantCommand {
    pub(crate) async fn run(self) -> Result<(), String> {
        match self {
            Self::Create { at, name } => {
                let body = json!({ "name": name });
                let made = at.call(Whose::Operator, Method::POST, "/tenants", Some(body)).await?;
                at.show(&made, || {
                    format!(
                        "Tenant     {}\nAPI token  {}",
                        text_at(&made, "/_id"),
                        text_at(&made, "/token/token")
                    )
                })
            }
            Self::List { at } => {
                let tenants = at.call(Whose::Operator, Method::GET, "/tenants", None).await?;
                at.show(&tenants, || table(&tenants, TENANT_COLUMNS))
            }
            Self::Rename { of, name } => of.change(json!({ "name": name })).await,
            Self::Suspend { of } => of.change(json!({ "suspended": true })).await,
            Self::Resume { of } => of.change(json!({ "suspended": false })).await,
            Self::Delete { yes: false, .. } => {
                Err("this deletes the tenant with all its data: confirm with --yes".to_owned())
            }
            Self::Delete { of, .. } => of.delete().await,
        }
    }
}

impl OneTenant {
    fn path(&self) -> String {
        format!("/tenants/{}", self.id)
    }

    async fn change(&self, body: Value) -> Result<(), String> {
        let changed = self.at.call(Whose::Operator, Method::PUT, &self.path(), Some(body)).await?;
        self.at.show(&changed, || table(&json!([changed]), TENANT_COLUMNS))
    }

    async fn delete(&self) -> Result<(), String> {
        let admin = self.at.admin(Whose::Operator).await?;
        let path = self.path();
        let deleted = admin.call(Method::DELETE, &path, None).await?;
        // On a stopped store nobody else would go on with it.
        while admin.send(Method::GET, &path, Bytes::new()).await?.status != StatusCode::NOT_FOUND {
            tokio::time::sleep(DELETION_POLL).await;
        }
        self.at.show(&deleted, || "deleted".to_owned())
    }
}

impl TokenCommand {
    pub(crate) async fn run(self) -> Result<(), String> {
        match self {
            Self::Generate => {
                let token = Token::generate().map_err(|error| error.to_string())?;
                print_out(token.reveal())
            }
            Self::Create { of, label, scopes, expires, user } => {
                let scopes = if scopes.is_empty() { of.every_scope() } else { scopes };
                let body = json!({ "label": label, "scopes": scopes, "expiresAt": expires, "userId": user });
                let made = of.call(Method::POST, "/tokens", Some(body)).await?;
                of.at.show(&made, || text_at(&made, "/token"))
            }
            Self::List { of } => {
                let tokens = of.call(Method::GET, "/tokens", None).await?;
                of.at.show(&tokens, || table(&tokens, TOKEN_COLUMNS))
            }
            Self::Rotate { of, id, keep_old_for, expires } => {
                let body =
                    json!({ "keepOldForSeconds": keep_old_for.as_secs(), "expiresAt": expires });
                let path = format!("/tokens/{id}/rotate");
                let made = of.call(Method::POST, &path, Some(body)).await?;
                of.at.show(&made, || text_at(&made, "/token"))
            }
            Self::Revoke { of, id, cascade } => {
                let path = format!("/tokens/{id}?cascade={cascade}");
                let done = of.call(Method::DELETE, &path, None).await?;
                of.at.show(&done, || format!("revoked: {}", text_at(&done, "/deletedCount")))
            }
        }
    }
}

impl TokenOwnerArgs {
    fn every_scope(&self) -> Vec<String> {
        let scopes: &[&str] = if self.operator { &["operator", "admin"] } else { &["*"] };
        scopes.iter().map(|scope| (*scope).to_owned()).collect()
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let whose = match &self.tenant {
            None if self.operator => Whose::Operator,
            tenant => Whose::of(tenant.as_deref()),
        };
        self.at.call(whose, method, path, body).await
    }
}

/// Runs a command to its end.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(command)
}
