//! `svctrack verify`: reads all of a stopped server's store, and reports what is corrupted.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use svctrack_core::value::counted;
use svctrack_server::open_error::explain_open_error;
use svctrack_store::embedded::{Problem, Verified, verify};

use super::{
    output::print_out,
    stopped_store::{STOP, StoppedStore},
};

/// Verify the store for corruption (the server must be stopped)
///
/// The exit code is 0 when the store is sound, 2 when data is corrupted, and 1 when the store cannot be read.
#[derive(Args)]
#[command(after_help = "Example:
  svctrack verify --data ./svctrack-data")]
pub(crate) struct Verify {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Print JSON: `rows`, `problemCount` and `problems`
    #[arg(long)]
    json: bool,
}

/// The exit code for a corrupted store.
const DAMAGED: u8 = 2;

impl Verify {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let config = self.stopped.config()?;
        let found = verify(&config.data, config.cache_bytes());
        let found = found.map_err(|cause| explain_open_error(&config, "verified", &cause, STOP))?;
        print_out(&if self.json { in_json(&found) } else { in_words(&found) })?;
        Ok(if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) })
    }
}

fn in_json(found: &Verified) -> String {
    let problem = |problem: &Problem| {
        let id = problem.id.map(|id| id.to_string());
        json!({ "table": problem.table, "id": id, "what": problem.what })
    };
    let problems: Vec<Value> = found.problems.iter().map(problem).collect();
    json!({ "rows": found.rows, "problemCount": found.problem_count, "problems": problems })
        .to_string()
}

fn in_words(found: &Verified) -> String {
    let problem = |problem: &Problem| {
        let id = problem.id.map(|id| format!(" {id}")).unwrap_or_default();
        format!("{}{id}: {}\n", problem.table, problem.what)
    };
    let problems: String = found.problems.iter().map(problem).collect();
    let [rows, count] = [counted(found.rows, "row"), counted(found.problem_count, "problem")];
    format!("{problems}{rows}, {count}")
}
