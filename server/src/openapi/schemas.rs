//! The schemas of the description: the resources as their rows say them, and what is beside them.

use serde_json::{Map, Value, json};
use svctrack_core::{
    access::{self, MAX_LABEL_BYTES, MAX_SCOPES},
    resources::{
        REGISTRY,
        end_user::{END_USER, KEYS},
        settings::SETTINGS,
        ticket::TICKET,
    },
    schema::{self, ResourceDef, Row},
    tracking::event::{Kind, MAX_EVENT_BYTES, MAX_MESSAGE_ID_BYTES, MEMBERS, Member, Place, name},
    value::{email::MAX_EMAIL_BYTES, key::MAX_KEY_BYTES, number::MAX_AMOUNT},
};

use super::{
    events::{activity, bulk_event, integration_issue, pipeline_call},
    reference, schema_name, set,
};
use crate::store::Health;

/// A string without NUL, which no text may hold.
pub(super) const TEXT: &str = "^[^\\x00]*$";
/// How a record is named (R2).
pub(super) const RECORD_REF: &str =
    "^([0-9a-f]{24}|(extid|srcid)-[^\\x00-\\x1f\\x7f-\\x9f]{1,512})$";
/// The `_id` of a record.
pub(super) const OBJECT_ID: &str = "^[0-9a-f]{24}$";
/// A date of a year that is taken (R8).
pub(super) const YEAR: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";
/// An id that the caller gives.
const KEY: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]+$";
pub(super) fn schemas() -> Value {
    let mut schemas = Map::new();
    for def in REGISTRY {
        schemas.insert(schema_name(def), resource(def));
    }
    schemas.insert(schema_name(&SETTINGS), resource(&SETTINGS));
    schemas.insert("Value".to_owned(), value());
    schemas.insert("Event".to_owned(), event());
    schemas.insert("BulkEvent".to_owned(), bulk_event());
    schemas.insert("PipelineCall".to_owned(), pipeline_call());
    schemas.insert("Activity".to_owned(), activity());
    schemas.insert("IntegrationIssue".to_owned(), integration_issue());
    schemas.insert("NewTenant".to_owned(), new_tenant());
    schemas.insert("NewToken".to_owned(), new_token());
    schemas.insert("PersonKeys".to_owned(), person_keys());
    schemas.insert("PersonExport".to_owned(), person_export());
    schemas.insert("Deleted".to_owned(), integers(&["n", "ok", "deletedCount"]));
    schemas.insert("BulkCounts".to_owned(), integers(&["created", "updated"]));
    schemas.insert("BulkAnswer".to_owned(), bulk_answer());
    schemas.insert("Health".to_owned(), health());
    schemas.insert("Problem".to_owned(), problem_schema());
    for schema in schemas.values_mut().filter(|schema| schema.get("properties").is_some()) {
        // What is not known is named in a header and ignored (R6), but must be text all the same.
        set(schema, "propertyNames", json!({ "pattern": TEXT }));
        set(schema, "additionalProperties", reference("Value"));
    }
    Value::Object(schemas)
}

/// A resource as its rows say it.
fn resource(def: &ResourceDef) -> Value {
    let properties: Map<String, Value> =
        def.rows.iter().map(|row| (row.name.to_owned(), property(row))).collect();
    json!({
        "type": "object", "description": def.doc, "properties": properties,
    })
}

fn property(row: &Row) -> Value {
    let mut property = kind_schema(row);
    let unit = row.unit.map(|unit| format!(" In {unit}.")).unwrap_or_default();
    set(&mut property, "description", json!(format!("{}{unit}", row.doc.trim())));
    if !row.is_sent() {
        set(&mut property, "readOnly", json!(true));
    }
    if !row.values.is_empty() {
        let mut values: Vec<Value> = row.values.iter().map(|value| json!(value)).collect();
        values.extend(row.aliases.iter().map(|(alias, _)| json!(alias)));
        values.push(Value::Null);
        set(&mut property, "enum", json!(values));
    }
    property
}

fn kind_schema(row: &Row) -> Value {
    use schema::Kind as K;
    let (least, greatest) = row.range.unwrap_or((-MAX_AMOUNT, MAX_AMOUNT));
    match row.kind {
        K::Id => json!({ "type": ["string", "null"] }),
        K::Reference => json!({ "type": ["string", "null"], "pattern": reference_pattern(row) }),
        K::Text => json!({ "type": ["string", "null"], "pattern": TEXT }),
        K::Key => json!({
            "type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY_BYTES, "pattern": KEY
        }),
        K::Email => {
            json!({ "type": ["string", "null"], "maxLength": MAX_EMAIL_BYTES, "pattern": TEXT })
        }
        K::References => json!({
            "type": ["array", "null"],
            "items": { "anyOf": [
                { "type": "string", "pattern": reference_pattern(row) },
                {
                    "type": "object", "required": ["_id"],
                    "properties": { "_id": { "type": "string", "pattern": reference_pattern(row) } },
                    "propertyNames": { "pattern": TEXT }, "additionalProperties": reference("Value"),
                },
            ] },
        }),
        K::Values => json!({ "type": ["array", "null"], "items": reference("Value") }),
        K::Texts => {
            json!({ "type": ["array", "null"], "items": { "type": "string", "pattern": TEXT } })
        }
        K::Object => {
            json!({ "type": ["object", "null"], "propertyNames": { "pattern": TEXT }, "additionalProperties": reference("Value") })
        }
        K::Date => {
            json!({ "type": ["string", "null"], "format": "date-time", "pattern": YEAR })
        }
        K::Integer => json!({ "type": ["integer", "null"], "minimum": least, "maximum": greatest }),
        K::Number => json!({ "type": ["number", "null"], "minimum": least, "maximum": greatest }),
        K::Bool => json!({ "type": ["boolean", "null"] }),
    }
}

/// What a reference may be: one that need not find its record is stored as it is given (R2).
fn reference_pattern(row: &Row) -> &'static str {
    let loose = row.refers.is_some_and(|refers| refers.binding == schema::Binding::Loose);
    if loose { TEXT } else { RECORD_REF }
}

/// A free-form value. It is not said that no text in it holds NUL: a schema that names itself is more than
/// some tools can follow.
fn value() -> Value {
    json!({ "description": "A free-form value; no text in it holds U+0000." })
}

pub(super) fn event() -> Value {
    let members = MEMBERS.iter().filter(|member| member.place != Place::BulkRow);
    let properties: Map<String, Value> =
        members.map(|member| (member.name.to_owned(), event_member(member))).collect();
    json!({
        "type": "object",
        "description": format!("At most {MAX_EVENT_BYTES} bytes; `email` or `externalId` is required."),
        "properties": properties,
    })
}

/// A member of an event, as its row says it.
pub(super) fn event_member(member: &Member) -> Value {
    let mut property = match member.kind {
        Kind::Id | Kind::Text | Kind::Time => {
            json!({ "type": ["string", "null"], "pattern": TEXT })
        }
        Kind::Object => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": TEXT }, "additionalProperties": reference("Value"),
        }),
        Kind::Number => json!({ "type": ["number", "null"], "minimum": 0 }),
        Kind::Integer => json!({ "type": ["integer", "null"], "minimum": 0 }),
        Kind::Bool => json!({ "type": ["boolean", "null"] }),
    };
    set(&mut property, "description", json!(member.doc));
    if member.name == name::MESSAGE_ID {
        set(&mut property, "maxLength", json!(MAX_MESSAGE_ID_BYTES));
    }
    property
}

fn new_token() -> Value {
    json!({
        "type": "object",
        "required": ["label", "scopes"],
        "properties": {
            "label": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES, "pattern": TEXT, "description": "What it is for." },
            "scopes": {
                "type": "array", "minItems": 1, "maxItems": MAX_SCOPES, "items": { "type": "string", "enum": access::every_scope() },
                "description": "What it may do.",
            },
            "expiresAt": { "type": ["string", "null"], "format": "date-time", "description": "From when on it counts no more." },
            "userId": { "type": ["string", "null"], "pattern": OBJECT_ID, "description": "The user that it acts as." },
        },
    })
}

fn new_tenant() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES, "pattern": TEXT, "description": "Whose it is." },
        },
    })
}

fn person_keys() -> Value {
    let properties: Map<String, Value> = END_USER
        .rows
        .iter()
        .filter(|row| KEYS.contains(&row.name))
        .map(|row| (row.name.to_owned(), property(row)))
        .collect();
    json!({
        "type": "object", "properties": properties,
        "description": "Keys of people who were erased; one at least.",
    })
}

fn person_export() -> Value {
    let many = |item: Value| json!({ "type": "array", "items": item });
    json!({
        "type": "object",
        "properties": {
            "endUser": reference(&schema_name(&END_USER)),
            "activities": many(reference("Activity")),
            "tickets": many(reference(&schema_name(&TICKET))),
            "parkedEvents": many(json!({ "type": "object" })),
            "integrationIssues": many(reference("IntegrationIssue")),
        },
    })
}

fn integers(names: &[&str]) -> Value {
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "integer" }))).collect();
    json!({ "type": "object", "properties": properties })
}

fn bulk_answer() -> Value {
    let mut answer = integers(&["created", "updated", "nonupdates"]);
    let lists = [
        "createdErrors",
        "insertsKeys",
        "updatedErrors",
        "updatesKeys",
        "modified",
        "upsertedIds",
        "permissionErrors",
        "validationErrors",
    ];
    if let Some(properties) = answer.get_mut("properties").and_then(Value::as_object_mut) {
        properties.extend(lists.map(|name| (name.to_owned(), json!({ "type": "array" }))));
    }
    answer
}

fn health() -> Value {
    let count = || json!({ "type": "integer", "minimum": 0 });
    json!({
        "type": "object",
        "required": ["status", "damaged", "checked", "backup"],
        "properties": {
            "status": { "enum": Health::ALL.map(Health::name), "description": "Whether the store reads and writes; anything but `ok` comes with 503." },
            "damaged": { "type": "integer", "minimum": 0, "description": "How often something that is stored was found damaged since the start." },
            "checked": {
                "type": ["object", "null"], "description": "The last look at all that is stored.",
                "required": ["at", "rows", "damaged"],
                "properties": { "at": { "type": "string", "format": "date-time" }, "rows": count(), "damaged": count() },
            },
            "backup": {
                "type": ["object", "null"], "description": "Scheduled backups: the moment of the newest one, and how many failed since.",
                "required": ["at", "failed"],
                "properties": { "at": { "type": ["string", "null"], "format": "date-time" }, "failed": count() },
            },
        },
    })
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "requestId"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "code": { "type": "string" },
            "requestId": { "type": "string" },
            "errors": { "type": "array", "items": {
                "type": "object",
                "required": ["pointer", "code", "message"],
                "properties": {
                    "pointer": { "type": "string" },
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                },
            } },
        },
    })
}
