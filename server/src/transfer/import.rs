//! Imports records from files into a tenant, as bodies of `POST /import/{resource}`. The store assigns ids, so
//! references among imported records are rewritten to the new ids.

use std::{
    collections::{HashMap, HashSet},
    fs, io, mem,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use poem::http::Method;
use serde_json::Value;
use svctrack_core::{
    resources::settings::SETTINGS,
    schema::{BodyOrigin, ResourceDef, VERSION},
    value::{Document, Json, counted},
};

use super::{
    dry_run::{DryRun, DryRunResult, RejectedOrigin, check_settings, stored_ids},
    import_counts::{ImportCounts, count_in},
    order::{exported_resources, referred, resource_named},
    references::{names_any, renamed},
};
use crate::{
    api_client::ApiClient,
    interchange::{
        ByteSource, Format, NDJSON, ReadOptions, RecordRows, RepeatedKeys, unknown_head,
    },
};

/// Maximum number of records that are sent at a time.
const BATCH_RECORDS: usize = 500;
/// Text that is sent at a time, in bytes, but for one record more: little enough to be held.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Keys of a file that are compared with later rows: some 20 MB of hashes.
const MAX_NOTED_KEYS: usize = 1_000_000;

/// The formats of a file.
const FORMATS: [Format; 2] = [Format::Ndjson, Format::Csv];

/// The outcome of the records of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedFile {
    /// Records that are there now, new or not.
    pub taken: usize,
    /// Outcomes of the records; not known of a dry run of several files.
    pub row_counts: Option<ImportCounts>,
    /// Records that were rejected.
    pub rejected: usize,
    /// New records without a key: nothing finds them when they are imported again.
    pub without_key: usize,
    /// Number of rows with a key of an earlier row, whose record they update.
    pub repeated: usize,
    /// Line of the first of these, and that of the earlier row.
    pub first_repeated: Option<(u64, u64)>,
    /// Properties in the file that the service sets itself.
    pub ignored: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct RecordFile {
    pub path: PathBuf,
    /// Resource of the records.
    pub def: &'static ResourceDef,
    format: Format,
}

/// Options for reading files, and the output meanwhile.
pub struct ImportOptions<'a> {
    /// Options for reading tables.
    pub options: &'a ReadOptions,
    pub open: &'a dyn Fn(&Path) -> io::Result<ByteSource>,
    /// Hears of each record that is rejected.
    pub tell: &'a mut dyn FnMut(RejectedRecord),
}

impl ImportOptions<'_> {
    fn rows(&self, file: &RecordFile) -> Result<RecordRows, String> {
        let source = (self.open)(&file.path).map_err(|error| error.to_string());
        let rows =
            source.and_then(|it| RecordRows::open(file.def, Some(file.format), it, self.options));
        rows.map_err(|error| format!("{}: {error}", file.path.display()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    pub file: PathBuf,
    pub line: u64,
    pub reason: String,
}

/// Imports files into a tenant, in their order; reports each rejected record.
///
/// # Errors
/// A message, when a file cannot be read or the server cannot be reached; records that were sent before stay.
pub async fn import<'a>(
    client: &'a ApiClient,
    files: &[RecordFile],
    reading: ImportOptions<'a>,
) -> Result<Vec<ImportedFile>, String> {
    let mut import = Import::new(client, reading, None);
    let mut done: Vec<ImportedFile> = Vec::new();
    for file in files {
        let (imported, read) = import.file(file).await;
        done.push(imported);
        read.map_err(|error| {
            let taken: usize = done.iter().map(|file| file.taken).sum();
            format!("{error}; already imported: {}", counted(taken, "record"))
        })?;
    }
    Ok(done)
}

/// Reports the result of [`import`], and writes nothing.
///
/// # Errors
/// As [`import`].
pub async fn try_out<'a>(
    client: &'a ApiClient,
    files: &[RecordFile],
    reading: ImportOptions<'a>,
) -> Result<Vec<ImportedFile>, String> {
    let dry_run = DryRun::begin().map_err(|error| error.to_string())?;
    let mut import = Import::new(client, reading, Some(dry_run));
    let mut done = Vec::new();
    for file in files {
        import.number = done.len();
        let (imported, read) = import.file(file).await;
        read?;
        done.push(imported);
    }
    let Some(dry_run) = import.dry_run.take() else { return Ok(done) };
    let DryRunResult { created, unchanged, mut rejected } = dry_run.run(client).await?;
    for ((number, _), _) in &rejected {
        let Some(done) = done.get_mut(*number) else { continue };
        done.taken = done.taken.saturating_sub(1);
    }
    rejected.append(&mut import.unreadable);
    rejected.sort();
    for ((number, line), reason) in rejected {
        let (Some(done), Some(file)) = (done.get_mut(number), files.get(number)) else { continue };
        done.rejected += 1;
        (import.reading.tell)(RejectedRecord { file: file.path.clone(), line, reason });
    }
    // The counts are those of all files together.
    if let [only] = done.as_mut_slice() {
        let updated = only.taken.saturating_sub(created + unchanged);
        only.row_counts = Some(ImportCounts { created, updated, unchanged });
    }
    Ok(done)
}

/// Files to import, of a folder or the single file `from`, in the order of [`exported_resources`]. Each is checked
/// before anything is sent. `resource` is the resource of a single file, if its name does not have it.
///
/// # Errors
/// A message: there are no files, a column is not known, or a mapped head does not occur.
pub fn files_at(
    from: &Path,
    resource: Option<&str>,
    options: &ReadOptions,
) -> Result<Vec<RecordFile>, String> {
    let files = match (from.is_file(), resource) {
        (true, _) => vec![single_file(from, resource)?],
        (false, Some(_)) => return Err("--resource is for a single file".to_owned()),
        (false, None) => files_in(from)?,
    };
    let reading = ImportOptions { options, open: &plain, tell: &mut |_| {} };
    let rows = files.iter().map(|file| reading.rows(file)).collect::<Result<Vec<_>, _>>()?;
    let is_nowhere = |head: &&String| !rows.iter().any(|rows| rows.has_head(head));
    match options.map.iter().map(|(head, _)| head).find(is_nowhere) {
        Some(head) => Err(format!("--map: {}", unknown_head(head))),
        None => Ok(files),
    }
}

/// Opens a file, without progress.
fn plain(path: &Path) -> io::Result<ByteSource> {
    Ok(Box::new(fs::File::open(path)?))
}

fn single_file(path: &Path, resource: Option<&str>) -> Result<RecordFile, String> {
    let part =
        |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().to_lowercase());
    let stem = part(path.file_stem()).unwrap_or_default();
    let name = resource.unwrap_or(&stem);
    let def = resource_named(name).map_err(|error| {
        format!("{}: {error}; set the resource with --resource", path.display())
    })?;
    let format = match part(path.extension()).as_deref() {
        Some("ndjson" | "jsonl" | "json") => Format::Ndjson,
        _ => Format::Csv,
    };
    Ok(RecordFile { path: path.to_owned(), def, format })
}

fn files_in(folder: &Path) -> Result<Vec<RecordFile>, String> {
    let mut files = Vec::new();
    for def in exported_resources() {
        let there = FORMATS.into_iter();
        let there: Vec<_> =
            there.filter(|format| folder.join(format.file_name(def)).exists()).collect();
        match there.as_slice() {
            [] => {}
            [format] => {
                let path = folder.join(format.file_name(def));
                files.push(RecordFile { path, def, format: *format });
            }
            _ => return Err(format!("`{}` exists as NDJSON and as CSV: remove one", def.path)),
        }
    }
    match files.is_empty() {
        true => Err(format!("there are no records in `{}`", folder.display())),
        false => Ok(files),
    }
}

/// Other files of a folder, by name: none of them is imported. Hidden files are left out.
///
/// # Errors
/// When the folder cannot be read.
pub fn others_in(folder: &Path) -> io::Result<Vec<String>> {
    let is_ours = |name: &String| {
        let mut names = exported_resources()
            .into_iter()
            .flat_map(|def| FORMATS.map(|format| format.file_name(def)));
        names.any(|file| file == *name)
    };
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<_> =
        names.filter(|name| !name.starts_with('.') && !is_ours(name)).collect();
    others.sort();
    Ok(others)
}

/// A record to send.
struct RecordToSend {
    line: u64,
    /// Id of the record in the file.
    id: Option<String>,
    sent: Document,
}

/// A row of a file: its record, or its line and the reason for which it cannot be sent.
type FileRow = Result<RecordToSend, (u64, String)>;

struct Import<'a> {
    client: &'a ApiClient,
    reading: ImportOptions<'a>,
    /// Id, or in a dry run a name, of each record in the tenant that others refer to, by its id in the file.
    known: HashMap<String, String>,
    /// Rows that would be sent, in a dry run.
    dry_run: Option<DryRun>,
    /// The number of the file.
    number: usize,
    /// Ids of records that have no other name until they are written.
    unnamed: HashSet<String>,
    /// Resource and id of rows of a dry run that are records of the tenant.
    stored: HashSet<(&'static str, String)>,
    /// Rows of a dry run that cannot be sent.
    unreadable: Vec<RejectedOrigin>,
}

/// A file that is being brought in.
struct FromFile<'a> {
    def: &'static ResourceDef,
    file: &'a RecordFile,
    /// Whether records of other resources refer to its records.
    is_referred: bool,
    /// Lines of rejected rows, which are not sent again.
    rejected: HashSet<u64>,
    done: ImportedFile,
}

impl<'a> Import<'a> {
    fn new(client: &'a ApiClient, reading: ImportOptions<'a>, dry_run: Option<DryRun>) -> Self {
        let (known, unnamed, stored) = (HashMap::new(), HashSet::new(), HashSet::new());
        let unreadable = Vec::new();
        Self { client, reading, known, dry_run, number: 0, unnamed, stored, unreadable }
    }

    /// Imports a file. A reference to a record of the same resource may be to one that comes later, so such records are
    /// sent twice.
    async fn file(&mut self, file: &RecordFile) -> (ImportedFile, Result<(), String>) {
        let def = file.def;
        let is_referred =
            exported_resources().iter().any(|other| referred(other).any(|name| name == def.name));
        let row_counts = self.dry_run.is_none().then(ImportCounts::default);
        let done = ImportedFile { row_counts, ..ImportedFile::default() };
        let mut from = FromFile { def, file, is_referred, rejected: HashSet::new(), done };
        let mut read = self.pass(&mut from, ImportPass::First).await;
        if read.is_ok() && referred(def).any(|name| name == def.name) {
            let ImportedFile { taken, without_key, row_counts, .. } = from.done;
            read = self.pass(&mut from, ImportPass::Again).await;
            from.done = ImportedFile { taken, without_key, row_counts, ..from.done };
        }
        (from.done, read)
    }

    async fn pass(&mut self, from: &mut FromFile<'_>, pass: ImportPass) -> Result<(), String> {
        let words =
            |error: &dyn std::error::Error| format!("{}: {error}", from.file.path.display());
        let mut rows = self.reading.rows(from.file)?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut repeated = RepeatedKeys::among(MAX_NOTED_KEYS);
        loop {
            // Rows before one after which nothing can be read are sent.
            let next = rows.next_record();
            let is_over = !matches!(next, Ok(Some(_)));
            if is_over || batch.len() == BATCH_RECORDS || bytes >= BATCH_BYTES {
                self.send(from, mem::take(&mut batch), pass).await?;
                bytes = 0;
            }
            let Some((line, read)) = next.map_err(|error| words(&error))? else { break };
            if let Ok(read) = &read {
                repeated.note(from.def, read, line);
            }
            let prepared = read.map(|read| self.prepare(from.def, line, &read, pass));
            match prepared {
                Ok(None) => {}
                Ok(Some(item)) if from.rejected.contains(&item.line) => drop(item),
                Err(_) if pass == ImportPass::Again => {}
                Ok(Some(item)) => {
                    bytes += item.sent.to_text().len();
                    batch.push(Ok(item));
                }
                Err(reason) => batch.push(Err((line, reason))),
            }
        }
        from.done.ignored = rows.read_only().to_vec();
        (from.done.repeated, from.done.first_repeated) = (repeated.rows, repeated.first);
        Ok(())
    }

    /// Adds rows to a dry run. Those without a key for others to refer to may be records of the tenant.
    async fn dry_run_rows(
        &mut self,
        file: &mut FromFile<'_>,
        batch: Vec<FileRow>,
        pass: ImportPass,
    ) -> Result<(), String> {
        let is_nameless = |item: &&RecordToSend| reference_key(file.def, &item.sent).is_none();
        let items = batch.iter().filter_map(|row| row.as_ref().ok()).filter(is_nameless);
        let ids: Vec<&str> = items.filter_map(|item| item.id.as_deref()).collect();
        let stored = match pass == ImportPass::First && *file.def != SETTINGS && !ids.is_empty() {
            true => stored_ids(self.client, file.def, &ids).await?,
            false => HashSet::new(),
        };
        self.stored.extend(stored);
        for row in batch {
            match row {
                Ok(item) => self.dry_run_row(file, item, pass)?,
                Err((line, reason)) => self.reject(file, line, reason),
            }
        }
        Ok(())
    }

    /// Adds a record to a dry run, with a name for others to refer to.
    fn dry_run_row(
        &mut self,
        from: &mut FromFile<'_>,
        mut item: RecordToSend,
        pass: ImportPass,
    ) -> Result<(), String> {
        if *from.def == SETTINGS {
            match check_settings(&item.sent) {
                Ok(()) => from.done.taken += 1,
                Err(reason) => self.reject(from, item.line, reason),
            }
            return Ok(());
        }
        let is_stored =
            item.id.as_ref().is_some_and(|id| self.stored.contains(&(from.def.path, id.clone())));
        if pass == ImportPass::First {
            let has_key = is_stored || key_of(from.def, &item.sent).is_some();
            from.done.taken += 1;
            from.done.without_key += usize::from(!has_key);
        }
        let key = reference_key(from.def, &item.sent);
        if is_stored {
            // Its own id is its name.
        } else if let (None, Some(id), true) = (&key, &item.id, from.is_referred) {
            if from.def.field("externalId").is_some() && item.sent.text("email").is_none() {
                let name = format!("import-{id}");
                item.sent.set("externalId", Json::string(&name));
                self.known.insert(id.clone(), format!("extid-{name}"));
            } else {
                self.unnamed.insert(id.clone());
            }
        } else if let (Some(key), Some(id), true) = (&key, &item.id, from.is_referred) {
            self.known.insert(id.clone(), key.clone());
        }
        let (origin, sent) = ((self.number, item.line), with_id(&item, item.id.as_deref()));
        match &mut self.dry_run {
            Some(dry_run) => {
                dry_run.add(from.def, origin, &sent).map_err(|error| error.to_string())
            }
            None => Ok(()),
        }
    }

    /// Properties of a record to send, with references as they are here.
    fn prepare(
        &self,
        def: &ResourceDef,
        line: u64,
        read: &Document,
        pass: ImportPass,
    ) -> Option<RecordToSend> {
        let (mut sent, mut refers_to_own) = (Document::default(), false);
        for (name, value) in read.iter().filter(|(name, _)| *name != "_id") {
            let field = def.field(name);
            let refers = field.and_then(|field| field.refers);
            if refers.is_some() && names_any(value, &self.unnamed) {
                continue;
            }
            let is_own = refers.is_some_and(|refers| refers.resource == def.name);
            refers_to_own |= is_own && !value.is_null();
            if !is_own || pass == ImportPass::Again {
                let renamed = field.map(|field| renamed(field, value, &self.known));
                sent.set(name, renamed.unwrap_or_else(|| value.to_json()));
            }
        }
        let id = read.text("_id").map(|id| id.into_owned());
        (pass == ImportPass::First || refers_to_own).then_some(RecordToSend { line, id, sent })
    }

    fn reject(&mut self, file: &mut FromFile<'_>, line: u64, reason: String) {
        if self.dry_run.is_some() {
            self.unreadable.push(((self.number, line), reason));
            return;
        }
        file.rejected.insert(line);
        file.done.rejected += 1;
        (self.reading.tell)(RejectedRecord { file: file.file.path.clone(), line, reason });
    }

    /// Sends rows, and reports the rejected ones in the order of their lines.
    async fn send(
        &mut self,
        file: &mut FromFile<'_>,
        batch: Vec<FileRow>,
        pass: ImportPass,
    ) -> Result<(), String> {
        if self.dry_run.is_some() {
            return self.dry_run_rows(file, batch, pass).await;
        }
        let items: Vec<&RecordToSend> = batch.iter().filter_map(|row| row.as_ref().ok()).collect();
        let sent = match items.is_empty() {
            true => Vec::new(),
            false if *file.def == SETTINGS => self.send_settings(file, &items).await?,
            false => self.send_rows(file, &items, pass).await?,
        };
        let mut sent = sent.into_iter();
        for row in batch {
            let outcome = row.map(|item| (sent.next(), item));
            match outcome {
                Ok((Some(Ok(id)), item)) => {
                    file.done.taken += 1;
                    if let Some(known) = item.id.filter(|_| file.is_referred) {
                        self.known.insert(known, id);
                    }
                }
                Ok((Some(Err(reason)), RecordToSend { line, .. })) | Err((line, reason)) => {
                    self.reject(file, line, reason);
                }
                Ok((None, _)) => return Err("the response is not from svctrack".to_owned()),
            }
        }
        Ok(())
    }

    /// Id of the record of each item, or the reason of its rejection.
    async fn send_rows(
        &self,
        file: &mut FromFile<'_>,
        items: &[&RecordToSend],
        pass: ImportPass,
    ) -> Result<Vec<Result<String, String>>, String> {
        let lines = items.iter().map(|item| match pass {
            ImportPass::First => with_id(item, item.id.as_deref()),
            // The record has been created: its id is known.
            ImportPass::Again => with_id(
                item,
                item.id.as_ref().and_then(|id| self.known.get(id)).map(String::as_str),
            ),
        });
        let body: String = lines.map(|line| line.to_text() + "\n").collect();
        let path = format!("/import/{}?ids=true&refusals={}", file.def.path, items.len());
        let response = self.client.send_again_as(Method::POST, &path, NDJSON, body.into()).await?;
        let summary = response.json().await?;
        if let Some(row_counts) = &mut file.done.row_counts {
            row_counts.add(ImportCounts::from_response(&summary));
        }
        file.done.without_key += count_in(&summary, "withoutKey");
        let list = |name| summary.get(name).and_then(Value::as_array).into_iter().flatten();
        let reason = |rejection: &Value| {
            Some((rejection.get("line")?.as_u64()?, rejection.get("message")?.as_str()?.to_owned()))
        };
        let mut reasons: HashMap<u64, String> = list("refusals").filter_map(reason).collect();
        let outcomes = (1..).zip(list("ids")).map(|(line, id)| match id.as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(reasons
                .remove(&line)
                .unwrap_or_else(|| "rejected; the server sent no message".to_owned())),
        });
        Ok(outcomes.collect())
    }

    async fn send_settings(
        &self,
        file: &mut FromFile<'_>,
        items: &[&RecordToSend],
    ) -> Result<Vec<Result<String, String>>, String> {
        let path = format!("/{}", SETTINGS.path);
        let version = |settings: &Value| settings.get(VERSION).cloned();
        let read = self.client.send_again(Method::GET, &path, Bytes::new()).await?;
        let mut before = version(&read.json().await?);
        let mut outcomes = Vec::new();
        for item in items {
            let body = Bytes::from(item.sent.to_text());
            let response = self.client.send_again(Method::PUT, &path, body).await?;
            let is_rejected = response.status.is_client_error();
            let outcome = response.json().await;
            if let (Ok(settings), Some(row_counts)) = (&outcome, &mut file.done.row_counts) {
                let updated = usize::from(version(settings) != before);
                row_counts.add(ImportCounts { created: 0, updated, unchanged: 1 - updated });
                before = version(settings);
            }
            outcomes.push(match outcome {
                Err(reason) if !is_rejected => return Err(reason),
                outcome => outcome.map(|_| String::new()),
            });
        }
        Ok(outcomes)
    }
}

/// Whether records are sent for the first time, or again for their references to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImportPass {
    First,
    Again,
}

/// First key of a record, as a path or a reference has it; empty for an e-mail, which neither has.
fn key_of(def: &ResourceDef, sent: &Document) -> Option<String> {
    def.keys_of(BodyOrigin::Row).filter(|name| *name != "_id").find_map(|name| {
        let key = sent.text(name)?;
        Some(match name {
            "sourceId" => format!("srcid-{key}"),
            "externalId" => format!("extid-{key}"),
            _ => String::new(),
        })
    })
}

/// Key of a record by which others can refer to it.
fn reference_key(def: &ResourceDef, sent: &Document) -> Option<String> {
    key_of(def, sent).filter(|key| !key.is_empty())
}

/// A record with an id.
fn with_id(item: &RecordToSend, id: Option<&str>) -> Document {
    let mut sent = item.sent.clone();
    if let Some(id) = id {
        sent.set("_id", Json::string(id));
    }
    sent
}
