//! Closed months: their changes since, the next month to close, and the last one to reopen.

use std::collections::BTreeMap;

use futures_util::try_join;
use poem::{
    Response,
    http::{Method, header},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use svctrack_core::{
    revenue::{ReportError, days_of_month},
    value::Day,
};
use svctrack_store::StoreError;
use svctrack_web::pages::{
    ClosingLine, ClosingsView, CompanyDifference, Differences, FigureChange, MonthFigures,
    NextMonth, Problem, Reopening, Shell, TokenLine, address, closings_page,
};

use super::{
    by_ids::{by_ids, text},
    explanation,
    report_names::CLOSINGS_PAGE,
    reports::LeftOut,
    respond::{rejected, see, shown},
    submitted_form::{notice_of, problems_of, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Characters of a month such as `2026-01`.
const MONTH_CHARS: usize = 7;
/// Parameters of the address of the page.
pub(super) const PARAMETERS: &[&str] = &["month", "done"];
const NOTICES: &[(&str, &str)] =
    &[("closed", "The month was closed."), ("reopened", "The month is open again.")];
/// Problem of a month that somebody else has closed, or the same user with an earlier click.
const CLOSED_BEFORE: &str = "The month is closed already, with the figures below.";
/// Problem of a month that is not closed any more, or was closed again.
const REOPENED: &str = "The month was reopened since this page was opened. Nothing was changed.";
/// Problem of a month whose figures are not those that the page showed.
const CHANGED: &str = "The figures of the month were changed since this page was opened. The current ones are shown below; close the month again to store them.";

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
    closed_by: Option<String>,
    view: String,
    gap_days: u32,
    reactivation_within: Option<u32>,
    rate_date: Option<String>,
    currencies: Vec<MonthFigures>,
    converted: Option<MonthFigures>,
    #[serde(default)]
    reopened: Vec<Reopening>,
}

/// The report of MRR of one or more months.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mrr {
    currencies: Vec<Series>,
    converted: Option<Series>,
    rate_date: Option<String>,
    #[serde(flatten)]
    left_out: LeftOut,
    #[serde(default)]
    closings: Vec<ComparedMonth>,
}

/// Figures of one currency, by month.
#[derive(Deserialize)]
struct Series {
    currency: String,
    rows: Vec<MonthFigures>,
}

impl Series {
    /// Figures of the first month.
    fn first(self, is_converted: bool) -> Option<MonthFigures> {
        let first = self.rows.into_iter().next()?;
        Some(MonthFigures { currency: self.currency, is_converted, ..first })
    }
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
pub(super) async fn list(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let view = view_of(&visit, sent(&pairs, "month").trim()).await?;
    let shell = Shell { notice: notice_of(&pairs, NOTICES), ..visit.shell };
    Ok(shown(closings_page(&shell, &view), &view.problems))
}

/// `POST /app/closings`: closes a month, if its figures are those that the page showed.
pub(super) async fn close(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let month = sent(&pairs, "month").trim();
    let seen = pairs.iter().find(|(name, _)| name == "shown").map(|(_, text)| text.as_str());
    let view = view_of(&visit, month).await?;
    let next = view.next.as_ref().filter(|next| next.figures.month == month);
    if next.zip(seen).is_some_and(|(next, seen)| next.shown() != seen) {
        return rejected_with(&visit, month, CHANGED).await;
    }
    let (closed, _) = closings(&visit).await?;
    if closed.iter().any(|closing| closing.month == month) {
        return rejected_with(&visit, month, CLOSED_BEFORE).await;
    }
    let options = options_of(closed.last());
    let body = options.into_iter().chain([("month", json!(month))]);
    let body = body.map(|(name, value)| (name.to_owned(), value)).collect();
    let done = visit.api.send(Method::POST, "/reports/closings", &[], &Value::Object(body)).await;
    after(&visit, done, (month, "closed")).await
}

/// `POST /app/closings/:month/reopen`
pub(super) async fn reopen(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let month = path_part(&request, "month").unwrap_or_default();
    let seen = sent(&pairs, "closedAt");
    let stored = visit.api.record(&address("/reports/closings/{}", &[&month], &[])).await;
    let version = match stored {
        Ok((closing, version)) if seen.is_empty() || text(&closing, "closedAt") == seen => version,
        Ok(_) | Err(Error::NotFound(_)) => return rejected_with(&visit, "", REOPENED).await,
        Err(error) => return Err(error),
    };
    let reason = [("reason", sent(&pairs, "reason"))];
    let path = address("/reports/closings/{}", &[&month], &reason);
    let headers = [(header::IF_MATCH, version.as_str())];
    match visit.api.send(Method::DELETE, &path, &headers, &Value::Null).await {
        Err(Error::Store(StoreError::Changed)) => rejected_with(&visit, "", REOPENED).await,
        done => after(&visit, done, ("", "reopened")).await,
    }
}

/// The closed months, with a problem of no field.
async fn rejected_with(visit: &Visit, month: &str, problem: &str) -> Result<Response, Error> {
    let problems = vec![Problem { field: String::new(), message: problem.to_owned() }];
    let view = ClosingsView { problems, ..view_of(visit, month).await? };
    Ok(rejected(closings_page(&visit.shell, &view)))
}

/// Shows the closed months after a change, with its notice, or with the problems of a rejected one of a month.
async fn after(
    visit: &Visit,
    done: Result<Value, Error>,
    (month, notice): (&str, &str),
) -> Result<Response, Error> {
    match done.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address(CLOSINGS_PAGE, &[], &[("done", notice)]))),
        Err(Ok(issues)) => {
            let problems: Vec<Problem> = problems_of(issues);
            let view = ClosingsView { problems, ..view_of(visit, month).await? };
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

/// Address of the explanation of a figure of a month, as of a closing or now, up to the name of the figure.
fn explained(
    (month, as_of): (&str, Option<&str>),
    options: &[(&'static str, Value)],
    figures: &MonthFigures,
) -> String {
    let Some((from, to)) = days_of_month(month) else { return String::new() };
    let mut query = query_of((from, to), options);
    query.push(("period", month.to_owned()));
    query.extend(as_of.map(|time| ("asOf", time.to_owned())));
    query.extend((!figures.is_converted).then(|| ("currency", figures.currency.clone())));
    query.push(("explain", String::new()));
    let query: Vec<_> = query.iter().map(|(name, text)| (*name, text.as_str())).collect();
    explanation::path("mrr", &query)
}

/// Query of the report of the months between two days.
fn query_of(
    (from, to): (Day, Day),
    options: &[(&'static str, Value)],
) -> Vec<(&'static str, String)> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let days = [("from", from.to_string()), ("to", to.to_string()), ("interval", "month".into())];
    days.into_iter().chain(options.iter().map(|(name, value)| (*name, plain(value)))).collect()
}

/// Labels of the tokens of the tenant, where the user may see them.
async fn token_labels(visit: &Visit) -> Result<BTreeMap<String, String>, Error> {
    if !visit.api.may("admin") {
        return Ok(BTreeMap::new());
    }
    let tokens: Vec<TokenLine> = visit.api.get("/tokens").await?;
    Ok(tokens.into_iter().map(|token| (token.id, token.label)).collect())
}

/// Options of the last closed month: with other options, months are not compared.
fn options_of(last: Option<&Closing>) -> Vec<(&'static str, Value)> {
    let Some(last) = last else { return Vec::new() };
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

/// The closed months, and the month to close: the one after them, or the chosen one where none is closed.
async fn view_of(visit: &Visit, chosen: &str) -> Result<ClosingsView, Error> {
    let (closings, open) = closings(visit).await?;
    let next = match closings.last() {
        Some(last) => days_of_month(&last.month).map(|(_, next)| month(&next.to_string())),
        None => Some(chosen.to_owned()).filter(|chosen| !chosen.is_empty()),
    };
    let next = next.filter(|_| visit.api.may("admin"));
    let (mut compared, next) =
        try_join!(compared(visit, &closings), next_month(visit, &closings, next))?;
    let (next, problems) = match next {
        Ok(next) => (next, Vec::new()),
        Err(wrong) => (None, problems_of(vec![wrong.into()])),
    };
    let named = RecordNames::of(visit, &compared).await?;
    let labels = token_labels(visit).await?;
    let label = |id: &Option<String>| labels.get(id.as_ref()?).cloned();
    let reopened = |mut all: Vec<Reopening>| {
        all.iter_mut().for_each(|reopening| reopening.by = label(&reopening.by));
        all
    };
    let open = open.into_iter().rev();
    let open = open.map(|line| ClosingLine { reopened: reopened(line.reopened), ..line });
    let closed = closings.into_iter().rev().map(|closing| {
        let options = options_of(Some(&closing));
        let figures = |line: MonthFigures| {
            let of = (closing.month.as_str(), Some(closing.closed_at.as_str()));
            MonthFigures { explained: explained(of, &options, &line), ..line }
        };
        let at = compared.iter().position(|it| it.month == closing.month);
        let differences = at.map(|at| named.differences(compared.swap_remove(at)));
        let converted = closing.converted.map(|line| MonthFigures { is_converted: true, ..line });
        let of_each = closing.currencies.into_iter().filter(|figures| !figures.is_zero());
        let lines = of_each.chain(converted).map(figures).collect();
        ClosingLine {
            closed_by: label(&closing.closed_by),
            reopened: reopened(closing.reopened),
            rate_date: closing.rate_date,
            lines,
            differences,
            month: closing.month,
            closed_at: Some(closing.closed_at),
        }
    });
    Ok(ClosingsView {
        lines: open.chain(closed).collect(),
        may_close: visit.api.may("admin"),
        next,
        problems,
    })
}

/// A month that is not closed, with the figures that closing it would store; an error where it is no month.
async fn next_month(
    visit: &Visit,
    closings: &[Closing],
    next: Option<String>,
) -> Result<Result<Option<NextMonth>, ReportError>, Error> {
    let Some(next) = next else { return Ok(Ok(None)) };
    let Some(days) = days_of_month(&next) else { return Ok(Err(ReportError::InvalidMonth(next))) };
    let has_ended = next < month(&visit.day(0));
    let figures = ClosingLine { month: next, ..ClosingLine::default() };
    let mut view = NextMonth { figures, has_ended, ..NextMonth::default() };
    if has_ended {
        let Mrr { currencies, converted, rate_date, left_out, .. } =
            mrr(visit, closings, days).await?;
        let converted = converted.and_then(|series| series.first(true));
        let of_each = currencies.into_iter().filter_map(|series| series.first(false));
        // Currencies whose licenses are at another time.
        let of_each = of_each.filter(|figures| !figures.is_zero());
        let (month, options) = (view.figures.month.clone(), options_of(closings.last()));
        let figures = |line: MonthFigures| {
            let explained = explained((&month, None), &options, &line);
            MonthFigures { explained, ..line }
        };
        view.figures.lines = of_each.chain(converted).map(figures).collect();
        view.figures.rate_date = rate_date;
        view.left_out = left_out.shown(visit);
    }
    Ok(Ok(Some(view)))
}

/// How current figures differ from those of closed months.
async fn compared(visit: &Visit, closings: &[Closing]) -> Result<Vec<ComparedMonth>, Error> {
    let days = |closing: Option<&Closing>| days_of_month(&closing?.month);
    let Some(((from, _), (_, to))) = days(closings.first()).zip(days(closings.last())) else {
        return Ok(Vec::new());
    };
    Ok(mrr(visit, closings, (from, to)).await?.closings)
}

/// The report of the months between two days, with the options of the last closed month.
async fn mrr(visit: &Visit, closings: &[Closing], days: (Day, Day)) -> Result<Mrr, Error> {
    let query = query_of(days, &options_of(closings.last()));
    let query: Vec<_> = query.iter().map(|(name, text)| (*name, text.as_str())).collect();
    visit.api.get(&address("/reports/mrr", &[], &query)).await
}

fn month(day: &str) -> String {
    day.chars().take(MONTH_CHARS).collect()
}
