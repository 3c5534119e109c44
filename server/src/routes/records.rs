//! Create, read, update, delete and list, for every resource alike.

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue},
};
use svctrack_core::{
    plan::upsert::{Item, MAX_ITEMS, UpsertAccess},
    resources::end_user::END_USER,
    schema::{CheckedBody, ListQuery, ResourceDef, checked_body},
    value::{Document, RecordRef, json_rows::JsonRows, key::MAX_KEY_BYTES},
};
use svctrack_store::{IdempotentOutcome, RecordResponse, StoreError};

use super::{
    conditional_headers::precondition,
    etag::{read_version, written},
    idempotency_key::{IdempotentCall, Replayed, hash_of, is_asked},
    list_response::{ListResponse, WholeList},
    privacy_requests,
    query_parameters::{only_flag, query_pairs},
    request::{read_record, reference_in_path},
    respond::{self, deleted_count, json_body, name_ignored},
    strict::Strictness,
};
use crate::{
    app::App,
    auth::{Caller, authenticate, authorize_for},
    bodies::read_body::require_json,
    error::Error,
    heavy_work,
    limits::{BULK_ANSWER_BYTES, MAX_BULK_BYTES, MAX_RECORD_BODY_BYTES},
    routing::path_tree::RoutedRequest,
};

const BULK_ERRORS: HeaderName = HeaderName::from_static("svctrack-bulk-errors");

/// `POST /{resource}`: a create succeeds with 200, as every call does (R10).
pub(crate) async fn create(
    app: &App,
    request: &mut Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorize_for(app, request, def, "create").await?;
    let (sent, body) = read_record(app, request, &caller, def).await?;
    let once = IdempotentCall::begin(app, request, &caller, || hash_of(&body.bytes))?;
    let body = Strictness::from_request(request).handle(checked_body::check_create(def, &sent));
    let done = app.store.create(caller.into_actor(app), once.key(), def, body).await?;
    Ok(created(done))
}

/// The record that a call creates, or has created before.
pub(super) fn created(done: IdempotentOutcome<RecordResponse>) -> Response {
    let IdempotentOutcome { reply: record, is_repeated } = done;
    let ignored = record.ignored.clone();
    let mut response = written(record);
    name_ignored(&mut response, &ignored);
    Replayed(is_repeated).mark(&mut response);
    response
}

/// `GET /{resource}/{id}`.
pub(crate) async fn read(
    app: &App,
    request: &mut RoutedRequest<'_>,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorize_for(app, request, def, "read").await?;
    let record = found(app, &caller, def, &reference_in_path(request)?).await?;
    read_version(app, request, &caller.tenant, record)
}

/// A record for a response.
pub(super) async fn found(
    app: &App,
    caller: &Caller,
    def: &'static ResourceDef,
    reference: &RecordRef,
) -> Result<RecordResponse, Error> {
    let found = app.store.record(&caller.tenant, def, reference).await?;
    Ok(found.ok_or(StoreError::NotFound)?)
}

/// `PUT /{resource}/{id}`, and `PATCH`, which is the same (R5).
pub(crate) async fn update(
    app: &App,
    request: &mut RoutedRequest<'_>,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorize_for(app, request, def, "update").await?;
    let reference = reference_in_path(request)?;
    let target = (def, reference, Document::default());
    let (record, ignored) = changed(app, request, caller, target).await?;
    let mut response = written(record);
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// Merges the body of a request into a record; returns the new record, and the names of members that are not stored.
/// The response has further values in `shown`.
pub(super) async fn changed(
    app: &App,
    request: &mut Request,
    caller: Caller,
    (def, reference, shown): (&'static ResourceDef, RecordRef, Document),
) -> Result<(RecordResponse, Vec<String>), Error> {
    let (sent, _room) = read_record(app, request, &caller, def).await?;
    let body = CheckedBody { shown, ..checked_body::check_update(def, &sent) };
    let body = Strictness::from_request(request).handle(body);
    let precondition = precondition(request);
    let record =
        app.store.update(caller.into_actor(app), (def, reference), body, precondition).await?;
    let ignored = record.ignored.clone();
    Ok((record, ignored))
}

/// `DELETE /{resource}/{id}`: a missing record counts as deleted, but for a resource whose delete returns the record
/// (R15).
pub(crate) async fn delete(
    app: &App,
    request: &mut RoutedRequest<'_>,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorize_for(app, request, def, "delete").await?;
    let reference = reference_in_path(request)?;
    if *def == END_USER && only_flag(request, "erase")? {
        return privacy_requests::erase(app, request, caller, reference).await;
    }
    let precondition = precondition(request);
    let deleted = app.store.delete(caller.into_actor(app), (def, reference), precondition).await?;
    if def.delete_returns_record {
        return Ok(respond::record(deleted.ok_or(StoreError::NotFound)?));
    }
    Ok(deleted_count(usize::from(deleted.is_some())))
}

/// `PUT /{resource}`: bulk upsert (R17). The status does not depend on the items, the header does (R19).
pub(crate) async fn upsert(
    app: &App,
    request: &mut Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let (caller, access) = authorize_upsert(app, request, def).await?;
    require_json(request)?;
    let body = app.bodies.read(request, Some(caller.tenant.id()), MAX_BULK_BYTES).await?;
    let _permit = match body.bytes.len() > MAX_RECORD_BODY_BYTES {
        true => app.large_upserts.take(caller.tenant.id()).await.ok(),
        false => None,
    };
    // Reading a large body takes a while; meanwhile others are served.
    let hashed = is_asked(request);
    let (bytes, _place) = body.into_parts();
    let read = heavy_work::spawn(move || {
        let hash = if hashed { hash_of(&bytes) } else { [0; 32] };
        (hash, read_items(&bytes, def).map(|items| (response_bytes(def, &items), items)))
    });
    let (hash, items) = read.await.map_err(|error| Error::Internal(error.to_string()))?;
    let (response_bytes, items) = items?;
    let once = IdempotentCall::begin(app, request, &caller, || hash)?;
    let room = app.response_budget.reserve(caller.tenant.id(), response_bytes)?;
    let handling = Strictness::from_request(request).handling();
    let (records, how) = ((def, items), (access, handling));
    let IdempotentOutcome { reply: upserted, is_repeated } =
        app.store.upsert(caller.into(), once.key(), records, how).await?;
    let body = room.hold(upserted.text).map_err(|error| {
        let done = format!("all items were applied, {} of them rejected", upserted.errors);
        Error::PartDone(Box::new(error), done)
    })?;
    let mut response = json_body(body);
    name_ignored(&mut response, &upserted.ignored);
    response.headers_mut().insert(BULK_ERRORS, HeaderValue::from(upserted.errors));
    Replayed(is_repeated).mark(&mut response);
    Ok(response)
}

/// About how many bytes the response to a bulk upsert has: a few for each item, and its keys.
fn response_bytes(def: &ResourceDef, items: &[Item]) -> usize {
    let of_keys = |sent: &Document| -> usize {
        let texts = def.keys.iter().filter_map(|name| sent.text(name));
        texts.map(|text| text.len().min(MAX_KEY_BYTES)).sum()
    };
    items.iter().map(|item| BULK_ANSWER_BYTES + item.as_ref().map_or(0, of_keys)).sum()
}

/// Caller of a bulk upsert, and the permissions.
pub(super) async fn authorize_upsert(
    app: &App,
    request: &Request,
    def: &ResourceDef,
) -> Result<(Caller, UpsertAccess), Error> {
    let caller = authenticate(app, request).await?;
    let access = access_of(&caller, def).inspect_err(|error| match error {
        Error::Forbidden(scope) => caller.note_denied(app, scope),
        _ => caller.note_denied(app, &format!("{}:create", def.path)),
    })?;
    Ok((caller, access))
}

/// Permissions of a token for a bulk upsert; a token with neither is rejected, and tickets need both (R21).
pub(super) fn access_of(caller: &Caller, def: &ResourceDef) -> Result<UpsertAccess, Error> {
    let scope_of = |action| format!("{}:{action}", def.path);
    let missing =
        |action| (!caller.may(&scope_of(action))).then(|| caller.lacks(&scope_of(action)));
    match (missing("create"), missing("update")) {
        (Some(error), Some(_)) => Err(error),
        (Some(error), _) | (_, Some(error)) if def.bulk_returns_counts_only => Err(error),
        (create, update) => Ok(UpsertAccess { create: create.is_none(), update: update.is_none() }),
    }
}

/// Reads an array of objects; a resource that returns counts alone accepts a single one too (R26).
fn read_items(body: &[u8], def: &ResourceDef) -> Result<Vec<Item>, Error> {
    if def.bulk_returns_counts_only
        && let Ok(single) = Document::parse(body)
    {
        return Ok(vec![Ok(single)]);
    }
    let mut rows = JsonRows::check(body)?;
    let items: Vec<Item> = rows.by_ref().take(MAX_ITEMS).map(|row| row.members).collect();
    if rows.next().is_some() { Err(Error::TooManyItems(MAX_ITEMS)) } else { Ok(items) }
}

/// `GET /{resource}`.
pub(crate) async fn list(
    app: &App,
    request: &mut Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorize_for(app, request, def, "read").await?;
    let mut read = ListQuery::parse(def, &query_pairs(request)).map_err(Error::BadRequest)?;
    if request.extensions().get::<WholeList>().is_some() {
        read.query.limit = usize::MAX;
    }
    let ignored = Strictness::from_request(request).check_list(&read)?;
    let select = read.query.select.clone();
    let listed = ListResponse { def, select: select.as_deref(), ignored: &ignored };
    let page_options = listed.page_options(app, request, &caller.tenant);
    let found = app.store.list(&caller.tenant, def, read.query, page_options).await?;
    listed.respond(request, found)
}
