//! Page of a report: its chart, and the table of its figures. It is the same page for every report, made of its CSV.

use hypertext::prelude::*;

use super::{
    format::{grouped, label_of},
    page,
    parts::{Problem, chart, empty, problems, scroll},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

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
    pub header: Vec<String>,
    pub rows: Vec<Vec<ReportCell>>,
    pub problems: Vec<Problem>,
}

/// A cell of the table of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportCell {
    pub text: String,
    /// Address of the explanation.
    pub path: Option<String>,
}

/// A parameter that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    pub value: String,
    /// Possible values; any where there are none.
    pub values: Vec<&'static str>,
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
        @if view.rows.is_empty() {
            @if view.problems.is_empty() {
                (empty("No data in this period.", "Choose another period, or add licenses."))
            }
        } @else {
            (chart(&view.picture, &view.title))
            (scroll(&view.title, table(view)))
        }
    };
    page(layout(shell, &view.title, main))
}

fn choices(view: &ReportView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            @for choice in &view.choices {
                div {
                    label for={ "c-" (choice.name) } { (label_of(choice.name)) }
                    @if choice.values.is_empty() {
                        input id={ "c-" (choice.name) } name=(choice.name) value=(choice.value)
                            type=(if matches!(choice.name, "from" | "to") { "date" } else { "text" });
                    } @else {
                        select id={ "c-" (choice.name) } name=(choice.name) {
                            @for value in &choice.values {
                                option value=(value) selected=[(*value == choice.value).then_some("")] {
                                    (if value.is_empty() { "all".to_owned() } else { label_of(value) })
                                }
                            }
                        }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn table(view: &ReportView) -> impl Renderable {
    let numeric: Vec<bool> = (0..view.header.len()).map(|at| is_numeric(view, at)).collect();
    let is_numeric = move |at: usize| numeric.get(at).copied().unwrap_or_default();
    maud! {
        table.report {
            caption.hidden-label { (view.title) }
            thead {
                tr {
                    @for (at, name) in view.header.iter().enumerate() {
                        th scope="col" class=[is_numeric(at).then_some("num")] { (label_of(name)) }
                    }
                }
            }
            tbody {
                @for row in &view.rows {
                    tr {
                        @for (at, cell) in row.iter().enumerate() {
                            @if is_numeric(at) {
                                td.num {
                                    @if let Some(path) = &cell.path {
                                        a href=(path) { (grouped(&cell.text)) }
                                    } @else {
                                        (grouped(&cell.text))
                                    }
                                }
                            } @else {
                                td { (cell.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Whether all cells of a column are numbers. Names of periods, such as `2026`, are text.
fn is_numeric(view: &ReportView, at: usize) -> bool {
    let is_number = |row: &Vec<ReportCell>| {
        row.get(at).is_none_or(|cell| cell.text.is_empty() || cell.text.parse::<f64>().is_ok())
    };
    view.header.get(at).is_some_and(|name| name != "period") && view.rows.iter().all(is_number)
}
