//! The start page: the figures of the day.

use futures_util::try_join;
use poem::Response;
use serde::Deserialize;
use serde_json::Value;
use svctrack_core::{access::OPERATOR, resources::company::COMPANY, revenue::UsageLine};
use svctrack_store::StoreError;
use svctrack_web::pages::{
    Figure, FiguresLeftOut, HomeView, RenewalsAhead, SetupStep, address, grouped, home_page, money,
};

use super::{
    api::JSON,
    currencies::CurrencyName,
    customers::{CUSTOMER, Customers},
    demo,
    excluded_licenses::{ExcludedLicenses, excluded},
    explanation,
    issues::PARKED,
    paging::number_of,
    renewals,
    report_names::USAGE,
    respond::{html, see},
    visit::Visit,
};
use crate::{app::App, error::Error, routing::path_tree::RoutedRequest};

/// Customers with the most at stake that are listed.
const AT_STAKE: &str = "8";
/// Days of the active users, as `weekly` counts them.
const ACTIVE_DAYS: i64 = 7;
/// Issues that are listed, and the newest ones among which those whose events are still parked are looked for.
const ISSUES: usize = 5;
const NEWEST_ISSUES: &str = "50";

/// MRR and its movements, as far as this page needs them.
#[derive(Deserialize)]
struct Mrr {
    currencies: Vec<Series>,
    converted: Option<Series>,
    #[serde(default, rename = "baseCurrency")]
    base: Option<String>,
    #[serde(default)]
    excluded: Vec<ExcludedLicenses>,
    #[serde(default, rename = "missingRates")]
    missing: Vec<CurrencyName>,
}

#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    currency: Option<String>,
    rows: Vec<Movement>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Movement {
    start: f64,
    end: f64,
    customers: i64,
    new_customers: i64,
    churned_customers: i64,
}

/// `GET /`
pub(super) async fn home(visit: Visit, _: RoutedRequest<'_>) -> Result<Response, Error> {
    if visit.api.may(OPERATOR) {
        return Ok(see("/app/tenants"));
    }
    let view = match visit.api.may("reports:read") {
        true => reports(&visit).await?,
        false => HomeView { lacks_reports: true, ..HomeView::default() },
    };
    Ok(html(home_page(&visit.shell, &view)))
}

/// Figures of the reports; they are computed next to each other.
async fn reports(visit: &Visit) -> Result<HomeView, Error> {
    let query = [("status", CUSTOMER), ("sort", "-atStake"), ("limit", AT_STAKE)];
    let path = address("/reports/customers", &[], &query);
    let ((mut view, moved), active, customers, ahead, issues, parked) = try_join!(
        revenue(visit),
        usage(visit),
        visit.api.get::<Customers>(&path),
        ahead(visit),
        issues(visit),
        parked(visit)
    )?;
    view.figures.push(number_of_customers(customers.total, moved));
    view.figures.extend(active);
    view.unranked = customers.unranked(visit);
    view.at_stake = Some(customers.lines());
    view.renewals = Some(ahead);
    view.issues = Some(issues);
    view.parked = parked;
    Ok(view)
}

/// `GET /app`: browsers complete this address while a user types that of a page.
pub(super) async fn lead(_: &App, _: RoutedRequest<'_>) -> Result<Response, Error> {
    Ok(see("/"))
}

/// MRR, and its movement this month; none where several currencies are shown, since a company may have several.
async fn revenue(visit: &Visit) -> Result<(HomeView, Option<Movement>), Error> {
    let mut view = HomeView::default();
    let (from, to) = (format!("{}-01", &visit.day(0).get(..7).unwrap_or_default()), visit.day(1));
    let query = [("from", from.as_str()), ("to", to.as_str()), ("interval", "month")];
    let mrr: Mrr = visit.api.get(&address("/reports/mrr", &[], &query)).await?;
    let shown: Vec<&Series> = mrr.converted.iter().take(1).collect();
    let shown = if shown.is_empty() { mrr.currencies.iter().collect() } else { shown };
    for series in &shown {
        let Some(now) = series.rows.last() else { continue };
        let currency = series.currency.as_deref().or(mrr.base.as_deref()).unwrap_or_default();
        let moved = now.end - now.start;
        let mut behind = [&query[..], &[("explain", "end")]].concat();
        if mrr.converted.is_none() {
            behind.extend(series.currency.as_deref().map(|currency| ("currency", currency)));
        }
        let path = explanation::path("mrr", &behind);
        let sign = if moved < 0.0 { "" } else { "+" };
        view.figures.push(Figure {
            label: "MRR",
            value: money(now.end, currency),
            note: format!("{currency} {sign}{} this month", money(moved, "")),
            path,
        });
    }
    view.excluded = excluded(&mrr.excluded);
    view.no_total = FiguresLeftOut {
        currencies: mrr.missing.into_iter().map(|it| it.missing(visit)).collect(),
        may_set_rates: visit.api.may("admin"),
        licenses: None,
    };
    if !mrr.currencies.is_empty() {
        view.picture = Some(super::reports::picture_of_year(visit));
    }
    if mrr.currencies.is_empty() {
        view.start = Some(start(visit).await?);
        view.offers_demo = demo::may(visit).await?;
        view.may_import = ["companies", "licenses"]
            .iter()
            .all(|resource| visit.api.may(&format!("{resource}:create")));
    }
    let moved = match shown[..] {
        [only] => only.rows.last().copied(),
        _ => None,
    };
    Ok((view, moved))
}

/// Number of companies with the status of a customer, which the card leads to. The customers of the MRR report pay now:
/// not where a renewal is overdue, but also until the end of what was canceled.
fn number_of_customers(all: usize, moved: Option<Movement>) -> Figure {
    let note = |moved: Movement| {
        let is_other = i64::try_from(all).is_ok_and(|all| all != moved.customers);
        let moves =
            format!("{} new, {} lost this month", moved.new_customers, moved.churned_customers);
        if is_other { format!("{} with MRR now; {moves}", moved.customers) } else { moves }
    };
    Figure {
        label: "Customers",
        value: grouped(&all.to_string()),
        note: moved.map(note).unwrap_or_default(),
        path: "/app/customers".to_owned(),
    }
}

async fn ahead(visit: &Visit) -> Result<RenewalsAhead, Error> {
    let (due, overdue) = renewals::ahead(visit).await?;
    Ok(RenewalsAhead {
        licenses: due.count,
        overdue: overdue.count,
        mrr: due.mrr,
        not_fixed: due.not_fixed,
        endless: due.endless,
    })
}

/// Setup steps of a tenant without licenses.
async fn start(visit: &Visit) -> Result<SetupStep, Error> {
    let has_any = async |path: &str| -> Result<bool, Error> {
        Ok(!visit.api.get::<Vec<Value>>(&address(path, &[], &[("limit", "1")])).await?.is_empty())
    };
    Ok(if visit.api.may("activities:read") && has_any("/activities").await? {
        SetupStep::Unpaid
    } else if has_any("/integrationissues").await? {
        SetupStep::Parked
    } else {
        SetupStep::Nothing
    })
}

async fn issues(visit: &Visit) -> Result<Vec<(String, String)>, Error> {
    let found: Vec<Value> =
        visit.api.get(&address("/integrationissues", &[], &[("limit", NEWEST_ISSUES)])).await?;
    let text = |issue: &Value, name: &str| {
        let value = issue.get(name)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let line = |issue: &Value| {
        let message = text(issue, "message").or_else(|| text(issue, "reason")).unwrap_or_default();
        (
            message,
            text(issue, "count")
                .map(|count| match count.as_str() {
                    "1" => "once".to_owned(),
                    count => format!("{count} times"),
                })
                .unwrap_or_default(),
        )
    };
    // Nothing is parked any more where its cause is fixed.
    let is_open = |issue: &&Value| issue.get("parked").and_then(Value::as_u64) != Some(0);
    Ok(found.iter().filter(is_open).take(ISSUES).map(line).collect())
}

/// Number of parked events.
async fn parked(visit: &Visit) -> Result<u64, Error> {
    let report = visit.api.ask("/integrationissues?limit=1", JSON).await?;
    Ok(number_of(&report, PARKED).unwrap_or_default())
}

/// Usage by day, as far as this page needs it.
#[derive(Deserialize)]
struct Usage {
    rows: Vec<UsageOfPeriod>,
}

#[derive(Deserialize)]
struct UsageOfPeriod {
    users: Active,
    companies: Active,
}

#[derive(Deserialize)]
struct Active {
    weekly: Option<u64>,
}

/// Numbers of active companies and users in the last days, and in equally many before.
async fn usage(visit: &Visit) -> Result<Vec<Figure>, Error> {
    let (from, to) = (visit.day(-ACTIVE_DAYS), visit.day(1));
    let query = [("from", from.as_str()), ("to", to.as_str()), ("interval", "day")];
    let usage: Usage = match visit.api.get(&address("/reports/usage", &[], &query)).await {
        // The other figures are shown meanwhile.
        Err(Error::Store(StoreError::Counting { .. })) => return Ok(Vec::new()),
        usage => usage?,
    };
    let (Some(before), Some(now)) = (usage.rows.first(), usage.rows.last()) else {
        return Ok(Vec::new());
    };
    let figure = |label, now: &Active, before: &Active, path: String| Figure {
        label,
        value: grouped(&now.weekly.unwrap_or_default().to_string()),
        note: format!(
            "in {ACTIVE_DAYS} days, {} in the {ACTIVE_DAYS} before",
            grouped(&before.weekly.unwrap_or_default().to_string())
        ),
        path,
    };
    let today = visit.day(0);
    let explained = [("explain", UsageLine::Weekly.name()), ("period", &today)];
    let users = explanation::path(USAGE, &[&query[..], &explained].concat());
    let companies = active_companies(visit, &query);
    Ok(vec![
        figure("Active companies", &now.companies, &before.companies, companies),
        figure("Active users", &now.users, &before.users, users),
    ])
}

/// Address of the companies that were active in the last days; of their report, for users who may not read companies.
fn active_companies(visit: &Visit, query: &[(&str, &str)]) -> String {
    if !visit.api.may("companies:read") {
        return address("/app/reports/{}", &[USAGE], query);
    }
    let since = visit.day(1 - ACTIVE_DAYS);
    let filter = [("lastActive[gte]", since.as_str()), ("sort", "-lastActive")];
    address("/app/records/{}", &[COMPANY.path], &filter)
}
