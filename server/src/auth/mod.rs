//! Who may: the one place where credentials become a [`Tenant`] (R43).

pub(crate) mod session;
pub(crate) mod sign_in;
mod token;

use std::{borrow::Cow, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use poem::{Request, http::header::AUTHORIZATION};
use svctrack_core::{
    access::{self, Issuer},
    value::TenantId,
};
use svctrack_store::{Actor, KnownToken, Tenant, TokenRecord};

pub use self::token::Token;
use crate::{
    app::App,
    body::refuse_form,
    error::Error,
    path_tree::path_part,
    senders::{Address, Sender},
};

/// Marks a request of somebody who has the store's file in their hands, and acts for a tenant or for
/// the operator. Nothing that comes over the network can carry it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAccess(pub(crate) TenantId);

/// Marks a request that a page makes for who is signed in. Nothing that comes over the network can carry it.
#[derive(Clone, Debug)]
pub(crate) struct SignedIn(pub(crate) Caller);

/// Who calls: a tenant, and what they have shown.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) tenant: Tenant,
    credential: Credential,
}

/// What a caller has shown.
#[derive(Clone, Debug)]
enum Credential {
    Token(Arc<KnownToken>),
    /// That they have the file, and with it these scopes.
    File(Vec<String>),
    /// Nothing: they send events, to which a tenant's id is enough.
    Nothing,
}

impl From<Caller> for Actor {
    fn from(caller: Caller) -> Self {
        let user = caller.token_record().and_then(|record| record.user_id);
        Self { tenant: caller.tenant, token: caller.token().map(str::to_owned), user }
    }
}

impl Caller {
    /// Whoever sends events of a tenant: with no token, and no scope.
    pub(crate) fn of_events(tenant: Tenant) -> Self {
        Self { tenant, credential: Credential::Nothing }
    }

    /// Id of the token that was called with.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token_record().map(|record| record.id.as_str())
    }

    /// What is stored of the token that was called with.
    pub(crate) fn token_record(&self) -> Option<&TokenRecord> {
        match &self.credential {
            Credential::Token(token) => Some(&token.record),
            Credential::File(_) | Credential::Nothing => None,
        }
    }

    /// What they can grant to a token.
    pub(crate) fn issuer(&self) -> Issuer<'_> {
        let without_end = Issuer { scopes: self.scopes(), expires_at: None };
        self.token_record().map_or(without_end, TokenRecord::issuer)
    }

    /// What they may do.
    pub(crate) fn scopes(&self) -> &[String] {
        match &self.credential {
            Credential::Token(token) => &token.record.scopes,
            Credential::File(scopes) => scopes,
            Credential::Nothing => &[],
        }
    }

    /// Rejects a caller whose token lacks `scope`.
    pub(crate) fn require(&self, scope: &str) -> Result<(), Error> {
        if access::allows(self.scopes(), scope) {
            Ok(())
        } else {
            Err(Error::Forbidden(scope.to_owned()))
        }
    }
}

/// The caller of a request that carries a token.
///
/// # Errors
/// [`Error::Unauthorized`] with the reason when there is none, or none that counts; [`Error::TenantSuspended`].
pub(crate) async fn authenticate(app: &App, request: &Request) -> Result<Caller, Error> {
    if let Some(LocalAccess(tenant)) = request.extensions().get() {
        let tenant = Tenant::assume_authorized(*tenant);
        let mut scopes = vec!["*".to_owned()];
        if tenant == Tenant::OPERATOR {
            scopes.push(access::OPERATOR.to_owned());
        }
        return Ok(Caller { tenant, credential: Credential::File(scopes) });
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
        refuse_form(request)?;
    }
    admit(app, known)
}

/// The caller with a token that is known.
///
/// # Errors
/// [`Error::Unauthorized`] where it has expired; [`Error::TooMany`]; [`Error::TenantSuspended`].
fn admit(app: &App, known: Arc<KnownToken>) -> Result<Caller, Error> {
    let now = app.clock.now();
    if known.record.expires_at.is_some_and(|end| end <= now) {
        return Err(Error::Unauthorized("token_expired"));
    }
    app.store.token_used(&known.record, now);
    let tenant = Tenant::assume_authorized(known.record.tenant);
    app.rates.count_request(tenant.id(), &known.record.id, known.tenant.limits)?;
    if known.tenant.is_suspended {
        return Err(Error::TenantSuspended);
    }
    Ok(Caller { tenant, credential: Credential::Token(known) })
}

/// The token of a text, where the store knows it.
async fn known_token(app: &App, text: &str) -> Result<Arc<KnownToken>, Error> {
    let token = Token::parse(text).ok_or(Error::Unauthorized("token_malformed"))?;
    let known = app.store.token(token.id()).await?;
    let known = known.filter(|known| known.record.is_of(token.digest()));
    known.ok_or(Error::Unauthorized("token_unknown"))
}

/// The token in an `Authorization` header: after `Bearer`, or as the user name of `Basic`.
fn token_in(header: &str) -> Option<Cow<'_, str>> {
    let (scheme, credentials) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(credentials.trim().into());
    }
    user_of_basic(header).map(Cow::Owned)
}

/// The user name in an `Authorization` header of HTTP Basic.
fn user_of_basic(header: &str) -> Option<String> {
    let (scheme, credentials) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    Some(decoded.split_once(':').map_or(decoded.as_str(), |(user, _)| user).to_owned())
}

/// Who sends a tracking call: the UUID of its tenant is a public write key in the path.
///
/// # Errors
/// [`Error::TenantNotFound`] when there is no such tenant, [`Error::TrackingSuspended`].
pub(crate) async fn sender_in_path(app: &App, request: &Request) -> Result<Sender, Error> {
    let id = path_part(request, "tenant").and_then(|id| TenantId::parse(&id));
    let sender = sender(app, request, id.ok_or(Error::TenantNotFound)?).await?;
    sender.ok_or(Error::TenantNotFound)
}

/// Who sends events of a tenant; none where there is no such tenant.
async fn sender(app: &App, request: &Request, tenant: TenantId) -> Result<Option<Sender>, Error> {
    let Some(known) = app.store.known_tenant(tenant).await? else { return Ok(None) };
    if known.is_suspended {
        return Err(Error::TrackingSuspended);
    }
    let (tenant, limits) = (Tenant::assume_authorized(tenant), known.limits);
    Ok(Some(Sender { tenant, limits, address: Address::of(request) }))
}

/// Who sends a pipeline's call: the UUID of its tenant is the user name of HTTP Basic, whatever the password
/// (R33). None where that is no UUID: then the body names it.
///
/// # Errors
/// [`Error::TenantUnauthorized`] when there is no such tenant; [`Error::TrackingSuspended`].
pub(crate) async fn sender_of_basic(app: &App, request: &Request) -> Result<Option<Sender>, Error> {
    let header = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let id = header.and_then(user_of_basic).and_then(|user| TenantId::parse(&user));
    let Some(id) = id else { return Ok(None) };
    sender(app, request, id).await?.ok_or(Error::TenantUnauthorized).map(Some)
}

/// Who sends an SDK's call: the UUID of its tenant is the write key in the body (R47).
///
/// # Errors
/// [`Error::TenantUnauthorized`] when it is absent, or there is no such tenant; [`Error::TrackingSuspended`].
pub(crate) async fn sender_of_write_key(
    app: &App,
    request: &Request,
    key: Option<&str>,
) -> Result<Sender, Error> {
    let id = key.and_then(TenantId::parse).ok_or(Error::TenantUnauthorized)?;
    sender(app, request, id).await?.ok_or(Error::TenantUnauthorized)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_as_bearer_or_as_the_user_of_basic() {
        assert_eq!(token_in("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token_in("bearer  abc").as_deref(), Some("abc"));
        assert_eq!(token_in(&format!("Basic {}", STANDARD.encode("abc:"))).as_deref(), Some("abc"));
        assert_eq!(token_in(&format!("basic {}", STANDARD.encode("abc"))).as_deref(), Some("abc"));
        for other in ["abc", "Digest abc", "Basic !", ""] {
            assert_eq!(token_in(other), None, "{other}");
        }
    }
}
