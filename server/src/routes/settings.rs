//! Settings of the caller's own tenant (R41, R44), with its UUID and name (R57).

use poem::{Request, Response};
use svctrack_core::{
    resources::settings::{SETTINGS, SETTINGS_ID, TENANT_ID, TENANT_NAME},
    value::{Document, Json, RecordRef},
};
use svctrack_store::{RecordResponse, Tenant};

use super::{
    conditions::versioned,
    records::{changed, found},
    request::authorise,
    respond::name_ignored,
};
use crate::{app::App, error::Error};

/// `GET /settings`.
pub(crate) async fn read(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "admin").await?;
    let record = found(app, &caller, &SETTINGS, &RecordRef::Id(SETTINGS_ID)).await?;
    Ok(versioned(request, with_tenant(app, &caller.tenant, record).await?))
}

/// `PUT /settings`, and `PATCH`, which is the same.
pub(crate) async fn update(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorise(app, request, "admin").await?;
    let tenant = caller.tenant;
    let settings = RecordRef::Id(SETTINGS_ID);
    let (record, ignored) = changed(app, request, caller, &SETTINGS, settings).await?;
    let mut response = versioned(request, with_tenant(app, &tenant, record).await?);
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// Settings with the stored properties of their tenant; a new name is another `ETag`.
async fn with_tenant(
    app: &App,
    tenant: &Tenant,
    record: RecordResponse,
) -> Result<RecordResponse, Error> {
    let stored = app.store.tenant(tenant.id()).await?;
    let name = stored.map(|tenant| tenant.name).unwrap_or_default();
    let mut settings = Document::parse(record.text.as_bytes())?;
    settings.set(TENANT_ID.name, Json::string(&tenant.id().to_string()));
    settings.set(TENANT_NAME.name, Json::string(&name));
    let computed = Some(crc32fast::hash(name.as_bytes()));
    Ok(RecordResponse { text: settings.to_text(), computed, ..record })
}
