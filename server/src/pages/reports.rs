//! Reports: a page per kind, with its chart and table.

use std::collections::{BTreeMap, BTreeSet};

use poem::Response;
use serde::Deserialize;
use svctrack_web::pages::{
    FiguresLeftOut, ReportCell, ReportTable, ReportView, address, label_of, report_page,
};

use super::{
    api::text_of,
    currencies::{CURRENCY, CurrencyName, missing_into},
    excluded_licenses::{ExcludedLicenses, excluded},
    explanation::Figures,
    ratios::SPAN,
    report_choices::{choices_of, default_days, labels_of},
    report_names::{FORECAST, MRR, RENEWALS, RETENTION, USAGE},
    respond::shown as page_of,
    submitted_form::problems_of_address,
    visit::Visit,
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Reports with a page: name, and description.
const REPORTS: &[(&str, &str)] = &[
    (MRR, "Monthly recurring revenue at the end of each period, and its movements."),
    (RETENTION, "Retention of revenue and customers."),
    (RENEWALS, "Licenses due in each period, and their outcomes."),
    (FORECAST, "Future MRR: confirmed by licenses, and unconfirmed."),
    (USAGE, "Active users and companies of each period, user retention, and actions."),
];
/// Column that has in each row what the figures leave out.
const NOTE: &str = "note";
/// Columns that name a row: the first ones of a table.
const NAMES: &[&str] = &["segment", "cohort", "period", "over"];
/// Option of a report of cohorts.
const COHORTS: (&str, &str) = ("part", "cohorts");
/// Columns that readers look for: they follow the names.
const FIRST: &[&str] = &["nrrPercent", "grrPercent", "end"];
/// Columns that most tenants never need: they are left out where they have only zeros.
const SELDOM: &[&str] = &["fx", "negative", "entering", "leaving"];
/// Columns of amounts: the first one of a row shows the currency.
const AMOUNTS: &[&str] = &["end", "base", "confirmed"];
/// Column of the cells of cohorts: of MRR, and of users.
const SHARES: &[&str] = &["sharePercent", "share"];

/// `GET /app/reports/:kind`
pub(super) async fn report(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
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
    let is_cohorts = query.contains(&COHORTS);
    let mut view = ReportView {
        // Another page lists the renewals themselves.
        title: if name == RENEWALS { "Renewal rates".to_owned() } else { label_of(name) },
        about: description(name, about, &query).to_owned(),
        picture: with("svg"),
        csv: with("csv"),
        if_empty: match name {
            USAGE => "Choose another period, or send events.",
            _ => "Choose another period, or add licenses.",
        },
        ..ReportView::default()
    };
    let asked = visit.api.ask(&address(&path, &[], &query), "text/csv").await;
    match asked.map_err(Error::into_issues) {
        _ if !problems.is_empty() => view.problems = problems,
        Ok(response) => {
            let text = text_of(response).await?;
            view.tables = tables(&text, name, &query)?;
            if name == USAGE && !is_cohorts && has_zeros_alone(&view.tables) {
                view.tables.clear();
            }
            if has_note(&text) {
                let asked = address(&path, &[], &query);
                let left_out: LeftOut = visit.api.get(&asked).await?;
                if view.tables.is_empty() {
                    let chosen = query.iter().find(|(known, _)| *known == CURRENCY);
                    let missing = left_out.missing_rates.iter().map(|it| it.currency.clone());
                    let chosen = chosen.map_or("", |it| it.1);
                    view.missing_rates = missing_into(&visit, chosen, missing.collect());
                }
                view.left_out = left_out.shown(&visit);
            }
        }
        Err(Ok(issues)) => view.problems = problems_of_address(issues, labels_of(name)),
        Err(Err(error)) => return Err(error),
    }
    view.choices = choices;
    Ok(page_of(report_page(&visit.shell, &view), &view.problems))
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

/// What the figures of a report leave out, as the API returns it; that of usage leaves out nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LeftOut {
    missing_rates: Vec<CurrencyName>,
    excluded: Vec<ExcludedLicenses>,
}

impl LeftOut {
    /// What is left out, in words.
    pub(super) fn shown(self, visit: &Visit) -> FiguresLeftOut {
        FiguresLeftOut {
            currencies: self.missing_rates.into_iter().map(|it| it.missing(visit)).collect(),
            may_set_rates: visit.api.may("admin"),
            licenses: excluded(&self.excluded),
        }
    }
}

/// What a report has, with its options.
fn description(report: &str, about: &'static str, query: &[(&str, &str)]) -> &'static str {
    match report {
        _ if query.contains(&("by", "notice")) => {
            "Licenses that renew automatically, by their last day of notice; others have no notice, and are not here."
        }
        _ if !query.contains(&COHORTS) => about,
        USAGE => "Percent of the users of each first week who are active again, by weeks since.",
        _ => {
            "MRR of the companies that first paid in a period, in percent of that at the end of its first period in the report."
        }
    }
}

/// Whether no figure of the tables leads to what it counts, since each is zero.
fn has_zeros_alone(tables: &[ReportTable]) -> bool {
    let mut cells = tables.iter().flat_map(|table| &table.rows).flatten();
    cells.all(|cell| cell.path.is_none())
}

/// Whether a table in CSV notes that its figures leave something out: its last column has that in every row.
fn has_note(text: &str) -> bool {
    let header = text.lines().next().unwrap_or_default();
    header.ends_with(NOTE) && !text.trim_end().ends_with(',')
}

/// Tables of a report, in CSV, in which each figure links to its explanation: one for each currency, the total first.
fn tables(text: &str, report: &str, query: &[(&str, &str)]) -> Result<Vec<ReportTable>, Error> {
    let internal = |error: csv::Error| Error::Internal(error.to_string());
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = cells(reader.headers().map_err(internal)?);
    let figures = Figures { report, query, header: &header };
    let place = |name: &str| header.iter().position(|known| known == name);
    let (scope, currency) = (place("scope"), place("currency"));
    let mut groups: BTreeMap<(bool, String), Vec<Vec<ReportCell>>> = BTreeMap::new();
    for record in reader.records() {
        let texts = cells(&record.map_err(internal)?);
        let text = |at: Option<usize>| at.and_then(|at| texts.get(at)).cloned().unwrap_or_default();
        let group = (text(scope) != "converted", text(currency));
        let paths: Vec<_> =
            (0..texts.len()).map(|at| figures.explanation_link(&texts, at)).collect();
        let texts = texts.into_iter().enumerate();
        let texts = texts.map(|(at, text)| in_words(header.get(at), text));
        let row = texts.zip(paths);
        let row = row.map(|(text, path)| ReportCell { text, path, unit: None });
        groups.entry(group).or_default().push(row.collect());
    }
    let is_zero = |rows: &[Vec<ReportCell>]| rows.iter().flatten().all(|cell| cell.path.is_none());
    if !groups.values().all(|rows| is_zero(rows)) {
        // A currency whose amounts are at another time.
        groups.retain(|(is_own, _), rows| !*is_own || !is_zero(rows));
    }
    let currencies: BTreeSet<&String> = groups.keys().map(|(_, currency)| currency).collect();
    if currencies.len() == 1 && groups.len() > 1 {
        // The total of a single currency.
        groups.pop_first();
    }
    let is_one = groups.len() == 1;
    let table = |((is_own, currency), rows): ((bool, String), _)| {
        let heading = match is_own {
            _ if is_one => None,
            true => Some(format!("{currency}, not converted")),
            false => Some(format!("Total in {currency}")),
        };
        ReportTable { heading, ..shown(&header, rows, &currency) }
    };
    Ok(groups.into_iter().map(table).collect())
}

/// Text of a page for a word of the table.
fn in_words(column: Option<&String>, text: String) -> String {
    let words = match (column.map_or("", |name| name), text.as_str()) {
        (_, "true") => "yes",
        (_, "false") => "no",
        ("over", "interval") => "period",
        ("over", "year") => "12 months",
        ("over" | "period", SPAN) => "whole report",
        _ => return text,
    };
    words.to_owned()
}

/// A table that fits the page: what readers look for first, without empty columns, and without the days of an interval
/// that has a name.
fn shown(header: &[String], rows: Vec<Vec<ReportCell>>, currency: &str) -> ReportTable {
    let place = |name: &str| header.iter().position(|known| known == name);
    if let Some((cohort, share)) =
        place("cohort").zip(SHARES.iter().find_map(|column| place(column)))
    {
        let column = place("week").or(place("period")).unwrap_or_default();
        return triangle(rows, cohort, column, share);
    }
    let has_period = place("period").is_some();
    let is_shown = |at: usize, name: &str| {
        let is_of_interval = has_period && matches!(name, "from" | "to");
        let is_seldom = SELDOM.contains(&name);
        let is_blank = |text: &str| text.is_empty() || is_seldom && text.parse() == Ok(0.0);
        let is_empty = rows.iter().all(|row| row.get(at).is_none_or(|cell| is_blank(&cell.text)));
        !is_of_interval && !is_empty && !matches!(name, "scope" | "currency" | NOTE)
    };
    let rank = |name: &String| {
        let first = NAMES.iter().chain(FIRST).position(|known| known == name);
        first.unwrap_or(usize::MAX)
    };
    let mut columns: Vec<(usize, &String)> =
        header.iter().enumerate().filter(|(at, name)| is_shown(*at, name)).collect();
    columns.sort_by_key(|(_, name)| rank(name));
    let amount = columns.iter().find(|(_, name)| AMOUNTS.contains(&name.as_str()));
    let amount = amount.filter(|_| !currency.is_empty()).map(|(at, _)| *at);
    let cells = |row: Vec<ReportCell>| {
        let cell = |(at, name): &(usize, &String)| {
            let unit = (amount == Some(*at)).then(|| currency.to_owned());
            let cell = row.get(*at).cloned().unwrap_or_default();
            let is_of_all = cell.text.is_empty() && *name == "segment";
            let text = if is_of_all { "all".to_owned() } else { cell.text };
            ReportCell { unit, text, ..cell }
        };
        columns.iter().map(cell).collect()
    };
    let rows = rows.into_iter().map(cells).collect();
    let header = columns.into_iter().map(|(_, name)| name.clone()).collect();
    ReportTable { heading: None, header, rows }
}

/// Cohorts with a row for each, and a column for each week or period, which has the share that is left.
fn triangle(rows: Vec<Vec<ReportCell>>, cohort: usize, column: usize, share: usize) -> ReportTable {
    let mut columns: Vec<String> = Vec::new();
    let mut cohorts: Vec<Vec<ReportCell>> = Vec::new();
    for row in rows {
        let cell = |at: usize| row.get(at).cloned().unwrap_or_default();
        let (cohort, name) = (cell(cohort), cell(column).text);
        let known = columns.iter().position(|known| *known == name);
        let at = known.unwrap_or_else(|| {
            columns.push(name);
            columns.len() - 1
        });
        if cohorts.last().and_then(|row| row.first()).is_none_or(|it| it.text != cohort.text) {
            cohorts.push(vec![cohort]);
        }
        if let Some(cells) = cohorts.last_mut() {
            cells.resize(cells.len().max(at + 2), ReportCell::default());
            if let Some(place) = cells.get_mut(at + 1) {
                *place = cell(share);
            }
        }
    }
    cohorts.iter_mut().for_each(|row| row.resize(columns.len() + 1, ReportCell::default()));
    let header = ["cohort".to_owned()].into_iter().chain(columns).collect();
    ReportTable { heading: None, header, rows: cohorts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_what_a_page_has_room_for() {
        let narrow = |text| {
            let tables = tables(text, "mrr", &[]).unwrap();
            let cell = |cell: ReportCell| match cell.unit {
                Some(unit) => format!("{unit} {}", cell.text),
                None => cell.text,
            };
            let texts = |row: Vec<ReportCell>| row.into_iter().map(cell).collect();
            let rows = |rows: Vec<Vec<ReportCell>>| rows.into_iter().map(texts).collect();
            let table =
                |it: ReportTable| (it.heading.unwrap_or_default(), it.header, rows(it.rows));
            tables.into_iter().map(table).collect::<Vec<(String, Vec<String>, Vec<Vec<String>>)>>()
        };
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let found = narrow(
            "segment,scope,currency,period,from,to,new,end,negative\n,currency,EUR,2026-01,a,b,5,7,0\n,converted,EUR,2026-01,a,b,5,7,0\n",
        );
        let expect = own(&["period", "end", "new"]);
        assert_eq!(found, [(String::new(), expect, vec![own(&["2026-01", "EUR 7", "5"])])]);
        let noted = "segment,period,new,note\n,2026-01,5,1 license excluded\nGrown,2026-01,3,1 license excluded\n";
        for (text, expect) in
            [(noted, true), ("segment,new\n,5\n", false), ("new,note\r\n5,\r\n", false)]
        {
            assert_eq!(has_note(text), expect, "{text}");
        }
        let found = narrow(noted);
        let rows = vec![own(&["all", "2026-01", "5"]), own(&["Grown", "2026-01", "3"])];
        assert_eq!(found, [(String::new(), own(&["segment", "period", "new"]), rows)]);
        let found = narrow("scope,currency,isOver\ncurrency,EUR,true\nconverted,USD,false\n");
        let expect = [
            ("Total in USD".to_owned(), own(&["isOver"]), vec![own(&["no"])]),
            ("EUR, not converted".to_owned(), own(&["isOver"]), vec![own(&["yes"])]),
        ];
        assert_eq!(found, expect);
        let found = narrow("over,period,nrr\ninterval,2026-01,1\nyear,2026-01,2\nspan,span,3\n");
        let rows = [
            ["2026-01", "period", "1"],
            ["2026-01", "12 months", "2"],
            ["whole report", "whole report", "3"],
        ];
        let rows = rows.map(|row| own(&row)).to_vec();
        assert_eq!(found, [(String::new(), own(&["period", "over", "nrr"]), rows)]);
        // Cohorts are a triangle.
        let found = narrow(
            "cohort,from,period,week,users,share\na,x,a,0,5,100\na,x,b,1,2,40\nb,y,b,0,3,100\n",
        );
        let rows = vec![own(&["a", "100", "40"]), own(&["b", "100", ""])];
        assert_eq!(found, [(String::new(), own(&["cohort", "0", "1"]), rows)]);
    }
}
