//! Customers, ordered by MRR at stake.

use poem::Response;
use serde::Deserialize;
use svctrack_core::{
    resources::company::COMPANY,
    revenue::{CompanyStatus, CustomerPage},
    schema::filter_text::escaped,
    value::engagement::ACTIVITY_STATES,
};
use svctrack_web::pages::{
    Choice, CustomerLine, CustomersView, UnrankedCustomers, address, customers_page, property_label,
};

use super::{
    by_ids::{by_ids, text},
    currencies::{CURRENCY, CurrencyName, currency_choice, license_currencies, missing_into},
    excluded_licenses::{ExcludedLicenses, excluded},
    paging::paging,
    respond::shown,
    saved_views::ViewedList,
    submitted_form::{problems_of_address, sent},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Customers on a page.
const SHOWN: usize = 50;
/// Order of the customers by default.
const AT_STAKE: &str = "-atStake";
/// Status of companies that are customers now.
pub(super) const CUSTOMER: &str = CompanyStatus::Customer.name();

/// The report of customers, as far as pages need it.
#[derive(Default, Deserialize)]
pub(super) struct Customers {
    pub(super) total: usize,
    rows: Vec<CustomerLine>,
    #[serde(rename = "baseCurrency")]
    base: Option<String>,
    #[serde(rename = "missingRates")]
    missing: Vec<CurrencyName>,
    pub(super) excluded: Vec<ExcludedLicenses>,
}

impl Customers {
    /// Currencies whose customers have no amount at stake; none where all have one.
    pub(super) fn unranked(&self, visit: &Visit) -> Option<UnrankedCustomers> {
        let currencies: Vec<String> = self.missing.iter().map(|it| it.currency.clone()).collect();
        let may_set_rates = visit.api.may("admin");
        (!currencies.is_empty()).then_some(UnrankedCustomers { currencies, may_set_rates })
    }

    /// Customers, with the currency of their amounts.
    pub(super) fn lines(self) -> Vec<CustomerLine> {
        let base = self.base.unwrap_or_default();
        let line = |line| CustomerLine { base: base.clone(), ..line };
        self.rows.into_iter().map(line).collect()
    }
}

/// Filters of the page: its parameters, and those of the report.
const STATUS: &str = "status";
const ACTIVITY: &str = "activityState";
const FILTERS: [(&str, &str); 5] = [
    ("name", "name[contains]"),
    (STATUS, STATUS),
    ("owner", "owner"),
    ("phase", "phase"),
    (ACTIVITY, ACTIVITY),
];

/// Filters with their chosen values: those who are customers now by default.
fn filters(pairs: &[(String, String)]) -> Vec<Choice> {
    let is_sent = pairs.iter().any(|(name, _)| name == STATUS);
    let filter = |(name, _): (&'static str, &str)| {
        let values = match name {
            STATUS => CustomerPage::STATUSES,
            ACTIVITY => ACTIVITY_STATES,
            _ => &[],
        };
        let all = (!values.is_empty()).then_some("");
        Choice {
            name,
            value: match sent(pairs, name) {
                "" if name == STATUS && !is_sent => CUSTOMER.to_owned(),
                text => text.trim().to_owned(),
            },
            values: all.into_iter().chain(values.iter().copied()).map(str::to_owned).collect(),
            ..Choice::default()
        }
    };
    FILTERS.into_iter().map(filter).collect()
}

/// Filters of the report for those of the page. A text is no list of values, although it has a comma.
fn asked_of_report(filters: &[Choice]) -> Vec<(&'static str, String)> {
    let chosen = filters.iter().zip(FILTERS).filter(|(filter, _)| !filter.value.is_empty());
    chosen.map(|(filter, (_, parameter))| (parameter, escaped(&filter.value))).collect()
}

/// Adds the owners of the customers, where the token may read companies.
async fn add_owners(visit: &Visit, lines: &mut [CustomerLine]) -> Result<(), Error> {
    let ids: Vec<String> = lines.iter().map(|line| line.company.clone()).collect();
    let companies = by_ids(visit, COMPANY.path, ids.iter().map(String::as_str), "owner").await?;
    for line in lines {
        let owner = companies.get(&line.company).map(|company| text(company, "owner"));
        line.owner = owner.unwrap_or_default().to_owned();
    }
    Ok(())
}

/// Pairs of the page's address: all that is not as by default, but for the place in the list.
fn query_of(sort: &str, currency: &Choice, filters: &[Choice]) -> Vec<(&'static str, String)> {
    let is_default = |filter: &&Choice| match filter.name {
        STATUS => filter.value == CUSTOMER,
        _ => filter.value.is_empty(),
    };
    let filters = filters.iter().filter(|filter| !is_default(filter));
    let filters = filters.map(|filter| (filter.name, filter.value.as_str()));
    let order = Some(("sort", sort)).filter(|_| sort != AT_STAKE);
    let currency = Some((CURRENCY, &*currency.value)).filter(|(_, chosen)| !chosen.is_empty());
    let pairs = filters.chain(order).chain(currency);
    pairs.map(|(name, text)| (name, text.to_owned())).collect()
}

/// Parameters of the address of the list.
pub(super) const PARAMETERS: &[&str] =
    &["name", "status", "owner", "phase", "activityState", "sort", "baseCurrency", "offset"];

/// `GET /app/customers`
pub(super) async fn customers(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let mut pairs = query_pairs(&request);
    let view = match ranked(&visit, &pairs).await.map_err(Error::into_issues) {
        Ok(view) => view,
        Err(Ok(issues)) => {
            // The list as it is by default, below what is wrong.
            pairs.clear();
            let mut view = ranked(&visit, &pairs).await?;
            view.problems = problems_of_address(issues, property_label);
            view.views.may_save = false;
            view
        }
        Err(Err(error)) => return Err(error),
    };
    Ok(shown(customers_page(&visit.shell, &view), &view.problems))
}

/// Customers for the address of their page.
pub(super) async fn ranked(
    visit: &Visit,
    pairs: &[(String, String)],
) -> Result<CustomersView, Error> {
    let sort = match sent(pairs, "sort") {
        "" => AT_STAKE.to_owned(),
        sort => sort.to_owned(),
    };
    let offset: usize = sent(pairs, "offset").parse().unwrap_or_default();
    let (shown, at) = (SHOWN.to_string(), offset.to_string());
    let text = Some("each customer's currency".to_owned());
    let licensed = license_currencies(visit).await?;
    let currency = Choice { text, ..currency_choice(visit, pairs, &licensed.all) };
    let filters = filters(pairs);
    let mut chosen = vec![("sort", sort.as_str())];
    chosen.extend(Some((CURRENCY, &*currency.value)).filter(|(_, chosen)| !chosen.is_empty()));
    let of_report = asked_of_report(&filters);
    let of_report: Vec<_> = of_report.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let asked = |path: &str, more: &[(&str, &str)]| {
        address(path, &[], &[&chosen[..], &of_report, more].concat())
    };
    let path = asked("/reports/customers", &[("limit", &shown), ("offset", &at)]);
    let found: Customers = visit.api.get(&path).await?;
    let (list, query) = (ViewedList::of_customers(), query_of(&sort, &currency, &filters));
    let page_at = |offset: usize| {
        let query = query.iter().map(|(name, text)| ((*name).to_owned(), text.clone()));
        list.with(&query.chain([("offset".to_owned(), offset.to_string())]).collect::<Vec<_>>())
    };
    let paging = paging((offset, SHOWN), (found.rows.len(), Some(found.total as u64)), page_at);
    let unranked = found.unranked(visit);
    let missing: Vec<_> = found.missing.iter().map(|it| it.currency.clone()).collect();
    let excluded = excluded(&found.excluded);
    let mut lines = found.lines();
    add_owners(visit, &mut lines).await?;
    // Customers with amounts are listed, whatever others lack.
    let missing_rates = missing_into(visit, &currency.value, missing)
        .filter(|missing| licensed.paid.iter().all(|currency| missing.of.contains(currency)));
    Ok(CustomersView {
        missing_rates,
        excluded,
        unranked,
        lines,
        is_filtered: of_report != [(STATUS, CUSTOMER)],
        paging,
        sorts: CustomerPage::SORTS.to_vec(),
        csv: asked("/app/files/reports/customers", &[("form", "csv")]),
        sort: sort.clone(),
        filters,
        currency,
        views: list.views(visit),
        query,
        problems: Vec::new(),
    })
}
