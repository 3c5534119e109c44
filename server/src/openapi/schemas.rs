//! Schemas of the API description besides those of resources and reports.

use serde_json::{Map, Value, json};
use svctrack_core::{
    access::{self, MAX_LABEL_BYTES, MAX_SCOPES, Rotation},
    audit,
    resources::{
        REGISTRY,
        company::{self, COMPANY},
        end_user::{END_USER, KEYS},
        license::{LICENSE, LOST_REASON, SENT_OF_LOSS},
        settings::SETTINGS,
        ticket::TICKET,
    },
    tracking::list_fields::{ACTIVITY, ENTRY},
};
use svctrack_store::{Health, TenantState};

use super::{
    events::{bulk_event, event, pipeline_batch, pipeline_body, pipeline_call, sdk_call},
    parts::{reference, set},
    patterns::{OBJECT_ID, RECORD_REF, TEXT},
    records::{self, SUCCESSOR, list_item, object, schema_name, successor, taken},
    reports,
};

pub(super) fn schemas() -> Value {
    let mut schemas = Map::new();
    for def in REGISTRY {
        records::insert(&mut schemas, def);
    }
    records::insert_single(&mut schemas, &SETTINGS);
    schemas.insert(SUCCESSOR.to_owned(), successor());
    let others = [
        ("RealtimeEvent", event()),
        ("BulkEvent", bulk_event()),
        ("PipelineCall", pipeline_call()),
        ("PipelineBatch", pipeline_batch()),
        ("PipelineBody", pipeline_body()),
        ("SdkCall", sdk_call()),
        ("Success", success()),
        ("Activity", list_item(&ACTIVITY)),
        ("IntegrationIssue", list_item(&ENTRY)),
        ("AuditEntry", list_item(&audit::ENTRY)),
        ("Replayed", count("replayed", "Number of events processed before the response.")),
        ("LeanCompany", lean_company()),
        ("NewTenant", new_tenant()),
        ("TenantChange", tenant_change()),
        ("Tenant", tenant(&[])),
        ("CreatedTenant", created_tenant()),
        ("NewToken", new_token()),
        ("Rotation", rotation()),
        ("LicenseLoss", loss()),
        ("Token", token(&[])),
        ("IssuedToken", issued_token()),
        ("PersonKeys", person_keys()),
        ("PersonExport", person_export()),
        ("Unsuppressed", count("unsuppressed", "Number of keys whose suppression was lifted.")),
        ("Deleted", integers(&DELETED)),
        ("BulkCounts", integers(&BULK_COUNTS)),
        ("BulkAnswer", bulk_result(&[])),
        ("ValidatedBulkAnswer", bulk_result(&[VALIDATION_ERRORS])),
        ("BulkKeys", bulk_keys()),
        ("BulkError", bulk_error()),
        ("NewClosing", reports::new_closing()),
        ("Health", health()),
        ("Script", script()),
        ("Imported", imported()),
        ("Problem", problem()),
        ("ProblemItem", problem_item()),
    ];
    schemas.extend(others.map(|(name, schema)| (name.to_owned(), schema)));
    schemas.extend(reports::schemas());
    for schema in schemas.values_mut().filter(|schema| schema.get("properties").is_some()) {
        // Unknown members are named in a header and ignored (R6), but their names must be text all the same.
        set(schema, "propertyNames", json!({ "pattern": TEXT }));
    }
    Value::Object(schemas)
}

/// An object whose members are all required, each with its schema and its description.
fn object_with_all(doc: &str, members: &[(&str, Value, &str)]) -> Value {
    let mut properties = Map::new();
    for (name, schema, doc) in members {
        let mut property = schema.clone();
        set(&mut property, "description", json!(doc));
        properties.insert((*name).to_owned(), property);
    }
    let required: Vec<_> = members.iter().map(|(name, ..)| name).collect();
    json!({ "type": "object", "description": doc, "properties": properties, "required": required })
}

/// Adds optional members to an object.
fn with_optional(mut object: Value, members: &[(&str, &str)]) -> Value {
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, doc) in members {
            let property = json!({ "type": "string", "description": doc });
            properties.insert((*name).to_owned(), property);
        }
    }
    object
}

/// The request that issues a token.
fn new_token() -> Value {
    json!({
        "type": "object", "description": "A token to issue.",
        "required": ["label", "scopes"],
        "properties": {
            "label": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES, "pattern": TEXT, "description": "Purpose of the token." },
            "scopes": {
                "type": "array", "minItems": 1, "maxItems": MAX_SCOPES, "items": { "type": "string", "enum": access::every_scope() },
                "description": "Scopes of the token.",
            },
            "expiresAt": { "type": ["string", "null"], "format": "date-time", "description": "When the token expires; default is the expiry of its issuer." },
            "userId": { "type": ["string", "null"], "pattern": RECORD_REF, "description": "User that the token acts as." },
        },
    })
}

fn token(more: &[(&str, Value, &str)]) -> Value {
    let time = || json!({ "type": ["string", "null"], "format": "date-time" });
    let members = [
        ("_id", json!({ "type": "string" }), "The eight characters after `svt_`."),
        ("label", json!({ "type": "string" }), "Purpose of the token."),
        ("scopes", strings(), "Scopes of the token."),
        ("userId", json!({ "type": ["string", "null"] }), "User that the token acts as."),
        ("createdAt", date_time(), "When the token was issued."),
        (
            "createdBy",
            json!({ "type": ["string", "null"] }),
            "`_id` of the token that issued it; null if none did.",
        ),
        ("expiresAt", time(), "When the token expires."),
        ("lastUsedAt", time(), "When the token was last used, to the minute."),
        (
            "replacedBy",
            json!({ "type": ["string", "null"] }),
            "`_id` of its successor, if the token was rotated.",
        ),
    ];
    object_with_all("A token, without its secret.", &[&members, more].concat())
}

fn issued_token() -> Value {
    let secret =
        ("token", json!({ "type": "string" }), "The token itself; only this response contains it.");
    token(&[secret])
}

/// The request that issues a successor of a token.
fn rotation() -> Value {
    json!({
        "type": "object", "description": "Options of a rotation.",
        "properties": {
            "keepOldForSeconds": {
                "type": ["integer", "null"], "minimum": 0, "maximum": Rotation::MAX_KEEP_SECONDS, "default": Rotation::DEFAULT_KEEP_SECONDS,
                "description": "Seconds for which the old token stays valid.",
            },
            "expiresAt": { "type": ["string", "null"], "format": "date-time", "description": "When the successor expires; default is the lifetime of the old token." },
        },
    })
}

/// The request that loses a license.
fn loss() -> Value {
    let sent = LICENSE.fields.iter().filter(|field| SENT_OF_LOSS.contains(&field.name));
    object("Reason and end of a license that is lost.", sent.map(taken), &[LOST_REASON.name])
}

/// The request that changes a tenant.
fn tenant_change() -> Value {
    json!({
        "type": "object", "description": "Changes of a tenant.",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES, "pattern": TEXT, "description": "Tenant name." },
            "suspended": { "type": ["boolean", "null"], "description": "Whether its calls and events are rejected." },
        },
    })
}

fn new_tenant() -> Value {
    json!({
        "type": "object", "description": "A tenant to create.",
        "required": ["name"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES, "pattern": TEXT, "description": "Tenant name." },
        },
    })
}

fn tenant(more: &[(&str, Value, &str)]) -> Value {
    let id = json!({ "type": "string", "format": "uuid" });
    let members = [
        ("_id", id, "The tenant's UUID, the write key of its events."),
        ("name", json!({ "type": "string" }), "Tenant name."),
        ("createdAt", date_time(), "When the tenant was created."),
        (
            "state",
            json!({ "type": "string", "enum": TenantState::ALL.map(TenantState::name) }),
            "State of the tenant.",
        ),
        ("suspended", json!({ "type": "boolean" }), "Whether its calls and events are rejected."),
    ];
    object_with_all("A tenant.", &[&members, more].concat())
}

fn created_tenant() -> Value {
    let token = ("token", reference("IssuedToken"), "The tenant's first token.");
    tenant(&[token])
}

fn lean_company() -> Value {
    let names = [company::NAME.name, company::EXTERNAL_ID.name, company::SOURCE_ID.name];
    let fields = names.iter().filter_map(|name| COMPANY.field(name));
    let properties = fields.map(records::shown).map(|(name, schema)| (name.to_owned(), schema));
    let id = (
        "_id".to_owned(),
        json!({ "type": "string", "pattern": OBJECT_ID, "description": "Service identifier." }),
    );
    let properties: Map<String, Value> = properties.chain([id]).collect();
    json!({
        "type": "object", "description": "A company with its ids only.",
        "properties": properties, "required": ["_id"],
    })
}

fn success() -> Value {
    let schema = json!({ "type": "boolean", "const": true });
    object_with_all(
        "The response that SDKs expect.",
        &[("success", schema, "Always true: each call is stored or reported.")],
    )
}

fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn date_time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn count(name: &str, doc: &str) -> Value {
    object_with_all("A count.", &[(name, json!({ "type": "integer" }), doc)])
}

fn person_keys() -> Value {
    let properties: Map<String, Value> = END_USER
        .fields
        .iter()
        .filter(|field| KEYS.contains(&field.name))
        .map(taken)
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "type": "object", "properties": properties,
        "description": "Keys of erased people, at least one.",
    })
}

fn person_export() -> Value {
    let many = |item: Value| json!({ "type": "array", "items": item });
    json!({
        "type": "object", "description": "All data about a person.",
        "required": ["endUser", "activities", "tickets", "parkedEvents", "integrationIssues"],
        "properties": {
            "endUser": reference(&schema_name(&END_USER)),
            "activities": many(reference("Activity")),
            "tickets": many(reference(&schema_name(&TICKET))),
            "parkedEvents": many(json!({ "type": "object" })),
            "integrationIssues": many(reference("IntegrationIssue")),
        },
    })
}

/// Counts of a delete.
const DELETED: [(&str, &str); 3] = [
    ("n", "Records that were found."),
    ("ok", "Always 1."),
    ("deletedCount", "Records that were deleted."),
];

/// Counts of a bulk upsert of tickets.
const BULK_COUNTS: [(&str, &str); 2] =
    [("created", "Records that were created."), ("updated", "Records that items matched.")];

fn integers(counts: &[(&str, &str)]) -> Value {
    let members: Vec<_> =
        counts.iter().map(|(name, doc)| (*name, json!({ "type": "integer" }), *doc)).collect();
    object_with_all("Counts.", &members)
}

/// The list that only some resources have.
const VALIDATION_ERRORS: (&str, &str) = ("validationErrors", "Items that failed a check.");

/// The response to a bulk upsert (R18).
fn bulk_result(more: &[(&'static str, &'static str)]) -> Value {
    let integer = || json!({ "type": "integer" });
    let keys = || json!({ "type": "array", "items": reference("BulkKeys") });
    let errors = || json!({ "type": "array", "items": reference("BulkError") });
    let members = [
        ("created", integer(), "Records that were created."),
        ("createdErrors", errors(), "Items that would have created a record and were rejected."),
        ("insertsKeys", keys(), "Keys of created records: `_id`, and the keys that were sent."),
        ("updated", integer(), "Records that were changed."),
        ("updatedErrors", errors(), "Items that would have updated a record and were rejected."),
        ("updatesKeys", keys(), "Keys of changed records: `_id`."),
        ("nonupdates", integer(), "Records that items matched but did not change."),
        ("modified", strings(), "Ids of changed records."),
        ("upsertedIds", strings(), "Ids of created records."),
        ("permissionErrors", errors(), "Items that the token lacks the scope for."),
    ];
    let more: Vec<_> = more.iter().map(|(name, doc)| (*name, errors(), *doc)).collect();
    object_with_all("Result of a bulk upsert.", &[&members[..], &more].concat())
}

fn bulk_keys() -> Value {
    let id = [("_id", json!({ "type": "string" }), "The record's id.")];
    let keys = [("sourceId", "As sent."), ("externalId", "As sent."), ("email", "As sent.")];
    with_optional(object_with_all("Keys of a record.", &id), &keys)
}

/// A rejected item (R19).
fn bulk_error() -> Value {
    let text = || json!({ "type": "string" });
    let members = [
        ("index", json!({ "type": "integer" }), "Position of the item in the request, from 0."),
        ("code", text(), "Stable code of the first problem."),
        ("message", text(), "Message with every problem of the item."),
    ];
    let optional = [
        ("field", "Property of the first problem."),
        ("_id", "As sent, or of the matched record."),
        ("sourceId", "As sent."),
        ("externalId", "As sent."),
    ];
    with_optional(object_with_all("A rejected item.", &members), &optional)
}

fn health() -> Value {
    let count = || json!({ "type": "integer", "minimum": 0 });
    json!({
        "type": "object", "description": "State of the service.",
        "required": ["status", "damaged", "checked", "clock", "backup", "version"],
        "properties": {
            "status": { "type": "string", "enum": Health::ALL.map(Health::name), "description": "State of the store; any value but `ok` is returned with 503." },
            "damaged": { "type": "integer", "minimum": 0, "description": "Number of responses with corrupted data since the start." },
            "checked": {
                "type": ["object", "null"], "description": "Result of the last scrub, which reads all stored data.",
                "required": ["at", "rows", "damaged"],
                "properties": { "at": { "type": "string", "format": "date-time" }, "rows": count(), "damaged": count() },
            },
            "clock": {
                "type": ["object", "null"], "description": "Difference between the server's clock and stored times, if it is a minute or more.",
                "required": ["behindSeconds", "aheadSeconds", "heldSeconds"],
                "properties": {
                    "behindSeconds": { "type": "integer", "minimum": 0, "description": "Seconds that the clock is behind the newest stored time. New data gets that time until the clock has caught up." },
                    "aheadSeconds": { "type": "integer", "minimum": 0, "description": "Seconds that the clock is ahead of the time used for retention." },
                    "heldSeconds": { "type": "integer", "minimum": 0, "description": "Seconds until retention follows the clock, if it stays steady." },
                },
            },
            "backup": {
                "type": ["object", "null"], "description": "Scheduled backups: time of the newest one (`at`), failures since then (`failed`), backups dated later than the clock (`ahead`), and backups of another store in the directory (`foreign`).",
                "required": ["at", "failed", "ahead", "foreign"],
                "properties": { "at": { "type": ["string", "null"], "format": "date-time" }, "failed": count(), "ahead": count(), "foreign": count() },
            },
            "version": { "type": "string", "description": "Version of the server." },
        },
    })
}

fn imported() -> Value {
    let count = || json!({ "type": "integer", "minimum": 0 });
    let text = || json!({ "type": "string" });
    let rejection = object_with_all(
        "A rejected row.",
        &[
            ("line", count(), "Line of the row in the body."),
            ("code", text(), "Stable code, in snake_case."),
            ("message", text(), "Message with every problem of the row."),
        ],
    );
    let summary = object_with_all(
        "Result of an import.",
        &[
            ("created", count(), "Records that were created."),
            ("updated", count(), "Records that were changed."),
            ("unchanged", count(), "Rows that changed nothing."),
            ("refused", count(), "Rows that were rejected."),
            (
                "withoutKey",
                count(),
                "Created records without a key: importing the row again creates another one.",
            ),
            (
                "repeatedKeys",
                count(),
                "Rows that update the record of an earlier row with the same key; counted for the first 100,000 keys.",
            ),
            (
                "refusals",
                json!({ "type": "array", "items": rejection }),
                "The first rejected rows.",
            ),
            (
                "ignoredColumns",
                json!({ "type": "array", "items": text() }),
                "Columns of read-only properties, which were ignored.",
            ),
            ("dryRun", json!({ "type": "boolean" }), "Whether this was a dry run."),
        ],
    );
    let ids = json!({
        "type": "array", "items": { "type": ["string", "null"] },
        "description": "With `ids`: the `_id` of each row's record, for the first 5,000 rows; null if the row was rejected, or would create a record in a dry run.",
    });
    with_property(summary, "ids", ids)
}

/// Adds an optional member to an object.
fn with_property(mut object: Value, name: &str, schema: Value) -> Value {
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), schema);
    }
    object
}

fn script() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let sources = || json!({ "type": "array", "items": { "type": "string" } });
    let file = json!({
        "type": "object", "required": ["url", "integrity"],
        "properties": {
            "url": text("URL of the file, with its version."),
            "integrity": text("Hash of the file for subresource integrity."),
        },
    });
    json!({
        "type": "object", "description": "Snippet and files of the browser script.",
        "required": ["publicUrl", "scriptPath", "trackingPrefix", "script", "files"],
        "properties": {
            "publicUrl": text("URL at which browsers reach the server."),
            "scriptPath": text("Path of the script."),
            "trackingPrefix": text("Prefix of the paths to which events are sent."),
            "script": text("URL of the script in the server's version."),
            "files": { "type": "array", "description": "Files of this version, which never change.", "items": file },
            "snippet": text("Snippet to paste before `</head>`, if `tenant` was sent."),
            "policy": {
                "type": "object", "description": "Sources that a Content-Security-Policy needs.",
                "required": ["script-src", "connect-src"],
                "properties": { "script-src": sources(), "connect-src": sources() },
            },
        },
    })
}

fn problem() -> Value {
    let text = || json!({ "type": "string" });
    let members = [
        ("type", text(), "Always `about:blank`; see `code`."),
        ("title", text(), "Text of the status."),
        ("status", json!({ "type": "integer" }), "HTTP status."),
        ("detail", text(), "Message of the first problem."),
        ("message", text(), "The same as `detail`."),
        ("code", text(), "Stable code of the first problem, in snake_case."),
        ("requestId", text(), "Id of the request, which is in the log too."),
    ];
    let mut problem = object_with_all("An error (RFC 9457).", &members);
    if let Some(properties) = problem.get_mut("properties") {
        let errors = json!({
            "type": "array", "items": reference("ProblemItem"),
            "description": "All problems.",
        });
        set(properties, "errors", errors);
    }
    problem
}

fn problem_item() -> Value {
    let text = || json!({ "type": "string" });
    let members = [
        ("pointer", text(), "JSON pointer into the body (RFC 6901); empty for the whole body."),
        ("code", text(), "Stable code, in snake_case."),
        ("message", text(), "Message: what was expected, and what was found."),
    ];
    object_with_all("One problem.", &members)
}
