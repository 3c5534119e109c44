//! How the service works for the caller's own tenant (R41, R44).

use poem::{Request, Response};
use svctrack_core::{
    resources::settings::{SETTINGS, SETTINGS_ID},
    value::RecordRef,
};

use super::records::{change, show};
use crate::{app::App, auth::authenticate, error::Error};

/// `GET /settings`.
pub(crate) async fn read(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authenticate(app, request)?;
    caller.require("admin")?;
    show(app, request, &caller, &SETTINGS, &RecordRef::Id(SETTINGS_ID)).await
}

/// `PUT /settings`, and `PATCH`, which is the same.
pub(crate) async fn update(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authenticate(app, request)?;
    caller.require("admin")?;
    change(app, request, caller, &SETTINGS, RecordRef::Id(SETTINGS_ID)).await
}
