//! The responses of a route: what a success holds, with its headers, and what it can be rejected with.

use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;

use super::{Kind, RouteDoc, bodies::response_content, is_list, problems, set};
use crate::limits::MAX_REJECTED_INDEXES;

/// Headers of responses, each with what it says and the type of its value.
const HEADERS: &[(&str, &str, &str)] = &[
    ("X-Request-Id", "Id of the request, which the log names too.", "string"),
    (
        "ETag",
        "Version of the record, for `If-Match` and `If-None-Match`, or hash of the list.",
        "string",
    ),
    (
        "Link",
        "The next page, if there is one: `<...>; rel=\"next\"`. It repeats the query; one of more than 2 KB has to fit on one page, else it is rejected with 414.",
        "string",
    ),
    ("Svctrack-Total", "With `count=true`, the number of records on all pages.", "integer"),
    ("Svctrack-Ignored", "Names of what was sent and is not known, separated by commas.", "string"),
    (
        "Svctrack-Parked",
        "Why events wait for their user or company: codes of the report.",
        "string",
    ),
    ("Svctrack-Bulk-Errors", "Number of items that were rejected.", "integer"),
    ("Svctrack-Rejected-Count", "Number of rows that were rejected, if any.", "integer"),
    ("Svctrack-Rejected", REJECTED, "string"),
    ("Idempotent-Replayed", "`true` if an earlier call with this key had the effect.", "string"),
    ("Retry-After", "Seconds to wait before a retry.", "integer"),
    ("Location", "Where to go on.", "string"),
    ("WWW-Authenticate", "Scheme of the credentials that are expected.", "string"),
    ("Accept-Encoding", "Encoding that is supported, when another one was sent.", "string"),
    ("Content-Disposition", "Name of the file.", "string"),
    ("Access-Control-Allow-Methods", "Methods that a page may use.", "string"),
    ("Access-Control-Allow-Headers", "Headers that a page may send.", "string"),
    ("Access-Control-Max-Age", "Seconds for which a browser may remember this.", "integer"),
];

/// What is said of [`MAX_REJECTED_INDEXES`].
const REJECTED: &str = "Indexes of rejected rows, separated by commas: at most 100, then `...`.";
const _: () = assert!(MAX_REJECTED_INDEXES == 100, "as `REJECTED` says");

/// The headers, by name.
pub(super) fn headers() -> Value {
    let described =
        |doc: &str, kind: &str| json!({ "description": doc, "schema": { "type": kind } });
    HEADERS.iter().map(|(name, doc, kind)| ((*name).to_owned(), described(doc, kind))).collect()
}

/// Headers of a response, described elsewhere.
pub(super) fn header_references(names: &[&str]) -> Value {
    let referred = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    names.iter().map(|name| ((*name).to_owned(), referred(name))).collect()
}

/// Every response of a route, by status.
pub(super) fn responses(
    method: &str,
    path: &str,
    doc: &RouteDoc,
    def: Option<&'static ResourceDef>,
) -> Value {
    let mut responses = Map::new();
    let status = if doc.gives == Kind::Redirect { "307" } else { "200" };
    responses.insert(status.to_owned(), success(doc, def));
    if is_conditional(doc) {
        let unchanged = json!({
            "description": "The caller has the current version.",
            "headers": header_references(&["X-Request-Id", "ETag"]),
        });
        responses.insert("304".to_owned(), unchanged);
    }
    if doc.gives == Kind::Health {
        responses.insert("503".to_owned(), success(doc, def));
    }
    problems::add(&mut responses, method, path, doc, def);
    Value::Object(responses)
}

/// Whether a route answers 304 to who has the current version.
pub(super) fn is_conditional(doc: &RouteDoc) -> bool {
    let gives = matches!(
        doc.gives,
        Kind::Record
            | Kind::Settings
            | Kind::Records
            | Kind::Activities
            | Kind::Report
            | Kind::LeanCompanies
            | Kind::Tokens
            | Kind::Tenants
    );
    doc.takes == Kind::Nothing && gives
}

fn success(doc: &RouteDoc, def: Option<&'static ResourceDef>) -> Value {
    let description = match doc.gives {
        Kind::Health => "The state of the service.",
        Kind::Redirect => "The page is at the address in `Location`.",
        Kind::Ok | Kind::Success => "The events are stored durably.",
        gives if is_list(gives) => "The list; as CSV with `Accept: text/csv`.",
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
    use Kind as K;
    let gives_list = is_list(doc.gives);
    let takes_members = matches!(
        doc.takes,
        K::NewRecord
            | K::Record
            | K::Items
            | K::Settings
            | K::NewToken
            | K::Rotation
            | K::NewTenant
            | K::TenantChange
            | K::Keys
    );
    let is_events = doc.takes.is_events();
    let takes_key = is_events || matches!(doc.takes, K::NewRecord | K::Items);
    let conditional: [(bool, &[&'static str]); 10] = [
        (doc.gives == K::Redirect, &["Location"]),
        (matches!(doc.gives, K::Record | K::Settings) || is_conditional(doc), &["ETag"]),
        (gives_list, &["Link", "Svctrack-Total"]),
        (gives_list || takes_members || is_events, &["Svctrack-Ignored"]),
        (is_events, &["Svctrack-Parked"]),
        (doc.gives == K::BulkAnswer, &["Svctrack-Bulk-Errors"]),
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
