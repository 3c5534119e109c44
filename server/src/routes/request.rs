//! Parts of a request that handlers read: the caller and their scopes, the path, and a JSON body.

use poem::Request;
use svctrack_core::{
    schema::ResourceDef,
    value::{Document, RecordRef, ValidationError, quoted::quoted},
};

use crate::{
    app::App,
    auth::Caller,
    bodies::read_body::{Body, require_json},
    error::Error,
    limits::{MAX_LONG_RECORD_BODY_BYTES, MAX_RECORD_BODY_BYTES},
    routing::path_tree::{RoutedRequest, path_part},
};

/// The record that the path names.
///
/// # Errors
/// [`Error::BadRequest`] when the path has no reference.
pub(super) fn reference_in_path(request: &RoutedRequest<'_>) -> Result<RecordRef, Error> {
    let text = path_part(request, "id").unwrap_or_default();
    RecordRef::parse(&text).ok_or_else(|| {
        let message = format!("an id must be {}; found {}", RecordRef::FORMS, quoted(&text));
        Error::BadRequest(vec![ValidationError::of_body("invalid_id", message)])
    })
}

/// Reads the body of one record. Its memory in the budget is held until the response.
pub(super) async fn read_record<'a>(
    app: &'a App,
    request: &mut Request,
    caller: &Caller,
    def: &ResourceDef,
) -> Result<(Document, Body<'a>), Error> {
    read_body_up_to(app, request, caller, max_body_bytes(def)).await
}

/// Largest body of one record, in bytes.
fn max_body_bytes(def: &ResourceDef) -> usize {
    match def.fields.iter().any(|field| field.long_text) {
        true => MAX_LONG_RECORD_BODY_BYTES,
        false => MAX_RECORD_BODY_BYTES,
    }
}

/// Reads a body of about the size of a record.
pub(super) async fn read_body<'a>(
    app: &'a App,
    request: &mut Request,
    caller: &Caller,
) -> Result<(Document, Body<'a>), Error> {
    read_body_up_to(app, request, caller, MAX_RECORD_BODY_BYTES).await
}

/// Reads a body of optional properties: a missing body has none.
pub(super) async fn read_optional_body<'a>(
    app: &'a App,
    request: &mut Request,
    caller: &Caller,
) -> Result<(Document, Body<'a>), Error> {
    let body = app.bodies.read(request, Some(caller.tenant.id()), MAX_RECORD_BODY_BYTES).await?;
    if body.bytes.is_empty() {
        return Ok((Document::default(), body));
    }
    require_json(request)?;
    Ok((Document::parse(&body.bytes)?, body))
}

async fn read_body_up_to<'a>(
    app: &'a App,
    request: &mut Request,
    caller: &Caller,
    max_bytes: usize,
) -> Result<(Document, Body<'a>), Error> {
    require_json(request)?;
    let body = app.bodies.read(request, Some(caller.tenant.id()), max_bytes).await?;
    Ok((Document::parse(&body.bytes)?, body))
}
