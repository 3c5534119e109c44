//! Schemas of a resource, from its fields: for responses and lists, and for creates and updates.

use serde_json::{Map, Value, json};
use svctrack_core::{
    resources::license::LICENSE,
    schema::{self, FieldDef, FieldKind, ResourceDef},
    value::{email::MAX_EMAIL_BYTES, key::MAX_KEY_BYTES, number::MAX_AMOUNT},
};

use super::{
    parts::set,
    patterns::{KEY, OBJECT_ID, RECORD_REF, TEXT, YEAR},
};

/// Name of the schema of [`successor`].
pub(super) const SUCCESSOR: &str = "SuccessorLicense";
/// The fields that the service fills in every record.
const ALWAYS: [&str; 4] = ["_id", "createdAt", "updatedAt", "__v"];

/// The name of a resource's schema: `timeentries` is `Timeentry`.
pub(super) fn schema_name(def: &ResourceDef) -> String {
    let mut chars = def.name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Name of the schema of a record in a list.
pub(super) fn list_item_name(def: &ResourceDef) -> String {
    format!("{}ListItem", schema_name(def))
}

/// Bound of a number that a caller sends, where the service may set the least one itself.
const ABOVE: &str = "exclusiveMinimum";

/// Name of the schema of a create.
pub(super) fn create_name(def: &ResourceDef) -> String {
    format!("{}Create", schema_name(def))
}

/// Name of the schema of an update.
pub(super) fn update_name(def: &ResourceDef) -> String {
    format!("{}Update", schema_name(def))
}

/// Name of the schema of an item of a bulk upsert.
pub(super) fn bulk_item_name(def: &ResourceDef) -> String {
    format!("{}BulkItem", schema_name(def))
}

/// Adds the schemas of a resource.
pub(super) fn insert(schemas: &mut Map<String, Value>, def: &ResourceDef) {
    schemas.insert(schema_name(def), record(def));
    schemas.insert(list_item_name(def), list_item(def));
    schemas.insert(create_name(def), create(def));
    schemas.insert(update_name(def), update(def));
    schemas.insert(bulk_item_name(def), bulk_item(def));
}

/// Adds the schemas of a resource with a single record.
pub(super) fn insert_single(schemas: &mut Map<String, Value>, def: &ResourceDef) {
    schemas.insert(schema_name(def), record(def));
    schemas.insert(update_name(def), update(def));
}

/// A whole record, in a response.
fn record(def: &ResourceDef) -> Value {
    let required = names(def.fields.iter().filter(is_never_null));
    object(def.doc, def.fields.iter().map(shown), &required)
}

/// A successor of a license: a dry run stores none, and shows it without an `_id`.
pub(super) fn successor() -> Value {
    let required = names(LICENSE.fields.iter().filter(is_never_null));
    let required: Vec<_> = required.into_iter().filter(|name| *name != "_id").collect();
    let doc = "The successor of a license; that of a dry run has no `_id`.";
    object(doc, LICENSE.fields.iter().map(shown), &required)
}

/// A record in a list: `select` leaves out all but the `_id`.
pub(super) fn list_item(def: &ResourceDef) -> Value {
    let doc = format!("{} In a list, `select` can leave out all but `_id`.", def.doc);
    let mut item = record(def);
    set(&mut item, "description", json!(doc));
    set(&mut item, "required", json!(["_id"]));
    item
}

/// Whether a property is never null: personal data can be erased.
fn is_never_null(field: &&FieldDef) -> bool {
    ALWAYS.contains(&field.name) || (field.required && !field.personal)
}

fn create(def: &ResourceDef) -> Value {
    let sent = || def.fields.iter().filter(|field| field.is_sent());
    object(def.doc, sent().map(taken), &names(sent().filter(|field| field.required)))
}

/// Body of an update: absent properties do not change. The response of a GET can be sent back; properties that the
/// service sets are ignored, of whatever type (R3).
fn update(def: &ResourceDef) -> Value {
    let taken = |field: &FieldDef| {
        let (name, mut property) = taken(field);
        if let Some(least) = property.as_object_mut().and_then(|it| it.remove(ABOVE)) {
            set(&mut property, "minimum", least);
        }
        (name, property)
    };
    object(def.doc, def.fields.iter().filter(|field| field.is_sent()).map(taken), &[])
}

/// Item of a bulk upsert: an update, with `_id` as a key.
fn bulk_item(def: &ResourceDef) -> Value {
    let mut item = update(def);
    let key = json!({ "type": ["string", "null"], "description": "Id of the record to update; takes precedence over other keys." });
    if let Some(properties) = item.get_mut("properties") {
        set(properties, "_id", key);
    }
    item
}

fn names<'a>(fields: impl Iterator<Item = &'a FieldDef>) -> Vec<&'static str> {
    fields.map(|field| field.name).collect()
}

/// An object with these properties; the required ones are not null.
pub(super) fn object(
    doc: &str,
    properties: impl Iterator<Item = (&'static str, Value)>,
    required: &[&str],
) -> Value {
    let mut described = Map::new();
    for (name, mut property) in properties {
        if required.contains(&name) {
            forbid_null(&mut property);
        }
        described.insert(name.to_owned(), property);
    }
    let mut object = json!({ "type": "object", "description": doc, "properties": described });
    if !required.is_empty() {
        set(&mut object, "required", json!(required));
    }
    object
}

fn forbid_null(property: &mut Value) {
    if let Some(first) = property.get("type").and_then(|types| types.get(0)).cloned() {
        set(property, "type", first);
    }
    if let Some(values) = property.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
}

/// A property in a response.
pub(super) fn shown(field: &FieldDef) -> (&'static str, Value) {
    let mut property = match field.kind {
        FieldKind::Id => json!({ "type": ["string", "null"], "pattern": OBJECT_ID }),
        FieldKind::Reference | FieldKind::Key | FieldKind::Email | FieldKind::Text => {
            json!({ "type": ["string", "null"] })
        }
        FieldKind::References | FieldKind::Texts => {
            json!({ "type": ["array", "null"], "items": { "type": "string" } })
        }
        FieldKind::Values => json!({ "type": ["array", "null"], "items": items(field, shown) }),
        FieldKind::Object => json!({ "type": ["object", "null"], "additionalProperties": true }),
        FieldKind::Date => json!({ "type": ["string", "null"], "format": "date-time" }),
        FieldKind::Integer => json!({ "type": ["integer", "null"] }),
        FieldKind::Number => json!({ "type": ["number", "null"] }),
        FieldKind::Bool => json!({ "type": ["boolean", "null"] }),
    };
    describe(&mut property, field, field.values.iter().copied());
    if !field.is_sent() {
        set(&mut property, "readOnly", json!(true));
    }
    (field.name, property)
}

/// A property in a request.
pub(super) fn taken(field: &FieldDef) -> (&'static str, Value) {
    let mut property = kind_schema(field);
    let values = field.values.iter().chain(field.aliases.iter().map(|(alias, _)| alias));
    describe(&mut property, field, values.copied());
    (field.name, property)
}

fn describe(property: &mut Value, field: &FieldDef, values: impl Iterator<Item = &'static str>) {
    let unit = field.unit.map(|unit| format!(" In {unit}.")).unwrap_or_default();
    set(property, "description", json!(format!("{}{unit}", field.doc)));
    let values: Vec<Value> = values.map(|value| json!(value)).chain([Value::Null]).collect();
    if values.len() > 1 {
        set(property, "enum", json!(values));
    }
}

fn kind_schema(field: &FieldDef) -> Value {
    let (least, greatest) = field.range.unwrap_or((-MAX_AMOUNT, MAX_AMOUNT));
    match field.kind {
        FieldKind::Id => json!({ "type": ["string", "null"] }),
        FieldKind::Reference => {
            json!({ "type": ["string", "null"], "pattern": reference_pattern(field) })
        }
        FieldKind::Text => json!({ "type": ["string", "null"], "pattern": TEXT }),
        FieldKind::Key => json!({
            "type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY_BYTES, "pattern": KEY
        }),
        FieldKind::Email => {
            json!({ "type": ["string", "null"], "maxLength": MAX_EMAIL_BYTES, "pattern": TEXT })
        }
        FieldKind::References => json!({
            "type": ["array", "null"],
            "items": { "anyOf": [
                { "type": "string", "pattern": reference_pattern(field) },
                {
                    "type": "object", "required": ["_id"],
                    "properties": { "_id": { "type": "string", "pattern": reference_pattern(field) } },
                    "propertyNames": { "pattern": TEXT },
                },
            ] },
        }),
        FieldKind::Values => json!({ "type": ["array", "null"], "items": items(field, taken) }),
        FieldKind::Texts => {
            json!({ "type": ["array", "null"], "items": { "type": "string", "pattern": TEXT } })
        }
        FieldKind::Object => json!({
            "type": ["object", "null"], "propertyNames": { "pattern": TEXT }, "additionalProperties": true
        }),
        FieldKind::Date => {
            json!({ "type": ["string", "null"], "format": "date-time", "pattern": YEAR })
        }
        FieldKind::Integer => {
            json!({ "type": ["integer", "null"], "minimum": least, "maximum": greatest })
        }
        FieldKind::Number => {
            let bound = if field.above_least { ABOVE } else { "minimum" };
            let least = match field.least_tenths {
                0 => json!(least),
                tenths => json!(f64::from(tenths) / 10.0),
            };
            json!({ "type": ["number", "null"], bound: least, "maximum": greatest })
        }
        FieldKind::Bool => json!({ "type": ["boolean", "null"] }),
    }
}

/// Schema of the values of an array: of any form where none is known.
fn items(field: &FieldDef, member: fn(&FieldDef) -> (&'static str, Value)) -> Value {
    if field.members.is_empty() {
        return json!({});
    }
    let required = names(field.members.iter().filter(|member| member.required));
    let mut item =
        object(&format!("One of `{}`.", field.name), field.members.iter().map(member), &required);
    set(&mut item, "propertyNames", json!({ "pattern": TEXT }));
    item
}

/// Pattern of a reference: one that need not find its record is stored as it is given (R2).
fn reference_pattern(field: &FieldDef) -> &'static str {
    let loose = field.refers.is_some_and(|refers| refers.on_missing == schema::OnMissing::Keep);
    if loose { TEXT } else { RECORD_REF }
}
