//! Responses of a route: its success with headers, and its errors.

use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;

use super::{bodies::response_content, error_responses, headers::header_references, parts::set};
use crate::routing::route_def::{BodyKind, RouteDoc};

/// Every response of a route, by status.
pub(super) fn responses(
    method: &str,
    path: &str,
    doc: &RouteDoc,
    def: Option<&'static ResourceDef>,
) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), success(doc, def));
    if doc.is_conditional() {
        let unchanged = json!({
            "description": "The caller has the current version.",
            "headers": header_references(&["X-Request-Id", "ETag"]),
        });
        responses.insert("304".to_owned(), unchanged);
    }
    if doc.gives == BodyKind::Health {
        responses.insert("503".to_owned(), success(doc, def));
    }
    error_responses::add(&mut responses, method, path, doc, def);
    Value::Object(responses)
}

fn success(doc: &RouteDoc, def: Option<&'static ResourceDef>) -> Value {
    let description = match doc.gives {
        BodyKind::Health => "State of the service.",
        BodyKind::Ok | BodyKind::Success => "The events are stored durably, or ignored by a rule.",
        gives if gives.report().is_some() => {
            "The report; with `Accept: text/csv` as CSV, with `Accept: image/svg+xml` as a chart."
        }
        gives if gives.is_list() || gives == BodyKind::Closings => {
            "The list; with `Accept: text/csv` as CSV."
        }
        _ => "Success.",
    };
    let mut response = json!({
        "description": description, "headers": header_references(&headers_of(doc)),
    });
    if let Some(content) = response_content(doc, def) {
        set(&mut response, "content", content);
    }
    response
}

/// The headers of a successful response.
fn headers_of(doc: &RouteDoc) -> Vec<&'static str> {
    use BodyKind as K;
    let gives_list = doc.gives.is_list();
    let takes_members = matches!(
        doc.takes,
        K::NewRecord
            | K::Renewal
            | K::Loss
            | K::Record
            | K::Items
            | K::Settings
            | K::NewToken
            | K::Rotation
            | K::NewTenant
            | K::TenantChange
            | K::Keys
            | K::NewClosing
    );
    let is_events = doc.takes.is_events();
    let takes_key = doc.takes.is_idempotent();
    let conditional: [(bool, &[&'static str]); 11] = [
        (
            matches!(doc.gives, K::Record | K::Successor | K::Settings | K::Tenant)
                || doc.is_conditional(),
            &["ETag"],
        ),
        (gives_list, &["Link", "Svctrack-Next", "Svctrack-Total"]),
        (doc.gives == K::Customers, &["Link", "Svctrack-Next"]),
        (gives_list || takes_members || is_events, &["Svctrack-Ignored"]),
        (is_events, &["Svctrack-Parked"]),
        (doc.gives == K::Report, &["Svctrack-Parked-Total"]),
        (doc.gives == K::BulkResult, &["Svctrack-Bulk-Errors"]),
        (doc.takes.is_many_events(), &["Svctrack-Rejected-Count", "Svctrack-Rejected"]),
        (takes_key, &["Idempotent-Replayed"]),
        (doc.gives == K::Archive, &["Content-Disposition"]),
        (
            doc.gives == K::Nothing,
            &[
                "Access-Control-Allow-Methods",
                "Access-Control-Allow-Headers",
                "Access-Control-Max-Age",
            ],
        ),
    ];
    let there = conditional.into_iter().filter(|(there, _)| *there).flat_map(|(_, names)| names);
    ["X-Request-Id"].into_iter().chain(there.copied()).collect()
}
