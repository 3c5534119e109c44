//! The only place where a token becomes a [`Caller`] (R43).

use std::sync::Arc;

use poem::{Request, http::header::AUTHORIZATION};
use svctrack_core::{access, audit::AuditActor, value::TenantId};
use svctrack_store::{KnownToken, Tenant};

use super::{
    authorization_header::{token_in, user_of_basic},
    caller::{Caller, Credential, LocalAccess, RequestSource, ServiceAccess, SignedIn},
    token_format::Token,
};
use crate::{app::App, bodies::read_body::reject_form, error::Error, observe::trace::note_token};

/// The caller of a request that carries a token.
///
/// # Errors
/// [`Error::Unauthorized`] with the reason when there is no valid token; [`Error::TenantSuspended`].
pub(crate) async fn authenticate(app: &App, request: &Request) -> Result<Caller, Error> {
    let caller = identify(app, request).await;
    if let Err(Error::Unauthorized(code)) = &caller
        && *code != EXPIRED
    {
        let nobody = ("access.deny", AuditActor::Unknown);
        RequestSource::from_request(request).note_denied(app, Tenant::OPERATOR, nobody, code);
    }
    caller
}

/// The code for an expired token.
const EXPIRED: &str = "token_expired";

async fn identify(app: &App, request: &Request) -> Result<Caller, Error> {
    if let Some(LocalAccess(tenant)) = request.extensions().get() {
        return Ok(with_every_scope(*tenant, Credential::File, request));
    }
    if let Some(ServiceAccess(tenant)) = request.extensions().get() {
        return Ok(with_every_scope(*tenant, Credential::Service, request));
    }
    if let Some(SignedIn(caller)) = request.extensions().get() {
        return Ok(caller.clone());
    }
    let header =
        request.headers().get(AUTHORIZATION).ok_or(Error::Unauthorized("token_missing"))?;
    let sent_as = header.to_str().unwrap_or_default();
    let sent = token_in(sent_as).ok_or(Error::Unauthorized("token_missing"))?;
    let known = known_token(app, &sent).await?;
    if user_of_basic(sent_as).is_some() {
        reject_form(request)?;
    }
    admit(app, known, RequestSource::from_request(request))
}

/// Caller within this machine, who may do everything for a tenant or for the operator.
fn with_every_scope(
    tenant: TenantId,
    credential: fn(Vec<String>) -> Credential,
    request: &Request,
) -> Caller {
    let tenant = Tenant::assume_authorized(tenant);
    let mut scopes = vec!["*".to_owned()];
    if tenant == Tenant::OPERATOR {
        scopes.push(access::OPERATOR.to_owned());
    }
    Caller { tenant, credential: credential(scopes), seen: RequestSource::from_request(request) }
}

/// The caller with a known token.
///
/// # Errors
/// [`Error::Unauthorized`] where the token has expired; [`Error::TooMany`]; [`Error::TenantSuspended`].
pub(super) fn admit(
    app: &App,
    known: Arc<KnownToken>,
    seen: RequestSource,
) -> Result<Caller, Error> {
    let now = app.clock.now();
    let tenant = Tenant::assume_authorized(known.record.tenant);
    let (limits, is_suspended) = (known.tenant.limits, known.tenant.is_suspended);
    let caller = Caller { tenant, credential: Credential::Token(known.clone()), seen };
    note_token(&known);
    if known.record.expires_at.is_some_and(|end| end <= now) {
        caller.note_denied(app, EXPIRED);
        return Err(Error::Unauthorized(EXPIRED));
    }
    app.store.note_token_use(&known.record, now);
    app.rates.count_request(tenant.id(), &known.record.id, limits)?;
    if is_suspended {
        caller.note_denied(app, "tenant_suspended");
        return Err(Error::TenantSuspended);
    }
    Ok(caller)
}

/// The token in a text, where the store knows it.
pub(super) async fn known_token(app: &App, text: &str) -> Result<Arc<KnownToken>, Error> {
    let token = Token::parse(text).ok_or(Error::Unauthorized("token_malformed"))?;
    let known = app.store.token(token.id()).await?;
    let known = known.filter(|known| known.record.is_of(token.digest()));
    known.ok_or(Error::Unauthorized("token_unknown"))
}
