//! Exports records of a tenant to a file, page by page.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use poem::http::{Method, header};
use serde_json::Value;
use svctrack_core::{
    resources::settings::SETTINGS,
    schema::{FieldDef, ResourceDef},
    value::{Json, JsonRef},
};

use crate::{
    api_client::{ApiClient, ApiResponse},
    backup_folder::UnfinishedFile,
    interchange::{Format, csv_columns::CsvColumns},
};

/// Records in one request.
const PAGE_RECORDS: usize = 1_000;
/// The code of a response that would be too large.
const PAGE_TOO_LARGE: &str = "page_too_large";

/// Handling of the files of an earlier export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFiles {
    /// The earlier files stay, and the export fails.
    Kept,
    /// The new files replace the earlier ones.
    Replaced,
}

/// The files in a folder that an export of a resource would replace.
fn earlier(def: &ResourceDef, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = [Format::Ndjson, Format::Csv].map(|format| folder.join(format.file_name(def)));
    paths.into_iter().filter(|path| path.exists())
}

/// Checks that an export may write its files.
///
/// # Errors
/// A message, when there are files of an earlier export that are to stay.
pub fn check_folder(
    defs: &[&'static ResourceDef],
    folder: &Path,
    kept: ExistingFiles,
) -> Result<(), String> {
    let mut in_the_way = defs.iter().flat_map(|def| earlier(def, folder));
    match in_the_way.next() {
        Some(path) if kept == ExistingFiles::Kept => Err(format!(
            "`{}` already exists: replace the files of an earlier export with --force, or name another folder",
            path.display()
        )),
        _ => Ok(()),
    }
}

/// Writes the records of a resource into a file of a folder; returns their number.
///
/// # Errors
/// A message; then there is no new file.
pub async fn export(
    client: &ApiClient,
    def: &'static ResourceDef,
    format: Format,
    folder: &Path,
    kept: ExistingFiles,
) -> Result<usize, String> {
    let path = folder.join(format.file_name(def));
    let words = |error: &dyn std::error::Error| format!("{}: {error}", path.display());
    let unfinished = UnfinishedFile::in_folder(folder).map_err(|error| words(&error))?;
    let file = unfinished.file().map_err(|error| words(&error))?;
    let mut out = ExportWriter::begin(def, format, file).map_err(|error| words(&error))?;
    let mut pages = RecordPages {
        client,
        def,
        limit: PAGE_RECORDS.min(def.list.max),
        after: None,
        is_over: false,
    };
    let mut count = 0;
    while let Some(records) = pages.next().await? {
        count += records.len();
        for record in &records {
            out.write(record.as_ref()).map_err(|error| words(&error))?;
        }
    }
    out.finish().map_err(|error| words(&error))?;
    match kept {
        ExistingFiles::Kept => unfinished.finish(&path),
        ExistingFiles::Replaced => unfinished.replace(&path),
    }
    .map_err(|error| words(&error))?;
    for other in earlier(def, folder).filter(|other| *other != path) {
        // With both files it would be unclear which of the two is newer.
        fs::remove_file(&other).map_err(|error| words(&error))?;
    }
    Ok(count)
}

/// The records of a resource in the order of their ids.
struct RecordPages<'a> {
    client: &'a ApiClient,
    def: &'static ResourceDef,
    limit: usize,
    after: Option<String>,
    is_over: bool,
}

impl RecordPages<'_> {
    async fn next(&mut self) -> Result<Option<Vec<Json>>, String> {
        while !self.is_over {
            let response = self.ask().await?;
            let goes_on = response.headers.contains_key(header::LINK);
            let is_sound = response.status.is_success();
            let text = text_of(response).await?;
            if !is_sound {
                self.ask_for_less(&text)?;
                continue;
            }
            self.is_over = !goes_on;
            let text = JsonRef::of_stored(&text);
            if text.is_object() {
                return Ok(Some(vec![text.to_json()]));
            }
            let records = text.items().ok_or("the response is not from svctrack")?;
            self.after = records
                .last()
                .and_then(|last| Some(last.as_ref().member("_id")?.as_str()?.into_owned()));
            return Ok(Some(records));
        }
        Ok(None)
    }

    async fn ask(&self) -> Result<ApiResponse, String> {
        let (name, limit, select) = (self.def.path, self.limit, all_fields(self.def));
        let path = match &self.after {
            _ if *self.def == SETTINGS => format!("/{name}"),
            None => format!("/{name}?limit={limit}{select}"),
            Some(after) => format!("/{name}?limit={limit}{select}&after={after}"),
        };
        self.client.send_again(Method::GET, &path, Bytes::new()).await
    }

    /// Handles a rejected response: requests fewer records, if it was too large.
    fn ask_for_less(&mut self, text: &str) -> Result<(), String> {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        if problem.get("code").is_some_and(|code| code == PAGE_TOO_LARGE) && self.limit > 1 {
            self.limit /= 2;
            return Ok(());
        }
        Err(format!("{}: {}", self.def.path, crate::api_client::reason(&problem)))
    }
}

/// Selects all fields of a resource, if a response lacks some of them otherwise.
fn all_fields(def: &ResourceDef) -> String {
    if !def.fields.iter().any(FieldDef::is_on_request) {
        return String::new();
    }
    let names: Vec<&str> = def.fields.iter().map(|field| field.name).collect();
    format!("&select={}", names.join(","))
}

async fn text_of(response: ApiResponse) -> Result<String, String> {
    response.body.into_string().await.map_err(|error| error.to_string())
}

/// A file of records.
enum ExportWriter {
    Ndjson(BufWriter<File>),
    Csv(Box<csv::Writer<File>>, CsvColumns),
}

impl ExportWriter {
    fn begin(def: &ResourceDef, format: Format, file: File) -> io::Result<Self> {
        if format == Format::Ndjson {
            return Ok(Self::Ndjson(BufWriter::new(file)));
        }
        let mut out = csv::Writer::from_writer(file);
        let columns = CsvColumns::of_export(def);
        out.write_record(columns.names())?;
        Ok(Self::Csv(Box::new(out), columns))
    }

    fn write(&mut self, record: JsonRef<'_>) -> io::Result<()> {
        match self {
            Self::Ndjson(out) => writeln!(out, "{}", record.text()),
            Self::Csv(out, columns) => {
                let document = record.to_document().unwrap_or_default();
                out.write_record(columns.cells(&document)).map_err(io::Error::other)
            }
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Ndjson(mut out) => out.flush(),
            Self::Csv(mut out, _) => out.flush(),
        }
    }
}
