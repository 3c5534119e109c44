//! Tickets: a list with search and status, and a page for each with its text and its status.

use poem::{Request, Response, http::Method};
use serde_json::{Map, Value, json};
use svctrack_web::pages::{
    Paging, Problem, TicketView, TicketsView, address, ticket_page, tickets_page,
};

use super::{
    api::{JSON, read},
    by_ids::text,
    forms::{problems_of, sent},
    respond::{html, rejected, see},
    visit::Visit,
};
use crate::{error::Error, path_tree::path_part, routes::query_pairs};

/// Tickets on a page.
const SHOWN: usize = 50;
/// What is listed of a ticket.
const SELECT: &str =
    "title,sourceId,companyId,companyName,status,severity,name,email,createDate,isOpen,snippet";

type Record = Map<String, Value>;

/// `GET /app/tickets`
pub(super) async fn list(visit: Visit, request: Request) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let of = |name: &str| sent(&pairs, name).to_owned();
    let (search, status, open) = (of("search"), of("status"), of("open"));
    let offset: usize = of("offset").parse().unwrap_or_default();
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
        ..TicketsView::default()
    };
    match visit.api.ask(&address("/tickets", &[], &query), JSON).await.map_err(Error::into_issues) {
        Ok(response) => {
            let total = response.headers().get("svctrack-total");
            let total: Option<u64> = total.and_then(|total| total.to_str().ok()?.parse().ok());
            view.tickets = read(response).await?;
            let shown = view.tickets.len();
            let has_next = total.is_some_and(|total| (offset.saturating_add(shown) as u64) < total);
            view.paging = Paging {
                first: offset.saturating_add(1),
                shown,
                total,
                previous: (offset > 0).then(|| page_at(offset.saturating_sub(SHOWN))),
                next: has_next.then(|| page_at(offset.saturating_add(SHOWN))),
            };
        }
        Err(Ok(issues)) => view.problems = problems_of(issues),
        Err(Err(error)) => return Err(error),
    }
    Ok(html(tickets_page(&visit.shell, &view)))
}

/// `GET /app/tickets/:id`
pub(super) async fn show(visit: Visit, request: Request) -> Result<Response, Error> {
    let view = view_of(&visit, &request).await?;
    Ok(html(ticket_page(&visit.shell, &view)))
}

/// `POST /app/tickets/:id`: gives it another status.
pub(super) async fn update(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let pairs = visit.form(&mut request).await?;
    let status = sent(&pairs, "status").trim();
    let mut view = view_of(&visit, &request).await?;
    let id = text(&view.ticket, "_id").to_owned();
    if status.is_empty() {
        let message = "Enter a status.".to_owned();
        view.problems = vec![Problem { field: "status".to_owned(), message }];
        return Ok(rejected(ticket_page(&visit.shell, &view)));
    }
    let (path, body) = (address("/tickets/{}", &[&id], &[]), json!({ "status": status }));
    match visit.api.send(Method::PUT, &path, &[], &body).await.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address("/app/tickets/{}", &[&id], &[]))),
        Err(Ok(issues)) => {
            view.status = status.to_owned();
            view.problems = problems_of(issues);
            Ok(rejected(ticket_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

async fn view_of(visit: &Visit, request: &Request) -> Result<TicketView, Error> {
    let id = path_part(request, "id").unwrap_or_default();
    let ticket: Record = visit.api.get(&address("/tickets/{}", &[&id], &[])).await?;
    Ok(TicketView {
        status: text(&ticket, "status").to_owned(),
        ticket,
        may_update: visit.api.may("tickets:update"),
        problems: Vec::new(),
    })
}
