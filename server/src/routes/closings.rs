//! Closed months: the figures of a month as finance reported them, against which later reports show what has changed.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use poem::{Request, Response, http::header};
use svctrack_core::{
    access::unknown_members,
    revenue::{
        Closing, ClosingRequest, ListedMonth, Reopening, Report, ReportError, ReportQuery,
        TextTable, days_of_month,
    },
    schema::{ReadQuery, UnknownParameter},
    value::{ValidationError, quoted::quoted},
};
use svctrack_store::{Actor, NewClosing, ReportJob, StoreError};

use super::{
    accept_header::prefers_csv,
    conditional_headers::precondition,
    etag::{etag_of_closing, etag_of_list, tagged},
    list_response::CSV,
    query_parameters::{only_parameter, query_pairs},
    reports::{ReportFormat, csv_lines, respond},
    request::read_body,
    respond::{deleted_count, json, name_ignored},
    strict::Strictness,
};
use crate::{
    app::App,
    auth::{authorize, authorize_admin},
    error::Error,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Maximum number of times that the figures are computed, where licenses are changed meanwhile.
const ATTEMPTS: usize = 5;

/// `POST /reports/closings`: closes a month; a closed month stays as it is.
pub(crate) async fn create(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let (sent, _room) = read_body(app, request, &caller).await?;
    let ignored = unknown_members(&sent, ClosingRequest::MEMBERS);
    Strictness::from_request(request).check_properties(&ignored, ClosingRequest::MEMBERS)?;
    let asked = ClosingRequest::read(&sent).map_err(Error::Invalid)?;
    let (tenant, actor) = (caller.tenant, Actor::from(caller));
    for _ in 0..ATTEMPTS {
        let key = format!("closing {sent:?}");
        let job = ReportJob { query: asked.query.clone(), key, write: Arc::new(figures) };
        let report = app.store.report(&tenant, job).await?;
        let closing: Closing = serde_json::from_str(&report.text).map_err(internal)?;
        let new = NewClosing { closing, sequence: report.sequence };
        if let Some(closed) = app.store.close_month(actor.clone(), new).await? {
            let mut response = json(serde_json::to_string(&closed).map_err(internal)?);
            name_ignored(&mut response, &ignored);
            return Ok(response);
        }
    }
    Err(StoreError::Busy.into())
}

/// The figures of a month, as JSON.
fn figures(report: &Report, _: &ReportQuery) -> Result<String, StoreError> {
    let Report::Mrr(report) = report else {
        return Err(StoreError::Internal("this is no report of MRR".to_owned()));
    };
    let closing =
        Closing::from_report(report).map_err(|error| StoreError::Invalid(vec![error.into()]))?;
    serde_json::to_string(&closing).map_err(|error| StoreError::Internal(error.to_string()))
}

fn internal(error: serde_json::Error) -> Error {
    Error::Internal(error.to_string())
}

/// `GET /reports/closings`: in their order. In CSV, which has figures, only those that are closed.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "reports:read").await?;
    let unknown =
        query_pairs(request).iter().map(|(name, _)| UnknownParameter::among(name, [])).collect();
    let read = ReadQuery { query: (), unknown, ignored: Vec::new() };
    Strictness::from_request(request).check_list(&read)?;
    let months = app.store.closings(&caller.tenant).await?;
    if prefers_csv(request) {
        return tagged_list(
            request,
            text_of(&Closing::table(&closed(months).collect::<Vec<_>>()))?,
            csv,
        );
    }
    tagged_list(request, serde_json::to_string(&months).map_err(internal)?, json)
}

/// The text of the list with its tag, in the form that `write` gives it.
fn tagged_list(
    request: &Request,
    text: String,
    write: fn(String) -> Response,
) -> Result<Response, Error> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    tagged(request, etag_of_list(text.len(), hasher.finish()), || Ok(write(text)))
}

fn closed(months: Vec<ListedMonth>) -> impl Iterator<Item = Closing> {
    months.into_iter().filter_map(|month| match month {
        ListedMonth::Closed(closing) => Some(*closing),
        ListedMonth::Reopened(_) => None,
    })
}

fn text_of(table: &TextTable) -> Result<String, Error> {
    Ok(csv_lines(table).collect::<Result<_, _>>()?)
}

fn csv(text: String) -> Response {
    let mut response = json(text);
    response.headers_mut().insert(header::CONTENT_TYPE, CSV);
    response
}

/// `GET /reports/closings/{month}`: figures of the month, or with `by=company` those of each company.
pub(crate) async fn read(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize(app, request, "reports:read").await?;
    let month = month_in_path(request)?;
    let by = only_parameter(request, "by")?;
    if let Some(other) = by.as_ref().filter(|by| *by != BY_COMPANY) {
        let message = format!("`by` must be `{BY_COMPANY}`; found {}", quoted(other));
        return Err(invalid(ValidationError::of_member("by", "unknown_choice", message)));
    }
    if by.is_some() {
        let (query, form) =
            (ReportQuery::of_closed_month(month), ReportFormat::without_chart(request));
        let response = respond(app, request, &caller.tenant, query, form).await;
        return response.map_err(|error| match error {
            Error::Store(StoreError::NotFound) => NOT_CLOSED,
            error => error,
        });
    }
    let mut closings = closed(app.store.closings(&caller.tenant).await?);
    let found = closings.find(|closing| closing.month == month).ok_or(NOT_CLOSED)?;
    let version = found.version();
    let (text, write): (_, fn(String) -> Response) = if prefers_csv(request) {
        (text_of(&Closing::table(&[found]))?, csv)
    } else {
        (serde_json::to_string(&found).map_err(internal)?, json)
    };
    tagged(request, etag_of_closing(&month, version, &text), || Ok(write(text)))
}

const NOT_CLOSED: Error =
    Error::NotFound("this month is not closed: `GET /reports/closings` lists those that are");
/// Division of a closed month.
pub(crate) const BY_COMPANY: &str = "company";

fn invalid(issue: ValidationError) -> Error {
    Error::Invalid(vec![issue])
}

/// `DELETE /reports/closings/{month}`: reopens the month, with a reason; for a month that is not closed it has no
/// effect (R15).
pub(crate) async fn delete(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let month = month_in_path(request)?;
    let sent = only_parameter(request, "reason")?;
    let reason = Reopening::reason(sent.as_deref()).map_err(invalid)?;
    let precondition = precondition(request);
    let was_closed = app.store.reopen_month(caller.into(), month, reason, precondition).await?;
    Ok(deleted_count(usize::from(was_closed)))
}

fn month_in_path(request: &RoutedRequest<'_>) -> Result<String, Error> {
    let month = path_part(request, "month").unwrap_or_default().into_owned();
    match days_of_month(&month) {
        Some(_) => Ok(month),
        None => Err(Error::BadRequest(vec![ReportError::InvalidMonth(month).into()])),
    }
}
