//! Schemas and media types of bodies, by kind.

use serde_json::{Value, json};
use svctrack_core::{resources::settings::SETTINGS, schema::ResourceDef};

use super::{
    examples,
    parts::{reference, set},
    records::{bulk_item_name, create_name, list_item_name, schema_name, update_name},
};
use crate::route_def::{Kind, RouteDoc};

/// Body that a request must have, if it has one.
pub(super) fn request_body(kind: Kind, def: Option<&'static ResourceDef>) -> Option<Value> {
    let record = |name: fn(&ResourceDef) -> String| def.map(|def| reference(&name(def)));
    if kind == Kind::Table {
        let text = |example| json!({ "schema": { "type": "string" }, "example": example });
        let (csv, ndjson) = examples::of_table(def?)?;
        let content = json!({ "text/csv": text(csv), "application/x-ndjson": text(ndjson) });
        return Some(json!({ "required": true, "content": content }));
    }
    let schema = match kind {
        Kind::NewRecord => record(create_name)?,
        Kind::Record | Kind::Renewal => record(update_name)?,
        Kind::Items => many(record(bulk_item_name)?),
        Kind::Settings => reference(&update_name(&SETTINGS)),
        _ => schema_of(kind, def)?,
    };
    let content = content("application/json", schema, examples::of_request(kind, def));
    let may_be_absent = matches!(kind, Kind::Renewal | Kind::Rotation);
    Some(json!({ "required": !may_be_absent, "content": content }))
}

/// Content of a successful response, if it has any.
pub(super) fn response_content(doc: &RouteDoc, def: Option<&'static ResourceDef>) -> Option<Value> {
    let text = || json!({ "type": "string" });
    let (media_type, schema) = match (schema_of(doc.gives, def), doc.gives) {
        (Some(schema), _) => ("application/json", schema),
        (None, Kind::Ok) => ("text/plain", json!({ "type": "string", "const": "OK" })),
        (None, Kind::Stream) => ("text/event-stream", text()),
        (None, Kind::Page) => ("text/html", text()),
        (None, Kind::Archive) => return Some(json!({ "application/gzip": {} })),
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

/// A report, or with `explain` the explanation of one of its figures.
fn report_or_explanation(report: &str, explanation: &str) -> Value {
    json!({ "anyOf": [reference(report), reference(explanation)] })
}

/// The schema of a body of JSON.
fn schema_of(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let record =
        || def.map_or_else(|| json!({ "type": "object" }), |def| reference(&schema_name(def)));
    Some(match kind {
        Kind::Nothing | Kind::Ok | Kind::Page | Kind::Stream | Kind::Archive | Kind::Table => {
            return None;
        }
        Kind::Record | Kind::NewRecord | Kind::Renewal => record(),
        Kind::Loss => reference("LicenseLoss"),
        Kind::Records => many(reference(&def.map(list_item_name).unwrap_or_default())),
        Kind::Items => many(record()),
        Kind::BulkAnswer if def.is_some_and(|def| def.bulk_returns_counts_only) => {
            reference("BulkCounts")
        }
        Kind::BulkAnswer if def.is_some_and(|def| def.lists_validation_errors) => {
            reference("ValidatedBulkAnswer")
        }
        Kind::BulkAnswer => reference("BulkAnswer"),
        Kind::Deleted if def.is_some_and(|def| def.delete_returns_record) => record(),
        Kind::Deleted | Kind::Revoked | Kind::Reopened => reference("Deleted"),
        Kind::Event => reference("RealtimeEvent"),
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
        Kind::Audit => many(reference("AuditEntry")),
        Kind::LeanCompanies => many(reference("LeanCompany")),
        Kind::Object => json!({ "type": "object" }),
        Kind::NewClosing => reference("NewClosing"),
        Kind::Closing => reference("Closing"),
        Kind::Closings => {
            many(json!({ "anyOf": [reference("Closing"), reference("ReopenedMonth")] }))
        }
        Kind::Mrr => report_or_explanation("MrrReport", "Explanation"),
        Kind::Retention => report_or_explanation("RetentionReport", "Explanation"),
        Kind::Renewals => report_or_explanation("RenewalsReport", "RenewalsExplanation"),
        Kind::Forecast => report_or_explanation("ForecastReport", "ForecastExplanation"),
        Kind::Customers => reference("CustomersReport"),
        Kind::Usage => report_or_explanation("UsageReport", "UsageExplanation"),
    })
}
