//! Records of a resource: a table whose columns, filters and order are in the address of the page.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::{company::MRR_BY_CURRENCY, settings::BaseCurrency, timesheet::EPOCH_DAYS},
    schema::{CurrencyOf, FieldDef, FieldKind, ResourceDef},
    value::ValidationError,
};

use super::{
    address::address,
    format::{day, day_text, epoch_day, grouped, label_of},
    list_filters::{self, ListFilter},
    page,
    parts::{Paging, Problem, badge, empty, folded, members, paging, problems, scroll},
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
    /// Suggestions for that value.
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
        @if view.records.is_empty() {
            (empty("No records.", maud! {
                @if view.filters.is_empty() && view.search.is_empty() {
                    "Create one, import a file, or use the " a href="/docs/api" { "API" } "."
                } @else {
                    a href=(address("/app/records/{}", &[view.def.path], &[])) { "Show all" }
                }
            }))
        } @else {
            (scroll(title, table(view)))
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
    let fields = view.def.fields.iter().filter(|field| is_shown(field));
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
                            span { (label_of(field.name)) }
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

/// Whether a row of a resource is worth a column or a filter.
fn is_shown(field: &FieldDef) -> bool {
    !matches!(field.kind, FieldKind::Object | FieldKind::Values | FieldKind::References)
}

fn table(view: &RecordsView) -> impl Renderable {
    maud! {
        table {
            caption.hidden-label { (label_of(view.def.path)) }
            thead { tr { @for column in &view.columns { (head(view, column)) } } }
            tbody {
                @for record in &view.records {
                    tr {
                        @for (at, column) in view.columns.iter().enumerate() {
                            @if at == 0 {
                                th scope="row" { (link(view, column, record)) }
                            } @else {
                                td class=[is_number(column).then_some("num")] { (cell(column, record, &view.base)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Head of a column, which sorts by it.
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
            a href=(path) title=(column.doc) { (label_of(column.name)) }
        }
    }
}

pub(super) fn is_number(field: &FieldDef) -> bool {
    matches!(field.kind, FieldKind::Number | FieldKind::Integer) && field.unit != Some(EPOCH_DAYS)
}

fn link<'v>(
    view: &'v RecordsView,
    column: &FieldDef,
    record: &'v Map<String, Value>,
) -> impl Renderable + 'v {
    let id = record.get("_id").and_then(Value::as_str).unwrap_or_default();
    let shown = text_in(column, record, &view.base);
    let shown = if shown.is_empty() { id.to_owned() } else { shown };
    maud! { a href=(record_address(view.def.path, id)) { (shown) } }
}

/// A value of a record. An object of the tenant's own data is folded, as it may be long.
pub(super) fn cell<'r>(
    column: &FieldDef,
    record: &'r Map<String, Value>,
    base: &BaseCurrency,
) -> impl Renderable + 'r {
    let shown = text_in(column, record, base);
    let date =
        record.get(column.name).and_then(Value::as_str).filter(|_| column.kind == FieldKind::Date);
    let object = record.get(column.name).and_then(Value::as_object);
    let is_own = column.is_sent();
    let is_state = !column.values.is_empty() && !shown.is_empty();
    maud! {
        @if let Some(object) = object {
            @if is_own { (folded(object)) } @else { (members(object)) }
        } @else if let Some(date) = date { (day(date)) } @else if is_state { (badge(&shown)) } @else { (shown) }
    }
}

/// Text of a property of a record; an amount with its currency.
pub(super) fn text_in(
    field: &FieldDef,
    record: &Map<String, Value>,
    base: &BaseCurrency,
) -> String {
    let shown = text_of(field, record.get(field.name));
    match currency_of(field, record, base) {
        currency if currency.is_empty() || shown.is_empty() => shown,
        currency => {
            // One decimal is no amount: `2,773.5` is `2,773.50`.
            let has_one = shown.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 1);
            format!("{currency} {shown}{}", if has_one { "0" } else { "" })
        }
    }
}

/// Currency of an amount of a record; empty where it has none, and for all other values.
pub(super) fn currency_of<'r>(
    field: &FieldDef,
    record: &'r Map<String, Value>,
    base: &'r BaseCurrency,
) -> &'r str {
    match field.currency {
        None => "",
        Some(CurrencyOf::Field(name)) => {
            record.get(name).and_then(Value::as_str).unwrap_or_default()
        }
        Some(CurrencyOf::Base) => {
            let amounts = record.get(MRR_BY_CURRENCY.name).and_then(Value::as_object);
            base.of_total(amounts.into_iter().flat_map(Map::keys).map(String::as_str))
        }
    }
}

pub(super) fn text_of(field: &FieldDef, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Number(number)) if field.unit == Some(EPOCH_DAYS) => {
            number.as_i64().map(epoch_day).unwrap_or_default()
        }
        Some(Value::Number(number)) if is_number(field) => grouped(&number.to_string()),
        Some(Value::String(text)) if field.kind == FieldKind::Date => day_text(text),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let each: Vec<String> = items.iter().map(plain).collect();
            each.join(if items.iter().any(Value::is_object) { "; " } else { ", " })
        }
        Some(other) => plain(other),
    }
}

/// A text as it is, an issue of a record by its message, and any other value as JSON.
fn plain(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("field"), text("message")) {
        (Some(field), Some(message)) => {
            ValidationError::of_member(field, "", message).plain_message()
        }
        _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
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
