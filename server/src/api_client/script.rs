//! The browser script's settings, as a running server reports them.

use std::{path::Path, time::Duration};

use poem::http::Method;
use serde_json::Value;
use svctrack_core::value::TenantId;
use svctrack_web::SnippetScript;

use super::ApiClient;
use crate::{address_file::AddressFile, config::Config};

/// How long a server that was not named may take to respond: another program may listen there.
const PATIENCE: Duration = Duration::from_secs(2);

/// Response of a running server, with its address: the named server, else the running one of the configuration. Its
/// certificate may be in a file.
///
/// # Errors
/// A message, when the named server cannot be reached, or does not know the tenant.
pub async fn of_running(
    config: &Config,
    server: Option<&str>,
    ca_cert: Option<&Path>,
    tenant: Option<TenantId>,
    loads: SnippetScript,
) -> Result<Option<(String, Value)>, String> {
    if let Some(server) = server {
        let said = ask(server, ca_cert, tenant, loads).await;
        return said.map(|said| Some((server.to_owned(), said)));
    }
    let Some(server) = AddressFile::find(config) else { return Ok(None) };
    // There may be no server, or another program.
    let runs = tokio::time::timeout(PATIENCE, ask(&server, ca_cert, None, loads)).await;
    if !matches!(runs, Ok(Ok(_))) {
        return Ok(None);
    }
    ask(&server, ca_cert, tenant, loads).await.map(|said| Some((server, said)))
}

async fn ask(
    server: &str,
    ca_cert: Option<&Path>,
    tenant: Option<TenantId>,
    loads: SnippetScript,
) -> Result<Value, String> {
    let tenant = tenant.map(|tenant| format!("tenant={tenant}&")).unwrap_or_default();
    let path = format!("/script.json?{tenant}pinned={}", loads == SnippetScript::ThisVersion);
    let client = ApiClient::running_for_anyone(server, ca_cert)?;
    let said = client.call(Method::GET, &path, None).await;
    let said = said.map_err(|error| match error.starts_with(server) {
        true => error,
        false => format!("the server at {server}: {error}"),
    })?;
    let is_ours = said.get("script").is_some_and(Value::is_string);
    is_ours.then_some(said).ok_or_else(|| format!("the server at {server} is not svctrack"))
}
