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
    config::{Config, Given, StoreSettings},
    refusal::refusal,
};
use svctrack_store::embedded::{Compacted, Problem, Verified, compact, verify};

pub(crate) use self::{
    backup::{Backup, Restore},
    output::{say, tell},
    print_config::print_config,
    script::Script,
    target::configure,
    transfer::{Export, Import},
    variables::warn_of_unknown,
};

use self::{
    output::{table, text_at},
    target::At,
};

#[derive(Subcommand)]
pub(crate) enum TenantCommand {
    /// Create a tenant; its first token is shown only this once
    Create {
        #[command(flatten)]
        at: At,
        /// Name of the tenant
        #[arg(long)]
        name: String,
    },
    /// List the tenants
    List {
        #[command(flatten)]
        at: At,
    },
    /// Rename a tenant
    Rename {
        #[command(flatten)]
        of: OneTenant,
        /// Its new name
        #[arg(long)]
        name: String,
    },
    /// Reject the calls and events of a tenant until it is resumed; its data and tokens stay
    Suspend {
        #[command(flatten)]
        of: OneTenant,
    },
    /// Serve a suspended tenant again
    Resume {
        #[command(flatten)]
        of: OneTenant,
    },
    /// Delete a tenant with all that is stored of it, and wait until that is gone; backups made before still hold it
    Delete {
        #[command(flatten)]
        of: OneTenant,
        /// Confirm that the data is to be removed
        #[arg(long)]
        yes: bool,
    },
}

/// One tenant.
#[derive(Args)]
pub(crate) struct OneTenant {
    #[command(flatten)]
    at: At,
    /// UUID of the tenant
    #[arg(value_name = "UUID")]
    id: String,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Print a new token for a first start with --bootstrap-token; nothing is stored
    Generate,
    /// Issue a token, which is shown only this once
    Create {
        #[command(flatten)]
        of: Of,
        /// What it is for
        #[arg(long)]
        label: String,
        /// What it may do, separated by commas: products:read, tickets:create, admin, * [default: * or operator,admin]
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// Expiry date [default: none]
        #[arg(long, value_name = "DATE")]
        expires: Option<String>,
        /// User that it acts as: `_id`, extid-... or srcid-... [default: one of its own]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List the tokens, with what is kept of each
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Issue the successor of a token, which is shown only this once; the old one is valid beside it for a while
    Rotate {
        #[command(flatten)]
        of: Of,
        /// Its id, the eight characters behind `svt_`
        id: String,
        /// How long the old token is valid, such as 10min, 24h or 0s
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = humantime::parse_duration)]
        keep_old_for: Duration,
        /// Expiry date of the successor [default: as long after its issue as the old one's]
        #[arg(long, value_name = "DATE")]
        expires: Option<String>,
    },
    /// Revoke a token, from the next request on
    Revoke {
        #[command(flatten)]
        of: Of,
        /// Its id, the eight characters behind `svt_`
        id: String,
        /// Revoke all tokens that come from it too: those that it issued or was rotated into, and so on
        #[arg(long)]
        cascade: bool,
    },
}

/// Whose tokens.
#[derive(Args)]
pub(crate) struct Of {
    #[command(flatten)]
    at: At,
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
    /// Folder of the scheduled backups, of which the newest is named where the store is beyond repair [default:
    /// backups, in the data folder]
    #[arg(long, env = "SVCTRACK_BACKUP_TO", value_name = "FOLDER")]
    backup_to: Option<PathBuf>,
}

/// `svctrack compact`.
#[derive(Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print the bytes before and after as JSON
    #[arg(long)]
    json: bool,
}

/// What to do where a store cannot be taken.
const STOP: &str = "; the server must be stopped";

impl StoppedStore {
    /// The configuration, where there is a store in its data folder.
    fn config(self) -> Result<Config, String> {
        let Self { store, backup_to } = self;
        let config = configure(Given { store, backup_to, ..Given::default() })?;
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
        let done = done.map_err(|cause| refusal(&config, "compacted", &cause, STOP))?;
        let Compacted { bytes_before, bytes_after } = done;
        if self.json {
            let bytes = json!({ "bytesBefore": bytes_before, "bytesAfter": bytes_after });
            return say(&bytes.to_string());
        }
        say(&format!("{bytes_before} bytes before, {bytes_after} bytes now"))
    }
}

/// `svctrack verify`.
#[derive(Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// The exit code that says that something is damaged.
const DAMAGED: u8 = 2;

impl Verify {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let config = self.stopped.config()?;
        let found = verify(&config.data, config.cache_bytes());
        let found = found.map_err(|cause| refusal(&config, "verified", &cause, STOP))?;
        say(&if self.json { in_json(&found) } else { in_words(&found) })?;
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
                Err("all that is stored of the tenant is removed: confirm it with --yes".to_owned())
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
                say(token.reveal())
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

impl Of {
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
