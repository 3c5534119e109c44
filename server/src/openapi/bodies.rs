//! Schemas and media types of bodies, by kind.

use serde_json::{Value, json};
use svctrack_core::{resources::settings::SETTINGS, schema::ResourceDef};

use super::{
    examples,
    parts::{reference, set},
    records::{SUCCESSOR, bulk_item_name, create_name, list_item_name, schema_name, update_name},
};
use crate::routing::route_def::{BodyKind, RouteDoc};

/// Body that a request must have, if it has one.
pub(super) fn request_body(kind: BodyKind, def: Option<&'static ResourceDef>) -> Option<Value> {
    let record = |name: fn(&ResourceDef) -> String| def.map(|def| reference(&name(def)));
    if kind == BodyKind::Table {
        let text = |example: &str| json!({ "schema": { "type": "string" }, "example": example });
        let (csv, ndjson) = examples::of_table(def?)?;
        // Generators that know neither of the two send a file as this.
        let file = json!({ "schema": { "type": "string", "format": "binary" }, "example": ndjson });
        let content = json!({
            "text/csv": text(&csv), "application/x-ndjson": text(&ndjson), "application/octet-stream": file,
        });
        return Some(json!({ "required": true, "content": content }));
    }
    let schema = match kind {
        BodyKind::NewRecord => record(create_name)?,
        BodyKind::Record | BodyKind::Renewal => record(update_name)?,
        BodyKind::Items => many(record(bulk_item_name)?),
        BodyKind::Settings => reference(&update_name(&SETTINGS)),
        _ => schema_of(kind, def)?,
    };
    let content = content("application/json", schema, examples::of_request(kind, def));
    let may_be_absent = matches!(kind, BodyKind::Renewal | BodyKind::Rotation);
    Some(json!({ "required": !may_be_absent, "content": content }))
}

/// Content of a successful response, if it has any.
pub(super) fn response_content(doc: &RouteDoc, def: Option<&'static ResourceDef>) -> Option<Value> {
    let text = || json!({ "type": "string" });
    let (media_type, schema) = match (schema_of(doc.gives, def), doc.gives) {
        (Some(schema), _) => ("application/json", schema),
        (None, BodyKind::Ok) => ("text/plain", json!({ "type": "string", "const": "OK" })),
        (None, BodyKind::Stream) => ("text/event-stream", text()),
        (None, BodyKind::Page) => ("text/html", text()),
        (None, BodyKind::Archive) => return Some(json!({ "application/gzip": {} })),
        (None, _) => return None,
    };
    // CSV lists are in the description only: from two media types generators create a union, for which every caller
    // would have to check for a list.
    Some(content(media_type, schema, examples::of_response(doc, def)))
}

fn content(media_type: &str, schema: Value, example: Option<Value>) -> Value {
    let mut content = json!({ "schema": schema });
    if let Some(example) = example {
        set(&mut content, "example", example);
    }
    json!({ media_type: content })
}

fn many(item: Value) -> Value {
    json!({ "type": "array", "items": item })
}

/// Either of two schemas, such as a report or, with `explain`, the explanation of one of its figures.
fn one_of(one: &str, other: &str) -> Value {
    json!({ "anyOf": [reference(one), reference(other)] })
}

/// The schema of a body of JSON.
fn schema_of(kind: BodyKind, def: Option<&ResourceDef>) -> Option<Value> {
    use BodyKind as K;
    let object = || json!({ "type": "object" });
    let record = || def.map_or_else(object, |def| reference(&schema_name(def)));
    Some(match kind {
        K::Nothing | K::Ok | K::Page | K::Stream | K::Archive | K::Table => return None,
        K::Record | K::NewRecord | K::Renewal => record(),
        K::Loss => reference("LicenseLoss"),
        K::Successor => reference(SUCCESSOR),
        K::Records => many(reference(&def.map(list_item_name).unwrap_or_default())),
        K::Items => many(record()),
        K::BulkResult if def.is_some_and(|def| def.bulk_returns_counts_only) => {
            reference("BulkCounts")
        }
        K::BulkResult if def.is_some_and(|def| def.lists_validation_errors) => {
            reference("ValidatedBulkAnswer")
        }
        K::BulkResult => reference("BulkAnswer"),
        K::Deleted if def.is_some_and(|def| def.delete_returns_record) => record(),
        K::Deleted | K::Revoked | K::Reopened => reference("Deleted"),
        K::Event => reference("RealtimeEvent"),
        K::Events => many(reference("BulkEvent")),
        K::Calls => reference("PipelineBody"),
        K::Batch => reference("PipelineBatch"),
        K::Call => reference("SdkCall"),
        K::Success => reference("Success"),
        K::Report => many(reference("IntegrationIssue")),
        K::Replayed => reference("Replayed"),
        K::Health => reference("Health"),
        K::Script => reference("Script"),
        K::Imported => reference("Imported"),
        K::NewToken => reference("NewToken"),
        K::Rotation => reference("Rotation"),
        K::Token => reference("IssuedToken"),
        K::Tokens => many(reference("Token")),
        K::NewTenant => reference("NewTenant"),
        K::CreatedTenant => reference("CreatedTenant"),
        K::TenantChange => reference("TenantChange"),
        K::Tenant | K::DeletedTenant => reference("Tenant"),
        K::Tenants => many(reference("Tenant")),
        K::Settings => reference(&schema_name(&SETTINGS)),
        K::Keys => reference("PersonKeys"),
        K::Unsuppressed => reference("Unsuppressed"),
        K::Export => reference("PersonExport"),
        K::Activities => many(reference("Activity")),
        K::Audit => many(reference("AuditEntry")),
        K::LeanCompanies => many(reference("LeanCompany")),
        K::Object => object(),
        K::NewClosing => reference("NewClosing"),
        K::Closing => reference("Closing"),
        K::Closings => many(one_of("Closing", "ReopenedMonth")),
        K::Mrr => one_of("MrrReport", "Explanation"),
        K::Retention => one_of("RetentionReport", "Explanation"),
        K::Renewals => one_of("RenewalsReport", "RenewalsExplanation"),
        K::Forecast => one_of("ForecastReport", "ForecastExplanation"),
        K::Customers => reference("CustomersReport"),
        K::Usage => one_of("UsageReport", "UsageExplanation"),
    })
}
