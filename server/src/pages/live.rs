//! Activities as they are stored.

use futures_util::StreamExt as _;
use poem::{
    Body, Response,
    http::{HeaderName, Method, header},
};
use svctrack_core::{
    resources::{company::COMPANY, end_user::END_USER},
    schema::ResourceDef,
    value::ObjectId,
};
use svctrack_web::pages::{ActivityLine, LiveView, Problem, address, live_page};

use super::{
    api::JSON,
    references::{references, resolve},
    respond::shown,
    submitted_form::{problems_of, sent},
    visit::Visit,
};
use crate::{auth::session, error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Activities that a page begins with, or continues with.
const SHOWN: usize = 100;
/// Properties that the activities can be filtered by, and what they refer to.
const FILTERS: [(&str, Option<&ResourceDef>); 3] =
    [("endUserId", Some(&END_USER)), ("companyId", Some(&COMPANY)), ("action", None)];
/// Header with the last activity that a browser has, when it comes back to a stream.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] = &["endUserId", "companyId", "action", "after"];

/// `GET /app/live`
pub(super) async fn live(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let value_of = |name: &str| sent(&pairs, name).trim().to_owned();
    let mut view = LiveView::default();
    let mut filters: Vec<(&'static str, String)> = Vec::new();
    for (name, target) in FILTERS {
        let value = match target {
            Some(def) => resolve(&visit, def, &value_of(name)).await?,
            None => Ok(value_of(name)),
        };
        let unresolved = value.as_ref().err().cloned();
        let problem = |message| Problem { field: String::new(), message };
        view.problems.extend(unresolved.map(problem));
        filters.push((name, value.unwrap_or_else(|_| value_of(name))));
    }
    let targets = FILTERS.iter().zip(&filters);
    let targets = targets.filter_map(|((_, def), (_, value))| Some(((*def)?, value.as_str())));
    view.references = references(&visit, targets).await?;
    let query: Vec<(&str, &str)> = filters
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let with = |path, name, id: &str| address(path, &[], &[&query[..], &[(name, id)]].concat());
    let (after, limit) = (value_of("after"), SHOWN.to_string());
    let page = [("limit", limit.as_str()), ("after", &after)];
    let page = if after.is_empty() { &page[..1] } else { &page[..] };
    view.newer = address("/app/live", &[], &query);
    if !view.problems.is_empty() {
        view.filters = filters;
        return Ok(shown(live_page(&visit.shell, &view), &view.problems));
    }
    let path = address("/activities", &[], &[&query[..], page].concat());
    match visit.api.get::<Vec<ActivityLine>>(&path).await.map_err(Error::into_issues) {
        Ok(lines) => view.lines = lines,
        Err(Ok(issues)) => view.problems = problems_of(issues),
        Err(Err(error)) => return Err(error),
    }
    let last = view.lines.last().filter(|_| view.lines.len() == SHOWN);
    view.older = last.map(|line| with("/app/live", "after", &line.id));
    if after.is_empty() && view.problems.is_empty() {
        view.stream = Some(match view.lines.first() {
            Some(newest) => with("/app/live/stream", "after", &newest.id),
            // Also what is stored before a browser listens, and while its page is hidden.
            None if query.is_empty() => {
                with("/app/live/stream", "after", &ObjectId::MIN.to_string())
            }
            None => address("/app/live/stream", &[], &query),
        });
    }
    view.filters = filters;
    Ok(shown(live_page(&visit.shell, &view), &view.problems))
}

/// `GET /app/live/stream`: the stream of the API, as long as the session lasts.
pub(super) async fn stream(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let query: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let path = address("/activities/stream", &[], &query);
    let last = request.header(LAST_EVENT_ID).map(|last| (LAST_EVENT_ID, last));
    let headers: Vec<_> = [(header::ACCEPT, JSON)].into_iter().chain(last).collect();
    let response = visit.api.call(Method::GET, &path, &headers, String::new()).await?;
    let (parts, body) = response.into_parts();
    let (app, id) = (visit.app.clone(), visit.session.id.clone());
    let pieces = body.into_bytes_stream().take_while(move |_| {
        let (app, id) = (app.clone(), id.clone());
        async move {
            let known = app.store.token(&id).await.ok().flatten();
            known.is_some_and(|known| session::is_alive(&app, &known.record))
        }
    });
    Ok(Response::from_parts(parts, Body::from_bytes_stream(pieces)))
}
