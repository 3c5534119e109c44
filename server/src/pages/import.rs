//! Import on a page: columns are mapped, a dry run shows the result and every rejected row, and the same form imports
//! it. The form holds the file in between, so that nothing is stored before the import and nothing is uploaded twice.
//!
//! Invariant: a table is imported with a mapping only after a dry run of both.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use poem::Response;
use sha2::{Digest as _, Sha256};
use svctrack_core::schema::{ResourceDef, VERSION};
use svctrack_web::pages::{
    ImportColumn, ImportSummary, ImportView, ImportedRow, Problem, RejectedRow, address, grouped,
    import_page,
};

use super::{
    records,
    respond::{html, rejected, see},
    submitted_form::{problems_of, sent},
    visit::{Visit, resource},
};
use crate::{
    error::Error,
    interchange::{NDJSON, heads_of, parse_mapping},
    limits::{MAX_PAGE_IMPORT_BYTES, MAX_RECORD_BODY_BYTES},
    routes::query_pairs,
    routing::path_tree::RoutedRequest,
};

/// Rejected rows that are listed.
const LISTED: &str = "200";
/// Characters of a row that are shown.
const EXCERPT_CHARS: usize = 120;
/// Counts of an import in the address of its page.
const COUNTS: [&str; 3] = ["created", "updated", "unchanged"];

/// `GET /app/import/:resource`
pub(super) async fn show(mut visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let mut view = view_of(&visit, resource(&request)?)?;
    let pairs = query_pairs(&request);
    let counts = COUNTS.map(|name| sent(&pairs, name).parse::<u64>());
    if let [Ok(created), Ok(updated), Ok(unchanged)] = counts {
        let [created, updated, unchanged] =
            [created, updated, unchanged].map(|count| grouped(&count.to_string()));
        let notice =
            format!("Imported: {created} created, {updated} updated, {unchanged} unchanged.");
        visit.shell.notice = Some(notice);
        view.is_done = true;
    }
    Ok(html(import_page(&visit.shell, &view)))
}

/// `POST /app/import/:resource`: a dry run, or the import.
pub(super) async fn import(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let mut view = view_of(&visit, resource(&request)?)?;
    // The form has the mapping besides the table.
    let max = MAX_PAGE_IMPORT_BYTES + MAX_RECORD_BODY_BYTES;
    let (mut pairs, _room) = match visit.upload(&mut request, max).await {
        Ok(form) => form,
        Err(error) => return unread_table(&visit, view, error),
    };
    view.table = take_table(&mut pairs);
    let mappings = pairs.iter().filter(|(name, _)| name == "map");
    let mappings: Vec<&str> = mappings.map(|(_, text)| text.as_str()).collect();
    if let Err(problem) = read_columns(&mut view, &mappings) {
        view.problems = vec![Problem { field: String::new(), message: problem }];
        return Ok(rejected(import_page(&visit.shell, &view)));
    }
    view.checked = digest(&view);
    let is_confirmed = sent(&pairs, "step") == "import";
    view.is_done = is_confirmed && sent(&pairs, "checked") == view.checked;
    view.is_changed = is_confirmed && !view.is_done;
    match run(&visit, &view).await {
        Ok(summary) if view.is_done && summary.refused == 0 => {
            let [created, updated, unchanged] =
                [summary.created, summary.updated, summary.unchanged]
                    .map(|count| count.to_string());
            let counts = [created.as_str(), updated.as_str(), unchanged.as_str()];
            let query: Vec<_> = COUNTS.into_iter().zip(counts).collect();
            Ok(see(&address("/app/import/{}", &[view.def.path], &query)))
        }
        Ok(summary) => {
            view.rows = rows_of(&summary, &view.table);
            view.summary = Some(summary);
            let page = import_page(&visit.shell, &view);
            Ok(if is_confirmed { rejected(page) } else { html(page) })
        }
        Err(error) => unread_table(&visit, view, error),
    }
}

/// Whether the token may import records of a resource.
pub(super) fn may_import(visit: &Visit, def: &'static ResourceDef) -> bool {
    ["create", "update"].iter().any(|action| records::may(visit, def, action))
}

fn view_of(visit: &Visit, def: &'static ResourceDef) -> Result<ImportView, Error> {
    if !may_import(visit, def) {
        return Err(Error::Forbidden(format!("{}:create", def.path)));
    }
    let properties = def.fields.iter().filter(|field| field.is_sent() || field.name == "_id");
    Ok(ImportView {
        properties: properties.collect(),
        max_bytes: MAX_PAGE_IMPORT_BYTES,
        ..ImportView::new(def)
    })
}

/// Shows the problem of a table that could not be read; other errors have a page of their own.
fn unread_table(visit: &Visit, mut view: ImportView, error: Error) -> Result<Response, Error> {
    let whole = |message: String| Problem { field: String::new(), message };
    view.is_done = false;
    view.problems = match error {
        Error::TooLarge(_) => vec![whole(too_large())],
        Error::BodyBroken(message) => vec![whole(message)],
        error => {
            let found = problems_of(error.into_issues()?);
            found.into_iter().map(|problem| whole(problem.message)).collect()
        }
    };
    Ok(rejected(import_page(&visit.shell, &view)))
}

fn too_large() -> String {
    format!(
        "The file has more than {} MB. Import it with \"svctrack import\" or the API, which take files of any size.",
        MAX_PAGE_IMPORT_BYTES / (1024 * 1024)
    )
}

/// Takes the uploaded file, else the pasted text, with the same line ends for both: a form is long enough once.
fn take_table(pairs: &mut [(String, String)]) -> String {
    let mut take = |name: &str| {
        let found = pairs.iter_mut().find(|(known, _)| known == name);
        found.map(|(_, text)| std::mem::take(text)).unwrap_or_default()
    };
    let (file, pasted) = (take("file"), take("table"));
    let text = if file.is_empty() { pasted } else { file };
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

fn is_ndjson(table: &str) -> bool {
    table.trim_start().starts_with('{')
}

/// Reads the heads of a table. Each is mapped as the form says, else to the property that has its name; a head without
/// such a property is left out.
fn read_columns(view: &mut ImportView, mappings: &[&str]) -> Result<(), String> {
    if view.table.len() > MAX_PAGE_IMPORT_BYTES {
        view.table.clear();
        return Err(too_large());
    }
    if view.table.trim().is_empty() {
        return Err("Choose a file, or paste its content.".to_owned());
    }
    if is_ndjson(&view.table) {
        return Ok(());
    }
    let mappings: Vec<_> = mappings.iter().filter_map(|text| parse_mapping(text).ok()).collect();
    for (head, own) in heads_of(view.def, view.table.clone())? {
        let mapped =
            mappings.iter().find(|(known, _)| *known == head).map(|(_, name)| name.clone());
        let property = mapped.or_else(|| own.clone()).unwrap_or_default();
        view.columns.push(ImportColumn { head, own, property });
    }
    // Properties that only an export has are offered for its own columns.
    let is_own = |name: &str| view.columns.iter().any(|column| column.own.as_deref() == Some(name));
    let of_exports =
        view.def.fields.iter().filter(|field| field.importable || field.name == VERSION);
    view.properties.extend(of_exports.filter(|field| is_own(field.name)));
    Ok(())
}

/// Digest of a table and its mapping: the form sends that of the dry run back, which shows whether either was changed.
fn digest(view: &ImportView) -> String {
    let mut digest = Sha256::new();
    let mappings: Vec<String> = view.columns.iter().map(ImportColumn::mapping).collect();
    let parts = [view.def.path, view.table.as_str()].into_iter();
    for part in parts.chain(mappings.iter().map(String::as_str)) {
        // With its length, so that no part can be taken for the end of the one before.
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    URL_SAFE_NO_PAD.encode(digest.finalize())
}

/// Imports the table, or shows the result of a dry run.
async fn run(visit: &Visit, view: &ImportView) -> Result<ImportSummary, Error> {
    let maps: Vec<String> = view
        .columns
        .iter()
        .filter(|column| column.own.as_ref() != Some(&column.property))
        .map(ImportColumn::mapping)
        .collect();
    let dry_run = if view.is_done { "false" } else { "true" };
    let mut query = vec![("dryRun", dry_run), ("refusals", LISTED)];
    query.extend(maps.iter().map(|map| ("map", map.as_str())));
    let path = address("/import/{}", &[view.def.path], &query);
    let media_type = if is_ndjson(&view.table) { NDJSON } else { "text/csv" };
    visit.api.send_text(&path, media_type, view.table.clone()).await
}

/// Rejected rows, each with its text.
fn rows_of(summary: &ImportSummary, table: &str) -> Vec<ImportedRow> {
    let lines: Vec<&str> = table.lines().collect();
    let row = |rejected: &RejectedRow| {
        let at = usize::try_from(rejected.line).unwrap_or_default().saturating_sub(1);
        let line = lines.get(at).copied().unwrap_or_default();
        ImportedRow {
            line: rejected.line,
            message: rejected.message.replace('`', ""),
            excerpt: line.chars().take(EXCERPT_CHARS).collect(),
        }
    };
    summary.refusals.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    fn columns(table: &str, mappings: &[&str]) -> Vec<String> {
        let mut view = ImportView { table: table.to_owned(), ..ImportView::new(&COMPANY) };
        read_columns(&mut view, mappings).unwrap();
        view.columns.iter().map(ImportColumn::mapping).collect()
    }

    #[test]
    fn heads_are_mapped_by_the_form_else_by_their_names_and_left_out_else() {
        let table = "Name;Firma;External ID;custom.seats\nA;B;a;5\n";
        let guessed =
            ["Name=name", "Firma=", "External ID=externalId", "custom.seats=custom.seats"];
        assert_eq!(columns(table, &[]), guessed);
        let mapped = columns(table, &["Name=", "Firma=name", "gone=name"]);
        assert_eq!(mapped[..2], ["Name=", "Firma=name"]);
        assert_eq!(columns(" {\"name\": \"A\"}", &[]), [""; 0]);
    }

    #[test]
    fn a_table_that_is_empty_or_too_long_is_rejected() {
        let problem_of = |table: String| {
            let mut view = ImportView { table, ..ImportView::new(&COMPANY) };
            read_columns(&mut view, &[]).unwrap_err()
        };
        assert!(problem_of(" \n".to_owned()).starts_with("Choose a file"));
        assert!(problem_of("x".repeat(MAX_PAGE_IMPORT_BYTES + 1)).contains("more than 5 MB"));
    }
}
