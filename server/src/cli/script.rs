//! `svctrack script`: the snippet and files that a web app needs to load the browser script.

use std::{
    fs, io,
    path::{self, Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};
use svctrack_core::value::TenantId;
use svctrack_server::{
    api_client::{ApiClient, script::of_running},
    config::{AddressSettings, Config, ConfigOverrides, StoreSettings},
    script_info::{WASM_SOURCE, to_json},
};
use svctrack_web::{SnippetScript, npm_package};

use super::{
    configure::configure,
    output::{print_err, print_out},
};

/// Print the tracking snippet, its Content-Security-Policy, and the script's files
///
/// The settings are those of the server at `--server`, or of the running server of the data directory. If neither is
/// found, they are from flags, environment and `svctrack.toml`. Flags for addresses override those of the server.
///
/// Without `--tenant`, only the files and their hashes are printed.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack script --tenant 8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11 --pinned
  svctrack script --npm ./svctrack-npm")]
pub(crate) struct Script {
    /// Data directory of the server [default: ./svctrack-data]
    #[arg(long, env = "SVCTRACK_DATA", value_name = "DIRECTORY")]
    data: Option<PathBuf>,
    #[command(flatten)]
    addresses: AddressSettings,
    /// URL of a running server, such as http://127.0.0.1:8080 [default: the server of the data directory]
    #[arg(long, env = "SVCTRACK_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Certificate to trust for an https:// server, in PEM: of its authority, or its own [default: none; authorities
    /// that browsers trust]
    #[arg(long, env = "SVCTRACK_CA_CERT", value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// UUID of the tenant whose snippet and policy are printed [default: none; prints only the files]
    #[arg(long, value_name = "UUID", value_parser = read_tenant)]
    tenant: Option<TenantId>,
    /// Pin the snippet to this version, with an integrity hash
    #[arg(long, requires = "tenant")]
    pinned: bool,
    /// Write the npm package of this version to a directory, which is created if missing
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "tenant")]
    npm: Option<PathBuf>,
    /// Print JSON, as GET /script.json returns it; with --npm, the `path` of the package
    #[arg(long)]
    json: bool,
}

fn read_tenant(text: &str) -> Result<TenantId, &'static str> {
    TenantId::parse(text).ok_or("expected a UUID")
}

impl Script {
    pub(crate) async fn run(self) -> Result<(), String> {
        if let Some(folder) = &self.npm {
            let failed = |error| format!("{} cannot be written: {error}", folder.display());
            write_package(folder).map_err(failed)?;
            // Without a path, npm would look for a package with this name elsewhere.
            let path = path::absolute(folder).map_err(failed)?;
            return print_out(&match self.json {
                true => json!({ "path": path }).to_string(),
                false => format!("the package is written: npm install {}", path.display()),
            });
        }
        let all = self.all().await?;
        print_out(&if self.json { all.to_string() } else { in_words(&all) })
    }

    /// Snippet and options of the running server, else of the settings; flags override both.
    async fn all(&self) -> Result<Value, String> {
        let files = StoreSettings { data: self.data.clone(), ..StoreSettings::default() };
        let addresses = self.addresses.clone();
        let given = ConfigOverrides { files, addresses, ..ConfigOverrides::default() };
        let config = configure(given.clone())?;
        let loads = if self.pinned { SnippetScript::ThisVersion } else { SnippetScript::Newest };
        let (server, tenant) = (self.server.as_deref(), self.tenant);
        let said = of_running(&config, server, self.ca_cert.as_deref(), tenant, loads).await?;
        let Some((server, said)) = said else {
            self.check_in_store(&config).await?;
            return Ok(to_json(&config.addresses(&config.own_url()), tenant, loads));
        };
        let AddressSettings { public_url, script_path, tracking_prefix, .. } = &self.addresses;
        if (public_url, script_path, tracking_prefix) == (&None, &None, &None) {
            print_err(&format!("svctrack: using the settings of the server at {server}"));
            return Ok(said);
        }
        let as_text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let addresses = AddressSettings {
            public_url: as_text("publicUrl"),
            script_path: as_text("scriptPath"),
            tracking_prefix: as_text("trackingPrefix"),
            listen: None,
        };
        let of_server = ConfigOverrides { addresses, ..ConfigOverrides::default() };
        let merged = given.over(of_server).map_err(|error| error.to_string())?;
        print_err(&format!(
            "svctrack: using the settings of the server at {server}, except those given here"
        ));
        Ok(to_json(&merged.addresses(&server), tenant, loads))
    }

    /// Reports that no server was asked, and looks for the tenant in the store of a stopped one.
    async fn check_in_store(&self, config: &Config) -> Result<(), String> {
        let guess = "no running server was found, so these settings are from flags, environment and svctrack.toml; \
                     --server URL asks the one at that address";
        let folder = config.data.display();
        let checked = match self.tenant.filter(|_| config.has_store()) {
            None if self.tenant.is_some() => "; the tenant was not checked".to_owned(),
            None => String::new(),
            Some(tenant) => match ApiClient::has_tenant(config, tenant).await {
                Ok(true) => String::new(),
                Ok(false) => {
                    return Err(format!(
                        "there is no tenant {tenant} in `{folder}`: see svctrack tenant list"
                    ));
                }
                Err(reason) => {
                    format!("; the tenant was not checked: {reason}")
                }
            },
        };
        print_err(&format!("svctrack: {guess}{checked}"));
        Ok(())
    }
}

/// File that describes a package.
const MANIFEST: &str = "package.json";

/// Writes the package into a folder, which has none or an earlier version of it.
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

fn text_at<'a>(all: &'a Value, pointer: &str) -> &'a str {
    all.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of an array, with blanks between.
fn texts_at(all: &Value, pointer: &str) -> String {
    let texts = all.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn in_words(all: &Value) -> String {
    let file = |file: &Value| {
        format!("\n  {}\n    {}", text_at(file, "/url"), text_at(file, "/integrity"))
    };
    let files = all.get("files").and_then(Value::as_array).into_iter().flatten();
    let files: String = files.map(file).collect();
    let files = format!(
        "The script in the server's version:\n\n  {}\n\n\
         Its files, which never change, with their hashes:\n{files}",
        text_at(all, "/script")
    );
    let Some(snippet) = all.get("snippet").and_then(Value::as_str) else {
        return format!(
            "{files}\n\nWith --tenant UUID, the snippet and its Content-Security-Policy are printed too."
        );
    };
    format!(
        "Paste this before </head> of your web app:\n\n{snippet}\n\n\
         If your pages have a Content-Security-Policy, add:\n\n  \
         script-src   {}\n  connect-src  {}\n\n\
         Without {WASM_SOURCE} events are sent unchecked, and only the server checks them.\n\n{files}",
        texts_at(all, "/policy/script-src"),
        texts_at(all, "/policy/connect-src")
    )
}
