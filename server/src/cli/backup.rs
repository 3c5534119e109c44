//! `svctrack backup`: of a running server or of a stopped one's store.

use std::{
    io::{BufReader, Seek as _},
    path::PathBuf,
};

use bytes::Bytes;
use clap::Args;
use poem::http::Method;
use serde_json::{Map, Value, json};
use svctrack_server::{
    api_client::CommandOwner,
    backup_folder::{UnfinishedFile, folder_of, name_of},
};
use svctrack_store::{Manifest, check_archive};

use super::target::TargetArgs;

/// Back up all tenants into one file
///
/// The server can run (`--server`, and an operator token for `--token`) or be stopped (`--data`). The file is a
/// consistent snapshot of records, activities, settings, and hashes of tokens. It is not encrypted.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack backup --to before-upgrade.backup.gz
  svctrack backup --server http://127.0.0.1:8080 --token $OPERATOR")]
pub(crate) struct Backup {
    #[command(flatten)]
    target: TargetArgs,
    /// File to write, or a directory for a file with the time in its name
    #[arg(long, value_name = "PATH", default_value = ".")]
    to: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self) -> Result<(), String> {
        let words = |error: &dyn std::error::Error| format!("{}: {error}", self.to.display());
        if self.to.exists() && !self.to.is_dir() {
            let path = self.to.display();
            return Err(format!("{path} exists: name another file, or a directory"));
        }
        let folder = if self.to.is_dir() { &self.to } else { folder_of(&self.to) };
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(format!(
                "there is no directory `{folder}`: create it, or name another with --to"
            ));
        }
        let unfinished = UnfinishedFile::in_folder(folder).map_err(|error| words(&error))?;
        let mut file = unfinished.file().map_err(|error| words(&error))?;
        let client = self.target.client(CommandOwner::Operator).await?;
        client.send(Method::GET, "/backup", Bytes::new()).await?.save_to(&mut file).await?;
        // An interrupted download has no manifest, and gets no name.
        file.rewind().map_err(|error| words(&error))?;
        let bytes = file.metadata().map_err(|error| words(&error))?.len();
        let manifest = check_archive(BufReader::new(file));
        let manifest =
            manifest.map_err(|error| format!("the backup is incomplete: {error}; run it again"))?;
        let path =
            if self.to.is_dir() { self.to.join(name_of(manifest.at())) } else { self.to.clone() };
        unfinished.finish(&path).map_err(|error| words(&error))?;
        let mut told = describe(&manifest);
        told.insert("bytes".to_owned(), json!(bytes));
        told.insert("path".to_owned(), json!(path));
        self.target.show(&told.into(), || {
            let Manifest { rows, .. } = manifest;
            format!("{rows} rows as of {}, {bytes} bytes in {}", manifest.at(), path.display())
        })
    }
}

/// A backup as JSON.
pub(crate) fn describe(manifest: &Manifest) -> Map<String, Value> {
    let at = manifest.at().to_string();
    let told =
        [("at", json!(at)), ("rows", json!(manifest.rows)), ("tables", json!(manifest.tables))];
    told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
