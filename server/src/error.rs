//! Errors of requests, and the one place where each becomes a status and a problem document (R11, RFC 9457). An
//! internal cause is logged here, once, and never sent.

use poem::{
    Response,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
};
use serde::Serialize;
use svctrack_core::{
    access::OPERATOR,
    tracking::Unreadable,
    value::{Malformed, ObjectId, ValidationError, counted},
};
use svctrack_store::{StoreError, WRONG_CLOCK};
use svctrack_web::pages::{Shell, capitalized, problem_page};

use crate::{
    limits::{
        MAX_HEAD_BYTES, MAX_HEADERS, MAX_URI_BYTES, PARKED_FULL_WAIT, RETRY_AFTER_SECONDS,
        SUSPENDED_RETRY_AFTER_SECONDS,
    },
    observe::{running_request::ProblemCode, trace},
    pages::respond::html,
    rate_limit::{BURST_SECONDS, LimitExceeded},
    sender_limits::{Allowance, ExceededAllowance},
};

/// Error of a request.
#[derive(Debug)]
pub(crate) enum Error {
    /// The body is not JSON of the right kind.
    Malformed(Malformed),
    /// The address or the query is malformed.
    BadRequest(Vec<ValidationError>),
    /// No credentials that count; with the code of the reason.
    Unauthorized(&'static str),
    /// HTTP Basic names an unknown tenant.
    TenantUnauthorized,
    /// The token lacks this scope.
    Forbidden(String),
    /// A token of an operator, where one of a tenant is needed.
    TenantTokenNeeded,
    /// A change that was not sent by a page of this service.
    CrossSite,
    /// The route does not exist.
    RouteNotFound,
    /// The tenant does not exist.
    TenantNotFound,
    /// The object does not exist, and is no record; with advice.
    NotFound(&'static str),
    /// The operator has suspended the tenant of the token.
    TenantSuspended,
    /// The operator has suspended the tenant of these events: their senders store and retry them, as after any 503.
    TrackingSuspended,
    /// The route has other methods.
    MethodNotAllowed(String),
    /// The body did not arrive in time.
    BodyTimeout,
    /// The body was interrupted, or does not match its headers.
    BodyBroken(String),
    /// The server stops, or needs the connection for others, and the body was not complete.
    BodyAborted,
    /// The body is larger than this many bytes.
    TooLarge(usize),
    /// The body has more items than this.
    TooManyItems(usize),
    /// The body has more rejected rows than this.
    TooManyRejected(usize),
    /// The address is too long.
    UriTooLong,
    /// The head of the request cannot be read, with the verdict of the HTTP library.
    UnreadableHead(StatusCode),
    /// The head of the request names its host, or the encoding of its body, in a way that HTTP does not allow; with a
    /// code and the expected value.
    BadHead(&'static str, &'static str),
    /// The body's media type or charset is not accepted; with the accepted ones.
    Unsupported(String),
    /// The body's encoding is not accepted.
    UnsupportedEncoding,
    /// The body or the query breaks a rule.
    Invalid(Vec<ValidationError>),
    /// A call with the same `Idempotency-Key` is running.
    StillRunning,
    /// The caller sends too many requests.
    TooMany(LimitExceeded),
    /// Callers without a token have used up an allowance.
    ExceededAllowance(ExceededAllowance),
    /// All bodies together are too large at the moment.
    Overloaded,
    /// The store returned an error.
    Store(StoreError),
    /// The program broke down.
    Internal(String),
    /// An error of a page, and the frame of the page for a user who is signed in.
    OnPage(Box<(Error, Option<Shell>)>),
    /// An error after a part was done, and a text that says how much was.
    PartDone(Box<Error>, String),
}

impl From<LimitExceeded> for Error {
    fn from(too_many: LimitExceeded) -> Self {
        Self::TooMany(too_many)
    }
}

impl From<ExceededAllowance> for Error {
    fn from(spent: ExceededAllowance) -> Self {
        Self::ExceededAllowance(spent)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::KeysFull(wait) => ExceededAllowance { of: Allowance::Keys, wait }.into(),
            StoreError::ParkedFull => {
                ExceededAllowance { of: Allowance::Parked, wait: PARKED_FULL_WAIT }.into()
            }
            StoreError::NoRoom => Self::Overloaded,
            other => Self::Store(other),
        }
    }
}

impl From<Malformed> for Error {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<Unreadable> for Error {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Malformed(error) => Self::Malformed(error),
            Unreadable::Invalid(issues) => Self::Invalid(issues),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemJson<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    /// Same text as `detail`: where clients of other APIs look for it (R58).
    message: &'a str,
    code: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ValidationError>,
}

/// A status, a stable code and a sentence.
struct ProblemParts {
    status: StatusCode,
    code: &'static str,
    detail: String,
    errors: Vec<ValidationError>,
}

fn verdict(status: StatusCode, code: &'static str, detail: impl Into<String>) -> ProblemParts {
    ProblemParts { status, code, detail: detail.into(), errors: Vec::new() }
}

/// A verdict with every problem found; the first one gives the code and the message.
fn listed(status: StatusCode, errors: Vec<ValidationError>) -> ProblemParts {
    let (code, detail) = errors
        .first()
        .map_or(("invalid", String::new()), |first| (first.code, first.message.clone()));
    ProblemParts { status, code, detail, errors }
}

impl Error {
    /// Table of statuses, one cause a line.
    #[rustfmt::skip]
    fn into_verdict(self, request_id: &str) -> ProblemParts {
        use StatusCode as S;
        match self {
            Self::Malformed(error) => verdict(S::BAD_REQUEST, error.code, error.message),
            Self::BadRequest(issues) => listed(S::BAD_REQUEST, issues),
            Self::Unauthorized(code) => verdict(S::UNAUTHORIZED, code, unauthorized_detail(code)),
            Self::TenantUnauthorized => verdict(S::UNAUTHORIZED, "tenant_unauthorized", "send the tenant's UUID as the user name of HTTP Basic, or as `writeKey` in the body"),
            Self::Forbidden(scope) if scope == OPERATOR => verdict(S::FORBIDDEN, "scope_missing", "the token needs the scope `operator`, which only operator tokens have"),
            Self::Forbidden(scope) => verdict(S::FORBIDDEN, "scope_missing", format!("the token needs the scope `{scope}`")),
            Self::TenantTokenNeeded => verdict(S::FORBIDDEN, "scope_missing", "an operator token cannot call the API of a tenant: use a token of the tenant"),
            Self::CrossSite => verdict(S::FORBIDDEN, "cross_site", "this form was not sent by a page of this session: open the page again"),
            Self::RouteNotFound => verdict(S::NOT_FOUND, "route_not_found", "the route does not exist"),
            Self::NotFound(detail) => verdict(S::NOT_FOUND, "not_found", detail),
            Self::TenantNotFound => verdict(S::NOT_FOUND, "tenant_not_found", "there is no tenant with this UUID"),
            Self::TenantSuspended => verdict(S::FORBIDDEN, "tenant_suspended", "the tenant is suspended: nothing was stored; retry after the operator has resumed it"),
            Self::TrackingSuspended => verdict(S::SERVICE_UNAVAILABLE, "tenant_suspended", "the tenant is suspended: nothing was stored; retry later"),
            Self::MethodNotAllowed(allow) => verdict(S::METHOD_NOT_ALLOWED, "method_not_allowed", format!("the method is not allowed here; expected one of {allow}")),
            Self::BodyTimeout => verdict(S::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time"),
            Self::BodyBroken(detail) => verdict(S::BAD_REQUEST, "body_broken", detail),
            Self::BodyAborted => verdict(S::SERVICE_UNAVAILABLE, "body_aborted", "the server is stopping or overloaded, and closed the connection before the body was complete: retry later"),
            Self::TooLarge(max) => verdict(S::PAYLOAD_TOO_LARGE, "body_too_large", format!("a body must be at most {max} bytes here")),
            Self::TooManyItems(max) => verdict(S::PAYLOAD_TOO_LARGE, "too_many_items", format!("a request must have at most {max} items")),
            Self::TooManyRejected(max) => verdict(S::UNPROCESSABLE_ENTITY, "too_many_rejected", format!("the request ended after {max} rejected rows")),
            Self::UriTooLong => verdict(S::URI_TOO_LONG, "uri_too_long", format!("a URL must be at most {MAX_URI_BYTES} bytes")),
            Self::UnreadableHead(S::URI_TOO_LONG) => Self::UriTooLong.into_verdict(request_id),
            Self::UnreadableHead(S::REQUEST_HEADER_FIELDS_TOO_LARGE) => verdict(S::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", format!("the request line and headers must be at most {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} headers")),
            Self::UnreadableHead(_) => verdict(S::BAD_REQUEST, "request_malformed", "the request line or a header is not valid HTTP"),
            Self::BadHead(code, expected) => verdict(S::BAD_REQUEST, code, expected),
            Self::Unsupported(expected) => verdict(S::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", expected),
            Self::UnsupportedEncoding => verdict(S::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "the encoding must be gzip"),
            Self::Invalid(issues) => listed(S::UNPROCESSABLE_ENTITY, issues),
            Self::StillRunning => verdict(S::CONFLICT, "idempotency_key_running", "a call with this `Idempotency-Key` is still running: retry later"),
            Self::TooMany(LimitExceeded { limit, .. }) => verdict(S::TOO_MANY_REQUESTS, "too_many_requests", format!("the rate limit of {} per second is reached: retry later", counted(limit, "request"))),
            Self::ExceededAllowance(ExceededAllowance { of: Allowance::Bytes, .. }) => verdict(S::TOO_MANY_REQUESTS, "daily_limit_reached", "the daily limit of events from this network is reached for this tenant"),
            Self::ExceededAllowance(ExceededAllowance { of: Allowance::Keys, .. }) => verdict(S::TOO_MANY_REQUESTS, "too_many_keys", "the limit of stored `messageId`s and `Idempotency-Key`s is reached; nothing was stored"),
            Self::ExceededAllowance(ExceededAllowance { of: Allowance::Parked, .. }) => verdict(S::TOO_MANY_REQUESTS, "too_many_parked", "the event's user or company is unknown, and the limit of parked events is reached: the event is not stored"),
            Self::Overloaded => verdict(S::SERVICE_UNAVAILABLE, "overloaded", "too many bytes are being received or sent: retry later"),
            Self::Store(error) => store_verdict(error, request_id),
            Self::PartDone(error, done) => {
                let verdict = error.into_verdict(request_id);
                ProblemParts { detail: format!("{}; {done}", verdict.detail), ..verdict }
            }
            Self::OnPage(page) => page.0.into_verdict(request_id),
            Self::Internal(cause) => internal("internal_error", &cause, request_id),
        }
    }

    /// All problems of the body or the query, where these are the error.
    ///
    /// # Errors
    /// The error itself, where it is another one.
    pub(crate) fn into_issues(self) -> Result<Vec<ValidationError>, Self> {
        match self {
            Self::Invalid(issues)
            | Self::BadRequest(issues)
            | Self::Store(StoreError::Invalid(issues) | StoreError::Conflict(issues)) => Ok(issues),
            Self::Store(StoreError::Changed) => {
                let message = "Somebody else has changed the record in the meantime. Nothing was saved; this page shows the current values, and your changes where there are any.";
                Ok(vec![ValidationError::of_body("version_mismatch", message)])
            }
            Self::Store(StoreError::KeyReused) => {
                let message = "This form was already sent with other values. Save again to create another record.";
                Ok(vec![ValidationError::of_body("idempotency_key_reused", message)])
            }
            Self::PartDone(error, done) => match error.into_issues() {
                Ok(mut issues) => {
                    issues.push(ValidationError::of_body("part_done", done));
                    Ok(issues)
                }
                Err(error) => Err(Self::PartDone(Box::new(error), done)),
            },
            other => Err(other),
        }
    }

    /// Error itself, whether or not a part was done before.
    fn cause(&self) -> &Self {
        match self {
            Self::PartDone(error, _) => error.cause(),
            error => error,
        }
    }

    pub(crate) fn into_response(self, request_id: &str) -> Response {
        let (error, page) = match self {
            Self::OnPage(page) => (page.0, Some(page.1)),
            error => (error, None),
        };
        if let Self::Forbidden(scope) = error.cause() {
            trace::note_missing_scope(scope);
        }
        error.respond(page, request_id)
    }

    /// Response, as a page where there is a frame for it.
    fn respond(self, page: Option<Option<Shell>>, request_id: &str) -> Response {
        let allow = match &self {
            Self::MethodNotAllowed(allow) => HeaderValue::from_str(allow).ok(),
            _ => None,
        };
        let scheme = match &self {
            Self::TenantUnauthorized => r#"Basic realm="svctrack", charset="UTF-8""#,
            _ => "Bearer",
        };
        let is_encoding = matches!(self, Self::UnsupportedEncoding);
        let retry_after = match &self {
            Self::TrackingSuspended => SUSPENDED_RETRY_AFTER_SECONDS,
            _ => RETRY_AFTER_SECONDS,
        };
        let too_many = match self.cause() {
            Self::TooMany(too_many) => Some(*too_many),
            _ => None,
        };
        let wait = match self.cause() {
            Self::TooMany(LimitExceeded { wait, .. })
            | Self::ExceededAllowance(ExceededAllowance { wait, .. }) => Some(*wait),
            _ => None,
        };
        let verdict = self.into_verdict(request_id);
        let status = verdict.status;
        let problem = ProblemJson {
            kind: "about:blank",
            title: verdict.status.canonical_reason().unwrap_or("Error"),
            status: verdict.status.as_u16(),
            detail: &verdict.detail,
            message: &verdict.detail,
            code: verdict.code,
            request_id,
            errors: verdict.errors,
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::builder()
            .status(verdict.status)
            .content_type("application/problem+json")
            .body(body);
        if let Some(shell) = page {
            let (title, detail) = page_words(&problem);
            response = html(problem_page(shell.as_ref(), title, &detail, request_id));
            response.set_status(status);
        }
        response.extensions_mut().insert(ProblemCode(verdict.code.into()));
        add_headers(&mut response, allow, scheme, retry_after);
        if is_encoding {
            // RFC 9110, 12.5.3.
            let accepted = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::ACCEPT_ENCODING, accepted);
        }
        if let Some(wait) = wait {
            let seconds = HeaderValue::from(wait.as_secs() + 1);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        if let Some(too_many) = too_many {
            add_rate_limit(response.headers_mut(), too_many);
        }
        response
    }
}

/// Title and text of the page of a problem.
fn page_words<'p>(problem: &ProblemJson<'p>) -> (&'p str, String) {
    let errors: Vec<_> = problem.errors.iter().map(ValidationError::plain_message).collect();
    match problem.code {
        "route_not_found" => ("Page not found", "This page does not exist.".to_owned()),
        _ if !errors.is_empty() => (problem.title, errors.join("; ")),
        _ => (problem.title, capitalized(&problem.detail.replace('`', ""))),
    }
}

fn add_headers(
    response: &mut Response,
    allow: Option<HeaderValue>,
    scheme: &'static str,
    retry_after: u32,
) {
    use StatusCode as S;
    let status = response.status();
    let headers = response.headers_mut();
    if let Some(allow) = allow {
        headers.insert(header::ALLOW, allow);
    }
    if status == S::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
    }
    if matches!(status, S::SERVICE_UNAVAILABLE | S::INSUFFICIENT_STORAGE) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after));
    }
}

/// Adds the limit, as the drafts of `RateLimit` have it.
fn add_rate_limit(headers: &mut HeaderMap, LimitExceeded { limit, wait }: LimitExceeded) {
    let seconds = wait.as_secs() + 1;
    let quota = limit.get().saturating_mul(BURST_SECONDS);
    let fields = [
        ("ratelimit", format!("\"requests\";r=0;t={seconds}")),
        ("ratelimit-policy", format!("\"requests\";q={quota};w={BURST_SECONDS}")),
    ];
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

fn unauthorized_detail(code: &str) -> &'static str {
    match code {
        "token_missing" => "send `Authorization: Bearer <token>`",
        "token_malformed" => "malformed token: expected `svt_...`, complete",
        "token_expired" => "the token has expired",
        _ => "the token is unknown: it was revoked, or belongs to another server",
    }
}

fn store_verdict(error: StoreError, request_id: &str) -> ProblemParts {
    use StatusCode as S;
    match error {
        StoreError::NotFound => verdict(S::NOT_FOUND, "not_found", "the record does not exist"),
        StoreError::TenantNotFound => Error::TenantNotFound.into_verdict(request_id),
        StoreError::Invalid(issues) => listed(S::UNPROCESSABLE_ENTITY, issues),
        StoreError::Conflict(issues) => listed(S::CONFLICT, issues),
        StoreError::Changed => {
            verdict(S::PRECONDITION_FAILED, "version_mismatch", "the record has another version")
        }
        StoreError::KeyReused => verdict(
            S::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "this `Idempotency-Key` was sent with another body",
        ),
        StoreError::ReplyNotStored => verdict(
            S::UNPROCESSABLE_ENTITY,
            "idempotency_response_not_stored",
            "the call with this `Idempotency-Key` was carried out; its response was too large to be stored",
        ),
        StoreError::TokenRevoked => Error::Unauthorized("token_unknown").into_verdict(request_id),
        StoreError::Busy => verdict(
            S::SERVICE_UNAVAILABLE,
            "busy",
            "too many writes of this tenant are queued: retry later",
        ),
        StoreError::Unavailable(_) => verdict(
            S::SERVICE_UNAVAILABLE,
            "store_unavailable",
            "the store cannot be written at the moment: retry later",
        ),
        StoreError::Counting { counted, of } => verdict(
            S::SERVICE_UNAVAILABLE,
            "counting_activities",
            format!(
                "activities are being counted for the first time: {counted} of about {of} so far; retry later"
            ),
        ),
        StoreError::Stalled => verdict(
            S::SERVICE_UNAVAILABLE,
            "store_stalled",
            "the disk does not respond; what was to be stored may still be: send it again with the same \
             `Idempotency-Key` or `messageId`, so that it is stored once",
        ),
        StoreError::Clock => verdict(S::SERVICE_UNAVAILABLE, "clock_wrong", WRONG_CLOCK),
        StoreError::Full => verdict(
            S::INSUFFICIENT_STORAGE,
            "disk_full",
            "the disk of the server is full: retry once it has free space",
        ),
        StoreError::KeysFull(_) | StoreError::ParkedFull | StoreError::NoRoom => {
            Error::from(error).into_verdict(request_id)
        }
        StoreError::Corrupted { id, cause } => corrupted(id, &cause, request_id),
        StoreError::Internal(cause) => internal("internal_error", &cause, request_id),
    }
}

/// Verdict for corrupted data: of this record, if it is known.
fn corrupted(id: Option<ObjectId>, cause: &str, request_id: &str) -> ProblemParts {
    tracing::error!(
        request_id,
        id = id.map(tracing::field::display),
        cause,
        "stored data corrupted"
    );
    let detail = match id {
        Some(id) => format!("stored data of `{id}` is corrupted"),
        None => "stored data is corrupted".to_owned(),
    };
    verdict(StatusCode::INTERNAL_SERVER_ERROR, "data_corrupted", detail)
}

fn internal(code: &'static str, cause: &str, request_id: &str) -> ProblemParts {
    tracing::error!(request_id, code, cause, "request failed");
    verdict(
        StatusCode::INTERNAL_SERVER_ERROR,
        code,
        "internal error; the cause is in the server's log",
    )
}
