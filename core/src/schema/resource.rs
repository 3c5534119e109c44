//! The definition of a resource: its fields, and the functions for rules that a table cannot express.

use super::{
    field::FieldDef,
    list_limits::ListLimits,
    lookup::{Lookup, LookupError},
};
use crate::value::{Document, IdSequence, JsonRef, ObjectId, Timestamp, ValidationError};

/// A resource: data and plain functions.
#[derive(Debug)]
pub struct ResourceDef {
    /// Name of the resource in the singular, as references and scopes use it.
    pub name: &'static str,
    /// Name of the resource in paths and scopes, in the plural.
    pub path: &'static str,
    /// Byte of the resource in the keys of a store; never changed, never given to another resource.
    pub code: u8,
    /// Description of the resource, in a sentence.
    pub doc: &'static str,
    /// Example of a create, as JSON: sent unchanged, it works with the company of the first start, whose `externalId`
    /// is `demo`. A record that it creates is recognized as an example.
    pub example: &'static str,
    /// Example of an update, which works on the record of the other example.
    pub example_update: &'static str,
    /// Fields of the resource, in the order of the contract.
    pub fields: &'static [FieldDef],
    /// Numbers of records in a list.
    pub list: ListLimits,
    /// Short names of query parameters, each with its long form (R27).
    pub short_names: &'static [(&'static str, &'static str)],
    /// Fields that `search` reads; without any there is no such parameter.
    pub searched: &'static [&'static str],
    /// Mark of records that lists omit unless they filter by it, if there is one (R57).
    pub left_out: Option<&'static str>,
    /// Fields that select the record which a bulk item updates, the first that finds one (R20).
    pub keys: &'static [&'static str],
    /// Rule for an item of a bulk upsert that creates a record (R24, R26).
    pub check_bulk_create: fn(&Document) -> Vec<ValidationError>,
    /// Whether an item of a bulk upsert is dropped: no list of the response has it.
    pub drops: fn(&Document) -> bool,
    /// Whether a bulk upsert returns two counts and nothing else.
    pub bulk_returns_counts_only: bool,
    /// Whether a delete returns the record, and rejects one that does not exist (R15).
    pub delete_returns_record: bool,
    /// Whether rejected items of a bulk upsert are listed as `validationErrors`.
    pub lists_validation_errors: bool,
    /// Whether fields that are computed on write count by the tenant's calendar (R53).
    pub uses_time_zone: bool,
    /// Whether a read of a record reads many others, so that it may take a while.
    pub needs_scan: bool,
    /// Error code of a reference to a record of this resource that does not exist.
    pub not_found: &'static str,
    /// Prepares the merge of a body, for properties that set others.
    pub prepare: fn(&mut SentBody<'_>),
    /// Completes a merged record from other records and checks it, before `if_absent` and `on_write` fields are filled.
    pub complete: fn(&mut Document, &mut CompletionContext<'_>) -> Result<(), LookupError>,
}

/// The version of a record, which only responses have.
pub const VERSION: &str = "__v";

/// Origin of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyOrigin {
    /// A request for one record, or an item of a bulk upsert.
    #[default]
    Request,
    /// A row of an import.
    Row,
    /// A row of an import that is a record as a response returns it: it comes from an export.
    Record,
}

impl BodyOrigin {
    /// Origin of a row.
    pub fn of_row(row: &Document) -> Self {
        if row.value(VERSION).is_some() { Self::Record } else { Self::Row }
    }

    /// Whether an import brings the body. Never in the bundle for forms, which is built without the code for imports.
    pub fn is_import(self) -> bool {
        cfg!(feature = "records") && self != Self::Request
    }

    /// Whether an import restores a record.
    pub fn is_record(self) -> bool {
        cfg!(feature = "records") && self == Self::Record
    }
}

/// Body that was sent, before it is merged into a record.
pub struct SentBody<'a> {
    /// The stored record; none for a create.
    pub before: Option<&'a Document>,
    /// Target of the merge: the record without the placeholder values of absent ones.
    pub base: &'a mut Document,
    /// Members that were sent, without placeholder values that came back unchanged.
    pub patch: &'a mut Document,
    /// Placeholder values that came back unchanged.
    pub returned: &'a Document,
    /// Names of values of `base` that were computed and stay, although what they were computed from changes.
    pub retained: &'a mut Vec<String>,
    /// The time of the command.
    pub now: Timestamp,
    /// The user that the caller acts as.
    pub actor: Option<&'a str>,
    /// Origin of the body.
    pub origin: BodyOrigin,
}

impl SentBody<'_> {
    /// Whether the body changes this property.
    pub fn changes(&self, name: &str) -> bool {
        self.sets(name) || self.clears(name)
    }

    /// Whether the body sets this property to another value.
    pub fn sets(&self, name: &str) -> bool {
        let stored = self.before.and_then(|before| before.value(name));
        self.patch.get(name).is_some_and(|sent| Some(sent) != stored && !sent.is_null())
    }

    /// Whether the body clears a value of this property that is not a placeholder.
    pub fn clears(&self, name: &str) -> bool {
        self.patch.get(name).is_some_and(JsonRef::is_null)
            && self.base.get(name).is_some_and(|stored| !stored.is_null())
    }

    /// Treats placeholder values that came back as values that the caller sets.
    pub fn keep_returned(&mut self, names: &[&str]) {
        for name in names {
            if let Some(value) = self.returned.get(name) {
                self.patch.set(name, value.to_json());
            }
        }
    }

    /// Whether the body changes one of these properties.
    pub fn changes_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.changes(name))
    }

    /// Removes properties that were not changed, so that they are computed again.
    pub fn forget(&mut self, names: &[&str]) {
        for name in names {
            self.base.remove(name);
            self.patch.remove(name);
        }
    }

    /// The value of a property after the merge.
    pub fn after(&self, name: &str) -> Option<JsonRef<'_>> {
        let merged = self.patch.get(name).or_else(|| self.base.get(name));
        merged.filter(|value| !value.is_null())
    }
}

/// Context in which a merged record is completed.
pub struct CompletionContext<'a> {
    /// The stored record; none for a create.
    pub before: Option<&'a Document>,
    /// Body as sent, prepared.
    pub sent: &'a Document,
    /// Origin of the body.
    pub origin: BodyOrigin,
    /// Other records of the tenant.
    pub lookup: &'a dyn Lookup,
    /// The time of the command.
    pub now: Timestamp,
    /// Source of ids for records that are created with this one.
    pub ids: &'a mut IdSequence,
    /// Records that are created with this one.
    pub side_records: &'a mut Vec<SideRecord>,
    /// Issues of the record.
    pub issues: &'a mut Vec<ValidationError>,
}

/// A record that is created with another, such as a ticket's submitter.
#[derive(Debug)]
pub struct SideRecord {
    /// The resource that the record is of.
    pub def: &'static ResourceDef,
    /// Id that the record gets.
    pub id: ObjectId,
    /// The properties of the record.
    pub patch: Document,
}

impl CompletionContext<'_> {
    /// Whether the record is new and no import restores it: a record from an export stays as it was.
    pub fn is_new(&self) -> bool {
        self.before.is_none() && !self.origin.is_record()
    }
}

/// Properties that find records, in the order in which they are tried.
const KEYS: [&str; 4] = ["_id", "sourceId", "externalId", "email"];

impl ResourceDef {
    /// Defaults of most resources; each names what differs and takes the rest from here.
    pub const PLAIN: Self = Self {
        name: "",
        path: "",
        code: 0,
        doc: "",
        example: "",
        example_update: "",
        fields: &[],
        list: ListLimits { default: 100, max: 2_000 },
        short_names: &[],
        searched: &[],
        left_out: None,
        keys: &["_id", "sourceId", "externalId"],
        check_bulk_create: |_| Vec::new(),
        drops: |_| false,
        bulk_returns_counts_only: false,
        delete_returns_record: false,
        lists_validation_errors: false,
        uses_time_zone: false,
        needs_scan: false,
        not_found: "",
        prepare: |_| {},
        complete: |_, _| Ok(()),
    };

    /// Properties that select a record, the first that finds one: for a bulk upsert those of the contract (R20), for an
    /// import all unique ones (D10).
    pub fn keys_of(&self, origin: BodyOrigin) -> impl Iterator<Item = &'static str> {
        let is_unique =
            |name: &str| self.field(name).is_some_and(|field| field.unique && field.is_sent());
        KEYS.into_iter().filter(move |name| match origin {
            BodyOrigin::Request => self.keys.contains(name),
            BodyOrigin::Row | BodyOrigin::Record => *name == "_id" || is_unique(name),
        })
    }

    /// The field with this property name; none where the resource has no such field.
    pub fn field(&self, name: &str) -> Option<&'static FieldDef> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl PartialEq for ResourceDef {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}
