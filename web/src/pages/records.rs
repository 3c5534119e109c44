//! Records of a resource: a table whose columns, filters and order are in the address of the page.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::BaseCurrency,
    schema::{FieldDef, FieldKind, Fill, ResourceDef},
};

use super::{
    address::address,
    format::label_of,
    list_filters::{self, ListFilter},
    page,
    parts::{Paging, Problem, empty, paging, past_end, problems, scroll},
    record::{named, text},
    record_cells::{RecordCells, has_issues, is_number},
    references::References,
    saved_views::{SavedViews, saved_views},
    shell::{Shell, hidden, layout, record_address, title_bar},
};
use crate::page::Page;

/// A list of records for its page.
#[derive(Clone, Debug)]
pub struct RecordsView {
    pub def: &'static ResourceDef,
    /// Names of the columns in the address, separated by commas; empty where none are chosen.
    pub chosen: String,
    /// Fields that are shown as columns.
    pub columns: Vec<&'static FieldDef>,
    pub records: Vec<Map<String, Value>>,
    pub base: BaseCurrency,
    pub paging: Paging,
    /// Property that the records are sorted by, with `-` for a descending order.
    pub sort: String,
    /// Text of the search.
    pub search: String,
    /// The filters in the address.
    pub filters: Vec<ListFilter>,
    /// Field of a filter whose operator and value are requested.
    pub adding: Option<&'static FieldDef>,
    /// Names of the records that columns refer to, and suggestions for the value of the filter.
    pub references: References,
    pub csv: String,
    /// Whether the file has the order of the list; else, that of the creation of the records.
    pub is_file_sorted: bool,
    pub views: SavedViews,
    pub may_create: bool,
    pub problems: Vec<Problem>,
}

impl RecordsView {
    /// Filters and order of the list, for the API.
    pub fn records_query(&self) -> Vec<(&str, &str)> {
        self.filtered().into_iter().chain(given("sort", &self.sort)).collect()
    }

    /// Query of the page's address without filters.
    pub(super) fn unfiltered(&self) -> impl Iterator<Item = (&str, &str)> {
        let order = given("sort", &self.sort).into_iter().chain(given("columns", &self.chosen));
        given("search", &self.search).into_iter().chain(order)
    }

    /// Query of the page's address: all but the place in the list.
    pub fn query(&self) -> Vec<(&str, &str)> {
        self.records_query().into_iter().chain(given("columns", &self.chosen)).collect()
    }

    /// Filters and search of the list, for the API.
    pub fn filtered(&self) -> Vec<(&str, &str)> {
        let filters = self.filters.iter();
        let filters = filters.map(|filter| (filter.name.as_str(), filter.value.as_str()));
        filters.chain(given("search", &self.search)).collect()
    }
}

/// A parameter of an address, where it has a value.
fn given<'t>(name: &'t str, value: &'t str) -> Option<(&'t str, &'t str)> {
    (!value.is_empty()).then_some((name, value))
}

/// The page of a list of records.
pub fn records_page(shell: &Shell, view: &RecordsView) -> Page {
    let named = label_of(view.def.path);
    let title = named.as_str();
    let new = address("/app/records/{}/new", &[view.def.path], &[]);
    let import = address("/app/import/{}", &[view.def.path], &[]);
    let actions = maud! {
        @if view.may_create {
            a.button.main href=(new) { "New " (label_of(view.def.name).to_lowercase()) }
            a.button href=(import) { "Import" }
        }
        a.button href=(view.csv) download { "CSV" }
        @if !view.sort.is_empty() && !view.is_file_sorted {
            small.muted { "CSV in order of creation" }
        }
    };
    let main = maud! {
        (title_bar(title, &actions))
        p.muted { (view.def.doc) }
        (saved_views(shell, &view.views, &view.query()))
        (list_filters::form(view))
        (list_filters::chips(view))
        (columns(view))
        (problems(&view.problems))
        @if let Some(last) = view.paging.last_page() {
            (past_end(last))
        } @else if view.records.is_empty() && view.problems.is_empty() {
            (empty("No records.", maud! {
                @if view.filters.is_empty() && view.search.is_empty() {
                    "Create one, import a file, or use the " a href="/docs/api" { "API" } "."
                } @else {
                    a href=(address("/app/records/{}", &[view.def.path], &[])) { "Show all" }
                }
            }))
        } @else if view.problems.is_empty() {
            (scroll(title, table(shell, view)))
            (paging(&view.paging))
        }
    };
    page(layout(shell, title, main))
}

/// Choice of columns, which leaves the rest of the view as it is.
fn columns(view: &RecordsView) -> impl Renderable {
    let kept = view.records_query();
    let usual = address("/app/records/{}", &[view.def.path], &kept);
    let is_column = |field: &FieldDef| view.columns.iter().any(|it| it.name == field.name);
    let fields = view.def.fields.iter().filter(|field| is_offered(field));
    let fields: Vec<(&FieldDef, bool)> = fields.map(|field| (field, is_column(field))).collect();
    maud! {
        details.columns {
            summary { "Columns" }
            form method="get" {
                @for (name, value) in &kept { (hidden(name, value)) }
                fieldset {
                    legend.hidden-label { "Columns" }
                    @for (field, is_column) in &fields {
                        label title=(field.doc) {
                            input type="checkbox" name="columns" value=(field.name) checked=[is_column.then_some("")];
                            span { (named(field)) }
                        }
                    }
                }
                div.actions {
                    button type="submit" { "Apply" }
                    @if !view.chosen.is_empty() { a href=(usual) { "Default columns" } }
                }
            }
        }
    }
}

/// Whether a property of a resource is worth a column or a filter: versions, what an import restores a record by, and
/// properties with a single possible value are of no use to people, and of lists only issues are short enough.
pub fn is_offered(field: &FieldDef) -> bool {
    let is_long =
        matches!(field.kind, FieldKind::Object | FieldKind::Values | FieldKind::References);
    (!is_long || has_issues(field))
        && !matches!(field.fill, Fill::Derived)
        && !field.name.starts_with("__")
        && field.values.len() != 1
}

fn table<'v>(shell: &'v Shell, view: &'v RecordsView) -> impl Renderable + 'v {
    let cells =
        RecordCells { shell, def: view.def, base: &view.base, references: &view.references };
    let decimals = |column: &&FieldDef| cells.decimals(column, &view.records);
    let columns = view.columns.iter().copied();
    let columns: Vec<_> = columns.map(|column| (column, decimals(&column))).collect();
    maud! {
        table {
            caption.hidden-label { (label_of(view.def.path)) }
            thead { tr { @for column in &view.columns { (head(view, column)) } } }
            tbody.stacked {
                @for record in &view.records {
                    tr {
                        @for (at, (column, decimals)) in columns.iter().enumerate() {
                            @if at == 0 {
                                th scope="row" { (link(view, &cells, column, record)) }
                            } @else {
                                td class=[is_number(column).then_some("num")] data-label=(named(column)) { (cells.cell(column, record, *decimals)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Head of a column, which sorts by it; issues have no order.
fn head<'v>(view: &'v RecordsView, column: &'v FieldDef) -> impl Renderable + 'v {
    let is_ascending = view.sort == column.name;
    let is_descending = view.sort.strip_prefix('-') == Some(column.name);
    let next = if is_ascending { format!("-{}", column.name) } else { column.name.to_owned() };
    let mut query = view.filtered();
    query.extend(given("sort", &next).into_iter().chain(given("columns", &view.chosen)));
    let path = address("/app/records/{}", &[view.def.path], &query);
    let order = match (is_ascending, is_descending) {
        (true, _) => Some("ascending"),
        (_, true) => Some("descending"),
        _ => None,
    };
    maud! {
        th scope="col" class=[is_number(column).then_some("num")] aria-sort=[order] {
            @if has_issues(column) {
                span title=(column.doc) { (named(column)) }
            } @else {
                a href=(path) title=(column.doc) { (named(column)) }
            }
        }
    }
}

fn link<'v>(
    view: &'v RecordsView,
    cells: &RecordCells<'v>,
    column: &'static FieldDef,
    record: &'v Map<String, Value>,
) -> impl Renderable + 'v {
    let id = text(record, "_id");
    let shown = cells.text(column, record);
    let shown = if shown.is_empty() { id.to_owned() } else { shown };
    maud! { a href=(record_address(view.def.path, id)) { (shown) } }
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    #[test]
    fn a_sorted_list_notes_that_its_file_has_another_order() {
        let page = |sort: &str, is_file_sorted| {
            let view = RecordsView {
                def: &COMPANY,
                chosen: String::new(),
                columns: Vec::new(),
                records: Vec::new(),
                base: BaseCurrency::default(),
                paging: Paging::default(),
                sort: sort.to_owned(),
                search: String::new(),
                filters: Vec::new(),
                adding: None,
                references: References::default(),
                csv: String::new(),
                is_file_sorted,
                views: SavedViews::default(),
                may_create: false,
                problems: Vec::new(),
            };
            records_page(&Shell::default(), &view).html.contains("in order of creation")
        };
        assert!(page("name", false));
        assert!(!page("name", true) && !page("", false));
    }
}
