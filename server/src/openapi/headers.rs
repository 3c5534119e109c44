//! The headers of responses in the OpenAPI description, each described once.

use serde_json::{Value, json};

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
        "The next page, if there is one: `<...>; rel=\"next\"`. It repeats the query, and is left out where it would be longer than 2 KiB.",
        "string",
    ),
    ("Svctrack-Next", NEXT, "string"),
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
    ("WWW-Authenticate", "Scheme of the credentials that are expected.", "string"),
    ("Accept-Encoding", "Encoding that is supported, when another one was sent.", "string"),
    ("Content-Disposition", "Name of the file.", "string"),
    ("Access-Control-Allow-Methods", "Methods that a page may use.", "string"),
    ("Access-Control-Allow-Headers", "Headers that a page may send.", "string"),
    ("Access-Control-Max-Age", "Seconds for which a browser may remember this.", "integer"),
];

const NEXT: &str = "Cursor of the next page, if there is one, which takes the place of the one in the query: `after=...` or `offset=...`.";
/// The description of [`MAX_REJECTED_INDEXES`].
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
