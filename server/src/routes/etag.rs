//! `ETag` of records, closed months, tenants and lists, and the response with it (R16, R58).

use std::fmt::Display;

use poem::{
    Request, Response,
    http::{HeaderValue, Method, StatusCode, header},
};
use svctrack_store::{RecordResponse, Tenant, TenantRecord, TenantState, id_in_tag};

use super::{conditional_headers::names, respond::record};
use crate::{app::App, error::Error};

/// A record that was read, with its version; without a body when the caller has this version. A large one takes room of
/// its tenant.
///
/// # Errors
/// [`Error::Overloaded`] when there is no free memory.
pub(super) fn read_version(
    app: &App,
    request: &Request,
    tenant: &Tenant,
    mut read: RecordResponse,
) -> Result<Response, Error> {
    tagged(request, etag(&read), || {
        read.take_room(&app.response_budget.for_tenant(tenant.id()))?;
        Ok(record(read))
    })
}

/// A record that was written, with its version.
pub(super) fn written(written: RecordResponse) -> Response {
    let etag = etag(&written);
    let mut response = record(written);
    set_etag(&mut response, etag);
    response
}

/// A response with its tag; without a body where the caller has the same already.
///
/// # Errors
/// Errors of the response.
pub(super) fn tagged(
    request: &Request,
    etag: String,
    response: impl FnOnce() -> Result<Response, Error>,
) -> Result<Response, Error> {
    let mut response = if has_current(request, &etag) { not_modified() } else { response()? };
    set_etag(&mut response, etag);
    Ok(response)
}

fn set_etag(response: &mut Response, etag: String) {
    if let Ok(etag) = HeaderValue::try_from(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
}

/// Whether the caller already has the response with this tag.
fn has_current(request: &Request, etag: &str) -> bool {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    reads && names(request.headers(), etag)
}

fn not_modified() -> Response {
    Response::builder()
        .status(StatusCode::NOT_MODIFIED)
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .finish()
}

/// Tag of a list: a hash of its contents, and their length. It is a weak tag, since `If-Match` has no use for it.
pub(super) fn etag_of_list(bytes: usize, hash: u64) -> String {
    format!("W/\"{bytes:x}-{hash:016x}\"")
}

/// Tag `"<_id>-<__v>"`, with a hash of the properties computed at read where there are any.
fn etag(record: &RecordResponse) -> String {
    tag(record.id, record.version, record.computed)
}

fn tag(id: impl Display, version: i64, computed: Option<u32>) -> String {
    let id = id_in_tag(id);
    match computed {
        Some(hash) => format!("\"{id}-{version}-{hash:08x}\""),
        None => format!("\"{id}-{version}\""),
    }
}

/// Tag of a closed month, with a hash of the text: the month as JSON and as CSV is the same version.
pub(super) fn etag_of_closing(month: &str, version: i64, text: &str) -> String {
    tag(month, version, Some(crc32fast::hash(text.as_bytes())))
}

/// Tag of a tenant, with the progress of its deletion.
pub(super) fn etag_of_tenant(tenant: &TenantRecord) -> String {
    let is_deleting = tenant.state == TenantState::Deleting;
    let removed = is_deleting.then(|| crc32fast::hash(&tenant.rows_removed.to_be_bytes()));
    tag(tenant.id, tenant.version(), removed)
}
