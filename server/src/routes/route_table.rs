//! Every route on one screen, in the order of the contract. The API reference at `/docs/api` and `/openapi.json` are
//! generated from this table.

use std::collections::BTreeMap;

use poem::http::Method;
use serde_json::Value;
use svctrack_core::{access::OPERATOR, resources::REGISTRY, value::TenantId};

use crate::{
    openapi, routes,
    routing::{
        dispatch::{Handler, Methods, RecordHandler, ResourceHandler, ServedMethod},
        route_def::{
            BodyKind, DescribedRoute,
            RouteAccess::{Anyone, OfResource, Scope, Scopes, TenantAsUser},
            RouteDef, RouteDoc,
        },
    },
};

macro_rules! alone {
    ($handler:path) => {
        |app, mut request| Box::pin(async move { $handler(app, &mut request).await })
    };
}

macro_rules! record {
    ($handler:path) => {
        |app, mut request, def| Box::pin(async move { $handler(app, &mut request, def).await })
    };
}

/// Writes a route: method, path, permission, body and response, summary and handler; on the next line its description,
/// in Markdown, for callers.
macro_rules! route {
    ($method:ident $path:literal, $access:expr, $takes:ident => $gives:ident, $summary:literal, $handler:expr, $description:expr) => {
        RouteDef {
            method: Method::$method,
            path: $path,
            doc: RouteDoc {
                summary: $summary,
                description: $description,
                access: $access,
                takes: BodyKind::$takes,
                gives: BodyKind::$gives,
            },
            handler: $handler,
        }
    };
}

/// Routes that every resource has; `*` is its name in paths.
#[rustfmt::skip]
static RECORD_ROUTES: &[RouteDef<RecordHandler>] = &[
    route!(POST "/*", OfResource("create"), NewRecord => Record, "Create a record", record!(routes::records::create),
        "Returns the stored record with its computed fields. A unique key, such as `externalId`, of another record is rejected with 409. With `Idempotency-Key`, a retry has no further effect."),
    route!(GET "/*", OfResource("read"), Nothing => Records, "List records", record!(routes::records::list),
        "Ordered by `_id` unless `sort` is given. Every property is a filter. Page with `after`, the last `_id` of the previous page, which is stable under concurrent writes, or with `offset`. `Svctrack-Next` and `Link` have the next page."),
    route!(PUT "/*", OfResource("update"), Items => BulkResult, "Upsert records in bulk", record!(routes::records::upsert),
        "Applies up to 5,000 items in order, in one transaction. An item updates the record that one of its keys matches; otherwise it creates one. Invalid items do not affect valid ones, and the status is always 200: check `Svctrack-Bulk-Errors`. A token with only one of the scopes to create and to update can upsert the items that need no other."),
    route!(GET "/*/:id", OfResource("read"), Nothing => Record, "Get a record", record!(routes::records::read),
        "If `If-None-Match` has the current `ETag`, the response is a 304 without a body."),
    route!(PUT "/*/:id", OfResource("update"), Record => Record, "Update a record", record!(routes::records::update),
        "Merges the body into the record: absent properties are unchanged, `null` clears a property, and `custom` is merged key by key. If `If-Match` has an outdated `ETag`, the update is rejected with 412."),
    route!(PATCH "/*/:id", OfResource("update"), Record => Record, "Update a record (the same as PUT)", record!(routes::records::update),
        "Merges the body into the record, as PUT does."),
    route!(DELETE "/*/:id", OfResource("delete"), Nothing => Deleted, "Delete a record", record!(routes::records::delete),
        "If `If-Match` has an outdated `ETag`, the delete is rejected with 412."),
    route!(POST "/import/*", OfResource("update"), Table => Imported, "Import records", record!(routes::import::import),
        "Imports records from CSV (`text/csv`) or NDJSON (`application/x-ndjson`) of any length; with `application/octet-stream` the first character tells which: `{` begins NDJSON. Each row updates the record that its keys match, or creates one, as in a bulk upsert. Rows are stored in order, and invalid rows do not affect valid ones. A token with only one of the scopes to create and to update can import the rows that need no other. With `dryRun` nothing is stored, and each row is checked as if the rows before it were. If the connection breaks, the body can be sent again. A line of NDJSON such as `{\"$resource\": \"licenses\"}` sets the resource of the following lines."),
];

#[rustfmt::skip]
static ROUTES: &[RouteDef<Handler>] = &[
    route!(POST "/analytics/:tenant", Anyone, Event => Ok, "Track an event in real time", alone!(routes::tracking::realtime),
        "`OK` means that the event is stored durably, or that a rule ignores it. `email` or `externalId` identifies the user, who is created if the company is known and the settings allow it. The body is read as JSON whatever its `Content-Type`, so a web page can send it without a CORS preflight."),
    route!(OPTIONS "/analytics/:tenant", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/dock/:pipeline", TenantAsUser, Calls => Ok, "Track calls of a customer-data pipeline", alone!(routes::sdk_calls::dock),
        "Takes one call, an array of calls, or an object with `batch`. `identify` and `track` calls are events; `group` creates or fills in a company and assigns the user to it; `page` and `screen` are activities if `trackPages` is on. Other calls, and calls without user id and e-mail, are ignored and counted in the report of integration issues. A call for an unknown user without a known company is discarded and listed there. The tenant can also be `writeKey` in the body."),
    route!(OPTIONS "/dock/:pipeline", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/dock/:pipeline/v1/batch", TenantAsUser, Batch => Success, "Track the batch of a pipeline's SDK", alone!(routes::sdk_calls::batch),
        "The same as `/v1/batch`."),
    route!(OPTIONS "/dock/:pipeline/v1/batch", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/dock/:pipeline/v1/:call", TenantAsUser, Call => Success, "Track a call of a pipeline's SDK", alone!(routes::sdk_calls::call),
        "The same as `/v1/{call}`."),
    route!(OPTIONS "/dock/:pipeline/v1/:call", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/v1/batch", TenantAsUser, Batch => Success, "Track the batch of an SDK", alone!(routes::sdk_calls::batch),
        "For the public SDKs of customer-data pipelines, with the tenant's UUID as write key. Invalid calls do not affect valid ones: they are counted in `Svctrack-Rejected-Count` and listed in the report of integration issues."),
    route!(OPTIONS "/v1/batch", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/v1/:call", TenantAsUser, Call => Success, "Track a call of an SDK", alone!(routes::sdk_calls::call),
        "One call with its type in the path; otherwise as `/v1/batch`."),
    route!(OPTIONS "/v1/:call", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(POST "/analytics/bulk/:tenant", Anyone, Events => Ok, "Track events in bulk", alone!(routes::tracking::bulk),
        "The rows are stored in order. Invalid rows do not affect valid ones: they are counted in `Svctrack-Rejected-Count` and listed in the report of integration issues. A body that is not a JSON array is rejected as a whole."),
    route!(OPTIONS "/analytics/bulk/:tenant", Anyone, Nothing => Nothing, "CORS preflight", alone!(routes::cors::preflight),
        "Any origin may send events, without credentials."),
    route!(GET "/activities", Scope("activities:read"), Nothing => Activities, "List activities", alone!(routes::activities::list),
        "Activities of end users, newest stored first, with current names and e-mails."),
    route!(GET "/integrationissues", Scope("reports:read"), Nothing => Report, "List integration issues", alone!(routes::integration_issues::list),
        "Problems that senders of events and tickets should fix, and licenses that could not be renewed automatically, newest first. Problems with the same cause share an entry. Entries are stored for 30 days."),
    route!(DELETE "/integrationissues/:id", Scope("admin"), Nothing => Deleted, "Remove an integration issue", alone!(routes::integration_issues::delete),
        "Removes the entry from the report. If it does not exist, `deletedCount` is 0."),
    route!(POST "/integrationissues/:id/replay", Scope("admin"), Nothing => Replayed, "Replay parked events", alone!(routes::integration_issues::replay),
        "Processes the parked events of an entry again, after the cause is fixed. The first of them are processed before the response, the others after it."),
    route!(GET "/reports/mrr", Scope("reports:read"), Nothing => Mrr, "Report MRR and its movements", alone!(routes::reports::mrr),
        "MRR at the start and end of each period, and its movements: new, reactivation, expansion, contraction, churn. By currency and converted, and by segment with `by`. Licenses that do not count are listed under `excluded`. `explain` returns the companies and licenses that contribute to a figure."),
    route!(GET "/reports/retention", Scope("reports:read"), Nothing => Retention, "Report retention and cohorts", alone!(routes::reports::retention),
        "NRR, GRR, gross and net MRR churn, logo churn and quick ratio: by period, for the 12 months that end with it, and for the whole report, with their formulas. Cohorts are by the month, quarter or year of the first payment. `explain` returns the companies and licenses that contribute to a figure."),
    route!(GET "/reports/renewals", Scope("reports:read"), Nothing => Renewals, "Report renewals", alone!(routes::reports::renewals),
        "Fixed licenses that are due in each period, with their outcomes (renewed, upgraded, downgraded, churned, overdue, open), renewal rates, and the list of licenses. `explain` returns the companies and licenses that contribute to a figure."),
    route!(GET "/reports/forecast", Scope("reports:read"), Nothing => Forecast, "Forecast MRR", alone!(routes::reports::forecast),
        "MRR at the end of each period in three scenarios: confirmed by licenses that are still active, and unconfirmed from licenses that may be renewed. `explain` returns the companies and licenses that contribute to a figure."),
    route!(GET "/reports/customers", Scope("reports:read"), Nothing => Customers, "Report customers by MRR at stake", alone!(routes::reports::customers),
        "One row per company with a license that counts: MRR, next renewal, usage, and MRR at stake with its formula in numbers."),
    route!(GET "/reports/usage", Scope("reports:read"), Nothing => Usage, "Report usage", alone!(routes::reports::usage),
        "Active users and companies by period (active, new, returning, DAU, WAU, MAU, stickiness), user retention by week of first activity, and activities by action. `explain` returns the users that a figure counts."),
    route!(POST "/reports/closings", Scope("admin"), NewClosing => Closing, "Close a month", alone!(routes::closings::create),
        "Stores the current MRR figures of a month, with the time and the token. Later monthly MRR reports show the changes since under `closings`. Months are closed in order, after they have ended. Closing a closed month again returns the stored figures."),
    route!(GET "/reports/closings", Scope("reports:read"), Nothing => Closings, "List closed months", alone!(routes::closings::list),
        "Closed months in order, each with its figures, and months that were reopened, each with when and why."),
    route!(GET "/reports/closings/:month", Scope("reports:read"), Nothing => Closing, "Get a closed month", alone!(routes::closings::read),
        "The stored figures of a closed month. With `by=company` also those of each company, computed from the history."),
    route!(DELETE "/reports/closings/:month", Scope("admin"), Nothing => Reopened, "Reopen the last closed month", alone!(routes::closings::delete),
        "Deletes the stored figures. The `reason` is stored with the time and the token, and listed under `reopened`, also when the month is closed again. Only the last closed month can be reopened; any earlier one is rejected with 409. If `If-Match` has an outdated `ETag` of the month, the call is rejected with 412. If the month is not closed, `deletedCount` is 0."),
    route!(GET "/activities/stream", Scope("activities:read"), Nothing => Stream, "Stream activities", alone!(routes::activity_stream::listen),
        "Streams activities as server-sent events as they are stored. `Last-Event-ID`, or `after`, resumes the stream after a lost connection."),
    route!(GET "/endusers/:id/export", Scopes(routes::privacy_requests::EXPORT_SCOPES), Nothing => Export, "Export a person's data", alone!(routes::privacy_requests::export),
        "All data about an end user, for a data subject's request: the record, activities, tickets, parked events and integration issues. Needs the scopes of all of these."),
    route!(POST "/endusers/unsuppress", Scope("admin"), Keys => Unsuppressed, "Lift the suppression of erased people", alone!(routes::privacy_requests::unsuppress),
        "Events, tickets and records with a key of an erased person are suppressed. This call lifts the suppression of the given keys."),
    route!(POST "/licenses/:id/renew", Scopes(routes::licenses::RENEW_SCOPES), Renewal => Successor, "Renew a license", alone!(routes::licenses::renew),
        "Creates and returns the successor of the license, and marks the license as `renewed`, in one transaction. The successor begins at the end of the license, lasts `renewalPeriod`, or as long as the license if that is not set, and costs `renewalMrr`; properties in the body override these terms, and `null` leaves a property without a value, which start, end, price and currency need. A license that is lost or already has a successor is rejected with 409, and one without a fixed period with 422. If `If-Match` has an outdated `ETag`, the call is rejected with 412. With `dryRun` nothing is stored."),
    route!(POST "/licenses/:id/lose", Scopes(routes::licenses::LOSE_SCOPES), Loss => Record, "Mark a license as lost", alone!(routes::licenses::lose),
        "Marks the license as `lost`, with `lostReason`, and returns it. It ends at `toDate` if the body has one; otherwise a fixed license ends at its end date, and an open-ended one now. A license that is already lost or renewed is rejected with 409. If `If-Match` has an outdated `ETag`, the call is rejected with 412. With `dryRun` nothing is stored."),
    route!(GET "/leancompanies", Scope("companies:read"), Nothing => LeanCompanies, "List companies with their ids only", alone!(routes::lean_companies::list),
        "Companies with their name and ids, to map them to other systems. The filters `externalId`, `sourceId` and `status` can be repeated."),
    route!(POST "/tokens", Scope("admin"), NewToken => Token, "Create a token", alone!(routes::tokens::create),
        "Only this response contains the token. A token can issue only tokens with scopes that it has itself, and they expire no later than it does."),
    route!(GET "/tokens", Scope("admin"), Nothing => Tokens, "List tokens", alone!(routes::tokens::list),
        "Tokens of the tenant, without their secrets."),
    route!(POST "/tokens/:id/rotate", Scope("admin"), Rotation => Token, "Rotate a token", alone!(routes::tokens::rotate),
        "Issues a successor with the same label, scopes and user. The old token stays valid for `keepOldForSeconds`. The caller needs every scope of the old token, and the successor expires no later than the caller's token. Only this response contains the successor."),
    route!(DELETE "/tokens/:id", Scope("admin"), Nothing => Revoked, "Revoke a token", alone!(routes::tokens::revoke),
        "Takes effect on the next request. With `cascade`, all tokens derived from it are revoked too, and `deletedCount` has their number. The last token with the scope `admin`, or the last operator token with `operator`, cannot be revoked (409): issue another one first, or rotate it."),
    route!(GET "/audit", Scope("admin"), Nothing => Audit, "List the audit log", alone!(routes::audit::list),
        "Who wrote what, when and from where, newest first: one entry per request that changed data, stored in the same transaction. Filter by `resource` and `id` for the changes of a record; a deleted record is found by its `_id`. Values are stored as salted hashes, and equal values of a property have equal hashes."),
    route!(GET "/settings", Scope("admin"), Nothing => Settings, "Get the tenant's settings", alone!(routes::settings::read),
        "Settings of the token's tenant, including defaults."),
    route!(PUT "/settings", Scope("admin"), Settings => Settings, "Update the tenant's settings", alone!(routes::settings::update),
        "Merges the body into the settings: absent properties are unchanged, and `null` restores a default."),
    route!(PATCH "/settings", Scope("admin"), Settings => Settings, "Update settings (the same as PUT)", alone!(routes::settings::update),
        "Merges the body into the settings, as PUT does."),
    route!(POST "/tenants", Scope(OPERATOR), NewTenant => CreatedTenant, "Create a tenant", alone!(routes::tenants::create),
        "Needs an operator token. Only this response contains the tenant's first token."),
    route!(GET "/tenants", Scope(OPERATOR), Nothing => Tenants, "List tenants", alone!(routes::tenants::list),
        "Needs an operator token."),
    route!(GET "/tenants/:id", Scope(OPERATOR), Nothing => Tenant, "Get a tenant", alone!(routes::tenants::read),
        "A tenant that is being deleted is returned with `rowsRemoved` until all its data is removed. Needs an operator token."),
    route!(PUT "/tenants/:id", Scope(OPERATOR), TenantChange => Tenant, "Rename, suspend or resume a tenant", alone!(routes::tenants::update),
        "Calls of a suspended tenant are rejected with 403, and its events with 503 and `Retry-After`, so that senders store and retry them. Its data and tokens stay. Needs an operator token."),
    route!(PATCH "/tenants/:id", Scope(OPERATOR), TenantChange => Tenant, "Change a tenant (the same as PUT)", alone!(routes::tenants::update),
        "Renames, suspends or resumes a tenant, as PUT does."),
    route!(DELETE "/tenants/:id", Scope(OPERATOR), Nothing => DeletedTenant, "Delete a tenant", alone!(routes::tenants::delete),
        "Takes effect on the next request. All data of the tenant is removed in the background; older backups still contain it. The last tenant cannot be deleted. Needs an operator token."),
    route!(GET "/backup", Scope(OPERATOR), Nothing => Archive, "Download a backup", alone!(routes::backup::download),
        "A consistent snapshot of all tenants as one archive, created while the server runs. Needs an operator token."),
    route!(GET "/script.json", Anyone, Nothing => Script, "Get the snippet and the files of the tracking script", alone!(routes::pages::script),
        "URLs and hashes of the browser script and its files. With `tenant`, also the snippet to paste, and its sources for a Content-Security-Policy. `svctrack script` prints the same."),
    route!(GET "/openapi.json", Anyone, Nothing => Object, "Get this description", |app, request| Box::pin(async move { routes::pages::openapi(app, &request, describe).await }),
        "This API description, in OpenAPI 3.1."),
    route!(GET "/docs", Anyone, Nothing => Page, "Read the documentation", alone!(routes::docs::index),
        "The documentation of this version."),
    route!(GET "/docs/api", Anyone, Nothing => Page, "Read the API reference", |app, request| Box::pin(async move { routes::docs::reference(app, &request, describe).await }),
        "All operations, and what they share: credentials, errors, headers and objects."),
    route!(GET "/docs/api/:group", Anyone, Nothing => Page, "Read a group of the API reference", |app, request| Box::pin(async move { routes::docs::reference(app, &request, describe).await }),
        "The operations of a group, such as `companies`, with their examples and objects."),
    route!(GET "/docs/search", Anyone, Nothing => Page, "Search the documentation", |app, request| Box::pin(async move { routes::docs::search(app, &request, describe).await }),
        "Sections of the documentation that contain every word of `q`, also as the beginning of a word."),
    route!(GET "/docs/:page", Anyone, Nothing => Page, "Read a page of the documentation", alone!(routes::docs::page),
        "A page of the documentation, such as `operations`."),
    route!(GET "/demo", Anyone, Nothing => Page, "Try the tracking script", alone!(routes::pages::demo),
        "A page with the snippet of a tenant, which sends events and shows what was stored."),
    route!(GET "/health", Anyone, Nothing => Health, "Check the service's health", alone!(routes::health::health),
        "200 while the store can be read and written, else 503."),
];

/// Every route with its path in the form of the API.
pub(crate) fn described() -> Vec<DescribedRoute> {
    let alone = ROUTES.iter().map(|RouteDef { method, path, doc, .. }| {
        let def = REGISTRY.iter().find(|def| path.split('/').nth(1) == Some(def.path)).copied();
        DescribedRoute { method: method.clone(), path: (*path).to_owned(), doc: *doc, def }
    });
    let of_records = REGISTRY.iter().flat_map(|def| {
        RECORD_ROUTES.iter().map(|RouteDef { method, path, doc, .. }| {
            let path = path.replacen('*', def.path, 1);
            DescribedRoute { method: method.clone(), path, doc: *doc, def: Some(*def) }
        })
    });
    of_records.chain(alone).collect()
}

/// The description of the API.
pub(crate) fn describe(public_url: &str, tenant: Option<TenantId>) -> Value {
    openapi::document(&described(), public_url, tenant)
}

/// Routes at their fixed paths.
pub(crate) fn own_paths() -> BTreeMap<String, Methods> {
    let mut paths: BTreeMap<String, Methods> = BTreeMap::new();
    for route in ROUTES {
        let has_parameters = openapi::has_parameters(route.path, &route.doc, None);
        let served = ServedMethod { serve: ResourceHandler::Alone(route.handler), has_parameters };
        paths.entry(route.path.to_owned()).or_default().push((route.method.clone(), served));
    }
    for def in REGISTRY {
        for route in RECORD_ROUTES {
            let path = route.path.replacen('*', def.path, 1);
            let has_parameters = openapi::has_parameters(&path, &route.doc, Some(def));
            let served =
                ServedMethod { serve: ResourceHandler::Record(route.handler, def), has_parameters };
            paths.entry(path).or_default().push((route.method.clone(), served));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        describe("http://x", None)
    }

    #[test]
    fn every_route_is_described() {
        let document = document();
        let operations = document["paths"].as_object().unwrap().values();
        let operations: Vec<_> =
            operations.flat_map(|of_path| of_path.as_object().unwrap().values()).collect();
        assert_eq!(operations.len(), described().len());
        for operation in operations {
            for said in ["summary", "description"] {
                let text = operation[said].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{} has no {said}", operation["operationId"]);
            }
        }
    }

    #[test]
    fn every_reference_in_the_description_finds_its_schema() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("\"#/").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(&format!("/{pointer}")).is_some(), "{pointer}");
        }
    }
}
