//! Shared parts of `svctrack export` and `svctrack import`: the records are those of one tenant, through a running
//! server or on the store of a stopped one, or of all tenants of a stopped one, each in a folder that is named by its
//! UUID.

use clap::Args;
use serde_json::Value;
use svctrack_server::api_client::{ApiClient, CommandOwner};

use super::{output::text_at, target::TargetArgs};

/// File that names the tenants whose folders are next to it.
pub(crate) const TENANTS: &str = "tenants.json";

#[derive(Args)]
pub(crate) struct RecordOwnerArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// UUID of the tenant, on a stopped store [default: the only one]
    #[arg(long, value_name = "UUID", conflicts_with = "server")]
    tenant: Option<String>,
    /// All tenants, on a stopped store
    #[arg(long, conflicts_with_all = ["server", "tenant"])]
    pub(crate) all_tenants: bool,
}

impl RecordOwnerArgs {
    pub(crate) async fn client(&self) -> Result<ApiClient, String> {
        let whose = match self.all_tenants {
            true => CommandOwner::Operator,
            false => CommandOwner::named(self.tenant.as_deref()),
        };
        self.target.client(whose).await
    }
}

/// Counts as lines, below the names of tenants where there are several.
pub(crate) fn lines_of(told: &Value) -> String {
    let members = told.as_object().into_iter().flatten();
    let line = |(name, value): (&String, &Value)| match value {
        Value::Object(counts) if counts.contains_key("taken") => {
            let count = |name| text_at(value, name);
            let there = match counts.get("created") {
                None | Some(Value::Null) => format!("{} accepted", count("/taken")),
                Some(_) => format!(
                    "{} created, {} updated, {} unchanged",
                    count("/created"),
                    count("/updated"),
                    count("/unchanged")
                ),
            };
            format!("{name}  {there}, {} rejected", count("/refused"))
        }
        Value::Object(_) => format!("{name}\n  {}", lines_of(value).replace('\n', "\n  ")),
        count => format!("{name}  {count}"),
    };
    members.map(line).collect::<Vec<_>>().join("\n")
}
