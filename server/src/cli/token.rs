//! `svctrack token`: API tokens of a running server or of a stopped one's store (R44).

use std::time::Duration;

use clap::{Args, Subcommand};
use poem::http::Method;
use serde_json::{Value, json};
use svctrack_core::{access::Rotation, value::Timestamp};
use svctrack_server::{api_client::CommandOwner, auth::Token};
use svctrack_web::pages::address;

use super::{
    output::{print_out, table, text_at},
    target::TargetArgs,
};

/// Generate, create, list, rotate and revoke API tokens
///
/// Only hashes of tokens are stored, so a token is shown only once. On a running server (`--server`) the tokens are those
/// of the tenant, or of the operator, that `--token` belongs to. On a stopped store, `--tenant` or `--operator` selects
/// them.
#[derive(Subcommand)]
#[command(after_help = "Examples:
  svctrack token create --label \"nightly import\"
  svctrack token list
  svctrack token revoke P0ah3R3E")]
pub(crate) enum TokenCommand {
    /// Generate a token for `--bootstrap-token`
    ///
    /// Nothing is stored. The token is valid once a first start has created it, with `--bootstrap-token` or
    /// `--bootstrap-operator-token`.
    #[command(after_help = "Examples:
  svctrack token generate")]
    Generate {
        /// Print JSON: `token`
        #[arg(long)]
        json: bool,
    },
    /// Create a token, and print it
    ///
    /// On a running server, the token can have only scopes that `--token` has, and expires no later than `--token` does.
    /// If all tokens are lost, create one on the stopped store.
    #[command(after_help = "Examples:
  svctrack token create --label \"nightly import\"
  svctrack token create --label \"reports\" --scopes companies:read,licenses:read --expires 2030-12-31 --server http://127.0.0.1:8080 --token $TOKEN")]
    Create {
        #[command(flatten)]
        owner: TokenOwnerArgs,
        /// Purpose of the token
        #[arg(long)]
        label: String,
        /// Scopes, separated by commas, such as products:read, tickets:create, admin or *; --token must have them
        /// [default: those of --token; on a stopped store *, or operator,admin]
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// Expiry date [default: none]
        #[arg(long, value_name = "DATE", value_parser = date)]
        expires: Option<String>,
        /// User that the token acts as: `_id`, extid-... or srcid-... [default: a new user]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// List the tokens of a tenant, or of the operator
    ///
    /// Prints the id, label, scopes, issuer, expiry date and last use of each token, without its secret.
    #[command(after_help = "Examples:
  svctrack token list --operator")]
    List {
        #[command(flatten)]
        owner: TokenOwnerArgs,
    },
    /// Rotate a token: create its successor, and print it
    ///
    /// The successor has the same scopes and acts as the same user. The old token stays valid for a day, or for
    /// `--keep-old-for`.
    #[command(after_help = "Examples:
  svctrack token rotate P0ah3R3E --keep-old-for 1h")]
    Rotate {
        #[command(flatten)]
        owner: TokenOwnerArgs,
        /// Token id: the eight characters after `svt_`
        id: String,
        /// How long the old token is valid, such as 10min, 24h or 0s; at most 30d
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = overlap)]
        keep_old_for: Duration,
        /// Expiry date of the successor [default: the lifetime of the old one]
        #[arg(long, value_name = "DATE", value_parser = date)]
        expires: Option<String>,
    },
    /// Revoke a token
    ///
    /// The token is rejected from the next request on. The last token with `admin` cannot be revoked: create another one
    /// first, or rotate it.
    #[command(after_help = "Examples:
  svctrack token revoke P0ah3R3E --cascade")]
    Revoke {
        #[command(flatten)]
        owner: TokenOwnerArgs,
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
    target: TargetArgs,
    /// UUID of the tenant on a stopped store [default: the only one]; a running server uses the tenant of --token
    #[arg(long, value_name = "UUID", conflicts_with = "server")]
    tenant: Option<String>,
    /// Use operator tokens, on a stopped store; a running server uses them if --token is an operator token
    #[arg(long, conflicts_with = "tenant")]
    operator: bool,
}

fn date(text: &str) -> Result<String, String> {
    let is_date = Timestamp::parse(text).is_some();
    is_date.then(|| text.to_owned()).ok_or_else(|| "expected a date such as 2030-12-31".to_owned())
}

fn overlap(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let is_allowed = time.as_secs() <= Rotation::MAX_KEEP_SECONDS.unsigned_abs();
    is_allowed.then_some(time).ok_or_else(|| "expected at most 30d".to_owned())
}

const TOKEN_COLUMNS: &[&str] = &["_id", "label", "scopes", "createdBy", "expiresAt", "lastUsedAt"];

impl TokenCommand {
    pub(crate) async fn run(self) -> Result<(), String> {
        match self {
            Self::Generate { json: as_json } => {
                let token = Token::generate().map_err(|error| error.to_string())?;
                let token = token.reveal();
                print_out(&if as_json {
                    json!({ "token": token }).to_string()
                } else {
                    token.to_owned()
                })
            }
            Self::Create { owner, label, scopes, expires, user } => {
                let scopes =
                    if scopes.is_empty() { owner.every_scope().await? } else { json!(scopes) };
                let body = json!({ "label": label, "scopes": scopes, "expiresAt": expires, "userId": user });
                let made = owner.call(Method::POST, "/tokens", Some(body)).await?;
                owner.target.show(&made, || text_at(&made, "/token"))
            }
            Self::List { owner } => {
                let tokens = owner.call(Method::GET, "/tokens", None).await?;
                owner.target.show(&tokens, || table(&tokens, TOKEN_COLUMNS))
            }
            Self::Rotate { owner, id, keep_old_for, expires } => {
                let body =
                    json!({ "keepOldForSeconds": keep_old_for.as_secs(), "expiresAt": expires });
                let path = format!("/tokens/{id}/rotate");
                let made = owner.call(Method::POST, &path, Some(body)).await?;
                owner.target.show(&made, || text_at(&made, "/token"))
            }
            Self::Revoke { owner, id, cascade } => {
                let path = format!("/tokens/{id}?cascade={cascade}");
                let done = owner.call(Method::DELETE, &path, None).await?;
                owner.target.show(&done, || format!("revoked: {}", text_at(&done, "/deletedCount")))
            }
        }
    }
}

impl TokenOwnerArgs {
    /// All scopes that can be granted: on a running server those of the token that calls it.
    async fn every_scope(&self) -> Result<Value, String> {
        let Some(issuer) = self.target.issuer() else {
            return Ok(if self.operator { json!(["operator", "admin"]) } else { json!(["*"]) });
        };
        let issuer = Token::parse(issuer).ok_or("malformed token: check --token")?;
        let path = address("/tokens", &[], &[("_id", issuer.id()), ("select", "scopes")]);
        let own = self.call(Method::GET, &path, None).await?;
        Ok(own.pointer("/0/scopes").cloned().unwrap_or_default())
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let whose = match &self.tenant {
            None if self.operator => CommandOwner::Operator,
            tenant => CommandOwner::named(tenant.as_deref()),
        };
        self.target.call(whose, method, path, body).await
    }
}
