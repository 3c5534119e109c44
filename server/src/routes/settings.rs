//! Settings of the caller's own tenant (R41, R44), with its UUID and name (R57).

use poem::{Request, Response};
use svctrack_core::{
    resources::settings::{SETTINGS, SETTINGS_ID, TENANT_ID, TENANT_NAME},
    value::{Document, Json, RecordRef},
};
use svctrack_store::{RecordResponse, Tenant};

use super::{
    etag::{read_version, written},
    records::{changed, found},
    respond::name_ignored,
};
use crate::{app::App, auth::authorize_admin, error::Error};

/// `GET /settings`.
pub(crate) async fn read(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let record = found(app, &caller, &SETTINGS, &RecordRef::Id(SETTINGS_ID)).await?;
    let tenant = members_of_tenant(app, &caller.tenant).await?;
    read_version(app, request, &caller.tenant, with_tenant(&tenant, record)?)
}

/// `PUT /settings`, and `PATCH`, which is the same.
pub(crate) async fn update(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let tenant = members_of_tenant(app, &caller.tenant).await?;
    let target = (&SETTINGS, RecordRef::Id(SETTINGS_ID), tenant.clone());
    let (record, ignored) = changed(app, request, caller, target).await?;
    let mut response = written(with_tenant(&tenant, record)?);
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// Stored properties of a tenant that its settings show.
async fn members_of_tenant(app: &App, tenant: &Tenant) -> Result<Document, Error> {
    let stored = app.store.tenant(tenant.id()).await?;
    let name = stored.map(|tenant| tenant.name).unwrap_or_default();
    let mut members = Document::default();
    members.set(TENANT_ID.name, Json::string(&tenant.id().to_string()));
    members.set(TENANT_NAME.name, Json::string(&name));
    Ok(members)
}

/// Settings with the members of their tenant; a new name is another `ETag`.
fn with_tenant(tenant: &Document, record: RecordResponse) -> Result<RecordResponse, Error> {
    let mut settings = Document::parse(record.text.as_bytes())?;
    tenant.iter().for_each(|(name, value)| settings.set(name, value.to_json()));
    let name = tenant.text(TENANT_NAME.name).unwrap_or_default();
    let computed = Some(crc32fast::hash(name.as_bytes()));
    Ok(RecordResponse { text: settings.to_text(), computed, ..record })
}
