//! Sender of events: a tenant's UUID is a public write key, in the path, as the user name of HTTP Basic, or in the
//! body.

use poem::{Request, http::header::AUTHORIZATION};
use svctrack_core::value::TenantId;
use svctrack_store::Tenant;

use super::authorization_header::user_of_basic;
use crate::{
    app::App,
    error::Error,
    observe::trace::note_tenant,
    routing::path_tree::{RoutedRequest, path_part},
    sender_limits::{Sender, SenderAddress},
};

/// Sender of a tracking call: the UUID of its tenant is a public write key in the path.
///
/// # Errors
/// [`Error::TenantNotFound`] when the tenant does not exist, [`Error::TrackingSuspended`].
pub(crate) async fn sender_in_path(
    app: &App,
    request: &RoutedRequest<'_>,
) -> Result<Sender, Error> {
    let id = path_part(request, "tenant").and_then(|id| TenantId::parse(&id));
    let sender = sender(app, request, id.ok_or(Error::TenantNotFound)?).await?;
    sender.ok_or(Error::TenantNotFound)
}

/// Sender of events of a tenant; none where the tenant does not exist.
async fn sender(app: &App, request: &Request, tenant: TenantId) -> Result<Option<Sender>, Error> {
    let Some(known) = app.store.known_tenant(tenant).await? else { return Ok(None) };
    note_tenant(tenant);
    if known.is_suspended {
        return Err(Error::TrackingSuspended);
    }
    let (tenant, limits) = (Tenant::assume_authorized(tenant), known.limits);
    Ok(Some(Sender { tenant, limits, address: SenderAddress::from_request(request) }))
}

/// Sender of a pipeline's call: the UUID of its tenant is the user name of HTTP Basic, whatever the password (R33).
/// `None` if the path has no UUID: then the body names the tenant.
///
/// # Errors
/// [`Error::TenantUnauthorized`] when the tenant does not exist; [`Error::TrackingSuspended`].
pub(crate) async fn sender_of_basic(app: &App, request: &Request) -> Result<Option<Sender>, Error> {
    let header = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let id = header.and_then(user_of_basic).and_then(|user| TenantId::parse(&user));
    let Some(id) = id else { return Ok(None) };
    sender(app, request, id).await?.ok_or(Error::TenantUnauthorized).map(Some)
}

/// Sender of an SDK's call: the UUID of its tenant is the write key in the body (R47).
///
/// # Errors
/// [`Error::TenantUnauthorized`] when the key is absent, or the tenant does not exist; [`Error::TrackingSuspended`].
pub(crate) async fn sender_of_write_key(
    app: &App,
    request: &Request,
    key: Option<&str>,
) -> Result<Sender, Error> {
    let id = key.and_then(TenantId::parse).ok_or(Error::TenantUnauthorized)?;
    sender(app, request, id).await?.ok_or(Error::TenantUnauthorized)
}
