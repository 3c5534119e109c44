//! What bodies are: the schema and the media type of each kind.

use serde_json::{Value, json};
use svctrack_core::{resources::settings::SETTINGS, schema::ResourceDef};

use super::{
    Kind,
    records::{create_name, list_item_name, schema_name, update_name},
    reference,
};

/// The body that a request must have, if it has one.
pub(super) fn request_body(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let record = |name: fn(&ResourceDef) -> String| def.map(|def| reference(&name(def)));
    if kind == Kind::Table {
        let text = json!({ "schema": { "type": "string" } });
        let content = json!({ "text/csv": text, "application/x-ndjson": text });
        return Some(json!({ "required": true, "content": content }));
    }
    let schema = match kind {
        Kind::NewRecord => record(create_name)?,
        Kind::Record => record(update_name)?,
        Kind::Items => many(record(update_name)?),
        Kind::Settings => reference(&update_name(&SETTINGS)),
        _ => schema_of(kind, def)?,
    };
    let content = json!({ "application/json": { "schema": schema } });
    Some(json!({ "required": true, "content": content }))
}

/// What a successful response holds, if it holds something.
pub(super) fn response_content(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    Some(match (schema_of(kind, def), kind) {
        (Some(schema), _) => json!({ "application/json": { "schema": schema } }),
        (None, Kind::Ok) => {
            json!({ "text/plain": { "schema": { "type": "string", "const": "OK" } } })
        }
        (None, Kind::Stream) => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
        (None, Kind::Archive) => json!({ "application/gzip": {} }),
        (None, Kind::Page) => json!({ "text/html": { "schema": { "type": "string" } } }),
        (None, _) => return None,
    })
}

fn many(item: Value) -> Value {
    json!({ "type": "array", "items": item })
}

/// The schema of a body of JSON.
fn schema_of(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let record =
        || def.map_or_else(|| json!({ "type": "object" }), |def| reference(&schema_name(def)));
    Some(match kind {
        Kind::Nothing
        | Kind::Ok
        | Kind::Page
        | Kind::Redirect
        | Kind::Stream
        | Kind::Archive
        | Kind::Table => {
            return None;
        }
        Kind::Record | Kind::NewRecord => record(),
        Kind::Records => many(reference(&def.map(list_item_name).unwrap_or_default())),
        Kind::Items => many(record()),
        Kind::BulkAnswer if def.is_some_and(|def| def.answers_counts_alone) => {
            reference("BulkCounts")
        }
        Kind::BulkAnswer if def.is_some_and(|def| def.lists_validation_errors) => {
            reference("ValidatedBulkAnswer")
        }
        Kind::BulkAnswer => reference("BulkAnswer"),
        Kind::Deleted if def.is_some_and(|def| def.answers_deleted) => record(),
        Kind::Deleted | Kind::Revoked => reference("Deleted"),
        Kind::Event => reference("Event"),
        Kind::Events => many(reference("BulkEvent")),
        Kind::Calls => reference("PipelineBody"),
        Kind::Batch => reference("PipelineBatch"),
        Kind::Call => reference("SdkCall"),
        Kind::Success => reference("Success"),
        Kind::Report => many(reference("IntegrationIssue")),
        Kind::Replayed => reference("Replayed"),
        Kind::Health => reference("Health"),
        Kind::Script => reference("Script"),
        Kind::Imported => reference("Imported"),
        Kind::NewToken => reference("NewToken"),
        Kind::Rotation => reference("Rotation"),
        Kind::Token => reference("IssuedToken"),
        Kind::Tokens => many(reference("Token")),
        Kind::NewTenant => reference("NewTenant"),
        Kind::CreatedTenant => reference("CreatedTenant"),
        Kind::TenantChange => reference("TenantChange"),
        Kind::Tenant => reference("Tenant"),
        Kind::Tenants => many(reference("Tenant")),
        Kind::Settings => reference(&schema_name(&SETTINGS)),
        Kind::Keys => reference("PersonKeys"),
        Kind::Unsuppressed => reference("Unsuppressed"),
        Kind::Export => reference("PersonExport"),
        Kind::Activities => many(reference("Activity")),
        Kind::LeanCompanies => many(reference("LeanCompany")),
        Kind::Object => json!({ "type": "object" }),
    })
}
