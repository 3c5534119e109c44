//! Responses of lists: JSON or CSV, with the total and the next page (R14, R50).

use std::sync::Arc;

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue, header},
};
use svctrack_core::{
    schema::{ListQuery, LogPage, ReadQuery, ResourceDef},
    value::{Document, ValidationError},
};
use svctrack_store::{JsonRewrite, LogQuery, Page, PageOptions, PageStart, StoreError, Tenant};

use super::{
    accept_header::prefers_csv,
    etag::{etag_of_list, tagged},
    page_cursor::lead_on,
    query_parameters::query_pairs,
    respond::{json_body, name_ignored},
    strict::Strictness,
};
use crate::{
    app::App,
    bodies::response_budget::PageBody,
    error::Error,
    interchange::{csv_columns::CsvColumns, csv_line::csv_line},
};

const TOTAL: HeaderName = HeaderName::from_static("svctrack-total");
const PARKED: HeaderName = HeaderName::from_static("svctrack-parked-total");
pub(super) const CSV: HeaderValue =
    HeaderValue::from_static("text/csv; charset=utf-8; header=present");

/// Marks a request that a page sends for a list as a whole. A request from the network cannot have this mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeList;

/// Subject of a page.
pub(super) struct ListResponse<'a> {
    pub(super) def: &'static ResourceDef,
    /// Properties that are requested.
    pub(super) select: Option<&'a [String]>,
    /// Parameters that were sent and are not known.
    pub(super) ignored: &'a [String],
}

impl ListResponse<'_> {
    /// Format and memory of a page for a request.
    pub(super) fn page_options(
        &self,
        app: &App,
        request: &Request,
        tenant: &Tenant,
    ) -> PageOptions {
        let rewrite = prefers_csv(request).then(|| self.to_csv());
        PageOptions { room: app.response_budget.for_tenant(tenant.id()), rewrite }
    }

    /// Response with a page that was read for the same request.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(super) fn respond(&self, request: &Request, mut page: Page) -> Result<Response, Error> {
        let next = page.next.take();
        let is_csv = prefers_csv(request);
        let counts = [(TOTAL, page.total), (PARKED, page.parked)];
        let hash = page.digest.hash();
        let sent = match is_csv {
            true => PageBody::new(page, self.head()?, ""),
            false => PageBody::new(page, "[", "]"),
        };
        let bytes = sent.bytes();
        let send = || -> Result<Response, Error> {
            let mut response = json_body(sent.into_body());
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
            if is_csv {
                response.headers_mut().insert(header::CONTENT_TYPE, CSV);
            }
            Ok(response)
        };
        let mut response = tagged(request, etag_of_list(bytes, hash), send)?;
        let headers = response.headers_mut();
        for (name, count) in counts {
            if let Some(count) = count {
                headers.insert(name, HeaderValue::from(count));
            }
        }
        if let Some(next) = next {
            lead_on(headers, request.uri(), next);
        }
        name_ignored(&mut response, self.ignored);
        Ok(response)
    }

    /// The first line of CSV.
    fn head(&self) -> Result<String, StoreError> {
        csv_line(CsvColumns::selected(self.def, self.select).names())
    }

    /// Converts a record into a line of CSV.
    fn to_csv(&self) -> JsonRewrite {
        let columns = CsvColumns::selected(self.def, self.select);
        Arc::new(move |record| csv_line(columns.cells(record)))
    }
}

/// Response with a page of a log, by its query.
pub(super) async fn respond_with_log<Q: Into<LogQuery>>(
    app: &App,
    request: &Request,
    tenant: &Tenant,
    parse: impl Fn(&[(String, String)]) -> Result<ReadQuery<Q>, Vec<ValidationError>>,
) -> Result<Response, Error> {
    let read = parse(&query_pairs(request)).map_err(Error::BadRequest)?;
    let ignored = Strictness::from_request(request).check_list(&read)?;
    let query: LogQuery = read.query.into();
    let LogPage { def, select, .. } = query.page();
    let (def, select) = (*def, select.clone());
    let listed = ListResponse { def, select: select.as_deref(), ignored: &ignored };
    let page_options = listed.page_options(app, request, tenant);
    let found = app.store.log(tenant, query, page_options).await?;
    listed.respond(request, found)
}

/// Response with a list that is all in memory.
pub(super) fn respond_with_all(
    request: &Request,
    def: &'static ResourceDef,
    records: Vec<Document>,
) -> Result<Response, Error> {
    let read = ListQuery::parse(def, &query_pairs(request)).map_err(Error::BadRequest)?;
    let ignored = Strictness::from_request(request).check_list(&read)?;
    let ReadQuery { query, .. } = read;
    let found = query.page(def, records);
    let listed = ListResponse { def, select: query.select.as_deref(), ignored: &ignored };
    let rewrite = prefers_csv(request).then(|| listed.to_csv());
    let page_options = PageOptions { rewrite, ..PageOptions::default() };
    let mut page = Page::empty(&page_options.room, query.count.then_some(found.total as u64));
    for record in &found.records {
        page.add(&page_options, record.to_text())?;
    }
    let next = PageStart::Offset(query.offset.saturating_add(query.limit));
    page.next = (!found.is_last).then_some(next);
    listed.respond(request, page)
}
