//! Records of a figure of a report, and the links to them.

use poem::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use svctrack_core::{
    revenue::{ForecastLine, RenewalsLine, ReportLine, UsageLine},
    value::Day,
};
use svctrack_web::pages::{
    Breakdown, CompanyShare, ExplanationView, address, explanation_page, label_of, property_label,
};

use super::{
    api::{JSON, text_of},
    by_ids::{by_ids, text},
    explained_usage,
    paging::{PageAddress, items_on_page, paging},
    ratios::{self, SPAN},
    report_names::{CLOSINGS_PAGE, FORECAST, MRR, RENEWALS, RETENTION, USAGE},
    respond::{see, shown},
    submitted_form::{problems_of_address, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Companies or users on a page.
const SHOWN: usize = 50;
/// Parameters that the page of a report does not have.
const OF_EXPLANATIONS: &[&str] = &[
    "explain",
    "period",
    "currency",
    "segment",
    "cohort",
    "action",
    "list",
    "rateDate",
    "asOf",
    "view",
    "gapDays",
    "reactivationWithin",
];
/// Characters of a day such as `2026-01-31`.
const DAY_CHARS: usize = 10;
/// Reports whose figures can be explained, and the lines of each.
const LINES: &[(&str, &[&str])] = &[
    (MRR, ReportLine::NAMES),
    (RETENTION, ReportLine::NAMES),
    (RENEWALS, RenewalsLine::NAMES),
    (FORECAST, ForecastLine::NAMES),
    (USAGE, UsageLine::NAMES),
];
/// Lines of columns that are counts and rates: report, column, line.
const COLUMN_LINES: &[(&str, &str, &str)] = &[
    (MRR, "customers", "end"),
    (MRR, "newCustomers", "new"),
    (MRR, "reactivatedCustomers", "reactivation"),
    (MRR, "churnedCustomers", "churn"),
    (MRR, "arpa", "end"),
    (MRR, "asp", "new"),
    (MRR, "overdueLicenses", "overdue"),
    (RETENTION, "mrr", "end"),
    (RETENTION, "logos", "end"),
    (RETENTION, "sharePercent", "end"),
    (RETENTION, "logoSharePercent", "end"),
    (RETENTION, "customers", "base"),
    (RETENTION, "lostCustomers", "churn"),
    (RETENTION, "grrPercent", "kept"),
    (RETENTION, "nrrPercent", "retained"),
    (RETENTION, "grossMrrChurnPercent", "base"),
    (RETENTION, "netMrrChurnPercent", "base"),
    (RETENTION, "logoChurnPercent", "churn"),
    (RENEWALS, "licenses", "base"),
    (RENEWALS, "companies", "base"),
    (RENEWALS, "grossPercent", "renewed"),
    (RENEWALS, "netPercent", "renewed"),
    (RENEWALS, "logoPercent", "renewed"),
    (RENEWALS, "grossOfDecidedPercent", "renewed"),
    (RENEWALS, "netOfDecidedPercent", "renewed"),
    (RENEWALS, "logoOfDecidedPercent", "renewed"),
    (FORECAST, "difference", "actual"),
];

/// Table of a report, in which each figure links to its explanation.
pub(super) struct Figures<'r> {
    pub(super) report: &'r str,
    /// Query of the report.
    pub(super) query: &'r [(&'r str, &'r str)],
    pub(super) header: &'r [String],
}

impl Figures<'_> {
    /// Address of the explanation of a cell, if there is one.
    pub(super) fn explanation_link(&self, row: &[String], at: usize) -> Option<String> {
        let amount: f64 = row.get(at)?.parse().ok()?;
        if self.report == USAGE {
            let asked = explained_usage::query_of(self.header, row, at)?;
            let query: Vec<_> = self.query.iter().copied().chain(asked).collect();
            return (amount != 0.0).then(|| path(self.report, &query));
        }
        let line = self.line(self.header.get(at)?)?;
        let segment = self.cell(row, "segment").filter(|name| !name.is_empty());
        let is_days = |name: &&(&str, &str)| matches!(name.0, "from" | "to");
        let mut query: Vec<_> = self.query.iter().filter(|pair| !is_days(pair)).copied().collect();
        let asked = |name: &str| self.query.iter().find(|(known, _)| *known == name).map(|it| it.1);
        // A trailing year is no period of the report: it is explained by its days, at the rates of the report.
        let last = asked("to").filter(|_| asked("rates") != Some("dated"));
        let last = last.and_then(Day::parse).map(|to| to.before().to_string());
        if self.cell(row, "over") == Some("year") {
            query.extend(
                ["from", "to"].into_iter().filter_map(|it| Some((it, self.cell(row, it)?))),
            );
            query.extend(last.as_deref().map(|last| ("rateDate", last)));
        } else {
            query.extend(["from", "to"].into_iter().filter_map(|it| Some((it, asked(it)?))));
            query.extend(self.cell(row, "period").map(|period| ("period", period)));
        }
        query.push(("explain", line));
        if self.cell(row, "scope") == Some("currency") {
            query.extend(self.cell(row, "currency").map(|currency| ("currency", currency)));
        }
        query.extend(segment.map(|segment| ("segment", segment)));
        query.extend(self.cell(row, "cohort").map(|cohort| ("cohort", cohort)));
        (amount != 0.0).then(|| path(self.report, &query))
    }

    fn cell<'c>(&self, row: &'c [String], name: &str) -> Option<&'c str> {
        let at = self.header.iter().position(|known| known == name)?;
        row.get(at).map(String::as_str)
    }

    fn line(&self, column: &str) -> Option<&'static str> {
        let own = lines_of(self.report)?.iter().copied().find(|line| *line == column);
        let is_it =
            |(report, name, _): &&(&str, &str, &str)| *report == self.report && *name == column;
        own.or_else(|| COLUMN_LINES.iter().find(is_it).map(|(.., line)| *line))
    }
}

fn lines_of(report: &str) -> Option<&'static [&'static str]> {
    LINES.iter().find(|(known, _)| *known == report).map(|(_, lines)| *lines)
}

/// Address of the explanation of a figure.
pub(super) fn path(report: &str, query: &[(&str, &str)]) -> String {
    address("/app/reports/{}/explain", &[report], query)
}

/// An explanation, as far as its page needs it: most companies are on other pages.
#[derive(Deserialize)]
struct Explained<'j> {
    from: Day,
    to: Day,
    currency: String,
    amount: f64,
    formula: String,
    #[serde(borrow)]
    companies: Vec<&'j RawValue>,
}

/// `GET /app/reports/:kind/explain`
pub(super) async fn explain(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let report = path_part(&request, "kind").unwrap_or_default().into_owned();
    lines_of(&report).ok_or(Error::RouteNotFound)?;
    let pairs = query_pairs(&request);
    let offset: usize = sent(&pairs, "offset").parse().unwrap_or_default();
    let query: Vec<(&str, &str)> = pairs
        .iter()
        .filter(|(name, _)| name != "offset")
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let in_report = |pair: &&(&str, &str)| !OF_EXPLANATIONS.contains(&pair.0);
    let of_report: Vec<_> = query.iter().filter(in_report).copied().collect();
    let of_report = address("/app/reports/{}", &[&report], &of_report);
    if sent(&pairs, "explain").is_empty() {
        // No figure is named: the report has all of them.
        return Ok(see(&of_report));
    }
    let as_of_closing = !sent(&pairs, "asOf").is_empty();
    let mut view = ExplanationView {
        title: title_of(&report, &pairs),
        // Figures of an earlier time are those of closed months.
        back: match as_of_closing {
            true => (CLOSINGS_PAGE.to_owned(), "Closed months"),
            false => (of_report, "Back to the report"),
        },
        csv: address(
            "/app/files/reports/{}",
            &[&report],
            &[&query[..], &[("form", "csv")]].concat(),
        ),
        ..ExplanationView::default()
    };
    let asked = visit.api.ask(&address("/reports/{}", &[&report], &query), JSON).await;
    match asked.map_err(Error::into_issues) {
        Ok(response) => {
            let page_at = |offset: usize| {
                let offset = offset.to_string();
                path(&report, &[&query[..], &[("offset", offset.as_str())]].concat())
            };
            let text = text_of(response).await?;
            let place: (_, PageAddress<'_>) = ((offset, SHOWN), &page_at);
            match report.as_str() {
                USAGE => explained_usage::fill(&visit, &mut view, &text, place).await?,
                _ => fill(&visit, &mut view, &text, place).await?,
            }
            view.ratios = ratios::ratios(&visit, &report, &query).await?;
        }
        Err(Ok(issues)) => view.problems = problems_of_address(issues, property_label),
        Err(Err(error)) => return Err(error),
    }
    Ok(shown(explanation_page(&visit.shell, &view), &view.problems))
}

/// Title of the explanation of a figure: its report, its line, and what it is limited to.
fn title_of(report: &str, pairs: &[(String, String)]) -> String {
    let asked = |name| Some(sent(pairs, name)).filter(|text| !text.is_empty());
    let words = [
        Some(label_of(report)),
        Some(label_of(sent(pairs, "explain"))),
        asked("action").map(str::to_owned),
        asked("cohort").map(|cohort| format!("cohort {cohort}")),
        asked("period").filter(|period| *period != SPAN).map(str::to_owned),
        asked("by").filter(|by| *by == "notice").map(|_| "by last day of notice".to_owned()),
        asked("asOf").and_then(|at| at.get(..DAY_CHARS)).map(|day| format!("as of {day}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Fills in the companies from an offset on, with their names.
async fn fill(
    visit: &Visit,
    view: &mut ExplanationView,
    explained: &str,
    ((offset, size), page_at): ((usize, usize), PageAddress<'_>),
) -> Result<(), Error> {
    let internal = |error: serde_json::Error| Error::Internal(error.to_string());
    let found: Explained<'_> = serde_json::from_str(explained).map_err(internal)?;
    let mut companies = items_on_page::<CompanyShare>(&found.companies, (offset, size))?;
    let names = companies.iter().map(|it| it.company.as_str());
    let names = by_ids(visit, "companies", names, "name").await?;
    for company in &mut companies {
        company.name = names.get(&company.company).map(|it| text(it, "name").to_owned());
    }
    let total = found.companies.len() as u64;
    view.paging = paging((offset, size), (companies.len(), Some(total)), page_at);
    view.days = (found.from.to_string(), found.to.before().to_string());
    view.formula = found.formula;
    view.breakdown =
        Breakdown::Companies { currency: found.currency, amount: found.amount, companies };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation_link(report: &str, column: &str, row: &[(&str, &str)]) -> Option<String> {
        let header: Vec<String> = row.iter().map(|(name, _)| (*name).to_owned()).collect();
        let cells: Vec<String> = row.iter().map(|(_, text)| (*text).to_owned()).collect();
        let query = [("from", "2026-01-01"), ("to", "2026-04-01"), ("interval", "month")];
        let figures = Figures { report, query: &query, header: &header };
        figures.explanation_link(&cells, header.iter().position(|name| name == column)?)
    }

    #[test]
    fn a_figure_leads_to_its_line_in_its_period_currency_and_segment() {
        let row = [
            ("segment", "(none)"),
            ("scope", "currency"),
            ("currency", "EUR"),
            ("period", "2026-02"),
        ];
        let row = [&row[..], &[("churn", "5.00"), ("end", "0.00"), ("quickRatio", "3")]].concat();
        assert_eq!(
            explanation_link("mrr", "churn", &row).unwrap(),
            "/app/reports/mrr/explain?interval=month&from=2026-01-01&to=2026-04-01&period=2026-02\
             &explain=churn&currency=EUR&segment=%28none%29"
        );
        assert_eq!(explanation_link("mrr", "end", &row), None);
        assert_eq!(explanation_link("mrr", "quickRatio", &row), None);
        let year =
            [("scope", "converted"), ("currency", "EUR"), ("over", "year"), ("period", "2026-02")];
        let year =
            [&year[..], &[("from", "2025-03-01"), ("to", "2026-03-01"), ("nrrPercent", "99.5")]]
                .concat();
        assert_eq!(
            explanation_link("retention", "nrrPercent", &year).unwrap(),
            "/app/reports/retention/explain?interval=month&from=2025-03-01&to=2026-03-01\
             &rateDate=2026-03-31&explain=retained"
        );
        let header: Vec<String> = year.iter().map(|(name, _)| (*name).to_owned()).collect();
        let cells: Vec<String> = year.iter().map(|(_, text)| (*text).to_owned()).collect();
        let query = [("from", "2026-01-01"), ("to", "2026-04-01"), ("rates", "dated")];
        let dated = Figures { report: "retention", query: &query, header: &header };
        let dated = dated.explanation_link(&cells, header.len() - 1).unwrap();
        assert!(dated.ends_with("rates=dated&from=2025-03-01&to=2026-03-01&explain=retained"));
        let rest = explanation_link("mrr", "end", &[("segment", "(rest)"), ("end", "5")]).unwrap();
        assert!(rest.ends_with("&segment=%28rest%29"), "{rest}");
    }

    #[test]
    fn a_count_is_explained_by_a_line_of_its_report() {
        for (report, column, line) in COLUMN_LINES {
            let lines = lines_of(report).unwrap();
            assert!(lines.contains(line) && !lines.contains(column), "{report} {column}");
        }
    }
}
