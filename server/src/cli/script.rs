//! `svctrack script`: all that a web app needs to load the browser script.

use std::{
    fs, io,
    path::{self, Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use svctrack_core::value::TenantId;
use svctrack_server::config::Given;
use svctrack_web::{Addresses, Asset, Loads, lasting_files, npm_package, snippet, snippet_source};

use super::say;

/// The source in a policy without which no WebAssembly runs.
const WASM_SOURCE: &str = "'wasm-unsafe-eval'";

/// `svctrack script`.
#[derive(Args)]
pub(crate) struct Script {
    #[command(flatten)]
    given: Given,
    /// UUID of the tenant whose snippet and policy are printed [default: none; the files alone]
    #[arg(long, value_name = "UUID", value_parser = read_tenant)]
    tenant: Option<TenantId>,
    /// Let the snippet load this version alone, checked by its hash
    #[arg(long, requires = "tenant")]
    pinned: bool,
    /// Write the npm package of this version into a folder, which is made if need be
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["tenant", "json"])]
    npm: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

fn read_tenant(text: &str) -> Result<TenantId, &'static str> {
    TenantId::parse(text).ok_or("expected a UUID")
}

/// What is pasted into pages, and what their policy needs for it.
struct Pasted {
    snippet: String,
    script_sources: [String; 3],
    connect_source: String,
}

impl Pasted {
    fn of(addresses: &Addresses, tenant: TenantId, loads: Loads) -> Self {
        let tenant = tenant.to_string();
        let origin = addresses.origin().to_owned();
        let hash = snippet_source(addresses, &tenant, loads);
        Self {
            snippet: snippet(addresses, &tenant, loads),
            script_sources: [origin.clone(), hash, WASM_SOURCE.to_owned()],
            connect_source: origin,
        }
    }
}

impl Script {
    pub(crate) fn run(self) -> Result<(), String> {
        if let Some(folder) = &self.npm {
            let failed = |error| format!("{} cannot be written: {error}", folder.display());
            write_package(folder).map_err(failed)?;
            // Without a path, npm would look for a package of that name elsewhere.
            let path = path::absolute(folder).map_err(failed)?;
            return say(&format!("the package is written: npm install {}", path.display()));
        }
        let config = crate::configure(self.given).map_err(|error| error.to_string())?;
        let addresses = config.addresses(config.listen);
        let loads = if self.pinned { Loads::ThisVersion } else { Loads::Newest };
        let pasted = self.tenant.map(|tenant| Pasted::of(&addresses, tenant, loads));
        say(&if self.json { in_json(&addresses, pasted) } else { in_words(&addresses, pasted) })
    }
}

/// Says what a package is.
const MANIFEST: &str = "package.json";

/// Writes the package into a folder, which has none or an earlier one of ours.
fn write_package(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let manifest = fs::read_to_string(folder.join(MANIFEST)).unwrap_or_default();
    let is_ours = manifest.contains(r#""name": "svctrack""#);
    if !is_ours && npm_package().iter().any(|(name, _)| folder.join(name).exists()) {
        let message = "it has files of another package";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    for (name, bytes) in npm_package() {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// The addresses of the files that never change.
fn files(addresses: &Addresses) -> impl Iterator<Item = (String, &'static Asset)> {
    let files = lasting_files(addresses.script_path());
    files.map(|(path, served)| ([addresses.base_url(), &path].concat(), served.asset))
}

fn in_json(addresses: &Addresses, pasted: Option<Pasted>) -> String {
    let file = |(url, asset): (String, &Asset)| json!({ "url": url, "integrity": asset.integrity });
    let files: Vec<_> = files(addresses).map(file).collect();
    let mut said = json!({ "script": addresses.script(), "files": files });
    if let (Some(pasted), Some(said)) = (pasted, said.as_object_mut()) {
        said.insert("snippet".to_owned(), json!(pasted.snippet));
        let policy = json!({
            "script-src": pasted.script_sources, "connect-src": [pasted.connect_source],
        });
        said.insert("policy".to_owned(), policy);
    }
    said.to_string()
}

fn in_words(addresses: &Addresses, pasted: Option<Pasted>) -> String {
    let file = |(url, asset): (String, &Asset)| format!("\n  {url}\n    {}", asset.integrity);
    let files: String = files(addresses).map(file).collect();
    let newest = addresses.script();
    let files = format!(
        "The script, which follows the server's version:\n\n  {newest}\n\n\
         Its files as they are now, which never change, with their hashes:\n{files}"
    );
    let Some(Pasted { snippet, script_sources, connect_source }) = pasted else {
        return format!(
            "{files}\n\nWith --tenant UUID, the snippet and its policy are printed too."
        );
    };
    format!(
        "Paste this before </head> of your web app:\n\n{snippet}\n\n\
         Where its pages have a Content-Security-Policy, it needs:\n\n  \
         script-src   {}\n  connect-src  {connect_source}\n\n\
         Without {WASM_SOURCE} all is sent too; the server makes the checks alone.\n\n{files}",
        script_sources.join(" ")
    )
}
