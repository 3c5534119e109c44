//! Tickets: a list with search and status, and a page for each with its text and its status.

use poem::{Response, http::Method};
use serde_json::json;
use svctrack_web::pages::{
    Problem, TicketView, TicketsView, address, property_label, ticket_page, tickets_page,
};

use super::{
    api::{JSON, read},
    by_ids::text,
    paging::{paging, total_of},
    respond::{html, rejected, see, shown},
    submitted_form::{headers_of, problems_of, problems_of_address, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Tickets on a page.
const SHOWN: usize = 50;
/// Properties of a ticket in the list.
const SELECT: &str =
    "title,sourceId,companyId,companyName,status,severity,name,email,createDate,isOpen,snippet";

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] = &["search", "status", "open", "offset"];

/// `GET /app/tickets`
pub(super) async fn list(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let value_of = |name: &str| sent(&pairs, name).to_owned();
    let (search, status, open) = (value_of("search"), value_of("status"), value_of("open"));
    let offset: usize = value_of("offset").parse().unwrap_or_default();
    let is_open = match open.as_str() {
        "no" => "false",
        "all" => "",
        _ => "true",
    };
    let chosen =
        [("search", search.as_str()), ("status", status.as_str()), ("open", open.as_str())];
    let page_at = |offset: usize| {
        let at = offset.to_string();
        address("/app/tickets", &[], &[&chosen[..], &[("offset", &at)]].concat())
    };
    let filters = [("search", search.as_str()), ("status", status.as_str()), ("isOpen", is_open)];
    let mut query: Vec<_> = filters.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    let (limit, at) = (SHOWN.to_string(), offset.to_string());
    query.extend([("sort", "-createDate"), ("limit", limit.as_str()), ("offset", at.as_str())]);
    query.extend([("count", "true"), ("select", SELECT)]);
    let mut view = TicketsView {
        search: search.clone(),
        status: status.clone(),
        open: open.clone(),
        may_import: visit.api.may("tickets:create") || visit.api.may("tickets:update"),
        ..TicketsView::default()
    };
    match visit.api.ask(&address("/tickets", &[], &query), JSON).await.map_err(Error::into_issues) {
        Ok(response) => {
            let total = total_of(&response);
            view.tickets = read(response).await?;
            view.paging = paging((offset, SHOWN), (view.tickets.len(), total), page_at);
        }
        Err(Ok(issues)) => view.problems = problems_of_address(issues, property_label),
        Err(Err(error)) => return Err(error),
    }
    Ok(shown(tickets_page(&visit.shell, &view), &view.problems))
}

/// `GET /app/tickets/:id`
pub(super) async fn show(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let view = view_of(&visit, &request).await?;
    Ok(html(ticket_page(&visit.shell, &view)))
}

/// `POST /app/tickets/:id`: sets the status.
pub(super) async fn update(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let status = sent(&pairs, "status").trim();
    let mut view = view_of(&visit, &request).await?;
    let id = text(&view.ticket, "_id").to_owned();
    if status.is_empty() {
        let message = "Enter a status.".to_owned();
        view.problems = vec![Problem { field: "status".to_owned(), message }];
        return Ok(rejected(ticket_page(&visit.shell, &view)));
    }
    let (path, body) = (address("/tickets/{}", &[&id], &[]), json!({ "status": status }));
    let changed = visit.api.send(Method::PUT, &path, &headers_of(&pairs), &body).await;
    match changed.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address("/app/tickets/{}", &[&id], &[]))),
        Err(Ok(issues)) => {
            view.status = status.to_owned();
            view.problems = problems_of(issues);
            Ok(rejected(ticket_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

async fn view_of(visit: &Visit, request: &RoutedRequest<'_>) -> Result<TicketView, Error> {
    let id = path_part(request, "id").unwrap_or_default();
    let (ticket, version) = visit.api.record(&address("/tickets/{}", &[&id], &[])).await?;
    Ok(TicketView {
        status: text(&ticket, "status").to_owned(),
        ticket,
        version,
        may_update: visit.api.may("tickets:update"),
        problems: Vec::new(),
    })
}
