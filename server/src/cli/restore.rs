//! `svctrack restore`: a backup into an empty data directory.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use svctrack_server::config::{ConfigOverrides, StoreSettings};
use svctrack_store::{Manifest, embedded::restore};

use super::{backup::describe, output::print_out, target::configure};

/// Restore a backup into an empty data directory
#[derive(Args)]
#[command(after_help = "Example:
  svctrack restore --from before-upgrade.backup.gz --data ./restored")]
pub(crate) struct Restore {
    /// Backup file
    #[arg(long, value_name = "FILE")]
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
        let manifest = restore(&self.from, &config.data, config.cache_bytes());
        let manifest = manifest.map_err(|error| error.to_string())?;
        if self.json {
            return print_out(&Value::from(describe(&manifest)).to_string());
        }
        let Manifest { rows, .. } = manifest;
        let folder = config.data.display();
        print_out(&format!("{rows} rows as of {} are in `{folder}` now", manifest.at()))
    }
}
