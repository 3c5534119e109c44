//! Tenants, for an operator (R44, R57): create, list, rename, suspend, resume, delete.

use poem::{Request, Response};
use svctrack_core::{
    access::{NewTenant, OPERATOR, TENANT, TenantChange, unknown_members},
    plan::ignored_in_responses,
    schema::checked_body,
    value::{Document, Json, TenantId},
};
use svctrack_store::{TenantRecord, TenantState, TokenRecord};

use super::{
    conditional_headers::precondition,
    etag::{etag_of_tenant, tagged},
    idempotency_key,
    list_response::respond_with_all,
    request::read_body,
    respond::{json, name_ignored, uncompressed},
    strict::Strictness,
    tokens::shown_once,
};
use crate::{
    app::App,
    auth::{Token, authorize},
    background_jobs,
    error::Error,
    routing::path_tree::{RoutedRequest, path_part},
};

/// `POST /tenants`: the response is the only place where the tenant's first token is shown.
pub(crate) async fn create(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, OPERATOR).await?;
    idempotency_key::reject(request, idempotency_key::HOLDS_SECRET)?;
    let (sent, _room) = read_body(app, request, &caller).await?;
    let ignored = unknown_members(&sent, NewTenant::MEMBERS);
    Strictness::from_request(request).check_properties(&ignored, NewTenant::MEMBERS)?;
    let NewTenant { name } = NewTenant::read(&sent).map_err(Error::Invalid)?;
    let (tenant, token) = drawn(app, name).map_err(|error| Error::Internal(error.to_string()))?;
    let mut record =
        TokenRecord::of_everything(token.digest(), tenant.id, "first token", tenant.created_at);
    // The first token expires no later than the token that creates it.
    record.expires_at = caller.issuer().expires_at;
    let mut document = shown(&tenant);
    let kept = app.store.add_tenant(caller.into(), tenant, record).await?;
    document.set("token", Json::object(&shown_once(&kept, &token)));
    let mut response = uncompressed(json(document.to_text()));
    name_ignored(&mut response, &ignored);
    Ok(response)
}

fn drawn(app: &App, name: String) -> Result<(TenantRecord, Token), getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    let id = TenantId::from_random_bytes(bytes);
    Ok((TenantRecord::new(id, name, app.clock.now()), Token::generate()?))
}

/// Members of a tenant for an operator.
fn shown(tenant: &TenantRecord) -> Document {
    let mut document = Document::default();
    document.set("_id", Json::string(&tenant.id.to_string()));
    document.set("name", Json::string(&tenant.name));
    document.set("createdAt", Json::string(&tenant.created_at.to_string()));
    document.set("state", Json::string(tenant.state.name()));
    document.set("suspended", Json::bool(tenant.state == TenantState::Suspended));
    if tenant.state == TenantState::Deleting {
        let removed = i64::try_from(tenant.rows_removed).unwrap_or(i64::MAX);
        document.set("rowsRemoved", Json::integer(removed));
    }
    document
}

/// `GET /tenants`.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    authorize(app, request, OPERATOR).await?;
    let tenants = app.store.tenants(usize::MAX).await?;
    let documents = tenants.iter().map(shown).collect();
    respond_with_all(request, &TENANT, documents)
}

/// `GET /tenants/{id}`; with the progress of one that is being deleted.
pub(crate) async fn read(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    authorize(app, request, OPERATOR).await?;
    let tenant = app.store.tenant(id_in_path(request)?).await?;
    versioned_tenant(request, &tenant.ok_or(Error::TenantNotFound)?)
}

fn versioned_tenant(request: &Request, tenant: &TenantRecord) -> Result<Response, Error> {
    tagged(request, etag_of_tenant(tenant), || Ok(json(shown(tenant).to_text())))
}

/// `PUT /tenants/{id}`, and `PATCH`, which is the same: another name, suspended or resumed.
pub(crate) async fn update(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize(app, request, OPERATOR).await?;
    let (sent, _room) = read_body(app, request, &caller).await?;
    let id = id_in_path(request)?;
    let change = TenantChange::read(&sent).map_err(Error::Invalid)?;
    let mut body =
        Strictness::from_request(request).handle(checked_body::check_update(&TENANT, &sent));
    let before = app.store.tenant(id).await?.ok_or(Error::TenantNotFound)?;
    let mut after = before.clone();
    after.change(change.clone());
    let ignored = ignored_in_responses(&TENANT, &mut body, &[shown(&after), shown(&before)]);
    body.checked().map_err(Error::Invalid)?;
    let precondition = precondition(request);
    let tenant = app.store.change_tenant(caller.into(), id, change, precondition).await?;
    let mut response = versioned_tenant(request, &tenant)?;
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// `DELETE /tenants/{id}`: from the next request on the tenant does not exist. Its data is removed while others are
/// served.
pub(crate) async fn delete(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize(app, request, OPERATOR).await?;
    let id = id_in_path(request)?;
    let tenant = app.store.delete_tenant(caller.into(), id, precondition(request)).await?;
    // A separate task: it continues when the client disconnects.
    tokio::spawn(background_jobs::delete_tenant(app.store.clone(), id));
    Ok(json(shown(&tenant).to_text()))
}

fn id_in_path(request: &RoutedRequest<'_>) -> Result<TenantId, Error> {
    path_part(request, "id").and_then(|id| TenantId::parse(&id)).ok_or(Error::TenantNotFound)
}
