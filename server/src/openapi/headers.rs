//! The headers of responses in the OpenAPI description, each described once.

use serde_json::{Value, json};

use crate::limits::MAX_REJECTED_INDEXES;

/// Headers of responses, each with its description and the type of its value.
const HEADERS: &[(&str, &str, &str)] = &[
    ("X-Request-Id", "Id of the request, which is in the log too.", "string"),
    (
        "ETag",
        "Version of the record, or hash of the list, for `If-Match` and `If-None-Match`.",
        "string",
    ),
    (
        "Link",
        "The next page, if there is one: `<...>; rel=\"next\"`. Omitted if it would be longer than 2 KiB.",
        "string",
    ),
    ("Svctrack-Next", NEXT, "string"),
    ("Svctrack-Total", "With `count=true`, the number of records on all pages.", "integer"),
    (
        "Svctrack-Ignored",
        "Names of unknown or read-only members and parameters that were ignored, separated by commas.",
        "string",
    ),
    ("Svctrack-Parked", "Codes of the report that say why events are parked.", "string"),
    (
        "Svctrack-Parked-Total",
        "Number of all parked events, including those of removed entries.",
        "integer",
    ),
    ("Svctrack-Bulk-Errors", "Number of items that were rejected.", "integer"),
    ("Svctrack-Rejected-Count", "Number of rows that were rejected, if any.", "integer"),
    ("Svctrack-Rejected", REJECTED, "string"),
    (
        "Idempotent-Replayed",
        "`true` if this is the stored response of an earlier call with the same key.",
        "string",
    ),
    ("Retry-After", "Seconds to wait before a retry.", "integer"),
    ("WWW-Authenticate", "Expected authentication scheme.", "string"),
    ("Accept-Encoding", "Supported encodings, if another one was sent.", "string"),
    ("Content-Disposition", "Name of the file.", "string"),
    ("Access-Control-Allow-Methods", "Methods that a web page may use.", "string"),
    ("Access-Control-Allow-Headers", "Headers that a web page may send.", "string"),
    ("Access-Control-Max-Age", "Seconds for which the browser may cache this.", "integer"),
];

const NEXT: &str = "Cursor of the next page, if there is one: `after=...` or `offset=...`, which replaces the one in the query.";
/// The description of [`MAX_REJECTED_INDEXES`].
const REJECTED: &str = "Indexes of rejected rows, separated by commas; at most 100, then `...`.";
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
