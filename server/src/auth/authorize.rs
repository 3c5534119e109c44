//! Whether a caller may do what they ask for: the scopes of their token. [`access`] has the rule. Each handler asks for
//! its scope; `routes::route_table` has the same for the description of the API.

use poem::Request;
use svctrack_core::{
    access::{self, OPERATOR},
    audit::AuditActor,
    schema::ResourceDef,
};

use super::{
    authenticate::authenticate,
    caller::{Caller, Credential},
};
use crate::{app::App, error::Error};

/// Caller of a request, whose token has this scope.
///
/// # Errors
/// Errors of [`authenticate`], and [`Error::Forbidden`].
pub(crate) async fn authorize(app: &App, request: &Request, scope: &str) -> Result<Caller, Error> {
    let caller = authenticate(app, request).await?;
    caller.require(app, scope)?;
    Ok(caller)
}

/// Authorizes an administrator of a tenant; an operator has the same scope, but no tenant.
pub(crate) async fn authorize_admin(app: &App, request: &Request) -> Result<Caller, Error> {
    let caller = authorize(app, request, "admin").await?;
    if caller.may(OPERATOR) {
        caller.note_denied(app, "admin");
        return Err(Error::TenantTokenNeeded);
    }
    Ok(caller)
}

/// Authorizes an action on a resource.
pub(crate) async fn authorize_for(
    app: &App,
    request: &Request,
    def: &ResourceDef,
    action: &str,
) -> Result<Caller, Error> {
    authorize(app, request, &format!("{}:{action}", def.path)).await
}

impl Caller {
    /// Whether the caller has this scope.
    pub(crate) fn may(&self, scope: &str) -> bool {
        access::allows(self.scopes(), scope)
    }

    /// Rejects a caller whose token lacks `scope`.
    pub(crate) fn require(&self, app: &App, scope: &str) -> Result<(), Error> {
        if self.may(scope) {
            return Ok(());
        }
        self.note_denied(app, scope);
        Err(self.lacks(scope))
    }

    /// Error of a caller whose token lacks `scope`.
    pub(crate) fn lacks(&self, scope: &str) -> Error {
        // The log of operators, and their tokens, need `admin`.
        let is_operator = self.may(access::OPERATOR) && scope != "admin";
        if is_operator { Error::TenantTokenNeeded } else { Error::Forbidden(scope.to_owned()) }
    }

    /// Counts a denial for the caller.
    pub(crate) fn note_denied(&self, app: &App, cause: &str) {
        let Credential::Token(known) = &self.credential else { return };
        let actor = AuditActor::Token {
            id: known.record.id.clone(),
            name: known.record.label.clone(),
            session: self.seen.session.as_deref().map(str::to_owned),
        };
        self.seen.note_denied(app, self.tenant, ("access.deny", actor), cause);
    }
}
