//! Licenses that are due, and the forms to renew or lose one, each with a preview.

use futures_util::try_join;
use poem::{
    Response,
    http::{HeaderName, Method},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use svctrack_core::{
    resources::{
        company::OWNER,
        license::{LICENSE, LOST_REASON, RENEWAL_DATE, RENEWAL_STATUS},
    },
    schema::filter_text::escaped,
    value::{Day, Document, ValidationError, Zone},
};
use svctrack_web::pages::{
    Decision, DecisionView, RecordView, RenewalGroup, RenewalKind, RenewalLine, RenewalsView,
    address, decision_page, money, page_after, property_label, renewals_page,
};

use super::{
    by_ids::text,
    excluded_licenses::{ExcludedLicenses, NO_END, NO_FIXED_PERIOD, excluded},
    paging::paging,
    respond::{html, rejected, see, shown},
    submitted_form::{body_of, headers_of, is_changed, problems_of, problems_of_address, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Days ahead in which a license is due.
const DUE_DAYS: i64 = 90;
/// Days back in which a license ended that was renewed or lost of late.
const DECIDED_DAYS: i64 = 90;
/// Days back in which overdue licenses are looked for.
const OVERDUE_DAYS: i64 = 730;
/// Licenses of a group on a page; all of them are in its sums.
const LISTED: usize = 50;
/// Months that can be chosen, the current one first.
const MONTHS: i32 = 6;
/// Reason in a call that only shows a loss, which needs one.
const ANY_REASON: &str = "-";
/// Status of a license that is not decided.
const ONGOING: &str = "ongoing";
const DECISIONS: [Decision; 2] = [Decision::Renew, Decision::Lose];

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
    excluded: Vec<ExcludedLicenses>,
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

/// Period and place of the page, from its address.
#[derive(Default)]
struct PageParameters {
    /// Days at which licenses end, from the first to before the last; none for what is due now.
    days: Option<(String, String)>,
    /// Owner of the companies; empty for all of them.
    owner: String,
    /// Group that is shown alone; empty for all of them.
    group: String,
    offset: usize,
}

impl PageParameters {
    fn from_pairs(visit: &Visit, pairs: &[(String, String)]) -> Self {
        let days = match (sent(pairs, "from"), sent(pairs, "to")) {
            ("", "") => None,
            (from, to) => {
                let or = |text: &str, days| match text {
                    "" => visit.day(days),
                    text => text.to_owned(),
                };
                Some((or(from, -OVERDUE_DAYS), or(to, DUE_DAYS)))
            }
        };
        let offset = sent(pairs, "offset").parse().unwrap_or_default();
        let owner = sent(pairs, OWNER.name).trim().to_owned();
        Self { days, owner, group: sent(pairs, "group").to_owned(), offset }
    }

    /// Query of the page for a group.
    fn query<'q>(&'q self, group: &'q str) -> Vec<(&'q str, &'q str)> {
        let days = self.days.iter();
        let days = days.flat_map(|(from, to)| [("from", from.as_str()), ("to", to.as_str())]);
        let others = [(OWNER.name, self.owner.as_str()), ("group", group)];
        days.chain(others.into_iter().filter(|(_, text)| !text.is_empty())).collect()
    }
}

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] =
    &["from", "to", "owner", "group", "offset", "done", "license"];

/// `GET /app/renewals`
pub(super) async fn renewals(
    mut visit: Visit,
    request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let asked = PageParameters::from_pairs(&visit, &pairs);
    let mut view = match found(&visit, &asked).await.map_err(Error::into_issues) {
        Ok(view) => view,
        Err(Ok(issues)) => {
            let problems = problems_of_address(issues, property_label);
            RenewalsView { problems, ..RenewalsView::default() }
        }
        Err(Err(error)) => return Err(error),
    };
    for group in &mut view.groups {
        cut(group, &asked);
    }
    view.months = months(&visit, &asked.owner);
    view.owner = asked.owner;
    (view.from, view.to) = asked.days.unwrap_or_default();
    view.may_renew = may_renew(&visit);
    view.may_lose = may_lose(&visit);
    visit.shell.notice = decided(&visit, &pairs).await;
    Ok(shown(renewals_page(&visit.shell, &view), &view.problems))
}

/// What was decided, where the address names the decision and the license that it led to.
async fn decided(visit: &Visit, pairs: &[(String, String)]) -> Option<String> {
    let done = sent(pairs, "done");
    let decision = DECISIONS.into_iter().find(|decision| decision.path() == done)?;
    let path = address("/licenses/{}", &[sent(pairs, "license")], &[]);
    let license: Record = visit.api.get(&path).await.ok()?;
    decision.notice(&license, visit.shell.zone)
}

fn may_renew(visit: &Visit) -> bool {
    visit.api.may("licenses:create") && may_lose(visit)
}

/// Whether the token may mark licenses as lost, on a page that shows them.
fn may_lose(visit: &Visit) -> bool {
    visit.api.may("licenses:read") && visit.api.may("licenses:update")
}

/// Leaves the licenses of a group that the page shows: all groups have their first ones, and a group alone has pages.
fn cut(group: &mut RenewalGroup, asked: &PageParameters) {
    let id = group.kind.id();
    group.all = address("/app/renewals", &[], &asked.query(id));
    if asked.group.is_empty() {
        group.lines.truncate(LISTED);
    } else if asked.group == id {
        let listed = group.lines.len() as u64;
        let rest = group.lines.drain(..).skip(asked.offset);
        let lines: Vec<_> = rest.take(LISTED).collect();
        let page_at = |offset: usize| {
            let at = offset.to_string();
            address("/app/renewals", &[], &[&asked.query(id)[..], &[("offset", &at)]].concat())
        };
        let place = (asked.offset, LISTED);
        group.paging = Some(paging(place, (lines.len(), Some(listed)), page_at));
        group.lines = lines;
    } else {
        group.lines.clear();
    }
}

/// What is due now, this month and the next ones: each with the address of its licenses.
fn months(visit: &Visit, owner: &str) -> Vec<(String, String)> {
    let today = visit.day(0);
    let number = |range| today.get(range).and_then(|text: &str| text.parse().ok());
    let month = number(0..4).unwrap_or(0_i32) * 12 + number(5..7).unwrap_or(1) - 1;
    let name = |month: i32| format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1);
    let link = |name: String, days: Option<(String, String)>| {
        let asked = PageParameters { days, owner: owner.to_owned(), ..PageParameters::default() };
        (name, address("/app/renewals", &[], &asked.query("")))
    };
    let link_to =
        |month: i32| link(name(month), Some((name(month) + "-01", name(month + 1) + "-01")));
    let now = link("Now".to_owned(), None);
    std::iter::once(now).chain((month..month + MONTHS).map(link_to)).collect()
}

/// Licenses that are due, overdue, or were decided.
async fn found(visit: &Visit, asked: &PageParameters) -> Result<RenewalsView, Error> {
    let days =
        |back: i64| asked.days.clone().unwrap_or_else(|| (visit.day(-back), visit.day(DUE_DAYS)));
    let (overdue, due, lost, renewed) = try_join!(
        group(visit, RenewalKind::Overdue, days(OVERDUE_DAYS), &asked.owner),
        group(visit, RenewalKind::Due, days(OVERDUE_DAYS), &asked.owner),
        group(visit, RenewalKind::Lost, days(DECIDED_DAYS), &asked.owner),
        group(visit, RenewalKind::Renewed, days(DECIDED_DAYS), &asked.owner)
    )?;
    Ok(RenewalsView { groups: vec![overdue, due, lost, renewed], ..RenewalsView::default() })
}

/// Licenses that are due, and those that are overdue.
pub(super) async fn ahead(visit: &Visit) -> Result<(RenewalGroup, RenewalGroup), Error> {
    let days = || (visit.day(-OVERDUE_DAYS), visit.day(DUE_DAYS));
    let (due, overdue) = (RenewalKind::Due, RenewalKind::Overdue);
    try_join!(group(visit, due, days(), ""), group(visit, overdue, days(), ""))
}

/// The licenses of a company that the figures of the page of renewals leave out.
pub(super) async fn excluded_of(
    visit: &Visit,
    company: &str,
) -> Result<Vec<ExcludedLicenses>, Error> {
    let (from, to) = (visit.day(-OVERDUE_DAYS), visit.day(DUE_DAYS));
    let query = [("companyId", company), ("from", &from), ("to", &to), ("interval", "year")];
    let report: Report = visit.api.get(&address("/reports/renewals", &[], &query)).await?;
    Ok(report.excluded)
}

/// The licenses of an outcome that end in some days.
async fn group(
    visit: &Visit,
    kind: RenewalKind,
    (from, to): (String, String),
    owner: &str,
) -> Result<RenewalGroup, Error> {
    let (outcome, is_any) = (kind.outcome(), owner.is_empty());
    let owner = escaped(owner);
    let query = [
        ("from", from.as_str()),
        ("to", to.as_str()),
        ("interval", "year"),
        ("outcome", outcome),
        (OWNER.name, owner.as_str()),
    ];
    let query = query.get(..query.len() - usize::from(is_any)).unwrap_or_default();
    let report: Report = visit.api.get(&address("/reports/renewals", &[], query)).await?;
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
    let of_file = [("part", "licenses"), ("form", "csv")];
    let csv = address("/app/files/reports/renewals", &[], &[query, &of_file].concat());
    let count = report.licenses_total;
    let of_reason = |reason| {
        let licenses = report.excluded.iter().find(|it| it.reason == reason);
        licenses.and_then(|licenses| excluded(std::slice::from_ref(licenses)))
    };
    let (not_fixed, endless) = (of_reason(NO_FIXED_PERIOD), of_reason(NO_END));
    let is_other = |it: &ExcludedLicenses| ![NO_FIXED_PERIOD, NO_END].contains(&&*it.reason);
    let excluded =
        excluded(report.excluded.into_iter().filter(is_other).collect::<Vec<_>>().as_slice());
    let group = RenewalGroup { kind, lines, count, mrr, csv, ..RenewalGroup::default() };
    Ok(RenewalGroup { not_fixed, endless, excluded, ..group })
}

/// `GET /app/licenses/:id/renew`
pub(super) async fn show_renewal(
    visit: Visit,
    request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    show(visit, &request, Decision::Renew).await
}

/// `GET /app/licenses/:id/lose`
pub(super) async fn show_loss(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    show(visit, &request, Decision::Lose).await
}

/// `POST /app/licenses/:id/renew`: shows the renewal with other terms, or carries it out.
pub(super) async fn renew(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    decide(visit, request, Decision::Renew).await
}

/// `POST /app/licenses/:id/lose`: shows the loss, or carries it out.
pub(super) async fn lose(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    decide(visit, request, Decision::Lose).await
}

/// Adds the decisions that are possible to the page of a license.
pub(super) fn extend(visit: &Visit, id: &str, view: &mut RecordView) {
    let is_undecided = text(&view.record, RENEWAL_STATUS.name) == ONGOING;
    let renews = view.record.get(RENEWAL_DATE.name).is_some_and(Value::is_string);
    let offers = [
        (renews && may_renew(visit), "Renew", Decision::Renew),
        (may_lose(visit), "Mark as lost", Decision::Lose),
    ];
    let offered = offers.into_iter().filter(|(is_offered, ..)| is_undecided && *is_offered);
    view.actions.extend(offered.map(|(_, label, decision)| {
        (label, address("/app/licenses/{}/{}", &[id, decision.path()], &[]))
    }));
}

async fn show(
    visit: Visit,
    request: &RoutedRequest<'_>,
    decision: Decision,
) -> Result<Response, Error> {
    let view = view_of(&visit, request, decision).await?;
    Ok(html(decision_page(&visit.shell, &view)))
}

async fn decide(
    visit: Visit,
    mut request: RoutedRequest<'_>,
    decision: Decision,
) -> Result<Response, Error> {
    let mut view = view_of(&visit, &request, decision).await?;
    let (pairs, _room) = visit.form(&mut request).await?;
    if view.shown.is_none() {
        // No decision is possible.
        return Ok(rejected(decision_page(&visit.shell, &view)));
    }
    let body = body_of(&LICENSE, &pairs, &view.terms);
    let terms = terms_in(&body.document);
    let is_asked = sent(&pairs, "step") == "show";
    let is_unseen = terms != sent(&pairs, "previewed") && !is_stale(&pairs, &view);
    let is_preview = is_asked || is_unseen;
    let headers = if is_preview { Vec::new() } else { headers_of(&pairs) };
    match call(&visit, &view, (&headers, &body.document), is_preview).await? {
        Ok(license) if !is_preview => {
            let done = [("done", decision.path()), ("license", text(&license, "_id"))];
            let after = page_after(&visit.shell, text(&view.license, "_id"));
            Ok(see(&address(&after, &[], &done)))
        }
        Ok(shown) => {
            let is_changed = !is_asked;
            let (shown, previewed) = (Some(shown), terms);
            view = DecisionView { shown, previewed, is_changed, sent: pairs, ..view };
            Ok(html(decision_page(&visit.shell, &view)))
        }
        Err(issues) => {
            // Values that were filled in belong to earlier terms; the reason of a loss does not.
            let is_kept = |name: &str| !is_changed(&issues) || name == "lostReason";
            view.sent = pairs.into_iter().filter(|(name, _)| is_kept(name)).collect();
            view.problems = problems_of(body.all_issues(issues));
            Ok(rejected(decision_page(&visit.shell, &view)))
        }
    }
}

/// The terms of a decision that its preview shows, as text: all but the reason of a loss.
fn terms_in(body: &Document) -> String {
    let mut terms = body.clone();
    terms.remove(LOST_REASON.name);
    terms.to_text()
}

/// Whether the license was changed since the form was shown: the call is then rejected.
fn is_stale(pairs: &[(String, String)], view: &DecisionView) -> bool {
    let version = sent(pairs, "version");
    !version.is_empty() && version != view.version
}

/// The license, with the result of the decision without other terms.
async fn view_of(
    visit: &Visit,
    request: &RoutedRequest<'_>,
    decision: Decision,
) -> Result<DecisionView, Error> {
    let id = path_part(request, "id").unwrap_or_default();
    let (license, version) = visit.api.record(&address("/licenses/{}", &[&id], &[])).await?;
    let previewed = terms_in(&Document::default());
    let mut view =
        DecisionView { decision, license, version, previewed, ..DecisionView::default() };
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
) -> Result<Result<Record, Vec<ValidationError>>, Error> {
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
