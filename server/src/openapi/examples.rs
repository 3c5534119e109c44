//! Examples of bodies (D17). Example requests work unchanged; records in example responses are computed by the rules of
//! `core`, over a store in memory.

use serde_json::{Value, json};
use svctrack_core::{
    plan::{
        self, Ctx, Planned,
        memory::Memory,
        upsert::{UpsertAccess, UpsertSummary, upsert},
    },
    resources::{
        company::COMPANY,
        end_user::END_USER,
        license::LICENSE,
        settings::{SETTINGS, SETTINGS_ID},
    },
    schema::{ReadCtx, ResourceDef, UnknownMemberPolicy, checked_body},
    value::{Document, IdSequence, ObjectId, Timestamp},
};

use super::parts::set;
use crate::{
    bootstrap::demo_company,
    routing::route_def::{BodyKind, RouteDoc},
};

/// When the examples are: 2026-01-15, noon, in milliseconds.
const NOW_MS: i64 = 1_768_478_400_000;
/// An id that no store has: its part of a store is all zeros.
const ID: &str = "6968d6400000000000000001";
/// The body of a loss.
const LOSS: &str = r#"{ "lostReason": "price" }"#;
/// Suffix of the keys of examples in bulk and of rows, which create records of their own: so the examples of the
/// document work in its order.
const IN_BULK: &str = "-in-bulk";
const IMPORTED: &str = "-imported";
/// UUID of a tenant that does not exist.
const TENANT: &str = "00000000-0000-4000-8000-000000000000";
/// A token's id that no token has.
const TOKEN_ID: &str = "00000000";

/// The body that a request may send unchanged.
pub(super) fn of_request(kind: BodyKind, def: Option<&'static ResourceDef>) -> Option<Value> {
    Some(match kind {
        BodyKind::NewRecord => read(def?.example)?,
        BodyKind::Record | BodyKind::Renewal => read(def?.example_update)?,
        BodyKind::Loss => read(LOSS)?,
        BodyKind::Items => json!([item(def?, IN_BULK)?]),
        BodyKind::Settings => read(SETTINGS.example_update)?,
        BodyKind::Event => json!({
            "externalId": "example-visitor", "name": "Grace Hopper", "companyExternalId": "demo",
            "action": "Opened report", "info": { "pages": 3 },
        }),
        BodyKind::Events => json!([{
            "euExtId": "example-visitor", "cId": "demo", "action": "Opened report", "count": 3,
            "date": "2026-01-05T09:30:00.000Z", "messageId": "example-row",
        }]),
        BodyKind::Calls => json!({
            "type": "track", "userId": "example-visitor", "event": "Opened report",
            "properties": { "pages": 3 }, "traits": { "name": "Grace Hopper", "companyId": "demo" },
        }),
        BodyKind::Batch => json!({ "batch": [of_request(BodyKind::Calls, None)?] }),
        BodyKind::Call => json!({
            "userId": "example-visitor", "event": "Opened report", "properties": { "pages": 3 },
            "context": { "traits": { "companyId": "demo" } },
        }),
        BodyKind::NewToken => json!({ "label": "Example", "scopes": ["products:read"] }),
        BodyKind::Rotation => json!({ "keepOldForSeconds": 3600 }),
        BodyKind::NewTenant | BodyKind::TenantChange => json!({ "name": "Example" }),
        BodyKind::NewClosing => json!({ "month": "2025-12" }),
        BodyKind::Keys => json!({ "email": "erased@example.com" }),
        _ => return None,
    })
}

/// A table of one row, as CSV and as NDJSON. Only single values have a cell.
pub(super) fn of_table(def: &ResourceDef) -> Option<(String, String)> {
    let item = item(def, IMPORTED)?;
    let cells =
        item.as_object()?.iter().filter(|(_, value)| !value.is_array() && !value.is_object());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (head, row): (Vec<_>, Vec<_>) = cells.map(|(name, value)| (name, text(value))).unzip();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(head).ok()?;
    table.write_record(row).ok()?;
    let csv = String::from_utf8(table.into_inner().ok()?).ok()?;
    Some((csv, format!("{item}\n")))
}

/// The body of a response to the example of a request.
pub(super) fn of_response(doc: &RouteDoc, def: Option<&'static ResourceDef>) -> Option<Value> {
    Some(match doc.gives {
        BodyKind::Record | BodyKind::Successor => record(doc.takes, def?)?,
        BodyKind::Records => json!([record(BodyKind::NewRecord, def?)?]),
        BodyKind::BulkResult => bulk_result(def?)?,
        BodyKind::Deleted if def.is_some_and(|def| def.delete_returns_record) => {
            record(BodyKind::NewRecord, def?)?
        }
        BodyKind::Deleted | BodyKind::Revoked | BodyKind::Reopened => {
            json!({ "n": 1, "ok": 1, "deletedCount": 1 })
        }
        BodyKind::Settings => settings()?,
        BodyKind::Ok => json!("OK"),
        BodyKind::Success => json!({ "success": true }),
        BodyKind::Activities => json!([activity()]),
        BodyKind::Report => json!([issue()]),
        BodyKind::Audit => json!([audit_entry()]),
        BodyKind::Replayed => json!({ "replayed": 1 }),
        BodyKind::LeanCompanies => {
            json!([{ "_id": ID, "name": "Example company", "externalId": "example-company" }])
        }
        BodyKind::Imported => json!({
            "created": 1, "updated": 0, "unchanged": 0, "refused": 0, "withoutKey": 0, "repeatedKeys": 0, "refusals": [],
            "ignoredColumns": [], "dryRun": false,
        }),
        BodyKind::Script => json!({
            "publicUrl": "https://svctrack.example", "scriptPath": "/svctrack.js",
            "trackingPrefix": "/analytics", "script": "https://svctrack.example/svctrack.js",
            "files": [{
                "url": "https://svctrack.example/svctrack-0.1.0.js", "integrity": "sha384-...",
            }],
            "policy": {
                "script-src": ["https://svctrack.example"], "connect-src": ["https://svctrack.example"],
            },
        }),
        BodyKind::Token => issued_token(),
        BodyKind::Tokens => json!([token()]),
        BodyKind::Tenant | BodyKind::DeletedTenant => tenant(),
        BodyKind::CreatedTenant => {
            let (mut tenant, mut token) = (tenant(), issued_token());
            set(&mut token, "label", json!("first token"));
            set(&mut token, "scopes", json!(["*"]));
            set(&mut tenant, "token", token);
            tenant
        }
        BodyKind::Tenants => json!([tenant()]),
        BodyKind::Unsuppressed => json!({ "unsuppressed": 1 }),
        BodyKind::Export => json!({
            "endUser": record(BodyKind::NewRecord, &END_USER)?, "activities": [activity()], "tickets": [],
            "parkedEvents": [], "integrationIssues": [],
        }),
        BodyKind::Health => {
            json!({ "status": "ok", "damaged": 0, "checked": null, "clock": null, "backup": null, "version": env!("CARGO_PKG_VERSION") })
        }
        BodyKind::Closing => super::reports::closing(),
        BodyKind::Closings => json!([super::reports::closing()]),
        gives if gives.report().is_some() => super::reports::example(gives)?,
        _ => return None,
    })
}

/// Value of a parameter in a path: of the record that the example of a create creates, or of something that no store
/// has.
pub(super) fn of_path(path: &str, name: &str, def: Option<&ResourceDef>, tenant: &str) -> String {
    match (name, def) {
        ("tenant", _) => tenant.to_owned(),
        ("pipeline", _) => "segment".to_owned(),
        ("call", _) => "track".to_owned(),
        ("page", _) => "operations".to_owned(),
        ("group", _) => "companies".to_owned(),
        ("month", _) => "2025-12".to_owned(),
        // A license that was lost cannot be renewed.
        (_, Some(def)) if path.ends_with("/lose") => {
            reference_to_example(def).map_or_else(|| ID.to_owned(), |id| id + IN_BULK)
        }
        (_, Some(def)) => reference_to_example(def).unwrap_or_else(|| ID.to_owned()),
        _ if path.starts_with("/tenants") => TENANT.to_owned(),
        _ if path.starts_with("/tokens") => TOKEN_ID.to_owned(),
        _ => ID.to_owned(),
    }
}

/// Tenant of examples, unless there is exactly one.
pub(super) fn unknown_tenant() -> String {
    TENANT.to_owned()
}

fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn reference_to_example(def: &ResourceDef) -> Option<String> {
    let example = read(def.example)?;
    [("extid", "externalId"), ("srcid", "sourceId")]
        .into_iter()
        .find_map(|(form, name)| Some(format!("{form}-{}", example.get(name)?.as_str()?)))
}

/// The example of a create with other keys, by which it would be found when it is sent again.
fn item(def: &ResourceDef, suffix: &str) -> Option<Value> {
    let mut item = read(def.example)?;
    let members = item.as_object_mut()?;
    let is_key = |name: &str| name.ends_with("Id") && def.keys.contains(&name);
    let is_unique = |name: &str| def.field(name).is_some_and(|field| field.unique);
    members.retain(|name, _| is_key(name) || !is_unique(name));
    for (_, value) in members.iter_mut().filter(|(name, _)| is_key(name)) {
        *value = json!(format!("{}{suffix}", value.as_str()?));
    }
    Some(item)
}

/// A tenant's records, with the records of the first start.
struct World {
    memory: Memory,
    ctx: Ctx,
}

impl World {
    fn new() -> Option<Self> {
        let now = Timestamp::from_ms_clamped(NOW_MS);
        let ctx = Ctx::new(now, IdSequence::new([0; 5]), ObjectId::parse(ID));
        let mut world = Self { memory: Memory::default(), ctx };
        let changes = plan::settings(&world.memory, &mut world.ctx).ok()?;
        world.memory.apply(&changes);
        world.create(&COMPANY, &demo_company())?;
        Some(world)
    }

    fn create(&mut self, def: &'static ResourceDef, sent: &Document) -> Option<Planned> {
        let body = checked_body::check_create(def, sent);
        let planned = plan::create(def, body, &self.memory, &mut self.ctx).ok()?;
        self.memory.apply(&planned.changes);
        Some(planned)
    }

    fn update(&mut self, def: &'static ResourceDef, id: ObjectId) -> Option<Planned> {
        let body = checked_body::check_update(def, &document(def.example_update)?);
        plan::update(def, id, body, &self.memory, &mut self.ctx).ok()
    }

    fn renew(&mut self, id: ObjectId) -> Option<Planned> {
        let body = checked_body::check_update(&LICENSE, &document(LICENSE.example_update)?);
        plan::renew(id, body, &self.memory, &mut self.ctx).ok()
    }

    fn lose(&mut self, id: ObjectId) -> Option<Planned> {
        let body = checked_body::check_update(&LICENSE, &document(LOSS)?);
        plan::lose(id, body, &self.memory, &mut self.ctx).ok()
    }

    /// A record for a response.
    fn shown(&self, def: &ResourceDef, planned: &Planned) -> Option<Value> {
        let ctx = ReadCtx::new(self.ctx.now, &self.memory);
        read(&plan::to_response(def, &planned.document, &ctx).ok()?.to_text())
    }
}

fn document(text: &str) -> Option<Document> {
    Document::parse(text.as_bytes()).ok()
}

/// Record of the example, after an update if one is sent.
fn record(takes: BodyKind, def: &'static ResourceDef) -> Option<Value> {
    let mut world = World::new()?;
    let mut planned = world.create(def, &document(def.example)?)?;
    match takes {
        BodyKind::Record => planned = world.update(def, planned.id)?,
        BodyKind::Renewal => planned = world.renew(planned.id)?,
        BodyKind::Loss => planned = world.lose(planned.id)?,
        _ => {}
    }
    world.shown(def, &planned)
}

fn settings() -> Option<Value> {
    let mut world = World::new()?;
    let planned = world.update(&SETTINGS, SETTINGS_ID)?;
    world.shown(&SETTINGS, &planned)
}

fn bulk_result(def: &'static ResourceDef) -> Option<Value> {
    let mut world = World::new()?;
    let item = Ok(document(&item(def, IN_BULK)?.to_string())?);
    let access = UpsertAccess { create: true, update: true };
    let upserted =
        upsert(def, 0, &item, access, UnknownMemberPolicy::Lenient, &world.memory, &mut world.ctx)
            .ok()?;
    let mut summary = UpsertSummary::default();
    summary.add(upserted.outcome);
    read(&summary.into_response(def))
}

fn activity() -> Value {
    json!({
        "_id": ID, "companyId": ID, "companyName": "Demo company", "endUserId": ID, "endUserName": "Grace Hopper",
        "email": "grace@example.com", "externalId": "example-user", "assetId": null, "assetExtId": null,
        "projectId": null, "projectExtId": null, "action": "Opened report", "info": { "pages": 3 },
        "count": 1, "weight": 1, "passive": false, "date": "2026-01-15T12:00:00.000Z",
        "receivedAt": "2026-01-15T12:00:00.000Z", "route": "realtime", "messageId": null,
    })
}

fn issue() -> Value {
    json!({
        "_id": ID, "route": "realtime", "code": "company_unknown",
        "message": "no company has the `externalId` `exmaple`: create it, or correct what is sent",
        "at": "2026-01-15T12:00:00.000Z", "count": 2,
        "sample": { "externalId": "example-user", "companyExternalId": "exmaple" }, "parked": 2,
    })
}

fn audit_entry() -> Value {
    json!({
        "_id": "6968d6400000000000000005", "sequence": 5, "at": "2026-01-15T12:00:00.000Z",
        "action": "company.update", "outcome": "done", "cause": null, "count": 1, "actor": "token",
        "tokenId": TOKEN_ID, "tokenName": "Example", "sessionId": null, "resource": "companies", "id": ID,
        "created": 0, "updated": 1, "deleted": 0, "address": "192.0.2.7", "requestId": "aGVsbG8h-1",
        "changes": [{
            "resource": "companies", "id": ID, "change": "updated",
            "properties": {
                "name": {
                    "beforeHash": "0f343b0931126a20f133d67c2b018a3b",
                    "afterHash": "8d969eef6ecad3c29a3a629280e686cf",
                },
            },
        }],
    })
}

fn token() -> Value {
    json!({
        "_id": TOKEN_ID, "label": "Example", "scopes": ["products:read"], "userId": ID,
        "createdAt": "2026-01-15T12:00:00.000Z", "createdBy": null, "expiresAt": null, "lastUsedAt": null,
        "replacedBy": null,
    })
}

fn issued_token() -> Value {
    let mut token = token();
    set(&mut token, "token", json!(format!("svt_{TOKEN_ID}_...")));
    token
}

fn tenant() -> Value {
    json!({
        "_id": TENANT, "name": "Example", "createdAt": "2026-01-15T12:00:00.000Z", "state": "active",
        "suspended": false,
    })
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::REGISTRY;

    use super::*;

    #[test]
    fn every_resource_has_examples_that_its_rules_take() {
        for def in REGISTRY {
            let made = record(BodyKind::NewRecord, def).unwrap_or_else(|| panic!("{}", def.path));
            let changed = record(BodyKind::Record, def).unwrap_or_else(|| panic!("{}", def.path));
            assert_eq!((&made["__v"], &changed["__v"]), (&json!(0), &json!(1)), "{}", def.path);
            assert!(reference_to_example(def).is_some(), "{}", def.path);
            assert_eq!(bulk_result(def).unwrap()["created"], 1, "{}", def.path);
        }
        assert_eq!(settings().unwrap()["timeZone"], "UTC");
    }
}
