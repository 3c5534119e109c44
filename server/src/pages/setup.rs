//! Setup: the values of the tenant, whether its first event has arrived, and recent issues.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use poem::Response;
use serde::Deserialize;
use svctrack_core::value::Timestamp;
use svctrack_web::pages::{
    IssueLine, LANGUAGES, LastActivity, SampleValues, ScriptInfo, SetupStatus, SetupView, address,
    setup_page,
};

use super::{respond::html, submitted_form::sent, visit::Visit};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Maximum number of issues that are shown next to the first event.
const ISSUES: &str = "3";
/// How long before the page is opened an issue may have occurred to be shown: a developer sends an event, then looks
/// here. Older issues are of other attempts.
const RECENT_MS: i64 = 10 * 60 * 1000;
/// Companies among which one with an `externalId` is looked for.
const COMPANIES: &str = "20";
/// Company of the samples where the tenant has none.
const DEMO: &str = "demo";

/// A company, as far as this page needs it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Company {
    #[serde(default)]
    external_id: Option<String>,
}

/// An end user, as far as this page needs them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IdentifiedUser {
    name: Option<String>,
    email: Option<String>,
    external_id: Option<String>,
}

/// `GET /app/setup`
pub(super) async fn setup(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let is_pinned = sent(&pairs, "pinned") == "true";
    let asked = LANGUAGES.iter().find(|(name, _)| sent(&pairs, "language") == *name);
    let language = asked.or(LANGUAGES.first()).map(|(name, _)| (*name).to_owned());
    let tenant = visit.session.caller.tenant.id().to_string();
    let pinned = if is_pinned { "true" } else { "false" };
    let path = address("/script.json", &[], &[("tenant", &tenant), ("pinned", pinned)]);
    let script: ScriptInfo = visit.api.get(&path).await?;
    let companies = companies(&visit).await?;
    let company = companies.iter().flatten().find(|name| is_plain(name)).cloned();
    let lacks_company = companies.is_some() && company.is_none();
    let endpoint = visit.app.addresses.endpoint(&tenant);
    let since = since(&pairs, visit.app.clock.now());
    let view = SetupView {
        values: SampleValues {
            bulk: format!("{}{}/bulk/{tenant}", script.public_url, script.tracking_prefix),
            base_url: script.public_url.clone(),
            endpoint,
            basic: format!("Basic {}", STANDARD.encode(format!("{tenant}:"))),
            tenant,
            company: company.unwrap_or_else(|| DEMO.to_owned()),
            day: visit.app.clock.now().to_string().get(..10).unwrap_or_default().to_owned(),
        },
        script,
        is_pinned,
        language: language.unwrap_or_default(),
        lacks_company,
        may_create_company: visit.api.may("companies:create"),
        arrival: arrival(&visit, &since).await?,
        since,
    };
    Ok(html(setup_page(&visit.shell, &view)))
}

/// The `externalId`s of companies; none where the token may not read them.
async fn companies(visit: &Visit) -> Result<Option<Vec<String>>, Error> {
    if !visit.api.may("companies:read") {
        return Ok(None);
    }
    let query = [("select", "externalId"), ("limit", COMPANIES)];
    let found: Vec<Company> = visit.api.get(&address("/companies", &[], &query)).await?;
    Ok(Some(found.into_iter().filter_map(|company| company.external_id).collect()))
}

/// Whether an id needs no quoting in any of the languages.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Time from which issues are shown: that of the first call of the page, which later ones repeat.
fn since(pairs: &[(String, String)], now: Timestamp) -> String {
    let repeated = Timestamp::parse(sent(pairs, "since"));
    repeated.unwrap_or_else(|| Timestamp::from_ms_clamped(now.as_ms() - RECENT_MS)).to_string()
}

/// The newest event, and the issues after it and after `since`; without an event, the user who was identified last.
async fn arrival(visit: &Visit, since: &str) -> Result<Option<SetupStatus>, Error> {
    if !visit.api.may("activities:read") {
        return Ok(None);
    }
    let found: Vec<LastActivity> =
        visit.api.get(&address("/activities", &[], &[("limit", "1")])).await?;
    let last = found.into_iter().next();
    let (mut issues, mut refused): (Vec<IssueLine>, _) = (Vec::new(), None);
    if visit.api.may("reports:read") {
        let last = last.as_ref().map_or("", |last| last.received_at.as_str());
        let query = [("limit", ISSUES), ("from", last.max(since))];
        issues = visit.api.get(&address("/integrationissues", &[], &query)).await?;
        // A parked event has the time at which it was sent, and so has its entry.
        issues.retain(|issue| issue.parked.is_none() || issue.at.as_str() > last);
        let rejected = visit.app.rejected.last_of(visit.session.caller.tenant.id());
        let rejected = rejected.map(|rejected| IssueLine {
            message: rejected.message,
            at: rejected.at.to_string(),
            count: rejected.count,
            ..IssueLine::default()
        });
        refused = rejected.filter(|rejected| rejected.at.as_str() > last.max(since));
    }
    let user = match &last {
        None if visit.api.may("endusers:read") => identified(visit).await?,
        _ => None,
    };
    Ok(Some(SetupStatus { last, user, issues, rejected: refused }))
}

/// Name of the user who was identified last.
async fn identified(visit: &Visit) -> Result<Option<String>, Error> {
    let query = [("lastActive[exists]", "true"), ("sort", "-lastActive"), ("limit", "1")];
    let found: Vec<IdentifiedUser> = visit.api.get(&address("/endusers", &[], &query)).await?;
    let names = found.into_iter().flat_map(|user| [user.name, user.email, user.external_id]);
    Ok(names.flatten().next())
}
