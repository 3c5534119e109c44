//! `svctrack import`: records from an export, or from another program's tables.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Map, Value, json};
use svctrack_core::value::counted;
use svctrack_server::{
    api_client::ApiClient,
    interchange::{ReadOptions, Separator, parse_mapping},
    transfer::{self, ImportOptions, ImportedFile},
};
use svctrack_store::TenantRecord;

use super::{
    output::print_err,
    progress,
    transfer::{RecordOwnerArgs, TENANTS, lines_of},
};

/// The exit code for rejected records.
const REJECTED: u8 = 2;

/// Import records from an export, or from CSV or NDJSON files of other programs
///
/// Rejected records are reported with their lines, and the exit code is 2. An export has no suppressions: later events
/// can create people again who were erased before it. Only a backup has the suppressions.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack import --from companies.csv --map \"Company name=name\" --dry-run
  svctrack import --from ./export --server http://127.0.0.1:8080 --token $TOKEN")]
pub(crate) struct Import {
    #[command(flatten)]
    owner: RecordOwnerArgs,
    /// Directory with the files of an export, or one file
    #[arg(long, value_name = "PATH")]
    from: PathBuf,
    /// Resource of a single file [default: from the file name, such as companies.csv]
    #[arg(long, value_name = "RESOURCE", conflicts_with = "all_tenants")]
    resource: Option<String>,
    /// CSV separator: one character, or `tab` [default: detected from the first line]
    #[arg(long, value_name = "CHARACTER")]
    separator: Option<Separator>,
    /// Map a column to a property, such as "Company name=name"; "Company name=" skips the column
    #[arg(long, value_name = "HEAD=PROPERTY", value_parser = parse_mapping)]
    map: Vec<(String, String)>,
    /// Report the records that would be rejected, and write nothing
    #[arg(long, conflicts_with = "all_tenants")]
    dry_run: bool,
}

impl Import {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let mut rejected = 0;
        let told = match self.owner.all_tenants {
            true => self.each_tenant(&mut rejected).await?,
            false => self.from(&self.owner.client().await?, &self.from, &mut rejected).await?,
        };
        self.owner.target.show(&told, || lines_of(&told))?;
        Ok(if rejected == 0 { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) })
    }

    async fn each_tenant(&self, rejected: &mut usize) -> Result<Value, String> {
        let (client, tokens) =
            ApiClient::with_tenants(&self.owner.target.config()?, self.tenants()?).await?;
        for (tenant, token) in tokens {
            print_err(&format!("the first token of {tenant}, shown only once: {}", token.reveal()));
        }
        let mut told = Map::new();
        for (tenant, client) in client.of_each_tenant().await? {
            let id = tenant.id.to_string();
            let folder = self.from.join(&id);
            if folder.exists() {
                told.insert(id, self.from(&client, &folder, rejected).await?);
            }
        }
        Ok(told.into())
    }

    /// Imports a folder, or a file, into a tenant.
    async fn from(
        &self,
        client: &ApiClient,
        from: &Path,
        rejected: &mut usize,
    ) -> Result<Value, String> {
        if !from.is_file() {
            tell_others(from)?;
        }
        let options = ReadOptions::of_files(self.separator, self.map.clone());
        let files = transfer::files_at(from, self.resource.as_deref(), &options)?;
        let mut tell_rejected = |one: transfer::RejectedRecord| {
            progress::clear();
            print_err(&format!("{} line {}: {}", one.file.display(), one.line, one.reason));
        };
        let reading =
            ImportOptions { options: &options, open: &progress::open, tell: &mut tell_rejected };
        let done = match self.dry_run {
            true => transfer::try_out(client, &files, reading).await?,
            false => transfer::import(client, &files, reading).await?,
        };
        let mut told = Map::new();
        for (file, done) in files.iter().zip(done) {
            *rejected += done.rejected;
            if from.is_file() && done.taken + done.rejected == 0 {
                print_err(&format!("{}: no records", from.display()));
            }
            told.insert(file.def.path.to_owned(), counts(file.def.path, done));
        }
        if self.dry_run {
            print_err("dry run: nothing was written");
        }
        Ok(told.into())
    }

    /// The tenants that were exported.
    fn tenants(&self) -> Result<Vec<TenantRecord>, String> {
        let path = self.from.join(TENANTS);
        let words = |error: &dyn std::error::Error| format!("{}: {error}", path.display());
        let text = fs::read(&path).map_err(|error| words(&error))?;
        serde_json::from_slice(&text).map_err(|error| words(&error))
    }
}

/// Reports the files of a folder that are not imported.
fn tell_others(folder: &Path) -> Result<(), String> {
    let others = transfer::others_in(folder);
    let others = others.map_err(|error| format!("{}: {error}", folder.display()))?;
    for name in others.iter().filter(|name| *name != TENANTS) {
        print_err(&format!("{}: not imported", folder.join(name).display()));
    }
    Ok(())
}

/// The outcome of the records of a file, as JSON; further messages are printed.
fn counts(resource: &str, done: ImportedFile) -> Value {
    let ImportedFile {
        taken,
        row_counts,
        rejected,
        without_key,
        repeated,
        first_repeated,
        ignored,
    } = done;
    if without_key > 0 {
        print_err(&format!(
            "{resource}: {} without a key; importing again creates them twice",
            counted(without_key, "new record")
        ));
    }
    if let Some((line, earlier)) = first_repeated {
        print_err(&format!(
            "{resource}: {} with a key of an earlier row, whose record they update; the first is line {line}, which \
             repeats line {earlier}",
            counted(repeated, "row")
        ));
    }
    if !ignored.is_empty() {
        print_err(&format!("{resource}: read-only properties ignored: {}", ignored.join(", ")));
    }
    json!({
        "taken": taken,
        "created": row_counts.map(|row_counts| row_counts.created),
        "updated": row_counts.map(|row_counts| row_counts.updated),
        "unchanged": row_counts.map(|row_counts| row_counts.unchanged),
        "refused": rejected,
        "withoutKey": without_key,
        "repeatedKeys": repeated,
        "ignoredColumns": ignored,
    })
}
