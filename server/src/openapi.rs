//! The description of the API (OpenAPI 3.1), made from the route table and the rows of the resources:
//! what is there is described, and nothing else.

use serde_json::{Map, Value, json};
use svctrack_core::{
    plan::Route,
    resources::{REGISTRY, settings::SETTINGS},
    schema::{self, ResourceDef, Row},
    tracking::{
        bulk::MAX_COUNT,
        event::{MAX_EVENT_BYTES, MAX_MESSAGE_ID_BYTES, name},
    },
    value::{email::MAX_EMAIL_BYTES, key::MAX_KEY_BYTES, number::MAX_AMOUNT},
};

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
    Object,
    Objects,
    Page,
    Stream,
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
    let mut parameters: Vec<Value> =
        path.split(['{', '}']).skip(1).step_by(2).map(path_parameter).collect();
    let summary = match def {
        Some(def) => format!("{}: {}", def.path, says.summary),
        None => says.summary.to_owned(),
    };
    if let (Kind::Records, Some(def)) = (says.gives, def) {
        parameters.extend(list_parameters(def));
    }
    let mut operation = json!({
        "summary": summary,
        "tags": [def.map_or(BESIDE_RESOURCES, |def| def.path)],
        "parameters": parameters,
        "responses": { "200": answer(says.gives, def), "default": problem() },
    });
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

fn path_parameter(name: &str) -> Value {
    let description = match name {
        "tenant" => "UUID of the tenant.",
        "pipeline" => "Name of the pipeline service, in lower case.",
        _ => "`_id`, `extid-` and the `externalId`, or `srcid-` and the `sourceId`.",
    };
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": { "type": "string" },
    })
}

fn list_parameters(def: &ResourceDef) -> Vec<Value> {
    let parameter = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": def.list.max, "default": def.list.default });
    let mut parameters = vec![
        parameter("limit", "How many records at the most.", limit),
        parameter(
            "offset",
            "How many records to pass over.",
            json!({ "type": "integer", "minimum": 0 }),
        ),
        parameter("after", "Only records behind this `_id`.", json!({ "type": "string" })),
        parameter(
            "sort",
            "A property; `-` in front reverses the order.",
            json!({ "type": "string" }),
        ),
        parameter(
            "select",
            "Properties to return, separated by commas.",
            json!({ "type": "string" }),
        ),
        parameter("updatedSince", "Only records changed since.", json!({ "type": "string" })),
    ];
    if def.searched.is_some() {
        parameters.push(parameter(
            "search",
            "Only records that contain this text.",
            json!({ "type": "string" }),
        ));
    }
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

/// The schema of a body, if there is one.
fn schema_of(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let record =
        || def.map_or_else(|| json!({ "type": "object" }), |def| reference(&schema_name(def)));
    let many = |item: Value| json!({ "type": "array", "items": item });
    Some(match kind {
        Kind::Nothing | Kind::Ok | Kind::Page | Kind::Stream => return None,
        Kind::Record => record(),
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
        Kind::NewToken => reference("NewToken"),
        Kind::NewTenant => reference("NewTenant"),
        Kind::Settings => reference(&schema_name(&SETTINGS)),
        Kind::Token | Kind::Tenant | Kind::Object => json!({ "type": "object" }),
        Kind::Activities | Kind::Objects => many(json!({ "type": "object" })),
    })
}

fn body(kind: Kind, def: Option<&ResourceDef>) -> Option<Value> {
    let schema = schema_of(kind, def)?;
    Some(json!({ "required": true, "content": { "application/json": { "schema": schema } } }))
}

fn answer(kind: Kind, def: Option<&ResourceDef>) -> Value {
    let content = match (schema_of(kind, def), kind) {
        (Some(schema), _) => json!({ "application/json": { "schema": schema } }),
        (None, Kind::Ok) => json!({ "text/plain": { "schema": { "const": "OK" } } }),
        (None, Kind::Stream) => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
        (None, Kind::Page) => json!({ "text/html": { "schema": { "type": "string" } } }),
        (None, _) => return json!({ "description": "It is done." }),
    };
    json!({ "description": "It is done.", "content": content })
}

fn problem() -> Value {
    json!({
        "description": "It was not done, and why (RFC 9457).",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

fn schemas() -> Value {
    let mut schemas = Map::new();
    for def in REGISTRY {
        schemas.insert(schema_name(def), resource(def));
    }
    schemas.insert(schema_name(&SETTINGS), resource(&SETTINGS));
    schemas.insert("Event".to_owned(), event());
    schemas.insert("BulkEvent".to_owned(), bulk_event());
    schemas.insert("PipelineCall".to_owned(), pipeline_call());
    schemas.insert("IntegrationIssue".to_owned(), integration_issue());
    schemas.insert("NewTenant".to_owned(), new_tenant());
    schemas.insert("NewToken".to_owned(), new_token());
    schemas.insert("Deleted".to_owned(), integers(&["n", "ok", "deletedCount"]));
    schemas.insert("BulkCounts".to_owned(), integers(&["created", "updated"]));
    schemas.insert("BulkAnswer".to_owned(), bulk_answer());
    schemas.insert("Problem".to_owned(), problem_schema());
    Value::Object(schemas)
}

/// A resource as its rows say it.
fn resource(def: &ResourceDef) -> Value {
    let properties: Map<String, Value> =
        def.rows.iter().map(|row| (row.name.to_owned(), property(row))).collect();
    json!({ "type": "object", "description": def.doc, "properties": properties })
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
        K::Id | K::Reference | K::Text => json!({ "type": ["string", "null"] }),
        K::Key => json!({ "type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY_BYTES }),
        K::Email => json!({ "type": ["string", "null"], "maxLength": MAX_EMAIL_BYTES }),
        K::References | K::Values => json!({ "type": ["array", "null"] }),
        K::Texts => json!({ "type": ["array", "null"], "items": { "type": "string" } }),
        K::Object => json!({ "type": ["object", "null"] }),
        K::Date => json!({ "type": ["string", "null"], "format": "date-time" }),
        K::Integer => json!({ "type": ["integer", "null"], "minimum": least, "maximum": greatest }),
        K::Number => json!({ "type": ["number", "null"], "minimum": least, "maximum": greatest }),
        K::Bool => json!({ "type": ["boolean", "null"] }),
    }
}

fn event() -> Value {
    let text =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    json!({
        "type": "object",
        "description": format!("At most {MAX_EVENT_BYTES} bytes; `email` or `externalId` is required."),
        "properties": {
            name::NAME: text("Full name of the user."),
            name::EMAIL: text("E-mail of the user."),
            name::EXTERNAL_ID: text("The user's id in the caller's system."),
            name::COMPANY: text("Customer id in the caller's system."),
            name::ACTION: text("What was done; without it the event only says who is there."),
            name::ASSET: text("`externalId` of an asset."),
            name::PROJECT: text("`externalId` of a project."),
            name::INFO: { "type": ["object", "null"], "description": "Extra data." },
            name::PASSIVE: { "type": ["boolean", "null"], "description": "Whether it does not count as activity." },
            name::WEIGHT: { "type": ["number", "null"], "minimum": 0, "description": "Relative importance." },
            name::DATE: text("When it happened; the time of receipt when absent."),
            name::SENT_AT: text("When it was sent, by the sender's clock."),
            name::MESSAGE_ID: { "type": ["string", "null"], "maxLength": MAX_MESSAGE_ID_BYTES, "description": "The sender's id of the event." },
        },
    })
}

/// A row of a bulk call: an event with the route's own names, and a count.
fn bulk_event() -> Value {
    let mut event = event();
    let count = json!({
        "type": ["integer", "null"], "minimum": 0, "maximum": MAX_COUNT,
        "description": "How often it happened; what is out of range counts as 1.",
    });
    if let Some(properties) = event.get_mut("properties").and_then(Value::as_object_mut) {
        for (known, own) in [(name::EXTERNAL_ID, "euExtId"), (name::COMPANY, "cId")] {
            if let Some(property) = properties.remove(known) {
                properties.insert(own.to_owned(), property);
            }
        }
        properties.remove(name::SENT_AT);
        properties.insert(name::COUNT.to_owned(), count);
    }
    event
}

fn pipeline_call() -> Value {
    let text =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    json!({
        "type": "object",
        "properties": {
            "type": text("`identify` or `track`, in any case; any other call is ignored."),
            "userId": text("The user's id in the caller's system."),
            "event": text("What was done."),
            "properties": { "type": ["object", "null"], "description": "Extra data." },
            "traits": {
                "type": ["object", "null"], "description": "Who the user is.",
                "properties": {
                    "id": text("The user's id, where there is no `userId`."),
                    "email": text("E-mail of the user."),
                    "name": text("Full name of the user."),
                    "companyId": text("Customer id in the caller's system."),
                },
            },
            "context": { "type": ["object", "null"], "description": "Its `traits` stand in for what `traits` lacks." },
            "timestamp": text("When it happened; the time of receipt when absent."),
            "messageId": { "type": ["string", "null"], "maxLength": MAX_MESSAGE_ID_BYTES, "description": "The sender's id of the call." },
        },
    })
}

fn integration_issue() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "properties": {
            "_id": text("Its id."),
            "route": { "enum": Route::ALL.map(Route::name), "description": "How it came in." },
            "code": text("What it is, stable."),
            "message": text("What is wrong, and what would mend it."),
            "at": { "type": "string", "format": "date-time", "description": "When it was last seen." },
            "count": { "type": "integer", "description": "How often it was seen." },
            "sample": { "type": "object", "description": "What was sent, in short." },
        },
    })
}

fn new_token() -> Value {
    json!({
        "type": "object",
        "required": ["label", "scopes"],
        "properties": {
            "label": { "type": "string", "description": "What it is for." },
            "scopes": { "type": "array", "items": { "type": "string" }, "description": "What it may do." },
            "expiresAt": { "type": ["string", "null"], "description": "From when on it counts no more." },
            "userId": { "type": ["string", "null"], "description": "The user that it acts as." },
        },
    })
}

fn new_tenant() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string", "description": "Whose it is." } },
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
