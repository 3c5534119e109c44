//! Store of a stopped server, for the commands that need exclusive access.

use std::path::PathBuf;

use clap::Args;
use svctrack_server::config::{Config, ConfigOverrides, StoreSettings};

use super::configure::configure;

/// The store of a stopped server.
#[derive(Args)]
pub(crate) struct StoppedStore {
    #[command(flatten)]
    files: StoreSettings,
    /// Directory of scheduled backups; the newest is suggested when the store cannot be repaired [default: backups, in
    /// the data directory]
    #[arg(long, env = "SVCTRACK_BACKUP_TO", value_name = "DIRECTORY")]
    backup_to: Option<PathBuf>,
}

/// Advice where a store cannot be opened.
pub(crate) const STOP: &str = "; the server must be stopped";

impl StoppedStore {
    /// Configuration of these options. A data folder without a store is an error.
    pub(crate) fn config(self) -> Result<Config, String> {
        let Self { files, backup_to } = self;
        let config = configure(ConfigOverrides { files, backup_to, ..ConfigOverrides::default() })?;
        if !config.has_store() {
            return Err(format!(
                "there is no store in `{}`: name its directory with --data",
                config.data.display()
            ));
        }
        Ok(config)
    }
}
