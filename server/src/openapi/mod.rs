//! The description of the API (OpenAPI 3.1), made from the route table and the rows of the resources:
//! what is there is described, and nothing else.

mod events;
mod parameters;
mod schemas;

use serde_json::{Map, Value, json};
use svctrack_core::{
    resources::{REGISTRY, end_user::END_USER, settings::SETTINGS},
    schema::{self, ResourceDef, Row, list::MAX_SEARCH_BYTES},
};

use self::parameters::{
    activity_parameters, idempotency_key, report_parameters, stream_parameters,
};
use self::schemas::{OBJECT_ID, RECORD_REF, YEAR, schemas};
use crate::router;

/// What a route is, for its description.
#[derive(Clone, Copy)]
pub(crate) struct Says {
    pub(crate) summary: &'static str,
    pub(crate) access: Access,
    pub(crate) takes: Kind,
    pub(crate) gives: Kind,
}

/// Who may call a route.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    /// Anyone; tracking routes carry the tenant in their path.
    Anyone,
    /// Whoever names the tenant as the user of HTTP Basic.
    TenantAsUser,
    /// A token with this scope.
    Scope(&'static str),
    /// A token that may do this to the resource.
    OfResource(&'static str),
}

/// What a body is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Nothing,
    Record,
    NewRecord,
    Records,
    Items,
    BulkAnswer,
    Deleted,
    Event,
    Events,
    Calls,
    Ok,
    Report,
    Activities,
    NewToken,
    Token,
    NewTenant,
    Tenant,
    Settings,
    Keys,
    Export,
    Object,
    Objects,
    Page,
    Stream,
    Archive,
    Health,
}

/// The group of routes that belong to no resource.
const BESIDE_RESOURCES: &str = "service";

/// The whole description.
pub(crate) fn document(public_url: &str) -> Value {
    let mut paths = Map::new();
    for (method, path, says, def) in router::described() {
        let path = braced(&path);
        let operations = paths.entry(path.clone()).or_insert_with(|| json!({}));
        if let Some(operations) = operations.as_object_mut() {
            let method = method.as_str().to_lowercase();
            let mut operation = operation(&path, &says, def);
            set(&mut operation, "operationId", json!(operation_id(&method, &path)));
            operations.insert(method, operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "svctrack",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Revenue and customer data, and end-user activity.",
        },
        "servers": [{ "url": public_url }],
        "security": [{ "token": [] }],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "tenant": {
                    "type": "http", "scheme": "basic",
                    "description": "The tenant's UUID as user name; the password is not looked at.",
                },
            },
            "schemas": schemas(),
        },
    })
}

/// The groups of routes: the resources, each with what it is, and what is beside them.
fn tags() -> Vec<Value> {
    let resources = REGISTRY.iter().map(|def| json!({ "name": def.path, "description": def.doc }));
    let beside = json!({ "name": BESIDE_RESOURCES, "description": "Events, access, and the service itself." });
    resources.chain([beside]).collect()
}

/// `/products/:id` as `/products/{id}`.
fn braced(path: &str) -> String {
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

fn operation(path: &str, says: &Says, def: Option<&ResourceDef>) -> Value {
    let mut parameters: Vec<Value> = path
        .split(['{', '}'])
        .skip(1)
        .step_by(2)
        .map(|name| path_parameter(path, name, def))
        .collect();
    let summary = match def {
        Some(def) => format!("{}: {}", def.path, says.summary),
        None => says.summary.to_owned(),
    };
    parameters.extend(match (says.gives, def) {
        (Kind::Records, Some(def)) => list_parameters(def),
        (Kind::Activities, _) => activity_parameters(),
        (Kind::Stream, _) => stream_parameters(),
        (Kind::Report, _) => report_parameters(),
        _ => Vec::new(),
    });
    if says.gives == Kind::Deleted && def.is_some_and(|def| *def == END_USER) {
        parameters.push(json!({
            "name": "erase", "in": "query", "schema": { "type": "boolean" },
            "description": "Whether everything that is kept of the person goes, and they are kept out.",
        }));
    }
    parameters.extend(header_parameters(says, def));
    let mut operation = json!({
        "summary": summary,
        "tags": [def.map_or(BESIDE_RESOURCES, |def| def.path)],
        "parameters": parameters,
        "responses": { "200": answer(says.gives, def), "default": problem() },
    });
    let knows_versions =
        matches!((says.takes, says.gives), (Kind::Nothing, Kind::Record | Kind::Settings));
    if let (true, Some(responses)) = (knows_versions, operation.get_mut("responses")) {
        set(responses, "304", json!({ "description": "It is the version that the caller has." }));
    }
    if let (Kind::Health, Some(responses)) = (says.gives, operation.get_mut("responses")) {
        set(responses, "503", answer(says.gives, def));
    }
    if let (Kind::Events | Kind::Calls, Some(responses)) =
        (says.takes, operation.get_mut("responses"))
        && let Some(stored) = responses.get_mut("200")
    {
        set(stored, "headers", events::headers_of_many());
    }
    if let Some(body) = body(says.takes, def) {
        set(&mut operation, "requestBody", body);
    }
    match says.access {
        Access::Anyone => set(&mut operation, "security", json!([])),
        Access::TenantAsUser => set(&mut operation, "security", json!([{ "tenant": [] }])),
        Access::Scope(scope) => set(&mut operation, "x-scope", json!(scope)),
        Access::OfResource(action) => {
            let scope = def.map(|def| format!("{}:{action}", def.path));
            set(&mut operation, "x-scope", json!(scope));
        }
    }
    operation
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn path_parameter(path: &str, name: &str, def: Option<&ResourceDef>) -> Value {
    let (description, schema) = match (name, def) {
        ("tenant", _) => ("UUID of the tenant.", json!({ "type": "string" })),
        ("pipeline", _) => (
            "Name of the pipeline service: lower-case letters, digits, `.`, `_`, `-`.",
            json!({ "type": "string" }),
        ),
        (_, Some(_)) => (
            "`_id`, `extid-` and the `externalId`, or `srcid-` and the `sourceId`.",
            json!({ "type": "string", "pattern": RECORD_REF }),
        ),
        _ if path.starts_with("/tokens") => {
            ("The eight characters behind `svt_`.", json!({ "type": "string" }))
        }
        _ => ("The `_id`.", json!({ "type": "string", "pattern": OBJECT_ID })),
    };
    json!({
        "name": name, "in": "path", "required": true, "description": description, "schema": schema,
    })
}

/// A parameter in the query of an address.
fn parameter(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": schema })
}

/// The headers of a request that change what becomes of it (R6, R16).
fn header_parameters(says: &Says, def: Option<&ResourceDef>) -> Vec<Value> {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "description": description, "schema": schema });
    let text = json!({ "type": "string" });
    let mut headers = Vec::new();
    if matches!(says.takes, Kind::NewRecord | Kind::Items | Kind::Events | Kind::Calls) {
        headers.push(idempotency_key());
    }
    match (says.takes, says.gives) {
        (Kind::Record | Kind::Settings, _) | (_, Kind::Deleted)
            if def.is_some() || says.takes == Kind::Settings =>
        {
            headers.push(header("If-Match", "Only if the record has this `ETag`.", text.clone()));
        }
        (Kind::Nothing, Kind::Record | Kind::Settings) => {
            headers.push(header(
                "If-None-Match",
                "Only if the record has another `ETag`.",
                text.clone(),
            ));
        }
        _ => {}
    }
    if matches!(
        says.takes,
        Kind::NewRecord | Kind::Record | Kind::Settings | Kind::NewToken | Kind::NewTenant
    ) || says.gives == Kind::Records
    {
        headers.push(header(
            "Prefer",
            "`handling=strict` refuses what is not known, instead of naming it in `Svctrack-Ignored`.",
            text,
        ));
    }
    headers
}

/// Every property is a filter, and some have short names (R27).
fn filter_parameters(def: &ResourceDef) -> Vec<Value> {
    let filter = |name: &str, row: &Row| {
        json!({
            "name": name, "in": "query",
            "description": format!("Only records with this value. {}", row.doc.trim()),
            "schema": { "type": "string" },
        })
    };
    let rows = def.rows.iter().filter(|row| row.kind != schema::Kind::Object);
    let short = def.short_names.iter().map(|(short, long)| {
        let description = format!("The same as `{long}`.");
        json!({ "name": short, "in": "query", "description": description, "schema": { "type": "string" } })
    });
    rows.map(|row| filter(row.name, row)).chain(short).collect()
}

fn list_parameters(def: &ResourceDef) -> Vec<Value> {
    let names: Vec<&str> = def.rows.iter().map(|row| row.name).collect();
    // An empty one asks for nothing.
    let sort = format!("^$|^-?({}|custom\\..+)$", names.join("|"));
    let mut parameters = vec![
        parameter(
            "limit",
            "How many records at the most.",
            json!({ "type": "integer", "minimum": 1, "maximum": def.list.max, "default": def.list.default }),
        ),
        parameter(
            "offset",
            "How many records to pass over.",
            json!({ "type": "integer", "minimum": 0 }),
        ),
        parameter(
            "after",
            "Only records behind this `_id`; without `sort`, or sorted by `_id`.",
            json!({ "type": "string", "pattern": OBJECT_ID }),
        ),
        parameter(
            "sort",
            "A property; `-` in front reverses the order.",
            json!({ "type": "string", "pattern": sort }),
        ),
        parameter(
            "select",
            "Properties to return, separated by commas.",
            json!({ "type": "string" }),
        ),
        parameter(
            "updatedSince",
            "Only records changed since.",
            json!({ "type": "string", "format": "date-time", "pattern": YEAR }),
        ),
    ];
    if def.searched.is_some() {
        parameters.push(parameter(
            "search",
            &format!(
                "Only records whose `{}` contains this text.",
                def.searched.unwrap_or_default()
            ),
            json!({ "type": "string", "maxLength": MAX_SEARCH_BYTES }),
        ));
    }
    parameters.extend(filter_parameters(def));
    parameters
}

/// The name of a resource's schema: `timeentries` is `Timeentry`.
fn schema_name(def: &ResourceDef) -> String {
    let mut chars = def.name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The properties that a new record needs.
fn required_of(def: Option<&ResourceDef>) -> Vec<&'static str> {
    let rows = def.map_or(&[][..], |def| def.rows);
    rows.iter().filter(|row| row.required).map(|row| row.name).collect()
}

/// The schema of a body, if there is one.
fn schema_of(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let record =
        || def.map_or_else(|| json!({ "type": "object" }), |def| reference(&schema_name(def)));
    let many = |item: Value| json!({ "type": "array", "items": item });
    Some(match kind {
        Kind::Nothing | Kind::Ok | Kind::Page | Kind::Stream | Kind::Archive => return None,
        Kind::Record => record(),
        Kind::NewRecord => json!({ "allOf": [record(), { "required": required_of(def) }] }),
        Kind::Records | Kind::Items => many(record()),
        Kind::BulkAnswer if def.is_some_and(|def| def.answers_counts_alone) => {
            reference("BulkCounts")
        }
        Kind::BulkAnswer => reference("BulkAnswer"),
        Kind::Deleted if def.is_some_and(|def| def.answers_deleted) => record(),
        Kind::Deleted => reference("Deleted"),
        Kind::Event => reference("Event"),
        Kind::Events => many(reference("BulkEvent")),
        Kind::Calls => {
            json!({ "oneOf": [reference("PipelineCall"), many(reference("PipelineCall"))] })
        }
        Kind::Report => many(reference("IntegrationIssue")),
        Kind::Health => reference("Health"),
        Kind::NewToken => reference("NewToken"),
        Kind::NewTenant => reference("NewTenant"),
        Kind::Settings => reference(&schema_name(&SETTINGS)),
        Kind::Keys => reference("PersonKeys"),
        Kind::Export => reference("PersonExport"),
        Kind::Token | Kind::Tenant | Kind::Object => json!({ "type": "object" }),
        Kind::Activities => many(reference("Activity")),
        Kind::Objects => many(json!({ "type": "object" })),
    })
}

fn body(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let schema = schema_of(kind, def)?;
    Some(json!({ "required": true, "content": { "application/json": { "schema": schema } } }))
}

fn answer(kind: Kind, def: Option<&ResourceDef>) -> Value {
    let description = match kind {
        Kind::Health => "How the service is.",
        _ => "It is done.",
    };
    let content = match (schema_of(kind, def), kind) {
        (Some(schema), _) => json!({ "application/json": { "schema": schema } }),
        (None, Kind::Ok) => json!({ "text/plain": { "schema": { "const": "OK" } } }),
        (None, Kind::Stream) => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
        (None, Kind::Archive) => json!({ "application/gzip": {} }),
        (None, Kind::Page) => json!({ "text/html": { "schema": { "type": "string" } } }),
        (None, _) => return json!({ "description": description }),
    };
    json!({ "description": description, "content": content })
}

fn problem() -> Value {
    json!({
        "description": "It was not done, and why (RFC 9457).",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_and_every_row_is_described() {
        let document = document("http://x");
        for (method, path, _, _) in router::described() {
            let operation = &document["paths"][braced(&path)][method.as_str().to_lowercase()];
            assert!(operation["summary"].is_string(), "{method} {path}");
        }
        for def in REGISTRY {
            let properties = &document["components"]["schemas"][schema_name(def)]["properties"];
            assert_eq!(properties.as_object().unwrap().len(), def.rows.len(), "{}", def.name);
        }
    }

    #[test]
    fn every_reference_finds_its_schema() {
        let document = document("http://x");
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
    }
}
