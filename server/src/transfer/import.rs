//! Records from files into a tenant: by the keys that they have, as a bulk upsert finds them (R20). Ids are
//! the store's own, so a reference to a record that came along is written as the key, or the id, that it has here.

use std::{collections::HashMap, fs, io, mem, path::Path};

use bytes::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::{Method, StatusCode};
use serde_json::Value;
use svctrack_core::{
    resources::settings::SETTINGS,
    schema::ResourceDef,
    value::{Document, Json, JsonRef},
};

use super::{Format, everything, is_set, referred, rows::Rows};
use crate::admin::Admin;

/// Records that are sent at a time.
const BATCH_RECORDS: usize = 500;
/// Text that is sent at a time, in bytes, but for one record more: well below what a bulk call may have.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How a file may stand.
const FORMATS: [Format; 2] = [Format::Ndjson, Format::Csv];

/// What became of the records of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Those that are there now, new or not.
    pub taken: usize,
    /// Those that were refused.
    pub refused: usize,
    /// Of those that are there, the new ones without a key: nothing finds them when they are brought in again.
    pub without_key: usize,
}

/// A record that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file.
    pub file: String,
    /// Its line.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// Brings the files of a folder into a tenant, in the order of [`everything`]; tells each record that is refused.
///
/// # Errors
/// In words, when a file cannot be read or the server not be reached; what was sent before stays.
pub async fn import(
    admin: &Admin,
    folder: &Path,
    tell: &mut dyn FnMut(Refused),
) -> Result<Vec<(&'static ResourceDef, Imported)>, String> {
    let files = files_in(folder)?;
    let mut import = Import { admin, known: HashMap::new(), tell };
    let mut done = Vec::new();
    for (def, format) in files {
        done.push((def, import.file(def, format, folder).await?));
    }
    Ok(done)
}

/// The files of a folder that are brought in. Each is looked at before anything is sent.
fn files_in(folder: &Path) -> Result<Vec<(&'static ResourceDef, Format)>, String> {
    let mut files = Vec::new();
    for def in everything() {
        let there = FORMATS.into_iter();
        let there: Vec<_> =
            there.filter(|format| folder.join(format.file_name(def)).exists()).collect();
        match there.as_slice() {
            [] => {}
            [format] => files.push((def, *format)),
            _ => return Err(format!("`{}` is there as NDJSON and as CSV: remove one", def.path)),
        }
    }
    for (def, format) in &files {
        let path = folder.join(format.file_name(def));
        Rows::open(def, *format, &path).map_err(|error| format!("{}: {error}", path.display()))?;
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
    /// What a record that others refer to is called here, by the id that it had.
    known: HashMap<String, String>,
    tell: &'a mut dyn FnMut(Refused),
}

/// A file that is being brought in.
struct FromFile {
    def: &'static ResourceDef,
    name: String,
    /// Whether records of others refer to its records.
    is_referred: bool,
    done: Imported,
}

impl Import<'_> {
    /// A reference to a record of the same resource may be to one that comes later, so such records are sent
    /// twice.
    async fn file(
        &mut self,
        def: &'static ResourceDef,
        format: Format,
        folder: &Path,
    ) -> Result<Imported, String> {
        let is_referred =
            everything().iter().any(|other| referred(other).any(|name| name == def.name));
        let name = format.file_name(def);
        let mut file = FromFile { def, name, is_referred, done: Imported::default() };
        self.pass(&mut file, format, folder, Pass::First).await?;
        if referred(def).any(|name| name == def.name) {
            let Imported { taken, without_key, .. } = file.done;
            self.pass(&mut file, format, folder, Pass::Again).await?;
            (file.done.taken, file.done.without_key) = (taken, without_key);
        }
        Ok(file.done)
    }

    async fn pass(
        &mut self,
        file: &mut FromFile,
        format: Format,
        folder: &Path,
        pass: Pass,
    ) -> Result<(), String> {
        let path = folder.join(&file.name);
        let words = |error: String| format!("{}: {error}", path.display());
        let mut rows = Rows::open(file.def, format, &path).map_err(words)?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((line, read)) = rows.next().map_err(|error| words(error.to_string()))? {
            let prepared = read.and_then(|read| self.prepare(file.def, line, &read, pass));
            match prepared {
                Err(reason) if pass == Pass::First => self.refuse(file, line, reason),
                Err(_) | Ok(None) => {}
                Ok(Some(item)) => {
                    bytes += item.sent.to_text().len();
                    batch.push(item);
                }
            }
            if batch.len() == BATCH_RECORDS || bytes >= BATCH_BYTES {
                self.send(file, mem::take(&mut batch)).await?;
                bytes = 0;
            }
        }
        self.send(file, batch).await
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
            let row = def.row(name).ok_or_else(|| format!("`{name}` is not known"))?;
            if !is_set(row) {
                continue;
            }
            let is_own = row.refers.is_some_and(|refers| refers.resource == def.name);
            refers_to_own |= is_own && !value.is_null();
            if !is_own || pass == Pass::Again {
                sent.set(
                    name,
                    if row.refers.is_some() { self.renamed(value) } else { value.to_json() },
                );
            }
        }
        let id = read.text("_id").map(|id| id.into_owned());
        Ok((pass == Pass::First || refers_to_own).then_some(Item { line, id, sent }))
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

    fn refuse(&mut self, file: &mut FromFile, line: u64, reason: String) {
        file.done.refused += 1;
        (self.tell)(Refused { file: file.name.clone(), line, reason });
    }

    /// Notes what a record is called here, if others may refer to it.
    fn note(&mut self, file: &mut FromFile, id: Option<String>, known: String) {
        file.done.taken += 1;
        if let Some(id) = id.filter(|_| file.is_referred) {
            self.known.insert(id, known);
        }
    }

    async fn send(&mut self, file: &mut FromFile, batch: Vec<Item>) -> Result<(), String> {
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
    async fn send_together(&mut self, file: &mut FromFile, batch: Vec<Item>) -> Result<(), String> {
        let texts: Vec<Json> = batch.iter().map(|item| Json::object(&with_id(item))).collect();
        let body = Bytes::from(Json::array(&texts).as_ref().text().to_owned());
        let path = format!("/{}", file.def.path);
        let answered = self.admin.send_again(Method::PUT, &path, body).await?;
        let errors = answered.headers.get("svctrack-bulk-errors").is_some_and(|count| count != "0");
        let answer = answered.json().await?;
        if errors && file.def.answers_counts_alone {
            // The answer does not say which.
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
    async fn send_alone(&mut self, file: &mut FromFile, item: Item) -> Result<(), String> {
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
            if answered.status == StatusCode::OK {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Makes a record. What a create decides by itself (R25) is set by an update.
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
        let is_taken = answered.status.is_success();
        let text = answered.body.into_bytes().await.map_err(|error| error.to_string())?;
        if !is_taken {
            let problem = serde_json::from_slice(&text).unwrap_or_default();
            return Ok(Err(crate::admin::reason(&problem)));
        }
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

/// Why items were refused, by their place.
fn reasons_in(answer: &Value) -> HashMap<usize, String> {
    let lists = ["createdErrors", "updatedErrors", "permissionErrors", "validationErrors"];
    let elements = lists.iter().filter_map(|list| answer.get(list)?.as_array()).flatten();
    let read = elements.filter_map(|element| {
        let index = usize::try_from(element.get("index")?.as_u64()?).ok()?;
        Some((index, element.get("message")?.as_str()?.to_owned()))
    });
    read.collect()
}
