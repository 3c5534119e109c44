//! The settings of the tenant.

use poem::{
    Request, Response,
    http::{HeaderName, Method, header},
};
use serde_json::{Map, Value};
use svctrack_core::resources::settings::SETTINGS;
use svctrack_web::pages::{SettingsView, settings_page};

use super::{
    api::{JSON, read},
    forms::{body_of, notice_of, problems_of},
    respond::{html, rejected, see},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs};

const PATH: &str = "/settings";
/// What was done, as the next page says it.
const NOTICES: &[(&str, &str)] = &[("saved", "The settings were saved.")];

/// The settings, and their version.
async fn found(visit: &Visit) -> Result<SettingsView, Error> {
    let response = visit.api.ask(PATH, JSON).await?;
    let etag = response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok());
    let version = etag.unwrap_or_default().to_owned();
    let settings: Map<String, Value> = read(response).await?;
    Ok(SettingsView { settings, version, ..SettingsView::default() })
}

/// `GET /app/settings`
pub(super) async fn settings(visit: Visit, request: Request) -> Result<Response, Error> {
    let view = found(&visit).await?;
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(settings_page(&shell, &view)))
}

/// `POST /app/settings`
pub(super) async fn save(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let pairs = visit.form(&mut request).await?;
    let view = found(&visit).await?;
    let version = pairs.iter().find(|(name, _)| name == "version").map(|(_, text)| text.clone());
    let version = version.unwrap_or_default();
    let problems = match body_of(&SETTINGS, &pairs, &view.settings) {
        Ok(body) => {
            let headers: &[(HeaderName, &str)] =
                if version.is_empty() { &[] } else { &[(header::IF_MATCH, &version)] };
            let saved = visit.api.send(Method::PUT, PATH, headers, &Value::Object(body)).await;
            match saved.map_err(Error::into_issues) {
                Ok(_) => return Ok(see("/app/settings?done=saved")),
                Err(Ok(issues)) => problems_of(issues),
                Err(Err(error)) => return Err(error),
            }
        }
        Err(problems) => problems,
    };
    let view = SettingsView { version, sent: pairs, problems, ..view };
    Ok(rejected(settings_page(&visit.shell, &view)))
}
