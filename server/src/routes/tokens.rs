//! API tokens of the caller's own tenant (R43, R44, R57): issue, list, rotate, revoke. A derived token has no more
//! scopes than its issuer, expires no later, and can be revoked with it.

use poem::{Request, Response};
use svctrack_core::{
    access::{NewToken, Rotation, TOKEN, first_missing_scope, unknown_members},
    value::{Document, Json, Timestamp},
};
use svctrack_store::{RevocationScope, TokenRecord};

use super::{
    idempotency_key,
    list_response::respond_with_all,
    query_parameters::only_flag,
    request::{read_body, read_optional_body},
    respond::{deleted_count, json, name_ignored, uncompressed},
    strict::Strictness,
};
use crate::{
    app::App,
    auth::{Caller, Token, authorize},
    error::Error,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Response for an id that no token of the tenant has. The id is not repeated: it may be a whole token, pasted.
const UNKNOWN: Error = Error::NotFound(
    "there is no token with this id: an id is the eight characters after `svt_`, as the list of tokens shows it",
);

/// `POST /tokens`: the response is the only place where the token is shown.
pub(crate) async fn create(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "admin").await?;
    idempotency_key::reject(request, idempotency_key::HOLDS_SECRET)?;
    let (sent, _room) = read_body(app, request, &caller).await?;
    let ignored = unknown_members(&sent, NewToken::MEMBERS);
    Strictness::from_request(request).check_properties(&ignored, NewToken::MEMBERS)?;
    let now = app.clock.now();
    let mut new = NewToken::read(&sent, caller.issuer(), now).map_err(Error::Invalid)?;
    let token = Token::generate().map_err(|error| Error::Internal(error.to_string()))?;
    let user = new.user.take();
    let record = TokenRecord::of_new(token.digest(), caller.tenant.id(), new, now);
    let record = issued(record, &caller);
    let kept = app.store.add_token(caller.into(), record, user).await?;
    let mut response = uncompressed(json(shown_once(&kept, &token).to_text()));
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// `POST /tokens/{id}/rotate`: the successor has the scopes of the old token, so the caller must have all of them
/// (R44).
pub(crate) async fn rotate(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize(app, request, "admin").await?;
    idempotency_key::reject(request, idempotency_key::HOLDS_SECRET)?;
    let (sent, _room) = read_optional_body(app, request, &caller).await?;
    let id = path_part(request, "id").unwrap_or_default().into_owned();
    let ignored = unknown_members(&sent, Rotation::MEMBERS);
    Strictness::from_request(request).check_properties(&ignored, Rotation::MEMBERS)?;
    let now = app.clock.now();
    let rotation = Rotation::read(&sent, caller.issuer(), now).map_err(Error::Invalid)?;
    let known = app.store.token(&id).await?;
    let old = known.filter(|known| known.record.tenant == caller.tenant.id());
    let old = old.ok_or(UNKNOWN)?;
    if let Some(scope) = first_missing_scope(caller.scopes(), &old.record.scopes) {
        caller.note_denied(app, scope);
        return Err(Error::Forbidden(scope.to_owned()));
    }
    let token = Token::generate().map_err(|error| Error::Internal(error.to_string()))?;
    let successor = issued(old.record.successor(token.digest(), &rotation, now), &caller);
    let keep_ms = rotation.keep_old_seconds.saturating_mul(1_000);
    let old_until = Timestamp::from_ms_clamped(now.as_ms().saturating_add(keep_ms));
    let kept = app.store.rotate_token(caller.into(), id, successor, old_until).await?;
    let mut response = uncompressed(json(shown_once(&kept, &token).to_text()));
    name_ignored(&mut response, &ignored);
    Ok(response)
}

fn issued(record: TokenRecord, caller: &Caller) -> TokenRecord {
    match caller.token_record() {
        Some(issuer) => record.issued_by(issuer),
        None => record,
    }
}

/// Members of a token for a caller.
fn shown(token: &TokenRecord) -> Document {
    let time = |time: Timestamp| Json::string(&time.to_string());
    let mut document = Document::default();
    document.set("_id", Json::string(&token.id));
    document.set("label", Json::string(&token.label));
    document.set("scopes", Json::strings(token.scopes.iter().map(String::as_str)));
    document
        .set("userId", token.user_id.map_or_else(Json::null, |id| Json::string(&id.to_string())));
    document.set("createdAt", time(token.created_at));
    let issuer = token.created_by.as_deref();
    document.set("createdBy", issuer.map_or_else(Json::null, Json::string));
    document.set("expiresAt", token.expires_at.map_or_else(Json::null, time));
    // A clock that is behind stored times uses a token before it is created.
    let used = token.last_used_at.map(|used| used.max(token.created_at));
    document.set("lastUsedAt", used.map_or_else(Json::null, time));
    let successor = token.replaced_by.as_deref();
    document.set("replacedBy", successor.map_or_else(Json::null, Json::string));
    document
}

/// Members of a response that shows a token.
pub(super) fn shown_once(kept: &TokenRecord, token: &Token) -> Document {
    let mut document = shown(kept);
    document.set("token", Json::string(token.reveal()));
    document
}

/// `GET /tokens`: stored properties of each, never the token itself.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "admin").await?;
    let tokens = app.store.tokens(&caller.tenant).await?;
    let documents = tokens.iter().map(shown).collect();
    respond_with_all(request, &TOKEN, documents)
}

/// `DELETE /tokens/{id}`: the token is revoked from the next request on; with `cascade=true` so is every token issued
/// by it, also when it was revoked before.
pub(crate) async fn revoke(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    let caller = authorize(app, request, "admin").await?;
    let id = path_part(request, "id").unwrap_or_default().into_owned();
    let with =
        if only_flag(request, "cascade")? { RevocationScope::Line } else { RevocationScope::Alone };
    match app.store.revoke_token(caller.into(), id, with).await? {
        0 => Err(UNKNOWN),
        count => Ok(deleted_count(count)),
    }
}
