//! `svctrack compact`: rewrites the store of a stopped server.

use clap::Args;
use serde_json::json;
use svctrack_server::open_error::explain_open_error;
use svctrack_store::embedded::{CompactionResult, compact};

use super::{
    output::print_out,
    stopped_store::{STOP, StoppedStore},
};

/// Rewrite the store to purge deleted data and reclaim space
///
/// The server must be stopped. The disk needs space for a second file, which replaces the store when it is complete.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack compact --data ./svctrack-data")]
pub(crate) struct Compact {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print JSON: `bytesBefore` and `bytesAfter`
    #[arg(long)]
    json: bool,
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), String> {
        let config = self.stopped.config()?;
        let done = compact(&config.data, config.cache_bytes());
        let done = done.map_err(|cause| explain_open_error(&config, "compacted", &cause, STOP))?;
        let CompactionResult { bytes_before, bytes_after } = done;
        if self.json {
            let bytes = json!({ "bytesBefore": bytes_before, "bytesAfter": bytes_after });
            return print_out(&bytes.to_string());
        }
        print_out(&format!("{bytes_before} bytes before, {bytes_after} bytes now"))
    }
}
