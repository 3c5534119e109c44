//! Reports, as JSON, CSV or SVG. Core computes a report where the store reads its data; the handlers request it and
//! write the response.

use std::{io, iter, sync::Arc};

use poem::{
    Request, Response,
    http::{HeaderMap, HeaderValue, header},
};
use svctrack_core::{
    revenue::{Report, ReportKind, ReportQuery, TextTable},
    value::ValidationError,
};
use svctrack_store::{PageStart, ReportJob, StoreError, Tenant, WriteReport, WrittenReport};

use super::{
    accept_header::{prefers, prefers_csv},
    etag::{etag_of_list, tagged},
    list_response::CSV,
    page_cursor::lead_on,
    query_parameters::query_pairs,
    respond::json_body,
};
use crate::{
    app::App,
    auth::authorize,
    charts::svg::to_svg,
    error::Error,
    interchange::csv_line::{cell_of_report, csv_line},
    limits::MAX_REPORT_BYTES,
};

/// `GET /reports/mrr`
pub(crate) async fn mrr(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Mrr).await
}

/// `GET /reports/retention`
pub(crate) async fn retention(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Retention).await
}

/// `GET /reports/renewals`
pub(crate) async fn renewals(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Renewals).await
}

/// `GET /reports/forecast`
pub(crate) async fn forecast(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Forecast).await
}

/// `GET /reports/customers`
pub(crate) async fn customers(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Customers).await
}

/// `GET /reports/usage`
pub(crate) async fn usage(app: &App, request: &mut Request) -> Result<Response, Error> {
    report_of(app, request, ReportKind::Usage).await
}

async fn report_of(app: &App, request: &Request, kind: ReportKind) -> Result<Response, Error> {
    let caller = authorize(app, request, "reports:read").await?;
    let query = ReportQuery::parse(kind, &query_pairs(request)).map_err(Error::Invalid)?;
    respond(app, request, &caller.tenant, query, ReportFormat::from_request(request)).await
}

/// Returns a report in a form.
pub(super) async fn respond(
    app: &App,
    request: &Request,
    tenant: &Tenant,
    query: ReportQuery,
    form: ReportFormat,
) -> Result<Response, Error> {
    let job = ReportJob { query, key: format!("{form:?} {}", request.uri()), write: form.writer() };
    let WrittenReport { text, hash, next_offset, .. } = app.store.report(tenant, job).await?;
    let mut response = tagged(request, etag_of_list(text.len(), hash), || {
        let mut response = json_body(app.response_budget.hold(tenant.id(), text.to_string())?);
        form.mark(response.headers_mut());
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
        Ok(response)
    })?;
    if let Some(next) = next_offset {
        lead_on(response.headers_mut(), request.uri(), PageStart::Offset(next));
    }
    Ok(response)
}

/// The form of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReportFormat {
    Json,
    Csv,
    Svg,
}

impl ReportFormat {
    fn from_request(request: &Request) -> Self {
        match Self::without_chart(request) {
            Self::Json if prefers(request, SVG) => Self::Svg,
            form => form,
        }
    }

    /// The form of a report that has no chart.
    pub(super) fn without_chart(request: &Request) -> Self {
        if prefers_csv(request) { Self::Csv } else { Self::Json }
    }

    fn writer(self) -> WriteReport {
        match self {
            Self::Json => Arc::new(to_json),
            Self::Csv => Arc::new(to_csv),
            Self::Svg => Arc::new(to_svg),
        }
    }

    /// Sets the headers of the response. A chart that is opened as a page runs and loads nothing.
    fn mark(self, headers: &mut HeaderMap) {
        match self {
            Self::Json => {}
            Self::Csv => drop(headers.insert(header::CONTENT_TYPE, CSV)),
            Self::Svg => {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(SVG));
                let policy = HeaderValue::from_static("default-src 'none'; sandbox");
                headers.insert(header::CONTENT_SECURITY_POLICY, policy);
            }
        }
    }
}

const SVG: &str = "image/svg+xml";

fn to_json(report: &Report, query: &ReportQuery) -> Result<String, StoreError> {
    let mut out = LimitedWriter(Vec::new());
    serde_json::to_writer(&mut out, report).map_err(|error| match error.is_io() {
        true => too_large(query),
        false => StoreError::Internal(error.to_string()),
    })?;
    String::from_utf8(out.0).map_err(|error| StoreError::Internal(error.to_string()))
}

fn to_csv(report: &Report, query: &ReportQuery) -> Result<String, StoreError> {
    let mut text = String::new();
    for line in csv_lines(&report.table(query)) {
        text.push_str(&line?);
        if text.len() > MAX_REPORT_BYTES {
            return Err(too_large(query));
        }
    }
    Ok(text)
}

pub(super) fn csv_lines(table: &TextTable) -> impl Iterator<Item = Result<String, StoreError>> {
    let cells =
        |row: &Vec<String>| csv_line(row.iter().map(|cell| cell_of_report(cell).into_owned()));
    iter::once(csv_line(table.header.iter())).chain(table.rows.iter().map(cells))
}

fn too_large(query: &ReportQuery) -> StoreError {
    let (member, advice) = match query.closed_month() {
        Some(_) => ("by", "ask for the month without `by`"),
        None => ("interval", "ask for fewer days, longer intervals or fewer segments"),
    };
    let message = format!("a report must be at most {MAX_REPORT_BYTES} bytes; {advice}");
    StoreError::Invalid(vec![ValidationError::of_member(member, "report_too_large", message)])
}

/// Accepts up to this many bytes.
struct LimitedWriter(Vec<u8>);

impl io::Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_REPORT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
