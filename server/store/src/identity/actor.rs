//! Sender of a command, and its source.

use std::{net::IpAddr, sync::Arc};

use svctrack_core::{audit::AuditActor, value::ObjectId};

use super::tenant::Tenant;
use crate::ResponseMemoryBudget;

/// The identity that sends a command.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The tenant that owns the data.
    pub tenant: Tenant,
    /// Id of the caller's token; none on tracking routes.
    pub token: Option<String>,
    /// The user that the token acts as.
    pub user: Option<ObjectId>,
    /// Source of the command, for the audit log; none where the service itself acts, and of events.
    pub origin: Option<Arc<CommandOrigin>>,
    /// Budget of memory for the record in the reply. Without free memory, the command has no effect.
    pub room: ResponseMemoryBudget,
}

/// Source of a command, for the audit log.
#[derive(Clone, Debug, Default)]
pub struct CommandOrigin {
    /// Label of the token that asks.
    pub token_name: String,
    /// Id of the session that acts as the token, if there is one.
    pub session: Option<String>,
    /// Address of the client, where it is known.
    pub address: Option<IpAddr>,
    /// `X-Request-Id` of the request; none where no request caused the command.
    pub request_id: Option<String>,
}

impl Actor {
    /// The service itself, for a tenant.
    pub fn service(tenant: Tenant) -> Self {
        Self {
            tenant,
            token: None,
            user: None,
            origin: None,
            room: ResponseMemoryBudget::default(),
        }
    }

    /// The operator, for calls of the program itself.
    pub fn operator() -> Self {
        Self::service(Tenant::OPERATOR)
    }

    /// The actor in another tenant.
    pub(crate) fn in_tenant(&self, tenant: Tenant) -> Self {
        Self { tenant, ..self.clone() }
    }

    /// Actor for the audit log.
    pub(crate) fn who(&self) -> AuditActor {
        match (&self.token, &self.origin) {
            (None, None) => AuditActor::Service,
            (None, Some(_)) => AuditActor::Local,
            (Some(id), origin) => AuditActor::Token {
                id: id.clone(),
                name: origin.as_ref().map(|origin| origin.token_name.clone()).unwrap_or_default(),
                session: origin.as_ref().and_then(|origin| origin.session.clone()),
            },
        }
    }
}
