//! Target of a command's calls: a running server, or the store of a stopped one.

use std::path::PathBuf;

use clap::Args;
use poem::http::Method;
use serde_json::Value;
use svctrack_server::{
    api_client::{ApiClient, CommandOwner},
    config::{Config, ConfigOverrides, StoreSettings},
};

use super::{configure::configure, output::print_out};

/// The target of a call, and the form of its output.
#[derive(Args)]
pub(crate) struct TargetArgs {
    /// Data directory of a stopped server, without --server [default: ./svctrack-data]
    #[arg(long, env = "SVCTRACK_DATA", value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// URL of a running server, such as http://127.0.0.1:8080 [default: none; the store of a stopped server is used]
    #[arg(long, env = "SVCTRACK_SERVER", value_name = "URL", requires = "token")]
    server: Option<String>,
    /// Token for --server: an operator token for tenants, backups and the demo, otherwise a token of the tenant
    #[arg(long, env = "SVCTRACK_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Certificate to trust for an https:// server, in PEM: of its authority, or its own [default: none; authorities
    /// that browsers trust]
    #[arg(long, env = "SVCTRACK_CA_CERT", value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl TargetArgs {
    pub(crate) async fn call(
        &self,
        whose: CommandOwner<'_>,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, String> {
        self.client(whose).await?.call(method, path, body).await
    }

    /// Token for calls to a running server.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.server.as_ref().and(self.token.as_deref())
    }

    /// The server, or the store, that carries out the calls.
    pub(crate) async fn client(&self, whose: CommandOwner<'_>) -> Result<ApiClient, String> {
        match (&self.server, &self.token) {
            (Some(server), Some(token)) => {
                ApiClient::running(server, token, self.ca_cert.as_deref())
            }
            _ => ApiClient::stopped(&self.config()?, whose).await,
        }
    }

    /// Where browsers open the pages of the server, or will when it is started again.
    pub(crate) fn address(&self) -> Result<String, String> {
        if let Some(server) = &self.server {
            return Ok(server.trim_end_matches('/').to_owned());
        }
        let config = self.config()?;
        Ok(config.pages_url(&config.own_url()).to_owned())
    }

    /// The configuration of the stopped server.
    pub(crate) fn config(&self) -> Result<Config, String> {
        let files = StoreSettings { data: self.data.clone(), ..StoreSettings::default() };
        configure(ConfigOverrides { files, ..ConfigOverrides::default() })
    }

    pub(crate) fn show(
        &self,
        response: &Value,
        in_words: impl FnOnce() -> String,
    ) -> Result<(), String> {
        if self.json { print_out(&response.to_string()) } else { print_out(&in_words()) }
    }
}
