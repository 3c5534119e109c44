//! References to other records in forms and filters: people choose a record by its name, with suggestions.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::by_name,
    schema::{FieldDef, FieldKind, ResourceDef},
};

/// Names of the records that a page refers to, and suggestions for its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Texts of references in the API, each with the name of the record it refers to.
    pub names: Vec<(String, String)>,
    /// Some records that can be chosen, by the path of their resource. The user may read these resources alone.
    pub suggestions: Vec<(&'static str, Vec<String>)>,
}

impl References {
    /// Text of a field that holds a reference: the name of the record, else the reference.
    pub(super) fn named<'r>(&'r self, reference: &'r str) -> &'r str {
        let found = self.names.iter().find(|(known, _)| known == reference);
        found.map_or(reference, |(_, name)| name)
    }

    /// Path of a resource, if its records can be chosen by name.
    pub(super) fn known(&self, resource: Option<&'static ResourceDef>) -> Option<&'static str> {
        let path = resource?.path;
        self.suggestions.iter().any(|(known, _)| *known == path).then_some(path)
    }
}

/// Resource of the record that a field refers to.
pub fn target_of(field: &FieldDef) -> Option<&'static ResourceDef> {
    let refers = field.refers.filter(|_| field.kind == FieldKind::Reference);
    refers.and_then(|refers| by_name(refers.resource))
}

/// Resource of the records that a field lists.
pub fn listed_target(field: &FieldDef) -> Option<&'static ResourceDef> {
    let refers = field.refers.filter(|_| field.kind == FieldKind::References);
    refers.and_then(|refers| by_name(refers.resource))
}

/// References to the records that a field of a record lists; none where one has more than an id.
pub fn ids_of<'r>(
    record: &'r Map<String, Value>,
    field: &FieldDef,
) -> impl Iterator<Item = &'r str> {
    let items = record.get(field.name).and_then(Value::as_array);
    let items = items.filter(|items| items.iter().all(Value::is_string));
    items.into_iter().flatten().filter_map(Value::as_str)
}

/// Text of a record that can be chosen: its name, and its id in the caller's system, which tells it from others.
pub fn choice_of(name: &str, key: &str) -> String {
    format!("{name} ({key})")
}

/// Id of the list of suggestions of a resource.
pub(super) fn list_id(path: &str) -> String {
    format!("s-{path}")
}

/// The lists of suggestions, which a script fills with what is found while a user types.
pub(super) fn lists(references: &References) -> impl Renderable {
    maud! {
        @for (path, texts) in &references.suggestions {
            datalist id=(list_id(path)) {
                @for text in texts { option value=(text) {} }
            }
        }
        @if !references.suggestions.is_empty() { script type="module" src="/suggest.js" {} }
    }
}
