//! Audit log: all of a tenant, and the changes of a record on its page. The API decides who may read it.

use poem::Response;
use svctrack_core::{
    resources::{REGISTRY, settings::SETTINGS},
    schema::ResourceDef,
    value::{Day, Zone},
};
use svctrack_web::pages::{
    AuditLine, AuditView, RecordSection, RecordView, TokenLine, address, audit_page,
    property_label, title_of,
};

use super::{
    by_ids::{TITLES, by_ids},
    respond::shown,
    submitted_form::{problems_of_address, sent},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Entries on a page.
const SHOWN: usize = 100;
/// Name of tokens in the log.
const TOKENS: &str = "tokens";
/// Changes on the page of a record.
const OF_RECORD: usize = 20;

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] =
    &["action", "resource", "id", "tokenId", "from", "to", "after"];

/// `GET /app/audit`
pub(super) async fn audit(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let given = |name: &&'static str| !sent(&pairs, name).is_empty();
    let filters: Vec<(&str, &str)> = AuditView::FILTERS
        .iter()
        .filter(|name| given(name))
        .map(|name| (*name, sent(&pairs, name)))
        .collect();
    let zone = visit.shell.zone;
    let times: Vec<String> = filters.iter().map(|(name, text)| time(name, text, zone)).collect();
    let (limit, after) = (SHOWN.to_string(), sent(&pairs, "after"));
    let asked: Vec<(&str, &str)> =
        filters.iter().zip(&times).map(|((name, _), text)| (*name, text.as_str())).collect();
    let mut query = [&asked[..], &[("limit", limit.as_str())]].concat();
    if !after.is_empty() {
        query.push(("after", after));
    }
    let mut view = AuditView {
        filters: AuditView::FILTERS.map(|name| (name, sent(&pairs, name).to_owned())).into(),
        csv: address("/app/files/audit", &[], &[&asked[..], &[("form", "csv")]].concat()),
        ..AuditView::default()
    };
    match visit.api.get(&address("/audit", &[], &query)).await.map_err(Error::into_issues) {
        Ok(lines) => {
            view.lines = lines;
            add_names(&visit, &mut view.lines).await?;
        }
        Err(Ok(issues)) => view.problems = problems_of_address(issues, property_label),
        Err(Err(error)) => return Err(error),
    }
    let last = view.lines.last().filter(|_| view.lines.len() == SHOWN);
    view.next = last.map(|last: &AuditLine| {
        address("/app/audit", &[], &[&filters[..], &[("after", last.entry.as_str())]].concat())
    });
    Ok(shown(audit_page(&visit.shell, &view), &view.problems))
}

/// Adds the names of the records and tokens that still exist.
async fn add_names(visit: &Visit, lines: &mut [AuditLine]) -> Result<(), Error> {
    for def in REGISTRY.iter().copied() {
        let of_it = |line: &AuditLine| line.resource.as_deref() == Some(def.path);
        let ids: Vec<String> =
            lines.iter().filter(|line| of_it(line)).filter_map(|line| line.id.clone()).collect();
        if ids.is_empty() || def.path == SETTINGS.path {
            continue;
        }
        let found = by_ids(visit, def.path, ids.iter().map(String::as_str), TITLES).await?;
        for line in lines.iter_mut().filter(|line| of_it(line)) {
            let record = line.id.as_ref().and_then(|id| found.get(id));
            line.name = record.map(|record| title_of(def, record));
        }
    }
    add_tokens(visit, lines).await
}

/// Adds which tokens the tenant has, and the labels of those that are targets.
async fn add_tokens(visit: &Visit, lines: &mut [AuditLine]) -> Result<(), Error> {
    let tokens: Vec<TokenLine> = visit.api.get("/tokens").await?;
    let find = |id: &Option<String>| tokens.iter().find(|token| id.as_deref() == Some(&*token.id));
    for line in lines {
        line.has_token = find(&line.token_id).is_some();
        if line.resource.as_deref() == Some(TOKENS) {
            line.name = find(&line.id).map(|token| token.label.clone());
        }
    }
    Ok(())
}

/// Value of a filter for the API: a day begins in the tenant's zone.
fn time(name: &str, text: &str, zone: Zone) -> String {
    let day = matches!(name, "from" | "to").then(|| Day::parse(text)).flatten();
    let begin = day.and_then(|day| day.begin(zone));
    begin.map_or_else(|| text.to_owned(), |begin| begin.to_string())
}

/// Adds the changes of a record to its page, for users who may read the log.
pub(super) async fn extend(
    visit: &Visit,
    def: &ResourceDef,
    id: &str,
    view: &mut RecordView,
) -> Result<(), Error> {
    if !visit.api.may("admin") {
        return Ok(());
    }
    let limit = OF_RECORD.to_string();
    let of_it = [("resource", def.path), ("id", id)];
    let path = address("/audit", &[], &[&of_it[..], &[("limit", &limit)]].concat());
    let mut lines: Vec<AuditLine> = visit.api.get(&path).await?;
    add_tokens(visit, &mut lines).await?;
    view.extra.push(RecordSection::Changes { lines, all: address("/app/audit", &[], &of_it) });
    Ok(())
}
