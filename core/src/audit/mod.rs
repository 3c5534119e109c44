//! The audit log: who wrote what, when and from where, and denied access.
//!
//! An entry describes one command of a caller and its target; the changes of each record are stored with the record.
//! Values are stored as hashes with a salt of the tenant, so that two values can be compared and none can be read.

mod actions;
mod list_fields;
mod query;

use std::{fmt::Write as _, net::IpAddr};

use serde::{Deserialize, Serialize};

#[doc(inline)]
pub use self::{
    list_fields::ENTRY,
    query::{AuditQuery, AuditTargets, TOKEN_ID_CHARS},
};
use crate::{
    resources,
    schema::ResourceDef,
    value::{Document, Json, ObjectId, Timestamp},
};

/// Version of the form of [`AuditEntry`].
pub const ENTRY_VERSION: u8 = 1;
/// Bytes of the hash of a value: enough that no other value with the same hash can be found.
pub const HASH_BYTES: usize = 16;

/// An entry of the audit log as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Version of this form: the hashes of a chain over entries depend on it.
    pub version: u8,
    /// Time of the action; never before that of the previous entry.
    pub at: Timestamp,
    /// Action: a noun and a verb, such as `company.update`.
    pub action: String,
    /// Outcome of the action.
    pub outcome: AuditOutcome,
    /// Actor: a token, a person with the files of the store, or the service.
    pub actor: AuditActor,
    /// Target of the action, where there is one.
    pub target: Option<Target>,
    /// Numbers of records that the action changed.
    pub records: RecordCounts,
    /// Address of the request, where it is known.
    pub address: Option<IpAddr>,
    /// `X-Request-Id` of the request; none where no request caused the action.
    pub request_id: Option<String>,
}

/// Outcome of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditOutcome {
    /// The command was carried out.
    Done,
    /// The caller was not let in, for want of a token or of a scope.
    Denied {
        /// The code of the error, or the scope that is missing.
        cause: String,
        /// Number of denials within the minute.
        count: u64,
    },
}

impl AuditOutcome {
    /// Names of the outcomes, as lists return them.
    pub const NAMES: [&'static str; 2] = ["done", "denied"];
}

/// Actor of an action, as far as the service knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AuditActor {
    /// The service itself, such as a renewal that is due.
    Service,
    /// The command line on this machine, with the files of the store.
    Local,
    /// An API token, or a session that acts as a token.
    Token {
        /// Public part of the token, the eight characters after `svt_`.
        id: String,
        /// Label of the token at that time.
        name: String,
        /// Id of the session of the pages that acted as the token.
        session: Option<String>,
    },
    /// A caller without a known token.
    Unknown,
}

impl AuditActor {
    /// Names of the kinds of actors, as lists return them.
    pub const NAMES: [&'static str; 5] = ["service", "local", "token", "session", "unknown"];

    fn name(&self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Local => "local",
            Self::Token { session: None, .. } => "token",
            Self::Token { session: Some(_), .. } => "session",
            Self::Unknown => "unknown",
        }
    }
}

/// Target of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the resource in paths, such as `companies`.
    pub resource: String,
    /// Id of the target; none where there are several.
    pub id: Option<String>,
}

impl Target {
    /// The record that the target is, if it is one.
    pub fn record(&self) -> Option<(&'static ResourceDef, ObjectId)> {
        let def = resources::REGISTRY.iter().copied().find(|def| def.path == self.resource)?;
        Some((def, ObjectId::parse(self.id.as_deref()?)?))
    }
}

/// Numbers of records that a command changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Number of records that were created.
    pub created: u32,
    /// Number of records that were updated.
    pub updated: u32,
    /// Number of records that were deleted.
    pub deleted: u32,
}

impl RecordCounts {
    /// Total number of records.
    pub fn total(self) -> u64 {
        [self.created, self.updated, self.deleted].into_iter().map(u64::from).sum()
    }
}

/// Properties of a record that a command changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedProperties {
    /// Properties with another value after the change.
    pub properties: Vec<Property>,
}

/// A property of a record that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// Name of the property in the API.
    pub name: String,
    /// Value before the change, if there was one.
    pub before: Option<ValueTrace>,
    /// Value after the change, if there is one.
    pub after: Option<ValueTrace>,
}

/// Stored form of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueTrace {
    /// Hash of the value, with the salt of the tenant.
    Hash([u8; HASH_BYTES]),
    /// The value, as JSON.
    Value(String),
}

/// Properties that an entry leaves out: it has the id, and every update changes the others.
const SAYS_NOTHING: [&str; 3] = ["_id", "updatedAt", "__v"];

/// Properties that differ between two states of a record; `trace` returns the stored form of a value, given the name of
/// its property.
///
/// ```
/// use svctrack_core::{audit::{ValueTrace, changed}, value::Document};
/// let record = |text: &str| Document::parse(text.as_bytes()).unwrap();
/// let (before, after) = (record(r#"{"name":"A","mrr":1}"#), record(r#"{"name":"B","mrr":1}"#));
/// let changed = changed(&before, &after, |_, value| ValueTrace::Value(value.to_owned()));
/// assert_eq!(changed.properties[0].before, Some(ValueTrace::Value(r#""A""#.to_owned())));
/// assert_eq!(changed.properties.len(), 1);
/// ```
pub fn changed(
    before: &Document,
    after: &Document,
    trace: impl Fn(&str, &str) -> ValueTrace,
) -> ChangedProperties {
    let mut properties = Vec::new();
    for (name, value) in after.iter().filter(|(name, _)| is_shown(name)) {
        let old = before.get(name);
        if old != Some(value) {
            properties.push(Property {
                name: name.to_owned(),
                before: old.map(|old| trace(name, old.text())),
                after: Some(trace(name, value.text())),
            });
        }
    }
    let gone = before.iter().filter(|(name, _)| is_shown(name) && after.get(name).is_none());
    properties.extend(gone.map(|(name, old)| Property {
        name: name.to_owned(),
        before: Some(trace(name, old.text())),
        after: None,
    }));
    ChangedProperties { properties }
}

/// Whether responses show a property, and not every update changes it.
fn is_shown(name: &str) -> bool {
    !name.starts_with('~') && !SAYS_NOTHING.contains(&name)
}

/// A change of a record, for a response.
#[derive(Clone, Debug)]
pub struct RecordChange {
    /// Name of the resource in paths.
    pub resource: String,
    /// Id of the record.
    pub id: String,
    /// Kind of the change: `created`, `updated` or `deleted`.
    pub change: &'static str,
    /// Properties that were changed.
    pub changed: ChangedProperties,
}

impl AuditEntry {
    /// Id of an entry: its second, and its number in the change log.
    pub fn id(&self, sequence: u64) -> ObjectId {
        let [s0, s1, s2, s3, ..] = *ObjectId::first_at(self.at).as_bytes();
        let [n0, n1, n2, n3, n4, n5, n6, n7] = sequence.to_be_bytes();
        ObjectId::from_bytes([s0, s1, s2, s3, n0, n1, n2, n3, n4, n5, n6, n7])
    }

    /// Whether filters accept the action of the entry and the resource of its target: each entry that is written must
    /// have ones that are listed.
    pub fn is_listed(&self) -> bool {
        let resource = self.target.as_ref().map(|target| target.resource.as_str());
        actions::is_action(&self.action)
            && resource.is_none_or(|resource| actions::RESOURCES.contains(&resource))
    }

    /// The number in the change log that the id of an entry has.
    pub fn sequence_in(id: ObjectId) -> u64 {
        id.as_bytes().last_chunk().map(|bytes| u64::from_be_bytes(*bytes)).unwrap_or_default()
    }

    /// The entry as it is returned, with the changes of its records that are to be shown.
    pub fn to_response(&self, sequence: u64, changes: &[RecordChange]) -> Document {
        let (cause, count) = match &self.outcome {
            AuditOutcome::Done => (None, 1),
            AuditOutcome::Denied { cause, count } => (Some(cause.as_str()), *count),
        };
        let (token, name, session) = match &self.actor {
            AuditActor::Token { id, name, session } => {
                let name = Some(name.as_str()).filter(|name| !name.is_empty());
                (Some(id.as_str()), name, session.as_deref())
            }
            _ => (None, None, None),
        };
        let outcome = if cause.is_some() { "denied" } else { "done" };
        let text = |text: Option<&str>| text.map_or_else(Json::null, Json::string);
        let number = |number: u64| Json::integer(i64::try_from(number).unwrap_or(i64::MAX));
        let target = self.target.as_ref();
        let address = self.address.map(|address| address.to_string());
        let mut response = Document::default();
        response.set("_id", Json::string(&self.id(sequence).to_string()));
        response.set("sequence", number(sequence));
        response.set("at", Json::string(&self.at.to_string()));
        response.set("action", Json::string(&self.action));
        response.set("outcome", Json::string(outcome));
        response.set("cause", text(cause));
        response.set("count", number(count));
        response.set("actor", Json::string(self.actor.name()));
        response.set("tokenId", text(token));
        response.set("tokenName", text(name));
        response.set("sessionId", text(session));
        response.set("resource", text(target.map(|target| target.resource.as_str())));
        response.set("id", text(target.and_then(|target| target.id.as_deref())));
        response.set("created", number(u64::from(self.records.created)));
        response.set("updated", number(u64::from(self.records.updated)));
        response.set("deleted", number(u64::from(self.records.deleted)));
        response.set("address", text(address.as_deref()));
        response.set("requestId", text(self.request_id.as_deref()));
        let changes: Vec<Json> = changes.iter().map(RecordChange::to_response).collect();
        response.set("changes", Json::array(&changes));
        response
    }
}

impl RecordChange {
    fn to_response(&self) -> Json {
        let mut properties = Document::default();
        for property in &self.changed.properties {
            let mut traces = Document::default();
            for (trace, value, hash) in [
                (&property.before, "before", "beforeHash"),
                (&property.after, "after", "afterHash"),
            ] {
                match trace {
                    Some(ValueTrace::Value(json)) => {
                        traces.set(
                            value,
                            Json::parse(json.as_bytes()).unwrap_or_else(|_| Json::null()),
                        );
                    }
                    Some(ValueTrace::Hash(bytes)) => traces.set(hash, Json::string(&digits(bytes))),
                    None => {}
                }
            }
            properties.set(&property.name, Json::object(&traces));
        }
        let mut response = Document::default();
        response.set("resource", Json::string(&self.resource));
        response.set("id", Json::string(&self.id));
        response.set("change", Json::string(self.change));
        response.set("properties", Json::object(&properties));
        Json::object(&response)
    }
}

/// The hexadecimal digits of a hash.
fn digits(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a `String` does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn entry() -> AuditEntry {
        let id = Some("6712a0b4c3d2e1f009876543".to_owned());
        AuditEntry {
            version: ENTRY_VERSION,
            at: Timestamp::parse("2026-11-20T12:00:00Z").unwrap(),
            action: "company.update".to_owned(),
            outcome: AuditOutcome::Done,
            actor: AuditActor::Token {
                id: "01234567".to_owned(),
                name: "CRM".to_owned(),
                session: None,
            },
            target: Some(Target { resource: "companies".to_owned(), id }),
            records: RecordCounts { updated: 1, ..RecordCounts::default() },
            address: Some([192, 0, 2, 7].into()),
            request_id: Some("r-1".to_owned()),
        }
    }

    #[test]
    fn an_entry_of_an_unknown_action_or_resource_is_not_listed() {
        let entry = entry();
        assert!(entry.is_listed() && AuditEntry { target: None, ..entry.clone() }.is_listed());
        assert!(!AuditEntry { action: "company.renew".to_owned(), ..entry.clone() }.is_listed());
        let target = Some(Target { resource: "company".to_owned(), id: None });
        assert!(!AuditEntry { target, ..entry }.is_listed());
    }

    #[test]
    fn the_id_of_an_entry_has_its_number() {
        let id = entry().id(258);
        assert_eq!(id.created_at(), entry().at);
        assert_eq!(AuditEntry::sequence_in(id), 258);
    }

    #[test]
    fn what_differs_is_named_but_not_what_every_update_changes() {
        let record = |text: &str| Document::parse(text.as_bytes()).unwrap();
        let before = record(r#"{"_id":"1","name":"A","mrr":1,"updatedAt":"x","__v":0,"~":["x"]}"#);
        let after = record(r#"{"_id":"1","name":"A","domains":[],"updatedAt":"y","__v":1}"#);
        let changed = changed(&before, &after, |name, _| ValueTrace::Value(name.to_owned()));
        let names: Vec<_> = changed
            .properties
            .iter()
            .map(|property| (&*property.name, property.before.is_some(), property.after.is_some()))
            .collect();
        assert_eq!(names, [("domains", false, true), ("mrr", true, false)]);
    }

    #[test]
    fn a_change_is_returned_with_values_or_with_hashes() {
        let property = |before, after| Property { name: "mrr".to_owned(), before, after };
        let json_of = |property| {
            let changed = ChangedProperties { properties: vec![property] };
            let change = RecordChange {
                resource: "companies".to_owned(),
                id: "1".to_owned(),
                change: "updated",
                changed,
            };
            change.to_response().as_ref().text().to_owned()
        };
        let front = r#"{"resource":"companies","id":"1","change":"updated","properties":{"mrr":"#;
        let hash = Some(ValueTrace::Hash([0xab; HASH_BYTES]));
        let hashed = format!(r#"{front}{{"afterHash":"{}"}}}}}}"#, "ab".repeat(HASH_BYTES));
        assert_eq!(json_of(property(None, hash)), hashed);
        let value = |text: &str| Some(ValueTrace::Value(text.to_owned()));
        let values = format!(r#"{front}{{"before":1,"after":2}}}}}}"#);
        assert_eq!(json_of(property(value("1"), value("2"))), values);
    }
}
