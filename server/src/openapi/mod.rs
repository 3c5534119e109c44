//! The API description (OpenAPI 3.1), generated from the routes and the fields of the resources.

mod bodies;
mod error_responses;
mod events;
mod examples;
mod headers;
mod parameters;
mod parts;
mod patterns;
mod records;
mod reports;
mod responses;
mod schemas;
mod usage;

use serde_json::{Map, Value, json};
use svctrack_core::{
    access::{TENANT, TOKEN},
    resources::{REGISTRY, company::COMPANY, end_user::END_USER},
    revenue::{Reopening, ReportKind},
    schema::ResourceDef,
    value::TenantId,
};

use self::{
    bodies::request_body,
    headers::headers,
    parameters::{
        activity_parameters, audit_parameters, idempotency_key, import_parameters, list_parameters,
        report_parameters, script_parameters, stream_parameters,
    },
    parts::{parameter, set},
    patterns::{MONTH, OBJECT_ID, RECORD_REF},
    responses::responses,
    schemas::schemas,
};
use crate::{
    routes::{closings::BY_COMPANY, lean_companies},
    routing::route_def::{BodyKind, DescribedRoute, RouteAccess, RouteDoc},
};

/// Groups of routes that belong to no resource, each with its description and the first names of its paths; the last
/// one has all others.
const GROUPS: [(&str, &str, &[&str]); 6] = [
    (
        "tracking",
        "Events of end users: in real time, in bulk, and from customer-data pipelines.",
        &["analytics", "dock", "v1"],
    ),
    ("activities", "Activities: the stored actions of end users.", &["activities"]),
    (
        "integrationissues",
        "The report of possible integration issues: problems that senders should fix.",
        &["integrationissues"],
    ),
    ("reports", "Reports: MRR, retention, renewals, forecast, customers and usage.", &["reports"]),
    ("access", "Tenants, their tokens and settings.", &["tokens", "tenants", "settings"]),
    ("service", "The service: health, backups, docs, this description.", &[]),
];

/// Description of these routes. Examples name `tenant`, if there is exactly one.
pub(crate) fn document(
    routes: &[DescribedRoute],
    public_url: &str,
    tenant: Option<TenantId>,
) -> Value {
    let tenant = tenant.map_or_else(examples::unknown_tenant, |tenant| tenant.to_string());
    let mut paths = Map::new();
    for DescribedRoute { method, path, doc, def } in routes {
        let path = openapi_path(path);
        let operations = paths.entry(path.clone()).or_insert_with(|| json!({}));
        if let Some(operations) = operations.as_object_mut() {
            let method = method.as_str().to_lowercase();
            let mut operation = operation(&path, doc, *def, &tenant);
            set(&mut operation, "operationId", json!(operation_id(&method, &path)));
            set(&mut operation, "responses", responses(&method, &path, doc, *def));
            operations.insert(method, operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "svctrack",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Customer and revenue data, and activity of end users. \
                Examples name the company `demo`, which the first start creates (`extid-demo`), and the records `example-...` (`extid-example-...`), which the requests of the examples create. \
                They work unchanged, but for the ids of tokens, tenants and integration issues in paths: replace these.",
            "contact": { "name": "The svctrack developers" },
            "license": { "name": "MIT OR Apache-2.0", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": servers(public_url),
        "security": [{ "token": [] }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "An API token of the tenant, `svt_...`. `x-scope` lists all scopes that an operation needs, separated by spaces.",
                },
                "tenant": {
                    "type": "http", "scheme": "basic",
                    "description": "The tenant's UUID as user name; the password is ignored. Not needed if the body has the UUID as `writeKey`.",
                },
            },
            "headers": headers(),
            "responses": error_responses::responses(),
            "schemas": schemas(),
        },
    })
}

/// Servers, first the one that returned the description: a site's proxy at the public URL may pass on only events.
fn servers(public_url: &str) -> Value {
    json!([
        { "url": "/", "description": "The server that this description was read from." },
        { "url": public_url, "description": "The public URL to which browsers send events." },
    ])
}

/// Groups of routes: the resources, each with its description, then the others.
fn tags() -> Vec<Value> {
    let resources = REGISTRY.iter().map(|def| (def.path, def.doc));
    let others = GROUPS.iter().map(|(name, doc, _)| (*name, *doc));
    resources.chain(others).map(|(name, doc)| json!({ "name": name, "description": doc })).collect()
}

/// The group of a route.
fn tag(path: &str, def: Option<&ResourceDef>) -> &'static str {
    let first = path.split('/').nth(1).unwrap_or_default();
    let named = GROUPS.iter().find(|(_, _, names)| names.contains(&first));
    match (def, named) {
        (Some(def), _) => def.path,
        (None, _) if first == "leancompanies" => COMPANY.path,
        (None, Some((name, _, _))) => name,
        (None, None) => GROUPS.last().map_or("service", |(name, _, _)| name),
    }
}

/// Path in the notation of OpenAPI: `/products/:id` as `/products/{id}`.
fn openapi_path(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

/// `get` and `/products/{id}` as `get_products_id`.
fn operation_id(method: &str, path: &str) -> String {
    let path = path.replace(['{', '}'], "").replace(['/', '.'], "_");
    format!("{method}{path}")
}

fn operation(path: &str, doc: &RouteDoc, def: Option<&'static ResourceDef>, tenant: &str) -> Value {
    let summary = match def {
        Some(def) => format!("{}: {}", def.path, doc.summary),
        None => doc.summary.to_owned(),
    };
    let mut operation = json!({
        "summary": summary,
        "description": described(doc, def),
        "tags": [tag(path, def)],
        "parameters": all_parameters(path, doc, def, tenant),
    });
    if let Some(body) = request_body(doc.takes, def) {
        set(&mut operation, "requestBody", body);
    }
    match doc.access {
        RouteAccess::Anyone => set(&mut operation, "security", json!([])),
        RouteAccess::TenantAsUser => set(&mut operation, "security", json!([{ "tenant": [] }])),
        RouteAccess::Scope(scope) => set(&mut operation, "x-scope", json!(scope)),
        // Separated as in OAuth 2 (RFC 6749, 3.3).
        RouteAccess::Scopes(scopes) => set(&mut operation, "x-scope", json!(scopes.join(" "))),
        RouteAccess::OfResource(action) => {
            let scope = def.map(|def| format!("{}:{action}", def.path));
            set(&mut operation, "x-scope", json!(scope));
        }
    }
    operation
}

/// Description of a route, with the description of its resource.
fn described(doc: &RouteDoc, def: Option<&ResourceDef>) -> String {
    let own = match (doc.gives, def) {
        (BodyKind::BulkResult, Some(def)) => {
            let keys: Vec<_> = def.keys.iter().map(|key| format!("`{key}`")).collect();
            format!(" Keys, in order of priority: {}.", keys.join(", "))
        }
        (BodyKind::Deleted, Some(def)) if def.delete_returns_record => {
            " Returns the deleted record; one that does not exist is a 404.".to_owned()
        }
        (BodyKind::Deleted, Some(_)) => {
            " For a record that does not exist, `deletedCount` is 0.".to_owned()
        }
        _ if doc.gives.report().is_some_and(ReportKind::has_filters) => {
            " Stored properties of companies, such as `owner` or `custom.plan`, are filters."
                .to_owned()
        }
        _ => String::new(),
    };
    [doc.description, &own].concat()
}

fn all_parameters(
    path: &str,
    doc: &RouteDoc,
    def: Option<&ResourceDef>,
    tenant: &str,
) -> Vec<Value> {
    let names = path.split(['{', '}']).skip(1).step_by(2);
    let parameters = names.map(|name| path_parameter(path, name, def, tenant));
    parameters.chain(query_parameters(path, doc, def)).chain(header_parameters(doc, def)).collect()
}

/// Whether a route reads the query. Pages may, also where their parameters are not part of the API.
pub(crate) fn has_parameters(path: &str, doc: &RouteDoc, def: Option<&ResourceDef>) -> bool {
    doc.gives == BodyKind::Page || !query_parameters(path, doc, def).is_empty()
}

fn query_parameters(path: &str, doc: &RouteDoc, def: Option<&ResourceDef>) -> Vec<Value> {
    let mut parameters = match (doc.gives, def) {
        (BodyKind::Records, Some(def)) => list_parameters(def, def.list),
        (BodyKind::LeanCompanies, _) => list_parameters(&COMPANY, lean_companies::LIMITS),
        (BodyKind::Tokens, _) => list_parameters(&TOKEN, TOKEN.list),
        (BodyKind::Tenants, _) => list_parameters(&TENANT, TENANT.list),
        (BodyKind::Activities, _) => activity_parameters(),
        (BodyKind::Stream, _) => stream_parameters(),
        (BodyKind::Report, _) => report_parameters(),
        (BodyKind::Audit, _) => audit_parameters(),
        (gives, _) if gives.report().is_some() => reports::parameters(gives),
        (BodyKind::Closing, _) if doc.takes == BodyKind::Nothing => {
            let company = json!({ "type": "string", "enum": [BY_COMPANY] });
            vec![parameter("by", "Also returns the figures of each company.", company)]
        }
        (BodyKind::Reopened, _) => vec![json!({
            "name": "reason", "in": "query", "required": true,
            "schema": { "type": "string", "minLength": 1, "maxLength": Reopening::MAX_REASON_CHARS },
            "description": "Why the month is reopened.", "example": "correction",
        })],
        (BodyKind::Script, _) => script_parameters(),
        (BodyKind::Imported, _) => import_parameters(),
        (BodyKind::Page, _) if path == "/docs/search" => {
            let text = json!({ "type": "string" });
            vec![parameter("q", "Words, or beginnings of words.", text)]
        }
        _ => Vec::new(),
    };
    if doc.gives == BodyKind::Revoked {
        let flag = json!({ "type": "boolean", "default": false });
        let description = "If true, all tokens derived from it by issue or rotation are revoked too, even if it was revoked before.";
        parameters.push(parameter("cascade", description, flag));
    }
    if doc.gives == BodyKind::Deleted && def.is_some_and(|def| *def == END_USER) {
        parameters.push(json!({
            "name": "erase", "in": "query", "schema": { "type": "boolean" },
            "description": "If true, all data about the person is erased, and new data about them is suppressed.",
        }));
    }
    let shown = match doc.takes {
        BodyKind::Renewal => Some("the successor is returned without `_id`,"),
        BodyKind::Loss => Some("the license is returned as it would be,"),
        _ => None,
    };
    if let Some(shown) = shown {
        let flag = json!({ "type": "boolean", "default": false });
        let description = format!("If true, {shown} and nothing is stored.");
        parameters.push(parameter("dryRun", &description, flag));
    }
    parameters
}

fn path_parameter(path: &str, name: &str, def: Option<&ResourceDef>, tenant: &str) -> Value {
    let (description, schema) = match (name, def) {
        ("tenant", _) => ("UUID of the tenant.", json!({ "type": "string", "format": "uuid" })),
        ("pipeline", _) => (
            "Name of the pipeline service: lowercase letters, digits, `.`, `_`, `-`.",
            json!({ "type": "string" }),
        ),
        ("call", _) => (
            "Type of the call.",
            json!({ "type": "string", "enum": svctrack_core::tracking::pipeline::SDK_CALLS }),
        ),
        ("page", _) => ("Name of the page.", json!({ "type": "string" })),
        ("group", _) => ("Name of the group.", json!({ "type": "string" })),
        ("month", _) => ("The month.", json!({ "type": "string", "pattern": MONTH })),
        (_, Some(_)) => (
            "`_id`, `extid-` and the `externalId`, or `srcid-` and the `sourceId`.",
            json!({ "type": "string", "pattern": RECORD_REF }),
        ),
        _ if path.starts_with("/tenants") => {
            ("UUID of the tenant.", json!({ "type": "string", "format": "uuid" }))
        }
        _ if path.starts_with("/tokens") => {
            ("The eight characters after `svt_`.", json!({ "type": "string" }))
        }
        _ => ("The `_id`.", json!({ "type": "string", "pattern": OBJECT_ID })),
    };
    json!({
        "name": name, "in": "path", "required": true, "description": description, "schema": schema,
        "example": examples::of_path(path, name, def, tenant),
    })
}

/// Headers of a request that change how it is handled (R6, R16).
fn header_parameters(doc: &RouteDoc, def: Option<&ResourceDef>) -> Vec<Value> {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "description": description, "schema": schema });
    let text = json!({ "type": "string" });
    let mut headers = Vec::new();
    if doc.takes.is_idempotent() {
        headers.push(idempotency_key());
    }
    if doc.takes_if_match(def) {
        headers.push(header(
            "If-Match",
            "The request is rejected unless the record has this `ETag`.",
            text.clone(),
        ));
    }
    if doc.is_conditional() {
        let description = "The response is a 304 if it would have this `ETag`.";
        headers.push(header("If-None-Match", description, text.clone()));
    }
    if matches!(
        doc.takes,
        BodyKind::NewRecord
            | BodyKind::Renewal
            | BodyKind::Loss
            | BodyKind::Record
            | BodyKind::Items
            | BodyKind::Settings
            | BodyKind::NewToken
            | BodyKind::Rotation
            | BodyKind::NewTenant
            | BodyKind::TenantChange
            | BodyKind::NewClosing
    ) || doc.takes.is_events()
    {
        headers.push(header(
            "Prefer",
            "`handling=strict` rejects what is not known, instead of naming it in `Svctrack-Ignored`.",
            text.clone(),
        ));
    }
    if doc.gives.is_list() {
        headers.push(header(
            "Prefer",
            "`handling=lenient` ignores parameters that are not known and names them in `Svctrack-Ignored`, instead of rejecting them.",
            text,
        ));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::{records::schema_name, *};

    #[test]
    fn every_row_is_described() {
        let document = document(&[], "http://x", None);
        for def in REGISTRY {
            let properties = &document["components"]["schemas"][schema_name(def)]["properties"];
            assert_eq!(properties.as_object().unwrap().len(), def.fields.len(), "{}", def.name);
        }
    }
}
