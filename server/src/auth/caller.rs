//! The caller of a request and their scopes.

use std::{net::IpAddr, sync::Arc};

use poem::Request;
use svctrack_core::{access::Issuer, audit::AuditActor, value::TenantId};
use svctrack_store::{Actor, CommandOrigin, KnownToken, ResponseMemoryBudget, Tenant, TokenRecord};

use super::denials::DeniedAccess;
use crate::{app::App, observe::trace, request_id::RequestId};

/// Marks a request of a person who has the store's file, and acts for a tenant or for the operator. A request from the
/// network cannot have this mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalAccess(pub(crate) TenantId);

/// Marks a request of the service itself for a tenant or for the operator, such as one that fills the demo. A request
/// from the network cannot have this mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceAccess(pub(crate) TenantId);

/// Marks a request that a page sends for a signed-in user. A request from the network cannot have this mark.
#[derive(Clone, Debug)]
pub(crate) struct SignedIn(pub(crate) Caller);

/// The caller: a tenant, and the credential.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) tenant: Tenant,
    pub(super) credential: Credential,
    pub(super) seen: RequestSource,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RequestSource {
    address: Option<IpAddr>,
    request_id: Option<RequestId>,
    /// Id of the session that acts as the token.
    pub(super) session: Option<Arc<str>>,
}

impl RequestSource {
    pub(crate) fn from_request(request: &Request) -> Self {
        let address = request.remote_addr().as_socket_addr().map(|peer| peer.ip().to_canonical());
        Self { address, request_id: trace::request_id(), session: None }
    }

    /// Counts a denial for whoever the caller is.
    pub(crate) fn note_denied(
        &self,
        app: &App,
        tenant: Tenant,
        (action, actor): (&'static str, AuditActor),
        cause: &str,
    ) {
        let attempt =
            DeniedAccess { action, actor, address: self.address, cause: cause.to_owned() };
        app.denials.count(tenant, attempt, app.clock.now());
    }

    /// The caller, acting through a session.
    pub(super) fn through(self, session: &str) -> Self {
        Self { session: Some(session.into()), ..self }
    }
}

/// Credential that a caller has shown.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    Token(Arc<KnownToken>),
    /// The store's file, and with it these scopes.
    File(Vec<String>),
    /// No token is needed: the service itself calls, with these scopes.
    Service(Vec<String>),
    /// No token: the caller sends events, for which a tenant's id is enough.
    Nothing,
}

impl From<Caller> for Actor {
    fn from(caller: Caller) -> Self {
        let record = caller.token_record();
        let user = record.and_then(|record| record.user_id);
        let seen = &caller.seen;
        // In the audit log, none stands for the service; events are not there.
        let has_origin = !matches!(caller.credential, Credential::Service(_) | Credential::Nothing);
        let origin = has_origin.then(|| {
            Arc::new(CommandOrigin {
                token_name: record.map(|record| record.label.clone()).unwrap_or_default(),
                session: seen.session.as_deref().map(str::to_owned),
                address: seen.address,
                request_id: seen.request_id.as_deref().map(str::to_owned),
            })
        });
        let token = caller.token().map(str::to_owned);
        Self { tenant: caller.tenant, token, user, origin, room: ResponseMemoryBudget::default() }
    }
}

impl Caller {
    /// The actor of a command whose reply is a record: that takes room for its response.
    pub(crate) fn into_actor(self, app: &App) -> Actor {
        Actor { room: app.response_budget.for_tenant(self.tenant.id()), ..self.into() }
    }

    /// A caller who sends events of a tenant: with no token, and no scope.
    pub(crate) fn of_events(tenant: Tenant) -> Self {
        Self { tenant, credential: Credential::Nothing, seen: RequestSource::default() }
    }

    /// Id of the token of the call.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token_record().map(|record| record.id.as_str())
    }

    /// Record of the token of the call.
    pub(crate) fn token_record(&self) -> Option<&TokenRecord> {
        match &self.credential {
            Credential::Token(token) => Some(&token.record),
            Credential::File(_) | Credential::Service(_) | Credential::Nothing => None,
        }
    }

    /// Scopes and expiry that limit what the caller may issue.
    pub(crate) fn issuer(&self) -> Issuer<'_> {
        let without_end = Issuer { scopes: self.scopes(), expires_at: None };
        self.token_record().map_or(without_end, TokenRecord::issuer)
    }

    pub(crate) fn scopes(&self) -> &[String] {
        match &self.credential {
            Credential::Token(token) => &token.record.scopes,
            Credential::File(scopes) | Credential::Service(scopes) => scopes,
            Credential::Nothing => &[],
        }
    }
}
