//! Customers, those with the most at stake first.

use poem::{Request, Response};
use serde::Deserialize;
use svctrack_core::revenue::CustomerPage;
use svctrack_web::pages::{CustomerLine, CustomersView, Paging, address, customers_page};

use super::{respond::html, visit::Visit};
use crate::{error::Error, routes::query_pairs};

/// Customers on a page.
const SHOWN: usize = 50;
/// Customers in a file, as many as the report has at most.
const ALL: &str = "5000";
/// The order where none is asked for.
const AT_STAKE: &str = "-atStake";

/// The report of customers, as far as pages need it.
#[derive(Deserialize)]
pub(super) struct Customers {
    pub(super) total: usize,
    pub(super) rows: Vec<CustomerLine>,
}

/// `GET /app/customers`
pub(super) async fn customers(visit: Visit, request: Request) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let of =
        |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    let sort = of("sort").filter(|text| !text.is_empty()).unwrap_or(AT_STAKE).to_owned();
    let offset: usize = of("offset").and_then(|text| text.parse().ok()).unwrap_or_default();
    let (shown, at) = (SHOWN.to_string(), offset.to_string());
    let query = [("sort", sort.as_str()), ("limit", shown.as_str()), ("offset", at.as_str())];
    let found: Customers = visit.api.get(&address("/reports/customers", &[], &query)).await?;
    let page_at = |offset: usize| {
        address("/app/customers", &[], &[("sort", &sort), ("offset", &offset.to_string())])
    };
    let paging = Paging {
        first: offset.saturating_add(1),
        shown: found.rows.len(),
        total: Some(found.total as u64),
        previous: (offset > 0).then(|| page_at(offset.saturating_sub(SHOWN))),
        next: (offset.saturating_add(found.rows.len()) < found.total)
            .then(|| page_at(offset.saturating_add(SHOWN))),
    };
    let view = CustomersView {
        lines: found.rows,
        paging,
        sorts: CustomerPage::SORTS.to_vec(),
        csv: address(
            "/app/files/reports/customers",
            &[],
            &[("form", "csv"), ("sort", &sort), ("limit", ALL)],
        ),
        sort,
    };
    Ok(html(customers_page(&visit.shell, &view)))
}
