//! Bulk upsert (R17 to R21): each item creates or updates one record, in order. Invalid items do not affect valid ones.

use super::{
    change::Change,
    context::Ctx,
    create::create,
    planned::{Planned, Rejection},
    restore::{carry, restored, shows},
    update::update_stored,
};
use crate::{
    resources::end_user::SUPPRESSED,
    schema::{
        BodyOrigin, CheckedBody, Lookup, LookupError, ResourceDef, UnknownMemberPolicy,
        checked_body, index::key_of,
    },
    value::{
        Document, Json, JsonRef, Malformed, ObjectId, ValidationError, key::MAX_KEY_BYTES,
        quoted::shortened,
    },
};

/// Maximum number of items in a request (R17).
pub const MAX_ITEMS: usize = 5_000;

/// Permissions of the caller of a bulk upsert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpsertAccess {
    /// Whether items may create records.
    pub create: bool,
    /// Whether items may change records.
    pub update: bool,
}

/// An item as it was sent, or the fault of its JSON.
pub type Item = Result<Document, Malformed>;

/// Plan for one item of a bulk upsert.
#[derive(Debug)]
pub struct UpsertedItem {
    /// Changes to write, in order.
    pub changes: Vec<Change>,
    /// How the item is counted.
    pub outcome: UpsertOutcome,
    /// Names of properties that were sent and are not stored (R49).
    pub ignored: Vec<String>,
}

/// How an item is counted (R18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpsertOutcome {
    /// A record was created, with the keys that were sent.
    Created(ObjectId, Document),
    /// A record was changed.
    Updated(ObjectId),
    /// A record was found, and nothing changed.
    Unchanged(ObjectId),
    /// Dropped, and counted as rejected only: a ticket without e-mail.
    Dropped,
    /// The item was rejected, and belongs to one of these lists.
    Failed(RejectionList, Document),
}

/// List of rejected items in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionList {
    /// `createdErrors`: items that would have created a record.
    Created,
    /// `updatedErrors`: items that would have updated a record.
    Updated,
    /// `permissionErrors`: items that the token may not apply.
    Permission,
    /// `validationErrors`: items that failed a check.
    Validation,
}

/// Plans one item. Its changes must be applied before the next item is planned, which sees them.
///
/// # Errors
/// When the store cannot be read; every fault of the item is an [`UpsertOutcome`].
pub fn upsert(
    def: &'static ResourceDef,
    index: usize,
    item: &Item,
    access: UpsertAccess,
    handling: UnknownMemberPolicy,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<UpsertedItem, LookupError> {
    let sent = match item {
        Ok(sent) => sent,
        Err(fault) => {
            let issue = ValidationError::of_body(fault.code, fault.message.clone());
            return Ok(failed(def, RejectionList::Created, index, &Document::default(), &issue));
        }
    };
    if ctx.origin.is_import() {
        ctx.origin = BodyOrigin::of_row(sent);
    }
    if (def.drops)(sent) && !ctx.origin.is_record() {
        return Ok(not_stored(UpsertOutcome::Dropped));
    }
    let planned = match find(def, sent, ctx.origin, lookup)? {
        Some(found) if !access.update => {
            let issue = ValidationError::of_body(
                "scope_missing",
                format!("the token needs `{}:update`", def.path),
            );
            let mut element = failed(def, RejectionList::Permission, index, sent, &issue);
            name_record(&mut element, found.id);
            return Ok(element);
        }
        None if !access.create => {
            let issue = ValidationError::of_body(
                "scope_missing",
                format!("the token needs `{}:create`", def.path),
            );
            return Ok(failed(def, RejectionList::Permission, index, sent, &issue));
        }
        Some(found) => (RejectionList::Updated, change(def, found, sent, handling, lookup, ctx)),
        None => (RejectionList::Created, make(def, sent, handling, lookup, ctx)),
    };
    match planned {
        (_, Ok(planned)) => Ok(counted(def, planned, sent)),
        (_, Err(Rejection::Lookup(error))) => Err(error),
        (list, Err(rejection)) => Ok(failed(def, list, index, sent, &as_one_issue(rejection))),
    }
}

/// The record that an item updates, and the keys that were tried; the last one found it.
struct MatchedRecord {
    id: ObjectId,
    keys: Vec<&'static str>,
    stored: Document,
}

/// Finds the record by the first key that has one; a key without a record falls through to the next (R20).
fn find(
    def: &'static ResourceDef,
    sent: &Document,
    origin: BodyOrigin,
    lookup: &dyn Lookup,
) -> Result<Option<MatchedRecord>, LookupError> {
    let mut keys = Vec::new();
    for name in def.keys_of(origin) {
        keys.push(name);
        let Some(text) = sent.text(name) else {
            continue;
        };
        let id = match def.field(name).filter(|_| name != "_id") {
            Some(field) => lookup.find(def, name, &key_of(field, &text))?,
            None => ObjectId::parse(&text),
        };
        let stored = match id {
            Some(id) => lookup.record(def, id)?,
            None => None,
        };
        if let (Some(id), Some(stored)) = (id, stored) {
            return Ok(Some(MatchedRecord { id, keys, stored }));
        }
    }
    Ok(None)
}

fn change(
    def: &'static ResourceDef,
    found: MatchedRecord,
    sent: &Document,
    handling: UnknownMemberPolicy,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let mut shaped = checked_body::check_update(def, sent);
    carry(def, sent, Some(&found.stored), &mut shaped, (lookup, ctx))?;
    leave_finding_key(def, &found, &mut shaped.patch);
    shaped.add_issues(locked(def, &found, &shaped.patch));
    shaped.handling = handling;
    // A record that has all values is left as it is: values that were computed under earlier settings, such as another
    // time zone, would be computed again.
    let is_unchanged = ctx.origin.is_record()
        && shaped.issues.is_empty()
        && shows(def, &found.stored, &shaped.patch, (lookup, ctx))?;
    let MatchedRecord { id, stored, .. } = found;
    match is_unchanged {
        true => {
            let ignored = shaped.ignored;
            Ok(Planned { changes: Vec::new(), id, document: stored, ignored })
        }
        false => update_stored(def, id, stored, shaped, lookup, ctx),
    }
}

/// Leaves the value of a key that found its record by another of its values, such as one of an end user's other
/// e-mails: it only names the record (R20, R51).
fn leave_finding_key(def: &ResourceDef, found: &MatchedRecord, patch: &mut Document) {
    let Some(field) = found.keys.last().and_then(|name| def.field(name)) else {
        return;
    };
    let sent = patch.text(field.name).map(|sent| key_of(field, &sent));
    let held = found.stored.text(field.name).map(|held| key_of(field, &held));
    if field.unique && sent.is_some() && held.is_some() && sent != held {
        patch.remove(field.name);
    }
}

/// Rejects a change of a key that has a value, unless a key of higher priority found the record (R20). An e-mail in
/// another case is the same key.
fn locked(def: &ResourceDef, found: &MatchedRecord, patch: &Document) -> Vec<ValidationError> {
    let changes = |name: &str| {
        let key = |value: JsonRef<'_>| Some(key_of(def.field(name)?, &value.as_str()?));
        let held = found.stored.value(name);
        patch.get(name).is_some_and(|sent| held.is_some_and(|held| key(held) != key(sent)))
    };
    let issue = |name: &&str| {
        let message =
            format!("`{name}` already has a value, and no key of higher priority matched");
        ValidationError::of_member(name, "key_locked", message)
    };
    found.keys.iter().filter(|name| changes(name)).map(issue).collect()
}

fn make(
    def: &'static ResourceDef,
    sent: &Document,
    handling: UnknownMemberPolicy,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let mut shaped = match ctx.origin.is_record() {
        true => check_record(def, sent),
        false => check_item(def, sent),
    };
    shaped.handling = handling;
    carry(def, sent, None, &mut shaped, (lookup, ctx))?;
    if ctx.origin.is_record() {
        shaped.patch = restored(def, sent, shaped.patch, ctx.fill(def, lookup)?);
    }
    create(def, shaped, lookup, ctx)
}

/// Checks an item that creates a record: its own values, and the further requirements of a bulk upsert.
fn check_item(def: &ResourceDef, sent: &Document) -> CheckedBody {
    let mut shaped = checked_body::check_create(def, sent);
    shaped.add_issues((def.check_bulk_create)(sent));
    shaped
}

/// Checks a record that comes back from an export: an erased person is missing from it.
fn check_record(def: &ResourceDef, sent: &Document) -> CheckedBody {
    let is_personal = |issue: &ValidationError| {
        def.field(issue.pointer.trim_start_matches('/')).is_some_and(|field| field.personal)
    };
    let shaped = checked_body::check_create(def, sent);
    match shaped.issues.iter().all(is_personal) {
        true => checked_body::check_update(def, sent),
        false => shaped,
    }
}

fn counted(def: &ResourceDef, planned: Planned, sent: &Document) -> UpsertedItem {
    let created = planned.changes.iter().any(|change| change.creates(def, planned.id));
    let outcome = if created {
        UpsertOutcome::Created(planned.id, keys_of(def, planned.id, sent))
    } else if planned.changes.is_empty() {
        UpsertOutcome::Unchanged(planned.id)
    } else {
        UpsertOutcome::Updated(planned.id)
    };
    UpsertedItem { changes: planned.changes, outcome, ignored: planned.ignored }
}

/// Result of an item that stores nothing.
fn not_stored(outcome: UpsertOutcome) -> UpsertedItem {
    UpsertedItem { changes: Vec::new(), outcome, ignored: Vec::new() }
}

/// `_id` and the keys that were sent (R18).
fn keys_of(def: &ResourceDef, id: ObjectId, sent: &Document) -> Document {
    let mut keys = Document::default();
    keys.set("_id", Json::string(&id.to_string()));
    for name in def.keys.iter().filter(|name| **name != "_id") {
        if let Some(value) = sent.value(name) {
            keys.set(name, value.to_json());
        }
    }
    keys
}

/// Issues of an item as one message, with the code and the property of the first.
fn as_one_issue(rejection: Rejection) -> ValidationError {
    let issues = match rejection {
        Rejection::Invalid(issues) | Rejection::Conflict(issues) => issues,
        Rejection::NotFound | Rejection::Lookup(_) => Vec::new(),
    };
    let further: Vec<String> =
        issues.iter().skip(1).map(|issue| format!("; {}", issue.message)).collect();
    let Some(first) = issues.into_iter().next() else {
        return ValidationError::of_body("not_found", "the record does not exist");
    };
    ValidationError { message: first.message + &further.concat(), ..first }
}

/// A rejected item: `{index, code, message, field?, _id?, sourceId?, externalId?}` (R19).
fn failed(
    def: &ResourceDef,
    list: RejectionList,
    index: usize,
    sent: &Document,
    issue: &ValidationError,
) -> UpsertedItem {
    let validates = def.lists_validation_errors && list != RejectionList::Permission;
    let list = if validates { RejectionList::Validation } else { list };
    let mut element = Document::default();
    element.set("index", Json::integer(i64::try_from(index).unwrap_or(i64::MAX)));
    element.set("code", Json::string(issue.code));
    element.set("message", Json::string(&issue.message));
    if let Some(field) = issue.pointer.strip_prefix('/') {
        element.set("field", Json::string(field));
    }
    // The stored reply must not bring an erased person's keys back.
    let keys: &[&str] = match issue.code {
        SUPPRESSED => &[],
        _ => &["_id", "sourceId", "externalId"],
    };
    for name in keys {
        let Some(sent) = sent.text(name) else { continue };
        // The sender chooses how long a value is that is too long for a key, so it is cut.
        let is_short = sent.len() <= MAX_KEY_BYTES;
        let named = if is_short { sent } else { shortened(&sent).into() };
        element.set(name, Json::string(&named));
    }
    not_stored(UpsertOutcome::Failed(list, element))
}

fn name_record(upserted: &mut UpsertedItem, id: ObjectId) {
    if let UpsertOutcome::Failed(_, element) = &mut upserted.outcome {
        element.set("_id", Json::string(&id.to_string()));
    }
}

/// The response to a bulk upsert, built item by item.
#[derive(Debug, Default)]
pub struct UpsertSummary {
    created: Vec<ObjectId>,
    keys_of_created: ObjectArray,
    updated: Vec<ObjectId>,
    unchanged: usize,
    created_errors: ObjectArray,
    updated_errors: ObjectArray,
    permission_errors: ObjectArray,
    validation_errors: ObjectArray,
    dropped: usize,
    ignored: Vec<String>,
}

/// Maximum number of names of ignored properties in a summary: more than a header has room for.
const MAX_IGNORED: usize = 100;

impl UpsertSummary {
    /// Adds the outcome of an item, in the order of the request.
    pub fn add(&mut self, outcome: UpsertOutcome) {
        match outcome {
            UpsertOutcome::Created(id, keys) => {
                self.created.push(id);
                self.keys_of_created.push(&keys);
            }
            UpsertOutcome::Updated(id) => self.updated.push(id),
            UpsertOutcome::Unchanged(_) => self.unchanged += 1,
            UpsertOutcome::Dropped => self.dropped += 1,
            UpsertOutcome::Failed(RejectionList::Created, element) => {
                self.created_errors.push(&element)
            }
            UpsertOutcome::Failed(RejectionList::Updated, element) => {
                self.updated_errors.push(&element)
            }
            UpsertOutcome::Failed(RejectionList::Permission, element) => {
                self.permission_errors.push(&element)
            }
            UpsertOutcome::Failed(RejectionList::Validation, element) => {
                self.validation_errors.push(&element)
            }
        }
    }

    /// Adds names of properties that an item has and that are not stored, each once.
    pub fn ignore(&mut self, names: Vec<String>) {
        for name in names {
            if self.ignored.len() < MAX_IGNORED && !self.ignored.contains(&name) {
                self.ignored.push(name);
            }
        }
    }

    /// Names of properties that are not stored (R49).
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Number of items that were rejected or dropped (R19, R56).
    pub fn errors(&self) -> usize {
        self.created_errors.count
            + self.updated_errors.count
            + self.permission_errors.count
            + self.validation_errors.count
            + self.dropped
    }

    /// JSON of the response: only counts for a resource that returns these, else the lists of the contract. It may have
    /// several megabytes.
    pub fn into_response(self, def: &ResourceDef) -> String {
        let count = |count: usize| count.to_string();
        if def.bulk_returns_counts_only {
            let updated = count(self.updated.len() + self.unchanged);
            return object_of(vec![("created", count(self.created.len())), ("updated", updated)]);
        }
        let mut keys_of_changed = ObjectArray::default();
        self.updated.iter().for_each(|id| keys_of_changed.push(&only_id(*id)));
        let mut members = vec![
            ("created", count(self.created.len())),
            ("createdErrors", self.created_errors.into_text()),
            ("insertsKeys", self.keys_of_created.into_text()),
            ("updated", count(self.updated.len())),
            ("updatedErrors", self.updated_errors.into_text()),
            ("updatesKeys", keys_of_changed.into_text()),
            ("nonupdates", count(self.unchanged)),
            ("modified", array_of(&self.updated)),
            ("upsertedIds", array_of(&self.created)),
            ("permissionErrors", self.permission_errors.into_text()),
        ];
        if def.lists_validation_errors {
            members.push(("validationErrors", self.validation_errors.into_text()));
        }
        object_of(members)
    }
}

/// An object with members whose names need no escapes, in the memory that it needs. Each value is dropped once it is
/// copied.
fn object_of(members: Vec<(&str, String)>) -> String {
    let punctuation = r#""":,"#.len();
    let length = |(name, value): &(&str, String)| name.len() + value.len() + punctuation;
    let mut text = String::with_capacity(members.iter().map(length).sum::<usize>() + 1);
    for (name, value) in members {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(&value);
    }
    text.push('}');
    text
}

fn array_of(ids: &[ObjectId]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    format!("[{}]", ids.join(","))
}

fn only_id(id: ObjectId) -> Document {
    let mut keys = Document::default();
    keys.set("_id", Json::string(&id.to_string()));
    keys
}

/// An array of objects as text: thousands of documents take several times as much memory.
#[derive(Debug, Default)]
struct ObjectArray {
    count: usize,
    /// The array without its closing bracket; empty for none.
    text: String,
}

impl ObjectArray {
    fn push(&mut self, object: &Document) {
        self.text.push(if self.count == 0 { '[' } else { ',' });
        self.text.push_str(&object.to_text());
        self.count += 1;
    }

    fn into_text(self) -> String {
        match self.count {
            0 => "[]".to_owned(),
            _ => self.text + "]",
        }
    }
}
