//! Files of pages: what the API returns at a path, as a table in CSV with all rows, as a chart, or as JSON.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use poem::{
    Body, Response,
    http::{HeaderValue, header},
};
use svctrack_core::{resources::REGISTRY, revenue::CustomerPage};
use svctrack_web::pages::address;

use super::{
    api::{Api, text_of},
    submitted_form::sent,
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Media types of a file.
const FORMS: &[(&str, &str)] =
    &[("csv", CSV), ("svg", "image/svg+xml"), ("json", "application/json")];
const CSV: &str = "text/csv";
/// Paths below which other tables have no pages.
const REPORTS: &str = "/reports/";
/// The report that has pages.
const CUSTOMERS: &str = "/reports/customers";
/// Rows of a call, which every list returns; and its most customers, as each call computes the report.
const ROWS: u32 = 1_000;
const CUSTOMER_ROWS: u32 = CustomerPage::MAX_LIMIT;
/// Codes of a page whose sort keys or rows are too many bytes.
const TOO_MUCH: [&str; 2] = ["page_too_far", "page_too_large"];
/// End of the name of a file that does not have the order of its list.
const BY_CREATION: &str = "-by-creation";
/// Parameters that name a page of a list.
const PAGE: [&str; 3] = ["limit", "offset", "after"];

type Pairs = Vec<(String, String)>;

/// `GET /app/files/...`: the response of the API at a path, as a file.
pub(super) async fn file(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let path = request.uri().path().strip_prefix("/app/files").unwrap_or_default().to_owned();
    let mut pairs = query_pairs(&request);
    let form = FORMS.iter().find(|(name, _)| sent(&pairs, "form") == *name);
    let (extension, media_type) = form.copied().ok_or(Error::RouteNotFound)?;
    pairs.retain(|(name, _)| name != "form");
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_of_records = REGISTRY.iter().any(|def| path.strip_prefix('/') == Some(def.path));
    let is_sorted = extension == "csv" && is_of_records && !sent(&pairs, "sort").is_empty();
    let sorted = if is_sorted { in_order(&visit.api, &path, &pairs).await? } else { None };
    if is_sorted && sorted.is_none() {
        pairs.retain(|(name, _)| name != "sort");
        name.push_str(BY_CREATION);
    }
    let mut response = match extension {
        _ if let Some(sorted) = sorted => sorted,
        "csv" if path == CUSTOMERS || !path.starts_with(REPORTS) => {
            whole_list(visit.api, path, pairs).await?
        }
        _ => visit.api.ask(&with_query(&path, &pairs), media_type).await?,
    };
    let disposition = match extension {
        "csv" | "json" => format!("attachment; filename=\"{name}.{extension}\""),
        _ => format!("inline; filename=\"{name}.{extension}\""),
    };
    if let Ok(disposition) = HeaderValue::try_from(disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// A path with a query.
pub(super) fn with_query(path: &str, pairs: &[(String, String)]) -> String {
    let query: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    address(path, &[], &query)
}

/// All of a sorted list; none where its order takes too much memory.
async fn in_order(api: &Api, path: &str, pairs: &Pairs) -> Result<Option<Response>, Error> {
    let whole = pairs.iter().filter(|(name, _)| !PAGE.contains(&name.as_str()));
    let path = with_query(path, &whole.cloned().collect::<Pairs>());
    match api.ask_all(&path, CSV).await.map_err(Error::into_issues) {
        Ok(sorted) => Ok(Some(sorted)),
        Err(Ok(issues)) if issues.iter().any(|issue| TOO_MUCH.contains(&issue.code)) => Ok(None),
        Err(Ok(issues)) => Err(Error::BadRequest(issues)),
        Err(Err(error)) => Err(error),
    }
}

/// All pages of a list, each read when the one before is sent.
async fn whole_list(api: Api, path: String, mut pairs: Pairs) -> Result<Response, Error> {
    pairs.retain(|(name, _)| !PAGE.contains(&name.as_str()));
    let rows = if path == CUSTOMERS { CUSTOMER_ROWS } else { ROWS };
    pairs.push(("limit".to_owned(), rows.to_string()));
    let first = api.ask(&with_query(&path, &pairs), CSV).await?;
    let Some(next) = next_of(&first) else { return Ok(first) };
    let (mut parts, body) = first.into_parts();
    // They describe the first page.
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::ETAG);
    let rest = stream::try_unfold(Some(next), move |next| {
        let (api, path, mut pairs) = (api.clone(), path.clone(), pairs.clone());
        async move {
            let Some(next) = next else { return Ok(None) };
            pairs.push(next);
            let page = api.ask(&with_query(&path, &pairs), CSV).await.map_err(failed)?;
            let next = next_of(&page);
            let text = text_of(page).await.map_err(failed)?;
            let rows = text.split_once('\n').map_or("", |(_, rows)| rows);
            Ok(Some((Bytes::copy_from_slice(rows.as_bytes()), next)))
        }
    });
    Ok(Response::from_parts(parts, Body::from_bytes_stream(body.into_bytes_stream().chain(rest))))
}

fn failed(error: Error) -> io::Error {
    io::Error::other(format!("{error:?}"))
}

/// Parameter of the page after this one: `after=...` or `offset=...`.
fn next_of(page: &Response) -> Option<(String, String)> {
    let next = page.headers().get("svctrack-next")?.to_str().ok()?;
    let (name, value) = next.split_once('=')?;
    Some((name.to_owned(), value.to_owned()))
}
