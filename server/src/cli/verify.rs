//! `svctrack verify`: reads all of a stopped server's store, or of backups, and reports what is corrupted.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Value, json};
use svctrack_core::value::counted;
use svctrack_server::{
    backup_folder::{SUFFIX, backup_files},
    open_error::explain_open_error,
};
use svctrack_store::{
    ArchiveError, Manifest, check_archive,
    embedded::{Corruption, VerifyReport, verify},
    support::regular_file,
};

use super::{
    backup::describe,
    output::print_out,
    stopped_store::{STOP, StoppedStore},
};

/// Check the store, or backups, for corruption
///
/// The server must be stopped to verify its store, but not to verify backups. The exit code is 0 if the store or every
/// backup is sound, 2 if data is corrupted, and 1 if the store or a backup cannot be opened.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack verify --data ./svctrack-data
  svctrack verify --backup before-upgrade.backup.gz")]
pub(crate) struct Verify {
    #[command(flatten)]
    stopped: StoppedStore,
    /// Backup file, or directory with backups, to verify instead of the store
    #[arg(long, value_name = "PATH")]
    backup: Option<PathBuf>,
    /// Print JSON: `rows`, `problemCount` and `problems`, or for each backup `path` with `at`, `rows` and `tables`, or
    /// `problem`
    #[arg(long)]
    json: bool,
}

/// The exit code for corrupted data.
const DAMAGED: u8 = 2;

impl Verify {
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let (code, told) = match &self.backup {
            Some(path) => verify_backups(path, self.json)?,
            None => verify_store(self.stopped, self.json)?,
        };
        print_out(&told)?;
        Ok(code)
    }
}

fn verify_store(stopped: StoppedStore, as_json: bool) -> Result<(ExitCode, String), String> {
    let config = stopped.config()?;
    let found = verify(&config.data, config.cache_bytes());
    let found = found.map_err(|cause| explain_open_error(&config, "verified", &cause, STOP))?;
    let code = if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(DAMAGED) };
    Ok((code, if as_json { in_json(&found) } else { in_words(&found) }))
}

fn in_json(found: &VerifyReport) -> String {
    let problem = |problem: &Corruption| {
        let id = problem.id.map(|id| id.to_string());
        json!({ "table": problem.table, "id": id, "what": problem.what })
    };
    let problems: Vec<Value> = found.problems.iter().map(problem).collect();
    json!({ "rows": found.rows, "problemCount": found.problem_count, "problems": problems })
        .to_string()
}

fn in_words(found: &VerifyReport) -> String {
    let problem = |problem: &Corruption| {
        let id = problem.id.map(|id| format!(" {id}")).unwrap_or_default();
        format!("{}{id}: {}\n", problem.table, problem.what)
    };
    let problems: String = found.problems.iter().map(problem).collect();
    let [rows, count] = [counted(found.rows, "row"), counted(found.problem_count, "problem")];
    format!("{problems}{rows}, {count}")
}

/// The exit code for all backups, and the report to print.
fn verify_backups(path: &Path, as_json: bool) -> Result<(ExitCode, String), String> {
    let files = files_at(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if files.is_empty() {
        return Err(format!("there is no backup in `{}`: none ends in `{SUFFIX}`", path.display()));
    }
    let checked: Vec<_> = files.iter().map(|file| (file, check(file))).collect();
    let problems = || checked.iter().filter_map(|(_, found)| found.as_ref().err());
    let code = if problems().any(|problem| matches!(problem, BackupProblem::Corrupted(_))) {
        ExitCode::from(DAMAGED)
    } else if problems().next().is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    let told = match as_json {
        true => checked
            .iter()
            .map(|(file, found)| backup_in_json(file, found))
            .collect::<Value>()
            .to_string(),
        false => checked
            .iter()
            .map(|(file, found)| backup_in_words(file, found))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    Ok((code, told))
}

/// Why a backup is not sound, or nothing is known of it.
#[derive(Debug, thiserror::Error)]
enum BackupProblem {
    #[error("cannot be opened: {0}")]
    Unopened(io::Error),
    #[error("{0}")]
    Corrupted(ArchiveError),
}

/// Backups of a directory, or the only file.
fn files_at(path: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::metadata(path)?.is_dir() {
        true => backup_files(path),
        false => Ok(vec![path.to_owned()]),
    }
}

/// Reads a backup to its end; the error is its problem.
fn check(file: &Path) -> Result<Manifest, BackupProblem> {
    let opened = regular_file::check(file).and_then(|()| File::open(file));
    let opened = opened.map_err(BackupProblem::Unopened)?;
    check_archive(BufReader::new(opened)).map_err(BackupProblem::Corrupted)
}

fn backup_in_json(file: &Path, found: &Result<Manifest, BackupProblem>) -> Value {
    let mut told = found.as_ref().map_or_else(
        |problem| [("problem".to_owned(), json!(problem.to_string()))].into_iter().collect(),
        describe,
    );
    told.insert("path".to_owned(), json!(file));
    told.into()
}

fn backup_in_words(file: &Path, found: &Result<Manifest, BackupProblem>) -> String {
    match found {
        Ok(manifest) => {
            format!(
                "{}: sound, {} as of {}",
                file.display(),
                counted(manifest.rows, "row"),
                manifest.at()
            )
        }
        Err(problem) => format!("{}: {problem}", file.display()),
    }
}
