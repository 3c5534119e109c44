//! Who may: the one place where credentials become a [`Tenant`] (R43).

mod token;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use poem::{Request, http::header::AUTHORIZATION};
use svctrack_core::{
    access,
    value::{ObjectId, TenantId},
};

pub use self::token::{Token, TokenRecord};
use crate::{app::App, error::Error, store::Actor};

/// A tenant that a caller has shown to be theirs. Every call of the store takes one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tenant(TenantId);

impl Tenant {
    /// Its id.
    pub fn id(&self) -> TenantId {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: TenantId) -> Self {
        Self(id)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({})", self.0)
    }
}

/// Who calls: a tenant, and the token that it called with.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) tenant: Tenant,
    pub(crate) token_id: String,
    pub(crate) user: Option<ObjectId>,
    pub(crate) scopes: Vec<String>,
}

impl From<Caller> for Actor {
    fn from(caller: Caller) -> Self {
        Self { tenant: caller.tenant, token: Some(caller.token_id), user: caller.user }
    }
}

impl Caller {
    /// Refuses a caller whose token lacks `scope`.
    pub(crate) fn require(&self, scope: &str) -> Result<(), Error> {
        if access::allows(&self.scopes, scope) {
            Ok(())
        } else {
            Err(Error::Forbidden(scope.to_owned()))
        }
    }
}

/// The caller of a request that carries a token.
///
/// # Errors
/// [`Error::Unauthorized`] with the reason when there is none, or none that counts.
pub(crate) fn authenticate(app: &App, request: &Request) -> Result<Caller, Error> {
    let header =
        request.headers().get(AUTHORIZATION).ok_or(Error::Unauthorized("token_missing"))?;
    let sent =
        header.to_str().ok().and_then(token_in).ok_or(Error::Unauthorized("token_missing"))?;
    let token = Token::parse(&sent).ok_or(Error::Unauthorized("token_malformed"))?;
    let known = app.store.token(token.id())?.filter(|known| known.is_of(&token));
    let known = known.ok_or(Error::Unauthorized("token_unknown"))?;
    if known.expires_at.is_some_and(|end| end <= app.clock.now()) {
        return Err(Error::Unauthorized("token_expired"));
    }
    Ok(Caller {
        tenant: Tenant(known.tenant),
        token_id: known.id,
        user: known.user_id,
        scopes: known.scopes,
    })
}

/// The token in an `Authorization` header: after `Bearer`, or as the user name of `Basic`.
fn token_in(header: &str) -> Option<String> {
    let (scheme, credentials) = header.split_once(' ')?;
    let credentials = credentials.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(credentials.to_owned());
    }
    user_of_basic(header)
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

/// The tenant of a tracking call: its UUID is a public write key, and stands in the path.
///
/// # Errors
/// [`Error::TenantNotFound`] when there is no such tenant.
pub(crate) fn tenant_in_path(app: &App, text: &str) -> Result<Tenant, Error> {
    let id = TenantId::parse(text).ok_or(Error::TenantNotFound)?;
    if app.store.has_tenant(id)? { Ok(Tenant(id)) } else { Err(Error::TenantNotFound) }
}

/// The tenant of a pipeline's call: its UUID is the user name of HTTP Basic, whatever the password
/// (R33).
///
/// # Errors
/// [`Error::TenantUnauthorized`] when it is absent, or there is no such tenant.
pub(crate) fn tenant_of_pipeline(app: &App, request: &Request) -> Result<Tenant, Error> {
    let header = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let id = header.and_then(user_of_basic).and_then(|user| TenantId::parse(&user));
    let id = id.ok_or(Error::TenantUnauthorized)?;
    if app.store.has_tenant(id)? { Ok(Tenant(id)) } else { Err(Error::TenantUnauthorized) }
}

/// A tenant for the store itself, and for somebody who has its file in their hands.
pub(crate) fn tenant_by_operator(tenant: TenantId) -> Tenant {
    Tenant(tenant)
}

/// The tenant of a token that the program itself has just made.
pub(crate) fn tenant_of_own(token: &TokenRecord) -> Tenant {
    Tenant(token.tenant)
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
