//! `svctrack tenant`: tenants of a running server or of a stopped one's store (R44).

use std::time::Duration;

use bytes::Bytes;
use clap::{Args, Subcommand};
use poem::http::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::api_client::{ApiClient, CommandOwner};

use super::{
    output::{table, text_at},
    target::TargetArgs,
};

/// Create, list, rename, suspend, resume and delete tenants
///
/// Tenants share the server, but no data: each has records, events, tokens and settings of its own. On a running server
/// (`--server`), `--token` must be an operator token.
#[derive(Subcommand)]
#[command(after_help = "Examples:
  svctrack tenant create --name \"Acme\"
  svctrack tenant list
  svctrack tenant suspend 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11")]
pub(crate) enum TenantCommand {
    /// Create a tenant, and print its UUID and its first token
    ///
    /// The token is shown only once. It has the scope `*`: everything in the tenant.
    #[command(after_help = "Examples:
  svctrack tenant create --name \"Acme\"
  svctrack tenant create --name \"Acme\" --server http://127.0.0.1:8080 --token $OPERATOR")]
    Create {
        #[command(flatten)]
        target: TargetArgs,
        /// Name of the tenant
        #[arg(long)]
        name: String,
    },
    /// List the tenants
    ///
    /// Prints the UUID, name, state (`active`, `suspended` or `deleting`) and creation time of each tenant.
    #[command(after_help = "Examples:
  svctrack tenant list --json")]
    List {
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Rename a tenant
    ///
    /// The UUID, tokens and data stay the same.
    #[command(after_help = "Examples:
  svctrack tenant rename 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11 --name \"Acme Ltd\"")]
    Rename {
        #[command(flatten)]
        tenant: TenantArgs,
        /// New name
        #[arg(long)]
        name: String,
    },
    /// Suspend a tenant: reject its calls and events
    ///
    /// Until the tenant is resumed, calls are rejected with 403, and events with 503, so that senders store and retry
    /// them. Its data is retained.
    #[command(after_help = "Examples:
  svctrack tenant suspend 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11")]
    Suspend {
        #[command(flatten)]
        tenant: TenantArgs,
    },
    /// Resume a suspended tenant
    ///
    /// Calls and events are accepted from the next request on. Senders retry the events that were rejected.
    #[command(after_help = "Examples:
  svctrack tenant resume 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11")]
    Resume {
        #[command(flatten)]
        tenant: TenantArgs,
    },
    /// Delete a tenant with all its data
    ///
    /// The command ends when the deletion is complete. Older backups still contain the tenant. The last tenant cannot be
    /// deleted.
    #[command(after_help = "Examples:
  svctrack tenant delete 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11 --yes")]
    Delete {
        #[command(flatten)]
        tenant: TenantArgs,
        /// Confirm the deletion
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args)]
pub(crate) struct TenantArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// UUID of the tenant
    #[arg(value_name = "UUID")]
    id: String,
}

const TENANT_COLUMNS: &[&str] = &["_id", "name", "state", "createdAt"];

/// Pause between two checks whether a tenant is deleted.
const DELETION_POLL: Duration = Duration::from_millis(100);

impl TenantCommand {
    pub(crate) async fn run(self) -> Result<(), String> {
        match self {
            Self::Create { target, name } => {
                let body = json!({ "name": name });
                let made = target
                    .call(CommandOwner::Operator, Method::POST, "/tenants", Some(body))
                    .await?;
                target.show(&made, || {
                    format!(
                        "Tenant     {}\nAPI token  {}",
                        text_at(&made, "/_id"),
                        text_at(&made, "/token/token")
                    )
                })
            }
            Self::List { target } => {
                let tenants =
                    target.call(CommandOwner::Operator, Method::GET, "/tenants", None).await?;
                target.show(&tenants, || table(&tenants, TENANT_COLUMNS))
            }
            Self::Rename { tenant, name } => tenant.change(json!({ "name": name })).await,
            Self::Suspend { tenant } => tenant.change(json!({ "suspended": true })).await,
            Self::Resume { tenant } => tenant.change(json!({ "suspended": false })).await,
            Self::Delete { yes: false, .. } => {
                Err("this deletes the tenant with all its data: confirm with --yes".to_owned())
            }
            Self::Delete { tenant, .. } => tenant.delete().await,
        }
    }
}

impl TenantArgs {
    fn path(&self) -> String {
        format!("/tenants/{}", self.id)
    }

    async fn change(&self, body: Value) -> Result<(), String> {
        let changed =
            self.target.call(CommandOwner::Operator, Method::PUT, &self.path(), Some(body)).await?;
        self.target.show(&changed, || table(&json!([changed]), TENANT_COLUMNS))
    }

    async fn delete(&self) -> Result<(), String> {
        let operator = self.target.client(CommandOwner::Operator).await?;
        let deleted = delete(&operator, &self.path()).await?;
        self.target.show(&deleted, || "deleted".to_owned())
    }
}

/// Deletes the tenant at a path, and waits until all its data is removed.
pub(super) async fn delete(operator: &ApiClient, path: &str) -> Result<Value, String> {
    let deleted = operator.call(Method::DELETE, path, None).await?;
    // On a stopped store nothing else would continue the deletion.
    while operator.send(Method::GET, path, Bytes::new()).await?.status != StatusCode::NOT_FOUND {
        tokio::time::sleep(DELETION_POLL).await;
    }
    Ok(deleted)
}
