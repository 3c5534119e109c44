//! Page of a report: its chart, and the table of its figures. It is the same page for every report, made of its CSV.

use hypertext::prelude::*;
use svctrack_core::value::counted;

use super::{
    excluded::ExcludedTotal,
    format::{decimals_of, fixed, grouped, label_of, needed_decimals, property_label},
    page,
    parts::{Problem, chart, empty, problems, scroll},
    references::list_id,
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// Maximum number of currencies without a rate that a page names in a sentence.
const MAX_NAMED: usize = 4;

/// A report for its page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportView {
    pub title: String,
    /// Description of the report, in a sentence.
    pub about: String,
    /// Address of the chart.
    pub picture: String,
    /// Address of the table as CSV.
    pub csv: String,
    /// Parameters that can be chosen: name, chosen value, and the values where there are few.
    pub choices: Vec<Choice>,
    pub tables: Vec<ReportTable>,
    /// What to do where there are no figures.
    pub if_empty: &'static str,
    pub left_out: FiguresLeftOut,
    /// Why there are no amounts in the chosen currency.
    pub missing_rates: Option<MissingRates>,
    pub problems: Vec<Problem>,
}

/// What the figures of a report leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FiguresLeftOut {
    /// Currencies that cannot be converted.
    pub currencies: Vec<String>,
    /// Whether the user may set rates.
    pub may_set_rates: bool,
    pub licenses: Option<ExcludedTotal>,
}

/// A chosen currency into which others cannot be converted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingRates {
    pub chosen: String,
    /// Currencies that cannot be converted.
    pub of: Vec<String>,
    /// Whether the user may set rates.
    pub may_set: bool,
}

/// Rows of a report, or of a part of it, as its page shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportTable {
    /// What the table has, where there are several.
    pub heading: Option<String>,
    pub header: Vec<String>,
    pub rows: Vec<Vec<ReportCell>>,
}

/// A cell of the table of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportCell {
    pub text: String,
    /// Address of the explanation.
    pub path: Option<String>,
    /// Currency of the amount, where it is shown.
    pub unit: Option<String>,
}

/// A parameter that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    /// Label, where the parameter has another one in other reports.
    pub label: Option<&'static str>,
    pub value: String,
    /// Text of the value, where people know it by another one; of the empty one where there are few.
    pub text: Option<String>,
    /// Possible values; any where there are none.
    pub values: Vec<String>,
    /// Values that are suggested, where any other is possible.
    pub suggested: Vec<String>,
    /// Resource of the records that can be chosen by name.
    pub resource: Option<&'static str>,
}

pub fn report_page(shell: &Shell, view: &ReportView) -> Page {
    let actions = maud! {
        a.button href=(view.csv) download { "CSV" }
        a.button href=(view.picture) download { "SVG" }
    };
    let main = maud! {
        (title_bar(&view.title, &actions))
        p.muted { (view.about) }
        (choices(view))
        (problems(&view.problems))
        @if let Some(missing) = &view.missing_rates {
            (no_rates(missing))
        } @else if view.tables.is_empty() {
            @if view.problems.is_empty() {
                (empty("No data in this period.", view.if_empty))
                (left_out(shell, &view.left_out))
            }
        } @else {
            (chart(&view.picture, &view.title))
            (left_out(shell, &view.left_out))
            @for table in &view.tables {
                @if let Some(heading) = &table.heading { h2 { (heading) } }
                (scroll(table.heading.as_deref().unwrap_or(&view.title), report_table(&view.title, table)))
            }
        }
    };
    page(layout(shell, &view.title, main))
}

pub(super) fn left_out<'v>(shell: &'v Shell, view: &'v FiguresLeftOut) -> impl Renderable + 'v {
    let named = view.currencies.iter().take(MAX_NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    let more = view.currencies.len().saturating_sub(MAX_NAMED);
    maud! {
        @if !view.currencies.is_empty() {
            p.hint {
                "No total: there is no exchange rate for " (named)
                @if more > 0 { " and " (more) " more" }
                "."
                @if view.may_set_rates { " " a href="/app/settings/rates" { "Add exchange rates" } }
            }
        }
        @if let Some(licenses) = &view.licenses {
            p.hint {
                "Not in these figures: "
                (shell.link("licenses", &licenses.path, counted(licenses.licenses, "license")))
                ", " (licenses.reasons) "."
            }
        }
    }
}

fn choices(view: &ReportView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            @for choice in &view.choices { (choice_field(choice)) }
            button type="submit" { "Show" }
        }
        script type="module" src="/suggest.js" {}
    }
}

/// Field of a form for a parameter.
pub(super) fn choice_field(choice: &Choice) -> impl Renderable {
    let id = format!("c-{}", choice.name);
    maud! {
        div {
            label for=(id) { (choice.label.map_or_else(|| parameter_label(choice.name), str::to_owned)) }
            @if choice.values.is_empty() {
                @let list = (!choice.suggested.is_empty()).then(|| list_id(choice.name));
                input id=(id) name=(choice.name) value=(choice.text.as_ref().unwrap_or(&choice.value)) list=[&list]
                    data-suggest=[choice.resource] autocomplete="off"
                    type=(if matches!(choice.name, "from" | "to") { "date" } else { "text" });
                @if let Some(list) = &list {
                    datalist id=(list) {
                        @for text in &choice.suggested { option value=(text) {} }
                    }
                }
            } @else {
                select id=(id) name=(choice.name) {
                    @for value in &choice.values {
                        option value=(value) selected=[(*value == choice.value).then_some("")] {
                            (choice.text_of(value))
                        }
                    }
                }
            }
        }
    }
}

impl Choice {
    /// Text of a possible value: names of the API in words, and currencies as they are.
    fn text_of(&self, value: &str) -> String {
        match (self.name, value) {
            (_, "") => self.text.clone().unwrap_or_else(|| "All".to_owned()),
            ("baseCurrency", currency) => currency.to_owned(),
            ("by", "notice") => "Last day of notice".to_owned(),
            (_, name) => label_of(name),
        }
    }
}

/// Label of a parameter of a report.
pub fn parameter_label(parameter: &str) -> String {
    match parameter {
        "baseCurrency" => "Show amounts in".to_owned(),
        // The day itself is not part of the report.
        "to" => "Before".to_owned(),
        "by" => "Segment by".to_owned(),
        name => property_label(name),
    }
}

/// Text where rates into the chosen currency are missing.
pub(super) fn no_rates(missing: &MissingRates) -> impl Renderable {
    let title = format!("No amounts in {}.", missing.chosen);
    let of = missing.of.join(", ");
    let rest = maud! {
        "There is no exchange rate from " (of) " to " (missing.chosen) ". "
        @if missing.may_set {
            a href="/app/settings/rates" { "Add exchange rates" } ", or choose another currency."
        } @else {
            "Choose another currency."
        }
    };
    maud! { div.empty { p.empty-title { (title) } p { (rest) } } }
}

fn report_table<'t>(title: &'t str, table: &'t ReportTable) -> impl Renderable + 't {
    let numeric: Vec<bool> = (0..table.header.len()).map(|at| is_numeric(table, at)).collect();
    let is_numeric = move |at: usize| numeric.get(at).copied().unwrap_or_default();
    let decimals = decimals_by_column(table);
    let decimals = move |at: usize| decimals.get(at).copied().unwrap_or_default();
    maud! {
        table.report {
            caption.hidden-label { (title) @if let Some(heading) = &table.heading { ", " (heading) } }
            thead {
                tr {
                    @for (at, name) in table.header.iter().enumerate() {
                        th scope="col" class=[is_numeric(at).then_some("num")] { (heading_of(name)) }
                    }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr {
                        @for (at, cell) in row.iter().enumerate() {
                            @if is_numeric(at) { (number(cell, decimals(at))) }
                            @else if at == 0 { th.nowrap scope="row" { (cell.text) } }
                            @else { td { (cell.text) } }
                        }
                    }
                }
            }
        }
    }
}

/// Words in the names of columns that are no amounts of money.
const NO_AMOUNTS: &[&str] =
    &["percent", "share", "customers", "licenses", "companies", "compared", "rate"];

/// Whether a column of a table of amounts has amounts, and not counts or shares.
fn is_amount(table: &ReportTable, at: usize) -> bool {
    let name = table.header.get(at).map(|name| name.to_lowercase()).unwrap_or_default();
    let is_of_money = table.rows.iter().flatten().any(|cell| cell.unit.is_some());
    is_of_money && is_numeric(table, at) && !NO_AMOUNTS.iter().any(|word| name.contains(word))
}

/// Decimals of each column, which line up: amounts have those of the table, shares of cohorts too, and other figures
/// those that one of the column needs.
fn decimals_by_column(table: &ReportTable) -> Vec<usize> {
    let texts = |at: usize| {
        table.rows.iter().filter_map(move |row| row.get(at)).map(|cell| cell.text.as_str())
    };
    let columns = 0..table.header.len();
    let amounts = columns.clone().filter(|at| is_amount(table, *at)).flat_map(texts);
    let of_amounts = decimals_of(amounts.filter_map(|text| text.parse().ok()));
    let needed = |at: usize| texts(at).map(needed_decimals).max().unwrap_or_default();
    // All cells of a table of cohorts are shares.
    let is_of_cohorts = table.header.first().is_some_and(|name| name == "cohort");
    let of_cohorts = columns.clone().skip(1).map(needed).max().unwrap_or_default();
    columns
        .map(|at| match is_amount(table, at) {
            true => of_amounts,
            false if is_of_cohorts => of_cohorts,
            false => needed(at),
        })
        .collect()
}

/// A figure with the decimals of its column.
fn number(cell: &ReportCell, decimals: usize) -> impl Renderable {
    let shown = match cell.text.parse() {
        Ok(figure) if decimals > 0 => fixed(figure, decimals),
        _ => grouped(&cell.text),
    };
    maud! {
        td.num {
            @if let Some(unit) = &cell.unit { span.muted { (unit) } " " }
            @if let Some(path) = &cell.path {
                a href=(path) { (shown) }
            } @else {
                (shown)
            }
        }
    }
}

/// Head of a column: a rate has its unit, and a period its name.
fn heading_of(name: &str) -> String {
    match name.strip_suffix("Percent") {
        _ if name.starts_with(|first: char| first.is_ascii_digit()) => name.to_owned(),
        Some(rate) => format!("{} %", label_of(rate)),
        None => label_of(name),
    }
}

/// Whether all cells of a column are numbers. Names of rows, such as the period `2026`, are text.
fn is_numeric(table: &ReportTable, at: usize) -> bool {
    let is_number = |row: &Vec<ReportCell>| {
        row.get(at).is_none_or(|cell| cell.text.is_empty() || cell.text.parse::<f64>().is_ok())
    };
    let is_name = |name: &String| matches!(name.as_str(), "period" | "segment" | "cohort");
    table.header.get(at).is_some_and(|name| !is_name(name)) && table.rows.iter().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_amounts_of_a_table_have_the_same_number_of_decimals() {
        let cell = |text: &str| ReportCell { text: text.to_owned(), ..ReportCell::default() };
        let page = |end: &str| {
            let end = ReportCell { unit: Some("EUR".to_owned()), ..cell(end) };
            let header = ["period", "end", "new", "newCustomers", "nrrPercent"].map(str::to_owned);
            let row = vec![cell("2026-01"), end, cell("-316"), cell("4"), cell("98.5")];
            let table = ReportTable { heading: None, header: header.to_vec(), rows: vec![row] };
            report_table("MRR", &table).render().into_inner()
        };
        let (exact, whole) = (page("5522.87"), page("5522"));
        for text in [" 5,522.87</td>", ">-316.00</td>", ">4</td>", ">98.5</td>"] {
            assert!(exact.contains(text), "{text}: {exact}");
        }
        assert!(whole.contains(" 5,522</td>") && whole.contains(">-316</td>"), "{whole}");
    }

    #[test]
    fn the_shares_of_cohorts_line_up_below_the_names_of_their_periods() {
        let cell = |text: &str| ReportCell { text: text.to_owned(), ..ReportCell::default() };
        let header = ["cohort", "2025-Q4", "2026-Q1"].map(str::to_owned).to_vec();
        let row = ["2025-Q4", "100.00", "93.71"].map(cell).to_vec();
        let table = ReportTable { heading: None, header, rows: vec![row] };
        let html = report_table("Retention", &table).render().into_inner();
        for text in [">2026-Q1</th>", ">100.00</td>", ">93.71</td>"] {
            assert!(html.contains(text), "{text}: {html}");
        }
    }

    #[test]
    fn the_rates_of_a_column_have_the_same_number_of_decimals() {
        let row = |texts: [&str; 3]| {
            let cell = |text: &str| ReportCell { text: text.to_owned(), ..ReportCell::default() };
            texts.map(cell).to_vec()
        };
        let header = ["period", "nrrPercent", "customers"].map(str::to_owned).to_vec();
        let rows = vec![row(["2026-01", "100", "4"]), row(["2026-02", "93.71", ""])];
        let table = ReportTable { heading: None, header, rows };
        let shown = report_table("Retention", &table).render().into_inner();
        for text in [">100.00</td>", ">93.71</td>", ">4</td>", "></td>"] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}
