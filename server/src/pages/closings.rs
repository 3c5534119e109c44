//! Closed months: their changes since, the next month to close, and the last one to reopen.

use std::collections::BTreeMap;

use poem::{Response, http::Method};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use svctrack_core::revenue::days_of_month;
use svctrack_web::pages::{
    ClosingLine, ClosingsView, CompanyDifference, Differences, FigureChange, MonthFigures, Problem,
    Reopening, address, closings_page,
};

use super::{
    by_ids::{by_ids, text},
    respond::{html, rejected, see},
    submitted_form::{problems_of, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    path_tree::{RoutedRequest, path_part},
};

/// Characters of a month such as `2026-01`.
const MONTH_CHARS: usize = 7;

/// A month that is closed, or was, as far as this page needs it.
#[derive(Deserialize)]
#[serde(untagged)]
enum ListedClosing {
    Closed(Box<Closing>),
    Reopened(ReopenedMonth),
}

/// A month that is open again. It has no other members, so that a closed month is never taken for one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReopenedMonth {
    month: String,
    reopened: Vec<Reopening>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Closing {
    month: String,
    closed_at: String,
    view: String,
    gap_days: u32,
    reactivation_within: Option<u32>,
    rate_date: Option<String>,
    currencies: Vec<MonthFigures>,
    converted: Option<MonthFigures>,
    #[serde(default)]
    reopened: Vec<Reopening>,
}

/// Closed months in the report of MRR.
#[derive(Deserialize)]
struct Mrr {
    #[serde(default)]
    closings: Vec<ComparedMonth>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComparedMonth {
    month: String,
    currencies: Vec<Difference>,
    converted: Option<Difference>,
    companies: Vec<CompanyDifferences>,
    company_count: usize,
    changed_licenses: Vec<String>,
    rates_changed: bool,
    time_zone_changed: bool,
}

#[derive(Deserialize)]
struct CompanyDifferences {
    company: String,
    currencies: Vec<Difference>,
}

#[derive(Deserialize)]
struct Difference {
    closed: MonthFigures,
    difference: MonthFigures,
}

/// `GET /app/closings`
pub(super) async fn list(visit: Visit, _: RoutedRequest<'_>) -> Result<Response, Error> {
    let view = view_of(&visit).await?;
    Ok(html(closings_page(&visit.shell, &view)))
}

/// `POST /app/closings`: closes a month.
pub(super) async fn close(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let month = json!(sent(&pairs, "month").trim());
    let options = options_of(&closings(&visit).await?.0);
    let body = options.into_iter().chain([("month", month)]);
    let body = body.map(|(name, value)| (name.to_owned(), value)).collect();
    let done = visit.api.send(Method::POST, "/reports/closings", &[], &Value::Object(body)).await;
    after(&visit, done).await
}

/// `POST /app/closings/:month/reopen`
pub(super) async fn reopen(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let month = path_part(&request, "month").unwrap_or_default();
    let reason = [("reason", sent(&pairs, "reason"))];
    let path = address("/reports/closings/{}", &[&month], &reason);
    let done = visit.api.send(Method::DELETE, &path, &[], &Value::Null).await;
    after(&visit, done).await
}

/// Shows the closed months after a change, with the problems of a rejected one.
async fn after(visit: &Visit, done: Result<Value, Error>) -> Result<Response, Error> {
    match done.map_err(Error::into_issues) {
        Ok(_) => Ok(see("/app/closings")),
        Err(Ok(issues)) => {
            let problems: Vec<Problem> = problems_of(issues);
            let view = ClosingsView { problems, ..view_of(visit).await? };
            Ok(rejected(closings_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

/// The closed months, and lines of those that were reopened.
async fn closings(visit: &Visit) -> Result<(Vec<Closing>, Vec<ClosingLine>), Error> {
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    for listed in visit.api.get::<Vec<ListedClosing>>("/reports/closings").await? {
        match listed {
            ListedClosing::Closed(closing) => closed.push(*closing),
            ListedClosing::Reopened(ReopenedMonth { month, reopened }) => {
                open.push(ClosingLine { month, reopened, ..ClosingLine::default() });
            }
        }
    }
    Ok((closed, open))
}

/// Options of the last closed month: with other options, months are not compared.
fn options_of(closings: &[Closing]) -> Vec<(&'static str, Value)> {
    let Some(last) = closings.last() else { return Vec::new() };
    let mut options = vec![("view", json!(last.view)), ("gapDays", json!(last.gap_days))];
    options.extend(last.reactivation_within.map(|days| ("reactivationWithin", json!(days))));
    options
}

type Records = BTreeMap<String, Map<String, Value>>;

/// Names of the companies and licenses that explain differences.
struct RecordNames {
    companies: Records,
    licenses: Records,
}

impl RecordNames {
    async fn of(visit: &Visit, compared: &[ComparedMonth]) -> Result<Self, Error> {
        let companies = compared.iter().flat_map(|it| &it.companies);
        let companies = companies.map(|it| it.company.as_str());
        let licenses = compared.iter().flat_map(|it| &it.changed_licenses).map(String::as_str);
        Ok(Self {
            companies: by_ids(visit, "companies", companies, "name").await?,
            licenses: by_ids(visit, "licenses", licenses, "product,companyId").await?,
        })
    }

    fn differences(&self, compared: ComparedMonth) -> Differences {
        let more_companies = compared.company_count - compared.companies.len();
        let total = compared.converted.map(|it| FigureChange { is_converted: true, ..it.into() });
        let licenses = &compared.changed_licenses;
        let companies = compared.companies.into_iter().map(|it| CompanyDifference {
            name: self.companies.get(&it.company).map(|record| text(record, "name").to_owned()),
            licenses: self.licenses_of(&it.company, licenses),
            lines: it.currencies.into_iter().map(FigureChange::from).collect(),
            company: it.company,
        });
        Differences {
            companies: companies.collect(),
            more_companies,
            rates_changed: compared.rates_changed,
            time_zone_changed: compared.time_zone_changed,
            lines: compared.currencies.into_iter().map(FigureChange::from).chain(total).collect(),
        }
    }

    /// Those of some licenses that a company has: their ids and products.
    fn licenses_of(&self, company: &str, licenses: &[String]) -> Vec<(String, String)> {
        let of_company = |id: &String| {
            let record = self.licenses.get(id)?;
            let is_of_it = text(record, "companyId") == company;
            is_of_it.then(|| (id.clone(), text(record, "product").to_owned()))
        };
        licenses.iter().filter_map(of_company).collect()
    }
}

impl From<Difference> for FigureChange {
    fn from(found: Difference) -> Self {
        Self { closed: found.closed, difference: found.difference, is_converted: false }
    }
}

async fn view_of(visit: &Visit) -> Result<ClosingsView, Error> {
    let (closings, open) = closings(visit).await?;
    let mut compared = compared(visit, &closings).await?;
    let next = closings
        .last()
        .and_then(|last| days_of_month(&last.month))
        .map(|(_, next)| month(&next.to_string()));
    let this_month = month(&visit.day(0));
    let named = RecordNames::of(visit, &compared).await?;
    let closed = closings.into_iter().rev().map(|closing| {
        let at = compared.iter().position(|it| it.month == closing.month);
        let differences = at.map(|at| named.differences(compared.swap_remove(at)));
        let converted = closing.converted.map(|line| MonthFigures { is_converted: true, ..line });
        ClosingLine {
            month: closing.month,
            closed_at: Some(closing.closed_at),
            reopened: closing.reopened,
            rate_date: closing.rate_date,
            lines: closing.currencies.into_iter().chain(converted).collect(),
            differences,
        }
    });
    Ok(ClosingsView {
        lines: open.into_iter().rev().chain(closed).collect(),
        may_close: visit.api.may("admin"),
        has_ended: next.as_ref().is_none_or(|next| *next < this_month),
        next,
        before: this_month,
        problems: Vec::new(),
    })
}

/// How current figures differ from those of closed months.
async fn compared(visit: &Visit, closings: &[Closing]) -> Result<Vec<ComparedMonth>, Error> {
    let days = |closing: Option<&Closing>| days_of_month(&closing?.month);
    let Some(((from, _), (_, to))) = days(closings.first()).zip(days(closings.last())) else {
        return Ok(Vec::new());
    };
    let options = options_of(closings);
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut query = vec![("from", from.to_string()), ("to", to.to_string())];
    query.push(("interval", "month".to_owned()));
    query.extend(options.iter().map(|(name, value)| (*name, plain(value))));
    let query: Vec<_> = query.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Ok(visit.api.get::<Mrr>(&address("/reports/mrr", &[], &query)).await?.closings)
}

fn month(day: &str) -> String {
    day.chars().take(MONTH_CHARS).collect()
}
