//! Customers, ordered by MRR at stake.

use poem::{Request, Response};
use serde::Deserialize;
use svctrack_core::revenue::CustomerPage;
use svctrack_web::pages::{CustomerLine, CustomersView, address, customers_page};

use super::{forms::sent, paging::paging, respond::html, visit::Visit};
use crate::{error::Error, routes::query_pairs};

/// Customers on a page.
const SHOWN: usize = 50;
/// Customers in a file: the maximum of the report.
const ALL: &str = "5000";
/// Order of the customers by default.
const AT_STAKE: &str = "-atStake";

/// The report of customers, as far as pages need it.
#[derive(Deserialize)]
pub(super) struct Customers {
    total: usize,
    rows: Vec<CustomerLine>,
    #[serde(rename = "baseCurrency")]
    base: Option<String>,
}

impl Customers {
    /// Customers, with the currency of their amounts.
    pub(super) fn lines(self) -> Vec<CustomerLine> {
        let base = self.base.unwrap_or_default();
        let line = |line| CustomerLine { base: base.clone(), ..line };
        self.rows.into_iter().map(line).collect()
    }
}

/// `GET /app/customers`
pub(super) async fn customers(visit: Visit, request: Request) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let sort = match sent(&pairs, "sort") {
        "" => AT_STAKE.to_owned(),
        sort => sort.to_owned(),
    };
    let offset: usize = sent(&pairs, "offset").parse().unwrap_or_default();
    let (shown, at) = (SHOWN.to_string(), offset.to_string());
    let query = [("sort", sort.as_str()), ("limit", shown.as_str()), ("offset", at.as_str())];
    let found: Customers = visit.api.get(&address("/reports/customers", &[], &query)).await?;
    let page_at = |offset: usize| {
        address("/app/customers", &[], &[("sort", &sort), ("offset", &offset.to_string())])
    };
    let paging = paging((offset, SHOWN), (found.rows.len(), Some(found.total as u64)), page_at);
    let view = CustomersView {
        lines: found.lines(),
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
