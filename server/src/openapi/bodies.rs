//! Schemas and media types of bodies, by kind.

use serde_json::{Value, json};
use svctrack_core::{resources::settings::SETTINGS, schema::ResourceDef};

use super::{
    examples,
    parts::{reference, set},
    records::{bulk_item_name, create_name, list_item_name, schema_name, update_name},
};
use crate::route_def::{BodyKind, RouteDoc};

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

/// One schema or the other, such as a report or, with `explain`, the explanation of one of its figures.
fn either(one: &str, other: &str) -> Value {
    json!({ "anyOf": [reference(one), reference(other)] })
}

/// The schema of a body of JSON.
fn schema_of(kind: BodyKind, def: Option<&ResourceDef>) -> Option<Value> {
    let record =
        || def.map_or_else(|| json!({ "type": "object" }), |def| reference(&schema_name(def)));
    Some(match kind {
        BodyKind::Nothing
        | BodyKind::Ok
        | BodyKind::Page
        | BodyKind::Stream
        | BodyKind::Archive
        | BodyKind::Table => return None,
        BodyKind::Record | BodyKind::NewRecord | BodyKind::Renewal => record(),
        BodyKind::Loss => reference("LicenseLoss"),
        BodyKind::Records => many(reference(&def.map(list_item_name).unwrap_or_default())),
        BodyKind::Items => many(record()),
        BodyKind::BulkResult if def.is_some_and(|def| def.bulk_returns_counts_only) => {
            reference("BulkCounts")
        }
        BodyKind::BulkResult if def.is_some_and(|def| def.lists_validation_errors) => {
            reference("ValidatedBulkAnswer")
        }
        BodyKind::BulkResult => reference("BulkAnswer"),
        BodyKind::Deleted if def.is_some_and(|def| def.delete_returns_record) => record(),
        BodyKind::Deleted | BodyKind::Revoked | BodyKind::Reopened => reference("Deleted"),
        BodyKind::Event => reference("RealtimeEvent"),
        BodyKind::Events => many(reference("BulkEvent")),
        BodyKind::Calls => reference("PipelineBody"),
        BodyKind::Batch => reference("PipelineBatch"),
        BodyKind::Call => reference("SdkCall"),
        BodyKind::Success => reference("Success"),
        BodyKind::Report => many(reference("IntegrationIssue")),
        BodyKind::Replayed => reference("Replayed"),
        BodyKind::Health => reference("Health"),
        BodyKind::Script => reference("Script"),
        BodyKind::Imported => reference("Imported"),
        BodyKind::NewToken => reference("NewToken"),
        BodyKind::Rotation => reference("Rotation"),
        BodyKind::Token => reference("IssuedToken"),
        BodyKind::Tokens => many(reference("Token")),
        BodyKind::NewTenant => reference("NewTenant"),
        BodyKind::CreatedTenant => reference("CreatedTenant"),
        BodyKind::TenantChange => reference("TenantChange"),
        BodyKind::Tenant => reference("Tenant"),
        BodyKind::Tenants => many(reference("Tenant")),
        BodyKind::Settings => reference(&schema_name(&SETTINGS)),
        BodyKind::Keys => reference("PersonKeys"),
        BodyKind::Unsuppressed => reference("Unsuppressed"),
        BodyKind::Export => reference("PersonExport"),
        BodyKind::Activities => many(reference("Activity")),
        BodyKind::Audit => many(reference("AuditEntry")),
        BodyKind::LeanCompanies => many(reference("LeanCompany")),
        BodyKind::Object => json!({ "type": "object" }),
        BodyKind::NewClosing => reference("NewClosing"),
        BodyKind::Closing => reference("Closing"),
        BodyKind::Closings => many(either("Closing", "ReopenedMonth")),
        BodyKind::Mrr => either("MrrReport", "Explanation"),
        BodyKind::Retention => either("RetentionReport", "Explanation"),
        BodyKind::Renewals => either("RenewalsReport", "RenewalsExplanation"),
        BodyKind::Forecast => either("ForecastReport", "ForecastExplanation"),
        BodyKind::Customers => reference("CustomersReport"),
        BodyKind::Usage => either("UsageReport", "UsageExplanation"),
    })
}
