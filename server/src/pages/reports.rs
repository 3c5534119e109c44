//! Reports: a page per kind, with its chart and table.

use std::collections::BTreeSet;

use poem::{Request, Response};
use svctrack_web::pages::{ReportCell, ReportView, address, label_of, report_page};

use super::{
    api::text_of,
    currencies::{CURRENCY, missing_rates},
    explanation::{Figures, USAGE},
    forms::problems_of,
    report_choices::{MRR, choices_of, default_days},
    respond::html,
    visit::Visit,
};
use crate::{error::Error, path_tree::path_part, routes::query_pairs};

/// Reports with a page: name, and description.
const REPORTS: &[(&str, &str)] = &[
    ("mrr", "Monthly recurring revenue at the end of each period, and its movements."),
    ("retention", "Retention of revenue and customers."),
    ("renewals", "Licenses due in each period, and their outcomes."),
    ("forecast", "Future MRR: confirmed by licenses, and unconfirmed."),
    (USAGE, "Active users and companies of each period, user retention, and actions."),
];
/// The head and the rows of a table.
type PageTable = (Vec<String>, Vec<Vec<ReportCell>>);

/// `GET /app/reports/:kind`
pub(super) async fn report(visit: Visit, request: Request) -> Result<Response, Error> {
    let asked = path_part(&request, "kind").unwrap_or_default();
    let found = REPORTS.iter().find(|(name, _)| *name == asked);
    let (name, about) = *found.ok_or(Error::RouteNotFound)?;
    let (choices, problems) = choices_of(&visit, name, &query_pairs(&request)).await?;
    let query: Vec<(&str, &str)> = choices
        .iter()
        .filter(|choice| !choice.value.is_empty())
        .map(|choice| (choice.name, choice.value.as_str()))
        .collect();
    let path = format!("/reports/{name}");
    let with = |form| {
        let query: Vec<_> = query.iter().copied().chain([("form", form)]).collect();
        address(&format!("/app/files{path}"), &[], &query)
    };
    let mut view = ReportView {
        // Another page lists the renewals themselves.
        title: if name == "renewals" { "Renewal rates".to_owned() } else { label_of(name) },
        about: about.to_owned(),
        picture: with("svg"),
        csv: with("csv"),
        ..ReportView::default()
    };
    let asked = visit.api.ask(&address(&path, &[], &query), "text/csv").await;
    match asked.map_err(Error::into_issues) {
        _ if !problems.is_empty() => view.problems = problems,
        Ok(response) => {
            let text = text_of(response).await?;
            (view.header, view.rows) = table(&text, name, &query)?;
            if view.rows.is_empty() {
                let chosen = |name| query.iter().find(|(known, _)| *known == name);
                let [currency, to] =
                    [CURRENCY, "to"].map(|name| chosen(name).map_or("", |it| it.1));
                view.missing_rates = missing_rates(&visit, currency, to).await?;
            }
        }
        Err(Ok(issues)) => view.problems = problems_of(issues),
        Err(Err(error)) => return Err(error),
    }
    view.choices = choices;
    Ok(html(report_page(&visit.shell, &view)))
}

/// The address of the picture of MRR in the last twelve months.
pub(super) fn picture_of_year(visit: &Visit) -> String {
    let (from, to) = default_days(visit, MRR);
    let query =
        [("from", from.as_str()), ("to", to.as_str()), ("interval", "month"), ("form", "svg")];
    address("/app/files/reports/mrr", &[], &query)
}

/// Address of the chart of a company's MRR in the last two years.
pub(super) fn picture_of_company(visit: &Visit, id: &str) -> String {
    let (_, to) = default_days(visit, MRR);
    let year: i32 = to.get(..4).and_then(|year| year.parse().ok()).unwrap_or_default();
    let from = format!("{:04}{}", year - 2, to.get(4..).unwrap_or_default());
    let query = [
        ("from", from.as_str()),
        ("to", to.as_str()),
        ("interval", "month"),
        ("companyId", id),
        ("form", "svg"),
    ];
    address("/app/files/reports/mrr", &[], &query)
}

/// Head and rows of the table of a report, in CSV, in which each figure links to its explanation.
fn table(text: &str, report: &str, query: &[(&str, &str)]) -> Result<PageTable, Error> {
    let internal = |error: csv::Error| Error::Internal(error.to_string());
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = cells(reader.headers().map_err(internal)?);
    let figures = Figures { report, query, header: &header };
    let mut rows = Vec::new();
    for record in reader.records() {
        let texts = cells(&record.map_err(internal)?);
        let paths: Vec<_> = (0..texts.len()).map(|at| figures.behind(&texts, at)).collect();
        let row = texts.into_iter().map(in_words).zip(paths);
        let row = row.map(|(text, path)| ReportCell { text, path });
        rows.push(row.collect());
    }
    Ok(narrowed(header, rows))
}

/// Text of a page for a word of the table.
fn in_words(text: String) -> String {
    match text.as_str() {
        "true" => "yes".to_owned(),
        "false" => "no".to_owned(),
        _ => text,
    }
}

/// Text of a page for the licenses of a row: those of all currencies, or those of its own.
fn scope_in_words(scope: &str) -> &str {
    match scope {
        "converted" => "All, converted",
        "currency" => "In this currency",
        _ => scope,
    }
}

/// A table that fits the page: totals first, without the days of an interval that has a name, without the total where
/// there is only one currency, and without empty columns.
fn narrowed(header: Vec<String>, mut rows: Vec<Vec<ReportCell>>) -> PageTable {
    let place = |name: &str| header.iter().position(|known| known == name);
    let has_period = place("period").is_some();
    let cell = |row: &Vec<ReportCell>, at: usize| row.get(at).map(|cell| cell.text.clone());
    if let (Some(scope), Some(currency)) = (place("scope"), place("currency")) {
        let currencies: BTreeSet<_> = rows.iter().filter_map(|row| cell(row, currency)).collect();
        let is_total = |row: &Vec<ReportCell>| cell(row, scope).is_some_and(|it| it == "converted");
        if currencies.len() == 1 && !rows.iter().all(is_total) {
            rows.retain(|row| !is_total(row));
        }
        rows.sort_by_key(|row| !is_total(row));
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(scope)) {
            cell.text = scope_in_words(&cell.text).to_owned();
        }
    }
    let is_one_scope = place("scope").is_some_and(|at| {
        rows.iter().filter_map(|row| cell(row, at)).collect::<BTreeSet<_>>().len() < 2
    });
    let is_shown = |at: usize, name: &str| {
        let is_of_interval = has_period && matches!(name, "from" | "to");
        let is_empty = rows.iter().all(|row| row.get(at).is_none_or(|cell| cell.text.is_empty()));
        let says_nothing = name == "scope" && is_one_scope;
        !is_of_interval && !is_empty && !says_nothing
    };
    let shown: Vec<bool> = header.iter().enumerate().map(|(at, name)| is_shown(at, name)).collect();
    let rows = rows.into_iter().map(|row| kept(row, &shown)).collect();
    (kept(header, &shown), rows)
}

fn kept<T>(cells: Vec<T>, shown: &[bool]) -> Vec<T> {
    cells.into_iter().zip(shown).filter(|(_, shown)| **shown).map(|(cell, _)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_a_page_has_room_for() {
        let narrow = |text| {
            let (header, rows) = table(text, "mrr", &[]).unwrap();
            let texts = |row: Vec<ReportCell>| row.into_iter().map(|cell| cell.text).collect();
            (header, rows.into_iter().map(texts).collect::<Vec<Vec<String>>>())
        };
        let (header, rows) = narrow(
            "segment,scope,currency,period,from,to,new\n,currency,EUR,2026-01,a,b,5\n,converted,EUR,2026-01,a,b,5\n",
        );
        assert_eq!(header, ["currency", "period", "new"]);
        assert_eq!(rows, [["EUR", "2026-01", "5"]]);
        let (_, rows) = narrow("scope,currency,period,new\nconverted,USD,2026-01,5\n");
        assert_eq!(rows, [["USD", "2026-01", "5"]]);
        let (header, rows) =
            narrow("scope,currency,isOver\ncurrency,EUR,true\nconverted,USD,false\n");
        assert_eq!(header, ["scope", "currency", "isOver"]);
        let expect = [["All, converted", "USD", "no"], ["In this currency", "EUR", "yes"]];
        assert_eq!(rows, expect);
    }
}
