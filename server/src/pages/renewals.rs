//! Licenses that are due, and the forms to renew or lose one, each with a preview.

use futures_util::try_join;
use poem::{
    Request, Response,
    http::{HeaderName, Method},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use svctrack_core::{
    resources::license::LICENSE,
    value::{Day, Issue, Zone},
};
use svctrack_web::pages::{
    Decision, DecisionView, RenewalGroup, RenewalLine, RenewalsView, address, decision_page, money,
    renewals_page,
};

use super::{
    by_ids::{by_ids, text},
    forms::{body_of, headers_of, is_changed, problems_of, sent},
    respond::{html, rejected, see},
    visit::Visit,
};
use crate::{error::Error, path_tree::path_part, routes::query_pairs};

/// Days ahead in which a license is due.
const DUE_DAYS: i64 = 90;
/// Days back in which a license ended that was renewed or lost of late.
const DECIDED_DAYS: i64 = 90;
/// Days back in which overdue licenses are looked for.
const OVERDUE_DAYS: i64 = 730;
/// Most licenses of a group that are listed; all of them are in its sums.
const LISTED: usize = 100;
/// Reason in a call that only shows a loss, which needs one.
const ANY_REASON: &str = "-";

type Record = Map<String, Value>;

/// The report of renewals, as far as this page needs it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    time_zone: String,
    currencies: Vec<Series>,
    /// First licenses of one outcome.
    licenses: Vec<RenewalLine>,
    licenses_total: usize,
}

#[derive(Deserialize)]
struct Series {
    currency: String,
    rows: Vec<OutcomeMrr>,
}

/// MRR of the licenses, by their outcomes.
#[derive(Deserialize)]
struct OutcomeMrr {
    renewed: f64,
    /// MRR that was lost by renewals for less.
    downgrade: f64,
    churned: f64,
    overdue: f64,
    open: f64,
}

impl OutcomeMrr {
    fn mrr(&self, outcome: &str) -> f64 {
        match outcome {
            "renewed" => self.renewed + self.downgrade,
            "churned" => self.churned,
            "overdue" => self.overdue,
            _ => self.open,
        }
    }
}

/// `GET /app/renewals`
pub(super) async fn renewals(mut visit: Visit, request: Request) -> Result<Response, Error> {
    let mut view = found(&visit).await?;
    for group in view.groups_mut() {
        group.lines.truncate(LISTED);
    }
    let lines = view.groups().into_iter().flat_map(|group| &group.lines);
    let companies = lines.map(|line| line.company.as_str());
    let companies = by_ids(&visit, "companies", companies, "name").await?;
    for group in view.groups_mut() {
        for line in &mut group.lines {
            line.name = companies.get(&line.company).map(|it| text(it, "name").to_owned());
        }
    }
    visit.shell.notice = match sent(&query_pairs(&request), "done") {
        "renew" => Some("The license was renewed.".to_owned()),
        "lose" => Some("The license was marked as lost.".to_owned()),
        _ => None,
    };
    Ok(html(renewals_page(&visit.shell, &view)))
}

/// Licenses that are due, overdue, or were decided lately, without the names of their companies.
async fn found(visit: &Visit) -> Result<RenewalsView, Error> {
    let (ahead, lost, renewed) = try_join!(
        ahead(visit),
        group(visit, "churned", DECIDED_DAYS),
        group(visit, "renewed", DECIDED_DAYS)
    )?;
    Ok(RenewalsView {
        due: ahead.0,
        overdue: ahead.1,
        lost,
        renewed,
        may_renew: visit.api.may("licenses:create") && visit.api.may("licenses:update"),
        may_lose: visit.api.may("licenses:update"),
    })
}

/// Licenses that are due, and those that are overdue.
pub(super) async fn ahead(visit: &Visit) -> Result<(RenewalGroup, RenewalGroup), Error> {
    try_join!(group(visit, "open", OVERDUE_DAYS), group(visit, "overdue", OVERDUE_DAYS))
}

/// The licenses of an outcome that ended in the last `days` days, or are due.
async fn group(visit: &Visit, outcome: &str, days: i64) -> Result<RenewalGroup, Error> {
    let (from, to) = (visit.day(-days), visit.day(DUE_DAYS));
    let query =
        [("from", from.as_str()), ("to", to.as_str()), ("interval", "year"), ("outcome", outcome)];
    let report: Report = visit.api.get(&address("/reports/renewals", &[], &query)).await?;
    let zone = Zone::parse(&report.time_zone).unwrap_or(Zone::UTC);
    let today = zone.day(visit.app.clock.now());
    let mut lines = report.licenses;
    for line in &mut lines {
        let end = Day::parse(&line.end).and_then(|end| end.begin(zone));
        line.days = end.map_or(0, |end| zone.day(end) - today);
    }
    let sum = |series: &Series| series.rows.iter().map(|row| row.mrr(outcome)).sum::<f64>();
    let sums = report.currencies.iter().map(|series| (sum(series), &series.currency));
    let sums = sums.filter(|(sum, _)| *sum != 0.0).map(|(sum, currency)| money(sum, currency));
    let mrr = sums.collect::<Vec<_>>().join(", ");
    Ok(RenewalGroup { lines, count: report.licenses_total, mrr })
}

/// `GET /app/licenses/:id/renew`
pub(super) async fn show_renewal(visit: Visit, request: Request) -> Result<Response, Error> {
    show(visit, &request, Decision::Renew).await
}

/// `GET /app/licenses/:id/lose`
pub(super) async fn show_loss(visit: Visit, request: Request) -> Result<Response, Error> {
    show(visit, &request, Decision::Lose).await
}

/// `POST /app/licenses/:id/renew`: shows the renewal with other terms, or carries it out.
pub(super) async fn renew(visit: Visit, request: Request) -> Result<Response, Error> {
    decide(visit, request, Decision::Renew).await
}

/// `POST /app/licenses/:id/lose`: shows the loss, or carries it out.
pub(super) async fn lose(visit: Visit, request: Request) -> Result<Response, Error> {
    decide(visit, request, Decision::Lose).await
}

async fn show(visit: Visit, request: &Request, decision: Decision) -> Result<Response, Error> {
    let view = view_of(&visit, request, decision).await?;
    Ok(html(decision_page(&visit.shell, &view)))
}

async fn decide(visit: Visit, mut request: Request, decision: Decision) -> Result<Response, Error> {
    let mut view = view_of(&visit, &request, decision).await?;
    let (pairs, _room) = visit.form(&mut request).await?;
    let is_preview = sent(&pairs, "step") == "show";
    view.problems = match body_of(&LICENSE, &pairs, &view.terms) {
        // No decision is possible.
        _ if view.shown.is_none() => view.problems,
        Ok(body) => {
            let headers = if is_preview { Vec::new() } else { headers_of(&pairs) };
            match call(&visit, &view, (&headers, &body), is_preview).await? {
                Ok(_) if !is_preview => {
                    let done = [("done", decision.path())];
                    return Ok(see(&address("/app/renewals", &[], &done)));
                }
                Ok(shown) => {
                    view = DecisionView { shown: Some(shown), sent: pairs, ..view };
                    return Ok(html(decision_page(&visit.shell, &view)));
                }
                Err(issues) => {
                    // Values that were filled in belong to earlier terms; the reason of a loss does not.
                    let is_kept = |name: &str| !is_changed(&issues) || name == "lostReason";
                    view.sent = pairs.into_iter().filter(|(name, _)| is_kept(name)).collect();
                    problems_of(issues)
                }
            }
        }
        Err(problems) => {
            view.sent = pairs;
            problems
        }
    };
    Ok(rejected(decision_page(&visit.shell, &view)))
}

/// The license, with the result of the decision without other terms.
async fn view_of(
    visit: &Visit,
    request: &Request,
    decision: Decision,
) -> Result<DecisionView, Error> {
    let id = path_part(request, "id").unwrap_or_default();
    let (license, version) = visit.api.record(&address("/licenses/{}", &[&id], &[])).await?;
    let mut view = DecisionView { decision, license, version, ..DecisionView::default() };
    match call(visit, &view, (&[], &without_terms(decision)), true).await? {
        Ok(shown) => view.shown = Some(shown),
        Err(issues) => view.problems = problems_of(issues),
    }
    view.terms = terms_of(&view);
    Ok(view)
}

/// Body of a call that shows the decision without terms.
fn without_terms(decision: Decision) -> Value {
    match decision {
        Decision::Renew => json!({}),
        Decision::Lose => json!({ "lostReason": ANY_REASON }),
    }
}

/// Record that the form is filled with: the terms of the successor, or those of the license that is lost.
fn terms_of(view: &DecisionView) -> Record {
    match (&view.shown, view.decision) {
        (Some(successor), Decision::Renew) => successor.clone(),
        _ => view.license.clone(),
    }
}

/// Shows the license that a decision creates or changes, or carries the decision out; else the problems.
async fn call(
    visit: &Visit,
    view: &DecisionView,
    (headers, body): (&[(HeaderName, &str)], &impl ToString),
    is_preview: bool,
) -> Result<Result<Record, Vec<Issue>>, Error> {
    let (id, verb) = (text(&view.license, "_id"), view.decision.path());
    let query = [("dryRun", if is_preview { "true" } else { "false" })];
    let path = address("/licenses/{}/{}", &[id, verb], &query);
    match visit.api.send(Method::POST, &path, headers, body).await.map_err(Error::into_issues) {
        Ok(Value::Object(shown)) => Ok(Ok(shown)),
        Ok(_) => Err(Error::Internal("a license is no object".to_owned())),
        Err(Ok(issues)) => Ok(Err(issues)),
        Err(Err(error)) => Err(error),
    }
}
