//! `svctrack restore`: a backup into an empty data directory.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use svctrack_server::{
    backup_folder::newest_of_one_store,
    config::{ConfigOverrides, StoreSettings},
};
use svctrack_store::{
    Clock as _, Manifest, SystemClock,
    embedded::{RestoreError, restore},
};

use super::{backup::describe, configure::configure, output::print_out};

/// Restore a backup into an empty data directory
///
/// Every row is checked against the backup's manifest, so a truncated or corrupted backup is rejected as a whole. The
/// restored server accepts the tokens that were valid when the backup was created.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack restore --from before-upgrade.backup.gz --data ./restored
  svctrack restore --from ./svctrack-data/backups --data ./restored")]
pub(crate) struct Restore {
    /// Backup file, or a directory, whose newest backup is restored
    #[arg(long, value_name = "FILE|DIRECTORY")]
    from: PathBuf,
    #[command(flatten)]
    files: StoreSettings,
    /// Print JSON: `at`, `rows` and `tables`
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) fn run(self) -> Result<(), String> {
        let config =
            configure(ConfigOverrides { files: self.files, ..ConfigOverrides::default() })?;
        let from = match self.from.is_dir() {
            true => newest_of_one_store(&self.from, SystemClock.now())?,
            false => self.from,
        };
        let manifest = restore(&from, &config.data, config.cache_bytes());
        let manifest = manifest.map_err(|error| match error {
            RestoreError::Archive(_) => format!("`{}`: {error}", from.display()),
            _ => error.to_string(),
        })?;
        if self.json {
            return print_out(&Value::from(describe(&manifest)).to_string());
        }
        let Manifest { rows, .. } = manifest;
        let (from, folder) = (from.display(), config.data.display());
        print_out(&format!(
            "{rows} rows as of {} from `{from}` are in `{folder}` now",
            manifest.at()
        ))
    }
}
