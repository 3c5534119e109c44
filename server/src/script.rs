//! What a web app needs to load the browser script: snippet, policy, files and their hashes. A running server answers
//! it (`GET /script.json`), and `svctrack script` prints it.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};
use svctrack_core::value::TenantId;
use svctrack_web::{Addresses, Loads, Served, lasting_files, snippet, snippet_source};

use crate::{admin::Admin, config::Config, running_at::RunningAt};

/// The source in a policy without which no WebAssembly runs.
pub const WASM_SOURCE: &str = "'wasm-unsafe-eval'";

/// How long a server may take to answer which was not named: what listens there may be another program.
const PATIENCE: Duration = Duration::from_secs(2);

/// All of it as JSON; snippet and policy where a tenant is named.
pub fn to_json(addresses: &Addresses, tenant: Option<TenantId>, loads: Loads) -> Value {
    let files = lasting_files(addresses.script_path());
    let file = |(path, served): (String, Served)| {
        let url = [addresses.base_url(), &path].concat();
        json!({ "url": url, "integrity": served.asset.integrity })
    };
    let mut all = json!({
        "publicUrl": addresses.base_url(),
        "scriptPath": addresses.script_path(),
        "trackingPrefix": addresses.tracking_prefix(),
        "script": addresses.script(),
        "files": files.map(file).collect::<Vec<_>>(),
    });
    if let (Some(tenant), Some(all)) = (tenant, all.as_object_mut()) {
        let tenant = tenant.to_string();
        all.insert("snippet".to_owned(), json!(snippet(addresses, &tenant, loads)));
        let (origin, hash) = (addresses.origin(), snippet_source(addresses, &tenant, loads));
        let policy = json!({ "script-src": [origin, &hash, WASM_SOURCE], "connect-src": [origin] });
        all.insert("policy".to_owned(), policy);
    }
    all
}

/// What a running server answers, with its address: the one that is named, else the one that uses the data folder.
/// Where that has no store, the one on the address to listen on is asked, which may have its data elsewhere.
///
/// # Errors
/// In words, when the server that is named cannot be asked, or knows no such tenant.
pub async fn of_running(
    config: &Config,
    server: Option<&str>,
    tenant: Option<TenantId>,
    loads: Loads,
) -> Result<Option<(String, Value)>, String> {
    if let Some(server) = server {
        return ask(server, tenant, loads).await.map(|said| Some((server.to_owned(), said)));
    }
    let of_folder = RunningAt::read(&config.data);
    let elsewhere = || (!config.has_store()).then(|| config.listen.own_url());
    let Some(server) = of_folder.or_else(elsewhere) else { return Ok(None) };
    // Nothing need be there, or another program.
    let runs = tokio::time::timeout(PATIENCE, ask(&server, None, loads)).await;
    if !matches!(runs, Ok(Ok(_))) {
        return Ok(None);
    }
    ask(&server, tenant, loads).await.map(|said| Some((server, said)))
}

async fn ask(server: &str, tenant: Option<TenantId>, loads: Loads) -> Result<Value, String> {
    let tenant = tenant.map(|tenant| format!("tenant={tenant}&")).unwrap_or_default();
    let path = format!("/script.json?{tenant}pinned={}", loads == Loads::ThisVersion);
    let said = Admin::running_for_anyone(server).call(Method::GET, &path, None).await;
    let said = said.map_err(|error| match error.starts_with(server) {
        true => error,
        false => format!("the server at {server}: {error}"),
    })?;
    let is_ours = said.get("script").is_some_and(Value::is_string);
    is_ours.then_some(said).ok_or_else(|| format!("the server at {server} is none of svctrack's"))
}
