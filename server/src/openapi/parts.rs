//! Building blocks that all parts of the API description share.

use serde_json::{Value, json};

/// Gives an object a member.
pub(super) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// A schema that is described elsewhere.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A parameter in the query of an address.
pub(super) fn parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

/// A member of an object: its name, its type, and its description.
pub(super) type Member = (&'static str, &'static str, &'static str);

/// An object of a report: its name, its description, its required members, and its optional ones.
pub(super) type Object =
    (&'static str, &'static str, &'static [&'static [Member]], &'static [&'static [Member]]);

/// First members of every row over time.
pub(super) const PERIOD: &[Member] = &[
    ("period", "text", "Name of the period."),
    ("from", "day", "Its first day."),
    ("to", "day", "The day after its last day."),
];

/// The company of the example.
pub(super) const COMPANY: &str = "671100000000000000000001";
