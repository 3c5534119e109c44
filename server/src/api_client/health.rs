//! The health of a server, as it reports it itself.

use std::{path::Path, time::Duration};

use bytes::Bytes;
use poem::http::Method;
use serde_json::Value;
use tokio::time::timeout;

use super::ApiClient;
use crate::{address_file::AddressFile, config::Config};

/// How long a server may take to respond.
const PATIENCE: Duration = Duration::from_secs(5);

/// Response of `GET /health`, whatever its status, of the named server, else of the running one of the configuration. Its
/// certificate may be in a file.
///
/// # Errors
/// A message, when there is no such server, or it does not respond.
pub async fn health_of(
    config: &Config,
    server: Option<&str>,
    ca_cert: Option<&Path>,
) -> Result<Value, String> {
    let server = server.map(str::to_owned).or_else(|| AddressFile::find(config));
    let server = server.ok_or_else(|| {
        format!("no running server was found in `{}`: name it with --server", config.data.display())
    })?;
    let client = ApiClient::running_for_anyone(&server, ca_cert)?;
    let asked = async {
        let response = client.send(Method::GET, "/health", Bytes::new()).await?;
        let status = response.status;
        let health = response.body.into_json::<Value>().await.unwrap_or_default();
        let is_ours = health.get("status").is_some_and(Value::is_string);
        let behind = match status.is_server_error() {
            true => format!("; it responded with {status}: the server behind a proxy may be down"),
            false => String::new(),
        };
        let foreign = || format!("the server at {server} is not svctrack{behind}");
        is_ours.then_some(health).ok_or_else(foreign)
    };
    let late = |_| format!("{server} did not respond within {} seconds", PATIENCE.as_secs());
    timeout(PATIENCE, asked).await.map_err(late)?
}
