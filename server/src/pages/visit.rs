//! A request of a signed-in user: what every page needs.

use std::sync::Arc;

use poem::{Body, FromRequest as _, Request, RequestBody, web::Multipart};
use svctrack_core::{
    access::OPERATOR,
    resources::{
        REGISTRY,
        settings::{self, SETTINGS, SETTINGS_ID},
    },
    schema::ResourceDef,
    value::{Document, RecordRef, TenantId, Timestamp, ValidationError, time::DAY_MS},
};
use svctrack_web::pages::{Section, Shell, address, label_of};

use super::{api::Api, submitted_form::sent};
use crate::{
    app::App,
    auth::session::Session,
    bodies::read_body::require_utf8,
    demo::TENANT_NAME,
    error::Error,
    limits::{MAX_FORM_PAIRS, MAX_RECORD_BODY_BYTES},
    routing::{
        dispatch,
        path_tree::{RoutedRequest, path_part},
        served_parts::ServerPart,
    },
};

/// Request of a signed-in user, with the frame of the page.
pub(super) struct Visit {
    pub(super) app: Arc<App>,
    pub(super) api: Api,
    pub(super) session: Session,
    /// Settings of the tenant; empty for an operator.
    pub(super) settings: Document,
    pub(super) shell: Shell,
}

/// The resource in the path of a page.
pub(super) fn resource(request: &RoutedRequest<'_>) -> Result<&'static ResourceDef, Error> {
    let name = path_part(request, "resource").unwrap_or_default();
    REGISTRY.iter().copied().find(|def| def.path == name).ok_or(Error::RouteNotFound)
}

/// Pairs of a form, and the room of its body, which is held as long as they are in use.
type SubmittedForm<Room> = (Vec<(String, String)>, Room);

/// The group of the sections that come after the records.
const OPERATE: &str = "Operate";

/// Records that have a page of their own among the sections, from which their list is reached.
const LISTED_ELSEWHERE: [&str; 2] = ["tickets", "timesheets"];
/// Records that come first among the others.
const FIRST_RECORDS: [&str; 3] = ["companies", "endusers", "licenses"];

/// Sections next to the resources: label, path, group, and the scope that a user needs.
const SECTIONS: &[(&str, &str, &str, &str)] = &[
    ("Today", "/", "", ""),
    ("Customers", "/app/customers", "", "reports:read"),
    ("Renewals", "/app/renewals", "", "reports:read"),
    ("Tickets", "/app/tickets", "", "tickets:read"),
    ("Timesheets", "/app/timesheets", "", "timesheets:read"),
    ("Live", "/app/live", "", "activities:read"),
    ("MRR", "/app/reports/mrr", "Reports", "reports:read"),
    ("Retention", "/app/reports/retention", "Reports", "reports:read"),
    ("Renewal rates", "/app/reports/renewals", "Reports", "reports:read"),
    ("Forecast", "/app/reports/forecast", "Reports", "reports:read"),
    ("Usage", "/app/reports/usage", "Reports", "reports:read"),
    ("Closed months", "/app/closings", "Reports", "reports:read"),
    ("Set-up", "/app/setup", OPERATE, "activities:read"),
    ("Issues", "/app/issues", OPERATE, "reports:read"),
    ("Tokens", "/app/tokens", OPERATE, "admin"),
    ("Audit log", "/app/audit", OPERATE, "admin"),
    ("Settings", "/app/settings", OPERATE, "admin"),
    ("Tenants", "/app/tenants", OPERATE, OPERATOR),
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
        let settings = settings_of(&app, &session).await?;
        // Days of the pages are those of the tenant's reports.
        let zone = settings::time_zone(&settings);
        let mut sections = sections(&api);
        if app.parts.have(ServerPart::Docs) {
            sections.push(section("Docs", "/docs"));
        }
        // The scope that the demo itself asks for.
        if tenant == TENANT_NAME && api.may("admin") {
            sections.push(section("Demo", "/app/demo"));
        }
        let resources = REGISTRY.iter().map(|def| def.path);
        let unreadable = resources.filter(|path| !api.may(&format!("{path}:read"))).collect();
        let csrf = session.csrf();
        let shell = Shell { tenant, sections, path, csrf, unreadable, zone, notice: None };
        Ok(Self { app, api, session, settings, shell })
    }

    /// Day that is `days` from now in the tenant's zone, for the API.
    pub(super) fn day(&self, days: i64) -> String {
        let today = self.shell.zone.day(self.app.clock.now());
        let at = today.saturating_add(days).saturating_mul(DAY_MS);
        let text = Timestamp::from_ms_clamped(at).to_string();
        text.get(..10).unwrap_or_default().to_owned()
    }

    /// Pairs of a form that was sent, where it comes from a page of this session, and its room.
    ///
    /// # Errors
    /// [`Error::CrossSite`], [`Error::Invalid`] for too many pairs, and those of a body.
    pub(super) async fn form<'v>(
        &'v self,
        request: &mut Request,
    ) -> Result<SubmittedForm<impl Send + use<'v>>, Error> {
        let tenant = self.session.caller.tenant.id();
        let (pairs, room) =
            read_form(&self.app, request, Some(tenant), MAX_RECORD_BODY_BYTES).await?;
        Ok((self.checked(pairs)?, room))
    }

    /// Pairs of a form with files, whose texts are among them, of at most `max` bytes, and its room. A file that is not
    /// chosen is left out.
    ///
    /// # Errors
    /// As [`Self::form`]; [`Error::Invalid`] where a file is not text.
    pub(super) async fn upload<'v>(
        &'v self,
        request: &mut Request,
        max: usize,
    ) -> Result<SubmittedForm<impl Send + use<'v>>, Error> {
        require_utf8(request)?;
        let tenant = self.session.caller.tenant.id();
        let (bytes, room) = self.app.bodies.read(request, Some(tenant), max).await?.into_parts();
        let broken = |error: &dyn std::fmt::Display| Error::BodyBroken(error.to_string());
        let mut body = RequestBody::new(Body::from_bytes(bytes));
        let parts = Multipart::from_request(request, &mut body).await;
        let mut parts = parts.map_err(|error| broken(&error))?;
        let mut pairs = Vec::new();
        let mut is_text = true;
        while let Some(part) = parts.next_field().await.map_err(|error| broken(&error))? {
            check_count(pairs.len())?;
            let name = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(|error| broken(&error))?;
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => pairs.push((name, text)),
                _ => is_text = false,
            }
        }
        let pairs = self.checked(pairs)?;
        if !is_text {
            let message =
                "the file is not text in UTF-8: save it as CSV, in a spreadsheet as \"CSV UTF-8\"";
            return Err(Error::Invalid(vec![ValidationError::of_body("unreadable", message)]));
        }
        Ok((pairs, room))
    }

    /// Pairs of a form, without the CSRF token that shows that it comes from a page of this session.
    fn checked(&self, mut pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, Error> {
        if !self.session.has_sent(sent(&pairs, "csrf")) {
            return Err(Error::CrossSite);
        }
        pairs.retain(|(name, _)| name != "csrf");
        Ok(pairs)
    }
}

/// The pairs of a form, and the room of its body.
///
/// # Errors
/// [`Error::Invalid`] for too many pairs, and those of a body.
pub(super) async fn read_form<'a>(
    app: &'a App,
    request: &mut Request,
    tenant: Option<TenantId>,
    max_bytes: usize,
) -> Result<SubmittedForm<impl Send + use<'a>>, Error> {
    require_utf8(request)?;
    let (bytes, room) = app.bodies.read(request, tenant, max_bytes).await?.into_parts();
    let mut pairs = Vec::new();
    for pair in url::form_urlencoded::parse(&bytes).into_owned() {
        check_count(pairs.len())?;
        pairs.push(pair);
    }
    Ok((pairs, room))
}

fn check_count(pairs: usize) -> Result<(), Error> {
    if pairs < MAX_FORM_PAIRS {
        return Ok(());
    }
    let message = format!("a form has at most {MAX_FORM_PAIRS} fields");
    Err(Error::Invalid(vec![ValidationError::of_body("too_many_fields", message)]))
}

/// The settings of the tenant; empty for an operator.
async fn settings_of(app: &App, session: &Session) -> Result<Document, Error> {
    let tenant = &session.caller.tenant;
    let settings = RecordRef::Id(SETTINGS_ID);
    let found = app.store.record(tenant, &SETTINGS, &settings).await?;
    let settings = found.map(|found| Document::parse(found.text.as_bytes())).transpose()?;
    Ok(settings.unwrap_or_default())
}

/// A section at the end.
fn section(label: &str, path: &str) -> Section {
    Section { label: label.to_owned(), path: path.to_owned(), group: OPERATE }
}

fn sections(api: &Api) -> Vec<Section> {
    // An operator belongs to no tenant, so that there are no settings.
    let is_there = |path: &str| path != "/app/settings" || !api.may(OPERATOR);
    let allowed = SECTIONS.iter().filter(|(.., scope)| scope.is_empty() || api.may(scope));
    let allowed = allowed.filter(|(_, path, ..)| is_there(path));
    let of_all = allowed.map(|(label, path, group, _)| Section {
        label: (*label).to_owned(),
        path: (*path).to_owned(),
        group,
    });
    let read = |def: &&&ResourceDef| api.may(&format!("{}:read", def.path));
    let is_listed = |def: &&&ResourceDef| !LISTED_ELSEWHERE.contains(&def.path);
    let mut listed: Vec<_> = REGISTRY.iter().filter(is_listed).filter(read).collect();
    let last = FIRST_RECORDS.len();
    listed.sort_by_key(|def| {
        FIRST_RECORDS.iter().position(|first| *first == def.path).unwrap_or(last)
    });
    let of_resources = listed.into_iter().map(|def| Section {
        label: label_of(def.path),
        path: address("/app/records/{}", &[def.path], &[]),
        group: "Records",
    });
    let mut sections: Vec<Section> = of_all.chain(of_resources).collect();
    sections.sort_by_key(|section| section.group == OPERATE);
    sections
}
