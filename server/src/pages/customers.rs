//! Customers, ordered by MRR at stake.

use poem::{Request, Response};
use serde::Deserialize;
use svctrack_core::revenue::CustomerPage;
use svctrack_web::pages::{CustomerLine, CustomersView, address, customers_page};

use super::{
    currencies::{CURRENCY, Named, currency_choice, missing_into},
    forms::sent,
    paging::paging,
    respond::html,
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs};

/// Customers on a page.
const SHOWN: usize = 50;
/// Order of the customers by default.
const AT_STAKE: &str = "-atStake";

/// The report of customers, as far as pages need it.
#[derive(Deserialize)]
pub(super) struct Customers {
    total: usize,
    rows: Vec<CustomerLine>,
    #[serde(rename = "baseCurrency")]
    base: Option<String>,
    #[serde(rename = "missingRates")]
    missing: Vec<Named>,
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
    let currency = currency_choice(&visit, &pairs).await?;
    let mut asked = vec![("sort", sort.as_str())];
    asked.extend(Some((CURRENCY, &*currency.value)).filter(|(_, chosen)| !chosen.is_empty()));
    let with = |path: &str, more: &[(&str, &str)]| address(path, &[], &[&asked[..], more].concat());
    let path = with("/reports/customers", &[("limit", &shown), ("offset", &at)]);
    let mut found: Customers = visit.api.get(&path).await?;
    let page_at = |offset: usize| with("/app/customers", &[("offset", &offset.to_string())]);
    let paging = paging((offset, SHOWN), (found.rows.len(), Some(found.total as u64)), page_at);
    let view = CustomersView {
        missing_rates: missing_into(&visit, &currency.value, std::mem::take(&mut found.missing)),
        lines: found.lines(),
        paging,
        sorts: CustomerPage::SORTS.to_vec(),
        csv: with("/app/files/reports/customers", &[("form", "csv")]),
        sort: sort.clone(),
        currency,
    };
    Ok(html(customers_page(&visit.shell, &view)))
}
