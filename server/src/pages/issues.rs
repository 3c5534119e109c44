//! The report of integration issues: list, replay, remove.

use poem::{Response, http::Method};
use serde_json::Value;
use svctrack_core::plan::Route;
use svctrack_web::pages::{IssueLine, IssuesView, address, issues_page};

use super::{
    api::{JSON, read},
    paging::number_of,
    respond::{see, shown},
    submitted_form::{notice_of, problems_of, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Header of the report with the number of all parked events.
pub(super) const PARKED: &str = "svctrack-parked-total";
/// Filter by the least number of parked events of an entry.
const HAS_PARKED: &str = "parked[gte]";
/// Entries on a page.
const SHOWN: usize = 100;
/// Notices of actions, for the next page.
const NOTICES: &[(&str, &str)] = &[
    (
        "replayed",
        "The parked events of the entry are processed again. Those whose user or company is still missing stay parked.",
    ),
    (
        "removed",
        "The entry was removed. It appears again if the problem occurs again. Its parked events stay parked.",
    ),
];

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] = &["code", "route", HAS_PARKED, "after", "done"];

/// `GET /app/issues`
pub(super) async fn issues(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let value_of = |name: &str| sent(&pairs, name).to_owned();
    let (code, route, after) = (value_of("code"), value_of("route"), value_of("after"));
    let parked = value_of(HAS_PARKED);
    let filters =
        [("code", code.as_str()), ("route", route.as_str()), (HAS_PARKED, parked.as_str())];
    let filters: Vec<(&str, &str)> =
        filters.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    let limit = SHOWN.to_string();
    let mut query = [&filters[..], &[("limit", limit.as_str())]].concat();
    if !after.is_empty() {
        query.push(("after", &after));
    }
    let mut view = IssuesView {
        routes: Route::NAMES.to_vec(),
        csv: address(
            "/app/files/integrationissues",
            &[],
            &[&filters[..], &[("form", "csv")]].concat(),
        ),
        may_change: visit.api.may("admin"),
        ..IssuesView::default()
    };
    let found = visit.api.ask(&address("/integrationissues", &[], &query), JSON).await;
    match found.map_err(Error::into_issues) {
        Ok(report) => {
            view.parked = number_of(&report, PARKED).unwrap_or_default();
            view.lines = read(report).await?;
        }
        Err(Ok(issues)) => view.problems = problems_of(issues),
        Err(Err(error)) => return Err(error),
    }
    let last = view.lines.last().filter(|_| view.lines.len() == SHOWN);
    view.next = last.map(|last: &IssueLine| {
        address("/app/issues", &[], &[&filters[..], &[("after", last.id.as_str())]].concat())
    });
    (view.code, view.route) = (code, route);
    let mut shell = visit.shell;
    shell.notice = notice_of(&pairs, NOTICES);
    Ok(shown(issues_page(&shell, &view), &view.problems))
}

/// `POST /app/issues/:id/replay`
pub(super) async fn replay(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let path = path_of(&request, "/integrationissues/{}/replay");
    visit.form(&mut request).await?;
    visit.api.send(Method::POST, &path, &[], &Value::Null).await?;
    Ok(see("/app/issues?done=replayed"))
}

/// `POST /app/issues/:id/remove`
pub(super) async fn remove(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let path = path_of(&request, "/integrationissues/{}");
    visit.form(&mut request).await?;
    visit.api.send(Method::DELETE, &path, &[], &Value::Null).await?;
    Ok(see("/app/issues?done=removed"))
}

fn path_of(request: &RoutedRequest<'_>, path: &str) -> String {
    address(path, &[&path_part(request, "id").unwrap_or_default()], &[])
}
