//! A dry run of an import: the rows of all files are sent to the server as one body, checked row by row, and not
//! stored.

use std::{
    collections::HashSet,
    fs,
    io::{self, BufWriter, Seek as _, Write as _},
};

use poem::http::Method;
use serde_json::{Value, json};
use svctrack_core::{
    plan::{self, Ctx, Rejection, memory::Memory},
    resources::settings::{SETTINGS, SETTINGS_ID},
    schema::{ResourceDef, checked_body},
    value::{Document, IdSequence},
};
use svctrack_store::{Clock as _, SystemClock};

use super::import_counts::count_in;
use crate::{
    api_client::ApiClient,
    interchange::{NDJSON, SWITCH},
    limits::MAX_LISTED_REJECTED_ROWS,
};

/// Rows that would be sent, in a file without a name.
pub(super) struct DryRun {
    lines: BufWriter<fs::File>,
    /// Origin of each line: the number of the file, and the line in it.
    origins: Vec<RowOrigin>,
    defs: Vec<&'static ResourceDef>,
}

/// A line of a file, by the number of the file.
pub(super) type RowOrigin = (usize, u64);
/// A row that is rejected, and why.
pub(super) type RejectedOrigin = (RowOrigin, String);

/// Result of a dry run.
pub(super) struct DryRunResult {
    pub(super) created: usize,
    pub(super) unchanged: usize,
    /// Rows that the server would reject.
    pub(super) rejected: Vec<RejectedOrigin>,
}

/// Checks settings, which refer to no record, over those of a new tenant.
///
/// # Errors
/// A message with the reason of a rejection.
pub(super) fn check_settings(sent: &Document) -> Result<(), String> {
    let mut ctx = Ctx::new(SystemClock.now(), IdSequence::new([0; 5]), None);
    let mut made = Memory::default();
    let settings = plan::settings(&made, &mut ctx);
    made.apply(&settings.unwrap_or_default());
    let body = checked_body::check_update(&SETTINGS, sent);
    match plan::update(&SETTINGS, SETTINGS_ID, body, &made, &mut ctx) {
        Err(Rejection::Invalid(issues) | Rejection::Conflict(issues)) => {
            let messages: Vec<_> = issues.into_iter().map(|issue| issue.message).collect();
            Err(messages.join("; "))
        }
        _ => Ok(()),
    }
}

/// The ids among `ids` that records of the tenant have, from a dry run of rows with an id alone, since a token for
/// imports may not read: a row that finds no record is rejected, or gets another id.
pub(super) async fn stored_ids(
    client: &ApiClient,
    def: &'static ResourceDef,
    ids: &[&str],
) -> Result<HashSet<(&'static str, String)>, String> {
    let row = |id: &&str| json!({ "_id": id }).to_string() + "\n";
    let body: String = ids.iter().map(row).collect();
    let path = format!("/import/{}?dryRun=true&ids=true&refusals=0", def.path);
    let response = client.send_again_as(Method::POST, &path, NDJSON, body.into()).await?;
    let summary = response.json().await?;
    let found = summary.get("ids").and_then(Value::as_array).into_iter().flatten();
    let pairs = found.zip(ids).filter(|(found, id)| found.as_str() == Some(**id));
    Ok(pairs.map(|(_, id)| (def.path, (*id).to_owned())).collect())
}

impl DryRun {
    pub(super) fn begin() -> io::Result<Self> {
        let lines = BufWriter::new(tempfile::tempfile()?);
        Ok(Self { lines, origins: Vec::new(), defs: Vec::new() })
    }

    /// Adds a record that would be sent.
    pub(super) fn add(
        &mut self,
        def: &'static ResourceDef,
        origin: RowOrigin,
        sent: &Document,
    ) -> io::Result<()> {
        if self.defs.last() != Some(&def) {
            writeln!(self.lines, r#"{{"{SWITCH}":"{}"}}"#, def.path)?;
            self.origins.push(origin);
            self.defs.push(def);
        }
        self.origins.push(origin);
        writeln!(self.lines, "{}", sent.to_text())
    }

    /// Asks the server for the result.
    pub(super) async fn run(self, client: &ApiClient) -> Result<DryRunResult, String> {
        let Some(first) = self.defs.first() else {
            return Ok(DryRunResult { created: 0, unchanged: 0, rejected: Vec::new() });
        };
        let mut file = self.lines.into_inner().map_err(|error| error.to_string())?;
        file.rewind().map_err(|error| error.to_string())?;
        let path =
            format!("/import/{}?dryRun=true&refusals={MAX_LISTED_REJECTED_ROWS}", first.path);
        let summary = client.upload(&path, NDJSON, file).await?.json().await?;
        let rejections = summary.get("refusals").and_then(Value::as_array).into_iter().flatten();
        let read = |rejection: &Value| {
            let line = usize::try_from(rejection.get("line")?.as_u64()?).ok()?;
            let origin = self.origins.get(line.checked_sub(1)?)?;
            Some((*origin, rejection.get("message")?.as_str()?.to_owned()))
        };
        let mut rejected: Vec<_> = rejections.filter_map(read).collect();
        let count = |name| count_in(&summary, name);
        let all = count("refused");
        if all > rejected.len() {
            return Err(format!(
                "{all} records would be rejected, too many to list: try fewer records"
            ));
        }
        // A record that refers to one of its resource is checked twice.
        let mut seen = HashSet::new();
        rejected.retain(|(origin, _)| seen.insert(*origin));
        Ok(DryRunResult { created: count("created"), unchanged: count("unchanged"), rejected })
    }
}
