//! Error responses: one table of statuses, each with an example.

use poem::http::StatusCode;
use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;

use super::{
    headers::header_references,
    parts::{reference, set},
};
use crate::routing::route_def::{BodyKind, RouteAccess, RouteDoc};

/// A status that a request can be rejected with.
struct ProblemDoc {
    status: StatusCode,
    /// Name of the problem among the responses.
    name: &'static str,
    doc: &'static str,
    headers: &'static [&'static str],
    /// Code and detail of the example.
    example: (&'static str, &'static str),
}

/// Writes the table, one status a line.
macro_rules! problems {
    ($($status:ident $name:literal $headers:expr, $doc:literal, $code:literal $detail:literal;)*) => {
        static PROBLEMS: &[ProblemDoc] = &[$(ProblemDoc {
            status: StatusCode::$status,
            name: $name,
            doc: $doc,
            headers: &$headers,
            example: ($code, $detail),
        }),*];
    };
}

#[rustfmt::skip]
problems! {
    BAD_REQUEST "BadRequest" [], "The body, the path or the query is malformed.", "invalid_limit" "`limit` must be from 1 to 2000; found `5000`";
    UNAUTHORIZED "Unauthorized" ["WWW-Authenticate"], "There are no valid credentials.", "token_missing" "send `Authorization: Bearer <token>`";
    FORBIDDEN "Forbidden" [], "The token lacks the scope, or the tenant is suspended.", "scope_missing" "the token needs the scope `products:read`";
    NOT_FOUND "NotFound" [], "The record or tenant does not exist.", "not_found" "the record does not exist";
    CONFLICT "Conflict" [], "The request conflicts with another record, or with a call that is still running.", "taken" "`externalId` is held by another record";
    PRECONDITION_FAILED "PreconditionFailed" [], "The record has another version than `If-Match`.", "version_mismatch" "the record has another version";
    PAYLOAD_TOO_LARGE "PayloadTooLarge" [], "The body is too large, or has too many items.", "too_many_items" "a request must have at most 5000 items";
    UNSUPPORTED_MEDIA_TYPE "UnsupportedMediaType" ["Accept-Encoding"], "The body's media type, charset or encoding is not supported.", "unsupported_media_type" "expected `application/json`";
    UNPROCESSABLE_ENTITY "UnprocessableEntity" [], "The body is well-formed, but breaks the rules that `errors` lists.", "required" "`name` is required";
    TOO_MANY_REQUESTS "TooManyRequests" ["Retry-After"], "A limit of requests, or of events without a token, is reached.", "too_many_requests" "the rate limit of 100 requests per second is reached: retry later";
    SERVICE_UNAVAILABLE "ServiceUnavailable" ["Retry-After"], "The store cannot write at the moment, the server is overloaded, or the tenant of the events is suspended; retry later. After `store_stalled` the write may still be stored: retry with the same `Idempotency-Key` or `messageId`.", "busy" "too many writes of this tenant are queued: retry later";
    INSUFFICIENT_STORAGE "InsufficientStorage" ["Retry-After"], "The disk is full. Reads continue.", "disk_full" "the disk of the server is full: retry once it has free space";
}

/// Response of any other error.
const OTHER: &str = "Problem";

/// The responses to rejected requests, by name.
pub(super) fn responses() -> Value {
    let mut responses = Map::new();
    for problem in PROBLEMS {
        let mut response = content(problem.doc, &[&["X-Request-Id"], problem.headers].concat());
        let example = json!({ "application/problem+json": {
            "schema": reference("Problem"), "example": example(problem),
        } });
        set(&mut response, "content", example);
        responses.insert(problem.name.to_owned(), response);
    }
    responses.insert(OTHER.to_owned(), content("Any other error.", &["X-Request-Id"]));
    Value::Object(responses)
}

fn content(doc: &str, headers: &[&str]) -> Value {
    json!({
        "description": doc, "headers": header_references(headers),
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

fn example(problem: &ProblemDoc) -> Value {
    let (code, detail) = problem.example;
    let mut example = json!({
        "type": "about:blank",
        "title": problem.status.canonical_reason().unwrap_or_default(),
        "status": problem.status.as_u16(),
        "detail": detail,
        "message": detail,
        "code": code,
        "requestId": "5f3c1e2a-1",
    });
    if problem.status == StatusCode::UNPROCESSABLE_ENTITY {
        let error = json!({ "pointer": "/name", "code": code, "message": detail });
        set(&mut example, "errors", json!([error]));
    }
    example
}

/// Adds the error responses of a route.
pub(super) fn add(
    responses: &mut Map<String, Value>,
    method: &str,
    path: &str,
    doc: &RouteDoc,
    def: Option<&ResourceDef>,
) {
    let rejects = |status| rejects(status, method, path, doc, def);
    for problem in PROBLEMS.iter().filter(|problem| rejects(problem.status)) {
        let status = problem.status.as_str().to_owned();
        responses.entry(status).or_insert_with(|| referred(problem.name));
    }
    responses.insert("default".to_owned(), referred(OTHER));
}

fn referred(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// Whether a route rejects requests with this status.
fn rejects(
    status: StatusCode,
    method: &str,
    path: &str,
    doc: &RouteDoc,
    def: Option<&ResourceDef>,
) -> bool {
    use StatusCode as S;
    let has_token = !matches!(doc.access, RouteAccess::Anyone | RouteAccess::TenantAsUser);
    let of_tenant = has_token || doc.takes.is_events();
    let called = method != "options" && of_tenant;
    let writes = called && method != "get";
    let has_body = doc.takes != BodyKind::Nothing;
    let is_list = matches!(
        doc.gives,
        BodyKind::Records
            | BodyKind::Activities
            | BodyKind::Report
            | BodyKind::Audit
            | BodyKind::LeanCompanies
            | BodyKind::Stream
            | BodyKind::Tokens
            | BodyKind::Tenants
    );
    match status {
        S::BAD_REQUEST if doc.gives == BodyKind::Script => true,
        S::BAD_REQUEST => {
            let has_reference = path.contains("{id}") || path.contains("{month}");
            called && (has_body || is_list || has_reference)
        }
        S::UNAUTHORIZED => has_token || matches!(doc.access, RouteAccess::TenantAsUser),
        S::FORBIDDEN => has_token,
        S::NOT_FOUND if doc.gives == BodyKind::Page => path.contains('{'),
        S::NOT_FOUND => doc.gives == BodyKind::Script || (called && finds(path, doc, def)),
        S::CONFLICT => match (doc.takes, doc.gives) {
            (takes, _) if takes.is_events() => true,
            (BodyKind::NewRecord | BodyKind::Record | BodyKind::Items | BodyKind::Rotation, _) => {
                true
            }
            (BodyKind::Renewal | BodyKind::Loss, _) => true,
            (BodyKind::NewClosing, _) => true,
            (_, BodyKind::Revoked) => true,
            (_, BodyKind::DeletedTenant) => true,
            (_, BodyKind::Reopened) => true,
            (_, gives) => gives == BodyKind::Deleted && def.is_some(),
        },
        S::PRECONDITION_FAILED => doc.takes_if_match(def),
        S::PAYLOAD_TOO_LARGE | S::UNSUPPORTED_MEDIA_TYPE => has_body,
        // A page by date can begin after an activity that does not exist.
        S::UNPROCESSABLE_ENTITY => {
            let takes_options =
                matches!(doc.gives, BodyKind::Activities | BodyKind::Closing | BodyKind::Reopened);
            has_body || takes_options || doc.gives.report().is_some()
        }
        S::TOO_MANY_REQUESTS | S::SERVICE_UNAVAILABLE => called,
        S::INSUFFICIENT_STORAGE => writes,
        _ => false,
    }
}

/// Whether the object in a route's path may be missing; a delete of a missing one has no effect (R15).
fn finds(path: &str, doc: &RouteDoc, def: Option<&ResourceDef>) -> bool {
    match doc.gives {
        BodyKind::Deleted | BodyKind::Reopened => def.is_some_and(|def| def.delete_returns_record),
        BodyKind::Settings => true, // an operator's token has none
        _ => path.contains('{'),
    }
}
