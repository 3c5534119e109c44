//! `svctrack backup`, of a running server or of a store that is stopped, and `svctrack restore`.

use std::{
    io::{BufReader, Seek as _},
    path::PathBuf,
};

use bytes::Bytes;
use clap::Args;
use poem::http::Method;
use serde_json::{Map, Value, json};
use svctrack_server::{
    admin::Whose,
    backups::{Unfinished, folder_of, name_of},
    config::{ConfigOverrides, StoreSettings},
};
use svctrack_store::{Manifest, check_archive, embedded::restore};

use super::{
    output::print_out,
    target::{TargetArgs, configure},
};

/// `svctrack backup`.
#[derive(Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    at: TargetArgs,
    /// File to write, or a directory, where the file is named after its time
    #[arg(long, value_name = "PATH", default_value = ".")]
    to: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self) -> Result<(), String> {
        let words = |error: &dyn std::error::Error| format!("{}: {error}", self.to.display());
        let folder = if self.to.is_dir() { &self.to } else { folder_of(&self.to) };
        let unfinished = Unfinished::in_folder(folder).map_err(|error| words(&error))?;
        let mut file = unfinished.file().map_err(|error| words(&error))?;
        let admin = self.at.admin(Whose::Operator).await?;
        admin.send(Method::GET, "/backup", Bytes::new()).await?.save_to(&mut file).await?;
        // What broke off on its way here has no manifest, and gets no name.
        file.rewind().map_err(|error| words(&error))?;
        let bytes = file.metadata().map_err(|error| words(&error))?.len();
        let manifest = check_archive(BufReader::new(file));
        let manifest =
            manifest.map_err(|error| format!("the backup is incomplete: {error}; run it again"))?;
        let path =
            if self.to.is_dir() { self.to.join(name_of(manifest.at())) } else { self.to.clone() };
        unfinished.finish(&path).map_err(|error| words(&error))?;
        let mut told = told(&manifest);
        told.insert("bytes".to_owned(), json!(bytes));
        told.insert("path".to_owned(), json!(path));
        self.at.show(&told.into(), || {
            let Manifest { rows, .. } = manifest;
            format!("{rows} rows as of {}, {bytes} bytes in {}", manifest.at(), path.display())
        })
    }
}

fn told(manifest: &Manifest) -> Map<String, Value> {
    let at = manifest.at().to_string();
    let told =
        [("at", json!(at)), ("rows", json!(manifest.rows)), ("tables", json!(manifest.tables))];
    told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `svctrack restore`.
#[derive(Args)]
pub(crate) struct Restore {
    /// Backup file
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    store: StoreSettings,
    /// Print JSON: `at`, `rows` and `tables`
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result<(), String> {
        let config =
            configure(ConfigOverrides { store: self.store, ..ConfigOverrides::default() })?;
        let manifest = restore(&self.from, &config.data, config.cache_bytes());
        let manifest = manifest.map_err(|error| error.to_string())?;
        if self.json {
            return print_out(&Value::from(told(&manifest)).to_string());
        }
        let Manifest { rows, .. } = manifest;
        let folder = config.data.display();
        print_out(&format!("{rows} rows as of {} are in `{folder}` now", manifest.at()))
    }
}
