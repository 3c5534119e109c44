//! The settings of the tenant.

use poem::{Response, http::Method};
use svctrack_core::resources::settings::SETTINGS;
use svctrack_web::pages::{SettingsView, settings_page};

use super::{
    respond::{html, rejected, see},
    save_record::{self, RejectedForm, StoredForm},
    submitted_form::notice_of,
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

const PATH: &str = "/settings";
/// Notices of actions, for the next page.
const NOTICES: &[(&str, &str)] = &[("saved", "The settings were saved.")];

/// The settings, and their version.
async fn found(visit: &Visit) -> Result<SettingsView, Error> {
    let (settings, version) = visit.api.record(PATH).await?;
    Ok(SettingsView { settings, version, ..SettingsView::default() })
}

/// `GET /app/settings`
pub(super) async fn settings(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let view = found(&visit).await?;
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(settings_page(&shell, &view)))
}

/// `POST /app/settings`
pub(super) async fn save(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let view = found(&visit).await?;
    let stored = StoredForm { def: &SETTINGS, record: &view.settings, version: &view.version };
    match save_record::save(&visit, (Method::PUT, PATH), pairs, &stored).await? {
        Ok(_) => Ok(see("/app/settings?done=saved")),
        Err(RejectedForm { problems, version, sent }) => {
            let view = SettingsView { version, sent, problems, ..view };
            Ok(rejected(settings_page(&visit.shell, &view)))
        }
    }
}
