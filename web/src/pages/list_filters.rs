//! Filters of a list: those that apply, each with a link that removes it, and the form that adds one. The kind of a
//! field determines the operators, so that the form first asks for the field. It needs no script.

use hypertext::prelude::*;
use svctrack_core::schema::{
    FieldDef, FieldKind, Operator, ResourceDef, filter::split_operator, filter_text::texts_of,
};

use super::{
    address::address,
    format::label_of,
    record::named,
    record_cells::has_issues,
    record_form::mode,
    records::{RecordsView, is_offered},
    references::{References, list_id, lists, target_of},
    shell::hidden,
};

/// A filter of a list, as its address has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub name: String,
    pub value: String,
    /// Names of the records whose ids are the value.
    pub names: Vec<String>,
}

impl ListFilter {
    fn words(&self, def: &ResourceDef) -> String {
        let property = split_operator(&self.name).0;
        let field = def.field(property);
        let label = field.map_or_else(|| label_of(property), named);
        let Some(operator) = Operator::of_parameter(&self.name, &self.value) else {
            return format!("{} is {}", self.name, self.value);
        };
        let words = match operator {
            Operator::OneOf => "is",
            Operator::NoneOf => "is not",
            other => words_of(other, field),
        };
        if !operator.has_value() {
            return format!("{label} {words}");
        }
        let values: Vec<String> = match self.names.is_empty() {
            true => texts_of(&self.value).iter().map(|value| in_words(value, field)).collect(),
            false => self.names.clone(),
        };
        format!("{label} {words} {}", values.join(" or "))
    }
}

fn in_words(value: &str, field: Option<&FieldDef>) -> String {
    let is_bool = field.is_some_and(|field| field.kind == FieldKind::Bool);
    match value {
        "null" => "empty".to_owned(),
        "true" if is_bool => "yes".to_owned(),
        "false" if is_bool => "no".to_owned(),
        value => value.to_owned(),
    }
}

/// Words of an operator between a field and a value.
fn words_of(operator: Operator, field: Option<&FieldDef>) -> &'static str {
    let is_date = field.is_some_and(|field| field.kind == FieldKind::Date);
    match operator {
        Operator::Is => "is",
        Operator::IsNot => "is not",
        Operator::OneOf => "is one of",
        Operator::NoneOf => "is not one of",
        Operator::AtLeast if is_date => "is on or after",
        Operator::AtLeast => "is at least",
        Operator::Above if is_date => "is after",
        Operator::Above => "is more than",
        Operator::AtMost if is_date => "is on or before",
        Operator::AtMost => "is at most",
        Operator::Below if is_date => "is before",
        Operator::Below => "is less than",
        Operator::Contains => "contains",
        Operator::Prefix => "begins with",
        Operator::Present => "has a value",
        Operator::Absent => "has no value",
    }
}

/// Filters that apply, each with a link that removes it.
pub(super) fn chips(view: &RecordsView) -> impl Renderable {
    let without = |at: usize| {
        let left = view.filters.iter().enumerate().filter(|(other, _)| *other != at);
        let left = left.map(|(_, filter)| (filter.name.as_str(), filter.value.as_str()));
        let query: Vec<_> = left.chain(view.unfiltered()).collect();
        address("/app/records/{}", &[view.def.path], &query)
    };
    let chips = view.filters.iter().enumerate();
    let chips: Vec<_> = chips.map(|(at, filter)| (filter.words(view.def), without(at))).collect();
    maud! {
        @if !chips.is_empty() {
            ul.chips aria-label="Filters" {
                @for (words, path) in &chips {
                    li {
                        span { (words) }
                        a href=(path) { span aria-hidden="true" { "×" } span.hidden-label { "Remove the filter " (words) } }
                    }
                }
            }
        }
    }
}

/// Form with the search, and with the filter that is added next.
pub(super) fn form(view: &RecordsView) -> impl Renderable {
    let can_filter = |field: &&FieldDef| is_offered(field) && !operators_of(field).is_empty();
    let fields: Vec<&FieldDef> = view.def.fields.iter().filter(can_filter).collect();
    let cancel = address("/app/records/{}", &[view.def.path], &view.query());
    maud! {
        form.choices method="get" {
            @if !view.def.searched.is_empty() {
                div {
                    label for="c-search" { "Search" }
                    input #c-search type="search" name="search" value=(view.search);
                }
            }
            @for filter in &view.filters { (hidden(&filter.name, &filter.value)) }
            @match view.adding {
                Some(field) => { (condition(field, &view.references)) }
                None => div {
                    label for="c-field" { "Add a filter" }
                    select #c-field name="filter-by" {
                        option value="" { "" }
                        @for field in &fields { option value=(field.name) { (named(field)) } }
                    }
                }
            }
            (hidden("sort", &view.sort))
            (hidden("columns", &view.chosen))
            button type="submit" { @if view.adding.is_some() { "Apply" } @else { "Show" } }
            @if view.adding.is_some() { a.button href=(cancel) { "Cancel" } }
        }
        (lists(&view.references))
    }
}

/// Operators of a filter by a field: a record has issues, or has none.
fn operators_of(field: &FieldDef) -> &'static [Operator] {
    match has_issues(field) {
        true => &[Operator::Present, Operator::Absent],
        false => Operator::of_field(field),
    }
}

/// Operator and value of a filter by a field.
fn condition(field: &'static FieldDef, references: &References) -> impl Renderable {
    let chosen = references.known(target_of(field));
    maud! {
        (hidden("filter-by", field.name))
        div {
            label for="c-operator" { (named(field)) }
            select #c-operator name="filter-op" {
                @for operator in operators_of(field) {
                    option value=(operator.name()) { (words_of(*operator, Some(field))) }
                }
            }
        }
        @if !field.values.is_empty() {
            fieldset {
                legend { "Values" }
                @for value in field.values {
                    label { input type="checkbox" name="filter-value" value=(value); " " (value) }
                }
            }
        } @else if operators_of(field).iter().any(|operator| operator.has_value()) {
            div {
                label for="c-value" { "Value" @if let Some(unit) = field.unit { " in " (unit) } }
                @if field.kind == FieldKind::Bool {
                    select #c-value name="filter-value" {
                        option value="true" { "yes" }
                        option value="false" { "no" }
                    }
                } @else {
                    input #c-value name="filter-value" inputmode=[mode(field)] autocomplete="off"
                        list=[chosen.map(list_id)] data-suggest=[chosen]
                        type=(if field.kind == FieldKind::Date { "date" } else { "text" });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use svctrack_core::resources::{company::COMPANY, license::LICENSE};

    #[test]
    fn a_filter_is_in_words() {
        let check = |def: &ResourceDef, name: &str, value: &str, words: &str| {
            let (name, value) = (name.to_owned(), value.to_owned());
            let filter = ListFilter { name, value, names: Vec::new() };
            assert_eq!(filter.words(def), words);
        };
        check(&COMPANY, "mrr[gte]", "500", "MRR is at least 500");
        check(&COMPANY, "status", "lost,canceled", "Status is lost or canceled");
        check(&COMPANY, "status[ne]", "lost", "Status is not lost");
        check(&COMPANY, "name", r"Acme\, Inc", "Name is Acme, Inc");
        check(&COMPANY, "owner[exists]", "false", "Owner has no value");
        check(&COMPANY, "owner", "null", "Owner is empty");
        check(&COMPANY, "custom.plan[prefix]", "a", "Plan begins with a");
        check(&COMPANY, "name[like]", "a", "name[like] is a");
        check(&LICENSE, "renewalDate[lt]", "2026-12-01", "Renewal date is before 2026-12-01");
        check(&LICENSE, "autoRenews", "true", "Auto renews is yes");
        let names = vec!["Acme".to_owned()];
        let filter = ListFilter { name: "companyId".to_owned(), value: "6".to_owned(), names };
        assert_eq!(filter.words(&LICENSE), "Company is Acme");
    }
}
