//! Who calls, and what they may do.

use std::sync::Arc;

use svctrack_core::{
    access::{self, Issuer},
    value::TenantId,
};
use svctrack_store::{Actor, KnownToken, Tenant, TokenRecord};

use crate::error::Error;

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
    pub(super) credential: Credential,
}

/// What a caller has shown.
#[derive(Clone, Debug)]
pub(super) enum Credential {
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
