//! `svctrack export`: records to files, one per resource.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;
use svctrack_server::{
    api_client::ApiClient,
    backup_folder::UnfinishedFile,
    interchange::Format,
    transfer::{self, ExistingFiles, check_folder},
};

use super::transfer::{RecordOwnerArgs, TENANTS, lines_of};

/// Export records to NDJSON or CSV files, one per resource
///
/// The settings are exported too. Activities, tokens, integration issues, suppressions, closed months and earlier
/// versions of licenses are only in a backup.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack export --to ./export --all-tenants
  svctrack export --to ./export --format csv --resources companies,licenses --server http://127.0.0.1:8080 --token $TOKEN")]
pub(crate) struct Export {
    #[command(flatten)]
    owner: RecordOwnerArgs,
    /// Directory to write the files to
    #[arg(long, value_name = "DIRECTORY")]
    to: PathBuf,
    /// Replace the files of an earlier export
    #[arg(long)]
    force: bool,
    /// File format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Resources, separated by commas [default: all, and settings]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    resources: Vec<String>,
}

impl Export {
    pub(crate) async fn run(self) -> Result<(), String> {
        let defs = named(&self.resources)?;
        let client = self.owner.client().await?;
        if !self.owner.all_tenants {
            let told = self.tenant(&client, &defs, &self.to).await?;
            return self.owner.target.show(&told, || lines_of(&told));
        }
        let tenants = client.of_each_tenant().await?;
        let mut told = Map::new();
        for (tenant, client) in &tenants {
            let id = tenant.id.to_string();
            told.insert(id.clone(), self.tenant(client, &defs, &self.to.join(&id)).await?);
        }
        let told = told.into();
        let records: Vec<_> = tenants.iter().map(|(tenant, _)| tenant).collect();
        let text = serde_json::to_string(&records).map_err(|error| error.to_string())?;
        write_tenants(&self.to, &text).map_err(|error| error.to_string())?;
        self.owner.target.show(&told, || lines_of(&told))
    }

    async fn tenant(
        &self,
        client: &ApiClient,
        defs: &[&'static ResourceDef],
        folder: &Path,
    ) -> Result<Value, String> {
        let kept = if self.force { ExistingFiles::Replaced } else { ExistingFiles::Kept };
        check_folder(defs, folder, kept)?;
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut told = Map::new();
        for def in defs {
            let count = transfer::export(client, def, self.format, folder, kept).await;
            let count = count.map_err(|error| match self.resources.is_empty() {
                true => format!("{error} (`--resources` exports only those that it names)"),
                false => error,
            })?;
            told.insert(def.path.to_owned(), json!(count));
        }
        Ok(told.into())
    }
}

/// Writes the file of the tenants, readable only by its owner, as all files of an export are.
fn write_tenants(folder: &Path, text: &str) -> io::Result<()> {
    let unfinished = UnfinishedFile::in_folder(folder)?;
    unfinished.file()?.write_all(text.as_bytes())?;
    unfinished.replace(&folder.join(TENANTS))
}

/// Named resources; all when none is named.
fn named(names: &[String]) -> Result<Vec<&'static ResourceDef>, String> {
    if names.is_empty() {
        return Ok(transfer::exported_resources());
    }
    names.iter().map(|name| transfer::resource_named(name)).collect()
}
