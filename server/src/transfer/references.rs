//! References among imported records: the store assigns new ids, so each is rewritten to the name of its record here.

use std::collections::{HashMap, HashSet};

use svctrack_core::{
    schema::FieldDef,
    value::{Json, JsonRef},
};

/// Whether a reference, or one of several, is to one of these records.
pub(super) fn names_any(value: JsonRef<'_>, ids: &HashSet<String>) -> bool {
    if let Some(items) = value.items() {
        return items.iter().any(|item| names_any(item.as_ref(), ids));
    }
    value.as_str().is_some_and(|id| ids.contains(&*id))
}

/// A value of a field, its references by the names that are known of their records; also those of its objects.
pub(super) fn renamed(
    field: &FieldDef,
    value: JsonRef<'_>,
    known: &HashMap<String, String>,
) -> Json {
    let refers = |member: &&FieldDef| member.refers.is_some();
    let members: Vec<_> = field.members.iter().filter(refers).collect();
    match value.items() {
        None if field.refers.is_some() => reference(value, known),
        Some(items) if field.refers.is_some() => {
            let items: Vec<_> = items.iter().map(|item| reference(item.as_ref(), known)).collect();
            Json::array(&items)
        }
        Some(items) if !members.is_empty() => {
            let items = items.iter().map(|item| object(item, &members, known));
            Json::array(&items.collect::<Vec<_>>())
        }
        _ => value.to_json(),
    }
}

fn object(item: &Json, members: &[&FieldDef], known: &HashMap<String, String>) -> Json {
    let Some(mut object) = item.as_ref().to_document() else { return item.clone() };
    for member in members {
        let id = object.get(member.name).map(|id| reference(id, known));
        if let Some(id) = id {
            object.set(member.name, id);
        }
    }
    Json::object(&object)
}

fn reference(id: JsonRef<'_>, known: &HashMap<String, String>) -> Json {
    let name = id.as_str().and_then(|id| known.get(&*id));
    name.map_or_else(|| id.to_json(), |name| Json::string(name))
}
