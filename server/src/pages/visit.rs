//! A visit of somebody who is signed in: what every page of theirs needs.

use std::sync::Arc;

use poem::Request;
use svctrack_core::resources::REGISTRY;
use svctrack_web::pages::{Section, Shell, address, label_of};

use super::api::Api;
use crate::{app::App, auth::session::Session, dispatch, error::Error, limits::MAX_RECORD_BYTES};

/// Somebody who is signed in, and what is around their page.
pub(super) struct Visit {
    pub(super) app: Arc<App>,
    pub(super) api: Api,
    pub(super) session: Session,
    pub(super) shell: Shell,
}

/// The group of the sections that come after the records.
const OPERATE: &str = "Operate";

/// The sections next to the resources: label, path, group, and the scope that one needs.
const SECTIONS: &[(&str, &str, &str, &str)] = &[
    ("Today", "/", "", ""),
    ("Customers", "/app/customers", "", "reports:read"),
    ("Live", "/app/live", "", "activities:read"),
    ("MRR", "/app/reports/mrr", "Reports", "reports:read"),
    ("Retention", "/app/reports/retention", "Reports", "reports:read"),
    ("Renewals", "/app/reports/renewals", "Reports", "reports:read"),
    ("Forecast", "/app/reports/forecast", "Reports", "reports:read"),
    ("Set-up", "/app/setup", OPERATE, "activities:read"),
    ("Issues", "/app/issues", OPERATE, "reports:read"),
    ("Tokens", "/app/tokens", OPERATE, "admin"),
    ("Settings", "/app/settings", OPERATE, "admin"),
    ("Tenants", "/app/tenants", OPERATE, "operator"),
    ("Health", "/app/health", OPERATE, ""),
];

impl Visit {
    pub(super) async fn new(
        app: Arc<App>,
        api: Arc<dispatch::Api>,
        session: Session,
        path: String,
    ) -> Result<Self, Error> {
        let api = Api::new(api, session.caller.clone());
        let tenant = app.store.tenant(session.caller.tenant.id()).await?;
        let tenant = tenant.map_or_else(|| "Operator".to_owned(), |tenant| tenant.name);
        let sections = sections(&api);
        let shell = Shell { tenant, sections, path, csrf: session.csrf(), notice: None };
        Ok(Self { app, api, session, shell })
    }

    /// The pairs of a form that was sent, where it comes from a page of this session.
    ///
    /// # Errors
    /// [`Error::CrossSite`], and those of a body.
    pub(super) async fn form(&self, request: &mut Request) -> Result<Vec<(String, String)>, Error> {
        let mut pairs = read_form(&self.app, request, Some(self)).await?;
        let sent = pairs.iter().find(|(name, _)| name == "csrf").map(|(_, sent)| sent.as_str());
        if !sent.is_some_and(|sent| self.session.has_sent(sent)) {
            return Err(Error::CrossSite);
        }
        pairs.retain(|(name, _)| name != "csrf");
        Ok(pairs)
    }
}

/// The pairs of a form.
///
/// # Errors
/// Those of a body.
pub(super) async fn read_form(
    app: &App,
    request: &mut Request,
    visit: Option<&Visit>,
) -> Result<Vec<(String, String)>, Error> {
    let tenant = visit.map(|visit| visit.session.caller.tenant.id());
    let body = app.bodies.read(request, tenant, MAX_RECORD_BYTES).await?;
    Ok(url::form_urlencoded::parse(&body.bytes).into_owned().collect())
}

fn sections(api: &Api) -> Vec<Section> {
    let allowed = SECTIONS.iter().filter(|(.., scope)| scope.is_empty() || api.may(scope));
    let of_all = allowed.map(|(label, path, group, _)| Section {
        label: (*label).to_owned(),
        path: (*path).to_owned(),
        group,
    });
    let read = REGISTRY.iter().filter(|def| api.may(&format!("{}:read", def.path)));
    let of_resources = read.map(|def| Section {
        label: label_of(def.path),
        path: address("/app/records/{}", &[def.path], &[]),
        group: "Records",
    });
    let mut sections: Vec<Section> = of_all.chain(of_resources).collect();
    sections.sort_by_key(|section| section.group == OPERATE);
    sections
}
