//! `svctrack health`: the health of a running server, for health checks that run a command, as those of containers do.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use svctrack_server::{
    api_client::health::health_of,
    config::{ConfigOverrides, StoreSettings},
};

use super::{
    configure::configure,
    output::{print_out, text_at},
};

/// Check the health of a running server
///
/// Prints the status: `ok` if data can be read and written. The exit code is 0 for `ok`, and 1 for any other status or
/// without a response within 5 seconds. Needs no token.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack health --server http://127.0.0.1:8080")]
pub(crate) struct Health {
    /// Data directory of the server [default: ./svctrack-data]
    #[arg(long, env = "SVCTRACK_DATA", value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    /// URL of a running server, such as http://127.0.0.1:8080 [default: the server of the data directory]
    #[arg(long, env = "SVCTRACK_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Certificate to trust for an https:// server, in PEM: of its authority, or its own [default: none; authorities
    /// that browsers trust]
    #[arg(long, env = "SVCTRACK_CA_CERT", value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Print JSON, as GET /health returns it
    #[arg(long)]
    json: bool,
}

impl Health {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let files = StoreSettings { data: self.data, ..StoreSettings::default() };
        let config = configure(ConfigOverrides { files, ..ConfigOverrides::default() })?;
        let health = health_of(&config, self.server.as_deref(), self.ca_cert.as_deref()).await?;
        let status = text_at(&health, "/status");
        print_out(&if self.json { health.to_string() } else { status.clone() })?;
        Ok(if status == "ok" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
