//! Records from files into a tenant: by the keys that they have, as a bulk upsert finds them (R20). Ids are
//! the store's own, so a reference to a record that came along is written as the key, or the id, that it has here.

use std::{
    collections::{HashMap, HashSet},
    fs, io, mem,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::{Method, StatusCode};
use serde_json::Value;
use svctrack_core::{
    resources::settings::SETTINGS,
    schema::ResourceDef,
    value::{Document, Json, JsonRef, counted},
};

use super::{
    dry_run::{DryRun, judge_settings},
    order::{everything, referred, resource_named},
};
use crate::{
    admin::Admin,
    interchange::{Format, Options, Rows, Source, is_set},
};

/// Records that are sent at a time.
const BATCH_RECORDS: usize = 500;
/// Text that is sent at a time, in bytes, but for one record more: well below what a bulk call may have.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// The formats of a file.
const FORMATS: [Format; 2] = [Format::Ndjson, Format::Csv];

/// The outcome of the records of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Those that are there now, new or not.
    pub taken: usize,
    /// Those that were rejected.
    pub refused: usize,
    /// Of those that are there, the new ones without a key: nothing finds them when they are brought in again.
    pub without_key: usize,
    /// Properties that were there and that the service sets itself.
    pub ignored: Vec<String>,
}

/// A file that is imported.
#[derive(Clone, Debug)]
pub struct RecordFile {
    pub path: PathBuf,
    /// What its records are.
    pub def: &'static ResourceDef,
    format: Format,
}

/// How files are read, and what is printed meanwhile.
pub struct Reading<'a> {
    /// How tables are read.
    pub options: &'a Options,
    pub open: &'a dyn Fn(&Path) -> io::Result<Source>,
    /// Hears of each record that is rejected.
    pub tell: &'a mut dyn FnMut(Refused),
}

impl Reading<'_> {
    fn rows(&self, file: &RecordFile) -> Result<Rows, String> {
        let source = (self.open)(&file.path).map_err(|error| error.to_string());
        let rows = source.and_then(|it| Rows::open(file.def, file.format, it, self.options));
        rows.map_err(|error| format!("{}: {error}", file.path.display()))
    }
}

/// A record that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub file: PathBuf,
    pub line: u64,
    pub reason: String,
}

/// Imports files into a tenant, in their order; reports each rejected record.
///
/// # Errors
/// In words, when a file cannot be read or the server not be reached; what was sent before stays.
pub async fn import<'a>(
    admin: &'a Admin,
    files: &[RecordFile],
    reading: Reading<'a>,
) -> Result<Vec<Imported>, String> {
    let mut import = Import::of(admin, reading, None);
    let mut done: Vec<Imported> = Vec::new();
    for file in files {
        let (imported, read) = import.file(file).await;
        done.push(imported);
        read.map_err(|error| {
            let taken: usize = done.iter().map(|file| file.taken).sum();
            format!("{error}; what was imported before stays: {}", counted(taken, "record"))
        })?;
    }
    Ok(done)
}

/// Reports what [`import`] would do, and writes nothing.
///
/// # Errors
/// As [`import`].
pub async fn try_out<'a>(
    admin: &'a Admin,
    files: &[RecordFile],
    reading: Reading<'a>,
) -> Result<Vec<Imported>, String> {
    let dry_run = DryRun::begin().map_err(|error| error.to_string())?;
    let mut import = Import::of(admin, reading, Some(dry_run));
    let mut done = Vec::new();
    for file in files {
        import.number = done.len();
        let (imported, read) = import.file(file).await;
        read?;
        done.push(imported);
    }
    let Some(dry_run) = import.dry_run.take() else { return Ok(done) };
    for ((number, line), reason) in dry_run.judge(admin).await? {
        let (Some(done), Some(file)) = (done.get_mut(number), files.get(number)) else { continue };
        done.refused += 1;
        done.taken = done.taken.saturating_sub(1);
        (import.reading.tell)(Refused { file: file.path.clone(), line, reason });
    }
    Ok(done)
}

/// The files that are imported, of a folder or the one that `from` is, in the order of [`everything`]. Each is checked
/// before anything is sent. `resource` is that of a single file, where its name does not tell.
///
/// # Errors
/// In words: there are none, a column is not known, or a head that is mapped is nowhere.
pub fn files_at(
    from: &Path,
    resource: Option<&str>,
    options: &Options,
) -> Result<Vec<RecordFile>, String> {
    let files = match (from.is_file(), resource) {
        (true, _) => vec![single_file(from, resource)?],
        (false, Some(_)) => return Err("--resource is for a single file".to_owned()),
        (false, None) => files_in(from)?,
    };
    let reading = Reading { options, open: &plain, tell: &mut |_| {} };
    let rows = files.iter().map(|file| reading.rows(file)).collect::<Result<Vec<_>, _>>()?;
    let is_nowhere = |head: &&String| !rows.iter().any(|rows| rows.has_head(head));
    match options.map.iter().map(|(head, _)| head).find(is_nowhere) {
        Some(head) => Err(format!("--map: no column is called `{head}`")),
        None => Ok(files),
    }
}

/// Opens a file, and says nothing of it.
fn plain(path: &Path) -> io::Result<Source> {
    Ok(Box::new(fs::File::open(path)?))
}

fn single_file(path: &Path, resource: Option<&str>) -> Result<RecordFile, String> {
    let part =
        |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().to_lowercase());
    let stem = part(path.file_stem()).unwrap_or_default();
    let name = resource.unwrap_or(&stem);
    let def = resource_named(name).map_err(|error| {
        format!("{}: {error}; --resource says what the file holds", path.display())
    })?;
    let format = match part(path.extension()).as_deref() {
        Some("ndjson" | "jsonl" | "json") => Format::Ndjson,
        _ => Format::Csv,
    };
    Ok(RecordFile { path: path.to_owned(), def, format })
}

fn files_in(folder: &Path) -> Result<Vec<RecordFile>, String> {
    let mut files = Vec::new();
    for def in everything() {
        let there = FORMATS.into_iter();
        let there: Vec<_> =
            there.filter(|format| folder.join(format.file_name(def)).exists()).collect();
        match there.as_slice() {
            [] => {}
            [format] => {
                let path = folder.join(format.file_name(def));
                files.push(RecordFile { path, def, format: *format });
            }
            _ => return Err(format!("`{}` is there as NDJSON and as CSV: remove one", def.path)),
        }
    }
    match files.is_empty() {
        true => Err(format!("there are no records in `{}`", folder.display())),
        false => Ok(files),
    }
}

/// What else lies in a folder, by name: nothing of it is brought in. What is hidden is left out.
///
/// # Errors
/// When the folder cannot be read.
pub fn others_in(folder: &Path) -> io::Result<Vec<String>> {
    let is_ours = |name: &String| {
        let mut names =
            everything().into_iter().flat_map(|def| FORMATS.map(|format| format.file_name(def)));
        names.any(|file| file == *name)
    };
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<_> =
        names.filter(|name| !name.starts_with('.') && !is_ours(name)).collect();
    others.sort();
    Ok(others)
}

/// A record on its way.
struct Item {
    line: u64,
    /// The id that it had.
    id: Option<String>,
    sent: Document,
}

struct Import<'a> {
    admin: &'a Admin,
    reading: Reading<'a>,
    /// What a record that others refer to is called here, by the id that it had.
    known: HashMap<String, String>,
    /// Where nothing is to be written: what would be.
    dry_run: Option<DryRun>,
    /// The number of the file.
    number: usize,
    /// Ids that records would have no other name for until they are written.
    unnamed: HashSet<String>,
}

/// A file that is being brought in.
struct FromFile<'a> {
    def: &'static ResourceDef,
    file: &'a RecordFile,
    /// Whether records of others refer to its records.
    is_referred: bool,
    done: Imported,
}

impl<'a> Import<'a> {
    fn of(admin: &'a Admin, reading: Reading<'a>, dry_run: Option<DryRun>) -> Self {
        let (known, unnamed) = (HashMap::new(), HashSet::new());
        Self { admin, reading, known, dry_run, number: 0, unnamed }
    }

    /// A reference to a record of the same resource may be to one that comes later, so such records are sent
    /// twice.
    async fn file(&mut self, file: &RecordFile) -> (Imported, Result<(), String>) {
        let def = file.def;
        let is_referred =
            everything().iter().any(|other| referred(other).any(|name| name == def.name));
        let mut from = FromFile { def, file, is_referred, done: Imported::default() };
        let mut read = self.pass(&mut from, Pass::First).await;
        if read.is_ok() && referred(def).any(|name| name == def.name) {
            let Imported { taken, without_key, .. } = from.done;
            read = self.pass(&mut from, Pass::Again).await;
            (from.done.taken, from.done.without_key) = (taken, without_key);
        }
        (from.done, read)
    }

    async fn pass(&mut self, from: &mut FromFile<'_>, pass: Pass) -> Result<(), String> {
        let words =
            |error: &dyn std::error::Error| format!("{}: {error}", from.file.path.display());
        let mut rows = self.reading.rows(from.file)?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((line, read)) = rows.next_record().map_err(|error| words(&error))? {
            let prepared = read.and_then(|read| self.prepare(from.def, line, &read, pass));
            match prepared {
                Err(reason) if pass == Pass::First => self.refuse(from, line, reason),
                Err(_) | Ok(None) => {}
                Ok(Some(item)) if self.dry_run.is_some() => self.rehearse(from, item, pass)?,
                Ok(Some(item)) => {
                    bytes += item.sent.to_text().len();
                    batch.push(item);
                }
            }
            if batch.len() == BATCH_RECORDS || bytes >= BATCH_BYTES {
                self.send(from, mem::take(&mut batch)).await?;
                bytes = 0;
            }
        }
        from.done.ignored = rows.read_only().to_vec();
        self.send(from, batch).await
    }

    /// Notes what would be sent of a record, with a name for others to refer to.
    fn rehearse(
        &mut self,
        from: &mut FromFile<'_>,
        mut item: Item,
        pass: Pass,
    ) -> Result<(), String> {
        if *from.def == SETTINGS {
            match judge_settings(&item.sent) {
                Ok(()) => from.done.taken += 1,
                Err(reason) => self.refuse(from, item.line, reason),
            }
            return Ok(());
        }
        let key = key_of(from.def, &item.sent);
        if pass == Pass::First {
            from.done.taken += 1;
            from.done.without_key += usize::from(key.is_none());
        }
        let key = key.filter(|key| !key.is_empty());
        if let (None, Some(id), true) = (&key, &item.id, from.is_referred) {
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
        let (origin, sent) = ((self.number, item.line), with_id(&item));
        match &mut self.dry_run {
            Some(dry_run) => {
                dry_run.add(from.def, origin, &sent).map_err(|error| error.to_string())
            }
            None => Ok(()),
        }
    }

    /// What is sent of a record: what its caller sets, with references as they are here.
    fn prepare(
        &self,
        def: &'static ResourceDef,
        line: u64,
        read: &Document,
        pass: Pass,
    ) -> Result<Option<Item>, String> {
        let (mut sent, mut refers_to_own) = (Document::default(), false);
        for (name, value) in read.iter() {
            let field = def.field(name).ok_or_else(|| format!("`{name}` is not known"))?;
            if !is_set(field) {
                continue;
            }
            if field.refers.is_some() && self.has_unnamed(value) {
                continue;
            }
            let is_own = field.refers.is_some_and(|refers| refers.resource == def.name);
            refers_to_own |= is_own && !value.is_null();
            if !is_own || pass == Pass::Again {
                sent.set(
                    name,
                    if field.refers.is_some() { self.renamed(value) } else { value.to_json() },
                );
            }
        }
        let id = read.text("_id").map(|id| id.into_owned());
        Ok((pass == Pass::First || refers_to_own).then_some(Item { line, id, sent }))
    }

    /// Whether a reference, or one of several, is to a record that cannot be named before it is written.
    fn has_unnamed(&self, value: JsonRef<'_>) -> bool {
        if let Some(items) = value.items() {
            return items.iter().any(|item| self.has_unnamed(item.as_ref()));
        }
        value.as_str().is_some_and(|id| self.unnamed.contains(&*id))
    }

    /// A reference, or several, by what the records are called here.
    fn renamed(&self, value: JsonRef<'_>) -> Json {
        if let Some(items) = value.items() {
            let items: Vec<Json> = items.iter().map(|item| self.renamed(item.as_ref())).collect();
            return Json::array(&items);
        }
        let known = value.as_str().and_then(|id| self.known.get(&*id));
        known.map_or_else(|| value.to_json(), |known| Json::string(known))
    }

    fn refuse(&mut self, file: &mut FromFile<'_>, line: u64, reason: String) {
        file.done.refused += 1;
        (self.reading.tell)(Refused { file: file.file.path.clone(), line, reason });
    }

    /// Notes what a record is called here, if others may refer to it.
    fn note(&mut self, file: &mut FromFile<'_>, id: Option<String>, known: String) {
        file.done.taken += 1;
        if let Some(id) = id.filter(|_| file.is_referred) {
            self.known.insert(id, known);
        }
    }

    async fn send(&mut self, file: &mut FromFile<'_>, batch: Vec<Item>) -> Result<(), String> {
        let (keyed, others): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|item| key_of(file.def, &item.sent).is_some());
        if !keyed.is_empty() {
            self.send_together(file, keyed).await?;
        }
        for item in others {
            self.send_alone(file, item).await?;
        }
        Ok(())
    }

    /// Sends records that have keys as a bulk upsert.
    async fn send_together(
        &mut self,
        file: &mut FromFile<'_>,
        batch: Vec<Item>,
    ) -> Result<(), String> {
        let texts: Vec<Json> = batch.iter().map(|item| Json::object(&with_id(item))).collect();
        let body = Bytes::from(Json::array(&texts).as_ref().text().to_owned());
        let path = format!("/{}", file.def.path);
        let answered = self.admin.send_again(Method::PUT, &path, body).await?;
        let errors = answered.headers.get("svctrack-bulk-errors").is_some_and(|count| count != "0");
        let answer = answered.json().await?;
        if errors && file.def.bulk_returns_counts_only {
            // The response does not say which.
            for item in batch {
                self.send_alone(file, item).await?;
            }
            return Ok(());
        }
        let mut reasons = reasons_in(&answer);
        for (index, item) in batch.into_iter().enumerate() {
            match (reasons.remove(&index), key_of(file.def, &item.sent)) {
                (Some(reason), _) => self.refuse(file, item.line, reason),
                (None, known) => self.note(file, item.id, known.unwrap_or_default()),
            }
        }
        Ok(())
    }

    /// Sends a record by itself: into the one that is there, or as a new one.
    async fn send_alone(&mut self, file: &mut FromFile<'_>, item: Item) -> Result<(), String> {
        let done = match self.find(file.def, &item).await? {
            Some(path) => self.write(Method::PUT, &path, &item.sent).await?,
            None => {
                let made = self.create(file.def, &item.sent).await?;
                let is_lost = made.is_ok() && key_of(file.def, &item.sent).is_none();
                file.done.without_key += usize::from(is_lost);
                made
            }
        };
        match done {
            Ok(answer) => {
                let id = answer.text("_id").unwrap_or_default().into_owned();
                self.note(file, item.id, id);
            }
            Err(reason) => self.refuse(file, item.line, reason),
        }
        Ok(())
    }

    /// The path of the record that is there already.
    async fn find(&self, def: &ResourceDef, item: &Item) -> Result<Option<String>, String> {
        if *def == SETTINGS {
            return Ok(Some(format!("/{}", def.path)));
        }
        for name in item.id.iter().cloned().chain(key_of(def, &item.sent)) {
            let path = format!("/{}/{}", def.path, utf8_percent_encode(&name, NON_ALPHANUMERIC));
            let answered = self.admin.send_again(Method::GET, &path, Bytes::new()).await?;
            match answered.status {
                StatusCode::OK => return Ok(Some(path)),
                // An id of another store may be none here.
                StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST => {}
                _ => return answered.json().await.map(|_| None),
            }
        }
        Ok(None)
    }

    /// Creates a record. What a create decides by itself (R25) is set by an update.
    async fn create(
        &self,
        def: &ResourceDef,
        sent: &Document,
    ) -> Result<Result<Document, String>, String> {
        let made = self.write(Method::POST, &format!("/{}", def.path), sent).await?;
        match &made {
            Ok(answer) if sent.iter().any(|(name, value)| answer.value(name) != Some(value)) => {
                let id = answer.text("_id").unwrap_or_default();
                self.write(Method::PUT, &format!("/{}/{id}", def.path), sent).await
            }
            _ => Ok(made),
        }
    }

    /// The record that was written, or why it was not.
    async fn write(
        &self,
        method: Method,
        path: &str,
        sent: &Document,
    ) -> Result<Result<Document, String>, String> {
        let answered = self.admin.send_again(method, path, Bytes::from(sent.to_text())).await?;
        if !answered.status.is_success() {
            let is_refused = answered.status.is_client_error();
            let reason = answered.json().await.err().unwrap_or_default();
            return if is_refused { Ok(Err(reason)) } else { Err(reason) };
        }
        let text = answered.body.into_bytes().await.map_err(|error| error.to_string())?;
        Document::parse(&text).map(Ok).map_err(|error| error.message)
    }
}

/// Whether records are sent for the first time, or again for their references to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    First,
    Again,
}

/// What a record is called by the first of its keys, as a path or a reference has it; empty for an e-mail, which
/// neither has.
fn key_of(def: &ResourceDef, sent: &Document) -> Option<String> {
    def.keys.iter().filter(|name| **name != "_id").find_map(|name| {
        let key = sent.text(name)?;
        Some(match *name {
            "sourceId" => format!("srcid-{key}"),
            "externalId" => format!("extid-{key}"),
            _ => String::new(),
        })
    })
}

/// A record with the id that it had, which finds it where it came from.
fn with_id(item: &Item) -> Document {
    let mut sent = item.sent.clone();
    if let Some(id) = &item.id {
        sent.set("_id", Json::string(id));
    }
    sent
}

/// Why items were rejected, by their place.
fn reasons_in(answer: &Value) -> HashMap<usize, String> {
    let lists = ["createdErrors", "updatedErrors", "permissionErrors", "validationErrors"];
    let elements = lists.iter().filter_map(|list| answer.get(list)?.as_array()).flatten();
    let read = elements.filter_map(|element| {
        let index = usize::try_from(element.get("index")?.as_u64()?).ok()?;
        Some((index, element.get("message")?.as_str()?.to_owned()))
    });
    read.collect()
}
