//! Snippet, policy, files and hashes of the browser script. A running server returns them (`GET /script.json`), and
//! `svctrack script` prints them.

use serde_json::{Value, json};
use svctrack_core::value::TenantId;
use svctrack_web::{Addresses, ServedFile, SnippetScript, lasting_files, snippet, snippet_source};

/// The source in a policy without which no WebAssembly runs.
pub const WASM_SOURCE: &str = "'wasm-unsafe-eval'";

/// Everything as JSON; snippet and policy where a tenant is named.
pub fn to_json(addresses: &Addresses, tenant: Option<TenantId>, loads: SnippetScript) -> Value {
    let files = lasting_files(addresses.script_path());
    let file = |(path, served): (String, ServedFile)| {
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
